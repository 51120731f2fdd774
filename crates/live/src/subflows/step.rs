//! Steps for connections.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use joulepath_kernel::mptcp::path_manager::{Ends, Local};
use joulepath_kernel::mptcp::{AddressId, Token};
use joulepath_model::units::Nanos;

/// Interface index by address.
pub(crate) type Owners = BTreeMap<IpAddr, u32>;

/// A step for a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) token: Token,
    pub(crate) act: Act,
    /// Interface index.
    pub(crate) interface: u32,
    pub(crate) why: String,
}

/// A command of the path manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    Open(Local, SocketAddr),
    SetBackup(Ends, bool),
    Close(Ends),
    Announce(Local),
    /// Tells the peer that an address is gone.
    Withdraw(AddressId),
}

/// Result of planning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) steps: Vec<Step>,
    /// When to check again.
    pub(crate) again: Option<Nanos>,
}

impl Plan {
    pub(super) fn wait_until(&mut self, at: Nanos) {
        self.again = Some(self.again.map_or(at, |again| again.min(at)));
    }
}
