//! The rules and routes that make new connections start on the preferred interface.

use std::collections::BTreeMap;
use std::net::IpAddr;

use joulepath_kernel::route::{Action, Origin, Prefix, Route, RouteKind, Rule, Scope, View};

/// Our number among the creators of routes and rules (`RTPROT_…`), which no other program uses.
const ORIGIN: u8 = 77;
/// Immediately before the main table. Rules that other programs add later come before.
const PRIORITY: u32 = 32_765;
/// Table of new connections; the number of an interface's table is larger by the interface's index.
const NEW: u32 = 707_700_000;
/// `RT_TABLE_LOCAL`, `RT_TABLE_MAIN`.
const LOCAL: u32 = 255;
pub(super) const MAIN: u32 = 254;
const TCP: u8 = 6;
/// `FR_ACT_UNREACHABLE`.
pub(super) const UNREACHABLE: Action = Action::Other(7);
/// The kernel's name for packets of this machine in rules.
pub(super) const LOOPBACK: &str = "lo";
/// The kernel's default for IPv6 routes.
const PRIORITY_V6: u32 = 1024;

/// Where new connections should start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wish {
    /// Indexes of interfaces for IPv4 and IPv6, the preferred one first.
    pub(crate) preferred: [Vec<u32>; 2],
    /// Interfaces that the daemon must not use, such as a VPN's.
    pub(crate) foreign: Vec<u32>,
    /// WiFi clients that change their access point.
    pub(crate) roaming: Vec<u32>,
    /// True if new TCP connections should start on the preferred interface. Otherwise the routing
    /// table decides, except for interfaces that are cut off.
    pub(crate) steers: bool,
    /// Interfaces that must carry nothing more.
    pub(crate) cut: Vec<u32>,
    /// Servers whose connections should start on another interface.
    pub(crate) detours: Vec<(IpAddr, u32)>,
}

/// Where new connections of a family start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// On this interface, by our rules.
    On(u32),
    /// By the routing table, because there is nothing to choose.
    AsRouted,
    /// By the routing table, because the main table has no default route.
    Unrouted,
    /// Nowhere: the only default route leads through an interface that is cut off.
    Closed,
    /// By another program's routing, such as a VPN's: why.
    Refused(String),
}

/// Our rules, in order, and routes of one family.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Set {
    pub(super) rules: Vec<Rule>,
    pub(super) routes: Vec<Route>,
}

/// True if the route is ours.
pub(crate) fn is_ours(route: &Route) -> bool {
    route.origin == Origin::Other(ORIGIN)
}

/// The interface on which our rules make new connections of a family start.
#[cfg(test)]
pub(super) fn starts_on(view: &View, v4: bool) -> Option<u32> {
    let is_default = |route: &&Route| route.destination.is_all() && is_v4(route.destination) == v4;
    let route = view
        .routes
        .iter()
        .filter(is_default)
        .find(|route| route.table == NEW)?;
    let has_rule = view
        .rules
        .iter()
        .any(|rule| is_of_new(rule) && is_v4(rule.source) == v4);
    has_rule.then(|| route.hops.first()?.device)?
}

/// True if the rule is the one for new connections.
pub(super) fn is_of_new(rule: &Rule) -> bool {
    rule.origin == ORIGIN && rule.action == Action::Table(NEW)
}

/// True if the rule is the one that leaves everything except default routes to the main table.
pub(super) fn is_of_specific_routes(rule: &Rule) -> bool {
    rule.suppress.is_some()
}

impl Set {
    /// What is there.
    pub(super) fn present(view: &View, v4: bool) -> Self {
        let rules = view
            .rules
            .iter()
            .filter(|rule| rule.origin == ORIGIN && is_v4(rule.source) == v4);
        let routes = view
            .routes
            .iter()
            .filter(|route| is_ours(route) && is_v4(route.destination) == v4);
        Set {
            rules: rules.cloned().collect(),
            routes: routes.cloned().collect(),
        }
    }

    /// Addresses with a rule for the route of their interface that `wanted` lacks.
    pub(super) fn addresses_beyond(&self, wanted: &Set) -> Vec<IpAddr> {
        self.beyond(wanted)
            .map(|(rule, _)| rule.source.address())
            .collect()
    }

    /// These rules, with their interfaces. An address that has moved to another interface is not
    /// among them.
    fn beyond(&self, wanted: &Set) -> impl Iterator<Item = (&Rule, u32)> {
        let of_device = |rule: &Rule| match rule.action {
            Action::Table(table) => device_of(table),
            Action::Other(_) => None,
        };
        let has = move |source: Prefix| {
            wanted
                .rules
                .iter()
                .any(|rule| rule.source == source && of_device(rule).is_some())
        };
        let with_device = self
            .rules
            .iter()
            .filter_map(move |rule| Some((rule, of_device(rule)?)));
        with_device.filter(move |(rule, _)| !has(rule.source))
    }

    /// Adds the rules and routes of the present set that open connections need: the path of a
    /// source address whose packets would leave through another interface without its rule. Returns
    /// these addresses and the number of their connections.
    pub(super) fn keep(
        &mut self,
        present: &Set,
        view: &View,
        v4: bool,
        connections: &BTreeMap<IpAddr, usize>,
    ) -> BTreeMap<IpAddr, usize> {
        let routed = default_device(view, v4).filter(|_| self.rules.is_empty());
        let mut kept = vec![];
        let mut stays = BTreeMap::new();
        for (rule, device) in present
            .beyond(self)
            .filter(|&(_, device)| routed != Some(device))
        {
            let address = rule.source.address();
            if let Some(&count) = connections.get(&address).filter(|&&count| count > 0) {
                stays.insert(address, count);
                kept.push((rule.clone(), device));
            }
        }
        if kept.is_empty() {
            return stays;
        }
        if self.rules.is_empty() {
            self.rules.extend(
                present
                    .rules
                    .iter()
                    .find(|rule| is_of_specific_routes(rule))
                    .cloned(),
            );
        }
        for (_, device) in &kept {
            let table = NEW + device;
            if self.routes.iter().all(|route| route.table != table) {
                self.routes.extend(
                    present
                        .routes
                        .iter()
                        .filter(|route| route.table == table)
                        .cloned(),
                );
            }
        }
        self.routes.sort();
        let at = self
            .rules
            .iter()
            .position(|rule| !is_of_specific_routes(rule))
            .unwrap_or(self.rules.len());
        self.rules
            .splice(at..at, kept.into_iter().map(|(rule, _)| rule));
        stays
    }
}

/// What should be there for one family, and where its connections then start.
pub(super) fn start(view: &View, wish: &Wish, v4: bool) -> (Set, Start) {
    let is_cut = |device: u32| wish.cut.contains(&device);
    let replaces = default_device(view, v4).is_some_and(is_cut);
    if !wish.steers && !replaces {
        return (Set::default(), Start::AsRouted);
    }
    let gates: BTreeMap<u32, Route> = view
        .links
        .values()
        .filter(|link| !link.loopback && (link.is_usable() || wish.roaming.contains(&link.index)))
        .filter_map(|link| Some((link.index, default_route(view, link.index, v4)?)))
        .collect();
    let may_start = |device: &&u32| gates.contains_key(device) && !is_cut(**device);
    let [of_v4, of_v6] = &wish.preferred;
    let all = if v4 { of_v4 } else { of_v6 };
    let Some(&preferred) = all.iter().find(may_start) else {
        return if replaces {
            (closed(v4), Start::Closed)
        } else {
            (Set::default(), Start::AsRouted)
        };
    };
    if gates.len() < 2 {
        return (Set::default(), Start::AsRouted);
    }
    let Some(routed) = default_device(view, v4) else {
        return (Set::default(), Start::Unrouted);
    };
    if let Some(why) = obstacle(view, wish, routed, v4).filter(|_| !replaces) {
        return (Set::default(), Start::Refused(why));
    }
    let mut rules = vec![Rule {
        suppress: Some(0),
        ..rule(v4, None, MAIN)
    }];
    for &device in gates.keys() {
        rules.extend(
            addresses(view, device, v4).map(|address| rule(v4, Some(address), NEW + device)),
        );
    }
    if !v4 {
        // No rule selects packets without an IPv6 source address, so the last one applies to all
        // others.
        let others = view
            .links
            .values()
            .filter(|link| !link.loopback && !gates.contains_key(&link.index));
        let others = others.flat_map(|link| addresses(view, link.index, v4));
        rules.extend(others.map(|address| rule(v4, Some(address), MAIN)));
    }
    let without_source = IpAddr::from([0; 4]);
    // Nothing may leave by the default route of an interface that is cut off.
    let protocol = (!replaces).then_some(TCP);
    rules.push(Rule {
        protocol,
        ..rule(v4, v4.then_some(without_source), NEW)
    });
    let of_device = gates.iter().map(|(device, route)| Route {
        table: NEW + device,
        ..route.clone()
    });
    let of_new = Route {
        table: NEW,
        ..gates[&preferred].clone()
    };
    let detours = wish
        .detours
        .iter()
        .filter(|(server, to)| server.is_ipv4() == v4 && !is_cut(*to))
        .filter_map(|(server, device)| {
            Some(Route {
                table: NEW,
                destination: Prefix::from(*server),
                ..gates.get(device)?.clone()
            })
        });
    let mut routes: Vec<Route> = of_device.chain([of_new]).chain(detours).collect();
    routes.sort();
    (Set { rules, routes }, Start::On(preferred))
}

/// Everything except default routes is left to the main table; the rest is unreachable.
fn closed(v4: bool) -> Set {
    let specific = Rule {
        suppress: Some(0),
        ..rule(v4, None, MAIN)
    };
    let rest = Rule {
        action: UNREACHABLE,
        ..rule(v4, None, MAIN)
    };
    Set {
        rules: vec![specific, rest],
        routes: vec![],
    }
}

/// Why these rules would do nothing, or would lead around another program's routing.
fn obstacle(view: &View, wish: &Wish, routed: u32, v4: bool) -> Option<String> {
    let name = |device: u32| {
        view.links
            .get(&device)
            .map_or_else(|| device.to_string(), |link| link.name.clone())
    };
    if wish.foreign.contains(&routed) {
        return Some(format!(
            "the default route leads through {}, which the daemon must not use",
            name(routed)
        ));
    }
    let catches_all = |rule: &&Rule| {
        let selects = !rule.source.is_all()
            || rule.destination.is_some()
            || rule.incoming.is_some()
            || rule.outgoing.is_some()
            || rule.mark.is_some()
            || rule.users.is_some()
            || rule.protocol.is_some_and(|protocol| protocol != TCP);
        let decides = match rule.action {
            Action::Table(table) => ![LOCAL, MAIN].contains(&table) || rule.suppress.is_none(),
            Action::Other(_) => true,
        };
        is_v4(rule.source) == v4
            && rule.origin != ORIGIN
            && (1..=PRIORITY).contains(&rule.priority)
            && (!selects || rule.invert)
            && decides
    };
    let rule = view.rules.iter().find(catches_all)?;
    Some(format!(
        "another program's routing rule (priority {}) comes first",
        rule.priority
    ))
}

fn rule(v4: bool, source: Option<IpAddr>, table: u32) -> Rule {
    Rule {
        priority: PRIORITY,
        source: source.map_or(
            if v4 { Prefix::ALL_V4 } else { Prefix::ALL_V6 },
            Prefix::from,
        ),
        destination: None,
        incoming: Some(LOOPBACK.into()),
        outgoing: None,
        mark: None,
        users: None,
        protocol: None,
        invert: false,
        action: Action::Table(table),
        suppress: None,
        origin: ORIGIN,
    }
}

fn is_v4(prefix: Prefix) -> bool {
    prefix.address().is_ipv4()
}

/// The interface of a table of ours.
fn device_of(table: u32) -> Option<u32> {
    table.checked_sub(NEW).filter(|&device| device > 0)
}

pub(super) fn addresses(view: &View, device: u32, v4: bool) -> impl Iterator<Item = IpAddr> {
    let all = view
        .addresses
        .iter()
        .filter(move |one| one.device == device && one.scope == Scope::Universe);
    all.map(|one| one.address)
        .filter(move |address| address.is_ipv4() == v4)
}

/// Default routes of a family that are not ours, the preferred one first.
fn defaults(view: &View, v4: bool) -> Vec<&Route> {
    let mut all: Vec<&Route> = view
        .routes
        .iter()
        .filter(|route| route.kind == RouteKind::Unicast && route.destination.is_all())
        .filter(|route| is_v4(route.destination) == v4 && !is_ours(route))
        .collect();
    all.sort_by_key(|route| (route.table != MAIN, route.priority));
    all
}

/// The main table's preferred default route of a family.
fn main_default(view: &View, v4: bool) -> Option<&Route> {
    defaults(view, v4)
        .first()
        .copied()
        .filter(|route| route.table == MAIN)
}

/// The device of that route.
fn default_device(view: &View, v4: bool) -> Option<u32> {
    main_default(view, v4)?.hops.first()?.device
}

/// A copy of the preferred default route through a device, as a route of ours.
fn default_route(view: &View, device: u32, v4: bool) -> Option<Route> {
    defaults(view, v4).into_iter().find_map(|route| {
        let hop = *route.hops.iter().find(|hop| hop.device == Some(device))?;
        Some(Route {
            priority: if v4 { 0 } else { PRIORITY_V6 },
            origin: Origin::Other(ORIGIN),
            hops: vec![hop],
            ..route.clone()
        })
    })
}
