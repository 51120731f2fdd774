//! What this machine can do: one function for each fact, on a [`System`] that tests replace.
//!
//! | module | what |
//! |---|---|
//! | `finding` | how one fact stands, and what mends it |
//! | `report` | all facts, and what follows from them |
//! | `engine` | kernel, MPTCP, BTF, JIT, capabilities, controllers that load, where they stay |
//! | `lab` | namespaces, TUN, IPv6, what MPTCP offers in them, clock and cores |
//! | `meters` | energy that the machine measures itself |
//! | `interference` | programs that steer MPTCP as well |
//!
//! Nothing is changed by looking: what an attempt makes is gone when it returns.

mod engine;
mod finding;
mod interference;
mod lab;
mod meters;
mod report;
mod status;
mod system;
mod version;

pub use engine::OLDEST_KERNEL;
pub use finding::{Finding, Status};
pub use interference::managers;
pub use meters::RAPL_RULE;
pub use report::{Fact, Group, Report, Verdict, examine};
pub use system::{Attempt, Machine, System};
pub use version::Version;
