//! The ACKs of an upload, which the device receives: the bound charges only those that arrive for
//! certain.
//!
//! A queue on their way may drop some, as long as it carries fewer than the data needs. At the end
//! of the run, the ACKs of the last round trip's second half are on their way.

use joulepath_model::energy::Traffic;
use joulepath_model::network::LinkSpec;
use joulepath_model::scenario::{ConnectionGroup, LinkIndex, PathIndex, Scenario, Workload};

use super::problem::Goal;
use crate::path::{
    Window, delivered, least_over, links_of, peak_bps, traffic_of, trough_bps, wire_per_payload,
};

/// ACK bits per bit of payload; delayed ACKs halve them.
pub(super) fn per_payload(scenario: &Scenario) -> f64 {
    let transport = &scenario.transport;
    let per_segment = if transport.delayed_ack.is_some() {
        0.5
    } else {
        1.0
    };
    per_segment * transport.ack_size.0 as f64 / transport.mss.0 as f64
}

/// ACK bits that the device receives at least, per bit of payload that an upload of `group`
/// delivers over `path`, apart from [`late_bits`].
pub(super) fn received(
    scenario: &Scenario,
    group: &ConnectionGroup,
    path: PathIndex,
    window: Window,
) -> f64 {
    let (data, acks) = links_of(scenario, group.direction, path);
    if acks.iter().any(|&link| may_drop(scenario, link, window)) {
        return 0.0;
    }
    let bits = per_payload(scenario) * delivered(scenario, acks);
    if group.workload != Workload::Bulk {
        return bits;
    }
    // With T seconds of power P, and at most L joules for ACKs under way, y bits cost P T + b y −
    // L. If that is positive at y = 0, bits per joule are most at the highest rate, which leaves
    // the same part under way.
    let (model, back_s) = (&scenario.paths[path].energy.model, back_s(scenario, acks));
    let late_j =
        model.slope(Traffic::Down).0 * bits * peak_payload_bps(scenario, data, window) * back_s;
    let is_best_at_peak = late_j < model.sunk_power().0 * window.seconds();
    if is_best_at_peak {
        bits * (1.0 - back_s / window.seconds())
    } else {
        0.0
    }
}

/// ACK bits that may be on their way over `path` when an upload's measurement ends, a file's with a
/// tail of `tail_s`: all data may come then.
pub(super) fn late_bits(
    scenario: &Scenario,
    group: &ConnectionGroup,
    path: PathIndex,
    window: Window,
    (goal, tail_s): (Goal, f64),
) -> f64 {
    let (data, acks) = links_of(scenario, group.direction, path);
    let back_s = back_s(scenario, acks);
    let most_bits = match goal {
        Goal::File { bits } if tail_s < back_s => bits,
        Goal::Rate { bps } => bps * window.seconds(),
        _ => return 0.0,
    };
    let bits_per_bit = received(scenario, group, path, window);
    if traffic_of(group.direction) == Traffic::Down || back_s == 0.0 {
        return 0.0;
    }
    bits_per_bit * (peak_payload_bps(scenario, data, window) * back_s).min(most_bits)
}

/// Propagation of the ACKs, s.
fn back_s(scenario: &Scenario, acks: &[LinkIndex]) -> f64 {
    acks.iter()
        .map(|&link| scenario.links[link].delay.as_secs_f64())
        .sum()
}

fn peak_payload_bps(scenario: &Scenario, data: &[LinkIndex], window: Window) -> f64 {
    least_over(data, |link| peak_bps(&scenario.links[link], window)) / wire_per_payload(scenario)
}

/// Whether more ACKs of uploads than the mean loss says may be missing behind `link`: other traffic
/// is on it, it loses packets at times, or it is slower than the ACKs of data at the highest rate.
fn may_drop(scenario: &Scenario, link: LinkIndex, window: Window) -> bool {
    let spec: &LinkSpec = &scenario.links[link];
    let is_plain = spec.policer.is_none()
        && spec.outages.is_empty()
        && spec.delays.is_none()
        && spec.jitter.is_none()
        && spec.reorder.is_none()
        && spec.aggregate.is_none();
    let has_rivals = scenario.cross.iter().any(|cross| cross.link == link)
        || scenario
            .competitors
            .iter()
            .any(|rival| rival.down.contains(&link) || rival.up.contains(&link));
    let mut needed_bps = 0.0;
    for (path, spec) in scenario.paths.iter().enumerate() {
        let users = || {
            scenario
                .connections
                .iter()
                .filter(|group| group.paths.contains(&path))
        };
        let carries_data =
            |group: &ConnectionGroup| links_of(scenario, group.direction, path).0.contains(&link);
        if users().any(carries_data) {
            return true;
        }
        if spec.down.contains(&link) && users().next().is_some() {
            needed_bps += per_payload(scenario) * peak_payload_bps(scenario, &spec.up, window);
        }
    }
    let has_room = trough_bps(spec, window).is_some_and(|bps| bps >= needed_bps);
    !is_plain || has_rivals || !has_room
}
