//! Processes that run this program again: the emulator, the two ends of the traffic, the init of a
//! lab.
//!
//! ```text
//!   parent ── stdin: spec, then commands ──►  worker
//!          ◄── stdout: events, one per line ──
//! ```
//!
//! Messages in both directions are lines of JSON. A worker ends when its parent ends for any
//! reason.
//!
//! | module | what |
//! |---|---|
//! | `handle` | a worker, as its parent uses it |
//! | `role` | the parent, as a worker uses it |
//! | `wire` | the messages between them |
//! | `launch`, `mounts` | starts children in other namespaces, ends them, mounts /sys and /proc |

mod handle;
mod launch;
mod mounts;
mod role;
mod wire;

pub use handle::{Program, Worker};
pub(crate) use launch::{Place, ProcessNamespace, Processes, launch};
pub(crate) use mounts::permitted as own_mounts_permitted;
pub use role::{Parent, Role, run_if_asked};
