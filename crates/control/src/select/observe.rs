//! Estimates from counters.

use joulepath_model::history::PathHistory;
use joulepath_model::units::Nanos;

use super::snapshot::{Demand, PathSnapshot, PathState};
use crate::energy::PathEnergy;

/// Time constant of the smoothed rates, s.
const RATE_TIME_S: f64 = 0.5;
/// Weight of the latest loss interval.
const INTERVAL_WEIGHT: f64 = 0.25;
/// Time for which a stalled path is not used.
const SHUNNED: Nanos = Nanos::from_secs(10);

/// Counters of a stack for the subflow on a path: `TCP_INFO` has all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counters {
    /// State of the subflow.
    pub state: PathState,
    /// Whether the subflow is a backup.
    pub backup: bool,
    /// It retransmits without a reply: its retransmission timer has expired twice in a row, or its
    /// SYN's timer once.
    pub stalled: bool,
    /// Smoothed RTT (`tcpi_rtt`); zero before the first sample.
    pub srtt: Nanos,
    /// Congestion window, packets (`tcpi_snd_cwnd`).
    pub cwnd: u32,
    /// Payload delivered, bytes (`tcpi_bytes_acked`), over all subflows of the path so far.
    pub delivered_bytes: u64,
    /// Window reductions for a loss, over all subflows of the path so far.
    pub loss_events: u64,
}

/// Previous state of a path.
#[derive(Clone, Debug, Default, PartialEq)]
struct Track {
    delivered_bytes: u64,
    loss_events: u64,
    /// Delivered bytes at the last loss.
    at_loss_bytes: u64,
    /// Mean packets between losses; 0 before the first.
    interval: f64,
    shunned_until: Nanos,
}

/// Estimates of all paths of a connection.
#[derive(Clone, Debug, PartialEq)]
pub struct Observer {
    mss_bytes: f64,
    seen: Nanos,
    /// Whether data waited at the last observation.
    waited: bool,
    tracks: Vec<Track>,
    paths: Vec<PathSnapshot>,
}

impl Observer {
    /// Starts with paths of these `energies`, in the connection's order, all closed. `mss_bytes`:
    /// payload of a full segment.
    pub fn new(energies: &[PathEnergy], mss_bytes: f64) -> Self {
        let path = |&energy: &PathEnergy| PathSnapshot {
            energy,
            usable: true,
            ..PathSnapshot::default()
        };
        Observer {
            mss_bytes,
            seen: Nanos::ZERO,
            waited: false,
            tracks: vec![Track::default(); energies.len()],
            paths: energies.iter().map(path).collect(),
        }
    }

    /// Adds the history of each path's network.
    #[must_use]
    pub fn remembering(mut self, histories: impl IntoIterator<Item = PathHistory>) -> Self {
        for (path, history) in self.paths.iter_mut().zip(histories) {
            path.history = history;
        }
        self
    }

    /// The paths at the last observation.
    pub fn paths(&self) -> &[PathSnapshot] {
        &self.paths
    }

    /// Updates the estimates with the counters of all paths.
    pub fn observe(&mut self, now: Nanos, counters: &[Counters], demand: Demand) {
        let seconds = now.saturating_sub(self.seen).as_secs_f64();
        self.seen = now;
        let waits = !matches!(demand, Demand::Bytes(bytes) if bytes < self.mss_bytes);
        let busy = std::mem::replace(&mut self.waited, waits) && waits;
        for ((track, path), counters) in self.tracks.iter_mut().zip(&mut self.paths).zip(counters) {
            let answers = counters.delivered_bytes > track.delivered_bytes;
            track.losses(path, counters, self.mss_bytes);
            track.rates(path, counters, seconds, busy);
            if counters.stalled {
                track.shunned_until = now.saturating_add(SHUNNED);
            } else if answers {
                track.shunned_until = now;
            }
            path.usable = now >= track.shunned_until;
            (path.state, path.backup) = (counters.state, counters.backup);
            path.delivered_bytes = counters.delivered_bytes;
            if counters.srtt > Nanos::ZERO {
                path.srtt_s = counters.srtt.as_secs_f64();
            }
            if counters.cwnd > 0 {
                path.cwnd = counters.cwnd.into();
            }
        }
    }
}

impl Track {
    /// p = 1/ℓ: ℓ is the mean loss interval, or the present one if that is longer.
    fn losses(&mut self, path: &mut PathSnapshot, counters: &Counters, mss_bytes: f64) {
        let events = counters.loss_events.saturating_sub(self.loss_events) as f64;
        let since = counters.delivered_bytes.saturating_sub(self.at_loss_bytes) as f64 / mss_bytes;
        if events > 0.0 {
            let latest = since / events;
            let first = self.interval == 0.0;
            self.interval = if first {
                latest
            } else {
                self.interval + INTERVAL_WEIGHT * (latest - self.interval)
            };
            self.interval = self.interval.max(1.0);
            self.loss_events = counters.loss_events;
            self.at_loss_bytes = counters.delivered_bytes;
        }
        path.loss = match self.interval {
            0.0 => 0.0,
            interval if events > 0.0 => 1.0 / interval,
            interval => 1.0 / interval.max(since),
        };
    }

    fn rates(&mut self, path: &mut PathSnapshot, counters: &Counters, seconds: f64, busy: bool) {
        let before = std::mem::replace(&mut self.delivered_bytes, counters.delivered_bytes);
        path.busy_bps = None;
        if seconds <= 0.0 {
            return;
        }
        let rate_bps = counters.delivered_bytes.saturating_sub(before) as f64 * 8.0 / seconds;
        let weight = seconds / (seconds + RATE_TIME_S);
        path.rate_bps += weight * (rate_bps - path.rate_bps);
        if busy && path.state == PathState::Open && rate_bps > 0.0 {
            path.busy_bps = Some(rate_bps);
            let known = path.capacity_bps;
            path.capacity_bps = if known == 0.0 {
                rate_bps
            } else {
                known + weight * (rate_bps - known)
            };
        }
    }
}
