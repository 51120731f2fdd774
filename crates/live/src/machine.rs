//! The machine: what the kernel tells of it, as decisions and status need it.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use joulepath_kernel::Result;
use joulepath_kernel::mptcp::diag::{Diag, Listing};
use joulepath_kernel::reactor::thread_cpu_ns;
use joulepath_kernel::route::{Counters, Link, Monitor, Route, RouteKind, Routing, Scope, View};
use joulepath_model::units::Nanos;

use crate::measure::{Looked, Measured, Measurer, rate_bps};
use crate::pace::{Pace, Seen};
use crate::refusals::{Ear, Refusals};
use crate::snapshot::{Battery, Families, Interface, Snapshot};

/// `RT_TABLE_MAIN`.
const MAIN_TABLE: u32 = 254;

/// The network namespace in which it was opened.
#[derive(Debug)]
pub(crate) struct Machine {
    monitor: Monitor,
    routing: Routing,
    diag: Diag,
    /// None without the right to hear events.
    ear: Option<Ear>,
    measurer: Measurer,
    pace: Pace,
    /// MPTCP connections of the last listing, and those of them that have become plain TCP.
    counted: (usize, usize),
    families: Families,
}

/// A look at it.
#[derive(Clone, Debug)]
pub(crate) struct Look {
    /// Devices but loopback, by index; what has to do with quotas is left to whoever counts.
    pub(crate) interfaces: Vec<Interface>,
    /// What was measured, by name.
    pub(crate) measured: BTreeMap<String, Measured>,
    /// Counters, by name.
    pub(crate) counters: BTreeMap<String, Counters>,
    /// Indexes of interfaces by all their addresses, loopback's among them.
    pub(crate) owners: BTreeMap<IpAddr, u32>,
    /// MPTCP connections.
    pub(crate) connections: usize,
    /// Those that have become plain TCP.
    pub(crate) fallen_back: usize,
    /// Those that have not, by address family.
    pub(crate) families: Families,
}

impl Look {
    /// What decisions are made from.
    pub(crate) fn snapshot(&self, now: Nanos, battery: Option<Battery>) -> Snapshot {
        Snapshot { now, battery, families: self.families, interfaces: self.interfaces.clone() }
    }
}

impl Machine {
    /// Begins to watch.
    ///
    /// # Errors
    /// As [`Monitor::open`].
    pub(crate) fn open() -> Result<Self> {
        Ok(Machine {
            monitor: Monitor::open()?,
            routing: Routing::open()?,
            diag: Diag::open()?,
            ear: Ear::open().ok(),
            measurer: Measurer::default(),
            pace: Pace::default(),
            counted: (0, 0),
            families: Families::default(),
        })
    }

    /// Takes in what has changed; whether something has.
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
        }
        Ok(has_changed)
    }

    /// The next look lists connections, however lately that was done.
    pub(crate) fn list_next(&mut self) {
        self.pace.list_next();
    }

    /// Looks at devices and counters, and at connections when [`Pace`] says so: then there is a listing.
    ///
    /// # Errors
    /// As [`Routing::counters`] and [`Diag::list`].
    pub(crate) fn look(&mut self, now: Nanos) -> Result<(Look, Option<Listing>)> {
        if let Some(ear) = &mut self.ear {
            ear.hear(now)?;
        }
        let counters: BTreeMap<u32, Counters> = self.routing.counters()?.into_iter().collect();
        let view = self.monitor.view();
        let links: Vec<&Link> = view.links.values().filter(|link| !link.loopback).collect();
        let addresses: Vec<Vec<IpAddr>> = links.iter().map(|link| all_addresses(view, link.index)).collect();
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
        let listing = if self.pace.is_due(now, seen(measured.values())) {
            let begun = thread_cpu_ns();
            let listing = self.diag.list()?;
            let none = Refusals::default();
            let refusals = self.ear.as_ref().map_or(&none, |ear| &ear.refusals);
            measured = self.measurer.list(&looked, &owners(view), &listing, refusals, measured);
            let fallen_back = listing.connections.iter().filter(|connection| connection.info.fallback);
            self.counted = (listing.connections.len(), fallen_back.count());
            self.families = families(&listing);
            self.pace.listed(now, Nanos(thread_cpu_ns().saturating_sub(begun)));
            Some(listing)
        } else {
            self.measurer.recall(&mut measured);
            None
        };
        let counters = looked.iter().filter_map(|one| Some((one.name.to_owned(), one.counters?))).collect();
        let interfaces = links.iter().map(|link| interface(view, link, measured.get(&link.name))).collect();
        let owners = owners(view);
        let (connections, fallen_back) = self.counted;
        let families = self.families;
        let look = Look { interfaces, measured, counters, owners, connections, fallen_back, families };
        Ok((look, listing))
    }
}

/// To wait for changes.
impl AsFd for Machine {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.monitor.as_fd()
    }
}

/// Indexes of devices by their addresses, loopback's among them. Of several devices with one address it is
/// the device that the kernel sends packets of that address through.
fn owners(view: &View) -> BTreeMap<IpAddr, u32> {
    let mut owners = BTreeMap::new();
    for one in &view.addresses {
        let owner = owners.entry(one.address).or_insert(one.device);
        if is_first(view, one.device) && !is_first(view, *owner) {
            *owner = one.device;
        }
    }
    owners
}

/// What counters say of the time since the last look.
fn seen<'a>(all: impl Iterator<Item = &'a Measured>) -> Seen {
    all.fold(Seen::default(), |seen, one| Seen {
        passed: seen.passed || one.passed.packets > 0,
        doubtful: seen.doubtful
            || one.silent.is_some()
            || (one.passed.sent_bytes > 0 && one.passed.received_bytes == 0),
    })
}

fn families(listing: &Listing) -> Families {
    let all = listing.connections.iter().filter(|connection| !connection.info.fallback);
    let v4 = all.clone().filter(|one| one.remote.ip().to_canonical().is_ipv4()).count();
    Families { v4, v6: all.count() - v4 }
}

fn all_addresses(view: &View, device: u32) -> Vec<IpAddr> {
    view.addresses.iter().filter(|one| one.device == device).map(|one| one.address).collect()
}

/// Whether a default route of a family leads through a device, in any table.
fn is_routed(view: &View, device: u32, v4: bool) -> bool {
    view.routes.iter().any(|route| is_default(route, device, v4))
}

fn is_default(route: &Route, device: u32, v4: bool) -> bool {
    route.kind == RouteKind::Unicast
        && route.destination.is_all()
        && route.destination.address().is_ipv4() == v4
        && route.hops.iter().any(|hop| hop.device == Some(device))
}

/// Whether new connections of a family begin on this device: its default route in the main table is the
/// preferred one.
fn is_first(view: &View, device: u32) -> bool {
    [true, false].into_iter().any(|v4| {
        let all = view.routes.iter().filter(|route| {
            route.kind == RouteKind::Unicast
                && route.table == MAIN_TABLE
                && route.destination.is_all()
                && route.destination.address().is_ipv4() == v4
        });
        let preferred = all.min_by_key(|route| route.priority);
        preferred.is_some_and(|route| route.hops.iter().any(|hop| hop.device == Some(device)))
    })
}

/// The source that the device's default route of a family names: of the one that the kernel prefers, in the
/// main table before others.
fn preferred_source(view: &View, device: u32, v4: bool) -> Option<IpAddr> {
    let routes = view.routes.iter().filter(|route| is_default(route, device, v4) && route.source.is_some());
    routes.min_by_key(|route| (route.table != MAIN_TABLE, route.priority))?.source
}

/// The addresses that an endpoint may have: of each family that is routed the source that its default route
/// names, or else the first that is no temporary one; of both families if none is routed, to be told apart
/// from a device without addresses.
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
        named.or_else(|| all.clone().find(|one| !one.temporary)).map(|one| one.address)
    };
    let routed = [true, false].map(|v4| usable(v4).filter(|_| is_routed(view, device, v4)));
    if routed.iter().any(Option::is_some) {
        return (true, routed.into_iter().flatten().collect());
    }
    (false, [true, false].into_iter().filter_map(usable).collect())
}

fn interface(view: &View, link: &Link, measured: Option<&Measured>) -> Interface {
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
        first: is_first(view, link.index),
        subflows: measured.subflows,
        healthy: measured.healthy,
        lost: measured.lost,
        silent: measured.silent,
        stalled: measured.stalled,
        sole: measured.sole,
        only: measured.only,
        missing: measured.missing,
        refused: measured.refused,
        carried_bytes: measured.carried_bytes,
        used: None,
    }
}

#[cfg(test)]
mod tests {
    use joulepath_kernel::route::{Address, Prefix};

    use super::*;
    use crate::samples::address;

    #[test]
    fn of_each_routed_family_the_first_lasting_address_counts() {
        let mut view = View::default();
        view.addresses.insert(address(2, "192.0.2.7"));
        view.addresses.insert(Address { temporary: true, ..address(2, "192.0.2.5") });
        view.addresses.insert(address(2, "2001:db8::7"));
        view.addresses.insert(Address { tentative: true, ..address(2, "2001:db8::3") });
        view.addresses.insert(Address { scope: Scope::Link, ..address(2, "fe80::1") });
        view.addresses.insert(address(3, "192.0.2.1"));
        let ips = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect::<Vec<IpAddr>>();
        assert_eq!(endpoint_addresses(&view, 2), (false, ips(&["192.0.2.7", "2001:db8::7"])));
        let all_v4 = Prefix::all_like("192.0.2.1".parse().unwrap());
        let via = |device| Route::via(all_v4, "192.0.2.254".parse().unwrap(), device);
        view.routes.insert(via(3));
        assert!(!endpoint_addresses(&view, 2).0);
        view.routes.insert(Route { table: 102, ..via(2) });
        assert_eq!(endpoint_addresses(&view, 2), (true, ips(&["192.0.2.7"])));
        assert_eq!(endpoint_addresses(&view, 9), (false, vec![]));
    }

    #[test]
    fn of_several_addresses_the_one_counts_that_the_default_route_names_as_its_source() {
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
        assert_eq!(endpoint_addresses(&view, 2).1, [ip("10.0.0.5"), ip("2001:db8::1")]);
        view.routes.insert(via("192.168.9.1", Some("192.168.9.50"), 100, MAIN_TABLE));
        view.routes.insert(via("192.168.9.1", Some("10.0.0.5"), 0, 102));
        view.routes.insert(via("2001:db8::ff", Some("2001:db8::9"), 0, 103));
        assert_eq!(endpoint_addresses(&view, 2).1, [ip("192.168.9.50"), ip("2001:db8::9")]);
        // An address that the interface has not, or no longer, cannot be used.
        view.addresses.remove(&address(2, "192.168.9.50"));
        assert_eq!(endpoint_addresses(&view, 2).1, [ip("10.0.0.5"), ip("2001:db8::9")]);
    }

    #[test]
    fn new_connections_begin_where_the_preferred_default_route_of_the_main_table_leads() {
        let mut view = View::default();
        let all_v4 = Prefix::all_like("192.0.2.1".parse().unwrap());
        let via = |device, priority| Route {
            priority,
            ..Route::via(all_v4, "192.0.2.254".parse().unwrap(), device)
        };
        view.routes.insert(via(2, 600));
        view.routes.insert(via(3, 100));
        view.routes.insert(Route { table: 102, ..via(4, 0) });
        assert_eq!([2, 3, 4].map(|device| is_first(&view, device)), [false, true, false]);
        view.routes
            .insert(Route { destination: Prefix::all_like("2001:db8::1".parse().unwrap()), ..via(2, 9) });
        assert_eq!([2, 3].map(|device| is_first(&view, device)), [true, true]);
    }
}
