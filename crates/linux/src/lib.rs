//! Joulepath in the Linux kernel: what the simulator computes, done by the machine's own MPTCP stack.
//!
//! | module | what |
//! |---|---|
//! | [`error`] | what can go wrong here, and its remedy |

#![cfg(target_os = "linux")]

pub mod error;

pub use error::{Error, Result};
