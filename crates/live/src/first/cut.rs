//! Interfaces that must carry nothing more, because their hard quota is used up.
//!
//! ```text
//! from an address of the interface, or bound to it ─► main table without its default routes: its own network
//!                                                  ─► network unreachable
//! ```
//! These rules come before those of all other programs. They apply to packets of this machine only.
//! What the routing table would send over the interface is the subject of
//! [`start`](super::plan::start).

use std::net::IpAddr;

use joulepath_kernel::route::{Action, Prefix, RouteKind, Rule, View};

use super::plan::{LOOPBACK, MAIN, UNREACHABLE, addresses};

/// Our number among the creators of these rules.
const ORIGIN: u8 = 78;
/// The priority if no other program has rules.
const LATEST: u32 = 32_764;

/// The rules that should exist for these interfaces.
pub(super) fn wanted(view: &View, devices: &[u32]) -> Vec<Rule> {
    let priority = priority(view);
    let mut rules = vec![];
    for link in devices.iter().filter_map(|device| view.links.get(device)) {
        for v4 in [true, false] {
            let sources = addresses(view, link.index, v4).map(|address| (address.into(), None));
            let all = if v4 { Prefix::ALL_V4 } else { Prefix::ALL_V6 };
            for (source, outgoing) in sources.chain([(all, Some(link.name.clone()))]) {
                let refuses = Rule {
                    priority,
                    source,
                    destination: None,
                    incoming: Some(LOOPBACK.into()),
                    outgoing,
                    mark: None,
                    users: None,
                    protocol: None,
                    invert: false,
                    action: UNREACHABLE,
                    suppress: None,
                    origin: ORIGIN,
                };
                rules.push(Rule {
                    priority: priority - 1,
                    action: Action::Table(MAIN),
                    suppress: Some(0),
                    ..refuses.clone()
                });
                rules.push(refuses);
            }
        }
    }
    rules
}

/// The rules that exist.
pub(super) fn present(view: &View) -> Vec<Rule> {
    view.rules
        .iter()
        .filter(|rule| rule.origin == ORIGIN)
        .cloned()
        .collect()
}

/// Before all rules of other programs. Stays as long as that is true.
fn priority(view: &View) -> u32 {
    let others = view
        .rules
        .iter()
        .filter(|rule| rule.origin != ORIGIN && rule.priority > 0);
    let first = others.map(|rule| rule.priority).min().unwrap_or(LATEST + 1);
    let ours = present(view).into_iter().map(|rule| rule.priority).max();
    ours.filter(|&ours| ours < first)
        .unwrap_or(first.saturating_sub(1).min(LATEST))
        .max(2)
}

/// True if only a default route leads to `destination`.
pub(crate) fn is_beyond(view: &View, destination: IpAddr) -> bool {
    let mut direct = view.routes.iter().filter(|route| {
        route.table == MAIN && route.kind == RouteKind::Unicast && !route.destination.is_all()
    });
    !direct.any(|route| route.destination.contains(destination))
}
