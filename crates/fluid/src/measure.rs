//! Computes the result of a run from its history, in the schema of all engines.

use std::ops::Range;

use joulepath_model::energy::meter::EnergyReading;
use joulepath_model::result::{
    Counters, EnergySplit, PathResult, RunResult, Series, active, measured,
};

use crate::energy::Metering;
use crate::represent::Member;
use crate::run::History;
use crate::transit::Sample;

/// Integrals over time of one user in the measured interval.
#[derive(Clone, Copy, Default)]
struct Totals {
    sent: f64,
    lost: f64,
    events: f64,
    delivered: f64,
    window_s: f64,
    /// RTT weighted by sent packets, s × packets.
    rtt_sent_s: f64,
}

impl Totals {
    fn add(&mut self, other: Totals, count: f64) {
        self.sent += count * other.sent;
        self.lost += count * other.lost;
        self.events += count * other.events;
        self.delivered += count * other.delivered;
        self.window_s += count * other.window_s;
        self.rtt_sent_s += count * other.rtt_sent_s;
    }
}

/// A group under test, with the measurements of one of its devices.
struct Tested<'a> {
    member: &'a Member<'a>,
    count: f64,
    measured: Range<f64>,
    completion_s: Option<f64>,
    routes: Vec<Totals>,
    energy: EnergyReading,
    over_time: Vec<EnergyReading>,
    /// The path of each reading.
    paths: &'a [usize],
}

impl History<'_> {
    /// The result of the run.
    pub(crate) fn result(&self, policy: &str, seed: u64, series: bool) -> RunResult {
        let scenario = self.what.scenario;
        let packet_bits = scenario.transport.mss.0 as f64 * 8.0;
        let tested = self.tested(series);
        let bits_of =
            |t: &Tested<'_>| t.routes.iter().map(|r| r.delivered).sum::<f64>() * packet_bits;
        let measured_s = active(tested.iter().map(|t| t.measured.clone()));
        let energy_split = total_split(&tested);
        let energy_j = energy_split.total_j();
        let bits: f64 = tested.iter().map(|t| t.count * bits_of(t)).sum();
        let each = |t: &Tested<'_>| {
            vec![ratio(bits_of(t), t.measured.end - t.measured.start); t.count as usize]
        };
        let connections_bps: Vec<f64> = tested.iter().flat_map(each).collect();
        let (paths, all) = self.paths(&tested, packet_bits);
        RunResult {
            policy: policy.to_owned(),
            seed,
            measured_s,
            goodput_bps: ratio(bits, measured_s),
            energy_j,
            power_w: ratio(
                tested.iter().map(|t| t.count * t.energy.total_j()).sum(),
                measured_s,
            ),
            bits_per_joule: if energy_j > 0.0 { bits / energy_j } else { 0.0 },
            energy_split,
            completion_s: mean_completion(&tested),
            delay: None,
            longest_stall_s: None,
            punctuality: vec![],
            retransmission_ratio: ratio(all.lost, all.sent),
            paths,
            competitors_bps: self.competitors_bps(packet_bits),
            competitor_groups_bps: vec![],
            links: vec![],
            network: None,
            connections_bps,
            blocks: None,
            receive_buffer: None,
            channels: vec![],
            relays: vec![],
            counters: Counters {
                events: self.steps as u64,
                ..Counters::default()
            },
            series: series.then(|| self.series(&tested, packet_bits)),
        }
    }

    fn tested(&self, series: bool) -> Vec<Tested<'_>> {
        let scenario = self.what.scenario;
        let mut found = vec![];
        for (u, (member, own)) in self.what.members.iter().zip(self.what.ranges()).enumerate() {
            let Some(group) = member.group else { continue };
            let completed_s = self.completed_s[u];
            let until_s = completed_s.unwrap_or(scenario.duration.as_secs_f64());
            let metering = Metering {
                scenario,
                group,
                member,
                first: own.start,
                completed_s,
                links: &self.what.links,
            };
            let (energy, over_time) = metering.run(&self.samples, series);
            let measured = measured(member.start_s, scenario.warm_up.as_secs_f64(), until_s);
            found.push(Tested {
                member,
                count: f64::from(group.count),
                completion_s: completed_s.map(|at_s| at_s - member.start_s),
                routes: own
                    .map(|r| self.totals(r, measured.start, until_s))
                    .collect(),
                measured,
                energy,
                over_time,
                paths: &group.paths,
            });
        }
        found
    }

    /// Integrals of route `r` between two times.
    fn totals(&self, r: usize, from_s: f64, until_s: f64) -> Totals {
        let mut totals = Totals::default();
        for pair in self.samples.windows(2) {
            let (a, b) = (&pair[0].flows[r], &pair[1].flows[r]);
            let (begin_s, end_s) = (pair[0].time_s, pair[1].time_s);
            let seconds = end_s.min(until_s) - begin_s.max(from_s);
            // Losses because a link goes down happen between two samples of the same time.
            let part = if end_s > begin_s {
                seconds / (end_s - begin_s)
            } else {
                1.0
            };
            if seconds < 0.0 || part <= 0.0 {
                continue;
            }
            let carried = pair[1].carried[r].since(&pair[0].carried[r]);
            let rates = a.rate_pps + b.rate_pps;
            let rtt_s = if rates > 0.0 {
                (a.rate_pps * a.rtt_s + b.rate_pps * b.rtt_s) / rates
            } else {
                f64::midpoint(a.rtt_s, b.rtt_s)
            };
            totals.sent += part * carried.sent;
            // Losses of packets that left before `from_s` do not count. A queue is in order: the
            // latest packets are lost when a link goes down.
            let lost = (part * (carried.lost + carried.stranded)).min(totals.sent - totals.lost);
            totals.lost += lost;
            totals.events += lost * f64::midpoint(a.events_per_loss(), b.events_per_loss());
            totals.delivered += part * carried.delivered;
            totals.window_s += f64::midpoint(a.window, b.window) * seconds;
            totals.rtt_sent_s += rtt_s * part * carried.sent;
        }
        totals
    }

    fn paths(&self, tested: &[Tested<'_>], packet_bits: f64) -> (Vec<PathResult>, Totals) {
        let scenario = self.what.scenario;
        let mut by_path = vec![Totals::default(); scenario.paths.len()];
        let mut energy_j = vec![0.0; scenario.paths.len()];
        let mut all = Totals::default();
        for t in tested {
            for (&path, &route) in t.member.paths.iter().zip(&t.routes) {
                by_path[path].add(route, t.count);
                all.add(route, t.count);
            }
            for (&path, split) in t.paths.iter().zip(&t.energy.interfaces) {
                energy_j[path] += t.count * split.total_j();
            }
        }
        let measured_s = active(tested.iter().map(|t| t.measured.clone()));
        let connections: f64 = tested.iter().map(|t| t.count).sum();
        let result =
            |(path, (spec, totals)): (usize, (&joulepath_model::scenario::PathSpec, &Totals))| {
                PathResult {
                    name: spec.name.clone(),
                    share: ratio(totals.delivered, all.delivered),
                    goodput_bps: ratio(totals.delivered * packet_bits, measured_s),
                    energy_j: energy_j[path],
                    segments: totals.sent.round() as u64,
                    retransmissions: totals.lost.round() as u64,
                    timeouts: 0,
                    mean_rtt_s: (totals.sent > 0.0).then(|| totals.rtt_sent_s / totals.sent),
                    mean_cwnd: ratio(totals.window_s, measured_s) / connections.max(1.0),
                    loss_event_rate: ratio(totals.events, totals.sent),
                }
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

    fn competitors_bps(&self, packet_bits: f64) -> f64 {
        let scenario = self.what.scenario;
        let (from_s, until_s) = (
            scenario.warm_up.as_secs_f64(),
            scenario.duration.as_secs_f64(),
        );
        let end_s = self
            .samples
            .last()
            .map_or(0.0, |sample| sample.time_s)
            .min(until_s);
        let members = self
            .what
            .members
            .iter()
            .zip(self.what.ranges())
            .zip(self.counts());
        let of = |((_, own), count): ((&Member<'_>, Range<usize>), f64)| {
            own.map(|r| count * self.totals(r, from_s, end_s).delivered)
                .sum::<f64>()
        };
        let packets: f64 = members
            .filter(|((member, _), _)| member.group.is_none())
            .map(of)
            .fold(0.0, |a, b| a + b);
        ratio(packets * packet_bits, end_s - from_s)
    }

    fn counts(&self) -> Vec<f64> {
        self.what
            .network(0.0, &vec![false; self.what.members.len()])
            .users
            .iter()
            .map(|user| user.count)
            .collect()
    }

    fn series(&self, tested: &[Tested<'_>], packet_bits: f64) -> Series {
        let paths = self.what.scenario.paths.len();
        let shown: Vec<(usize, &[Sample])> = self
            .samples
            .windows(2)
            .enumerate()
            .filter(|(_, pair)| pair[1].time_s > pair[0].time_s)
            .collect();
        let mut series = Series {
            time_s: shown.iter().map(|(_, pair)| pair[1].time_s).collect(),
            ..Series::default()
        };
        for path in 0..paths {
            let routes: Vec<(usize, f64)> = self.routes_on(path, tested);
            let flow = |sample: &Sample, of: fn(&crate::Flow) -> f64| {
                routes.first().map_or(0.0, |&(r, _)| of(&sample.flows[r]))
            };
            let rate = |(_, pair): &(usize, &[Sample])| {
                let of_route = |&(r, count): &(usize, f64)| {
                    count * pair[1].carried[r].since(&pair[0].carried[r]).delivered
                };
                routes.iter().map(of_route).sum::<f64>() / (pair[1].time_s - pair[0].time_s)
                    * packet_bits
            };
            series.goodput_bps.push(shown.iter().map(rate).collect());
            series.cwnd.push(
                shown
                    .iter()
                    .map(|(_, pair)| flow(&pair[1], |f| f.window))
                    .collect(),
            );
            series.rtt_s.push(
                shown
                    .iter()
                    .map(|(_, pair)| flow(&pair[1], |f| f.rtt_s))
                    .collect(),
            );
            series.queue.push(
                shown
                    .iter()
                    .map(|(_, pair)| self.queue_on(path, &pair[1]))
                    .collect(),
            );
            series.power_w.push(
                shown
                    .iter()
                    .map(|(i, pair)| power_w(tested, path, *i, pair))
                    .collect(),
            );
        }
        series
    }

    /// Routes over `path` in a sample, each with the number of connections that it stands for.
    fn routes_on(&self, path: usize, tested: &[Tested<'_>]) -> Vec<(usize, f64)> {
        let groups = self
            .what
            .members
            .iter()
            .zip(self.what.ranges())
            .filter(|(member, _)| member.group.is_some());
        let pairs = groups.zip(tested).flat_map(|((member, own), t)| {
            member
                .paths
                .iter()
                .zip(own)
                .map(move |(&p, r)| (p, r, t.count))
        });
        pairs
            .filter(|&(p, _, _)| p == path)
            .map(|(_, r, count)| (r, count))
            .collect()
    }

    /// Packets in the fullest queue of a path.
    fn queue_on(&self, path: usize, sample: &Sample) -> f64 {
        let spec = &self.what.scenario.paths[path];
        let on_path = |link: &usize| spec.down.contains(link) || spec.up.contains(link);
        let queues = self
            .what
            .links
            .iter()
            .zip(&sample.queues)
            .filter(|(link, _)| on_path(link));
        queues.map(|(_, queue)| *queue).fold(0.0, f64::max)
    }
}

/// Power of the interfaces on `path` between samples `i` and `i + 1`, W.
fn power_w(tested: &[Tested<'_>], path: usize, i: usize, pair: &[Sample]) -> f64 {
    let joules = |t: &Tested<'_>, at: usize| -> f64 {
        let Some(reading) = t.over_time.get(at) else {
            return 0.0;
        };
        let on_path = t
            .paths
            .iter()
            .zip(&reading.interfaces)
            .filter(|(p, _)| **p == path);
        t.count * on_path.map(|(_, split)| split.total_j()).sum::<f64>()
    };
    let spent = |t: &Tested<'_>| joules(t, i) - if i > 0 { joules(t, i - 1) } else { 0.0 };
    tested.iter().map(spent).sum::<f64>().max(0.0) / (pair[1].time_s - pair[0].time_s)
}

fn total_split(tested: &[Tested<'_>]) -> EnergySplit {
    tested.iter().fold(EnergySplit::default(), |sum, t| {
        let one = t.energy.total();
        EnergySplit {
            sunk_j: sum.sunk_j + t.count * one.sunk_j,
            transfer_j: sum.transfer_j + t.count * one.transfer_j,
            tail_j: sum.tail_j + t.count * one.tail_j,
        }
    })
}

/// Mean completion time of the files, s; none unless every connection has a complete file.
fn mean_completion(tested: &[Tested<'_>]) -> Option<f64> {
    let times: Option<Vec<(f64, f64)>> = tested
        .iter()
        .map(|t| Some((t.completion_s?, t.count)))
        .collect();
    let times = times.filter(|times| !times.is_empty())?;
    let connections: f64 = times.iter().map(|(_, count)| count).sum();
    Some(times.iter().map(|(time, count)| time * count).sum::<f64>() / connections)
}

fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}
