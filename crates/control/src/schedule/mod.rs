//! Packet schedulers: they choose the subflow for the next segment.
//!
//! ```text
//!  segment to send ──▶ usable subflows ──▶ not yet carriers of it ──▶ scheduler's choice ──▶ Some(i) | None
//!  (new or reinjected) regular, else backup   all carried it: start over
//! ```
//!
//! [`PacketScheduler`] is the interface, [`Scheduler`] a registered scheduler. A scheduler is
//! called once per segment, so `Scheduler` is an enum, and no scheduler allocates. It sees what the
//! out-of-tree Linux MPTCP shows its schedulers: [`PathView`] is a subflow's view, [`Backlog`] the
//! data's.

mod allotted;
mod blest;
mod daps;
mod ecf;
mod emtcp;
mod first_free;
mod hosted;
mod mainline;
mod min_rtt;
mod placing;
mod proactive;
mod redundant;
mod registry;
mod rescue;
mod round_robin;
mod scheduler;
mod sttf;
mod view;

pub use allotted::Allotted;
pub use blest::Blest;
pub use daps::Daps;
pub use ecf::Ecf;
pub use emtcp::Emtcp;
pub use first_free::FirstFree;
pub use hosted::{Hosted, OpenScheduler, Question, SchedulerHooks, SchedulerHost};
pub use joulepath_controllers::MAX_SUBFLOWS;
pub use mainline::{Mainline, PAGE_BYTES};
pub use min_rtt::MinRtt;
pub use placing::Placing;
pub use proactive::Proactive;
pub use redundant::Redundant;
pub(crate) use registry::info;
pub use registry::{SCHEDULERS, Scheduler};
pub use rescue::{Rescue, Rescuer, penalised};
pub use round_robin::RoundRobin;
pub use scheduler::{Features, Offload, PacketScheduler, Style};
pub use sttf::Sttf;
pub(crate) use view::members;
pub use view::{Backlog, PathView, Placement, RttView, usable};

#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_placing;
