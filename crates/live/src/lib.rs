//! The daemon that manages the MPTCP paths of real interfaces.
//!
//! ```text
//!   machine (netlink, /sys) ──► snapshot ──► decide ──► endpoints, limits ──► act ──► kernel
//!                                  ▲            │ reasons                      │ journal first
//!                       ledger, joules          ▼                              ▼
//!                                            status ──► socket ──► `joulepath status`
//! ```
//! | module | what |
//! |---|---|
//! | [`snapshot`] | the machine at one instant |
//! | [`decide`] | what the endpoints should be, and why: pure |
//! | [`act`] | what is wanted becomes what is there, noted before it is changed |
//! | `clock` | which day counts as today, although the system's clock may jump: pure |
//! | [`ledger`] | bytes and joules by interface and day: pure |
//! | [`gauge`] | what a meter of the whole machine says |
//! | [`joules`] | what traffic costs |
//! | [`measure`] | rates, RTTs, subflows that get no answer: pure |
//! | `subflows` | the subflows of single connections, where the daemon is the path manager |
//! | `user_space` | the same with the kernel's events and commands |
//! | `pace` | when connections are listed: pure |
//! | `refusals` | subflows that the other end does not take |
//! | `config`, `machine`, `accounts`, `battery`, `precheck` | what the kernel and the disk tell |
//! | [`daemon`] | the loop: look, decide, act, tell; what begins and ends it |
//! | `server`, [`client`] | the control socket and its other end |
//! | [`status`], `report`, `events`, [`metrics`] | what is told |
//! | [`reason`] | why an interface is used as it is |
//! | [`leaks`] | endpoints that should not be there, for `doctor` |
//! | [`record`] | what decisions were made from, and the same decisions made again |
//! | [`simulate`] | a scenario of what is measured |
//! | `versioned`, `exact` | records on disk with their version; quantities in records |
//! | `names` | numbers of users and groups |
//! | `notify` | what systemd is told |
//! | [`error`] | what can go wrong, and its remedy |

#![cfg(target_os = "linux")]

pub mod act;
pub mod client;
pub mod daemon;
pub mod decide;
pub mod error;
pub mod gauge;
pub mod joules;
pub mod leaks;
pub mod ledger;
pub mod measure;
pub mod metrics;
pub mod reason;
pub mod record;
pub mod simulate;
pub mod snapshot;
pub mod status;

mod accounts;
mod battery;
mod clock;
mod config;
mod events;
mod exact;
mod machine;
mod names;
mod notify;
mod pace;
mod precheck;
mod refusals;
mod report;
#[cfg(test)]
mod samples;
mod server;
mod subflows;
mod user_space;
mod versioned;
#[cfg(test)]
mod week;

pub use error::{Error, Result};
pub use server::Request;
