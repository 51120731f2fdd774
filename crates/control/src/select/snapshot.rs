//! What a selector sees: the paths of a connection at one instant, and what the application wants.

use joulepath_model::energy::DeviceEnergy;
use joulepath_model::history::PathHistory;
use joulepath_model::scenario::Workload;
use joulepath_model::units::Nanos;

use crate::energy::PathEnergy;

/// Rate of a path that has never carried anything, bit/s: for comparing costs only.
pub(super) const UNTRIED_BPS: f64 = 10e6;

/// Life of the subflow on a path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PathState {
    /// There is none.
    #[default]
    Closed,
    /// Its handshake goes on.
    Opening,
    /// It may carry data.
    Open,
    /// It repeats what was lost and takes nothing new.
    Closing,
}

/// One path, with estimates that outlive its subflow.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PathSnapshot {
    /// Life of its subflow.
    pub state: PathState,
    /// The subflow is a backup, as the sender of data sees it.
    pub backup: bool,
    /// It answers; false for a while after it has stalled.
    pub usable: bool,
    /// Smoothed RTT, s; 0 before the first sample.
    pub srtt_s: f64,
    /// Congestion window, packets; the last one if there is no subflow.
    pub cwnd: f64,
    /// Delivered rate, smoothed, bit/s.
    pub rate_bps: f64,
    /// Latest rate while there was more to send, bit/s; none if it carried nothing or all that there was.
    pub busy_bps: Option<f64>,
    /// Smoothed rate while there was more to send: what it can carry, bit/s; 0 if unknown.
    pub capacity_bps: f64,
    /// Loss events per packet; 0 if none was ever seen.
    pub loss: f64,
    /// Payload that it has brought, bytes.
    pub delivered_bytes: u64,
    /// What its interface costs.
    pub energy: PathEnergy,
    /// What is known of its network from earlier; nothing if it was never used.
    pub history: PathHistory,
}

impl PathSnapshot {
    /// Energy per bit at the rate that it can carry, J/bit.
    pub fn cost(&self) -> f64 {
        let rate_bps = if self.capacity_bps > 0.0 { self.capacity_bps } else { UNTRIED_BPS };
        self.energy.per_bit(rate_bps)
    }
}

/// What the application wants.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Demand {
    /// More than any path can carry, without end.
    Endless,
    /// So many bytes are written and not yet delivered.
    Bytes(f64),
}

impl Demand {
    /// What is known of it before the connection opens.
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
    /// The present.
    pub now: Nanos,
    /// Payload of a full segment, bytes.
    pub mss_bytes: f64,
    /// Initial window, packets.
    pub initial_window: f64,
    /// Receive buffer of the connection, which its paths share, bytes; infinite if it is not known.
    pub receive_window: f64,
    /// What the device burns besides its interfaces: shared base, sharing factor, host.
    pub device: &'a DeviceEnergy,
    /// What waits.
    pub demand: Demand,
    /// The paths, in the order of the connection.
    pub paths: &'a [PathSnapshot],
}

impl Snapshot<'_> {
    /// Indices of the usable paths; of all if none is usable.
    pub(super) fn usable(&self) -> Vec<usize> {
        let all = 0..self.paths.len();
        let usable: Vec<usize> = all.clone().filter(|&i| self.paths[i].usable).collect();
        if usable.is_empty() { all.collect() } else { usable }
    }

    /// `usable`, the cheapest first.
    pub(super) fn by_cost(&self) -> Vec<usize> {
        let mut order = self.usable();
        order.sort_by(|&i, &j| self.paths[i].cost().total_cmp(&self.paths[j].cost()));
        order
    }
}
