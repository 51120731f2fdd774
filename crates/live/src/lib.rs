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
//! | [`act`] | makes the kernel match the decision; journals each change before making it |
//! | `clock` | today's date, although the system clock may jump: pure |
//! | [`ledger`] | bytes and joules by interface and day: pure |
//! | [`gauge`] | the reading of a whole-machine meter |
//! | [`joules`] | the energy of traffic |
//! | [`placing`] | when packets passed between two readings of counters: pure |
//! | [`measure`] | rates, RTTs, subflows without answers: pure |
//! | `subflows` | subflows of single connections, when the daemon is the path manager |
//! | `first` | rules and routes by which new connections start on the preferred interface |
//! | `foreign` | devices that the configuration does not name and that take connections, such as a VPN's |
//! | `mute` | paths over which nothing is answered: pure |
//! | `pulse` | paths that deliver nothing, noticed within a few RTTs: pure, with the sockets for echoes |
//! | `user_space` | feeds kernel events to `subflows` and sends its commands |
//! | `pace` | when to list connections: pure |
//! | `networks` | what is remembered of networks |
//! | `refusals` | subflows that the peer refuses |
//! | `roaming` | WiFi clients without a carrier for a moment: pure |
//! | `config`, `machine`, `accounts`, `battery`, `precheck` | input from kernel and disk |
//! | [`daemon`] | the loop: poll, decide, act, report; start and stop |
//! | [`kept`] | the last listings of connections, and what holds connections back |
//! | `server`, [`client`] | both ends of the control socket |
//! | [`status`], `report`, `events`, [`metrics`] | output |
//! | [`reason`] | why an interface has its role |
//! | [`here`] | the daemon of this network namespace, found without its configuration |
//! | [`leaks`] | leftover endpoints, for `doctor` |
//! | [`record`] | the input of decisions, and its replay |
//! | [`simulate`] | a scenario built from measurements |
//! | [`strength`], `modems` | signal strengths from commands and from ModemManager |
//! | [`programs`] | starts programs whose TCP sockets become MPTCP |
//! | [`units`] | services of systemd whose programs use MPTCP |
//! | [`switch`] | the daemon as a service: `joulepath on`, `joulepath off` |
//! | `owned`, `systemd` | files of ours in folders of others; requests to systemd |
//! | `versioned`, `exact` | versioned records on disk; their exact quantities |
//! | `names` | numeric ids of users and groups |
//! | `notify` | messages to systemd |
//! | [`error`] | errors and remedies |

#![cfg(target_os = "linux")]

pub mod act;
mod always;
pub mod boot;
pub mod client;
pub mod daemon;
pub mod decide;
pub mod error;
pub mod gauge;
pub mod here;
pub mod joules;
pub mod kept;
pub mod leaks;
pub mod ledger;
pub mod measure;
pub mod metrics;
pub mod programs;
pub mod reason;
pub mod record;
pub mod simulate;
pub mod snapshot;
pub mod status;
pub mod strength;
pub mod switch;
pub mod units;

mod accounts;
mod battery;
mod clock;
mod config;
mod events;
mod exact;
mod first;
mod foreign;
mod machine;
mod modems;
mod mute;
mod names;
mod networks;
mod notify;
mod owned;
mod pace;
pub mod placing;
mod precheck;
mod pulse;
mod refusals;
mod report;
mod roaming;
#[cfg(test)]
mod samples;
mod server;
mod sources;
mod still;
mod subflows;
mod systemd;
mod user_space;
mod versioned;
#[cfg(test)]
mod week;

pub use error::{Error, Result};
pub use server::Request;
