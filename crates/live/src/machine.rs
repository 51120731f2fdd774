//! The state of the machine's network, read from the kernel, for decisions and status.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use joulepath_kernel::Result;
use joulepath_kernel::mptcp::diag::{Diag, Listing, TcpSocket};
use joulepath_kernel::mptcp::path_manager::{Endpoint, PathManager};
use joulepath_kernel::mptcp::{TcpState, Token};
use joulepath_kernel::probe::Version;
use joulepath_kernel::reactor::thread_cpu_ns;
use joulepath_kernel::route::{
    Counters, Flow, Link, Monitor, Neighbour, Route, RouteKind, Routing, Scope, View, ask_first_hop,
};
use joulepath_kernel::wireless::{Wireless, WirelessLink};
use joulepath_model::live::LiveConfig;
use joulepath_model::units::Nanos;

use crate::first;
use crate::foreign::{self, Asked, Guard, Starts};
use crate::measure::{Looked, Measured, Measurer, Places, rate_bps};
use crate::mute::{self, Ask, Told};
use crate::pace::{Pace, Seen};
use crate::refusals::{Ear, Refusals};
use crate::roaming::Roaming;
use crate::snapshot::{
    Battery, Families, Interface, Place, STALE, Snapshot, Strength, StrengthSource,
};
use crate::still::Still;

/// `RT_TABLE_MAIN`.
const MAIN_TABLE: u32 = 254;
/// Networks are identified again after changes, and this often.
const IDENTIFY: Nanos = Nanos::from_secs(30);
/// The same while an interface has no network yet: its router has not answered.
const IDENTIFY_SOON: Nanos = Nanos::from_secs(5);
/// The kernel is asked again where connections start after changes, after packets, and this often.
const ASK_AGAIN: Nanos = Nanos::from_secs(30);

/// Views the network namespace in which it was opened.
#[derive(Debug)]
pub(crate) struct Machine {
    monitor: Monitor,
    routing: Routing,
    diag: Diag,
    /// `None` on a kernel without one.
    manager: Option<PathManager>,
    /// The kernel's limit of endpoints.
    most_endpoints: Option<usize>,
    has_laminar: bool,
    /// `None` without the right to receive events.
    ear: Option<Ear>,
    measurer: Measurer,
    pace: Pace,
    still: Still,
    /// Where new connections start, and when the kernel answered.
    starts: Option<(Nanos, Starts)>,
    answers: mute::Paths,
    /// Of the last listing.
    counted: Counted,
    families: Families,
    /// `None` without WiFi.
    wireless: Option<Wireless>,
    /// The networks of interfaces, and when they were identified.
    places: BTreeMap<String, Place>,
    /// WiFi devices that are clients of an access point.
    wifi_clients: Vec<u32>,
    roaming: Roaming,
    identified: Option<Nanos>,
}

/// Numbers of connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counted {
    /// MPTCP connections, including fallen-back ones.
    pub(crate) mptcp: usize,
    /// MPTCP connections that fell back to TCP.
    pub(crate) fallen_back: usize,
    /// Established connections of TCP sockets to other machines.
    pub(crate) plain: usize,
}

/// The result of one poll.
#[derive(Clone, Debug, Default)]
pub(crate) struct Look {
    /// All devices except loopback, by index. The accounts fill in quotas.
    pub(crate) interfaces: Vec<Interface>,
    /// Measurements by name.
    pub(crate) measured: BTreeMap<String, Measured>,
    /// Counters by name.
    pub(crate) counters: BTreeMap<String, Counters>,
    /// Present rates of both directions by interface index, bytes/s, where they matter.
    pub(crate) rates: BTreeMap<u32, f64>,
    /// Time until an interface is closed.
    pub(crate) reaction: Nanos,
    /// Interfaces that the kernel has stopped, and what remains of their bound, bytes.
    pub(crate) stopped: BTreeMap<u32, u64>,
    /// Interface index of every address, including loopback.
    pub(crate) owners: BTreeMap<IpAddr, u32>,
    /// Numbers of connections.
    pub(crate) counted: Counted,
    /// True if some MPTCP connection was established since the last poll.
    pub(crate) begun: bool,
    /// Connections that did not fall back, by address family.
    pub(crate) families: Families,
    /// The kernel's limit of endpoints.
    pub(crate) most_endpoints: Option<usize>,
    /// True if the kernel knows the flag `laminar`.
    pub(crate) has_laminar: bool,
    /// Networks of interfaces, by name.
    pub(crate) places: BTreeMap<String, Place>,
    /// Where new connections start, by the kernel's answer.
    pub(crate) starts: Starts,
    /// True if the route of a connection depends on its user or mark.
    pub(crate) routes_by_owner: bool,
    /// WiFi clients that change their access point, and when the first of them counts as lost.
    pub(crate) roaming: (Vec<u32>, Option<Nanos>),
    /// Paths over which nothing is answered.
    pub(crate) answers: Told,
}

impl Look {
    pub(crate) fn snapshot(&self, now: Nanos, battery: Option<Battery>) -> Snapshot {
        Snapshot {
            now,
            battery,
            families: self.families,
            most_endpoints: self.most_endpoints,
            interfaces: self.interfaces.clone(),
        }
    }
}

impl Machine {
    /// Starts to monitor the network.
    ///
    /// # Errors
    /// As [`Monitor::open`].
    pub(crate) fn open() -> Result<Self> {
        // It needs a right that a dry run lacks.
        let mut manager = PathManager::open().ok();
        let most_endpoints = manager.as_mut().and_then(|manager| manager.most().ok());
        Ok(Machine {
            manager,
            most_endpoints,
            has_laminar: Version::running()
                .is_some_and(|running| running >= Endpoint::LAMINAR_SINCE),
            monitor: Monitor::open()?,
            routing: Routing::open()?,
            diag: Diag::open()?,
            ear: Ear::open().ok(),
            measurer: Measurer::default(),
            pace: Pace::default(),
            still: Still::open(),
            starts: None,
            answers: mute::Paths::default(),
            counted: Counted::default(),
            families: Families::default(),
            wireless: Wireless::open().unwrap_or_default(),
            places: BTreeMap::new(),
            wifi_clients: vec![],
            roaming: Roaming::default(),
            identified: None,
        })
    }

    /// Reads all waiting notifications. Returns true if the network changed.
    ///
    /// # Errors
    /// As [`Monitor::next_within`].
    pub(crate) fn hear(&mut self) -> Result<bool> {
        let mut has_changed = false;
        while self.monitor.next_within(Duration::ZERO)?.is_some() {
            has_changed = true;
        }
        if has_changed {
            self.pace.list_next();
            self.identified = None;
            self.starts = None;
        }
        Ok(has_changed)
    }

    /// Devices, addresses, routes and rules as of the last poll.
    pub(crate) fn view(&self) -> &View {
        self.monitor.view()
    }

    /// Finds the connections that have begun on devices that the configuration does not name.
    ///
    /// # Errors
    /// As [`Routing::lookup`].
    pub(crate) fn guard(
        &mut self,
        guard: &mut Guard,
        config: &LiveConfig,
        listing: Option<&Listing>,
    ) -> Result<()> {
        let mut kernel = Kernel {
            routing: &mut self.routing,
            manager: self.manager.as_mut(),
        };
        guard.observe(config, self.monitor.view(), listing, &mut kernel)
    }

    /// True if no device has carried a packet since the last call.
    pub(crate) fn is_still(&mut self) -> bool {
        self.still.is_still()
    }

    /// Counters of all devices.
    ///
    /// # Errors
    /// As [`Routing::counters`].
    pub(crate) fn counters(&mut self) -> Result<Vec<(u32, Counters)>> {
        self.routing.counters()
    }

    /// Makes the next poll list connections.
    pub(crate) fn list_next(&mut self) {
        self.pace.list_next();
    }

    /// Polls devices and counters. Lists connections too if [`Pace`] says it is time.
    ///
    /// # Errors
    /// As [`Routing::counters`] and [`Diag::list`].
    pub(crate) fn look(&mut self, now: Nanos) -> Result<(Look, Option<Listing>)> {
        if let Some(ear) = &mut self.ear {
            ear.hear(now)?;
        }
        self.roaming
            .observe(now, self.monitor.view().links.values(), &self.wifi_clients);
        self.identify(now);
        let counters: BTreeMap<u32, Counters> = self.routing.counters()?.into_iter().collect();
        let view = self.monitor.view();
        let links: Vec<&Link> = view.links.values().filter(|link| !link.loopback).collect();
        let addresses: Vec<Vec<IpAddr>> = links
            .iter()
            .map(|link| all_addresses(view, link.index))
            .collect();
        let looked: Vec<Looked> = links
            .iter()
            .zip(&addresses)
            .map(|(link, addresses)| Looked {
                name: &link.name,
                device: link.index,
                addresses,
                counters: counters.get(&link.index).copied(),
            })
            .collect();
        let mut measured = self.measurer.count_all(now, &looked);
        let known = self.starts.take().filter(|(at, _)| {
            !seen(measured.values()).passed && now.saturating_sub(*at) < ASK_AGAIN
        });
        let asked = || Ok((now, foreign::starts(&mut |flow| self.routing.lookup(flow))?));
        let (at, starts) = known.map_or_else(asked, Ok)?;
        self.starts = Some((at, starts.clone()));
        if self.answers.is_asking() {
            self.pace.list_next();
        }
        let listing = if self.pace.is_due(now, seen(measured.values())) {
            let begun = thread_cpu_ns();
            let listing = self.diag.list()?;
            let none = Refusals::default();
            let refusals = self.ear.as_ref().map_or(&none, |ear| &ear.refusals);
            measured = self.measurer.list(
                &looked,
                &owners(view, &starts),
                &listing,
                refusals,
                measured,
            );
            self.counted = counted(&listing);
            self.families = families(&listing);
            self.pace
                .listed(now, Nanos(thread_cpu_ns().saturating_sub(begun)));
            Some(listing)
        } else {
            self.measurer.recall(&mut measured);
            None
        };
        let mut asked = mute::paths(view, &looked, &measured);
        if let Some(listing) = &listing {
            let owners = owners(view, &starts);
            let places = Places {
                all: &looked,
                owners: &owners,
            };
            mute::sockets(now, listing, view, places, &mut asked);
        }
        if asked.iter().any(|one| self.answers.doubts(one)) {
            mute::routers(
                view,
                &self.routing.neighbours().unwrap_or_default(),
                &mut asked,
            );
        }
        let answers = self.answers.observe(now, &asked);
        let counters = looked
            .iter()
            .filter_map(|one| Some((one.name.to_owned(), one.counters?)))
            .collect();
        let mut interfaces: Vec<Interface> = links
            .iter()
            .map(|link| interface(view, link, &starts, measured.get(&link.name)))
            .collect();
        for interface in interfaces.iter_mut().filter(|one| one.usable) {
            if self.wifi_clients.contains(&interface.index) {
                interface.strength = self
                    .wireless
                    .as_mut()
                    .and_then(|all| wifi_strength(all, interface.index));
            }
        }
        let roaming: Vec<u32> = self.roaming.now().collect();
        for interface in interfaces
            .iter_mut()
            .filter(|one| roaming.contains(&one.index))
        {
            interface.usable = true;
        }
        for interface in &mut interfaces {
            interface.mute = answers.mute.contains(&interface.index);
        }
        let owners = owners(view, &starts);
        let counted = self.counted;
        let families = self.families;
        let places = self.places.clone();
        let look = Look {
            interfaces,
            measured,
            counters,
            rates: BTreeMap::new(),
            reaction: Nanos::ZERO,
            stopped: BTreeMap::new(),
            owners,
            counted,
            begun: self.ear.as_mut().is_some_and(Ear::begun),
            families,
            places,
            starts,
            routes_by_owner: foreign::selects_by_owner(view),
            most_endpoints: self.most_endpoints,
            has_laminar: self.has_laminar,
            roaming: (roaming, self.roaming.until()),
            answers,
        };
        Ok((look, listing))
    }
}

/// For the guard.
struct Kernel<'a> {
    routing: &'a mut Routing,
    manager: Option<&'a mut PathManager>,
}

impl Asked for Kernel<'_> {
    fn device(&mut self, flow: &Flow) -> Result<Option<u32>> {
        self.routing.lookup(flow)
    }

    fn is_of_kernel(&mut self, token: Token) -> bool {
        // A kernel that cannot answer has only its own path manager.
        self.manager
            .as_mut()
            .is_none_or(|all| all.is_steerable(token).ok() != Some(Some(true)))
    }
}

impl Machine {
    /// Asks the first router of a path for a sign of life: by ARP or a neighbour solicitation, if
    /// the kernel knows its hardware address, and by a packet that goes no farther. Errors are the
    /// path's silence.
    pub(crate) fn ask(&mut self, ask: Ask) {
        let view = self.monitor.view();
        let router =
            routers(view, ask.device).find(|router| router.is_ipv4() == ask.towards.is_ipv4());
        if let Some(router) = router {
            let _ = self.routing.probe_neighbour(ask.device, router);
        }
        let _ = ask_first_hop(ask.device, ask.source, ask.towards);
    }

    /// Finds out which networks the interfaces are attached to, if it is time.
    fn identify(&mut self, now: Nanos) {
        let view = self.monitor.view();
        let lacks = view.links.values().any(|link| {
            link.is_usable()
                && routers(view, link.index).next().is_some()
                && !self.places.contains_key(&link.name)
        });
        let every = if lacks { IDENTIFY_SOON } else { IDENTIFY };
        if self
            .identified
            .is_some_and(|at| now.saturating_sub(at) < every)
        {
            return;
        }
        self.identified = Some(now);
        // A network that cannot be identified is unknown.
        let neighbours = self.routing.neighbours().unwrap_or_default();
        let wireless = self
            .wireless
            .as_mut()
            .and_then(|wireless| wireless.links().ok())
            .unwrap_or_default();
        let mut places = places(view, &neighbours, &wireless);
        for link in self
            .roaming
            .now()
            .filter_map(|index| view.links.get(&index))
        {
            if let Some(before) = self.places.get(&link.name) {
                places
                    .entry(link.name.clone())
                    .or_insert_with(|| before.clone());
            }
        }
        self.wifi_clients = wireless
            .iter()
            .filter(|one| one.is_client)
            .map(|one| one.device)
            .collect();
        for (name, before) in &self.places {
            if places.get(name).is_some_and(|place| place != before) {
                self.measurer.forget_capacity(name);
            }
        }
        self.places = places;
    }
}

/// The networks of interfaces: the SSID, or the hardware address of the router. Absent if there is
/// neither.
fn places(
    view: &View,
    neighbours: &[Neighbour],
    wireless: &[WirelessLink],
) -> BTreeMap<String, Place> {
    let place = |link: &Link| {
        if let Some(wireless) = wireless.iter().find(|one| one.device == link.index) {
            let name = String::from_utf8_lossy(wireless.ssid.as_ref()?).into_owned();
            return Some(Place { kind: "wifi", name });
        }
        let of = |router: IpAddr| {
            let of = |one: &&Neighbour| (one.device, one.address) == (link.index, router);
            neighbours
                .iter()
                .find(of)
                .filter(|one| !one.hardware.is_empty())
        };
        let hardware = &routers(view, link.index).find_map(of)?.hardware;
        let bytes: Vec<String> = hardware.iter().map(|byte| format!("{byte:02x}")).collect();
        Some(Place {
            kind: "ethernet",
            name: bytes.join(":"),
        })
    };
    let usable = view
        .links
        .values()
        .filter(|link| !link.loopback && link.is_usable());
    usable
        .filter_map(|link| Some((link.name.clone(), place(link)?)))
        .collect()
}

/// The signal of a WiFi client's access point; `None` if it cannot be read, or is too old.
fn wifi_strength(wireless: &mut Wireless, device: u32) -> Option<Strength> {
    let signal = wireless.signal(device).ok()??;
    let age = Nanos::from_secs_f64(signal.age.as_secs_f64());
    let strength = Strength {
        dbm: signal.dbm.into(),
        age,
        source: StrengthSource::Nl80211,
    };
    (age < STALE).then_some(strength)
}

/// Routers of the default routes through a device.
pub(crate) fn routers(view: &View, device: u32) -> impl Iterator<Item = IpAddr> {
    let routes = [true, false].into_iter().flat_map(move |v4| {
        view.routes
            .iter()
            .filter(move |route| is_default(route, device, v4))
    });
    let hops = routes.flat_map(|route| &route.hops);
    hops.filter(move |hop| hop.device == Some(device))
        .filter_map(|hop| hop.gateway)
}

/// Readable when notifications wait.
impl AsFd for Machine {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.monitor.as_fd()
    }
}

/// Interface index of every address, including loopback. If several devices share an address, it
/// belongs to the device through which the kernel sends its packets.
fn owners(view: &View, starts: &Starts) -> BTreeMap<IpAddr, u32> {
    let mut owners = BTreeMap::new();
    for one in &view.addresses {
        let owner = owners.entry(one.address).or_insert(one.device);
        if is_first(starts, one.device) && !is_first(starts, *owner) {
            *owner = one.device;
        }
    }
    owners
}

/// What the counters have shown since the last poll.
fn seen<'a>(all: impl Iterator<Item = &'a Measured>) -> Seen {
    all.fold(Seen::default(), |seen, one| Seen {
        passed: seen.passed || one.passed.packets > 0,
        doubtful: seen.doubtful
            || one.silent.is_some()
            || (one.passed.sent_bytes > 0 && one.passed.received_bytes == 0),
    })
}

fn counted(listing: &Listing) -> Counted {
    let fallen_back = listing
        .connections
        .iter()
        .filter(|connection| connection.info.fallback);
    // Other states are about to begin or to end.
    let counts = |socket: &&TcpSocket| {
        socket.state == TcpState::Established && !socket.remote.ip().to_canonical().is_loopback()
    };
    Counted {
        mptcp: listing.connections.len(),
        fallen_back: fallen_back.count(),
        plain: listing.plain.iter().filter(counts).count(),
    }
}

fn families(listing: &Listing) -> Families {
    let all = listing
        .connections
        .iter()
        .filter(|connection| !connection.info.fallback);
    let v4 = all
        .clone()
        .filter(|one| one.remote.ip().to_canonical().is_ipv4())
        .count();
    Families {
        v4,
        v6: all.count() - v4,
    }
}

fn all_addresses(view: &View, device: u32) -> Vec<IpAddr> {
    view.addresses
        .iter()
        .filter(|one| one.device == device)
        .map(|one| one.address)
        .collect()
}

/// True if some table has a default route of the family through `device`.
pub(crate) fn is_routed(view: &View, device: u32, v4: bool) -> bool {
    view.routes
        .iter()
        .any(|route| is_default(route, device, v4))
}

fn is_default(route: &Route, device: u32, v4: bool) -> bool {
    route.kind == RouteKind::Unicast
        && route.destination.is_all()
        && route.destination.address().is_ipv4() == v4
        && route.hops.iter().any(|hop| hop.device == Some(device))
        && !first::is_ours(route)
}

/// True if new connections of some family start on `device`.
fn is_first(starts: &Starts, device: u32) -> bool {
    starts.iter().any(|devices| devices.contains(&device))
}

/// Source address named by the device's default route of a family. The main table precedes others,
/// then the smallest metric wins.
fn preferred_source(view: &View, device: u32, v4: bool) -> Option<IpAddr> {
    let routes = view
        .routes
        .iter()
        .filter(|route| is_default(route, device, v4) && route.source.is_some());
    routes
        .min_by_key(|route| (route.table != MAIN_TABLE, route.priority))?
        .source
}

/// Addresses that can become endpoints. For each routed family: the source named by its default
/// route, or else the first address that is not temporary. Without any route, the addresses of both
/// families and `false`, which tells this device from one without addresses.
fn endpoint_addresses(view: &View, device: u32) -> (bool, Vec<IpAddr>) {
    let usable = |v4: bool| {
        let all = view.addresses.iter().filter(|one| {
            one.device == device
                && one.address.is_ipv4() == v4
                && one.scope == Scope::Universe
                && one.is_usable()
                && !one.deprecated
        });
        let preferred = preferred_source(view, device, v4);
        let named = all.clone().find(|one| Some(one.address) == preferred);
        named
            .or_else(|| all.clone().find(|one| !one.temporary))
            .map(|one| one.address)
    };
    let routed = [true, false].map(|v4| usable(v4).filter(|_| is_routed(view, device, v4)));
    if routed.iter().any(Option::is_some) {
        return (true, routed.into_iter().flatten().collect());
    }
    (
        false,
        [true, false].into_iter().filter_map(usable).collect(),
    )
}

fn interface(view: &View, link: &Link, starts: &Starts, measured: Option<&Measured>) -> Interface {
    let measured = measured.copied().unwrap_or_default();
    let (routed, addresses) = endpoint_addresses(view, link.index);
    Interface {
        index: link.index,
        name: link.name.clone(),
        kind: link.kind.clone(),
        usable: link.is_usable(),
        routed,
        addresses,
        rate_bps: rate_bps(&measured),
        capacity_bps: measured.capacity_bps,
        rtt: measured.rtt,
        first: is_first(starts, link.index),
        subflows: measured.subflows,
        healthy: measured.healthy,
        lost: measured.lost,
        silent: measured.silent,
        stalled: measured.stalled,
        mute: false,
        sole: measured.sole,
        only: measured.only,
        missing: measured.missing,
        refused: measured.refused,
        carried_bytes: measured.carried_bytes,
        used: None,
        under_way: 0,
        remembered: None,
        strength: None,
    }
}

#[cfg(test)]
mod tests {
    use joulepath_kernel::route::{Address, Prefix};

    use super::*;
    use crate::samples::address;

    #[test]
    fn established_connections_to_other_machines_are_counted() {
        let socket = |remote: &str, state| TcpSocket {
            local: "192.0.2.7:40000".parse().unwrap(),
            remote: remote.parse().unwrap(),
            interface: None,
            state,
            uid: 0,
            inode: 1,
            congestion: None,
            memory: None,
            info: None,
            membership: None,
        };
        let plain = vec![
            socket("203.0.113.1:443", TcpState::Established),
            socket("[2001:db8::1]:443", TcpState::Established),
            socket("203.0.113.1:443", TcpState::TimeWait),
            socket("127.0.0.1:631", TcpState::Established),
            socket("[::ffff:127.0.0.1]:631", TcpState::Established),
        ];
        // Orphans are subflows.
        let orphans = vec![socket("203.0.113.1:80", TcpState::Established)];
        let listing = Listing {
            plain,
            orphans,
            ..Listing::default()
        };
        assert_eq!(
            counted(&listing),
            Counted {
                mptcp: 0,
                fallen_back: 0,
                plain: 2
            }
        );
    }

    #[test]
    fn each_routed_family_uses_its_first_permanent_address() {
        let mut view = View::default();
        view.addresses.insert(address(2, "192.0.2.7"));
        view.addresses.insert(Address {
            temporary: true,
            ..address(2, "192.0.2.5")
        });
        view.addresses.insert(address(2, "2001:db8::7"));
        view.addresses.insert(Address {
            tentative: true,
            ..address(2, "2001:db8::3")
        });
        view.addresses.insert(Address {
            scope: Scope::Link,
            ..address(2, "fe80::1")
        });
        view.addresses.insert(address(3, "192.0.2.1"));
        let ips = |texts: &[&str]| {
            texts
                .iter()
                .map(|text| text.parse().unwrap())
                .collect::<Vec<IpAddr>>()
        };
        assert_eq!(
            endpoint_addresses(&view, 2),
            (false, ips(&["192.0.2.7", "2001:db8::7"]))
        );
        let all_v4 = Prefix::all_like("192.0.2.1".parse().unwrap());
        let via = |device| Route::via(all_v4, "192.0.2.254".parse().unwrap(), device);
        view.routes.insert(via(3));
        assert!(!endpoint_addresses(&view, 2).0);
        view.routes.insert(Route {
            table: 102,
            ..via(2)
        });
        assert_eq!(endpoint_addresses(&view, 2), (true, ips(&["192.0.2.7"])));
        assert_eq!(endpoint_addresses(&view, 9), (false, vec![]));
    }

    #[test]
    fn the_source_of_the_default_route_is_preferred() {
        let mut view = View::default();
        for text in ["10.0.0.5", "192.168.9.50", "2001:db8::1", "2001:db8::9"] {
            view.addresses.insert(address(2, text));
        }
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        let via = |gateway: &str, source: Option<&str>, priority, table| Route {
            source: source.map(ip),
            priority,
            table,
            ..Route::via(Prefix::all_like(ip(gateway)), ip(gateway), 2)
        };
        view.routes.insert(via("192.168.9.1", None, 0, 102));
        view.routes.insert(via("2001:db8::ff", None, 0, 102));
        assert_eq!(
            endpoint_addresses(&view, 2).1,
            [ip("10.0.0.5"), ip("2001:db8::1")]
        );
        view.routes
            .insert(via("192.168.9.1", Some("192.168.9.50"), 100, MAIN_TABLE));
        view.routes
            .insert(via("192.168.9.1", Some("10.0.0.5"), 0, 102));
        view.routes
            .insert(via("2001:db8::ff", Some("2001:db8::9"), 0, 103));
        assert_eq!(
            endpoint_addresses(&view, 2).1,
            [ip("192.168.9.50"), ip("2001:db8::9")]
        );
        // An address that was removed from the interface cannot be used.
        view.addresses.remove(&address(2, "192.168.9.50"));
        assert_eq!(
            endpoint_addresses(&view, 2).1,
            [ip("10.0.0.5"), ip("2001:db8::9")]
        );
    }

    #[test]
    fn a_network_is_its_ssid_or_its_routers_hardware_address() {
        let mut view = View::default();
        for (index, name, carrier) in [
            (2, "wlan0", true),
            (3, "eth0", true),
            (4, "ppp0", true),
            (5, "eth1", false),
        ] {
            view.links
                .insert(index, crate::samples::link(index, name, carrier));
        }
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        let all = Prefix::all_like(ip("192.0.2.1"));
        for (index, router) in [
            (2, "192.0.2.1"),
            (3, "192.0.2.1"),
            (4, "10.0.0.1"),
            (5, "192.0.2.1"),
        ] {
            view.routes.insert(Route {
                table: 100 + index,
                ..Route::via(all, ip(router), index)
            });
        }
        let router = |device| Neighbour {
            device,
            address: ip("192.0.2.1"),
            hardware: vec![2, 0, 0, 0, 0, 0xfe],
            unanswering: false,
        };
        let neighbours = [router(2), router(3), router(5)];
        let wifi = |ssid: Option<&str>| {
            [WirelessLink {
                device: 2,
                ssid: ssid.map(|ssid| ssid.as_bytes().to_vec()),
                is_client: true,
            }]
        };
        let router = (
            "eth0".to_owned(),
            Place {
                kind: "ethernet",
                name: "02:00:00:00:00:fe".into(),
            },
        );
        let home = (
            "wlan0".to_owned(),
            Place {
                kind: "wifi",
                name: "home".into(),
            },
        );
        // A modem's point-to-point link has no hardware address; eth1 has no carrier.
        assert_eq!(
            places(&view, &neighbours, &wifi(Some("home"))),
            [router.clone(), home].into()
        );
        // A WiFi interface between networks has none, although it still has its route.
        assert_eq!(places(&view, &neighbours, &wifi(None)), [router].into());
        assert_eq!(places(&view, &[], &wifi(None)), BTreeMap::new());
    }
}
