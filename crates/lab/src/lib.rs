//! The kernel engine: runs scenarios on this machine's own MPTCP stack, in network namespaces that
//! emulated radios connect.
//!
//! | module | what |
//! |---|---|
//! | [`command`] | runs a user's program in a lab |
//! | [`emulator`] | emulates links and energy in real time |
//! | `engine` | runs a scenario with the same result as the packet engine (feature `bpf`) |
//! | [`error`] | errors and their remedies |
//! | [`hosts`] | the lab: two namespaces connected by emulated radios |
//! | [`traffic`] | server and client for every workload |
//! | [`worker`] | processes that run this program again |

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

/// All roles in which a program that uses this crate may start itself again, for
/// [`worker::run_if_asked`].
pub const ROLES: &[(&str, worker::Role)] = &[
    (hosts::INIT, hosts::init),
    (emulator::ROLE, emulator::run),
    (traffic::SERVER, traffic::serve),
    (traffic::CLIENT, traffic::connect),
];
