//! Joulepath in the Linux kernel: what the simulator computes, done by the machine's own MPTCP stack.
//!
//! | module | what |
//! |---|---|
//! | `cc` | the congestion controllers as eBPF programs (feature `bpf`) |
//! | [`emulator`] | links in real time, joules of their packets |
//! | `engine` | runs of a scenario, as the packet engine's (feature `bpf`) |
//! | [`error`] | what can go wrong here, and its remedy |
//! | [`lab`] | two namespaces joined by emulated radios |
//! | [`mptcp`] | MPTCP sockets, their statistics, path manager, listing |
//! | [`namespace`] | network namespaces that leave no trace |
//! | [`probe`] | what this machine can do |
//! | [`route`] | devices, addresses, routes |
//! | [`tun`] | devices whose packets a process carries |
//! | [`traffic`] | server and client of every workload |
//! | [`worker`] | processes that are this program again |

#![cfg(target_os = "linux")]

#[cfg(feature = "bpf")]
pub mod cc;
pub mod emulator;
#[cfg(feature = "bpf")]
pub mod engine;
pub mod error;
pub mod lab;
pub mod mptcp;
pub mod namespace;
pub mod probe;
pub mod route;
pub mod traffic;
pub mod tun;
pub mod worker;

pub use error::{Error, Result};
pub use namespace::Namespace;
pub use worker::{Program, Worker};
