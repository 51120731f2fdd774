//! Capacities of the links over time: the run in slots, in which capacities are constant or bounded
//! as a whole.
//!
//! Everything is relaxed upwards, so the optimum bounds every possible run:
//!
//! - a slot is in the device's time: its data left the links earlier, by the minimum to the maximum
//!   delay of the paths;
//! - within a slot a mode of interfaces may use the highest rate of the slot (traces: the most
//!   opportunities in 100 ms), while all modes together carry at most what the link does in the
//!   slot;
//! - uplink data may be sent long before a link has carried it: there is one slot.

use joulepath_model::energy::InterfaceModel;
use joulepath_model::network::RateSpec;
use joulepath_model::scenario::{ConnectionGroup, Direction, LinkIndex, Scenario};
use joulepath_model::units::Nanos;

use super::problem::{Capacity, Shared, Slot};
use super::uses::gathered_s;
use crate::path::{
    Window, available_bps, carried_bps, delays, delivered, links_of, peak_bps, wire_per_payload,
};

/// Maximum of slots per run, and of variables per programme: more paths have fewer slots.
const MOST_SLOTS: usize = 100;
const MOST_VARIABLES: usize = 3000;

/// Division of a link between a connection and all others.
pub(super) struct Division<'a> {
    pub(super) kind: Capacity,
    /// Number of connections that share the link at any instant, and on average.
    pub(super) parts: &'a dyn Fn(LinkIndex) -> [f64; 2],
    /// Share of competitors on a link with this rate, bit/s.
    pub(super) others_bps: &'a dyn Fn(LinkIndex, f64) -> f64,
    /// Whether cross traffic reduces the links' capacity; it always reduces TCP-friendly rates.
    pub(super) less_cross: bool,
}

/// One link on the data's route.
struct Crossed {
    link: LinkIndex,
    /// Bits on the link per bit delivered, by path of the group.
    weights: Vec<f64>,
    /// Delay from its output to the device, minimum and maximum.
    delays: [Nanos; 2],
    /// Number of connections that share it at any instant, and on average.
    parts: [f64; 2],
    /// The longest promotion of the radios that it leads to; `None` if it is next to the device.
    wake_s: Option<f64>,
}

/// The slots of `window` for one connection of `group`. `changes`: further instants at which slots
/// end.
pub(super) fn slots(
    scenario: &Scenario,
    group: &ConnectionGroup,
    window: Window,
    division: &Division<'_>,
    changes: &[Nanos],
) -> Vec<(Window, Slot)> {
    let crossed = crossed(scenario, group, division.parts);
    let edges = match group.direction {
        Direction::Download => edges(scenario, &crossed, group.paths.len(), window, changes),
        Direction::Upload => vec![window.from, window.until],
    };
    let of = |window: Window| {
        (
            window,
            slot(scenario, &crossed, division, window.from, window.until),
        )
    };
    edges
        .windows(2)
        .map(|edge| {
            of(Window {
                from: edge[0],
                until: edge[1],
            })
        })
        .collect()
}

/// One slot with the best conditions in `window`.
pub(super) fn at_best(
    scenario: &Scenario,
    group: &ConnectionGroup,
    window: Window,
    division: &Division<'_>,
) -> Slot {
    let crossed = crossed(scenario, group, division.parts);
    Slot {
        mean: vec![],
        ..slot(scenario, &crossed, division, window.from, window.until)
    }
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
    let segment_bits = 8.0 * scenario.transport.mss.0 as f64 * wire_per_payload(scenario);
    for Crossed {
        link,
        weights,
        delays,
        parts,
        wake_s,
    } in crossed
    {
        let seen = Window {
            from: from.saturating_sub(delays[1]),
            until: until.saturating_sub(delays[0]),
        };
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
        // Because of the delays slots overlap, so they carry slightly more than the link.
        let overlap_s = delays[1].saturating_sub(delays[0]).as_secs_f64();
        let average = carried * (seconds + overlap_s) / seconds;
        let shared = division.less_cross && carried < carried_bps_of(scenario, *link, seen);
        let at_most = kind == Capacity::TcpFriendly || shared;
        let highest = if at_most {
            highest.min(average)
        } else {
            highest
        };
        let (highest, average) = (highest / parts[0], average / parts[1]);
        let use_s = wake_s.map_or(0.0, |wake_s| {
            gathered_s(&scenario.links[*link], wake_s, segment_bits, highest)
        });
        peak.push(Shared {
            weights: weights.clone(),
            most: highest,
            use_s,
            slack: 0.0,
        });
        if average < highest * (1.0 - 1e-12) {
            mean.push(Shared::always(weights.clone(), average));
        }
    }
    Slot {
        seconds,
        peak,
        mean,
        excess: vec![],
    }
}

fn carried_bps_of(scenario: &Scenario, link: LinkIndex, seen: Window) -> f64 {
    if seen.seconds() == 0.0 {
        0.0
    } else {
        carried_bps(&scenario.links[link], seen)
    }
}

fn crossed(
    scenario: &Scenario,
    group: &ConnectionGroup,
    parts: &dyn Fn(LinkIndex) -> [f64; 2],
) -> Vec<Crossed> {
    let of_link = |link: LinkIndex| {
        let places = group.paths.iter().map(|&path| {
            let (data, _) = links_of(scenario, group.direction, path);
            data.iter().position(|&l| l == link).map(|at| &data[at..])
        });
        let places: Vec<Option<&[LinkIndex]>> = places.collect();
        let weight = |rest: &Option<&[LinkIndex]>| {
            rest.map_or(0.0, |rest| {
                wire_per_payload(scenario) / delivered(scenario, rest)
            })
        };
        let delays = places.iter().flatten().map(|rest| delays(scenario, rest));
        let delays = delays.reduce(|[a, b], [c, d]| [a.min(c), b.max(d)])?;
        let is_own = |&path: &usize| {
            let (down, up) = scenario.paths[path].radio;
            link == if group.direction == Direction::Download {
                down
            } else {
                up
            }
        };
        let wake_s = |&path: &usize| match &scenario.paths[path].energy.model {
            InterfaceModel::Rrc(rrc) => rrc.promotion.duration.as_secs_f64(),
            InterfaceModel::Linear { .. } | InterfaceModel::Slotted { .. } => 0.0,
        };
        let longest_s = || group.paths.iter().map(wake_s).fold(0.0, f64::max);
        let wake_s = (!group.paths.iter().any(is_own)).then(longest_s);
        let weights = places.iter().map(weight).collect();
        Some(Crossed {
            link,
            weights,
            delays,
            parts: parts(link),
            wake_s,
        })
    };
    (0..scenario.links.len()).filter_map(of_link).collect()
}

/// Boundaries of the slots: at each change of a rate, and at `changes`; evenly spaced if that is
/// too many, or with a trace.
fn edges(
    scenario: &Scenario,
    crossed: &[Crossed],
    paths: usize,
    window: Window,
    changes: &[Nanos],
) -> Vec<Nanos> {
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
        let outages = spec
            .outages
            .iter()
            .flat_map(|outage| [outage.from, outage.until]);
        let changes = steps.into_iter().chain(outages);
        let seen = changes.flat_map(|at| delays.map(|delay| Nanos(at.0.saturating_add(delay.0))));
        edges.extend(seen.filter(|at| (window.from..window.until).contains(at)));
    }
    edges.extend(
        changes
            .iter()
            .filter(|at| (window.from..window.until).contains(at)),
    );
    edges.sort();
    edges.dedup();
    if evenly || edges.len() > most + 1 {
        let (from, span) = (
            window.from.0,
            u128::from(window.until.saturating_sub(window.from).0),
        );
        let edge = |k: usize| Nanos(from + (span * k as u128 / most as u128) as u64);
        edges = (0..=most).map(edge).collect();
    }
    edges
}
