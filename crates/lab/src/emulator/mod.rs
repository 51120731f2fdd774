//! Emulated radios: one process carries all packets of a lab through the simulator's links in real
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
//! | [`messages`] | spec, commands, answers |
//! | `run` | the worker: devices, priority, then the pump |
//! | `pump` | the event loop: TUN devices, timer, commands |
//! | `timeline` | links, meter and samples over scenario time |
//! | `network` | links and their packets, without clock or I/O |
//! | `packet` | parses packets, and sets the ECN mark |
//! | `device` | energy and open subflows |
//! | `lateness`, `allowance` | measured lateness, and allowed lateness |
//! | `capture` | packets as pcapng |
//! | `recorder` | time series |
//! | `services` | bytes and joules by port of the server |
//! | `priority` | real-time priority |

pub mod messages;

mod allowance;
mod capture;
mod device;
mod lateness;
mod network;
mod packet;
mod priority;
mod pump;
mod recorder;
mod run;
mod services;
mod timeline;

pub use allowance::{allowed_lateness, doubt};
pub(crate) use run::{ROLE, run};
