use joulepath_model::quantile::nearest_unsorted;
use joulepath_model::units::Nanos;
use serde::{Deserialize, Serialize};

use crate::params::Params;
use crate::receiver::Delivered;

/// The result of one run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SlottedResult {
    /// `so-mptcp`, `emptcp` or `mptcp`.
    pub policy: String,
    /// V of so-MPTCP, packets per J/Mbit.
    pub v: Option<f64>,
    /// λ, Mbit/s.
    pub load_mbps: f64,
    /// Seed of the random streams.
    pub seed: u64,
    /// Names of the paths, in the order of every list by path.
    pub paths: Vec<String>,
    /// Averages after the warm-up.
    pub means: Means,
    /// Values over time.
    pub series: Series,
    /// Location of the packets at the end.
    pub ledger: Ledger,
}

/// Averages after the warm-up.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Means {
    /// Data delivered in order, Mbit/s.
    pub throughput_mbps: f64,
    /// Mean time from the write of a packet to its in-order delivery, s; `None` if no packet was
    /// delivered.
    pub delay_s: Option<f64>,
    /// Median of this time, s.
    pub delay_median_s: Option<f64>,
    /// 95th percentile of this time, s.
    pub delay_p95_s: Option<f64>,
    /// Energy cost, J/s.
    pub power_w: f64,
    /// Energy per delivered data, J/Mbit; `None` if no data was delivered.
    pub j_per_mbit: Option<f64>,
    /// Backlog Q of the sender at the end of slots, packets.
    pub backlog_packets: f64,
    /// Virtual queues W_i, packets; 0 for policies without them.
    pub virtual_queue_packets: Vec<f64>,
    /// Packets that wait at the subflows for their windows.
    pub waiting_packets: Vec<f64>,
    /// Windows w_i, packets.
    pub window_packets: Vec<f64>,
    /// x̄_i = (1 − p) w Δt/τ, Mbit/s.
    pub capacity_mbps: Vec<f64>,
    /// Data taken from the backlog, Mbit/s.
    pub given_mbps: Vec<f64>,
    /// B = ½ [(a − Σ x)² + Σ (x − x̄)²] of 003, eq. (23), packets².
    pub drift: f64,
}

/// A value for each second of the run. The last second may be shorter.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// End of the second, s.
    pub time_s: Vec<f64>,
    /// Data delivered in order, Mbit/s.
    pub throughput_mbps: Vec<f64>,
    /// Mean delay of the delivered packets, s; `None` if there were none.
    pub delay_s: Vec<Option<f64>>,
    /// Energy cost, J/s.
    pub power_w: Vec<f64>,
    /// Q at the end of the second, packets.
    pub backlog_packets: Vec<f64>,
    /// W_i at the end of the second, packets, one list for each path.
    pub virtual_queue_packets: Vec<Vec<f64>>,
    /// Windows at the end of the second, packets, one list for each path.
    pub window_packets: Vec<Vec<f64>>,
}

/// Location of the packets at the end: `written` is the sum of the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ledger {
    /// Packets that the application has written.
    pub written: u64,
    /// Packets in the sender's backlog.
    pub backlog: u64,
    /// Packets that wait at a subflow, or were lost and not retransmitted yet.
    pub at_subflows: u64,
    /// Arrived packets that wait for an earlier one.
    pub out_of_order: u64,
    /// Packets that have arrived in order, or will without further loss.
    pub in_order: u64,
}

/// State at the end of a slot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SlotState<'a> {
    /// End of the slot, s.
    pub(crate) end_s: f64,
    pub(crate) energy_j: f64,
    pub(crate) backlog: usize,
    pub(crate) arrivals: usize,
    /// One entry per path.
    pub(crate) paths: &'a [PathSlot],
}

/// A path in a slot: packets given, x̄, W, w, packets waiting.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PathSlot {
    pub(crate) given: f64,
    pub(crate) capacity: f64,
    pub(crate) virtual_queue: f64,
    pub(crate) window: f64,
    pub(crate) waiting: f64,
}

/// Sums during a run.
pub(crate) struct Recorder {
    warm_up_s: f64,
    duration_s: f64,
    slot_s: f64,
    packet_mbit: f64,
    /// Sums over the slots after the warm-up; they become means at the end.
    sums: Means,
    energy_j: f64,
    slots: f64,
    delays_s: Vec<f64>,
    delay_sums: Vec<(f64, u64)>,
    energy_bins: Vec<f64>,
    series: Series,
}

impl Recorder {
    pub(crate) fn new(params: &Params) -> Self {
        let n = params.paths.len();
        let duration_s = slots(params) as f64 * params.slot.as_secs_f64();
        let bins = duration_s.ceil() as usize;
        let zeros = vec![0.0; n];
        let end = |bin: usize| (bin as f64 + 1.0).min(duration_s);
        Recorder {
            warm_up_s: params.warm_up.as_secs_f64(),
            duration_s,
            slot_s: params.slot.as_secs_f64(),
            packet_mbit: params.packet_bits() / 1e6,
            sums: Means {
                virtual_queue_packets: zeros.clone(),
                waiting_packets: zeros.clone(),
                window_packets: zeros.clone(),
                capacity_mbps: zeros.clone(),
                given_mbps: zeros,
                ..Means::default()
            },
            energy_j: 0.0,
            slots: 0.0,
            delays_s: vec![],
            delay_sums: vec![(0.0, 0); bins],
            energy_bins: vec![0.0; bins],
            series: Series {
                time_s: (0..bins).map(end).collect(),
                backlog_packets: vec![0.0; bins],
                virtual_queue_packets: vec![vec![0.0; bins]; n],
                window_packets: vec![vec![0.0; bins]; n],
                ..Series::default()
            },
        }
    }

    pub(crate) fn delivered(&mut self, packet: Delivered) {
        if packet.at_s >= self.duration_s {
            return;
        }
        let delay_s = packet.at_s - packet.written_s;
        let bin = &mut self.delay_sums[packet.at_s as usize];
        *bin = (bin.0 + delay_s, bin.1 + 1);
        if packet.at_s >= self.warm_up_s {
            self.delays_s.push(delay_s);
        }
    }

    pub(crate) fn slot(&mut self, slot: SlotState) {
        // A slot belongs to the second that contains its middle.
        let middle_s = slot.end_s - self.slot_s / 2.0;
        let bin = middle_s as usize;
        self.energy_bins[bin] += slot.energy_j;
        self.series.backlog_packets[bin] = slot.backlog as f64;
        for (i, path) in slot.paths.iter().enumerate() {
            self.series.virtual_queue_packets[i][bin] = path.virtual_queue;
            self.series.window_packets[i][bin] = path.window;
        }
        if middle_s < self.warm_up_s {
            return;
        }
        self.slots += 1.0;
        self.energy_j += slot.energy_j;
        let (sums, mut given, mut squares) = (&mut self.sums, 0.0, 0.0);
        sums.backlog_packets += slot.backlog as f64;
        for (i, path) in slot.paths.iter().enumerate() {
            sums.virtual_queue_packets[i] += path.virtual_queue;
            sums.waiting_packets[i] += path.waiting;
            sums.window_packets[i] += path.window;
            sums.capacity_mbps[i] += path.capacity;
            sums.given_mbps[i] += path.given;
            given += path.given;
            squares += (path.given - path.capacity) * (path.given - path.capacity);
        }
        let change = slot.arrivals as f64 - given;
        sums.drift += 0.5 * (change * change + squares);
    }

    pub(crate) fn finish(mut self) -> (Means, Series) {
        let measured_s = self.slots * self.slot_s;
        let mut means = self.sums;
        let per_slot = |sum: &mut f64| *sum /= self.slots;
        let mbps = self.packet_mbit / self.slot_s;
        [&mut means.backlog_packets, &mut means.drift]
            .into_iter()
            .for_each(per_slot);
        [
            &mut means.virtual_queue_packets,
            &mut means.waiting_packets,
            &mut means.window_packets,
        ]
        .into_iter()
        .flatten()
        .for_each(per_slot);
        for sum in means.capacity_mbps.iter_mut().chain(&mut means.given_mbps) {
            *sum *= mbps / self.slots;
        }
        let delivered_mbit = self.delays_s.len() as f64 * self.packet_mbit;
        means.power_w = self.energy_j / measured_s;
        means.throughput_mbps = delivered_mbit / measured_s;
        if !self.delays_s.is_empty() {
            let delays = &mut self.delays_s;
            means.delay_s = Some(delays.iter().sum::<f64>() / delays.len() as f64);
            means.delay_median_s = Some(nearest_unsorted(delays, 0.5));
            means.delay_p95_s = Some(nearest_unsorted(delays, 0.95));
            means.j_per_mbit = Some(self.energy_j / delivered_mbit);
        }
        let mut series = self.series;
        for (bin, &end_s) in series.time_s.iter().enumerate() {
            let (sum_s, count) = self.delay_sums[bin];
            let width_s = end_s - bin as f64;
            series
                .throughput_mbps
                .push(count as f64 * self.packet_mbit / width_s);
            series
                .delay_s
                .push((count > 0).then(|| sum_s / count as f64));
            series.power_w.push(self.energy_bins[bin] / width_s);
        }
        (means, series)
    }
}

/// Number of whole slots of a run.
pub(crate) fn slots(params: &Params) -> u64 {
    let Nanos(duration) = params.duration;
    duration / params.slot.0
}
