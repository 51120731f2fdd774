//! Emulated radios: one process that carries every packet of a lab through the simulator's links, in real
//! time.
//!
//! ```text
//!   client's namespace                                  server's namespace
//!   TUN wifi ──┐        ┌──────────────────────┐        ┌── TUN wifi
//!   TUN lte  ──┼─epoll──┤ network: link, link… ├─write──┼── TUN lte
//!              └────────┤ device: joules       ├────────┘
//!                       └──────────────────────┘
//! ```
//!
//! | module | what |
//! |---|---|
//! | [`messages`] | the spec, the commands, the answers |
//! | `run` | the worker: devices, priority, then the pump |
//! | `pump` | the loop: TUN devices, timer, commands |
//! | `timeline` | links, meter and samples over the scenario's time |
//! | `network` | links with packets on them; no clock, no I/O |
//! | `packet` | what is read in a packet, and the ECN mark |
//! | `device` | energy and open subflows |
//! | `lateness`, `allowance` | how late it was, and how late it may be |
//! | `recorder` | time series |
//! | `priority` | how it gets the processor |

pub mod messages;

mod allowance;
mod device;
mod lateness;
mod network;
mod packet;
mod priority;
mod pump;
mod recorder;
mod run;
mod timeline;

pub use allowance::{allowed_lateness, doubt};
pub(crate) use run::{ROLE, run};
