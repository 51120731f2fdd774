//! What a run yields, and what a comparison of policies shows. One schema for all engines.

mod over_time;
mod punctuality;

use serde::{Deserialize, Serialize};

use crate::quantile::nearest;

pub use over_time::{Band, OverTime};
pub use punctuality::{DEADLINES_S, Delivery, Punctuality};

/// Outcome of one run: scenario × policy × engine × seed. Sums over the connections under test.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunResult {
    /// As the user wrote it.
    pub policy: String,
    /// The run's seed.
    pub seed: u64,
    /// Time over which rates and power are taken, in s: the measured interval, or until a file was complete.
    pub measured_s: f64,
    /// In-order data delivered to the application per second, bit/s.
    pub goodput_bps: f64,
    /// Energy of the devices in the measured interval, J.
    pub energy_j: f64,
    /// Mean power, W.
    pub power_w: f64,
    /// In-order data per joule, bit/J.
    pub bits_per_joule: f64,
    /// Where the energy went.
    pub energy_split: EnergySplit,
    /// Time until the last byte of a file arrived (mean over connections), s; none if there is no file or one
    /// did not complete.
    pub completion_s: Option<f64>,
    /// Delay of messages, writes or answers from the write (or the request) to complete in-order arrival, s.
    pub delay: Option<DelayStats>,
    /// How many of these came in time, for each deadline of [`DEADLINES_S`] that fits into the measured
    /// interval, the shortest first; empty for files and bulk data, and where the engine does not say.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub punctuality: Vec<Punctuality>,
    /// Segments sent again on their subflow or on another one, divided by all data segments sent.
    pub retransmission_ratio: f64,
    /// Per path, in the scenario's order.
    pub paths: Vec<PathResult>,
    /// Goodput of the competitors together, bit/s.
    pub competitors_bps: f64,
    /// Goodput of each group of competitors, all of its connections together, in the scenario's order, bit/s;
    /// empty where the engine does not tell them apart.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub competitor_groups_bps: Vec<f64>,
    /// Goodput of each connection under test, bit/s.
    pub connections_bps: Vec<f64>,
    /// Reception in blocks of 100 segments; none where the engine does not see segments, and for workloads
    /// other than bulk and file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks: Option<BlockStats>,
    /// Segments that wait out of order at the receivers, weighted by time; none where the engine does not see
    /// segments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receive_buffer: Option<Spread>,
    /// Shared channels, in the scenario's order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub channels: Vec<ChannelResult>,
    /// TCP relays, in the order of the scenario's paths.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub relays: Vec<RelayResult>,
    /// What each link did, in the scenario's order; only where the packet engine was asked for it, and not in
    /// a topology.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<LinkResult>,
    /// What the network between the hosts did and burnt; only in a topology.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<NetworkResult>,
    /// Counters of the engine.
    pub counters: Counters,
    /// Time series, where they were asked for.
    pub series: Option<Series>,
}

/// What happened on a shared channel in the whole run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ChannelResult {
    /// Its name.
    pub name: String,
    /// Transmissions of frames, ACKs not counted.
    pub transmissions: u64,
    /// Part of them that met another one.
    pub collision_ratio: f64,
    /// Frames that arrived.
    pub delivered: u64,
    /// Frames that the MAC layer gave up; a TCP relay sends them again.
    pub given_up: u64,
    /// Frames that found a full station.
    pub queue_drops: u64,
    /// Mean time from when a frame was its station's oldest to the start of the transmission that arrived, s.
    pub mean_access_s: f64,
    /// Part of the time in which frames or ACKs were on the air.
    pub busy_ratio: f64,
}

/// The buffer of a TCP relay in the whole run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RelayResult {
    /// Name of its path.
    pub path: String,
    /// Mean over time (and connections), segments.
    pub mean_buffer: f64,
    /// Maximum, segments.
    pub max_buffer: f64,
}

/// What one unidirectional link did in the measured interval.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LinkResult {
    /// Its name in the scenario.
    pub name: String,
    /// Packets that were offered to it: data, ACKs, cross traffic.
    pub offered: u64,
    /// Those that its queue dropped.
    pub queue_drops: u64,
    /// Those that were lost after the queue, by chance or in an outage.
    pub wire_losses: u64,
    /// Those that its queue marked (ECN).
    pub marked: u64,
    /// Time average of the packets that wait, the one in transmission not counted.
    pub mean_queue: f64,
}

impl LinkResult {
    /// Packets lost of those offered, 0 to 1.
    pub fn loss_ratio(&self) -> f64 {
        if self.offered == 0 {
            0.0
        } else {
            (self.queue_drops + self.wire_losses) as f64 / self.offered as f64
        }
    }
}

/// The network of a topology in the measured interval. Links are unidirectional.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NetworkResult {
    /// Energy of the switches' ports without traffic: P_idle, J.
    pub idle_j: f64,
    /// What traffic adds: (P_max − P_idle) × utilisation, J.
    pub traffic_j: f64,
    /// Time average of U_ep of 002, section V-C: Σ (Q − Q̄)⁺ + ρ Σ y over links between switches, packets.
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
    /// How many.
    pub links: u32,
    /// Part of the time in which they send, 0 to 1: mean over the links.
    pub utilisation: f64,
    /// That of the busiest one.
    pub busiest: f64,
}

/// Energy by cause, J.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EnergySplit {
    /// Power that burns whether data flows or not: θ or β, idle power, shared base, host idle.
    pub sunk_j: f64,
    /// Proportional to traffic.
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
    /// How many were complete.
    pub count: u64,
    /// Mean.
    pub mean_s: f64,
    /// Median.
    pub p50_s: f64,
    /// 95th percentile.
    pub p95_s: f64,
    /// 99th percentile.
    pub p99_s: f64,
}

impl DelayStats {
    /// Statistics of delays, s; none if there are none.
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
    /// Of values with weights; none if the weights sum to 0. A percentile is the least value that at least so
    /// much of the weight does not exceed.
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
            weighted.iter().find(reached).map_or(max, |&(value, _)| value)
        };
        Some(Spread {
            mean: weighted.iter().map(|&(value, weight)| value * weight).sum::<f64>() / total,
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
    /// Segments in a block.
    pub segments: u32,
    /// Complete blocks.
    pub count: u64,
    /// A block's payload divided by the time from the arrival of its first segment, in order or not, to that
    /// of its last, bit/s (004, eq. 1).
    pub goodput_bps: Spread,
    /// Segments from the block's first on that have arrived when the block is complete: what a buffer must
    /// hold that is emptied block by block.
    pub buffer: Spread,
}

/// One path's part in a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PathResult {
    /// Path name.
    pub name: String,
    /// Part of the payload that arrived over this path (first copies), 0 to 1.
    pub share: f64,
    /// Payload that arrived first over this path, bit/s.
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

/// What the engine did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Packets that reached the far end of a link.
    pub packet_hops: u64,
    /// Events taken from the queue.
    pub events: u64,
    /// Packets dropped by full queues.
    pub queue_drops: u64,
    /// Packets lost on the wire.
    pub wire_losses: u64,
}

/// Samples over time, all on the same instants. Inner vectors are by path, in the scenario's order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Instants, s.
    pub time_s: Vec<f64>,
    /// Goodput since the previous instant, bit/s.
    pub goodput_bps: Vec<Vec<f64>>,
    /// Congestion window, packets.
    pub cwnd: Vec<Vec<f64>>,
    /// Smoothed RTT, s; 0 before the first sample.
    pub rtt_s: Vec<Vec<f64>>,
    /// Queue of the path's slowest link in the data direction, packets.
    pub queue: Vec<Vec<f64>>,
    /// Mean power of the interface since the previous instant, W.
    pub power_w: Vec<Vec<f64>>,
    /// Segments that wait out of order at the receivers; empty where the engine does not see segments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub receive_buffer: Vec<f64>,
    /// The blocks of the first connection, at instants of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks: Option<BlockSeries>,
}

/// Blocks of consecutive segments in the order of their completion: all of them, or every second, fourth, …
/// of a long run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BlockSeries {
    /// When the block was complete, s.
    pub time_s: Vec<f64>,
    /// As [`BlockStats::goodput_bps`].
    pub goodput_bps: Vec<f64>,
    /// As [`BlockStats::buffer`].
    pub buffer: Vec<f64>,
}

/// Mean with a confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Mean over seeds.
    pub mean: f64,
    /// Lower end of the 95 % interval.
    pub lo: f64,
    /// Upper end of the 95 % interval.
    pub hi: f64,
}

/// What `compare` yields.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Title and identity of the scenario.
    pub scenario: ScenarioRef,
    /// Engine name.
    pub engine: String,
    /// Number of seeds asked for.
    pub seeds: u32,
    /// How to get the same numbers again.
    pub manifest: Manifest,
    /// What would be possible.
    pub limits: Vec<Limit>,
    /// One per policy.
    pub rows: Vec<Row>,
    /// What a reader has to know of how the engine ran it, one sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Whether some runs are missing (interrupted).
    pub partial: bool,
}

/// The scenario that was compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScenarioRef {
    /// Title.
    pub title: String,
    /// File as given, or the name of a shipped scenario.
    pub file: String,
    /// Paper, section, table.
    pub source: Option<String>,
    /// Simulated seconds.
    pub duration_s: f64,
    /// Path names.
    pub paths: Vec<String>,
    /// `bulk`, `file`, `messages`, `stream`, `requests`, or `mixed`.
    pub workload: String,
    /// TCP connections that compete at a bottleneck of all paths: see
    /// [`Scenario::rivals`](crate::scenario::Scenario::rivals).
    #[serde(default)]
    pub rivals: u32,
}

/// Which program made a result, and what it was asked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provenance {
    /// Version of Joulepath.
    pub version: String,
    /// Commit that it was built from, `-dirty` appended if the tree was changed; `unknown` outside a
    /// repository.
    pub commit: String,
    /// The command line, or what stands for it.
    pub command: String,
}

/// How to get the same numbers again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// SHA-256 of the scenario file and of the traces that it names.
    pub scenario_sha256: String,
    /// Version of Joulepath.
    pub version: String,
    /// Commit that it was built from, `-dirty` appended if the tree was changed; `unknown` outside a
    /// repository.
    pub commit: String,
    /// The seeds, in order.
    pub seeds: Vec<u64>,
    /// The command line.
    pub command: String,
}

/// The best that any rates could reach.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Limit {
    /// `tcp-friendly` or `link`.
    pub kind: String,
    /// For humans: which interfaces, which rates.
    pub label: String,
    /// Paths that carry data in the optimum.
    pub paths: Vec<String>,
    /// Rate on each path of the scenario, bit/s.
    pub rates_bps: Vec<f64>,
    /// Capacity of each path that was assumed, bit/s.
    pub capacities_bps: Vec<f64>,
    /// Total rate, bit/s.
    pub goodput_bps: f64,
    /// Mean power, W.
    pub power_w: f64,
    /// Best reachable efficiency, bit/J.
    pub bits_per_joule: f64,
    /// For a file: least energy, J.
    pub energy_j: Option<f64>,
}

/// One policy's line of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// As the user wrote it.
    pub policy: String,
    /// For humans, with `(recon.)` where a part is reconstructed.
    pub label: String,
    /// What it is made of.
    pub parts: String,
    /// Whether each of its subflows is a TCP of its own: n of them take the share of n TCPs where they meet
    /// at one bottleneck.
    #[serde(default)]
    pub uncoupled: bool,
    /// Number of runs that the estimates are of.
    pub n: u32,
    /// Whether two or more runs differ in nothing but the seed: nothing in them was left to chance, and the
    /// ends of an interval are the mean.
    #[serde(default)]
    pub deterministic: bool,
    /// In-order data per second, bit/s.
    pub goodput_bps: Estimate,
    /// Mean power, W.
    pub power_w: Estimate,
    /// Energy, J.
    pub energy_j: Estimate,
    /// Efficiency, bit/J.
    pub bits_per_joule: Estimate,
    /// Efficiency divided by the first policy's.
    pub ratio: f64,
    /// 95 % interval of the ratio, seeds paired; none for the first policy and where fewer than two seeds are
    /// common to both.
    pub ratio_interval: Option<Estimate>,
    /// Completion time of files, s, over the runs in which every file was complete.
    pub completion_s: Option<Estimate>,
    /// Number of those runs; none if there is no file.
    pub completed: Option<u32>,
    /// Mean delay of messages, s.
    pub delay_s: Option<Estimate>,
    /// 95th percentile of the delay, s (mean over seeds).
    pub delay_p95_s: Option<Estimate>,
    /// Efficiency divided by the TCP-friendly limit's.
    pub limit_share: Option<f64>,
    /// Efficiency divided by the limit's under the links' own rates.
    pub limit_share_link: Option<f64>,
    /// Retransmitted part of the segments.
    pub retransmission_ratio: Estimate,
    /// Goodput of the competitors, bit/s.
    pub competitors_bps: Option<Estimate>,
    /// Mean goodput of a connection under test over that of one of the scenario's rivals, seeds paired; none
    /// without rivals.
    #[serde(default)]
    pub tcp_share: Option<Estimate>,
    /// Energy of the network's switches, J; only in a topology.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network_j: Option<Estimate>,
    /// The network, means over seeds; only in a topology.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<NetworkResult>,
    /// Mean energy by cause.
    pub energy_split: EnergySplit,
    /// Per path.
    pub paths: Vec<PathRow>,
    /// Over time, for the report; none where no series were recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over_time: Option<OverTime>,
    /// Every run of the row, without series.
    #[serde(skip)]
    pub runs: Vec<RunResult>,
}

/// One path's part in a row: means over seeds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PathRow {
    /// Path name.
    pub name: String,
    /// Part of the payload, 0 to 1.
    pub share: f64,
    /// Payload per second, bit/s.
    pub goodput_bps: f64,
    /// Energy of the interface, J.
    pub energy_j: f64,
    /// Mean RTT, s.
    pub mean_rtt_s: Option<f64>,
    /// Mean window, packets.
    pub mean_cwnd: f64,
    /// Timeouts per run.
    pub timeouts: f64,
}
