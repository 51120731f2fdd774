//! Joulepath's interface to the Linux kernel: namespaces, routes, MPTCP, controllers as eBPF, and
//! what a machine supports.
//!
//! | module | what |
//! |---|---|
//! | [`bus`] | a client of a D-Bus message bus |
//! | `cc` | congestion controllers as eBPF programs (feature `bpf`) |
//! | [`capability`] | capabilities of this process, and capabilities that each task needs |
//! | [`congestion`] | congestion controllers of the kernel, and a namespace's default |
//! | [`counters`] | counters of TCP and MPTCP |
//! | [`error`] | errors and their remedies |
//! | [`gate`] | limits of bytes that the kernel enforces |
//! | [`group`] | control groups of processes |
//! | [`lateness`] | how late this machine's timers fire |
//! | [`modem`] | signals of modems, from ModemManager |
//! | [`mptcp`] | MPTCP sockets, their statistics, path manager, list of connections |
//! | [`namespace`] | create, enter, find and identify network namespaces |
//! | `netlink` | the layer under `route` and `mptcp` |
//! | [`peer`] | the process at the other end of a Unix socket |
//! | [`probe`] | what this machine supports |
//! | [`programs`] | programs on MPTCP by eBPF, selected by control group |
//! | [`reactor`] | one thread that waits for files and deadlines |
//! | [`route`] | list, change and watch devices, addresses, routes and rules |
//! | [`state`] | files about the running kernel: locks, records |
//! | [`tun`] | devices whose packets a process handles |
//! | [`wireless`] | WiFi interfaces and their networks |

#![cfg(target_os = "linux")]

pub mod bus;
pub mod capability;
#[cfg(feature = "bpf")]
pub mod cc;
pub mod congestion;
pub mod counters;
pub mod error;
pub mod gate;
pub mod group;
pub mod lateness;
pub mod modem;
pub mod mptcp;
pub mod namespace;
pub mod peer;
pub mod probe;
pub mod programs;
pub mod reactor;
pub mod route;
pub mod state;
pub mod tun;
pub mod wireless;

mod netlink;
mod sockopt;
mod wait;

pub use error::{Error, Result};
pub use namespace::Namespace;
