//! Which subflows there are, and which of them are backups: the kernel's path manager over generic netlink
//! (`mptcp_pm`).
//!
//! Two kinds, [chosen](choose) for a network namespace before connections begin:
//! - *in-kernel*: [endpoints](Endpoint) and [limits](Limits) say what every connection does by itself;
//! - *user space*: nothing happens until [`PathManager::create_subflow`] and its like are called for a
//!   connection.
//!
//! [`Events`] come with both.
//!
//! Traps that this module takes care of: a change of flags by id must not name an address family; a subflow
//! whose interface index is not given leaves through the first path; ports are in the machine's byte order in
//! requests and in the network's in events; an event without `server_side` is the client's.
//!
//! | module | what |
//! |---|---|
//! | `choice` | which of both new connections get |
//! | `endpoint` | addresses on their way to and from the path manager, limits |
//! | `event` | what happens to connections and subflows |
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
