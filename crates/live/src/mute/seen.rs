//! What a poll shows of a device: sockets without and with answers, counters, its router.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use joulepath_kernel::mptcp::TcpState;
use joulepath_kernel::mptcp::diag::Listing;
use joulepath_kernel::route::{Link, Neighbour, ReceivedIpv6, RouteKind, View};
use joulepath_model::units::Nanos;

use super::{Ask, Way};
use crate::machine::{self, is_routed};
use crate::measure::{Looked, Measured, Places};

/// `RT_TABLE_MAIN`.
const MAIN: u32 = 254;
/// A first SYN without an answer for this long is late.
const LATE: Nanos = Nanos::from_millis(800);
/// A path that receives less between two polls carries no traffic worth mentioning.
const QUIET_BYTES: u64 = 3000;
/// The same of a family that shares its device: nothing has been heard for so long.
const QUIET: Nanos = Nanos::from_secs(2);
/// Coalescing hides headers of at most one byte in so many: 94 in a packet of 1280.
const HIDDEN: u64 = 8;
/// An established connection with fewer timeouts in a row waits for a lost packet.
const LEAST_TIMEOUTS: u8 = 2;

/// A family of addresses of a usable device at a poll.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) device: u32,
    pub(crate) v4: bool,
    /// True if the device has a default route of the other family, too.
    pub(crate) is_shared: bool,
    pub(crate) addresses: Vec<IpAddr>,
    /// Packets and bytes received since the device exists, by both families until [`divide`].
    pub(crate) packets: u64,
    pub(crate) bytes: u64,
    /// So many of the bytes may be those of the other family.
    pub(crate) foreign_bytes: u64,
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

impl Seen {
    pub(crate) fn way(&self) -> Way {
        (self.device, self.v4)
    }
}

/// The families of usable devices with a default route.
pub(crate) fn paths(
    view: &View,
    looked: &[Looked],
    measured: &BTreeMap<String, Measured>,
) -> Vec<Seen> {
    let is_usable = |one: &&Looked| view.links.get(&one.device).is_some_and(Link::is_usable);
    let seen = |one: &Looked, v4: bool| {
        let counters = one.counters?;
        let passed = measured
            .get(one.name)
            .map(|measured| measured.passed)
            .unwrap_or_default();
        Some(Seen {
            device: one.device,
            v4,
            is_shared: is_routed(view, one.device, !v4),
            addresses: of_family(one.addresses, v4).collect(),
            packets: counters.received_packets,
            bytes: counters.received_bytes,
            waits: passed.sent_bytes > 0 && passed.received_bytes == 0,
            is_quiet: passed.sent_bytes > 0 && passed.received_bytes < QUIET_BYTES,
            router: ask_router(view, one, v4),
            ..Seen::default()
        })
    };
    let ways = looked.iter().filter(is_usable).flat_map(|one| {
        let routed = [true, false].into_iter();
        let routed = routed.filter(|v4| is_routed(view, one.device, *v4));
        routed.filter_map(|v4| seen(one, v4))
    });
    ways.collect()
}

fn of_family(all: &[IpAddr], v4: bool) -> impl Iterator<Item = IpAddr> {
    all.iter().copied().filter(move |one| one.is_ipv4() == v4)
}

/// Divides the counters of devices that both families share.
pub(crate) fn divide(all: &mut [Seen], mut received: impl FnMut(u32) -> Option<ReceivedIpv6>) {
    for seen in all.iter_mut().filter(|seen| seen.is_shared) {
        let Some(ipv6) = received(seen.device) else {
            continue;
        };
        if seen.v4 {
            seen.packets = seen.packets.saturating_sub(ipv6.packets);
            seen.bytes = seen.bytes.saturating_sub(ipv6.bytes);
            seen.foreign_bytes = ipv6.bytes / HIDDEN;
        } else {
            (seen.packets, seen.bytes) = (ipv6.packets, ipv6.bytes);
        }
    }
}

/// How to ask the router of a device. One with a link-local address is asked only by its servers'
/// packets.
fn ask_router(view: &View, one: &Looked, v4: bool) -> Option<Ask> {
    let is_link_local = |ip: &IpAddr| matches!(ip, IpAddr::V6(v6) if v6.is_unicast_link_local());
    let mut routers = machine::routers(view, one.device).filter(|router| router.is_ipv4() == v4);
    let towards = routers.find(|router| !is_link_local(router))?;
    let source = of_family(one.addresses, v4).find(|own| !is_link_local(own))?;
    Some(Ask {
        device: one.device,
        source,
        towards,
    })
}

/// Notes whether the routers of the devices answer.
pub(crate) fn routers(view: &View, neighbours: &[Neighbour], all: &mut [Seen]) {
    for seen in all {
        let known = |router: IpAddr| {
            let of = |one: &&Neighbour| (one.device, one.address) == (seen.device, router);
            neighbours.iter().find(of)
        };
        let found: Vec<_> = machine::routers(view, seen.device)
            .filter(|router| router.is_ipv4() == seen.v4)
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

/// Sorts the sockets of a listing to devices and families. A subflow that joins a connection may be
/// dropped on its way for other reasons, and servers with a route of their own tell nothing about
/// the default route.
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
        let server = SocketAddr::new(socket.remote.ip().to_canonical(), socket.remote.port());
        let way = (device, server.is_ipv4());
        let Some(seen) = all.iter_mut().find(|seen| seen.way() == way) else {
            continue;
        };
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
    for seen in all.iter_mut().filter(|seen| seen.is_shared) {
        let mut heard = seen.heard.iter();
        seen.is_quiet |= !heard.any(|heard| heard.at.saturating_add(QUIET) > now);
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
