//! The subflows of single connections, where the daemon is the path manager.
//!
//! ```text
//!   listing, events ──► what is known of each connection ──┐
//!   roles of interfaces, for each group of connections ────┴──► plan ──► steps: open, close, priority
//! ```
//! A group is the machine's connections, or those of one rule; its roles are decided as everywhere
//! ([`decide`](crate::decide)). A connection gets a subflow on an interface with a role when it has carried
//! enough or stood for long enough, or when it has no other subflow that works; one that it has lost comes
//! back on its own pair of addresses, each time later. It loses a subflow on an interface without a role when
//! another one works. Nothing is asked and nothing is done here.
//!
//! | module | what |
//! |---|---|
//! | `known` | what is known of a connection |
//! | `group` | roles of interfaces for a group of connections |
//! | `planner`, `plan` | what has to be done, for one connection |
//! | `step` | what can be done |
//! | `rules` | which group a connection belongs to |
//! | `process` | whose socket it is |
//! | `steering` | what was planned is done |

mod group;
mod known;
mod plan;
mod planner;
mod process;
mod rules;
mod steering;
mod step;
#[cfg(test)]
mod tests;

pub(crate) use self::group::Group;
pub(crate) use self::rules::Rules;
pub(crate) use self::steering::{Done, Ground, Steering};
