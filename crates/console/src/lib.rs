//! What the daemon and a lab look like in a terminal.
//!
//! | module | what |
//! |---|---|
//! | [`page`] | the daemon's state once: `joulepath status`, `joulepath live --dry-run` |
//! | [`top`] | the same on a screen that updates, with keys |
//! | `figures` | numbers and words that both share |
//! | `bill` | what a lab's command cost (feature `lab`) |
//! | [`words`] | counts and tables without lines |

#![cfg(target_os = "linux")]

#[cfg(feature = "lab")]
pub mod bill;
mod figures;
pub mod page;
pub mod top;
pub mod words;
