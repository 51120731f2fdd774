//! What a run reports: sums at the end, samples over time.

use joulepath_model::energy::meter::EnergyReading;
use joulepath_model::result::{
    ChannelResult, DelayStats, EnergySplit, PathResult, RelayResult, RunResult, Series,
};
use joulepath_model::samples::Samples;
use joulepath_model::scenario::{Direction, PathIndex, Scenario, Workload};
use joulepath_model::units::Nanos;

use crate::connection::{Connection, Device};
use crate::engine::Engine;
use crate::reception;
use crate::subflow::{Subflow, SubflowStats};

/// The first interval between samples is this part of the duration, at least 1 ms.
const FINEST: u64 = 1 << 16;

/// Time series of a run.
pub(crate) struct Recorder {
    enabled: bool,
    samples: Samples<Sample>,
    /// The link with the least rate on each path, in the data's direction.
    bottlenecks: Vec<usize>,
}

/// Running totals at an instant, by path.
struct Sample {
    time_ns: u64,
    bytes: Vec<u64>,
    energy_j: Vec<f64>,
    cwnd: Vec<u32>,
    srtt_us: Vec<u32>,
    queue: Vec<u32>,
    /// Of all connections, segments.
    held: u32,
}

impl Recorder {
    pub(crate) fn new(scenario: &Scenario, enabled: bool) -> Self {
        let downloads =
            scenario.connections.first().is_none_or(|group| group.direction == Direction::Download);
        let slowest = |links: &[usize]| {
            let rate = |&l: &usize| scenario.links[l].rate.mean_bps(scenario.duration);
            links.iter().copied().min_by(|a, b| rate(a).total_cmp(&rate(b))).unwrap_or(0)
        };
        Recorder {
            enabled,
            samples: Samples::every((scenario.duration.0 / FINEST).max(1_000_000)),
            bottlenecks: scenario
                .paths
                .iter()
                .map(|path| slowest(if downloads { &path.down } else { &path.up }))
                .collect(),
        }
    }

    pub(crate) fn first_ns(&self) -> Option<u64> {
        self.enabled.then_some(self.samples.interval_ns())
    }

    fn series(&self, paths: usize) -> Series {
        let samples = self.samples.kept();
        let mut series = Series {
            time_s: samples.iter().map(|sample| sample.time_ns as f64 / 1e9).collect(),
            receive_buffer: samples.iter().map(|sample| f64::from(sample.held)).collect(),
            ..Series::default()
        };
        let plain =
            |value: fn(&Sample, usize) -> f64, p: usize| samples.iter().map(|s| value(s, p)).collect();
        let rate = |value: fn(&Sample, usize) -> f64, p: usize| {
            let mut last = (0.0, 0);
            let per_second = |sample: &Sample| {
                let now = (value(sample, p), sample.time_ns);
                let (before, since_ns) = std::mem::replace(&mut last, now);
                (now.0 - before) / ((now.1 - since_ns) as f64 / 1e9)
            };
            samples.iter().map(per_second).collect()
        };
        for p in 0..paths {
            series.goodput_bps.push(rate(|s, p| s.bytes[p] as f64 * 8.0, p));
            series.power_w.push(rate(|s, p| s.energy_j[p], p));
            series.cwnd.push(plain(|s, p| f64::from(s.cwnd[p]), p));
            series.rtt_s.push(plain(|s, p| f64::from(s.srtt_us[p]) / 1e6, p));
            series.queue.push(plain(|s, p| f64::from(s.queue[p]), p));
        }
        series
    }
}

impl SubflowStats {
    fn since(self, before: SubflowStats) -> SubflowStats {
        SubflowStats {
            segments: self.segments - before.segments,
            retransmissions: self.retransmissions - before.retransmissions,
            reinjections: self.reinjections - before.reinjections,
            timeouts: self.timeouts - before.timeouts,
            loss_events: self.loss_events - before.loss_events,
            first_copy_bytes: self.first_copy_bytes - before.first_copy_bytes,
            rtt_samples: self.rtt_samples - before.rtt_samples,
            rtt_sum_ns: self.rtt_sum_ns - before.rtt_sum_ns,
            cwnd_ns: self.cwnd_ns - before.cwnd_ns,
        }
    }

    fn add(&mut self, other: SubflowStats) {
        self.segments += other.segments;
        self.retransmissions += other.retransmissions;
        self.reinjections += other.reinjections;
        self.timeouts += other.timeouts;
        self.loss_events += other.loss_events;
        self.first_copy_bytes += other.first_copy_bytes;
        self.rtt_samples += other.rtt_samples;
        self.rtt_sum_ns += other.rtt_sum_ns;
        self.cwnd_ns += other.cwnd_ns;
    }
}

/// One connection under test at the end.
struct Outcome {
    /// Over which rate and power are taken, s.
    measured_s: f64,
    bytes: u64,
    completion_s: Option<f64>,
    energy: EnergyReading,
    /// Path of each interface in `energy`.
    paths: Vec<PathIndex>,
}

impl Engine {
    /// Takes a sample and asks for the next one.
    pub(crate) fn sample(&mut self) {
        self.settle();
        let paths = self.recorder.bottlenecks.len();
        let mut sample = Sample {
            time_ns: self.now_ns,
            bytes: vec![0; paths],
            energy_j: vec![0.0; paths],
            cwnd: vec![0; paths],
            srtt_us: vec![0; paths],
            queue: vec![0; paths],
            held: 0,
        };
        for subflow in self.subflows.iter().rev() {
            let Some(path) = subflow.path.map(usize::from) else { continue };
            let window = &self.connections[subflow.connection as usize].cc.subflows[subflow.local as usize];
            sample.bytes[path] += subflow.stats.first_copy_bytes;
            // The last one written is the first connection's: windows and RTTs of several do not add up.
            (sample.cwnd[path], sample.srtt_us[path]) = (window.cwnd, window.srtt_us);
        }
        let now = Nanos(self.now_ns);
        for connection in &mut self.connections {
            if let Some(device) = connection.device.as_mut().filter(|device| device.finished_ns.is_none()) {
                device.latest = device.meter.snapshot(now);
            }
            if let Some(device) = &connection.device {
                sample.held += device.reception.held();
                for (&path, split) in device.paths.iter().zip(&device.latest.interfaces) {
                    sample.energy_j[path] += split.total_j();
                }
            }
        }
        for (queue, &link) in sample.queue.iter_mut().zip(&self.recorder.bottlenecks) {
            // The links of a path are the first ones, except in a topology: there routes differ by connection.
            *queue = if self.fabric.is_some() { 0 } else { self.net.wires[link].link.queue_packets(now) };
        }
        self.recorder.samples.push(sample);
        self.net.queue.push(self.now_ns + self.recorder.samples.interval_ns(), self.common.sources.sample());
    }

    fn outcome(&self, connection: &Connection, warm_up: Nanos) -> Option<Outcome> {
        let device = connection.device.as_ref()?;
        let bytes = connection.receiver.delivered_bytes - connection.before_bytes;
        let from_ns = connection.starts_at_ns.max(warm_up.0);
        let (until_ns, energy) = match device.finished_ns {
            Some(at_ns) => (at_ns, device.meter.clone().finish_with_tails(Nanos(at_ns))),
            None => (self.end_ns, device.meter.clone().finish(Nanos(self.end_ns))),
        };
        Some(Outcome {
            measured_s: until_ns.saturating_sub(from_ns) as f64 / 1e9,
            bytes,
            completion_s: device.finished_ns.map(|at_ns| (at_ns - connection.starts_at_ns) as f64 / 1e9),
            energy,
            paths: device.paths.clone(),
        })
    }

    /// The result of the run, after its end.
    pub(crate) fn result(mut self, scenario: &Scenario, policy: &str, seed: u64) -> RunResult {
        self.settle();
        let outcomes: Vec<Outcome> = self
            .connections
            .iter()
            .filter_map(|connection| self.outcome(connection, scenario.warm_up))
            .collect();
        let energy_split = total_split(&outcomes);
        let energy_j = energy_split.total_j();
        let bits: f64 = outcomes.iter().map(|outcome| outcome.bytes as f64 * 8.0).sum();
        let per_second = |amount: f64, outcome: &Outcome| {
            if outcome.measured_s > 0.0 { amount / outcome.measured_s } else { 0.0 }
        };
        let connections_bps: Vec<f64> =
            outcomes.iter().map(|outcome| per_second(outcome.bytes as f64 * 8.0, outcome)).collect();
        let delays: Vec<f64> = self
            .connections
            .iter()
            .flat_map(|connection| connection.application.delays_s().iter().copied())
            .collect();
        let (paths, totals) = self.path_results(scenario, &outcomes);
        let mss_bytes = scenario.transport.mss.0;
        for device in self.connections.iter_mut().filter_map(|connection| connection.device.as_mut()) {
            if device.finished_ns.is_none() {
                device.reception.bring_up(self.end_ns);
            }
        }
        let relays = self.relay_results(scenario);
        let receptions = || self.devices().map(|device| &device.reception);
        RunResult {
            policy: policy.to_owned(),
            seed,
            measured_s: outcomes.iter().map(|outcome| outcome.measured_s).fold(0.0, f64::max),
            goodput_bps: connections_bps.iter().sum(),
            energy_j,
            power_w: outcomes.iter().map(|outcome| per_second(device_joules(&outcome.energy), outcome)).sum(),
            bits_per_joule: if energy_j > 0.0 { bits / energy_j } else { 0.0 },
            energy_split,
            completion_s: mean_completion(scenario, &outcomes),
            delay: DelayStats::of(delays),
            retransmission_ratio: ratio(totals.retransmissions + totals.reinjections, totals.segments),
            paths,
            competitors_bps: self.competitors_bps(scenario),
            connections_bps,
            blocks: has_blocks(scenario).then(|| reception::blocks(receptions(), mss_bytes)).flatten(),
            receive_buffer: reception::held(receptions()),
            channels: self.channel_results(scenario),
            relays,
            network: self.fabric.as_ref().map(|fabric| fabric.result(Nanos(self.end_ns), &self.net)),
            counters: self.net.counters,
            series: self.recorder.enabled.then(|| Series {
                blocks: has_blocks(scenario)
                    .then(|| reception::block_series(receptions(), mss_bytes))
                    .flatten(),
                ..self.recorder.series(scenario.paths.len())
            }),
        }
    }

    fn path_results(&self, scenario: &Scenario, outcomes: &[Outcome]) -> (Vec<PathResult>, SubflowStats) {
        let mut by_path = vec![SubflowStats::default(); scenario.paths.len()];
        let mut all = SubflowStats::default();
        let on_path = |subflow: &Subflow| {
            subflow.path.map(|path| (usize::from(path), subflow.stats.since(subflow.before)))
        };
        for (path, stats) in self.subflows.iter().filter_map(on_path) {
            by_path[path].add(stats);
            all.add(stats);
        }
        let measured_s = outcomes.iter().map(|outcome| outcome.measured_s).fold(0.0, f64::max);
        let rate = |amount: f64| if measured_s > 0.0 { amount / measured_s } else { 0.0 };
        let energy_j = |path: usize| -> f64 {
            let of_device = |outcome: &Outcome| -> f64 {
                let pairs = outcome.paths.iter().zip(&outcome.energy.interfaces);
                pairs.filter(|(p, _)| **p == path).map(|(_, split)| split.total_j()).sum()
            };
            outcomes.iter().map(of_device).sum()
        };
        let results =
            scenario.paths.iter().zip(&by_path).enumerate().map(|(path, (spec, stats))| PathResult {
                name: spec.name.clone(),
                share: ratio(stats.first_copy_bytes, all.first_copy_bytes),
                goodput_bps: rate(stats.first_copy_bytes as f64 * 8.0),
                energy_j: energy_j(path),
                segments: stats.segments,
                retransmissions: stats.retransmissions + stats.reinjections,
                timeouts: stats.timeouts,
                mean_rtt_s: (stats.rtt_samples > 0)
                    .then(|| stats.rtt_sum_ns as f64 / stats.rtt_samples as f64 / 1e9),
                mean_cwnd: rate(stats.cwnd_ns as f64 / 1e9) / outcomes.len().max(1) as f64,
                loss_event_rate: ratio(stats.loss_events, stats.segments),
            });
        (results.collect(), all)
    }

    fn channel_results(&self, scenario: &Scenario) -> Vec<ChannelResult> {
        let duration_s = self.end_ns as f64 / 1e9;
        let channels = scenario.channels.iter().zip(&self.net.channels);
        channels.map(|(spec, channel)| channel.result(&spec.name, duration_s)).collect()
    }

    fn relay_results(&mut self, scenario: &Scenario) -> Vec<RelayResult> {
        let mut results = vec![];
        for (p, path) in scenario.paths.iter().enumerate() {
            let relays = self.subflows.iter_mut().filter(|subflow| subflow.path == Some(p as u16));
            let buffers: Vec<(f64, f64)> = relays
                .filter_map(|subflow| subflow.relay.as_mut())
                .map(|relay| relay.buffer(self.end_ns))
                .collect();
            if !buffers.is_empty() {
                results.push(RelayResult {
                    path: path.name.clone(),
                    mean_buffer: buffers.iter().map(|buffer| buffer.0).sum::<f64>() / buffers.len() as f64,
                    max_buffer: buffers.iter().map(|buffer| buffer.1).fold(0.0, f64::max),
                });
            }
        }
        results
    }

    fn devices(&self) -> impl Iterator<Item = &Device> + Clone {
        self.connections.iter().filter_map(|connection| connection.device.as_ref())
    }

    /// Goodput of all competitors in the measured interval, bit/s.
    fn competitors_bps(&self, scenario: &Scenario) -> f64 {
        let interval_s = self.end_ns.saturating_sub(scenario.warm_up.0) as f64 / 1e9;
        let bytes: u64 = self
            .connections
            .iter()
            .filter(|connection| connection.device.is_none())
            .map(|connection| connection.receiver.delivered_bytes - connection.before_bytes)
            .sum();
        if interval_s > 0.0 { bytes as f64 * 8.0 / interval_s } else { 0.0 }
    }
}

/// Whether every segment is a full one, but for the last of a file.
fn has_blocks(scenario: &Scenario) -> bool {
    scenario.connections.iter().all(|group| matches!(group.workload, Workload::Bulk | Workload::File { .. }))
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

fn device_joules(energy: &EnergyReading) -> f64 {
    let interfaces: f64 = energy.interfaces.iter().map(EnergySplit::total_j).sum();
    interfaces + energy.base_j + energy.host.total_j()
}

fn total_split(outcomes: &[Outcome]) -> EnergySplit {
    let mut total = EnergySplit::default();
    for energy in outcomes.iter().map(|outcome| &outcome.energy) {
        for split in energy.interfaces.iter().chain([&energy.host]) {
            total.sunk_j += split.sunk_j;
            total.transfer_j += split.transfer_j;
            total.tail_j += split.tail_j;
        }
        total.sunk_j += energy.base_j;
    }
    total
}

/// Mean completion time of the files, s; none unless every file has arrived.
fn mean_completion(scenario: &Scenario, outcomes: &[Outcome]) -> Option<f64> {
    let files = scenario.connections.iter().all(|group| matches!(group.workload, Workload::File { .. }));
    let times: Option<Vec<f64>> = outcomes.iter().map(|outcome| outcome.completion_s).collect();
    let times = times.filter(|times| files && !times.is_empty())?;
    Some(times.iter().sum::<f64>() / times.len() as f64)
}
