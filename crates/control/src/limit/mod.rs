//! The physical limit: the best efficiency that any rates could reach on a scenario.
//!
//! Two kinds of capacity: `tcp-friendly` (what one TCP connection would get on each path, Mathis et al. 1997, and a fair share
//! of shared links) and `link` (all that the links carry). Dynamics cost nothing: no slow start, no queues, no retransmissions,
//! and a radio sleeps and wakes at once. Scope and deviations: docs/models/limits.md.

mod cost;
mod optimum;

use joulepath_model::energy::Traffic;
use joulepath_model::result::Limit;
use joulepath_model::scenario::{ConnectionGroup, LinkIndex, PathIndex, Scenario, Workload};
use joulepath_model::units::Nanos;

use crate::allocate::CapacityModel;
use crate::path::{
    Window, available_bps, base_rtt_s, delivered, links_of, slowest_bps, tcp_bps, traffic_of,
    wire_per_payload,
};
pub use cost::{InterfaceCost, Pace, WireBits, interface_cost};
pub use optimum::{DeviceProblem, Goal, Optimum, Shared};

/// What bounds the rates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capacity {
    /// What TCP would take.
    TcpFriendly,
    /// What the links carry.
    Link,
}

impl Capacity {
    /// As in [`Limit::kind`].
    pub const fn name(self) -> &'static str {
        match self {
            Capacity::TcpFriendly => "tcp-friendly",
            Capacity::Link => "link",
        }
    }
}

/// Both limits of a scenario, `tcp-friendly` first. A kind is left out if rates or efficiency have no bound there, or if some
/// connection cannot carry anything.
pub fn limits(scenario: &Scenario) -> Vec<Limit> {
    [Capacity::TcpFriendly, Capacity::Link].into_iter().filter_map(|kind| limit(scenario, kind)).collect()
}

fn limit(scenario: &Scenario, kind: Capacity) -> Option<Limit> {
    let mut sum = Totals::new(scenario.paths.len());
    for group in &scenario.connections {
        let problem = device_problem(scenario, group, kind);
        let optimum = problem.solve(goal(scenario, group))?;
        sum.add(group, &problem, &optimum);
    }
    Some(sum.into_limit(scenario, kind))
}

/// Sums over the connections under test.
struct Totals {
    rates_bps: Vec<f64>,
    capacities_bps: Vec<f64>,
    goodput_bps: f64,
    power_w: f64,
    bits: f64,
    energy_j: Option<f64>,
}

impl Totals {
    fn new(paths: usize) -> Self {
        Totals {
            rates_bps: vec![0.0; paths],
            capacities_bps: vec![0.0; paths],
            goodput_bps: 0.0,
            power_w: 0.0,
            bits: 0.0,
            energy_j: Some(0.0),
        }
    }

    fn add(&mut self, group: &ConnectionGroup, problem: &DeviceProblem<'_>, optimum: &Optimum) {
        let count = f64::from(group.count);
        for (i, &path) in group.paths.iter().enumerate() {
            self.rates_bps[path] += count * optimum.rates_bps[i];
            self.capacities_bps[path] += count * problem.alone_bps(i);
        }
        self.goodput_bps += count * optimum.goodput_bps;
        self.power_w += count * optimum.power_w;
        self.energy_j = match (self.energy_j, group.workload, optimum.energy_j) {
            (Some(sum), Workload::File { size }, Some(energy_j)) => {
                self.bits += count * size.0 as f64 * 8.0;
                Some(sum + count * energy_j)
            }
            _ => None,
        };
    }

    fn into_limit(self, scenario: &Scenario, kind: Capacity) -> Limit {
        let used: Vec<usize> = (0..self.rates_bps.len()).filter(|&r| self.rates_bps[r] > 0.0).collect();
        let paths: Vec<String> = used.iter().map(|&r| scenario.paths[r].name.clone()).collect();
        let rates: Vec<String> = used.iter().map(|&r| mbps(self.rates_bps[r])).collect();
        Limit {
            kind: kind.name().to_owned(),
            label: format!("{} at {} Mbit/s", paths.join(" + "), rates.join(" + ")),
            paths,
            bits_per_joule: self
                .energy_j
                .map_or(self.goodput_bps / self.power_w, |energy_j| self.bits / energy_j),
            rates_bps: self.rates_bps,
            capacities_bps: self.capacities_bps,
            goodput_bps: self.goodput_bps,
            power_w: self.power_w,
            energy_j: self.energy_j,
        }
    }
}

/// Three significant digits at most, none superfluous before the point.
fn mbps(bps: f64) -> String {
    let rate = bps / 1e6;
    let decimals = [(100.0, 0), (10.0, 1), (0.095, 2)].into_iter().find(|(least, _)| rate >= *least);
    format!("{rate:.*}", decimals.map_or(4, |(_, decimals)| decimals))
}

/// What the application wants, as the optimiser sees it.
fn goal(scenario: &Scenario, group: &ConnectionGroup) -> Goal {
    let window = window(scenario, group);
    match group.workload {
        Workload::Bulk => Goal::Bulk,
        Workload::File { size } => {
            Goal::Transfer { bits: size.0 as f64 * 8.0, waiting_s: 0.0, repeated_s: 0.0, whole_use: true }
        }
        Workload::Requests { size, think } => {
            let fastest = group.paths.iter().map(|&r| base_rtt_s(scenario, r)).fold(f64::INFINITY, f64::min);
            Goal::Transfer {
                bits: size.0 as f64 * 8.0,
                waiting_s: think.as_secs_f64() + fastest,
                repeated_s: window.seconds(),
                whole_use: false,
            }
        }
        Workload::Messages { mean_gap, size } => {
            Goal::Rate { bps: size.0 as f64 * 8.0 / mean_gap.as_secs_f64() }
        }
        Workload::Stream { rate, on, off, .. } => {
            Goal::Rate { bps: rate.bps() as f64 * on_fraction(group, window, on, off) }
        }
    }
}

/// Part of `window` in which a stream is on, on average over the connections of `group`.
fn on_fraction(group: &ConnectionGroup, window: Window, on: Nanos, off: Nanos) -> f64 {
    let starts =
        (0..u64::from(group.count)).map(|i| group.start + Nanos(group.spread.0 / u64::from(group.count) * i));
    let on_s: f64 = starts
        .map(|start| match off {
            Nanos::ZERO => window.overlap_s(start, window.until),
            _ => {
                let periods = 0..=window.until.0 / (on.0 + off.0);
                let begins = periods.map(|k| start + Nanos(k * (on.0 + off.0)));
                begins.map(|begin| window.overlap_s(begin, begin + on)).sum()
            }
        })
        .sum();
    on_s / (window.seconds() * f64::from(group.count))
}

/// The part of the run that counts: transfers are measured whole, everything else after the warm-up.
fn window(scenario: &Scenario, group: &ConnectionGroup) -> Window {
    let whole = matches!(group.workload, Workload::File { .. } | Workload::Requests { .. });
    Window { from: if whole { Nanos::ZERO } else { scenario.warm_up }, until: scenario.duration }
}

/// The optimiser's view of one connection of `group`.
pub fn device_problem<'a>(
    scenario: &'a Scenario,
    group: &ConnectionGroup,
    kind: Capacity,
) -> DeviceProblem<'a> {
    let window = window(scenario, group);
    let links = link_constraints(scenario, group, kind, window);
    let alone = |i: usize| links.iter().map(|link| link.alone(i)).fold(f64::INFINITY, f64::min);
    let link_bps: Vec<f64> = (0..group.paths.len()).map(alone).collect();
    let capacities_bps = group.paths.iter().zip(&link_bps).map(|(&path, &link)| match kind {
        Capacity::Link => link,
        Capacity::TcpFriendly => link.min(tcp_bps(scenario, group.direction, path, CapacityModel::Mathis)),
    });
    let costs = group.paths.iter().map(|&path| {
        let model = &scenario.paths[path].energy.model;
        interface_cost(model, wire_bits(scenario, group, path), pace(scenario, group, path, window))
    });
    let mut shared: Vec<Shared> = links.iter().filter(|link| link.crossings() >= 2).cloned().collect();
    shared.push(flow_control(scenario, group));
    DeviceProblem {
        costs: costs.collect(),
        capacities_bps: capacities_bps.collect(),
        rtts_s: group.paths.iter().map(|&path| base_rtt_s(scenario, path)).collect(),
        shared,
        device: &scenario.device,
    }
}

/// Bits through the device's interface for one bit of payload that is delivered over `path`.
///
/// Data on the way down is counted where it arrives, data on the way up where it leaves, lost or not; likewise the ACKs, of
/// which delayed ones spare every second.
fn wire_bits(scenario: &Scenario, group: &ConnectionGroup, path: PathIndex) -> WireBits {
    let (data_links, ack_links) = links_of(scenario, group.direction, path);
    let transport = &scenario.transport;
    let per_segment = if transport.delayed_ack.is_some() { 0.5 } else { 1.0 };
    let data = wire_per_payload(scenario);
    let acks = per_segment * transport.ack_size.0 as f64 / transport.mss.0 as f64;
    match traffic_of(group.direction) {
        Traffic::Down => WireBits { down: data, up: acks },
        Traffic::Up => WireBits {
            up: data / delivered(scenario, data_links),
            down: acks * delivered(scenario, ack_links),
        },
    }
}

/// One constraint per link that the connection's data crosses: bits on that link per bit delivered, and the connection's part.
fn link_constraints(
    scenario: &Scenario,
    group: &ConnectionGroup,
    kind: Capacity,
    window: Window,
) -> Vec<Shared> {
    let crossed = |link: LinkIndex| {
        let weight = |&path: &usize| {
            let (data, _) = links_of(scenario, group.direction, path);
            let at = data.iter().position(|&l| l == link)?;
            Some(wire_per_payload(scenario) / delivered(scenario, &data[at..]))
        };
        let weights: Vec<f64> = group.paths.iter().map(|path| weight(path).unwrap_or(0.0)).collect();
        let most = available_bps(scenario, link, window) / f64::from(sharers(scenario, link, kind).max(1));
        Shared { weights, most }
    };
    (0..scenario.links.len()).map(crossed).filter(|shared| shared.crossings() > 0).collect()
}

/// Connections whose data crosses `link`: those under test, and with TCP-friendly rates the endless competitors.
fn sharers(scenario: &Scenario, link: LinkIndex, kind: Capacity) -> u32 {
    let crosses = |group: &&ConnectionGroup| {
        group.paths.iter().any(|&path| links_of(scenario, group.direction, path).0.contains(&link))
    };
    let own: u32 = scenario.connections.iter().filter(crosses).map(|group| group.count).sum();
    let rivals = scenario.competitors.iter().filter(|c| c.size.is_none() && c.down.contains(&link));
    match kind {
        Capacity::Link => own,
        Capacity::TcpFriendly => own + rivals.map(|c| c.count).sum::<u32>(),
    }
}

/// What is sent and not yet acknowledged fits the smaller of the two buffers: Σ x_r τ_r ≤ 8 B.
fn flow_control(scenario: &Scenario, group: &ConnectionGroup) -> Shared {
    Shared {
        weights: group.paths.iter().map(|&path| base_rtt_s(scenario, path)).collect(),
        most: 8.0 * group.receive_buffer.0.min(group.send_buffer.0) as f64,
    }
}

/// How fast the path is done with a segment when nobody else is on its links.
fn pace(scenario: &Scenario, group: &ConnectionGroup, path: PathIndex, window: Window) -> Pace {
    Pace {
        payload_bps: slowest_bps(scenario, group.direction, path, window),
        segment_bits: scenario.transport.mss.0 as f64 * 8.0,
    }
}

impl Shared {
    fn crossings(&self) -> usize {
        self.weights.iter().filter(|weight| **weight > 0.0).count()
    }

    /// Most that path `i` could have alone.
    fn alone(&self, i: usize) -> f64 {
        if self.weights[i] > 0.0 { self.most / self.weights[i] } else { f64::INFINITY }
    }
}

impl DeviceProblem<'_> {
    /// Most that path `i` could carry with nothing on the others, bit/s.
    pub fn alone_bps(&self, i: usize) -> f64 {
        self.shared.iter().map(|shared| shared.alone(i)).fold(self.capacities_bps[i], f64::min)
    }
}

#[cfg(test)]
mod tests;
