//! Joulepath in the Linux kernel: what the simulator computes, done by the machine's own MPTCP stack.
//!
//! | module | what |
//! |---|---|
//! | [`error`] | what can go wrong here, and its remedy |
//! | [`namespace`] | network namespaces that leave no trace |
//! | [`probe`] | what this machine can do |
//! | [`route`] | devices, addresses, routes |
//! | [`worker`] | processes that are this program again |

#![cfg(target_os = "linux")]

pub mod error;
pub mod namespace;
pub mod probe;
pub mod route;
pub mod worker;

pub use error::{Error, Result};
pub use namespace::Namespace;
pub use worker::{Program, Worker};
