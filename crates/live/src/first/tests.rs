use std::collections::BTreeMap;
use std::net::IpAddr;

use joulepath_kernel::route::{Action, Address, Prefix, Route, Rule, View};
use joulepath_kernel::{Error, Result};
use joulepath_model::units::Nanos;
use rustix::io::Errno;

use super::plan::UNREACHABLE;
use super::plan::starts_on;
use super::router::Router;
use super::{Outcome, Start, Wish, steer, undo};
use crate::samples::{address, link};

const WLAN: u32 = 2;
const WWAN: u32 = 3;
const VPN: u32 = 4;
const NOW: Nanos = Nanos(0);

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// Rules in the kernel's order: a new one comes after those of the same priority.
struct Fake {
    view: View,
    rules: Vec<Rule>,
    roaming: Vec<u32>,
    sources: BTreeMap<IpAddr, usize>,
    /// How often connections were counted.
    counts: usize,
    /// True if the kernel has removed the routes before we ask it to.
    is_late: bool,
}

impl Router for Fake {
    fn add_rule(&mut self, rule: &Rule) -> Result<()> {
        assert!(self.view.rules.insert(rule.clone()), "it exists: {rule:?}");
        let after = self
            .rules
            .iter()
            .rposition(|one| one.priority <= rule.priority);
        self.rules
            .insert(after.map_or(0, |at| at + 1), rule.clone());
        Ok(())
    }

    fn delete_rule(&mut self, rule: &Rule) -> Result<()> {
        assert!(self.view.rules.remove(rule), "it does not exist: {rule:?}");
        self.rules.retain(|one| one != rule);
        Ok(())
    }

    fn add_route(&mut self, route: &Route) -> Result<()> {
        let key = |route: &Route| (route.destination, route.table, route.priority);
        self.view.routes.retain(|one| key(one) != key(route));
        self.view.routes.insert(route.clone());
        Ok(())
    }

    fn delete_route(&mut self, route: &Route) -> Result<()> {
        assert!(
            self.view.routes.remove(route),
            "it does not exist: {route:?}"
        );
        match self.is_late {
            true => Err(Error::io(
                "removing a route",
                std::io::Error::from(Errno::SRCH),
            )),
            false => Ok(()),
        }
    }

    fn sources(&mut self) -> Result<BTreeMap<IpAddr, usize>> {
        self.counts += 1;
        Ok(self.sources.clone())
    }
}

impl Fake {
    /// WiFi and a modem, each with an address and a default route of both families; the routing
    /// table prefers the modem.
    fn new() -> Self {
        let mut view = View::default();
        for (index, name, metric) in [(WLAN, "wlan0", 600), (WWAN, "wwan0", 100)] {
            view.links.insert(index, link(index, name, true));
            for prefix in [format!("192.0.{index}."), format!("2001:db8:{index}::")] {
                view.addresses.insert(address(index, &format!("{prefix}2")));
                let router = ip(&format!("{prefix}1"));
                view.routes.insert(Route {
                    priority: metric,
                    ..Route::via(Prefix::all_like(router), router, index)
                });
            }
        }
        Fake {
            view,
            rules: vec![],
            roaming: vec![],
            sources: BTreeMap::new(),
            counts: 0,
            is_late: false,
        }
    }

    fn steer(&mut self, preferred: &[u32]) -> Outcome {
        self.steer_after(&Outcome::default(), preferred)
    }

    fn steer_after(&mut self, last: &Outcome, preferred: &[u32]) -> Outcome {
        let (view, roaming) = (self.view.clone(), self.roaming.clone());
        let wish = Wish {
            preferred: [(); 2].map(|()| preferred.to_vec()),
            foreign: vec![VPN],
            roaming,
            steers: true,
            cut: vec![],
            detours: vec![],
        };
        steer(self, &view, &wish, last, NOW).unwrap()
    }

    fn undo(&mut self) -> Outcome {
        let view = self.view.clone();
        undo(self, &view, NOW).unwrap()
    }

    /// The device through which a TCP packet leaves, for a destination without a route of its own.
    fn leaves(&self, v4: bool, source: Option<&str>) -> Option<u32> {
        let source = source.map(ip);
        let matches = |rule: &&Rule| {
            let any = rule.source.is_all();
            let same = match source {
                Some(source) => rule.source.contains(source),
                None => v4 && rule.source == Prefix::from(IpAddr::from([0; 4])),
            };
            rule.source.address().is_ipv4() == v4 && (any || same) && rule.suppress.is_none()
        };
        let default = |table: u32| {
            let all = self.view.routes.iter().filter(|route| {
                route.table == table
                    && route.destination.is_all()
                    && route.destination.address().is_ipv4() == v4
            });
            all.min_by_key(|route| route.priority)?.hops[0].device
        };
        let tables = self
            .rules
            .iter()
            .filter(matches)
            .filter_map(|rule| match rule.action {
                Action::Table(table) => Some(table),
                Action::Other(_) => None,
            });
        tables.chain([254]).find_map(default)
    }

    /// The state without our rules and routes.
    fn is_as_before(&self) -> bool {
        self.view.rules.is_empty() && self.view == Fake::new().view
    }
}

#[test]
fn new_connections_start_on_the_preferred_interface_and_others_keep_theirs() {
    let mut fake = Fake::new();
    assert_eq!(
        [true, false].map(|v4| fake.leaves(v4, None)),
        [Some(WWAN); 2]
    );
    let outcome = fake.steer(&[WLAN, WWAN]);
    assert_eq!(outcome.starts, [Start::On(WLAN), Start::On(WLAN)]);
    for (v4, wlan, wwan) in [
        (true, "192.0.2.2", "192.0.3.2"),
        (false, "2001:db8:2::2", "2001:db8:3::2"),
    ] {
        assert_eq!(starts_on(&fake.view, v4), Some(WLAN));
        assert_eq!(fake.leaves(v4, None), Some(WLAN));
        assert_eq!(fake.leaves(v4, Some(wlan)), Some(WLAN));
        assert_eq!(fake.leaves(v4, Some(wwan)), Some(WWAN));
    }
    assert_eq!(fake.steer(&[WLAN, WWAN]).changes, 0);
    // Another preference replaces one route per family.
    assert_eq!(fake.steer(&[WWAN]).changes, 2);
    assert_eq!(fake.leaves(true, None), Some(WWAN));
    assert_eq!(fake.leaves(true, Some("192.0.2.2")), Some(WLAN));
    fake.undo();
    assert!(fake.is_as_before());
}

#[test]
fn an_interface_that_appears_later_comes_before_the_rule_for_new_connections() {
    let mut fake = Fake::new();
    fake.steer(&[WLAN]);
    let eth = 9;
    fake.view.links.insert(eth, link(eth, "eth0", true));
    fake.view.addresses.insert(address(eth, "2001:db8:9::2"));
    let router = ip("2001:db8:9::1");
    fake.view.routes.insert(Route {
        priority: 50,
        ..Route::via(Prefix::ALL_V6, router, eth)
    });
    // A device without a default route.
    fake.view.links.insert(10, link(10, "br0", true));
    fake.view.addresses.insert(address(10, "2001:db8:a::2"));
    fake.steer(&[WLAN]);
    assert_eq!(fake.leaves(false, Some("2001:db8:9::2")), Some(eth));
    // As without our rules.
    assert_eq!(fake.leaves(false, Some("2001:db8:a::2")), Some(eth));
    assert_eq!(fake.leaves(false, None), Some(WLAN));
    assert_eq!(fake.leaves(false, Some("2001:db8:2::2")), Some(WLAN));
}

/// Without steering, an interface over its hard quota keeps neither new connections nor its
/// addresses.
#[test]
fn nothing_leaves_through_an_interface_that_is_cut_off() {
    let mut fake = Fake::new();
    let mut wish = Wish {
        preferred: [vec![WLAN], vec![WLAN]],
        cut: vec![WWAN],
        ..Wish::default()
    };
    let follow = |fake: &mut Fake, wish: &Wish| {
        let view = fake.view.clone();
        steer(fake, &view, wish, &Outcome::default(), NOW).unwrap()
    };
    assert_eq!(
        follow(&mut fake, &wish).starts,
        [Start::On(WLAN), Start::On(WLAN)]
    );
    assert_eq!(
        [true, false].map(|v4| fake.leaves(v4, None)),
        [Some(WLAN); 2]
    );
    assert!(
        fake.rules.iter().all(|rule| rule.protocol.is_none()),
        "{:?}",
        fake.rules
    );
    let is_refused = |fake: &Fake, source: &str| {
        let refuses = |rule: &&Rule| rule.source == ip(source).into() && rule.action == UNREACHABLE;
        fake.rules.iter().position(|rule| refuses(&rule))
    };
    // Before the rules that keep the paths of open connections.
    assert!(
        ["192.0.3.2", "2001:db8:3::2"]
            .iter()
            .all(|one| is_refused(&fake, one).is_some_and(|at| at < 8))
    );
    assert!(
        ["192.0.2.2", "2001:db8:2::2"]
            .iter()
            .all(|one| is_refused(&fake, one).is_none())
    );
    assert_eq!(follow(&mut fake, &wish).changes, 0);
    // Another program's rule comes later: ours move before it.
    let theirs = Rule {
        priority: 100,
        origin: 0,
        action: Action::Table(7),
        ..fake.rules[0].clone()
    };
    fake.view.rules.insert(theirs.clone());
    fake.rules.insert(0, theirs.clone());
    follow(&mut fake, &wish);
    assert!(
        fake.rules
            .iter()
            .filter(|rule| rule.origin == 78)
            .all(|rule| rule.priority < 100)
    );
    fake.view.rules.remove(&theirs);
    fake.rules.retain(|rule| *rule != theirs);
    // No other path.
    wish.preferred = Default::default();
    assert_eq!(
        follow(&mut fake, &wish).starts,
        [Start::Closed, Start::Closed]
    );
    assert!(
        fake.rules
            .iter()
            .filter(|rule| rule.source.is_all() && rule.outgoing.is_none())
            .any(|rule| rule.action == UNREACHABLE)
    );
    // The interface does not own the default route.
    wish.cut = vec![WLAN];
    assert_eq!(
        follow(&mut fake, &wish).starts,
        [Start::AsRouted, Start::AsRouted]
    );
    assert_eq!(
        [true, false].map(|v4| fake.leaves(v4, None)),
        [Some(WWAN); 2]
    );
    fake.undo();
    assert!(fake.is_as_before());
}

#[test]
fn one_interface_or_none_needs_no_rules() {
    let mut fake = Fake::new();
    fake.steer(&[WLAN]);
    fake.view
        .routes
        .retain(|route| route.hops[0].device != Some(WWAN));
    assert_eq!(
        fake.steer(&[WLAN]).starts,
        [Start::AsRouted, Start::AsRouted]
    );
    assert!(fake.view.rules.is_empty());
    let mut fake = Fake::new();
    fake.steer(&[]);
    assert!(fake.is_as_before());
}

#[test]
fn rules_stay_while_wifi_changes_its_access_point() {
    for roaming in [vec![], vec![WLAN]] {
        let mut fake = Fake::new();
        fake.steer(&[WLAN]);
        fake.view.links.insert(WLAN, link(WLAN, "wlan0", false));
        fake.roaming = roaming;
        let stays = !fake.roaming.is_empty();
        assert_eq!(fake.steer(&[WLAN]).changes == 0, stays);
        assert_eq!(starts_on(&fake.view, true), stays.then_some(WLAN));
    }
}

#[test]
fn connections_keep_their_path_when_there_is_nothing_left_to_choose() {
    let mut fake = Fake::new();
    fake.steer(&[WLAN]);
    fake.sources = [
        (ip("192.0.2.2"), 1),
        (ip("2001:db8:2::2"), 3),
        (ip("192.0.3.2"), 5),
    ]
    .into();
    // No interface is preferred; the routing table prefers the modem.
    let outcome = fake.steer(&[]);
    assert_eq!(outcome.starts, [Start::AsRouted, Start::AsRouted]);
    assert_eq!(
        outcome.stays,
        [(ip("192.0.2.2"), 1), (ip("2001:db8:2::2"), 3)].into()
    );
    for (v4, wlan) in [(true, "192.0.2.2"), (false, "2001:db8:2::2")] {
        assert_eq!(
            [None, Some(wlan)].map(|source| fake.leaves(v4, source)),
            [Some(WWAN), Some(WLAN)]
        );
    }
    // Repeated: no change, and connections are counted again only when it is time.
    let counts = fake.counts;
    let again = fake.steer_after(&outcome, &[]);
    assert_eq!(
        (again.changes, again.again, fake.counts),
        (0, outcome.again, counts)
    );
    // The choice is back.
    assert_eq!(
        fake.steer_after(&outcome, &[WLAN]).starts,
        [Start::On(WLAN), Start::On(WLAN)]
    );
    assert_eq!(fake.leaves(true, None), Some(WLAN));
    fake.steer(&[]);
    fake.sources.clear();
    assert_eq!(fake.steer(&[]).again, None);
    assert!(fake.is_as_before());

    // One default route is left, and the other interface still has its address.
    let mut fake = Fake::new();
    fake.steer(&[WLAN]);
    fake.sources = [(ip("192.0.2.2"), 1)].into();
    let lost = |route: &Route| route.hops[0].device == Some(WLAN) && route.table == 254;
    fake.view.routes.retain(|route| !lost(route));
    let outcome = fake.steer(&[WLAN]);
    assert_eq!(outcome.starts, [Start::AsRouted, Start::AsRouted]);
    assert_eq!(fake.leaves(true, Some("192.0.2.2")), Some(WLAN));
    assert_eq!(fake.leaves(true, None), Some(WWAN));

    // The main table has lost all its default routes.
    let mut fake = Fake::new();
    fake.steer(&[WLAN]);
    fake.sources = [(ip("192.0.2.2"), 1)].into();
    for route in fake
        .view
        .routes
        .clone()
        .iter()
        .filter(|route| route.table == 254)
    {
        fake.view.routes.remove(route);
        fake.view.routes.insert(Route {
            table: 100,
            ..route.clone()
        });
    }
    let outcome = fake.steer(&[WLAN]);
    assert_eq!(outcome.starts, [Start::Unrouted, Start::Unrouted]);
    assert_eq!(fake.leaves(true, Some("192.0.2.2")), Some(WLAN));
    assert!(
        outcome
            .remarks()
            .next()
            .unwrap()
            .ends_with("the main table has no default route")
    );
}

#[test]
fn connections_of_an_interface_that_loses_its_default_route_keep_their_path() {
    let eth = 9;
    for v4 in [true, false] {
        let (router, source) = if v4 {
            ("192.0.9.1", "192.0.9.2")
        } else {
            ("2001:db8:9::1", "2001:db8:9::2")
        };
        let mut fake = Fake::new();
        fake.view.links.insert(eth, link(eth, "eth0", true));
        fake.view.addresses.insert(address(eth, source));
        let route = Route {
            priority: 50,
            ..Route::via(Prefix::all_like(ip(router)), ip(router), eth)
        };
        fake.view.routes.insert(route.clone());
        fake.steer(&[WLAN]);
        fake.sources = [(ip(source), 1)].into();
        fake.view.routes.remove(&route);
        let outcome = fake.steer(&[WLAN]);
        assert_eq!(outcome.starts, [Start::On(WLAN), Start::On(WLAN)]);
        assert_eq!(fake.leaves(v4, Some(source)), Some(eth));
        assert_eq!(fake.leaves(v4, None), Some(WLAN));
        fake.sources.clear();
        fake.steer(&[WLAN]);
        assert!(
            fake.view
                .routes
                .iter()
                .all(|route| route.hops[0].device != Some(eth))
        );
    }
}

#[test]
fn the_routing_of_a_vpn_or_another_program_is_left_alone() {
    let mut fake = Fake::new();
    fake.view.links.insert(VPN, link(VPN, "tun0", true));
    fake.view.routes.insert(Route {
        priority: 50,
        ..Route::via(Prefix::ALL_V4, ip("10.0.0.1"), VPN)
    });
    // Our rules go at once, also for open connections: the VPN decides their path.
    let mut steered = Fake::new();
    steered.steer(&[WLAN]);
    steered.sources = [(ip("192.0.2.2"), 1)].into();
    steered.view.routes.extend(fake.view.routes.iter().cloned());
    assert_eq!(steered.steer(&[WLAN]).stays, [].into());
    assert_eq!(steered.leaves(true, Some("192.0.2.2")), Some(VPN));
    let Start::Refused(why) = &fake.steer(&[WLAN]).starts[0] else {
        panic!()
    };
    assert_eq!(
        why,
        "the default route leads through tun0, which the daemon must not use"
    );

    // As of wg-quick: what has no mark uses the tunnel's table.
    let tunnel = Rule {
        priority: 32_764,
        source: Prefix::ALL_V4,
        destination: None,
        incoming: None,
        outgoing: None,
        mark: Some((51_820, u32::MAX)),
        users: None,
        protocol: None,
        invert: true,
        action: Action::Table(51_820),
        suppress: None,
        origin: 3,
    };
    let mut fake = Fake::new();
    fake.steer(&[WLAN]);
    fake.add_rule(&tunnel).unwrap();
    let starts = fake.steer(&[WLAN]).starts;
    assert_eq!(
        starts[0],
        Start::Refused("another program's routing rule (priority 32764) comes first".into())
    );
    assert_eq!(starts[1], Start::On(WLAN));
    assert_eq!(
        fake.rules
            .iter()
            .filter(|rule| rule.source.address().is_ipv4())
            .collect::<Vec<_>>(),
        [&tunnel]
    );

    // Rules for some packets do not matter.
    let mut fake = Fake::new();
    let of_source = Rule {
        source: ip("192.0.3.2").into(),
        mark: None,
        invert: false,
        ..tunnel.clone()
    };
    let of_mark = Rule {
        invert: false,
        ..tunnel
    };
    for rule in [of_source, of_mark] {
        fake.add_rule(&rule).unwrap();
    }
    assert_eq!(fake.steer(&[WLAN]).starts[0], Start::On(WLAN));
}

#[test]
fn the_end_keeps_the_path_of_open_connections() {
    let mut fake = Fake::new();
    fake.steer(&[WLAN]);
    // The routing table serves connections from the modem as well.
    fake.sources = [(ip("192.0.2.2"), 2), (ip("192.0.3.2"), 5)].into();
    let outcome = fake.undo();
    assert_eq!(outcome.stays, [(ip("192.0.2.2"), 2)].into());
    let lines: Vec<String> = outcome.staying().collect();
    assert_eq!(
        lines,
        [
            "the routing rule for 192.0.2.2 stays for 2 TCP connections; it is removed when they have ended"
        ]
    );
    assert!(outcome.again.is_some());
    assert_eq!(fake.leaves(true, Some("192.0.2.2")), Some(WLAN));
    assert_eq!(fake.leaves(true, None), Some(WWAN));
    assert_eq!(fake.leaves(false, None), Some(WWAN));
    // Repeated: no change while they are open.
    assert_eq!(fake.undo().changes, 0);
    fake.sources.clear();
    let outcome = fake.undo();
    assert_eq!((outcome.stays.len(), outcome.again), (0, None));
    assert!(fake.is_as_before());
    assert_eq!(fake.undo().changes, 0);
}

#[test]
fn routes_that_the_kernel_removes_at_the_same_time_are_no_error() {
    let mut fake = Fake::new();
    fake.steer(&[WLAN]);
    fake.is_late = true;
    fake.undo();
    assert!(fake.is_as_before());
}

#[test]
fn what_another_program_removed_is_added_again_in_order() {
    for v4 in [true, false] {
        let mut fake = Fake::new();
        fake.steer(&[WLAN]);
        let before = fake.rules.clone();
        let of_family = |rule: &&Rule| rule.source.address().is_ipv4() == v4;
        for at in 0..before.iter().filter(of_family).count() {
            let rule = before.iter().filter(of_family).nth(at).unwrap().clone();
            fake.delete_rule(&rule).unwrap();
            fake.steer(&[WLAN]);
            let now: Vec<&Rule> = fake.rules.iter().filter(of_family).collect();
            let was: Vec<&Rule> = before.iter().filter(of_family).collect();
            assert_eq!(now, was, "without the rule at {at}");
        }
    }
}

#[test]
fn addresses_of_the_link_alone_have_no_rules() {
    let mut fake = Fake::new();
    let local = Address {
        scope: joulepath_kernel::route::Scope::Link,
        ..address(WLAN, "fe80::2")
    };
    fake.view.addresses.insert(local);
    fake.steer(&[WLAN]);
    assert!(
        fake.rules
            .iter()
            .all(|rule| rule.source.address() != ip("fe80::2"))
    );
}

#[test]
fn a_detour_leads_one_server_over_another_interface() {
    let mut fake = Fake::new();
    let view = fake.view.clone();
    let servers = [ip("203.0.113.1"), ip("2001:db8:9::1")];
    let detours = servers.map(|server| (server, WWAN)).to_vec();
    let wish = Wish {
        preferred: [vec![WLAN], vec![WLAN]],
        detours,
        steers: true,
        ..Wish::default()
    };
    steer(&mut fake, &view, &wish, &Outcome::default(), NOW).unwrap();
    for server in servers {
        let mut routes = fake
            .view
            .routes
            .iter()
            .filter(|route| route.destination == Prefix::from(server));
        assert_eq!(
            routes.next().map(|route| route.hops[0].device),
            Some(Some(WWAN))
        );
        assert_eq!(routes.next(), None);
        assert_eq!(starts_on(&fake.view, server.is_ipv4()), Some(WLAN));
        assert_eq!(fake.leaves(server.is_ipv4(), None), Some(WLAN));
    }
    fake.steer(&[WLAN]);
    assert!(
        fake.view
            .routes
            .iter()
            .all(|route| !servers.contains(&route.destination.address()))
    );
}
