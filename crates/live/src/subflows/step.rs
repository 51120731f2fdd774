//! What can be done for connections.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use joulepath_kernel::mptcp::path_manager::{Ends, Local};
use joulepath_kernel::mptcp::{AddressId, Token};
use joulepath_model::units::Nanos;

/// Indexes of interfaces by their addresses.
pub(crate) type Owners = BTreeMap<IpAddr, u32>;

/// What is to be done to a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) token: Token,
    pub(crate) act: Act,
    /// Index of the interface that it is about.
    pub(crate) interface: u32,
    pub(crate) why: String,
}

/// One of the path manager's commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    Open(Local, SocketAddr),
    SetBackup(Ends, bool),
    Close(Ends),
    Announce(Local),
    /// The other end is told that an address is gone.
    Withdraw(AddressId),
}

/// What comes out of a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) steps: Vec<Step>,
    /// When there may be more to do.
    pub(crate) again: Option<Nanos>,
}

impl Plan {
    pub(super) fn wait_until(&mut self, at: Nanos) {
        self.again = Some(self.again.map_or(at, |again| again.min(at)));
    }
}
