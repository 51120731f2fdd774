//! The lab: two hosts, each a network namespace, connected by emulated radios.
//!
//! ```text
//!   client (the device)                                server
//!   wifi 198.18.1.1 ── TUN ──┐            ┌── TUN ── wifi
//!                            ├─ emulator ─┤                    198.19.255.1
//!   lte  198.18.2.1 ── TUN ──┘            └── TUN ── lte
//! ```
//!
//! The server has one address, reachable over every path. The client has one address per path, and
//! sockets that are bound to it use that path. All settings inside are the scenario's: windows,
//! timers, buffers. Nothing outside changes.
//!
//! | module | what |
//! |---|---|
//! | `lab` | a running lab |
//! | `spec` | settings of a lab |
//! | `plan` | derives tunnels and addresses from a scenario |
//! | `tunnel` | a pair of TUN devices |
//! | `stack` | sysctls, addresses, rules, routes |
//! | `serve` | shares a server outside into the lab |
//! | `servers` | programs at the server, and the ports that they open |
//! | `init` | the process that ends everything in a lab |
//! | `processes` | lists the processes of a lab and in its network |
//! | `ledger` | the labs that run on this machine |

mod init;
mod lab;
mod ledger;
mod plan;
mod processes;
mod serve;
mod servers;
mod spec;
mod stack;
mod tunnel;

pub(crate) use init::{ROLE as INIT, run as init};
pub use lab::Lab;
pub use ledger::{Clean, Removed, Running, clean};
pub use processes::{Process, Remains};
pub use serve::Serving;
pub use servers::Server;
pub use spec::LabSpec;
pub use tunnel::Tunnel;
