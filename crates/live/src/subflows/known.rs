//! What is known of one connection.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

use joulepath_kernel::mptcp::diag::{Connection, TcpSocket};
use joulepath_kernel::mptcp::path_manager::{Ends, SubflowEvent};
use joulepath_kernel::mptcp::{AddressId, TcpState};
use joulepath_model::units::{Bytes, Nanos};

use super::step::Act;
use crate::decide::Renewal;
use crate::measure::waits_in_vain;

/// The kernel opens no further subflow before a connection's first data is acknowledged: the time between two
/// attempts, and how often it doubles.
const EARLY: Nanos = Nanos::from_millis(100);
const MOST_DOUBLINGS: u32 = 6;

/// A pair of ends that a subflow may have: own address, the other end's.
pub(super) type Pair = (IpAddr, SocketAddr);

/// One subflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Subflow {
    pub(super) ends: Ends,
    /// Index of the interface that it is bound to.
    pub(super) bound: Option<u32>,
    /// Its handshake is over.
    pub(super) established: bool,
    /// It does not wait for an answer in vain.
    pub(super) healthy: bool,
    /// This end has declared it a backup.
    pub(super) backup: bool,
    /// What this end calls its own address; none if that is not known.
    pub(super) id: Option<AddressId>,
}

impl Subflow {
    /// Whether data gets through.
    pub(super) fn works(&self) -> bool {
        self.established && self.healthy
    }
}

/// One connection.
#[derive(Clone, Debug)]
pub(super) struct Known {
    /// Own end of the first subflow.
    pub(super) local: SocketAddr,
    /// The other end's.
    pub(super) remote: SocketAddr,
    /// When it began; none: before the daemon.
    pub(super) since: Option<Nanos>,
    /// Whether this host has opened it.
    pub(super) opened_here: bool,
    /// Whether the kernel lets it be steered, once that was asked.
    pub(super) steerable: Option<bool>,
    /// Its place among the groups.
    pub(super) group: Option<usize>,
    /// Whether it began on an interface that is not ours, such as a tunnel: then it is left alone.
    pub(super) elsewhere: Option<bool>,
    /// What it has carried, both directions together.
    pub(super) carried: Bytes,
    pub(super) subflows: Vec<Subflow>,
    /// Further addresses of the other end.
    pub(super) offered: BTreeMap<AddressId, SocketAddr>,
    /// Pairs that it has or had, or that were tried, with the attempts.
    pub(super) pairs: BTreeMap<Pair, Attempts>,
    /// Own addresses that the other end was told.
    pub(super) told: BTreeSet<IpAddr>,
    early: u32,
    pub(super) early_until: Nanos,
}

/// The attempts to open one pair.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Attempts {
    /// Whether the connection has had a subflow there.
    pub(super) had: bool,
    pub(super) renewal: Renewal,
    /// What the connection calls the own address, if it has had a subflow there besides the first one.
    pub(super) id: Option<AddressId>,
    /// How often the kernel has refused to open it.
    pub(super) refusals: u8,
}

impl Known {
    pub(super) fn new(local: SocketAddr, remote: SocketAddr, since: Option<Nanos>) -> Self {
        Known {
            local,
            remote,
            since,
            opened_here: false,
            steerable: None,
            group: None,
            elsewhere: None,
            carried: Bytes(0),
            subflows: vec![],
            offered: BTreeMap::new(),
            pairs: BTreeMap::new(),
            told: BTreeSet::new(),
            early: 0,
            early_until: Nanos::ZERO,
        }
    }

    /// One that has just begun.
    pub(super) fn begun(ends: Ends, opened_here: bool, now: Nanos) -> Self {
        let mut known = Known { opened_here, ..Known::new(ends.local, ends.remote, Some(now)) };
        let id = Some(AddressId(0));
        known.add(Subflow { ends, bound: None, established: true, healthy: true, backup: false, id });
        known
    }

    pub(super) fn observe(&mut self, connection: &Connection) {
        if let Some(counters) = connection.info.counters {
            self.carried = Bytes(counters.sent.saturating_add(counters.received));
        }
        self.subflows.clear();
        for socket in &connection.subflows {
            let opened_here = socket.membership.is_some_and(|member| member.opened_locally);
            self.opened_here |= opened_here;
            if let Some(subflow) = subflow(socket) {
                self.add(subflow);
            }
        }
    }

    fn add(&mut self, subflow: Subflow) {
        if subflow.established && self.opened_here {
            let attempts = self.pairs.entry((subflow.ends.local.ip(), subflow.ends.remote)).or_default();
            attempts.had = true;
            attempts.id = subflow.id.filter(|id| id.0 != 0).or(attempts.id);
        }
        self.subflows.push(subflow);
    }

    pub(super) fn established(&mut self, told: &SubflowEvent) {
        let before = self.subflows.iter().find(|subflow| subflow.ends == told.ends).copied();
        self.closed(told.ends);
        self.add(Subflow {
            ends: told.ends,
            bound: told.interface,
            established: true,
            healthy: true,
            backup: before.is_some_and(|before| before.backup),
            id: Some(told.local_id),
        });
    }

    pub(super) fn closed(&mut self, ends: Ends) {
        self.subflows.retain(|subflow| subflow.ends != ends);
    }

    pub(super) fn announced(&mut self, id: AddressId, remote: SocketAddr) {
        let port = if remote.port() == 0 { self.remote.port() } else { remote.port() };
        self.offered.insert(id, (remote.ip(), port).into());
    }

    pub(super) fn withdrawn(&mut self, id: AddressId) {
        if let Some(remote) = self.offered.remove(&id) {
            self.pairs.retain(|(_, other), _| *other != remote);
        }
    }

    pub(super) fn was_early(&mut self, now: Nanos, act: &Act) {
        if let Act::Open(local, remote) = act
            && let Some(attempts) = self.pairs.get_mut(&(local.address, *remote))
        {
            attempts.renewal = Renewal::default();
        }
        self.early_until = now.saturating_add(Nanos(EARLY.0 << self.early.min(MOST_DOUBLINGS)));
        self.early += 1;
    }

    pub(super) fn was_refused(&mut self, act: &Act) {
        if let Act::Open(local, remote) = act
            && let Some(attempts) = self.pairs.get_mut(&(local.address, *remote))
        {
            attempts.id = None;
            attempts.refusals = attempts.refusals.wrapping_add(1);
        }
    }

    /// How long it has stood; for ever if it began before the daemon.
    pub(super) fn age(&self, now: Nanos) -> Nanos {
        self.since.map_or(Nanos(u64::MAX), |since| now.saturating_sub(since))
    }
}

/// None for one that ends.
fn subflow(socket: &TcpSocket) -> Option<Subflow> {
    let established = socket.state == TcpState::Established;
    let opens = matches!(socket.state, TcpState::SynSent | TcpState::SynReceived);
    (established || opens).then(|| Subflow {
        ends: Ends { local: socket.local, remote: socket.remote },
        bound: socket.interface,
        established,
        healthy: !waits_in_vain(socket),
        backup: socket.membership.is_some_and(|member| member.backup_locally),
        id: socket.membership.map(|member| member.local_id),
    })
}
