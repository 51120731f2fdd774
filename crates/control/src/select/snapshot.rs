//! The inputs of a selector: the paths of a connection at one instant, and the application's
//! demand.

use joulepath_model::energy::DeviceEnergy;
use joulepath_model::history::PathHistory;
use joulepath_model::scenario::Workload;
use joulepath_model::units::Nanos;

use crate::energy::PathEnergy;

/// Assumed rate of a path that has never carried data, bit/s, only for comparing costs.
pub(super) const UNTRIED_BPS: f64 = 10e6;

/// State of the subflow on a path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PathState {
    /// There is no subflow.
    #[default]
    Closed,
    /// The handshake is in progress.
    Opening,
    /// It may carry data.
    Open,
    /// It retransmits lost data and accepts no new data.
    Closing,
}

/// One path, with estimates that outlive its subflow.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PathSnapshot {
    /// State of its subflow.
    pub state: PathState,
    /// Whether the subflow is a backup, as the data's sender sees it.
    pub backup: bool,
    /// Whether it answers; false for a while after it has stalled.
    pub usable: bool,
    /// Smoothed RTT, s; 0 before the first sample.
    pub srtt_s: f64,
    /// Congestion window, packets; the last value if there is no subflow.
    pub cwnd: f64,
    /// Delivered rate, smoothed, bit/s.
    pub rate_bps: f64,
    /// Latest rate while more data waited, bit/s; `None` if it carried nothing or no more data
    /// waited.
    pub busy_bps: Option<f64>,
    /// Smoothed rate while more data waited: its capacity, bit/s; 0 if unknown.
    pub capacity_bps: f64,
    /// Loss events per packet; 0 before the first.
    pub loss: f64,
    /// Payload delivered, bytes.
    pub delivered_bytes: u64,
    /// Energy cost of its interface, at the mean signal and rate of the run if its power follows a
    /// signal.
    pub energy: PathEnergy,
    /// History of its network; empty if it was never used.
    pub history: PathHistory,
}

impl PathSnapshot {
    /// Energy per bit at its capacity, J/bit.
    pub fn cost(&self) -> f64 {
        let rate_bps = if self.capacity_bps > 0.0 {
            self.capacity_bps
        } else {
            UNTRIED_BPS
        };
        self.energy.per_bit(rate_bps)
    }
}

/// Demand of the application.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Demand {
    /// Endless data, more than any path can carry.
    Endless,
    /// Bytes written and not yet delivered.
    Bytes(f64),
}

impl Demand {
    /// The demand known before the connection opens.
    pub fn before(workload: Workload) -> Self {
        match workload {
            Workload::Bulk => Demand::Endless,
            Workload::File { size } => Demand::Bytes(size.0 as f64),
            _ => Demand::Bytes(0.0),
        }
    }
}

/// A connection at one instant.
#[derive(Clone, Copy, Debug)]
pub struct Snapshot<'a> {
    /// Present time.
    pub now: Nanos,
    /// Payload of a full segment, bytes.
    pub mss_bytes: f64,
    /// Initial window, packets.
    pub initial_window: f64,
    /// Receive buffer of the connection, shared by its paths, bytes; infinite if unknown.
    pub receive_window: f64,
    /// Power of the device apart from its interfaces: shared base, sharing factor, host.
    pub device: &'a DeviceEnergy,
    /// Data that waits.
    pub demand: Demand,
    /// The paths, in the order of the connection.
    pub paths: &'a [PathSnapshot],
}

impl Snapshot<'_> {
    /// Indices of the usable paths; all paths if none is usable.
    pub(super) fn usable(&self) -> Vec<usize> {
        let all = 0..self.paths.len();
        let usable: Vec<usize> = all.clone().filter(|&i| self.paths[i].usable).collect();
        if usable.is_empty() {
            all.collect()
        } else {
            usable
        }
    }

    pub(super) fn by_cost(&self) -> Vec<usize> {
        let mut order = self.usable();
        order.sort_by(|&i, &j| self.paths[i].cost().total_cmp(&self.paths[j].cost()));
        order
    }
}
