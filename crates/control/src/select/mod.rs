//! Path selectors: which paths have a subflow, and which of those are backups.
//!
//! ```text
//!   counters (TCP_INFO) ──Observer──► Snapshot ──Selector──► how to use each path ──differences──► Open │ Close │ SetBackup
//! ```
//! A selector says how it wants each path used; what has to be done for it follows from how the paths are. So an act that got lost is
//! repeated at the next look, and no subflow is closed before one that replaces it is open. Nothing here has a clock or does I/O: the
//! packet engine feeds it from simulated subflows, a daemon from `TCP_INFO` and the kernel's path manager.

mod emptcp;
mod es;
mod lia;
mod observe;
mod overflow;
mod pluntke;
mod registry;
mod simple;
#[cfg(test)]
mod tests;

use joulepath_model::energy::{InterfaceModel, Traffic};
use joulepath_model::scenario::Workload;
use joulepath_model::units::Nanos;

use crate::schedule::MAX_SUBFLOWS;
pub use emptcp::{Emptcp, Forecast, Thresholds};
pub use es::{Es, Objective, Subsets};
pub use lia::{LossyPath, lia_rates_pps};
pub use observe::{Counters, Observer};
pub use overflow::Overflow;
pub use pluntke::Pluntke;
pub use registry::{SELECTORS, SelectorSpec};
pub use simple::{Backup, Quota, SingleBest};

/// Rate of a path that has never carried anything, bit/s: for comparing costs only.
const UNTRIED_BPS: f64 = 10e6;

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

/// What a path's interface costs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PathEnergy {
    /// b, J/bit.
    pub slope_j_per_bit: f64,
    /// θ, W.
    pub sunk_w: f64,
    /// Energy of a promotion from idle, J.
    pub wake_j: f64,
    /// Mean power of the tail, W.
    pub tail_w: f64,
    /// Length of the tail, s.
    pub tail_s: f64,
}

impl PathEnergy {
    /// From the model of an interface, for data in one direction.
    pub fn of(model: &InterfaceModel, traffic: Traffic) -> Self {
        let linear = PathEnergy {
            slope_j_per_bit: model.slope(traffic).0,
            sunk_w: model.sunk_power().0,
            ..Self::default()
        };
        let InterfaceModel::Rrc(rrc) = model else { return linear };
        let tail_s: f64 = rrc.tail.iter().map(|stage| stage.duration.as_secs_f64()).sum();
        let tail_j: f64 = rrc.tail.iter().map(|stage| stage.power.0 * stage.duration.as_secs_f64()).sum();
        PathEnergy {
            wake_j: rrc.promotion.power.0 * rrc.promotion.duration.as_secs_f64(),
            tail_w: if tail_s > 0.0 { tail_j / tail_s } else { 0.0 },
            tail_s,
            ..linear
        }
    }

    /// b + θ/x at a rate in bit/s, J/bit.
    pub fn per_bit(&self, rate_bps: f64) -> f64 {
        self.slope_j_per_bit + self.sunk_w / rate_bps
    }

    /// b x + θ, W.
    pub fn power_w(&self, rate_bps: f64) -> f64 {
        self.slope_j_per_bit * rate_bps + self.sunk_w
    }
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
}

impl PathSnapshot {
    /// Energy per bit at the rate that it can carry, J/bit.
    fn cost(&self) -> f64 {
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
    /// What the device burns besides as long as any interface is active, W.
    pub base_w: f64,
    /// What waits.
    pub demand: Demand,
    /// The paths, in the order of the connection.
    pub paths: &'a [PathSnapshot],
}

impl Snapshot<'_> {
    /// Indices of the usable paths; of all if none is usable.
    fn usable(&self) -> Vec<usize> {
        let all = 0..self.paths.len();
        let usable: Vec<usize> = all.clone().filter(|&i| self.paths[i].usable).collect();
        if usable.is_empty() { all.collect() } else { usable }
    }

    /// `usable`, the cheapest first.
    fn by_cost(&self) -> Vec<usize> {
        let mut order = self.usable();
        order.sort_by(|&i, &j| self.paths[i].cost().total_cmp(&self.paths[j].cost()));
        order
    }
}

/// How a path shall be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// Not at all: no subflow.
    Closed,
    /// A subflow that carries data only while no regular one can.
    Backup,
    /// A subflow that carries data.
    Regular,
}

/// How each path shall be used, by index.
pub type Uses = [Use; MAX_SUBFLOWS];

/// `chosen` regular, the others as `rest`.
fn only(chosen: &[usize], rest: Use) -> Uses {
    let mut uses = [rest; MAX_SUBFLOWS];
    chosen.iter().for_each(|&i| uses[i] = Use::Regular);
    uses
}

/// What has to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Open a subflow (MP_JOIN) on this path.
    Open(usize),
    /// Close the subflow on this path.
    Close(usize),
    /// Make the subflow on this path a backup or a regular one (MP_PRIO), or let it be one when it opens.
    SetBackup(usize, bool),
}

/// A path selector with its state: one per connection.
#[derive(Clone, Debug, PartialEq)]
pub enum Selector {
    /// `single-best`: the cheapest path alone.
    SingleBest(SingleBest),
    /// `backup`: one path, the others as backups.
    Backup(Backup),
    /// `es-mptcp`: the set with the best objective of 001.
    Es(Es),
    /// `emptcp`: by regions of rates (Lim et al.).
    Emptcp(Emptcp),
    /// `pluntke`: by a Markov decision process.
    Pluntke(Box<Pluntke>),
    /// `overflow`: the next path when the cheaper ones are full.
    Overflow(Overflow),
    /// `quota`: a path that may carry so many bytes.
    Quota(Quota),
}

impl Selector {
    /// How it wants the paths used. The first call comes before the connection opens, with every path closed.
    pub fn want(&mut self, snapshot: &Snapshot) -> Uses {
        match self {
            Selector::SingleBest(selector) => selector.want(snapshot),
            Selector::Backup(selector) => selector.want(snapshot),
            Selector::Es(selector) => selector.want(snapshot),
            Selector::Emptcp(selector) => selector.want(snapshot),
            Selector::Pluntke(selector) => selector.want(snapshot),
            Selector::Overflow(selector) => selector.want(snapshot),
            Selector::Quota(selector) => selector.want(snapshot),
        }
    }

    /// When it wants to look again.
    pub fn period(&self, snapshot: &Snapshot) -> Nanos {
        match self {
            Selector::Es(_) => es::round(snapshot),
            Selector::Emptcp(_) => emptcp::SAMPLING,
            Selector::Pluntke(_) => pluntke::SLOT,
            Selector::SingleBest(_) | Selector::Backup(_) | Selector::Overflow(_) | Selector::Quota(_) => {
                LOOK
            }
        }
    }

    /// What has to be done for it, cheapest acts last: paths open before others close.
    pub fn decide(&mut self, snapshot: &Snapshot) -> Vec<Action> {
        let uses = self.want(snapshot);
        differences(snapshot.paths, &uses)
    }
}

/// Time between two looks of selectors that have none of their own.
const LOOK: Nanos = Nanos::from_millis(100);

/// The acts that lead from how the paths are to how they shall be.
///
/// A subflow is closed only while another one that shall stay is open, usable and regular.
pub fn differences(paths: &[PathSnapshot], uses: &Uses) -> Vec<Action> {
    let mut actions = vec![];
    for (i, (path, &wanted)) in paths.iter().zip(uses).enumerate() {
        let backup = wanted == Use::Backup;
        if wanted != Use::Closed && path.state != PathState::Closing && path.backup != backup {
            actions.push(Action::SetBackup(i, backup));
        }
        if wanted != Use::Closed && path.state == PathState::Closed {
            actions.push(Action::Open(i));
        }
    }
    let stays = |(path, wanted): (&PathSnapshot, &Use)| {
        *wanted == Use::Regular && path.state == PathState::Open && path.usable && !path.backup
    };
    if paths.iter().zip(uses).any(stays) {
        let open = |state| matches!(state, PathState::Open | PathState::Opening);
        let closing = paths.iter().zip(uses).enumerate();
        let closing = closing.filter(|(_, (path, wanted))| **wanted == Use::Closed && open(path.state));
        actions.extend(closing.map(|(i, _)| Action::Close(i)));
    }
    actions
}
