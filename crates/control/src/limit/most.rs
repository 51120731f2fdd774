//! The maximum throughput of a scenario's links and applications, at any energy cost.

use joulepath_model::energy::DeviceEnergy;
use joulepath_model::scenario::{ConnectionGroup, Scenario, Workload};
use joulepath_model::units::Watts;

use super::cost::InterfaceCost;
use super::problem::{Capacity, DeviceProblem, Goal};
use super::{device_problem, goal};

/// Goodput of all connections under test if they use everything that links and buffers permit:
/// payload after random loss, bit/s. An application with a mean rate counts with at most that rate.
///
/// `None` if that is no measure of a run: with competitors, whose share is part of the question;
/// with transfers that end, because they end before windows have grown; and with unbounded rates.
pub fn most_bps(scenario: &Scenario) -> Option<f64> {
    let ends = |group: &ConnectionGroup| {
        matches!(
            group.workload,
            Workload::File { .. } | Workload::Requests { .. }
        )
    };
    let shared = scenario.connections.len() > 1 || !scenario.competitors.is_empty();
    if scenario.topology.is_some() || shared || scenario.connections.iter().any(ends) {
        return None;
    }
    let mut sum_bps = 0.0;
    for group in &scenario.connections {
        let all_bps = all_bps(scenario, group)?;
        let offered_bps = match goal(scenario, group) {
            Goal::Rate { bps } => bps,
            Goal::Bulk | Goal::File { .. } | Goal::Requests { .. } => f64::INFINITY,
        };
        sum_bps += f64::from(group.count) * all_bps.min(offered_bps);
    }
    Some(sum_bps)
}

/// With a constant power of 1 W, the most bits per joule are the most bits per second.
fn all_bps(scenario: &Scenario, group: &ConnectionGroup) -> Option<f64> {
    let device = DeviceEnergy {
        shared_base: Watts(1.0),
        ..DeviceEnergy::additive()
    };
    let free = InterfaceCost {
        active_when_used: true,
        active_when_unused: true,
        ..InterfaceCost::default()
    };
    let mut problem = device_problem(scenario, group, Capacity::Link);
    problem
        .slots
        .iter_mut()
        .for_each(|slot| slot.excess.clear());
    let costs = vec![free; problem.costs.len()];
    let optimum = DeviceProblem {
        costs,
        device: &device,
        ..problem
    }
    .solve(Goal::Bulk)?;
    Some(optimum.goodput_bps).filter(|bps| bps.is_finite())
}

#[cfg(test)]
mod tests {
    use joulepath_model::scenario::load;

    use super::*;

    fn most(more: &str) -> Option<f64> {
        let text = format!(
            "title = \"t\"\nduration = \"20 s\"\n[[path]]\nname = \"a\"\nrate = \"15 Mbit/s\"\ndelay = \
             \"20 ms\"\nloss = \"1 %\"\nenergy = \"wifi-huang2012\"\n[[path]]\nname = \"b\"\nrate = \"30 \
             Mbit/s\"\ndelay = \"50 ms\"\nenergy = \"lte-huang2012\"\n{more}"
        );
        most_bps(&load(&text, &|_| Err(String::new())).unwrap())
    }

    fn is(found: Option<f64>, expected_bps: f64) {
        let found = found.unwrap();
        assert!(
            (found / expected_bps - 1.0).abs() < 1e-6,
            "{found}, not {expected_bps}"
        );
    }

    #[test]
    fn links_carry_their_payload_less_losses_at_any_cost() {
        // 1460 of 1500 bytes are payload: 15 · 0.99 + 30 = 44.85 Mbit/s on the wire.
        is(most(""), 44.85e6 * 1460.0 / 1500.0);
    }

    #[test]
    fn a_small_window_goes_to_the_path_with_the_shorter_round_trip() {
        // 40 kB of window: the first path is full with 14.454 Mbit/s · 40 ms = 72.3 kB. It takes
        // the whole window: 8 · 40,000 / 0.04 = 8 Mbit/s.
        is(most("[receiver]\nbuffer = \"40 kB\""), 8e6);
    }

    #[test]
    fn goodput_never_exceeds_the_offered_rate() {
        is(
            most("[workload]\nkind = \"messages\"\nmean_gap = \"10 ms\"\nsize = \"10 kB\""),
            8e6,
        );
    }

    #[test]
    fn transfers_with_an_end_and_competitors_have_no_maximum() {
        assert_eq!(most("[workload]\nkind = \"file\"\nsize = \"1 MB\""), None);
        assert_eq!(
            most("[[competitor]]\nname = \"c\"\npath = \"a\"\ncc = \"reno\""),
            None
        );
    }
}
