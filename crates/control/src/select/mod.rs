//! Path selectors: they decide which paths have a subflow, and which subflows are backups.
//!
//! ```text
//!   counters (TCP_INFO) ──Observer──► Snapshot ──Selector──► use of each path ──differences──► Open │ Close
//!                                                                                                  SetBackup
//! ```
//! A selector states the wanted use of each path; the actions follow from the difference to the
//! actual use. So a lost action is repeated at the next decision, and no subflow is closed before
//! its replacement is open. Nothing here has a clock or does I/O. The packet engine feeds it from
//! simulated subflows, a daemon from `TCP_INFO` and the kernel's path manager.

mod emptcp;
mod es;
mod hosted;
mod joule;
mod lia;
mod observe;
mod overflow;
mod pluntke;
mod registry;
mod schedule;
mod selector;
mod simple;
mod snapshot;
mod uses;

pub use crate::energy::PathEnergy;
pub use emptcp::{Emptcp, Forecast, Thresholds};
pub use es::{Es, Objective, Subsets};
pub use hosted::{Hosted, OpenSelector, SelectorHooks, SelectorHost};
pub use joule::Joule;
pub use lia::{LossyPath, lia_rates_pps};
pub use observe::{Counters, Observer};
pub use overflow::Overflow;
pub use pluntke::Pluntke;
pub use registry::{SELECTORS, Selector, SelectorSpec};
pub use schedule::Schedule;
pub use selector::PathSelector;
pub use simple::{Backup, Only, Quota, SingleBest};
pub use snapshot::{Demand, PathSnapshot, PathState, Snapshot};
pub use uses::{Action, Use, Uses, differences};

#[cfg(test)]
mod tests;
