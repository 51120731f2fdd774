//! What holds for every result of every engine.

use joulepath_model::network::RateSpec;
use joulepath_model::result::{DelayStats, RunResult};
use joulepath_model::scenario::{ConnectionGroup, Direction, LinkIndex, Scenario, Workload};

const EPSILON: f64 = 1e-6;

/// The invariants that `result` breaks, in words.
pub(super) fn broken(scenario: &Scenario, result: &RunResult) -> Vec<String> {
    let mut found = vec![];
    let mut expect = |holds: bool, what: String| {
        if !holds {
            found.push(what);
        }
    };
    let json = serde_json::to_string(result).expect("a result is JSON");
    let again = serde_json::from_str::<RunResult>(&json);
    expect(again.is_ok(), "a number is not finite".to_owned());
    expect(!json.contains("-0.0,"), "a number is -0".to_owned());
    amounts(scenario, result, &mut expect);
    energy(result, &mut expect);
    times(scenario, result, &mut expect);
    found
}

type Expect<'a> = &'a mut dyn FnMut(bool, String);

fn amounts(scenario: &Scenario, result: &RunResult, expect: Expect<'_>) {
    let ratio = result.retransmission_ratio;
    expect(
        (0.0..=1.0).contains(&ratio),
        format!("retransmission ratio {ratio}"),
    );
    let shares: f64 = result.paths.iter().map(|path| path.share).sum();
    expect(
        shares < EPSILON || (shares - 1.0).abs() < EPSILON,
        format!("the shares sum to {shares}"),
    );
    for path in &result.paths {
        let name = &path.name;
        expect(
            (0.0..=1.0 + EPSILON).contains(&path.share),
            format!("{name}: share {}", path.share),
        );
        expect(
            path.retransmissions <= path.segments,
            format!(
                "{name}: {} copies of {}",
                path.retransmissions, path.segments
            ),
        );
        let events = path.loss_event_rate;
        expect(
            (0.0..=1.0).contains(&events) || path.segments < 100,
            format!("{name}: loss event rate {events}"),
        );
    }
    let bits = result.goodput_bps * result.measured_s;
    let offered: Option<f64> = scenario
        .connections
        .iter()
        .map(|group| offered_bits(scenario, group))
        .sum();
    if let Some(offered) = offered {
        expect(
            bits <= offered * (1.0 + EPSILON) + 8.0,
            format!("{bits} bit of {offered} offered"),
        );
    }
    if let Some(capacity) = capacity_bits(scenario, result) {
        expect(
            bits <= capacity,
            format!("{bits} bit over links that carry {capacity}"),
        );
    }
}

/// What the connections write until the end, bit; `None` if it is random or endless.
fn offered_bits(scenario: &Scenario, group: &ConnectionGroup) -> Option<f64> {
    let each = match group.workload {
        Workload::File { size } => size.0 as f64 * 8.0,
        Workload::Stream { rate, on, off, .. } => {
            let (on_s, off_s) = (on.as_secs_f64(), off.as_secs_f64());
            let whole_s = (scenario.duration - group.start).as_secs_f64();
            let periods = (whole_s / (on_s + off_s)).floor();
            let on_time_s = match off_s == 0.0 {
                true => whole_s,
                false => periods * on_s + (whole_s - periods * (on_s + off_s)).min(on_s),
            };
            rate.bps() as f64 * on_time_s
        }
        _ => return None,
    };
    Some(each * f64::from(group.count))
}

/// What the paths' own links carry in the measured interval, with what they and the hosts hold
/// before it, bit. `None` if a rate is random or unlimited.
fn capacity_bits(scenario: &Scenario, result: &RunResult) -> Option<f64> {
    let most = |link: &LinkIndex| match &scenario.links[*link].rate {
        RateSpec::Constant(rate) => Some(rate.bps() as f64),
        RateSpec::Steps(steps) => steps
            .iter()
            .map(|(_, rate)| rate.bps() as f64)
            .reduce(f64::max),
        _ => None,
    };
    let mut used = std::collections::BTreeSet::new();
    for group in &scenario.connections {
        for &path in &group.paths {
            let spec = &scenario.paths[path];
            used.insert(if group.direction == Direction::Download {
                spec.radio.0
            } else {
                spec.radio.1
            });
        }
    }
    if scenario.topology.is_some() || scenario.paths.iter().any(|path| path.relay.is_some()) {
        return None;
    }
    let rates: Option<Vec<f64>> = used.iter().map(most).collect();
    let held: f64 = scenario
        .connections
        .iter()
        .map(|group| {
            f64::from(group.count) * 8.0 * group.receive_buffer.0.max(group.send_buffer.0) as f64
        })
        .sum();
    let before = if scenario.warm_up.0 == 0 { 0.0 } else { held };
    let packet = (scenario.transport.mss.0 + scenario.transport.header.0) as f64 * 8.0;
    Some(
        rates?.iter().sum::<f64>() * result.measured_s * 1.001
            + before
            + packet * used.len() as f64,
    )
}

fn energy(result: &RunResult, expect: Expect<'_>) {
    let split = result.energy_split;
    let near = |a: f64, b: f64| (a - b).abs() <= EPSILON * (a.abs() + b.abs()) + 1e-9;
    let parts = [split.sunk_j, split.transfer_j, split.tail_j];
    expect(
        parts.iter().all(|part| *part >= -1e-9),
        format!("negative energy: {split:?}"),
    );
    expect(
        near(parts.iter().sum(), result.energy_j),
        format!("{} J are not {split:?}", result.energy_j),
    );
    let bits = result.goodput_bps * result.measured_s;
    if result.energy_j > 0.0 {
        let per_joule = result.bits_per_joule * result.energy_j;
        expect(
            near(per_joule, bits),
            format!("{per_joule} bit by efficiency, {bits} by goodput"),
        );
    }
}

fn times(scenario: &Scenario, result: &RunResult, expect: Expect<'_>) {
    let end_s = scenario.duration.as_secs_f64() + EPSILON;
    expect(
        (0.0..=end_s).contains(&result.measured_s),
        format!("measured for {} s", result.measured_s),
    );
    if let Some(completion_s) = result.completion_s {
        expect(
            (0.0..=end_s).contains(&completion_s),
            format!("complete after {completion_s} s"),
        );
    }
    if let Some(DelayStats {
        mean_s,
        p50_s,
        p95_s,
        p99_s,
        max_s,
        ..
    }) = result.delay
    {
        let rises = [0.0, p50_s, p95_s, p99_s, max_s, end_s]
            .windows(2)
            .all(|pair| pair[0] <= pair[1]);
        expect(
            rises && mean_s <= max_s + EPSILON,
            format!("delays {:?}", result.delay),
        );
    }
    if let Some(stall_s) = result.longest_stall_s {
        expect(
            (0.0..=end_s).contains(&stall_s),
            format!("a stall of {stall_s} s"),
        );
    }
    if scenario.topology.is_some() {
        return;
    }
    for (path, measured) in scenario.paths.iter().zip(&result.paths) {
        let links = path.down.iter().chain(&path.up);
        let varies = links
            .clone()
            .any(|&link| scenario.links[link].jitter.is_some())
            || path.relay.is_some();
        let least_s: f64 = links
            .map(|&link| scenario.links[link].delay.as_secs_f64())
            .sum();
        if let Some(rtt_s) = measured.mean_rtt_s.filter(|_| !varies) {
            expect(
                rtt_s >= 0.9999 * least_s,
                format!("{}: RTT {rtt_s} s below {least_s}", path.name),
            );
        }
    }
}
