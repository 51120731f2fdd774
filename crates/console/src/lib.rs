//! What the daemon, a lab, controllers, meters and a machine's abilities look like in a terminal.
//!
//! | module | what |
//! |---|---|
//! | [`meters`] | what the meters of power say |
//! | [`page`] | the daemon's state once: `joulepath status`, `joulepath live --dry-run` |
//! | [`top`] | the same on a screen that updates, with keys |
//! | [`doctor`] | what a machine can run |
//! | `figures` | numbers and words that both share |
//! | `bill` | what a lab's command cost (feature `kernel`) |
//! | `controllers` | the loaded controllers and their sockets (feature `kernel`) |
//! | [`words`] | counts and tables without lines |

#![cfg(target_os = "linux")]

#[cfg(feature = "kernel")]
pub mod bill;
#[cfg(feature = "kernel")]
pub mod controllers;
pub mod doctor;
mod figures;
pub mod meters;
pub mod page;
pub mod top;
pub mod words;
