//! Lists, changes and watches devices, addresses, routes and rules of the running kernel.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::{Duration, Instant};

use joulepath_kernel::Namespace;
use joulepath_kernel::namespace::{Cookie, Place, search};
use joulepath_kernel::route::{Change, Hop, Monitor, Prefix, Route, RouteKind, Routing, View};

use joulepath_testbed::net::Net;

const PATIENCE: Duration = Duration::from_secs(60);
const LOOPBACK: u32 = 1;

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// Changes up to and including the first wanted one; all changes if it does not come.
fn until(monitor: &mut Monitor, wanted: impl Fn(&Change) -> bool) -> Vec<Change> {
    let mut changes = vec![];
    while let Some(change) = monitor.next_within(PATIENCE).unwrap() {
        let is_wanted = wanted(&change);
        changes.push(change);
        if is_wanted {
            return changes;
        }
    }
    panic!("no such change: {changes:#?}");
}

#[test(needs(NET))]
fn a_default_route_through_a_gateway_is_listed_as_it_was_added_and_removed() {
    for (net, gateway) in [
        (Net::v4(1), ip("198.18.9.9")),
        (Net::v6(1), ip("fd00::9:9")),
    ] {
        let device = net.paths[0].device;
        let work = || {
            let mut routing = Routing::open().unwrap();
            routing.add_route(&Route::on_link(gateway, device)).unwrap();
            let default = Route {
                priority: 77,
                table: 1234,
                source: Some(net.paths[0].ip),
                ..Route::via(Prefix::all_like(gateway), gateway, device)
            };
            routing.add_route(&default).unwrap();
            assert!(
                routing.routes().unwrap().contains(&default),
                "{:#?}",
                routing.routes()
            );
            // Adding it again replaces it.
            routing.add_route(&default).unwrap();
            routing.delete_route(&default).unwrap();
            assert!(!routing.routes().unwrap().contains(&default));
            let error = routing.delete_route(&default).unwrap_err().to_string();
            assert!(error.starts_with("removing the route to "), "{error}");
        };
        net.client.enter_thread(work).unwrap();
    }
}

#[test(needs(NET))]
fn multipath_and_blackhole_routes_are_listed() {
    let net = Net::v4(2);
    let hop = |path: usize| Hop {
        device: Some(net.paths[path].device),
        gateway: None,
    };
    let shared = Route {
        hops: vec![hop(0), hop(1)],
        ..Route::on_link(ip("203.0.113.1"), 1)
    };
    let nowhere = Route {
        kind: RouteKind::Blackhole,
        hops: vec![],
        ..Route::on_link(ip("203.0.113.2"), 1)
    };
    let work = || {
        let mut routing = Routing::open().unwrap();
        for route in [&shared, &nowhere] {
            routing.add_route(route).unwrap();
            assert!(
                routing.routes().unwrap().contains(route),
                "{:#?}",
                routing.routes()
            );
        }
    };
    net.client.enter_thread(work).unwrap();
}

#[test(needs(NET))]
fn devices_report_their_state_and_their_counters() {
    let net = Net::v4(1);
    let device = net.paths[0].device;
    let link = || {
        let links = net
            .client
            .enter_thread(|| Routing::open()?.links())
            .unwrap()
            .unwrap();
        links.into_iter().find(|link| link.index == device).unwrap()
    };
    assert_eq!(
        (link().kind.as_deref(), link().is_usable()),
        (Some("veth"), true)
    );
    let sent = || {
        let counters = net
            .client
            .enter_thread(|| Routing::open()?.counters())
            .unwrap()
            .unwrap();
        counters
            .into_iter()
            .find(|(index, _)| *index == device)
            .unwrap()
            .1
            .sent_bytes
    };
    let (before, to) = (sent(), net.server_at(9));
    let work = || {
        std::net::UdpSocket::bind(net.client_at(0))
            .unwrap()
            .send_to(&[7; 1000], to)
            .unwrap()
    };
    net.client.enter_thread(work).unwrap();
    // Including the headers of UDP, IP and Ethernet; IPv6 may add packets of its own.
    assert!(sent() - before >= 1042, "{} bytes", sent() - before);
    net.set_cable(0, false);
    assert!(!link().is_usable(), "{:?}", link());
}

#[test(needs(NET))]
fn an_added_address_and_rule_can_be_removed() {
    let namespace = Namespace::new().unwrap();
    let work = || {
        let mut routing = Routing::open().unwrap();
        let (address, other) = (ip("203.0.113.7"), ip("fd00::7"));
        for address in [address, other] {
            routing.add_address(LOOPBACK, address).unwrap();
            routing.add_source_rule(address, 101).unwrap();
            let rules = routing.rules().unwrap();
            let rule = rules
                .iter()
                .find(|rule| rule.source == address.into())
                .unwrap();
            routing.delete_rule(rule).unwrap();
            assert!(!routing.rules().unwrap().contains(rule));
            let listed = routing.addresses().unwrap();
            assert!(
                listed
                    .iter()
                    .any(|listed| listed.address == address && listed.is_usable()),
                "{listed:#?}"
            );
            routing.delete_address(LOOPBACK, address).unwrap();
            assert!(
                routing
                    .addresses()
                    .unwrap()
                    .iter()
                    .all(|listed| listed.address != address)
            );
        }
        let error = routing
            .delete_address(LOOPBACK, address)
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("removing the address 203.0.113.7 from device 1: "),
            "{error}"
        );
    };
    namespace.enter_thread(work).unwrap();
}

#[test(needs(NET))]
fn the_monitor_reports_changes_that_the_kernel_omits() {
    let net = Net::v4(1);
    let device = net.paths[0].device;
    let mut monitor = net.client.enter_thread(Monitor::open).unwrap().unwrap();
    assert!(monitor.view().links[&device].is_usable());
    assert_eq!(monitor.next_within(Duration::ZERO).unwrap(), None);
    // A cut cable removes the carrier.
    net.set_cable(0, false);
    until(
        &mut monitor,
        |change| matches!(change, Change::Link(link) if link.index == device && !link.carrier),
    );
    // The device goes down with its IPv4 routes, for which the kernel sends no notification.
    net.client
        .enter_thread(|| Routing::open()?.set_up(device, false))
        .unwrap()
        .unwrap();
    let through = |route: &Route| {
        route.table == 100 && route.hops.iter().any(|hop| hop.device == Some(device))
    };
    until(
        &mut monitor,
        |change| matches!(change, Change::RouteGone(route) if through(route)),
    );
    assert!(!monitor.view().routes.iter().any(through) && !monitor.view().links[&device].up);
    // An address and a rule.
    let address = ip("203.0.113.7");
    let add = || {
        let mut routing = Routing::open()?;
        routing.add_address(LOOPBACK, address)?;
        routing.add_source_rule(address, 7)
    };
    net.client.enter_thread(add).unwrap().unwrap();
    until(
        &mut monitor,
        |change| matches!(change, Change::Address(new) if new.address == address),
    );
    until(
        &mut monitor,
        |change| matches!(change, Change::Rule(rule) if rule.source == address.into()),
    );
}

/// Runs `ip` in the calling thread's namespace.
fn run_ip(arguments: &str) {
    let output = Command::new("ip")
        .args(arguments.split(' '))
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "ip {arguments}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Devices of the default route in a table.
fn devices(view: &View, family: &str, table: u32) -> Vec<u32> {
    let is_it = |route: &&Route| {
        let is_v4 = route.destination.address().is_ipv4();
        let is_sent = route.kind == RouteKind::Unicast;
        is_sent && route.destination.is_all() && route.table == table && is_v4 == (family == "-4")
    };
    let hops = view
        .routes
        .iter()
        .filter(is_it)
        .flat_map(|route| &route.hops);
    hops.filter_map(|hop| hop.device).collect()
}

/// Whatever form the next hops have: nexthop objects and groups, several hops in one route, a
/// gateway of the other family.
#[test(needs(NET))]
fn a_default_route_lists_its_devices_in_every_form() {
    for compatible in ["0", "1"] {
        for (net, family, gateways) in [
            (Net::v4(2), "-4", ["198.18.9.1", "198.18.9.2"]),
            (Net::v6(2), "-6", ["fd00::9:1", "fd00::9:2"]),
        ] {
            let [one, two] = [net.paths[0].device, net.paths[1].device];
            let work = || {
                std::fs::write("/proc/sys/net/ipv4/nexthop_compat_mode", compatible).unwrap();
                let mut monitor = Monitor::open().unwrap();
                let mut is = |what: &str, wanted: &[u32]| {
                    run_ip(what);
                    let begun = Instant::now();
                    while devices(monitor.view(), family, 77) != wanted {
                        let seen = devices(monitor.view(), family, 77);
                        assert!(
                            begun.elapsed() < PATIENCE,
                            "{what}: {seen:?} instead of {wanted:?}"
                        );
                        monitor.next_within(Duration::from_millis(50)).unwrap();
                    }
                };
                let [first, second] = gateways;
                is(&format!("{family} route add {first} dev c0"), &[]);
                is(&format!("{family} route add {second} dev c1"), &[]);
                is(
                    &format!("{family} nexthop add id 1 via {first} dev c0"),
                    &[],
                );
                is(
                    &format!("{family} nexthop add id 2 via {second} dev c1"),
                    &[],
                );
                is("nexthop add id 3 group 1/2", &[]);
                is(&format!("{family} nexthop add id 4 blackhole"), &[]);
                is(
                    &format!("{family} route add default table 77 nhid 1"),
                    &[one],
                );
                is(
                    &format!("{family} route replace default table 77 nhid 3"),
                    &[one, two],
                );
                // The route is unchanged while its objects change.
                is("nexthop replace id 3 group 2", &[two]);
                is("nexthop replace id 3 group 1/2", &[one, two]);
                is("nexthop del id 1", &[two]);
                is(
                    &format!("{family} nexthop replace id 2 via {first} dev c0"),
                    &[one],
                );
                is(
                    &format!("{family} route replace default table 77 nhid 4"),
                    &[],
                );
                is(&format!("{family} route del default table 77"), &[]);
                let hops =
                    format!("nexthop via {first} dev c0 nexthop via {second} dev c1 weight 2");
                is(
                    &format!("{family} route add default table 77 {hops}"),
                    &[one, two],
                );
                is(&format!("{family} route del default table 77"), &[]);
                if family == "-4" {
                    is(
                        "-4 route add default table 77 via inet6 fe80::1 dev c1",
                        &[two],
                    );
                    is("-6 nexthop add id 5 via fe80::1 dev c0", &[two]);
                    is("-4 route replace default table 77 nhid 5", &[one]);
                }
            };
            net.client.enter_thread(work).unwrap();
        }
    }
}

/// Lists everything.
fn everything(routing: &mut Routing) -> View {
    View {
        links: routing
            .links()
            .unwrap()
            .into_iter()
            .map(|link| (link.index, link))
            .collect(),
        addresses: routing.addresses().unwrap().into_iter().collect(),
        routes: routing.routes().unwrap().into_iter().collect(),
        rules: routing.rules().unwrap().into_iter().collect(),
    }
}

#[test(needs(ROOT))]
fn the_view_is_correct_after_lost_notifications() {
    const ADDRESSES: u32 = 300;
    let address = |n: u32| IpAddr::from(Ipv4Addr::from_bits(0x0a00_0000 + n));
    let work = || {
        let (mut monitor, mut routing) = (Monitor::open().unwrap(), Routing::open().unwrap());
        monitor.set_room(1).unwrap();
        for n in 0..ADDRESSES {
            routing.add_address(LOOPBACK, address(n)).unwrap();
        }
        for n in 0..ADDRESSES / 2 {
            routing.delete_address(LOOPBACK, address(n)).unwrap();
        }
        let mut told = BTreeSet::new();
        while told.len() < ADDRESSES as usize / 2 {
            match monitor
                .next_within(PATIENCE)
                .unwrap()
                .expect("further changes are reported")
            {
                Change::Address(new) => assert!(told.insert(new)),
                Change::AddressGone(gone) => assert!(told.remove(&gone)),
                _ => {}
            }
        }
        assert!(
            monitor.overruns() > 0,
            "no notification was lost, so this tests nothing"
        );
        assert_eq!(monitor.view(), &everything(&mut routing));
        // It still reports later changes.
        routing.add_address(LOOPBACK, address(ADDRESSES)).unwrap();
        let last = address(ADDRESSES);
        let is_new = |it: &Change| matches!(it, Change::Address(new) if new.address == last);
        until(&mut monitor, is_new);
    };
    Namespace::new().unwrap().enter_thread(work).unwrap();
}

#[test(needs(NET))]
fn namespaces_are_found_by_all_their_holders() {
    let name = format!("jptest{}", std::process::id());
    let ip = |arguments: &[&str]| {
        assert!(
            Command::new("ip")
                .args(arguments)
                .status()
                .unwrap()
                .success()
        )
    };
    ip(&["netns", "add", &name]);
    let (held, entered) = (Namespace::new().unwrap(), Namespace::new().unwrap());
    let mut sleep = Command::new("sleep");
    let inside = std::sync::Arc::new(entered);
    let namespace = inside.clone();
    // SAFETY: the child makes only one system call between fork and exec.
    unsafe { sleep.arg("600").pre_exec(move || namespace.enter()) };
    let mut sleep = sleep.spawn().unwrap();
    let named = Namespace::at(std::path::Path::new(&format!("/run/netns/{name}"))).unwrap();
    let cookies: Vec<Cookie> = [&named, &held, &inside]
        .map(|namespace| namespace.cookie().unwrap())
        .into();
    drop((named, inside));
    let search = search();
    ip(&["netns", "del", &name]);
    sleep.kill().unwrap();
    sleep.wait().unwrap();
    let found = search.unwrap().found;
    let place = |cookie: Cookie| {
        found
            .iter()
            .find(|found| found.cookie == cookie)
            .map(|found| found.place.clone())
    };
    assert_eq!(place(cookies[0]), Some(Place::Name(name)));
    assert!(
        matches!(place(cookies[1]), Some(Place::File(_))),
        "{found:?}"
    );
    let process = Place::Process {
        pid: sleep.id(),
        name: "sleep".into(),
    };
    // The command before exec holds it, too.
    assert_eq!(place(cookies[2]), Some(process));
}

#[test(needs(NET))]
fn a_reused_inode_number_has_another_cookie() {
    let mut seen = std::collections::BTreeMap::new();
    // The kernel reuses an inode number after it has removed the namespace, which other removals
    // delay.
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline {
        let namespace = Namespace::new().unwrap();
        let (inode, cookie) = (namespace.inode().unwrap(), namespace.cookie().unwrap());
        if let Some(other) = seen.insert(inode, cookie) {
            assert_ne!(cookie, other);
            return;
        }
        drop(namespace);
        std::thread::sleep(Duration::from_millis(20));
    }
    joulepath_testbed::skip("no inode number was reused");
}
