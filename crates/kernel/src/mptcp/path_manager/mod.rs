//! The kernel's path manager over generic netlink (`mptcp_pm`), which opens and closes subflows and
//! makes them backups.
//!
//! There are two kinds. [`choose`] selects one for a network namespace before connections begin:
//! - *in-kernel*: [endpoints](Endpoint) and [limits](Limits) determine what every connection does
//!   by itself;
//! - *user space*: nothing happens until a program calls [`PathManager::create_subflow`] and the
//!   like for a connection.
//!
//! Both kinds report [`Events`].
//!
//! This module handles these traps: a change of flags by id must not contain an address family; a
//! subflow without an interface index leaves through the first path; ports are in host byte order
//! in requests and in network byte order in events; an event without `server_side` is the client's.
//!
//! | module | what |
//! |---|---|
//! | `choice` | selects the kind for new connections |
//! | `endpoint` | addresses in messages to and from the path manager, limits |
//! | `event` | events of connections and subflows |
//! | `manager` | the commands |

mod choice;
mod endpoint;
mod event;
mod manager;
mod uapi;

pub use choice::{KERNEL, USER_SPACE, choose, chosen};
pub use endpoint::{Endpoint, Ends, Limits, Local};
pub use event::{Event, Events, Failure, SubflowEvent};
pub use manager::PathManager;
