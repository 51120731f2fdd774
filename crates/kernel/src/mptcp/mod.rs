//! MPTCP as Linux offers it: sockets, what they tell, the path manager, and who else uses it.
//!
//! | module | what |
//! |---|---|
//! | [`socket`] | stream sockets that speak MPTCP or plain TCP |
//! | [`memory`] | how much memory a receive window needs |
//! | [`info`] | statistics of a connection and its subflows, fallback |
//! | [`path_manager`] | endpoints, limits, subflows, priorities, events, through generic netlink |
//! | [`diag`] | every connection of the namespace, its subflows and their congestion controllers |
//! | [`abort`] | ends connections whose processes are gone |

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

/// Most subflows of a connection (`MPTCP_SUBFLOWS_MAX`).
pub const MAX_SUBFLOWS: usize = 8;

/// What a host calls one of its connections; the other end has another one for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Token(pub u32);

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}", self.0)
    }
}

/// What a host calls one of its addresses; 0 is the address of the first subflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AddressId(pub u8);

impl fmt::Display for AddressId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
