//! The kernel engine: scenarios on this machine's own MPTCP stack, in network namespaces that emulated radios
//! join.
//!
//! | module | what |
//! |---|---|
//! | [`command`] | a program of the user's in a lab, until it ends or a signal ends it |
//! | [`emulator`] | links in real time, joules of their packets |
//! | `engine` | runs of a scenario, as the packet engine's (feature `bpf`) |
//! | [`error`] | what can go wrong here |
//! | [`hosts`] | the lab: two namespaces joined by emulated radios |
//! | [`traffic`] | server and client of every workload |
//! | [`worker`] | processes that are this program again |

#![cfg(target_os = "linux")]

pub mod command;
pub mod emulator;
#[cfg(feature = "bpf")]
pub mod engine;
pub mod error;
pub mod hosts;
pub mod traffic;
pub mod worker;

pub use error::{Error, Result};
pub use hosts::{Lab, LabSpec, Remains};
pub use worker::{Program, Worker};

/// Every role in which a program that uses this crate starts itself again: for [`worker::run_if_asked`].
pub const ROLES: &[(&str, worker::Role)] = &[
    (hosts::INIT, hosts::init),
    (emulator::ROLE, emulator::run),
    (traffic::SERVER, traffic::serve),
    (traffic::CLIENT, traffic::connect),
];
