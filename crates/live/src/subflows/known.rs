//! State of one connection.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

use joulepath_kernel::mptcp::diag::{Connection, TcpSocket};
use joulepath_kernel::mptcp::path_manager::{Ends, SubflowEvent};
use joulepath_kernel::mptcp::{AddressId, TcpState};
use joulepath_kernel::route::Flow;
use joulepath_model::units::{Bytes, Nanos};

use super::step::Act;
use crate::decide::Renewal;
use crate::measure::waits_in_vain;

/// The kernel opens no further subflow before the connection's first data is acknowledged. First
/// interval between two attempts, and the number of times it doubles.
const EARLY: Nanos = Nanos::from_millis(100);
const MOST_DOUBLINGS: u32 = 6;

/// A pair of addresses for a subflow: own, peer's.
pub(super) type Pair = (IpAddr, SocketAddr);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Subflow {
    pub(super) ends: Ends,
    /// Index of the interface to which it is bound.
    pub(super) bound: Option<u32>,
    /// True after the handshake.
    pub(super) established: bool,
    /// False while it waits in vain for an answer.
    pub(super) healthy: bool,
    /// True if this end declared it a backup.
    pub(super) backup: bool,
    /// Id of the own address, if known.
    pub(super) id: Option<AddressId>,
}

impl Subflow {
    /// True if data gets through.
    pub(super) fn works(&self) -> bool {
        self.established && self.healthy
    }
}

#[derive(Clone, Debug)]
pub(super) struct Known {
    /// Own end of the initial subflow.
    pub(super) local: SocketAddr,
    /// The peer's end.
    pub(super) remote: SocketAddr,
    /// Start; `None` if it is older than the daemon.
    pub(super) since: Option<Nanos>,
    /// True if this host opened it.
    pub(super) opened_here: bool,
    /// True if the kernel lets the daemon steer it; `None` before asking.
    pub(super) steerable: Option<bool>,
    /// Index of its group.
    pub(super) group: Option<usize>,
    /// User and mark of its socket, once listed.
    pub(super) owner: Option<(u32, u32)>,
    /// The device of its route when it was new; `None` before the kernel was asked.
    pub(super) routed: Option<Option<u32>>,
    /// True if it started on an interface that is not ours, such as a tunnel: it is left alone.
    pub(super) elsewhere: Option<bool>,
    /// Bytes in both directions.
    pub(super) carried: Bytes,
    pub(super) subflows: Vec<Subflow>,
    /// Further addresses of the peer.
    pub(super) offered: BTreeMap<AddressId, SocketAddr>,
    /// True if the kernel refused a subflow of the other family: an IPv4 socket has none of IPv6.
    pub(super) has_one_family: bool,
    /// Pairs that it has, had or tried, with the attempts.
    pub(super) pairs: BTreeMap<Pair, Attempts>,
    /// Own addresses that were announced to the peer.
    pub(super) told: BTreeSet<IpAddr>,
    early: u32,
    pub(super) early_until: Nanos,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Attempts {
    /// True if the connection has had this subflow.
    pub(super) had: bool,
    pub(super) renewal: Renewal,
    /// Id of the own address, if the connection has had an extra subflow there.
    pub(super) id: Option<AddressId>,
    /// Number of refusals by the kernel.
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
            owner: None,
            routed: None,
            elsewhere: None,
            carried: Bytes(0),
            subflows: vec![],
            offered: BTreeMap::new(),
            has_one_family: false,
            pairs: BTreeMap::new(),
            told: BTreeSet::new(),
            early: 0,
            early_until: Nanos::ZERO,
        }
    }

    /// A connection that has just started.
    pub(super) fn begun(ends: Ends, opened_here: bool, now: Nanos) -> Self {
        let mut known = Known {
            opened_here,
            ..Known::new(ends.local, ends.remote, Some(now))
        };
        let id = Some(AddressId(0));
        known.add(Subflow {
            ends,
            bound: None,
            established: true,
            healthy: true,
            backup: false,
            id,
        });
        known
    }

    pub(super) fn observe(&mut self, connection: &Connection) {
        if let Some(counters) = connection.info.counters {
            self.carried = Bytes(counters.sent.saturating_add(counters.received));
        }
        self.owner = Some((connection.uid, connection.mark));
        self.subflows.clear();
        for socket in &connection.subflows {
            let opened_here = socket
                .membership
                .is_some_and(|member| member.opened_locally);
            self.opened_here |= opened_here;
            if let Some(subflow) = subflow(socket) {
                self.add(subflow);
            }
        }
    }

    /// What routing rules can know of it.
    pub(super) fn flow(&self) -> Flow {
        let (uid, mark) = self.owner.unzip();
        let first = self
            .subflows
            .iter()
            .find(|one| (one.ends.local, one.ends.remote) == (self.local, self.remote));
        Flow {
            source: Some(self.local.ip().to_canonical()),
            ports: [self.local.port(), self.remote.port()],
            bound: first.and_then(|one| one.bound),
            mark: mark.unwrap_or(0),
            uid,
            ..Flow::to(self.remote.ip().to_canonical())
        }
    }

    fn add(&mut self, subflow: Subflow) {
        if subflow.established && self.opened_here {
            let attempts = self
                .pairs
                .entry((subflow.ends.local.ip(), subflow.ends.remote))
                .or_default();
            attempts.had = true;
            attempts.id = subflow.id.filter(|id| id.0 != 0).or(attempts.id);
        }
        self.subflows.push(subflow);
    }

    pub(super) fn established(&mut self, told: &SubflowEvent) {
        let before = self
            .subflows
            .iter()
            .find(|subflow| subflow.ends == told.ends)
            .copied();
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
        let port = if remote.port() == 0 {
            self.remote.port()
        } else {
            remote.port()
        };
        self.offered.insert(id, (remote.ip(), port).into());
    }

    pub(super) fn withdrawn(&mut self, id: AddressId) {
        if let Some(remote) = self.offered.remove(&id) {
            self.pairs.retain(|(_, other), _| *other != remote);
        }
    }

    pub(super) fn note_early(&mut self, now: Nanos, act: &Act) {
        if let Act::Open(local, remote) = act
            && let Some(attempts) = self.pairs.get_mut(&(local.address, *remote))
        {
            attempts.renewal = Renewal::default();
        }
        self.early_until = now.saturating_add(Nanos(EARLY.0 << self.early.min(MOST_DOUBLINGS)));
        self.early += 1;
    }

    pub(super) fn note_refusal(&mut self, act: &Act) {
        if let Act::Open(local, remote) = act
            && let Some(attempts) = self.pairs.get_mut(&(local.address, *remote))
        {
            attempts.id = None;
            attempts.refusals = attempts.refusals.wrapping_add(1);
            self.has_one_family |= local.address.is_ipv4() != self.remote.is_ipv4();
        }
    }

    /// Age; the maximum if it is older than the daemon.
    pub(super) fn age(&self, now: Nanos) -> Nanos {
        self.since
            .map_or(Nanos(u64::MAX), |since| now.saturating_sub(since))
    }
}

/// `None` for a subflow that is closing.
fn subflow(socket: &TcpSocket) -> Option<Subflow> {
    let established = socket.state == TcpState::Established;
    let opens = matches!(socket.state, TcpState::SynSent | TcpState::SynReceived);
    (established || opens).then(|| Subflow {
        ends: Ends {
            local: socket.local,
            remote: socket.remote,
        },
        bound: socket.interface,
        established,
        healthy: !waits_in_vain(socket),
        backup: socket
            .membership
            .is_some_and(|member| member.backup_locally),
        id: socket.membership.map(|member| member.local_id),
    })
}
