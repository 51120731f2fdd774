//! Checks what this machine supports: one function per fact, on a [`System`] that tests replace.
//!
//! | module | what |
//! |---|---|
//! | `finding` | the status of one fact, and how to fix it |
//! | `report` | all facts, and the verdicts |
//! | `engine` | kernel, MPTCP, BTF, JIT, capabilities, loading and keeping controllers |
//! | `lab` | namespaces, TUN, IPv6, MPTCP in namespaces, clock and cores |
//! | `meters` | energy meters of the machine |
//! | `subflow_count` | kernels that count subflows wrongly |
//! | `interference` | other programs that configure MPTCP |
//!
//! The checks change nothing: what an attempt creates is removed when it returns.

mod engine;
mod finding;
mod interference;
mod lab;
mod meters;
mod report;
mod status;
mod subflow_count;
mod system;
mod version;

pub use engine::OLDEST_KERNEL;
pub use finding::{Finding, Status};
pub use interference::managers;
pub use meters::RAPL_RULE;
pub use report::{Fact, Group, Report, Verdict, examine};
pub use subflow_count::{is_miscounted, miscounts, repaired};
pub use system::{Attempt, Machine, System};
pub use version::Version;
