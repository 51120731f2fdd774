//! MPTCP in Linux: sockets, statistics, the path manager, and lists of connections.
//!
//! | module | what |
//! |---|---|
//! | [`socket`] | stream sockets that speak MPTCP or plain TCP |
//! | [`memory`] | memory for a receive window |
//! | [`info`] | statistics of a connection and its subflows, fallback |
//! | [`path_manager`] | endpoints, limits, subflows, priorities, events, through generic netlink |
//! | [`diag`] | all connections of the namespace, their subflows and congestion controllers |
//! | [`abort`] | ends connections whose processes have exited |

pub mod abort;
pub mod diag;
pub mod info;
pub mod memory;
pub mod path_manager;
pub mod socket;

mod tcp_info;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use tcp_info::{Recovery, TcpInfo, TcpState};

/// Subflows per connection that user space may open on every kernel (`MPTCP_SUBFLOWS_MAX`). A
/// connection of the in-kernel path manager can have more:
/// [`PathManager::most`](path_manager::PathManager::most).
pub const MAX_SUBFLOWS: usize = 8;

/// A host's number of one of its connections; the peer has a different one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Token(pub u32);

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}", self.0)
    }
}

/// A host's number of one of its addresses; 0 is the address of the first subflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AddressId(pub u8);

impl fmt::Display for AddressId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
