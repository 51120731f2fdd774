//! New TCP connections on the preferred interface: `first = "steer"`.
//!
//! The kernel opens the first subflow of a connection by the routing table. These rules come after
//! those of other programs and before the main table, and apply to packets of this machine only:
//!
//! ```text
//! all ─► main table without its default routes      networks, hosts and VPNs stay as they are
//!     ─► from the address of an interface ─► its own default route   connections keep their path
//! TCP ─► without a source address ─► default route of the preferred interface
//! ```
//! The rules for addresses apply to all protocols, because the kernel's strict reverse-path filter
//! (`rp_filter = 1`) asks for the route of an answer without a protocol.
//!
//! A change of preference replaces one route, in the table of new connections. The rule of an
//! address goes when no connection needs it. If another program's routing takes over, such as a
//! VPN's, our rules go at once: that program decides the path of open connections, too.
//!
//! The kernel stores the creator of each rule and route, so there is no journal: whatever has our
//! number is ours, also after SIGKILL.
//!
//! | module | what |
//! |---|---|
//! | `cut` | rules for interfaces that must carry nothing more: pure |
//! | `plan` | the rules and routes that should exist: pure |
//! | `router` | the kernel's rules, routes and TCP sockets |

mod cut;
mod plan;
mod router;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;

use joulepath_kernel::reactor::thread_cpu_ns;
use joulepath_kernel::route::{Route, Rule, View};
use joulepath_kernel::{Error, Result};
use joulepath_model::units::Nanos;
use rustix::io::Errno;

pub(crate) use self::cut::is_beyond;
use self::plan::{Set, start};
pub(crate) use self::plan::{Start, Wish, is_ours};
pub(crate) use self::router::{Kernel, Router};
use crate::act::pause_after;

/// Result of [`steer`] or [`undo`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// Number of rules and routes added, replaced and removed.
    pub(crate) changes: usize,
    /// Where new connections start, by family.
    pub(crate) starts: Vec<Start>,
    /// Addresses whose rules stay only for open connections, and the number of their TCP
    /// connections.
    pub(crate) stays: BTreeMap<IpAddr, usize>,
    /// When to retry.
    pub(crate) again: Option<Nanos>,
}

impl Outcome {
    /// Why connections of a family start by the routing table, and what stays.
    fn remarks(&self) -> impl Iterator<Item = String> {
        let refused = self.starts.iter().zip(["IPv4", "IPv6"]).filter_map(|(start, family)| {
            let why = match start {
                Start::Refused(why) => why,
                Start::Unrouted => "the main table has no default route",
                Start::On(_) | Start::AsRouted => return None,
                Start::Closed => {
                    return Some(format!(
                        "{family} connections beyond the local networks fail: the hard quota of the only \
                         path is used up. Raise it and reload, or `joulepath pause`"
                    ));
                }
            };
            Some(format!("first = \"steer\": new {family} connections start by the routing table: {why}"))
        });
        refused.chain(self.staying())
    }

    /// One line per rule that stays: why, and until when.
    pub(crate) fn staying(&self) -> impl Iterator<Item = String> {
        self.stays.iter().map(|(address, count)| {
            let connections =
                if *count == 1 { "1 TCP connection".into() } else { format!("{count} TCP connections") };
            format!(
                "the routing rule for {address} stays for {connections}; it is removed when they have ended"
            )
        })
    }
}

/// What a running daemon does with new connections.
#[derive(Debug)]
pub(crate) struct Steering<R> {
    router: R,
    last: Outcome,
}

impl<R: Router> Steering<R> {
    pub(crate) fn new(router: R) -> Self {
        Steering {
            router,
            last: Outcome::default(),
        }
    }

    /// Makes new connections start as wished; `None`: as they did before the daemon. Returns the
    /// outcome and the remarks that are new.
    ///
    /// # Errors
    /// If the kernel refuses. The call may be repeated.
    pub(crate) fn follow(
        &mut self,
        view: &View,
        wish: Option<&Wish>,
        now: Nanos,
    ) -> Result<(Outcome, Vec<String>)> {
        if wish.is_none() && self.last.again.is_some_and(|again| again > now) {
            return Ok((
                Outcome {
                    changes: 0,
                    ..self.last.clone()
                },
                vec![],
            ));
        }
        let outcome = match wish {
            Some(wish) => steer(&mut self.router, view, wish, &self.last, now)?,
            None => undo(&mut self.router, view, now)?,
        };
        let before = std::mem::replace(&mut self.last, outcome.clone());
        let mut remarks: Vec<String> = outcome.remarks().collect();
        remarks.retain(|line| !before.remarks().any(|known| known == *line));
        Ok((outcome, remarks))
    }

    /// For the status: refusals, and what stays.
    pub(crate) fn remarks(&self) -> Vec<String> {
        self.last.remarks().collect()
    }
}

/// Makes new connections start on the preferred interface. `last` is the previous outcome.
///
/// # Errors
/// If the kernel refuses. The call may be repeated.
fn steer(
    router: &mut impl Router,
    view: &View,
    wish: &Wish,
    last: &Outcome,
    now: Nanos,
) -> Result<Outcome> {
    let [(v4, start_v4), (v6, start_v6)] = [true, false].map(|v4| start(view, wish, v4));
    let keeps = [&start_v4, &start_v6].map(|start| !matches!(start, Start::Refused(_)));
    let wanted = [(v4, keeps[0]), (v6, keeps[1])];
    let outcome = change(
        router,
        view,
        wanted,
        &cut::wanted(view, &wish.cut),
        last,
        now,
    )?;
    Ok(Outcome {
        starts: vec![start_v4, start_v6],
        ..outcome
    })
}

/// What a start would change, one line per family.
pub(crate) fn steps(view: &View, wish: &Wish) -> Vec<String> {
    let family = |(v4, family): (bool, &str)| {
        let name = |device: u32| {
            view.links
                .get(&device)
                .map(|link| link.name.clone())
                .unwrap_or_default()
        };
        match start(view, wish, v4) {
            (set, Start::On(device)) if set != Set::default() => Some(format!(
                "add {} routing rules and {} routes: new {family} connections start on {}",
                set.rules.len(),
                set.routes.len(),
                name(device)
            )),
            _ => None,
        }
    };
    [(true, "IPv4"), (false, "IPv6")]
        .into_iter()
        .filter_map(family)
        .collect()
}

/// Removes everything that is ours, except what TCP connections need to keep their path.
///
/// # Errors
/// If the kernel refuses. The call may be repeated.
pub(crate) fn undo(router: &mut impl Router, view: &View, now: Nanos) -> Result<Outcome> {
    change(
        router,
        view,
        [(); 2].map(|()| (Set::default(), true)),
        &[],
        &Outcome::default(),
        now,
    )
}

/// Replaces our rules and routes by the wanted set of each family, IPv4 first. If the set comes
/// with `true`, rules of addresses stay while connections need them. `last` saves counting
/// connections before its [`Outcome::again`].
fn change(
    router: &mut impl Router,
    view: &View,
    wanted: [(Set, bool); 2],
    cut: &[Rule],
    last: &Outcome,
    now: Nanos,
) -> Result<Outcome> {
    let mut outcome = Outcome {
        changes: replace(router, cut, &cut::present(view))?,
        ..Outcome::default()
    };
    let begun = thread_cpu_ns();
    let is_early = last.again.is_some_and(|again| again > now);
    let mut counted = is_early.then(|| last.stays.clone());
    for ((mut wanted, keeps), v4) in wanted.into_iter().zip([true, false]) {
        let present = Set::present(view, v4);
        let going = if keeps {
            present.addresses_beyond(&wanted)
        } else {
            vec![]
        };
        if !going.is_empty() {
            let known = counted
                .take()
                .filter(|known| going.iter().all(|address| known.contains_key(address)));
            let known = known.map_or_else(|| router.sources(), Ok)?;
            outcome
                .stays
                .extend(wanted.keep(&present, view, v4, &known));
            counted = Some(known);
        }
        outcome.changes += apply(router, &wanted, &present)?;
    }
    if !outcome.stays.is_empty() {
        let again = last.again.filter(|_| is_early);
        outcome.again = again.or_else(|| Some(now.saturating_add(pause_after(begun))));
    }
    Ok(outcome)
}

/// Makes the rules for interfaces that are cut off equal to `wanted`. Their order does not matter.
fn replace(router: &mut impl Router, wanted: &[Rule], present: &[Rule]) -> Result<usize> {
    let new: Vec<&Rule> = wanted
        .iter()
        .filter(|rule| !present.contains(rule))
        .collect();
    let gone: Vec<&Rule> = present
        .iter()
        .filter(|rule| !wanted.contains(rule))
        .collect();
    new.iter().try_for_each(|rule| router.add_rule(rule))?;
    gone.iter()
        .try_for_each(|rule| if_there(router.delete_rule(rule)))?;
    Ok(new.len() + gone.len())
}

/// Makes `present` equal to `wanted`. Routes come before the rules that lead to them and go after
/// them. Returns the number of changes.
fn apply(router: &mut impl Router, wanted: &Set, present: &Set) -> Result<usize> {
    let mut changes = 0;
    for route in wanted
        .routes
        .iter()
        .filter(|route| !present.routes.contains(route))
    {
        router.add_route(route)?;
        changes += 1;
    }
    for change in rule_changes(&wanted.rules, &present.rules) {
        match change {
            Change::Add(rule) => router.add_rule(rule)?,
            Change::Remove(rule) => if_there(router.delete_rule(rule))?,
        }
        changes += 1;
    }
    let key = |route: &Route| (route.destination, route.table, route.priority);
    let is_replaced = |gone: &Route| wanted.routes.iter().any(|route| key(route) == key(gone));
    for gone in present.routes.iter().filter(|gone| !is_replaced(gone)) {
        if_there(router.delete_route(gone))?;
        changes += 1;
    }
    Ok(changes)
}

/// The result of a removal, which succeeds if the kernel was faster: it removes the routes of an
/// interface that goes down.
fn if_there(removal: Result<()>) -> Result<()> {
    let is_gone = |error: &io::Error| {
        [Errno::SRCH, Errno::NOENT]
            .iter()
            .any(|gone| error.raw_os_error() == Some(gone.raw_os_error()))
    };
    match removal {
        Err(Error::Io { source, .. }) if is_gone(&source) => Ok(()),
        done => done,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change<'a> {
    Add(&'a Rule),
    Remove(&'a Rule),
}

/// The kernel puts a new rule behind those of the same priority, so whatever must come later than a
/// new rule is added again. `wanted` is in order; the order of `present` is unknown, but was right.
fn rule_changes<'a>(wanted: &'a [Rule], present: &'a [Rule]) -> Vec<Change<'a>> {
    let first_new = wanted
        .iter()
        .position(|rule| !present.contains(rule))
        .unwrap_or(wanted.len());
    let (stay, anew) = wanted.split_at(first_new);
    let mut changes: Vec<Change> = vec![];
    // The last rule sends new connections here: it goes first and comes last.
    let mut gone: Vec<&Rule> = present.iter().filter(|rule| !stay.contains(rule)).collect();
    gone.sort_by_key(|rule| (!plan::is_of_new(rule), plan::is_of_specific_routes(rule)));
    changes.extend(gone.into_iter().map(Change::Remove));
    changes.extend(anew.iter().map(Change::Add));
    changes
}
