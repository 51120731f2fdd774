//! The lab: two hosts, each a network namespace, joined by emulated radios.
//!
//! ```text
//!   client (the device)                                server
//!   wifi 198.18.1.1 ── TUN ──┐            ┌── TUN ── wifi
//!                            ├─ emulator ─┤                    198.19.255.1
//!   lte  198.18.2.1 ── TUN ──┘            └── TUN ── lte
//! ```
//!
//! The server has one address, reachable over every path; the client has one per path, and what is bound to
//! it leaves through that path. Everything inside belongs to the scenario: windows, timers, buffers. Nothing
//! outside is touched.
//!
//! | module | what |
//! |---|---|
//! | `lab` | a running lab |
//! | `spec` | what a lab is to be |
//! | `plan` | from a scenario to tunnels and addresses |
//! | `tunnel` | a pair of TUN devices |
//! | `stack` | sysctls, addresses, rules, routes |
//! | `serve` | servers of the outside, shared into the lab |
//! | `init` | the process that ends everything in a lab |
//! | `processes` | which processes belong to a lab, which ones are in its network |
//! | `ledger` | which labs run on this machine |

mod init;
mod lab;
mod ledger;
mod plan;
mod processes;
mod serve;
mod spec;
mod stack;
mod tunnel;

pub(crate) use init::{ROLE as INIT, run as init};
pub use lab::Lab;
pub use ledger::{Clean, Removed, Running, clean};
pub use processes::{Process, Remains};
pub use serve::Serving;
pub use spec::LabSpec;
pub use tunnel::Tunnel;
