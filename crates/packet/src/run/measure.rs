//! The result of a run: sums at the end, samples over time.

use std::ops::Range;

use joulepath_model::energy::meter::EnergyReading;
use joulepath_model::result::{
    ChannelResult, DelayStats, Delivery, EnergySplit, PathResult, Punctuality, RelayResult,
    RunResult, Series, active, measured,
};
use joulepath_model::scenario::{Competitor, PathIndex, PathSpec, Scenario, Workload};
use joulepath_model::units::Nanos;

use crate::connection::device::Device;
use crate::connection::state::Connection;
use crate::receiver::{Reception, SubflowReceiver, block_series, blocks, held};
use crate::run::engine::Engine;
use crate::run::recorder::Sample;
use crate::sender::{SenderStats, SubflowSender};

/// Totals of a path's subflows since the warm-up.
#[derive(Clone, Copy, Default)]
struct PathTotals {
    sent: SenderStats,
    /// Payload whose first copy arrived on this path, bytes.
    first_copy_bytes: u64,
}

impl PathTotals {
    /// Adds a subflow with both of its ends.
    fn add(&mut self, sender: &SubflowSender, receiver: &SubflowReceiver) {
        let (now, before) = (&sender.stats, &sender.before);
        let sent = &mut self.sent;
        sent.segments += now.segments - before.segments;
        sent.retransmissions += now.retransmissions - before.retransmissions;
        sent.reinjections += now.reinjections - before.reinjections;
        sent.old_copies += now.old_copies - before.old_copies;
        sent.timeouts += now.timeouts - before.timeouts;
        sent.loss_events += now.loss_events - before.loss_events;
        sent.rtt_samples += now.rtt_samples - before.rtt_samples;
        sent.rtt_sum_ns += now.rtt_sum_ns - before.rtt_sum_ns;
        sent.cwnd_ns += now.cwnd_ns - before.cwnd_ns;
        self.first_copy_bytes += receiver.first_copy_bytes - receiver.before_bytes;
    }

    /// Number of copies of segments that first left in the measured interval, on this subflow or
    /// another.
    fn repeated(&self) -> u64 {
        self.sent.retransmissions + self.sent.reinjections - self.sent.old_copies
    }
}

/// Result of one connection under test.
struct Outcome {
    /// The part of the run over which its rate is averaged, ns.
    measured: Range<u64>,
    bytes: u64,
    completion_s: Option<f64>,
    energy: EnergyReading,
    /// The path of each interface in `energy`.
    paths: Vec<PathIndex>,
}

impl Engine {
    /// Takes a sample and schedules the next one.
    pub(crate) fn sample(&mut self) {
        let mut sample = self.recorder.blank(self.now_ns);
        if self.recorder.lasts(self.now_ns) {
            self.fill(&mut sample);
        }
        self.recorder.samples.push(sample);
        self.net.queue.push(
            self.now_ns + self.recorder.samples.interval_ns(),
            self.config.sources.sample(),
        );
    }

    /// Fills a blank sample with the present values.
    fn fill(&mut self, sample: &mut Sample) {
        self.settle();
        let ends = self.subflows.iter().zip(&self.receivers).rev();
        for (subflow, receiver) in ends {
            let Some(path) = subflow.path.map(usize::from) else {
                continue;
            };
            let id = receiver.id;
            let window = &self.connections[id.connection as usize].sender.cc.subflows[id.index()];
            let sample = &mut sample.paths[path];
            sample.bytes += receiver.first_copy_bytes;
            // In reverse order, so that the first connection's values remain: windows and RTTs of
            // several connections do not add up.
            (sample.cwnd, sample.srtt_us) = (window.cwnd, window.srtt_us);
        }
        let now = Nanos(self.now_ns);
        for device in self.devices.iter_mut().flatten() {
            if device.finished_ns.is_none() {
                device.meter.snapshot_into(now, &mut device.latest);
            }
            for (&path, split) in device.paths.iter().zip(&device.latest.interfaces) {
                sample.paths[path].energy_j += split.total_j();
            }
        }
        sample.held = self.receptions().map(Reception::held).sum();
        for (path, &link) in sample.paths.iter_mut().zip(&self.recorder.bottlenecks) {
            // The links of the paths come first. A topology has no link per path, because routes
            // differ between connections.
            path.queue = if self.fabric.is_some() {
                0
            } else {
                self.net.wires[link].link.queue_packets(now)
            };
        }
    }

    fn outcome(&self, connection: &Connection, device: &Device, warm_up: Nanos) -> Outcome {
        let receiver = &connection.receiver;
        let bytes = receiver.data.delivered_bytes - receiver.before_bytes;
        let (until_ns, energy) = match device.finished_ns {
            Some(at_ns) => (at_ns, device.meter.clone().finish_with_tails(Nanos(at_ns))),
            None => (self.end_ns, device.meter.clone().finish(Nanos(self.end_ns))),
        };
        Outcome {
            measured: measured(connection.starts_at_ns, warm_up.0, until_ns),
            bytes,
            completion_s: device
                .finished_ns
                .map(|at_ns| (at_ns - connection.starts_at_ns) as f64 / 1e9),
            energy,
            paths: device.paths.clone(),
        }
    }

    /// The connections under test with their devices.
    fn tested(&self) -> impl Iterator<Item = (&Connection, &Device)> {
        let pairs = self.connections.iter().zip(&self.devices);
        pairs.filter_map(|(connection, device)| Some((connection, device.as_ref()?)))
    }

    /// The result of the run, after its end.
    pub(crate) fn result(mut self, scenario: &Scenario, policy: &str, seed: u64) -> RunResult {
        self.settle();
        let outcomes: Vec<Outcome> = self
            .tested()
            .map(|(connection, device)| self.outcome(connection, device, scenario.warm_up))
            .collect();
        let energy_split = total_split(&outcomes);
        let energy_j = energy_split.total_j();
        let bits: f64 = outcomes
            .iter()
            .map(|outcome| outcome.bytes as f64 * 8.0)
            .sum();
        let measured_s = seconds(active(
            outcomes.iter().map(|outcome| outcome.measured.clone()),
        ));
        let of_connection = |outcome: &Outcome| {
            per_second(
                outcome.bytes as f64 * 8.0,
                seconds(outcome.measured.end - outcome.measured.start),
            )
        };
        let connections_bps: Vec<f64> = outcomes.iter().map(of_connection).collect();
        let deliveries: Vec<Delivery> = self
            .connections
            .iter()
            .flat_map(|connection| connection.receiver.reader.deliveries())
            .collect();
        let competitor_bytes = self.competitor_bytes(scenario);
        let interval_s = self.end_ns.saturating_sub(scenario.warm_up.0) as f64 / 1e9;
        let competitor_bps = |bytes: u64| {
            if interval_s > 0.0 {
                bytes as f64 * 8.0 / interval_s
            } else {
                0.0
            }
        };
        let (paths, totals) = self.path_results(scenario, &outcomes);
        let mss_bytes = scenario.transport.mss.0;
        for connection in self
            .connections
            .iter_mut()
            .filter(|connection| !connection.receiver.done)
        {
            if let Some(reception) = &mut connection.receiver.reception {
                reception.bring_up(self.end_ns);
            }
        }
        let relays = self.relay_results(scenario);
        RunResult {
            policy: policy.to_owned(),
            seed,
            measured_s,
            goodput_bps: per_second(bits, measured_s),
            energy_j,
            power_w: per_second(
                outcomes
                    .iter()
                    .map(|outcome| device_joules(&outcome.energy))
                    .sum(),
                measured_s,
            ),
            bits_per_joule: if energy_j > 0.0 { bits / energy_j } else { 0.0 },
            energy_split,
            completion_s: mean_completion(scenario, &outcomes),
            delay: DelayStats::of(
                deliveries
                    .iter()
                    .filter_map(|delivery| delivery.delay_s)
                    .collect(),
            ),
            longest_stall_s: self.longest_stall_s(),
            punctuality: Punctuality::of(&deliveries, self.end_ns as f64 / 1e9),
            retransmission_ratio: ratio(totals.repeated(), totals.sent.segments),
            paths,
            competitors_bps: competitor_bps(competitor_bytes.iter().sum()),
            competitor_groups_bps: competitor_bytes.into_iter().map(competitor_bps).collect(),
            connections_bps,
            blocks: has_blocks(scenario)
                .then(|| blocks(self.receptions(), mss_bytes))
                .flatten(),
            receive_buffer: held(self.receptions()),
            channels: self.channel_results(scenario),
            relays,
            links: self.net.tallies.results(&scenario.links),
            network: self
                .fabric
                .as_ref()
                .map(|fabric| fabric.result(Nanos(self.end_ns), &self.net)),
            counters: self.net.counts.counters(),
            series: self.recorder.enabled.then(|| Series {
                blocks: has_blocks(scenario)
                    .then(|| block_series(self.receptions(), mss_bytes))
                    .flatten(),
                ..self.recorder.series(scenario.paths.len())
            }),
        }
    }

    /// The longest stall of a connection under test, s.
    fn longest_stall_s(&self) -> Option<f64> {
        let stall_ns = |(connection, device): (&Connection, &Device)| {
            connection
                .receiver
                .reader
                .longest_stall_ns(device.finished_ns.unwrap_or(self.end_ns))
        };
        self.tested().map(stall_ns).max().map(|ns| ns as f64 / 1e9)
    }

    fn path_results(
        &self,
        scenario: &Scenario,
        outcomes: &[Outcome],
    ) -> (Vec<PathResult>, PathTotals) {
        let mut by_path = vec![PathTotals::default(); scenario.paths.len()];
        let mut all = PathTotals::default();
        let ends = self.senders.iter().zip(&self.receivers);
        for (subflow, (sender, receiver)) in self.subflows.iter().zip(ends) {
            let Some(path) = subflow.path else { continue };
            by_path[usize::from(path)].add(sender, receiver);
            all.add(sender, receiver);
        }
        let measured_s = seconds(active(
            outcomes.iter().map(|outcome| outcome.measured.clone()),
        ));
        let rate = |amount: f64| per_second(amount, measured_s);
        let energy_j = |path: usize| -> f64 {
            let of_device = |outcome: &Outcome| -> f64 {
                let pairs = outcome.paths.iter().zip(&outcome.energy.interfaces);
                pairs
                    .filter(|(p, _)| **p == path)
                    .map(|(_, split)| split.total_j())
                    .sum()
            };
            outcomes.iter().map(of_device).sum()
        };
        let result = |(path, (spec, totals)): (usize, (&PathSpec, &PathTotals))| PathResult {
            name: spec.name.clone(),
            share: ratio(totals.first_copy_bytes, all.first_copy_bytes),
            goodput_bps: rate(totals.first_copy_bytes as f64 * 8.0),
            energy_j: energy_j(path),
            segments: totals.sent.segments,
            retransmissions: totals.repeated(),
            timeouts: totals.sent.timeouts,
            mean_rtt_s: (totals.sent.rtt_samples > 0)
                .then(|| totals.sent.rtt_sum_ns as f64 / totals.sent.rtt_samples as f64 / 1e9),
            mean_cwnd: rate(totals.sent.cwnd_ns as f64 / 1e9) / outcomes.len().max(1) as f64,
            loss_event_rate: ratio(totals.sent.loss_events, totals.sent.segments),
        };
        (
            scenario
                .paths
                .iter()
                .zip(&by_path)
                .enumerate()
                .map(result)
                .collect(),
            all,
        )
    }

    fn channel_results(&self, scenario: &Scenario) -> Vec<ChannelResult> {
        let duration_s = self.end_ns as f64 / 1e9;
        let channels = scenario.channels.iter().zip(&self.net.channels);
        channels
            .map(|(spec, channel)| channel.result(&spec.name, duration_s))
            .collect()
    }

    fn relay_results(&mut self, scenario: &Scenario) -> Vec<RelayResult> {
        let mut results = vec![];
        for (p, path) in scenario.paths.iter().enumerate() {
            let receivers = self.subflows.iter().zip(&mut self.receivers);
            let buffers: Vec<(f64, f64)> = receivers
                .filter(|(subflow, _)| subflow.path == Some(p as u16))
                .filter_map(|(_, receiver)| receiver.relay.as_mut())
                .map(|relay| relay.buffer(self.end_ns))
                .collect();
            if !buffers.is_empty() {
                results.push(RelayResult {
                    path: path.name.clone(),
                    mean_buffer: buffers.iter().map(|buffer| buffer.0).sum::<f64>()
                        / buffers.len() as f64,
                    max_buffer: buffers.iter().map(|buffer| buffer.1).fold(0.0, f64::max),
                });
            }
        }
        results
    }

    /// The order of arrival on each connection under test.
    fn receptions(&self) -> impl Iterator<Item = &Reception> + Clone {
        self.connections
            .iter()
            .filter_map(|connection| connection.receiver.reception.as_ref())
    }

    /// Bytes that each group of competitors delivered in the measured interval.
    fn competitor_bytes(&self, scenario: &Scenario) -> Vec<u64> {
        let competitors = self
            .connections
            .iter()
            .zip(&self.devices)
            .filter(|(_, device)| device.is_none());
        // The builder added them group by group.
        let mut receivers = competitors.map(|(connection, _)| &connection.receiver);
        let of_group = |group: &Competitor| {
            let members = receivers.by_ref().take(group.count as usize);
            members
                .map(|receiver| receiver.data.delivered_bytes - receiver.before_bytes)
                .sum()
        };
        scenario.competitors.iter().map(of_group).collect()
    }
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

fn per_second(amount: f64, seconds: f64) -> f64 {
    if seconds > 0.0 { amount / seconds } else { 0.0 }
}

/// Whether every segment is full, except the last one of a file.
fn has_blocks(scenario: &Scenario) -> bool {
    scenario
        .connections
        .iter()
        .all(|group| matches!(group.workload, Workload::Bulk | Workload::File { .. }))
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        0.0
    } else {
        part as f64 / whole as f64
    }
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

/// Mean completion time of the files, s; `None` unless every file is complete.
fn mean_completion(scenario: &Scenario, outcomes: &[Outcome]) -> Option<f64> {
    let files = scenario
        .connections
        .iter()
        .all(|group| matches!(group.workload, Workload::File { .. }));
    let times: Option<Vec<f64>> = outcomes
        .iter()
        .map(|outcome| outcome.completion_s)
        .collect();
    let times = times.filter(|times| files && !times.is_empty())?;
    Some(times.iter().sum::<f64>() / times.len() as f64)
}
