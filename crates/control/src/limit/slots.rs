//! What the links carry over time: the run in slots, in which capacities do not change or are bounded as a
//! whole.
//!
//! Everything is relaxed upwards, so that what is best under it bounds what is possible:
//!
//! - a slot is seen from the device: what comes in then left the links earlier, by the least to the greatest
//!   delay of the paths;
//! - within a slot a mode of interfaces may use the highest rate that occurs there (traces: the most
//!   opportunities in 100 ms), while all modes together carry no more than the link does in the slot;
//! - what goes up may be sent long before a link is done with it: there is one slot.

use joulepath_model::network::RateSpec;
use joulepath_model::scenario::{ConnectionGroup, Direction, LinkIndex, Scenario};
use joulepath_model::units::Nanos;

use super::problem::{Capacity, Shared, Slot};
use crate::path::{Window, available_bps, carried_bps, delivered, links_of, peak_bps, wire_per_payload};

/// Most slots of a run, and most variables of its programme: more paths have fewer slots.
const MOST_SLOTS: usize = 100;
const MOST_VARIABLES: usize = 3000;

/// How a link is divided between a connection and all others.
pub(super) struct Division<'a> {
    pub(super) kind: Capacity,
    /// Among how many connections at any instant, and on average.
    pub(super) parts: &'a dyn Fn(LinkIndex) -> [f64; 2],
    /// What competitors on a link of so many bit/s are due of it, bit/s.
    pub(super) others_bps: &'a dyn Fn(LinkIndex, f64) -> f64,
    /// Whether cross traffic counts as what links do not carry; TCP-friendly rates are always less it.
    pub(super) less_cross: bool,
}

/// One link on the way of the data.
struct Crossed {
    link: LinkIndex,
    /// Bits on it per bit delivered, by path of the group.
    weights: Vec<f64>,
    /// From its output to the device, least and greatest.
    delays: [Nanos; 2],
    /// Among how many it is divided at any instant, and on average.
    parts: [f64; 2],
}

/// The slots of `window` for one connection of `group`.
pub(super) fn slots(
    scenario: &Scenario,
    group: &ConnectionGroup,
    window: Window,
    division: &Division<'_>,
) -> Vec<Slot> {
    let crossed = crossed(scenario, group, division.parts);
    let edges = match group.direction {
        Direction::Download => edges(scenario, &crossed, group.paths.len(), window),
        Direction::Upload => vec![window.from, window.until],
    };
    edges.windows(2).map(|edge| slot(scenario, &crossed, division, edge[0], edge[1])).collect()
}

/// One slot with the best that occurs in `window`.
pub(super) fn at_best(
    scenario: &Scenario,
    group: &ConnectionGroup,
    window: Window,
    division: &Division<'_>,
) -> Slot {
    let crossed = crossed(scenario, group, division.parts);
    Slot { mean: vec![], ..slot(scenario, &crossed, division, window.from, window.until) }
}

fn slot(
    scenario: &Scenario,
    crossed: &[Crossed],
    division: &Division<'_>,
    from: Nanos,
    until: Nanos,
) -> Slot {
    let kind = division.kind;
    let seconds = until.saturating_sub(from).as_secs_f64();
    let (mut peak, mut mean) = (vec![], vec![]);
    for Crossed { link, weights, delays, parts } in crossed {
        let seen = Window { from: from.saturating_sub(delays[1]), until: until.saturating_sub(delays[0]) };
        let highest = peak_bps(&scenario.links[*link], seen);
        let carried = match kind {
            _ if seen.seconds() == 0.0 => 0.0,
            Capacity::Link if !division.less_cross => carried_bps(&scenario.links[*link], seen),
            Capacity::Link => {
                let left = available_bps(scenario, *link, seen);
                left - (division.others_bps)(*link, left)
            }
            Capacity::TcpFriendly => available_bps(scenario, *link, seen),
        };
        // Slots that overlap because of the delays carry a little more than there is.
        let overlap_s = delays[1].saturating_sub(delays[0]).as_secs_f64();
        let average = carried * (seconds + overlap_s) / seconds;
        let shared = division.less_cross && carried < carried_bps_of(scenario, *link, seen);
        let at_most = kind == Capacity::TcpFriendly || shared;
        let highest = if at_most { highest.min(average) } else { highest };
        let (highest, average) = (highest / parts[0], average / parts[1]);
        peak.push(Shared { weights: weights.clone(), most: highest });
        if average < highest * (1.0 - 1e-12) {
            mean.push(Shared { weights: weights.clone(), most: average });
        }
    }
    Slot { seconds, peak, mean }
}

fn carried_bps_of(scenario: &Scenario, link: LinkIndex, seen: Window) -> f64 {
    if seen.seconds() == 0.0 { 0.0 } else { carried_bps(&scenario.links[link], seen) }
}

fn crossed(
    scenario: &Scenario,
    group: &ConnectionGroup,
    parts: &dyn Fn(LinkIndex) -> [f64; 2],
) -> Vec<Crossed> {
    let delay = |links: &[LinkIndex]| Nanos(links.iter().map(|&l| scenario.links[l].delay.0).sum());
    let of_link = |link: LinkIndex| {
        let places = group.paths.iter().map(|&path| {
            let (data, _) = links_of(scenario, group.direction, path);
            data.iter().position(|&l| l == link).map(|at| &data[at..])
        });
        let places: Vec<Option<&[LinkIndex]>> = places.collect();
        let weight = |rest: &Option<&[LinkIndex]>| {
            rest.map_or(0.0, |rest| wire_per_payload(scenario) / delivered(scenario, rest))
        };
        let delays: Vec<Nanos> = places.iter().flatten().map(|rest| delay(rest)).collect();
        let delays = [*delays.iter().min()?, *delays.iter().max()?];
        Some(Crossed { link, weights: places.iter().map(weight).collect(), delays, parts: parts(link) })
    };
    (0..scenario.links.len()).filter_map(of_link).collect()
}

/// Where slots begin and end: wherever a rate changes, or evenly if that is too often or a trace is among
/// them.
fn edges(scenario: &Scenario, crossed: &[Crossed], paths: usize, window: Window) -> Vec<Nanos> {
    let most = (MOST_VARIABLES / ((paths + 2) << paths)).clamp(1, MOST_SLOTS);
    let mut edges = vec![window.from, window.until];
    let mut evenly = false;
    for Crossed { link, delays, .. } in crossed {
        let spec = &scenario.links[*link];
        let steps = match &spec.rate {
            RateSpec::Steps(steps) => steps.iter().skip(1).map(|(at, _)| *at).collect(),
            RateSpec::Trace(_) => {
                evenly = true;
                vec![]
            }
            RateSpec::Unlimited | RateSpec::Constant(_) | RateSpec::LogNormal { .. } => vec![],
        };
        let outages = spec.outages.iter().flat_map(|outage| [outage.from, outage.until]);
        let changes = steps.into_iter().chain(outages);
        let seen = changes.flat_map(|at| delays.map(|delay| Nanos(at.0.saturating_add(delay.0))));
        edges.extend(seen.filter(|at| (window.from..window.until).contains(at)));
    }
    edges.sort();
    edges.dedup();
    if evenly || edges.len() > most + 1 {
        let (from, span) = (window.from.0, u128::from(window.until.saturating_sub(window.from).0));
        let edge = |k: usize| Nanos(from + (span * k as u128 / most as u128) as u64);
        edges = (0..=most).map(edge).collect();
    }
    edges
}
