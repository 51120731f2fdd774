//! The subflows of single connections, with the daemon as path manager. Pure except for `process`
//! and `steering`.
//!
//! ```text
//!   listing, events ──► state of each connection ──────────┐
//!   roles of interfaces, for each group of connections ────┴──► plan ──► steps: open, close, priority
//! ```
//! A group is the machine's connections, or those of one rule; [`decide`](crate::decide) gives its
//! roles. A connection gets a subflow on an interface with a role when it is large or old enough,
//! or when it has no other working subflow. A lost subflow is reopened on its own pair of
//! addresses, at growing intervals. A subflow on an interface without a role is closed when another
//! one works.
//!
//! | module | what |
//! |---|---|
//! | `known` | state of a connection |
//! | `group` | roles of interfaces for a group of connections |
//! | `planner`, `plan` | steps for one connection |
//! | `step` | the possible steps |
//! | `rules` | the group of a connection |
//! | `process` | the owner of a socket |
//! | `steering` | carries out the plan |

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
pub(crate) use self::steering::{Done, Ground, Kernel, Steering};
