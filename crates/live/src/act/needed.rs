//! Connections that the removal of an endpoint would cut off.
//!
//! The kernel closes every subflow of a removed endpoint: those opened from it, and the initial
//! subflow of a connection with its address. A connection without another working subflow is cut
//! off.

use std::collections::BTreeMap;
use std::net::IpAddr;

use joulepath_kernel::mptcp::diag::{Connection, TcpSocket};
use joulepath_kernel::mptcp::path_manager::Endpoint;
use joulepath_kernel::mptcp::{AddressId, TcpState};
use joulepath_kernel::reactor::thread_cpu_ns;
use joulepath_model::units::Nanos;

use crate::measure::waits_in_vain;

/// A subflow may be dead if its last packet arrived this much earlier than another subflow's, ms.
const MUCH_LATER_MS: u32 = 2000;

/// Listings of connections may use 1 of `SHARE` of a processor.
const SHARE: u64 = 1000;
const SOONEST: Nanos = Nanos::from_millis(500);
const LATEST: Nanos = Nanos::from_secs(30);

/// The subflows that the kernel closes with an endpoint.
#[derive(Clone, Copy, Debug)]
pub(super) struct Closing {
    pub(super) id: AddressId,
    pub(super) address: IpAddr,
}

impl Closing {
    pub(super) fn with(endpoint: &Endpoint) -> Option<Self> {
        Some(Closing {
            id: endpoint.id?,
            address: endpoint.address,
        })
    }

    pub(super) fn new(id: AddressId, address: IpAddr) -> Self {
        Closing { id, address }
    }

    fn includes(&self, subflow: &TcpSocket) -> bool {
        subflow.local.ip() == self.address
            || subflow
                .membership
                .is_some_and(|member| member.local_id == self.id)
    }

    /// True if the connection loses a subflow and keeps none that works.
    pub(super) fn cuts(&self, connection: &Connection) -> bool {
        let is_open =
            |subflow: &&TcpSocket| !matches!(subflow.state, TcpState::Closed | TcpState::TimeWait);
        let (going, others): (Vec<_>, Vec<_>) = connection
            .subflows
            .iter()
            .filter(is_open)
            .partition(|subflow| self.includes(subflow));
        let latest = going
            .iter()
            .filter_map(|subflow| Some(subflow.info.as_ref()?.heard_ms))
            .min();
        !going.is_empty() && !others.iter().any(|subflow| works(subflow, latest))
    }

    /// Number of connections that lose a subflow.
    pub(super) fn touches(&self, connections: &[Connection]) -> usize {
        let has = |one: &&Connection| one.subflows.iter().any(|subflow| self.includes(subflow));
        connections.iter().filter(has).count()
    }

    /// Removes the closed subflows from `connection`.
    pub(super) fn take_from(&self, connection: &mut Connection) {
        connection
            .subflows
            .retain(|subflow| !self.includes(subflow));
    }
}

/// True if data gets through. `latest`: time since another subflow of the connection received a
/// packet, ms.
fn works(subflow: &TcpSocket, latest: Option<u32>) -> bool {
    let is_behind = subflow
        .info
        .as_ref()
        .zip(latest)
        .is_some_and(|(info, latest)| info.heard_ms > latest.saturating_add(MUCH_LATER_MS));
    subflow.state == TcpState::Established && !waits_in_vain(subflow) && !is_behind
}

/// Pause until the next listing of connections. `begun`: this thread's processor time before the
/// last one, ns.
pub(crate) fn pause_after(begun: u64) -> Nanos {
    Nanos(thread_cpu_ns().saturating_sub(begun).saturating_mul(SHARE))
        .max(SOONEST)
        .min(LATEST)
}

/// Endpoints that stay at present.
#[derive(Clone, Debug)]
pub(super) struct Staying {
    /// When to check again.
    pub(super) until: Nanos,
    /// Addresses of endpoints, and the number of connections that need each.
    pub(super) stays: BTreeMap<IpAddr, usize>,
}
