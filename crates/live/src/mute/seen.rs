//! What a poll shows of a device: sockets without and with answers, counters, its router.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use joulepath_kernel::mptcp::TcpState;
use joulepath_kernel::mptcp::diag::Listing;
use joulepath_kernel::route::{Link, Neighbour, RouteKind, View};
use joulepath_model::units::Nanos;

use super::Ask;
use crate::machine::{self, is_routed};
use crate::measure::{Looked, Measured, Places};

/// `RT_TABLE_MAIN`.
const MAIN: u32 = 254;
/// A first SYN without an answer for this long is late.
const LATE: Nanos = Nanos::from_millis(800);
/// A path that receives less between two polls carries no traffic worth mentioning.
const QUIET_BYTES: u64 = 3000;
/// An established connection with fewer timeouts in a row waits for a lost packet.
const LEAST_TIMEOUTS: u8 = 2;

/// A usable device at a poll.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) device: u32,
    pub(crate) addresses: Vec<IpAddr>,
    /// Packets and bytes received since the device exists.
    pub(crate) packets: u64,
    pub(crate) bytes: u64,
    /// True if packets were sent since the last poll, and none arrived.
    pub(crate) waits: bool,
    /// True if packets were sent since the last poll, and hardly any arrived.
    pub(crate) is_quiet: bool,
    /// Time until the oldest SYN that is under way is late.
    pub(crate) late_in: Option<Nanos>,
    /// True if the routers of its default routes do not answer ARP or neighbour solicitations.
    pub(crate) router_fails: bool,
    /// True if the kernel knows the hardware address of one, which therefore answers as long as it
    /// is there.
    pub(crate) has_router: bool,
    /// How to ask its router; `None` without one.
    pub(crate) router: Option<Ask>,
    /// Sockets without an answer.
    pub(crate) vain: Vec<Vain>,
    /// Sockets with an answer.
    pub(crate) heard: Vec<Heard>,
}

/// A socket whose packets get no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Vain {
    pub(crate) local: SocketAddr,
    pub(crate) server: SocketAddr,
    /// In a row; 0: its first SYN is late.
    pub(crate) timeouts: u32,
}

/// A socket that has received something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Heard {
    pub(crate) local: SocketAddr,
    pub(crate) server: SocketAddr,
    /// When its last segment arrived; 0 if it is closed.
    pub(crate) at: Nanos,
    /// True if the connection ends or has ended.
    pub(crate) is_closed: bool,
}

/// The usable devices with a default route.
pub(crate) fn paths(
    view: &View,
    looked: &[Looked],
    measured: &BTreeMap<String, Measured>,
) -> Vec<Seen> {
    let is_path = |one: &&Looked| {
        let usable = view.links.get(&one.device).is_some_and(Link::is_usable);
        usable
            && [true, false]
                .into_iter()
                .any(|v4| is_routed(view, one.device, v4))
    };
    let seen = |one: &Looked| {
        let counters = one.counters?;
        let passed = measured
            .get(one.name)
            .map(|measured| measured.passed)
            .unwrap_or_default();
        Some(Seen {
            device: one.device,
            addresses: one.addresses.to_vec(),
            packets: counters.received_packets,
            bytes: counters.received_bytes,
            waits: passed.sent_bytes > 0 && passed.received_bytes == 0,
            is_quiet: passed.sent_bytes > 0 && passed.received_bytes < QUIET_BYTES,
            router: ask_router(view, one),
            ..Seen::default()
        })
    };
    looked.iter().filter(is_path).filter_map(seen).collect()
}

/// How to ask the router of a device. One with a link-local address is asked only by its servers'
/// packets.
fn ask_router(view: &View, one: &Looked) -> Option<Ask> {
    let is_link_local = |ip: IpAddr| matches!(ip, IpAddr::V6(v6) if v6.is_unicast_link_local());
    let towards = machine::routers(view, one.device).find(|router| !is_link_local(*router))?;
    let mut own = one.addresses.iter().copied();
    let source = own.find(|own| own.is_ipv4() == towards.is_ipv4() && !is_link_local(*own))?;
    Some(Ask {
        device: one.device,
        source,
        towards,
    })
}

/// Notes whether the routers of the devices answer: those of the family of an unanswered server, or
/// else all.
pub(crate) fn routers(view: &View, neighbours: &[Neighbour], all: &mut [Seen]) {
    for seen in all {
        let known = |router: IpAddr| {
            let of = |one: &&Neighbour| (one.device, one.address) == (seen.device, router);
            neighbours.iter().find(of)
        };
        let matters = |router: &IpAddr| {
            let is_alike = |one: &Vain| one.server.is_ipv4() == router.is_ipv4();
            seen.vain.is_empty() || seen.vain.iter().any(is_alike)
        };
        let found: Vec<_> = machine::routers(view, seen.device)
            .filter(matters)
            .map(known)
            .collect();
        let fails = |one: &Option<&Neighbour>| one.is_some_and(|one| one.unanswering);
        seen.router_fails = !found.is_empty() && found.iter().all(fails);
        seen.has_router = found
            .iter()
            .flatten()
            .any(|one| !one.unanswering && !one.hardware.is_empty());
    }
}

/// Sorts the sockets of a listing to devices. A subflow that joins a connection may be dropped on
/// its way for other reasons, and servers with a route of their own tell nothing about the default
/// route.
pub(crate) fn sockets(
    now: Nanos,
    listing: &Listing,
    view: &View,
    places: Places,
    all: &mut [Seen],
) {
    let subflows = listing
        .connections
        .iter()
        .flat_map(|connection| &connection.subflows);
    for socket in listing.plain.iter().chain(&listing.orphans).chain(subflows) {
        let Some(device) = places.device(socket) else {
            continue;
        };
        let Some(seen) = all.iter_mut().find(|seen| seen.device == device) else {
            continue;
        };
        let server = SocketAddr::new(socket.remote.ip().to_canonical(), socket.remote.port());
        let heard = |at, is_closed| Heard {
            local: socket.local,
            server,
            at,
            is_closed,
        };
        let timeouts = match (socket.state, &socket.info) {
            (TcpState::SynSent, _) if socket.membership.is_some_and(|one| one.joined) => continue,
            (TcpState::SynSent, Some(info)) if info.retransmitted_segments == 0 => {
                let timer = Nanos::from_millis(socket.timer_ms.into());
                let age = Nanos::from_micros(info.rto_us.into()).saturating_sub(timer);
                if age < LATE && !has_own_route(view, server.ip()) {
                    let late_in = LATE.saturating_sub(age);
                    seen.late_in = Some(seen.late_in.map_or(late_in, |known| known.min(late_in)));
                }
                if age < LATE {
                    continue;
                }
                0
            }
            (TcpState::SynSent, Some(info)) => info.retransmitted_segments,
            (TcpState::Established, Some(info))
                if info.unacked_packets > 0 && info.backoff >= LEAST_TIMEOUTS =>
            {
                info.backoff.into()
            }
            (TcpState::Established, Some(info)) => {
                let at = now.saturating_sub(Nanos::from_millis(info.heard_ms.into()));
                seen.heard.push(heard(at, false));
                continue;
            }
            (
                TcpState::Closed | TcpState::Listen | TcpState::SynReceived | TcpState::SynSent,
                _,
            ) => continue,
            _ => {
                seen.heard.push(heard(Nanos::ZERO, true));
                continue;
            }
        };
        if has_own_route(view, server.ip()) {
            continue;
        }
        seen.vain.push(Vain {
            local: SocketAddr::new(socket.local.ip().to_canonical(), socket.local.port()),
            server,
            timeouts,
        });
    }
}

/// True if a route of the main table other than a default route leads to the address.
fn has_own_route(view: &View, address: IpAddr) -> bool {
    view.routes.iter().any(|route| {
        route.table == MAIN
            && route.kind == RouteKind::Unicast
            && !route.destination.is_all()
            && route.destination.contains(address)
    })
}
