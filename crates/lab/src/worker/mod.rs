//! Processes that are this program again: the emulator, the two ends of the traffic, the init of a lab.
//!
//! ```text
//!   parent ── stdin: spec, then commands ──►  worker
//!          ◄── stdout: events, one per line ──
//! ```
//!
//! Both ways a message is one line of JSON. A worker ends when its parent does, however that happens.
//!
//! | module | what |
//! |---|---|
//! | `handle` | a worker as its parent sees it |
//! | `role` | the parent as a worker sees it |
//! | `wire` | the messages between the two |
//! | `launch`, `mounts` | children in other namespaces, what ends them, what they see |

mod handle;
mod launch;
mod mounts;
mod role;
mod wire;

pub use handle::{Program, Worker};
pub(crate) use launch::{Place, ProcessNamespace, Processes, launch};
pub(crate) use mounts::permitted as own_mounts_permitted;
pub use role::{Parent, Role, run_if_asked};
