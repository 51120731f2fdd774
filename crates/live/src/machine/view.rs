//! What the kernel's view of the network says of devices: their addresses, routes and networks.

use std::collections::BTreeMap;
use std::net::IpAddr;

use joulepath_kernel::route::{Link, Neighbour, Route, RouteKind, Scope, View};
use joulepath_kernel::wireless::WirelessLink;

use crate::first;
use crate::foreign::Starts;
use crate::measure::{Measured, rate_bps};
use crate::snapshot::{Interface, Place};

/// `RT_TABLE_MAIN`.
const MAIN_TABLE: u32 = 254;

/// The networks of interfaces: the SSID, or the hardware address of the router. Absent if there is
/// neither.
pub(super) fn places(
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

/// Interface index of every address, including loopback. If several devices share an address, it
/// belongs to the device through which the kernel sends its packets.
pub(super) fn owners(view: &View, starts: &Starts) -> BTreeMap<IpAddr, u32> {
    let mut owners = BTreeMap::new();
    for one in &view.addresses {
        let owner = owners.entry(one.address).or_insert(one.device);
        if is_first(starts, one.device) && !is_first(starts, *owner) {
            *owner = one.device;
        }
    }
    owners
}

pub(super) fn all_addresses(view: &View, device: u32) -> Vec<IpAddr> {
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

pub(super) fn interface(
    view: &View,
    link: &Link,
    starts: &Starts,
    measured: Option<&Measured>,
) -> Interface {
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
        interrupted: false,
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
