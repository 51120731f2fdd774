//! Result of a run, and of a comparison of policies. All engines use one schema.

mod comparison;
mod estimates;
mod over_time;
mod punctuality;

use std::cmp::Ordering;
use std::ops::{Add, Range, Sub};

use serde::{Deserialize, Serialize};

use crate::quantile::nearest;

pub use comparison::{
    Background, Comparison, Delivers, Estimate, Manifest, PathRow, Provenance, Reference, Row,
    ScenarioRef,
};
pub use estimates::{ByMetric, Estimates, Means};
pub use over_time::{Band, OverTime};
pub use punctuality::{DEADLINES_S, Delivery, Punctuality};

/// Outcome of one run: scenario × policy × engine × seed. Values are sums over the connections
/// under test.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunResult {
    /// As written by the user.
    pub policy: String,
    /// Seed of the run.
    pub seed: u64,
    /// Time over which rates and power are averaged, s: while any connection under test was active,
    /// from its start or the end of the warm-up to the end of its file or of the run ([`active`]).
    pub measured_s: f64,
    /// In-order data delivered to the application per second, bit/s.
    pub goodput_bps: f64,
    /// Energy of the devices in the measured interval, J.
    pub energy_j: f64,
    /// Mean power, W.
    pub power_w: f64,
    /// In-order data per joule, bit/J; 0 without energy.
    pub bits_per_joule: f64,
    /// Energy by cause.
    pub energy_split: EnergySplit,
    /// Time until the last byte of a file arrived (mean over connections), s; none if there is no
    /// file or a file is incomplete.
    pub completion_s: Option<f64>,
    /// Delay of messages, writes or answers, from the write (or request) to complete in-order
    /// arrival, s.
    pub delay: Option<DelayStats>,
    /// The longest time in the measured interval without a byte delivered in order while data
    /// waited, of any connection under test, s. None if the engine does not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longest_stall_s: Option<f64>,
    /// How many writes or answers met each deadline of [`DEADLINES_S`] that fits into the measured
    /// interval, shortest deadline first. Empty for files and bulk data, and if the engine does not
    /// report it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub punctuality: Vec<Punctuality>,
    /// Copies of segments, on the same or another subflow, divided by all data segments sent in the
    /// measured interval, 0 to 1. Copies of segments that first left before it do not count.
    pub retransmission_ratio: f64,
    /// Per path, in the scenario's order.
    pub paths: Vec<PathResult>,
    /// Total goodput of the competitors, bit/s.
    pub competitors_bps: f64,
    /// Total goodput of each group of competitors, in the scenario's order, bit/s; empty if the
    /// engine does not separate them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub competitor_groups_bps: Vec<f64>,
    /// Goodput of each connection under test, bit/s.
    pub connections_bps: Vec<f64>,
    /// Reception in blocks of 100 segments; none if the engine has no segments, and for workloads
    /// other than bulk and file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks: Option<BlockStats>,
    /// Segments that wait out of order at the receivers, weighted by time; none if the engine has
    /// no segments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receive_buffer: Option<Spread>,
    /// Shared channels, in the scenario's order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub channels: Vec<ChannelResult>,
    /// TCP relays, in the order of the scenario's paths.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub relays: Vec<RelayResult>,
    /// Counters of each link, in the scenario's order. Empty unless requested from the packet
    /// engine, and in a topology.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<LinkResult>,
    /// Traffic and energy of the network between the hosts; only in a topology.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<NetworkResult>,
    /// Counters of the engine.
    pub counters: Counters,
    /// Time series, if requested.
    pub series: Option<Series>,
}

/// Events on a shared channel during the whole run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ChannelResult {
    /// Its name.
    pub name: String,
    /// Transmissions of frames, without ACKs.
    pub transmissions: u64,
    /// Share of the transmissions that collided.
    pub collision_ratio: f64,
    /// Frames that arrived.
    pub delivered: u64,
    /// Frames that the MAC layer gave up; a TCP relay retransmits them.
    pub given_up: u64,
    /// Frames dropped because the station's queue was full.
    pub queue_drops: u64,
    /// Mean time from when a frame became its station's oldest to the start of its successful
    /// transmission, s.
    pub mean_access_s: f64,
    /// Share of the time with frames or ACKs on the air.
    pub busy_ratio: f64,
}

/// Buffer of a TCP relay over the whole run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RelayResult {
    /// Name of its path.
    pub path: String,
    /// Mean over time (and connections), segments.
    pub mean_buffer: f64,
    /// Maximum, segments.
    pub max_buffer: f64,
}

/// Counters of one unidirectional link in the measured interval.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LinkResult {
    /// Name in the scenario.
    pub name: String,
    /// Packets offered to the link: data, ACKs, cross traffic.
    pub offered: u64,
    /// Packets dropped by its queue.
    pub queue_drops: u64,
    /// Packets lost after the queue, at random or in an outage.
    pub wire_losses: u64,
    /// Packets marked by its queue (ECN).
    pub marked: u64,
    /// Time average of the number of waiting packets, without the packet in transmission.
    pub mean_queue: f64,
}

impl LinkResult {
    /// Share of the offered packets that were lost, 0 to 1.
    pub fn loss_ratio(&self) -> f64 {
        if self.offered == 0 {
            0.0
        } else {
            (self.queue_drops + self.wire_losses) as f64 / self.offered as f64
        }
    }
}

/// Network of a topology in the measured interval. Links are unidirectional.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NetworkResult {
    /// Energy of the switches' ports without traffic: P_idle, J.
    pub idle_j: f64,
    /// Additional energy due to traffic: (P_max − P_idle) × utilisation, J.
    pub traffic_j: f64,
    /// Time average of U_ep of 002, section V-C: Σ (Q − Q̄)⁺ + ρ Σ y over links between switches,
    /// packets.
    pub price_packets: f64,
    /// Layers of links, from the hosts up.
    pub layers: Vec<LayerResult>,
}

impl NetworkResult {
    /// Energy of the switches, J.
    pub fn energy_j(&self) -> f64 {
        self.idle_j + self.traffic_j
    }
}

/// The links of one layer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LayerResult {
    /// `host-edge`, `edge-aggregation`, …
    pub name: String,
    /// Number of links.
    pub links: u32,
    /// Share of the time in which the links send, 0 to 1: mean over the links.
    pub utilisation: f64,
    /// Utilisation of the busiest link.
    pub busiest: f64,
}

/// Energy by cause, J.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EnergySplit {
    /// Power that does not depend on traffic: θ or β, idle power, shared base, host idle.
    pub sunk_j: f64,
    /// Energy proportional to traffic.
    pub transfer_j: f64,
    /// Promotions and tails.
    pub tail_j: f64,
}

impl EnergySplit {
    /// Sum of the parts.
    pub fn total_j(&self) -> f64 {
        self.sunk_j + self.transfer_j + self.tail_j
    }
}

/// Distribution of a delay, s.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DelayStats {
    /// Number of complete messages, writes or answers.
    pub count: u64,
    /// Mean, s.
    pub mean_s: f64,
    /// Median, s.
    pub p50_s: f64,
    /// 95th percentile, s.
    pub p95_s: f64,
    /// 99th percentile, s.
    pub p99_s: f64,
    /// Maximum, s.
    pub max_s: f64,
}

impl DelayStats {
    /// Statistics of delays in s; none for an empty list.
    #[inline]
    pub fn of(mut delays_s: Vec<f64>) -> Option<Self> {
        if delays_s.is_empty() {
            return None;
        }
        delays_s.sort_by(f64::total_cmp);
        Some(DelayStats {
            count: delays_s.len() as u64,
            mean_s: delays_s.iter().sum::<f64>() / delays_s.len() as f64,
            p50_s: nearest(&delays_s, 0.5),
            p95_s: nearest(&delays_s, 0.95),
            p99_s: nearest(&delays_s, 0.99),
            max_s: nearest(&delays_s, 1.0),
        })
    }
}

/// Distribution of a quantity.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// Mean.
    pub mean: f64,
    /// Least.
    pub min: f64,
    /// 5th percentile.
    pub p5: f64,
    /// Median.
    pub p50: f64,
    /// 95th percentile.
    pub p95: f64,
    /// Largest.
    pub max: f64,
}

impl Spread {
    /// Distribution of weighted values; none if the weights sum to 0. A percentile is the smallest
    /// value such that at least this share of the weight is at or below it.
    #[inline]
    pub fn of(mut weighted: Vec<(f64, f64)>) -> Option<Self> {
        weighted.retain(|&(_, weight)| weight > 0.0);
        weighted.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (min, max) = (weighted.first()?.0, weighted.last()?.0);
        let total: f64 = weighted.iter().map(|&(_, weight)| weight).sum();
        let percentile = |q: f64| {
            let mut below = 0.0;
            let reached = |&&(_, weight): &&(f64, f64)| {
                below += weight;
                below >= q * total
            };
            weighted
                .iter()
                .find(reached)
                .map_or(max, |&(value, _)| value)
        };
        Some(Spread {
            mean: weighted
                .iter()
                .map(|&(value, weight)| value * weight)
                .sum::<f64>()
                / total,
            min,
            p5: percentile(0.05),
            p50: percentile(0.5),
            p95: percentile(0.95),
            max,
        })
    }
}

/// Reception in blocks of consecutive segments (004, section IV).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct BlockStats {
    /// Segments per block.
    pub segments: u32,
    /// Number of complete blocks.
    pub count: u64,
    /// Payload of a block divided by the time between the arrivals of its first and last segment,
    /// in any order, bit/s (004, eq. 1).
    pub goodput_bps: Spread,
    /// Segments at or after the block's first that have arrived when the block is complete: the
    /// size of a buffer that is emptied block by block.
    pub buffer: Spread,
}

/// One path's share of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PathResult {
    /// Path name.
    pub name: String,
    /// Share of the payload that arrived over this path (first copies), 0 to 1.
    pub share: f64,
    /// Payload whose first copy arrived over this path, bit/s.
    pub goodput_bps: f64,
    /// Energy of its interfaces, J.
    pub energy_j: f64,
    /// Data segments sent, retransmissions included.
    pub segments: u64,
    /// Retransmitted segments.
    pub retransmissions: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Mean of all RTT samples, s.
    pub mean_rtt_s: Option<f64>,
    /// Time-average congestion window, packets.
    pub mean_cwnd: f64,
    /// Loss events (fast retransmits, ECN reductions and timeouts) per data segment.
    pub loss_event_rate: f64,
}

/// Work done by the engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Packets that reached the far end of a link.
    pub packet_hops: u64,
    /// Events processed.
    pub events: u64,
    /// Packets dropped by full queues.
    pub queue_drops: u64,
    /// Packets lost on the wire.
    pub wire_losses: u64,
}

/// The part of a run over which a connection is averaged: from its start or the end of the warm-up,
/// to its end. A connection that ends before the warm-up does is averaged from its start.
pub fn measured<T: PartialOrd + Copy>(start: T, warm_up: T, end: T) -> Range<T> {
    let is_later = warm_up > start && end > warm_up;
    (if is_later { warm_up } else { start })..end
}

/// Length of the union of intervals.
pub fn active<T>(intervals: impl IntoIterator<Item = Range<T>>) -> T
where
    T: PartialOrd + Copy + Default + Add<Output = T> + Sub<Output = T>,
{
    let mut intervals: Vec<Range<T>> = intervals
        .into_iter()
        .filter(|one| one.end > one.start)
        .collect();
    intervals.sort_by(|a, b| a.start.partial_cmp(&b.start).unwrap_or(Ordering::Equal));
    let mut active = T::default();
    let mut reached = None;
    for Range { start, end } in intervals {
        let from = reached.filter(|reached| *reached > start).unwrap_or(start);
        if end > from {
            active = active + (end - from);
            reached = Some(end);
        }
    }
    active
}

/// Samples over time, all at the same times. Inner vectors are by path, in the scenario's order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Times, s.
    pub time_s: Vec<f64>,
    /// Goodput since the previous sample, bit/s.
    pub goodput_bps: Vec<Vec<f64>>,
    /// Congestion window, packets.
    pub cwnd: Vec<Vec<f64>>,
    /// Smoothed RTT, s; 0 before the first sample.
    pub rtt_s: Vec<Vec<f64>>,
    /// Queue of the path's slowest link towards the receiver of the data, packets.
    pub queue: Vec<Vec<f64>>,
    /// Mean power of the interface since the previous sample, W.
    pub power_w: Vec<Vec<f64>>,
    /// Segments that wait out of order at the receivers; empty if the engine has no segments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub receive_buffer: Vec<f64>,
    /// Blocks of the first connection, at times of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks: Option<BlockSeries>,
}

/// Blocks of consecutive segments in order of completion: all blocks, or in a long run every
/// second, fourth, …
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BlockSeries {
    /// Completion times, s.
    pub time_s: Vec<f64>,
    /// As [`BlockStats::goodput_bps`].
    pub goodput_bps: Vec<f64>,
    /// As [`BlockStats::buffer`].
    pub buffer: Vec<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2 to 5 and 4 to 6 overlap, 9 to 10 is apart, 3 to 4 is within: 4 + 1.
    #[test]
    fn time_in_which_several_connections_are_active_counts_once() {
        assert_eq!(active([4_u64..6, 2..5, 9..10, 3..4, 7..7]), 5);
        assert_eq!(active::<f64>([]), 0.0);
        assert_eq!(measured(3, 5, 8), 5..8);
        assert_eq!(measured(6, 5, 8), 6..8);
        // Complete before the end of the warm-up.
        assert_eq!(measured(1, 5, 4), 1..4);
    }
}
