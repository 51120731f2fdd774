//! Believed capacity of each path: measured, remembered from its network, or hoped.
//!
//! ```text
//!            carried while more waited          the rate has stopped growing
//!   unknown ──────────────────────────► growing ────────────────────────────► settled
//!   (hope, or history)                 (at least that)                     (measured; history is prior)
//! ```

use joulepath_model::history::Estimate;
use joulepath_model::units::Nanos;

use super::super::snapshot::{PathSnapshot, PathState};
use crate::allocate::mathis_bps;

/// Hoped capacity of an unknown path, bit/s: enough to justify a trial where a better radio would
/// be worth it, and no more.
const HOPE_BPS: f64 = 20e6;
/// Expected capacity of an unknown path before it has carried data, bit/s.
const EXPECTED_BPS: f64 = 10e6;
/// Expected RTT of an unknown path, s.
const EXPECTED_RTT_S: f64 = 0.05;
/// The device's default path is listed first. Another unknown path is expected to have its rate
/// divided by this factor, and its RTT times this factor.
const FURTHER: f64 = 3.0;
/// A rate above this many times the previous maximum means that slow start continues.
const GROWS: f64 = 1.25;
/// Slow start has ended when the rate has not grown for this time, and for this many round trips.
const CALM_S: f64 = 0.3;
const CALM_ROUNDS: f64 = 4.0;
/// It ends at the latest after this time with data, and this many round trips.
const LONGEST_START_S: f64 = 2.0;
const LONGEST_START_ROUNDS: f64 = 15.0;
/// Time constant of the measured rate, s.
const RATE_TIME_S: f64 = 0.7;
/// Factor of one standard deviation of a rate measured between two decisions.
const SAMPLE_SPREAD: f64 = 1.6;
/// A path that delivers nothing for this time while data waits is given up, s.
const SILENCE_S: f64 = 6.0;
/// A measured rate is believed for this time after its path was closed, and twice as long after
/// every two further trials, s. Then the path may have become as good as an unknown one.
const STALE_S: f64 = 120.0;
/// A controller that distinguishes random losses from congestion carries at least this many times
/// what NewReno carries.
const BEYOND_TCP: f64 = 2.0;
/// Minimum believed capacity, bit/s.
const LEAST_BPS: f64 = 1e3;
/// Maximum weight of the samples against the history.
const MOST_SAMPLES: f64 = 50.0;

/// Believed capacity of one path.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Capacity {
    /// Mean rate while more waited, bit/s.
    measured_bps: f64,
    samples: f64,
    peak_bps: f64,
    grown_at: Nanos,
    /// Time of the subflow's first data; `None` while it is closed.
    live_since: Option<Nanos>,
    /// Time for which its subflow has been open or opening while data waited, s.
    waited_s: f64,
    settled: bool,
    /// Time for which data has filled the windows since its subflow opened, s.
    full_s: f64,
    /// Time for which the subflow has been open while less data waited than fills the windows, s.
    slack_s: f64,
    /// Bytes delivered by the path when its subflow opened; `None` while it is closed.
    opened_bytes: Option<u64>,
    /// Whether its subflow has delivered data since it opened.
    has_carried: bool,
    /// Time since its subflow was closed, s.
    closed_s: f64,
    /// How often its subflow has opened.
    openings: u32,
}

impl Capacity {
    /// Updates with a snapshot, `seconds` after the last one. `is_full`: all that time more data
    /// waited than the windows of the open paths admit. Otherwise a rate is only a lower bound of
    /// the capacity. `data_waits`: data is written and not delivered.
    pub(super) fn observe(
        &mut self,
        path: &PathSnapshot,
        now: Nanos,
        seconds: f64,
        is_full: bool,
        data_waits: bool,
    ) {
        if path.state == PathState::Closed {
            (self.live_since, self.waited_s, self.peak_bps) = (None, 0.0, 0.0);
            (self.full_s, self.slack_s) = (0.0, 0.0);
            (self.opened_bytes, self.has_carried) = (None, false);
            self.closed_s += seconds;
            return;
        }
        if self.opened_bytes.is_none() {
            self.openings += 1;
            if self.is_stale() {
                (self.settled, self.measured_bps, self.samples) = (false, 0.0, 0.0);
            }
        }
        self.closed_s = 0.0;
        self.has_carried |=
            path.delivered_bytes > *self.opened_bytes.get_or_insert(path.delivered_bytes);
        if data_waits {
            self.waited_s += seconds;
        }
        if path.state == PathState::Open && !is_full {
            self.slack_s += seconds;
        }
        let Some(rate_bps) = path.busy_bps else {
            return;
        };
        let live_since = *self.live_since.get_or_insert(now);
        if !is_full {
            self.measured_bps = self.measured_bps.max(rate_bps);
            return;
        }
        self.full_s += seconds;
        if rate_bps > GROWS * self.peak_bps {
            (self.peak_bps, self.grown_at) = (rate_bps, now);
            // The rates of slow start so far do not measure the path.
            if !self.settled {
                (self.measured_bps, self.samples) = (rate_bps.max(self.measured_bps), 0.0);
            }
        }
        let weight = seconds / (seconds + RATE_TIME_S);
        self.measured_bps += weight * (rate_bps - self.measured_bps);
        self.samples += 1.0;
        let lasts = |time_s: f64, s: f64, rounds: f64| time_s >= s.max(rounds * path.srtt_s);
        let since_s = |instant: Nanos| now.saturating_sub(instant).as_secs_f64();
        let is_over = lasts(since_s(self.grown_at), CALM_S, CALM_ROUNDS)
            || lasts(since_s(live_since), LONGEST_START_S, LONGEST_START_ROUNDS);
        // One decision in which data happened to wait measures nothing, however long the path has
        // been open.
        self.settled |= is_over && lasts(self.full_s, CALM_S, CALM_ROUNDS);
    }

    /// How often its subflow has opened.
    pub(super) fn openings(&self) -> u32 {
        self.openings
    }

    /// True if its trial is over: it has been measured, or it was open long enough and the offered
    /// data did not fill it. A load that fits can never measure it, and would continue the trial
    /// forever.
    pub(super) fn is_tried(&self, srtt_s: f64) -> bool {
        self.is_measured() || self.slack_s >= LONGEST_START_S.max(LONGEST_START_ROUNDS * srtt_s)
    }

    /// True if it has been measured while full, and not too long ago.
    pub(super) fn is_measured(&self) -> bool {
        self.settled && !self.is_stale()
    }

    /// True if its rate was measured so long ago that it may have changed.
    fn is_stale(&self) -> bool {
        self.closed_s > STALE_S * f64::from(1_u32 << (self.openings / 2).min(16))
    }

    /// True if data has waited for [`SILENCE_S`] while its subflow was open, and it has delivered
    /// nothing. A load that fits the windows never sets `live_since`; its delivered data shows that
    /// the path answers.
    pub(super) fn is_silent(&self) -> bool {
        let is_mute = self.live_since.is_none() && !self.settled && !self.has_carried;
        is_mute && self.waited_s >= SILENCE_S
    }

    /// Its capacity, bit/s. `hoped`: an unknown path counts with the hoped capacity, so that it is
    /// tried. `is_first`: it is the device's default path.
    pub(super) fn rate_bps(&self, history: Option<Estimate>, hoped: bool, is_first: bool) -> f64 {
        let unknown_bps = match (hoped, is_first) {
            (true, _) => HOPE_BPS,
            (false, true) => EXPECTED_BPS,
            (false, false) => EXPECTED_BPS / FURTHER,
        };
        let prior_bps = history.map_or(unknown_bps, |known| known.median);
        let rate_bps = if self.settled && !(hoped && self.is_stale()) {
            history.map_or(self.measured_bps, |known| self.with(known))
        } else if self.live_since.is_some() {
            prior_bps.max(self.measured_bps)
        } else {
            prior_bps
        };
        rate_bps.max(LEAST_BPS)
    }

    /// The measured capacity, with the history as prior.
    fn with(&self, known: Estimate) -> f64 {
        known.updated_by(
            self.measured_bps.max(LEAST_BPS),
            SAMPLE_SPREAD,
            self.samples.min(MOST_SAMPLES),
        )
    }
}

/// Remembered rate of a path: at most what the controller carries at the remembered loss and RTT.
/// `hoped`: the geometric mean of that and of the remembered rate, because the controller may carry
/// all of it.
pub(super) fn remembered(path: &PathSnapshot, mss_bytes: f64, hoped: bool) -> Option<Estimate> {
    let rate = path.history.rate_now()?;
    let (Some(loss), Some(rtt)) = (path.history.loss_now(), path.history.rtt_now()) else {
        return Some(rate);
    };
    let most_bps = (BEYOND_TCP * mathis_bps(mss_bytes, rtt.median, loss.median)).min(rate.median);
    let median = if hoped {
        libm::sqrt(rate.median * most_bps)
    } else {
        most_bps
    };
    Some(Estimate { median, ..rate })
}

/// RTT of a path: measured, remembered, or expected, s.
pub(super) fn rtt_s(path: &PathSnapshot, remembers: bool, is_first: bool) -> f64 {
    let expected_s = if is_first {
        EXPECTED_RTT_S
    } else {
        FURTHER * EXPECTED_RTT_S
    };
    let remembered = path
        .history
        .rtt_s
        .filter(|_| remembers)
        .map(|rtt| rtt.median);
    if path.srtt_s > 0.0 {
        path.srtt_s
    } else {
        remembered.unwrap_or(expected_s)
    }
}
