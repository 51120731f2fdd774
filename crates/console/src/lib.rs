//! Terminal output for the daemon, labs, controllers, meters and the machine's abilities.
//!
//! | module | what |
//! |---|---|
//! | [`meters`] | readings of power meters |
//! | [`page`] | the daemon's state: `joulepath status`, `joulepath live --dry-run` |
//! | [`launch`] | how a program gets MPTCP sockets |
//! | [`switch`] | what `joulepath on` has done |
//! | [`top`] | the same on a live screen, with keys |
//! | [`doctor`] | what a machine can run |
//! | [`board`] | the same as a page in a browser |
//! | `figures` | numbers and words shared by `page` and `top` |
//! | `bill` | the bill of a lab's command (feature `kernel`) |
//! | `remains` | what remains of a lab (feature `kernel`) |
//! | `controllers` | the loaded controllers and their sockets (feature `kernel`) |
//! | [`why`] | what holds connections back |
//! | [`words`] | counts and tables without lines |

#![cfg(target_os = "linux")]

#[cfg(feature = "kernel")]
pub mod bill;
pub mod board;
#[cfg(feature = "kernel")]
pub mod controllers;
pub mod doctor;
mod figures;
pub mod launch;
pub mod meters;
pub mod page;
#[cfg(feature = "kernel")]
pub mod remains;
pub mod switch;
pub mod top;
pub mod why;
pub mod words;
