//! Combines the reports of both ends into a result.

use std::collections::BTreeMap;
use std::ops::Range;

use joulepath_model::result::{DelayStats, Series, active, measured};

use crate::error::{Error, Result};

use super::report::{ConnectionReport, PathReport, Pause, Report, Sample};
use super::spec::{Spec, Workload};

/// The traffic's part of a `RunResult`: energy, queues and links are the emulator's.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Time over which rates are computed, s: while any connection under test was active.
    pub measured_s: f64,
    /// In-order data delivered to the applications under test, bit/s.
    pub goodput_bps: f64,
    /// The same data, bit.
    pub delivered_bits: f64,
    /// Goodput of each connection under test, bit/s.
    pub connections_bps: Vec<f64>,
    /// Goodput of all competitors together, bit/s.
    pub competitors_bps: f64,
    /// Mean time from the start of a connection to the last byte of its file, s; `None` unless all
    /// workloads are files and all have arrived.
    pub completion_s: Option<f64>,
    /// When each connection under test finished, since the run's time 0, s; `None` if it did not.
    pub finished_s: Vec<Option<f64>>,
    /// Delay of messages, writes or answers.
    pub delay: Option<DelayStats>,
    /// The longest time without a read while data waited, of any connection under test, s.
    pub longest_stall_s: Option<f64>,
    /// Segments retransmitted on their subflow or reinjected on another, divided by all data
    /// segments sent.
    pub retransmission_ratio: f64,
    /// Results by path, over all connections under test.
    pub paths: Vec<PathOutcome>,
    /// Time series, if requested, without queues and power.
    pub series: Option<Series>,
}

/// Results of one path.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PathOutcome {
    /// Fraction of the payload that arrived over this path, 0 to 1.
    pub share: f64,
    /// Payload that arrived over this path, bit/s.
    pub goodput_bps: f64,
    /// Data segments sent, including retransmissions.
    pub segments: u64,
    /// Segments retransmitted on this path.
    pub retransmissions: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Mean smoothed RTT over delivered packets, s.
    pub mean_rtt_s: Option<f64>,
    /// Time average of the congestion window per connection, packets.
    pub mean_cwnd: f64,
    /// Loss events per data segment.
    pub loss_event_rate: f64,
    /// When the path's first subflow was established, since the run's time 0, s; `None` if none
    /// was.
    pub opened_s: Option<f64>,
}

/// One connection from both ends.
struct Pair<'a> {
    sender: &'a ConnectionReport,
    receiver: &'a ConnectionReport,
    measured: Range<u64>,
    received_bytes: u64,
}

/// Combines the reports of both ends.
///
/// # Errors
/// If the reports contradict each other: the receiver has read more than the sender wrote.
pub fn outcome(spec: &Spec, server: &Report, client: &Report) -> Result<Outcome> {
    let ended_ns = client.ended_ns.max(server.ended_ns);
    let mut under_test = vec![];
    let mut competitors_bytes = 0;
    for (i, connection) in spec.connections.iter().enumerate() {
        let both = server.connections.get(i).zip(client.connections.get(i));
        let (server, client) =
            both.ok_or_else(|| Error::Run(format!("the reports lack {}", connection.name)))?;
        let (sender, receiver) = if connection.download {
            (server, client)
        } else {
            (client, server)
        };
        if receiver.total_bytes > sender.total_bytes {
            let (more, less) = (receiver.total_bytes, sender.total_bytes);
            return Err(Error::Run(format!(
                "{}: {more} bytes were received of {less} sent",
                connection.name
            )));
        }
        if connection.under_test {
            let until_ns = receiver.finished_ns.unwrap_or(ended_ns);
            let measured = measured(connection.start_ns, spec.warm_up_ns, until_ns);
            // A file that was complete before the end of the warm-up counts as a whole.
            let received_bytes = match until_ns > spec.warm_up_ns {
                true => receiver.measured_bytes,
                false => receiver.total_bytes,
            };
            under_test.push((
                i,
                Pair {
                    sender,
                    receiver,
                    measured,
                    received_bytes,
                },
            ));
        } else {
            competitors_bytes += receiver.measured_bytes;
        }
    }
    let of_connection = |(_, pair): &(usize, Pair<'_>)| {
        per_second(
            bits(pair.received_bytes),
            seconds(pair.measured.end - pair.measured.start),
        )
    };
    let connections_bps: Vec<f64> = under_test.iter().map(of_connection).collect();
    let delivered_bits = under_test
        .iter()
        .map(|(_, pair)| bits(pair.received_bytes))
        .sum();
    let measured_s = together_s(&under_test);
    let (paths, retransmission_ratio) = paths(spec, &under_test);
    let competitors_s = ended_ns.saturating_sub(spec.warm_up_ns) as f64 / 1e9;
    Ok(Outcome {
        measured_s,
        goodput_bps: per_second(delivered_bits, measured_s),
        delivered_bits,
        connections_bps,
        competitors_bps: per_second(bits(competitors_bytes), competitors_s),
        completion_s: completion_s(spec, &under_test),
        finished_s: under_test
            .iter()
            .map(|(_, pair)| pair.receiver.finished_ns.map(seconds))
            .collect(),
        delay: DelayStats::of(delays_s(spec, &under_test)),
        longest_stall_s: longest_stall_s(spec, &under_test),
        retransmission_ratio,
        paths,
        series: spec
            .series
            .then(|| series(spec, &server.samples, &client.samples)),
    })
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

fn bits(bytes: u64) -> f64 {
    bytes as f64 * 8.0
}

fn per_second(amount: f64, time_s: f64) -> f64 {
    if time_s > 0.0 { amount / time_s } else { 0.0 }
}

fn together_s(pairs: &[(usize, Pair<'_>)]) -> f64 {
    seconds(active(pairs.iter().map(|(_, pair)| pair.measured.clone())))
}

fn completion_s(spec: &Spec, pairs: &[(usize, Pair<'_>)]) -> Option<f64> {
    let time = |(i, pair): &(usize, Pair<'_>)| {
        let connection = &spec.connections[*i];
        let file = matches!(connection.workload, Workload::File { .. });
        pair.receiver
            .finished_ns
            .filter(|_| file)
            .map(|at_ns| seconds(at_ns - connection.start_ns))
    };
    let times: Option<Vec<f64>> = pairs.iter().map(time).collect();
    let times = times.filter(|times| !times.is_empty())?;
    Some(times.iter().sum::<f64>() / times.len() as f64)
}

/// The instant from which the delays of a connection count, ns: answers' are absolute, writes'
/// count from the start of the sender's application.
fn origin_ns(spec: &Spec, i: usize, pair: &Pair<'_>) -> u64 {
    match spec.connections[i].workload {
        Workload::Requests { .. } => 0,
        _ => pair.sender.opened_ns.unwrap_or(0),
    }
}

/// The longest part of a pause in which data waited, or the longest gap that is too short to be a
/// pause.
fn longest_stall_s(spec: &Spec, pairs: &[(usize, Pair<'_>)]) -> Option<f64> {
    let stall_ns = |(i, pair): &(usize, Pair<'_>)| {
        let origin_ns = origin_ns(spec, *i, pair);
        let part_ns = |pause: &Pause| {
            let since_ns = pause.since_ns.map_or(0, |since_ns| origin_ns + since_ns);
            pause.to_ns.saturating_sub(pause.from_ns.max(since_ns))
        };
        let longest_ns = pair.receiver.pauses.iter().map(part_ns).max().unwrap_or(0);
        longest_ns.max(pair.receiver.longest_gap_ns)
    };
    pairs.iter().map(stall_ns).max().map(seconds)
}

/// The delays of all writes or answers since the end of the warm-up.
fn delays_s(spec: &Spec, pairs: &[(usize, Pair<'_>)]) -> Vec<f64> {
    let mut delays_s = vec![];
    for (i, pair) in pairs {
        let began_ns = origin_ns(spec, *i, pair);
        for delivery in &pair.receiver.deliveries {
            let since_ns = began_ns + delivery.since_ns;
            if since_ns >= spec.warm_up_ns {
                delays_s.push(seconds(delivery.done_ns.saturating_sub(since_ns)));
            }
        }
    }
    delays_s
}

/// Sums over the connections of a path.
#[derive(Clone, Copy, Default)]
struct Sums {
    sent: PathReport,
    received_bytes: u64,
}

fn paths(spec: &Spec, pairs: &[(usize, Pair<'_>)]) -> (Vec<PathOutcome>, f64) {
    let mut sums = vec![Sums::default(); spec.paths.len()];
    let mut reinjected = 0.0;
    for (i, pair) in pairs {
        for (place, &path) in spec.connections[*i].paths.iter().enumerate() {
            if let Some(received) = pair.receiver.paths.get(place) {
                sums[path].received_bytes += received.received_bytes;
            }
            if let Some(sent) = pair.sender.paths.get(place) {
                add(&mut sums[path].sent, sent);
            }
        }
        if let (Some(bytes), 1..) = (pair.sender.reinjected_bytes, pair.sender.mss_bytes) {
            reinjected += bytes as f64 / f64::from(pair.sender.mss_bytes);
        }
    }
    let measured_s = together_s(pairs);
    let received: u64 = sums.iter().map(|sums| sums.received_bytes).sum();
    let segments: u64 = sums.iter().map(|sums| sums.sent.segments).sum();
    let repeated: u64 = sums.iter().map(|sums| sums.sent.retransmissions).sum();
    let ratio = |part: f64, whole: u64| if whole == 0 { 0.0 } else { part / whole as f64 };
    let outcome = |sums: &Sums| PathOutcome {
        share: ratio(sums.received_bytes as f64, received),
        goodput_bps: per_second(bits(sums.received_bytes), measured_s),
        segments: sums.sent.segments,
        retransmissions: sums.sent.retransmissions,
        timeouts: sums.sent.timeouts,
        mean_rtt_s: (sums.sent.delivered_packets > 0)
            .then(|| sums.sent.rtt_sum_s / sums.sent.delivered_packets as f64),
        mean_cwnd: per_second(sums.sent.cwnd_integral_s, measured_s) / pairs.len().max(1) as f64,
        loss_event_rate: ratio(sums.sent.loss_events as f64, sums.sent.segments),
        opened_s: sums.sent.opened_ns.map(seconds),
    };
    // Copies of data that first left before the end of the warm-up cannot be told apart.
    let ratio = ratio(repeated as f64 + reinjected, segments).min(1.0);
    (sums.iter().map(outcome).collect(), ratio)
}

fn add(sum: &mut PathReport, other: &PathReport) {
    sum.opened_ns = match (sum.opened_ns, other.opened_ns) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    };
    sum.segments += other.segments;
    sum.retransmissions += other.retransmissions;
    sum.timeouts += other.timeouts;
    sum.loss_events += other.loss_events;
    sum.delivered_packets += other.delivered_packets;
    sum.rtt_sum_s += other.rtt_sum_s;
    sum.cwnd_integral_s += other.cwnd_integral_s;
}

/// Bytes from the receivers and windows from the senders, at the times that both have.
fn series(spec: &Spec, server: &[Sample], client: &[Sample]) -> Series {
    let downloads = spec
        .connections
        .iter()
        .find(|c| c.under_test)
        .is_none_or(|c| c.download);
    let (senders, receivers) = if downloads {
        (server, client)
    } else {
        (client, server)
    };
    let senders: BTreeMap<u64, &Sample> = senders
        .iter()
        .map(|sample| (sample.at_ns, sample))
        .collect();
    let both: Vec<(&Sample, &Sample)> = receivers
        .iter()
        .filter_map(|sample| Some((sample, *senders.get(&sample.at_ns)?)))
        .collect();
    let mut series = Series {
        time_s: both
            .iter()
            .map(|(receiver, _)| seconds(receiver.taken_ns))
            .collect(),
        ..Series::default()
    };
    for path in 0..spec.paths.len() {
        let mut last = (0, 0);
        let goodput = both.iter().map(|(receiver, _)| {
            let now = (receiver.received_bytes[path], receiver.taken_ns);
            let (before, since_ns) = std::mem::replace(&mut last, now);
            per_second(
                bits(now.0.saturating_sub(before)),
                seconds(now.1 - since_ns),
            )
        });
        series.goodput_bps.push(goodput.collect());
        series.cwnd.push(
            both.iter()
                .map(|(_, sender)| f64::from(sender.cwnd_packets[path]))
                .collect(),
        );
        series.rtt_s.push(
            both.iter()
                .map(|(_, sender)| f64::from(sender.srtt_us[path]) / 1e6)
                .collect(),
        );
    }
    series
}
