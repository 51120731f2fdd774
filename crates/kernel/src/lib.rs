//! What one must know to talk to a Linux kernel: namespaces, routes, MPTCP, controllers as eBPF, and what a
//! machine can do.
//!
//! | module | what |
//! |---|---|
//! | `cc` | the congestion controllers as eBPF programs (feature `bpf`) |
//! | [`capability`] | what this process may do, and which task needs which capability |
//! | [`congestion`] | what controllers the kernel offers, and a namespace's default |
//! | [`error`] | what can go wrong here, and its remedy |
//! | [`lateness`] | how late this machine's timers come |
//! | [`mptcp`] | MPTCP sockets, their statistics, path manager, listing |
//! | [`namespace`] | network namespaces: made, entered, found, told apart |
//! | `netlink` | the one layer under `route` and `mptcp` |
//! | [`peer`] | who is at the other end of a Unix socket |
//! | [`probe`] | what this machine can do |
//! | [`reactor`] | one thread that waits for files and instants |
//! | [`route`] | devices, addresses, routes and rules: listed, changed, watched |
//! | [`state`] | what is kept on disk about the running kernel: locks, records |
//! | [`tun`] | devices whose packets a process carries |

#![cfg(target_os = "linux")]

pub mod capability;
#[cfg(feature = "bpf")]
pub mod cc;
pub mod congestion;
pub mod error;
pub mod lateness;
pub mod mptcp;
pub mod namespace;
pub mod peer;
pub mod probe;
pub mod reactor;
pub mod route;
pub mod state;
pub mod tun;

mod netlink;
mod sockopt;
mod wait;

pub use error::{Error, Result};
pub use namespace::Namespace;
