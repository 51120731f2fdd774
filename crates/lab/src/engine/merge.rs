//! Combines the results of traffic and emulator into a result like the packet engine's.

use joulepath_model::energy::meter::EnergyReading;
use joulepath_model::result::{Counters, EnergySplit, PathResult, RunResult, Series};
use joulepath_model::scenario::Scenario;

use crate::emulator::messages::{self, End, Flow, Reading};
use crate::hosts::Tunnel;
use crate::traffic::{Outcome, PathOutcome};

/// The emulator's counters at the end of the traffic.
pub(super) struct Ended {
    pub(super) reading: Reading,
    pub(super) how: End,
}

/// The result of one run.
pub(super) fn result(
    scenario: &Scenario,
    policy: &str,
    seed: u64,
    tunnels: &[Tunnel],
    traffic: &Outcome,
    ended: &Ended,
) -> RunResult {
    let reading = &ended.reading;
    let energy = over_the_traffic(&reading.energy, traffic, ended);
    let energy_split = total(&energy);
    let energy_j = energy_split.total_j();
    let per = |amount: f64, of: f64| if of > 0.0 { amount / of } else { 0.0 };
    RunResult {
        policy: policy.to_owned(),
        seed,
        measured_s: traffic.measured_s,
        goodput_bps: traffic.goodput_bps,
        energy_j,
        power_w: per(energy_j, traffic.measured_s),
        bits_per_joule: per(traffic.delivered_bits, energy_j),
        energy_split,
        completion_s: traffic.completion_s,
        delay: traffic.delay,
        longest_stall_s: traffic.longest_stall_s,
        punctuality: vec![],
        retransmission_ratio: traffic.retransmission_ratio,
        paths: paths(scenario, tunnels, &traffic.paths, &energy),
        competitors_bps: traffic.competitors_bps,
        competitor_groups_bps: vec![],
        links: vec![],
        network: None,
        connections_bps: traffic.connections_bps.clone(),
        blocks: None,
        receive_buffer: None,
        channels: vec![],
        relays: vec![],
        counters: counters(&reading.tunnels),
        series: traffic.series.as_ref().map(|series| {
            let emulated = reading.series.clone().unwrap_or_default();
            by_path(scenario, tunnels, &together(series, &emulated))
        }),
    }
}

/// Reduces the energy to the end of the traffic. The emulator is read shortly after it; the energy
/// in between is subtracted at the mean power.
fn over_the_traffic(energy: &EnergyReading, traffic: &Outcome, ended: &Ended) -> EnergyReading {
    let mut energy = energy.clone();
    let measured_s = ended.reading.measured_s;
    if ended.how == End::Cut && measured_s > 0.0 {
        let part = (traffic.measured_s / measured_s).min(1.0);
        for split in energy.interfaces.iter_mut().chain([&mut energy.host]) {
            split.sunk_j *= part;
            split.transfer_j *= part;
            split.tail_j *= part;
        }
        energy.base_j *= part;
    }
    energy
}

fn total(energy: &EnergyReading) -> EnergySplit {
    let mut total = EnergySplit {
        sunk_j: energy.base_j,
        ..EnergySplit::default()
    };
    for split in energy.interfaces.iter().chain([&energy.host]) {
        total.sunk_j += split.sunk_j;
        total.transfer_j += split.transfer_j;
        total.tail_j += split.tail_j;
    }
    total
}

/// The results of all paths of the scenario. Paths without a connection are zero.
fn paths(
    scenario: &Scenario,
    tunnels: &[Tunnel],
    traffic: &[PathOutcome],
    energy: &EnergyReading,
) -> Vec<PathResult> {
    let path = |(index, path): (usize, &joulepath_model::scenario::PathSpec)| {
        let tunnel = tunnels.iter().position(|tunnel| tunnel.path == Some(index));
        let outcome = tunnel.map_or_else(PathOutcome::default, |tunnel| traffic[tunnel]);
        PathResult {
            name: path.name.clone(),
            share: outcome.share,
            goodput_bps: outcome.goodput_bps,
            // Tunnels with a path come first, in the order of the interfaces.
            energy_j: tunnel.map_or(0.0, |tunnel| energy.interfaces[tunnel].total_j()),
            segments: outcome.segments,
            retransmissions: outcome.retransmissions,
            timeouts: outcome.timeouts,
            mean_rtt_s: outcome.mean_rtt_s,
            mean_cwnd: outcome.mean_cwnd,
            loss_event_rate: outcome.loss_event_rate,
        }
    };
    scenario.paths.iter().enumerate().map(path).collect()
}

/// The sum of all tunnels' counters. The emulator does not count events, so their number is 0.
fn counters(tunnels: &[[Flow; 2]]) -> Counters {
    let sum = |of: fn(&Flow) -> u64| tunnels.iter().flatten().map(of).sum();
    Counters {
        packet_hops: sum(|flow| flow.delivered_packets),
        events: 0,
        queue_drops: sum(|flow| flow.queue_drops),
        wire_losses: sum(|flow| flow.wire_losses),
    }
}

/// The traffic's series by tunnel, with the emulator's last queue and power before each time.
/// Starts at the first time that both have.
fn together(traffic: &Series, emulated: &messages::Series) -> Series {
    let last = |time_s: f64| {
        emulated
            .time_s
            .partition_point(|&at_s| at_s <= time_s)
            .checked_sub(1)
    };
    let both: Vec<(usize, usize)> = traffic
        .time_s
        .iter()
        .enumerate()
        .filter_map(|(i, &time_s)| Some((i, last(time_s)?)))
        .collect();
    let of_traffic = |all: &[Vec<f64>]| -> Vec<Vec<f64>> {
        all.iter()
            .map(|one| both.iter().map(|&(i, _)| one[i]).collect())
            .collect()
    };
    let of_emulator = |all: &[Vec<f64>]| -> Vec<Vec<f64>> {
        all.iter()
            .map(|one| both.iter().map(|&(_, i)| one[i]).collect())
            .collect()
    };
    Series {
        time_s: both.iter().map(|&(i, _)| traffic.time_s[i]).collect(),
        goodput_bps: of_traffic(&traffic.goodput_bps),
        cwnd: of_traffic(&traffic.cwnd),
        rtt_s: of_traffic(&traffic.rtt_s),
        queue: of_emulator(&emulated.queue),
        power_w: of_emulator(&emulated.power_w),
        ..Series::default()
    }
}

/// The series by the scenario's paths. A path without a connection is zero throughout.
fn by_path(scenario: &Scenario, tunnels: &[Tunnel], series: &Series) -> Series {
    let instants = series.time_s.len();
    let order = |by_line: &[Vec<f64>]| -> Vec<Vec<f64>> {
        let of_path = |path| {
            let tunnel = tunnels.iter().position(|tunnel| tunnel.path == Some(path));
            tunnel
                .and_then(|tunnel| by_line.get(tunnel))
                .cloned()
                .unwrap_or_else(|| vec![0.0; instants])
        };
        (0..scenario.paths.len()).map(of_path).collect()
    };
    Series {
        time_s: series.time_s.clone(),
        goodput_bps: order(&series.goodput_bps),
        cwnd: order(&series.cwnd),
        rtt_s: order(&series.rtt_s),
        queue: order(&series.queue),
        power_w: order(&series.power_w),
        ..Series::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_combined_series_starts_when_both_have_started() {
        let traffic = Series {
            time_s: vec![0.1, 0.2, 0.3],
            goodput_bps: vec![vec![1.0, 2.0, 3.0]],
            cwnd: vec![vec![10.0, 11.0, 12.0]],
            rtt_s: vec![vec![0.05; 3]],
            ..Series::default()
        };
        let emulated = messages::Series {
            time_s: vec![0.15, 0.25],
            power_w: vec![vec![5.0, 6.0]],
            queue: vec![vec![1.0, 2.0]],
        };
        let both = together(&traffic, &emulated);
        assert_eq!(both.time_s, [0.2, 0.3]);
        assert_eq!(
            (&both.cwnd[0][..], &both.power_w[0][..]),
            (&[11.0, 12.0][..], &[5.0, 6.0][..])
        );
    }
}
