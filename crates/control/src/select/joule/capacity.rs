//! What each path is believed to carry: what it did carry, what is remembered of its network, or a hope.
//!
//! ```text
//!            carried while more waited          the rate has stopped growing
//!   unknown ──────────────────────────► growing ────────────────────────────► settled
//!   (hope, or history)                 (at least that)                     (measured; history is prior)
//! ```

use joulepath_model::history::Estimate;
use joulepath_model::units::Nanos;

use super::super::snapshot::{PathSnapshot, PathState};

/// What a path that nothing is known of may carry, bit/s: enough for its trial to be worth something where a
/// better radio would be, and no more.
const HOPE_BPS: f64 = 20e6;
/// What a path that nothing is known of is taken to carry before anything was carried, bit/s.
const EXPECTED_BPS: f64 = 10e6;
/// RTT of a path that nothing is known of, s.
pub(super) const EXPECTED_RTT_S: f64 = 0.05;
/// The device's default path is listed first. A further path that nothing is known of is expected to have this
/// part of its rate and this many times its RTT.
const FURTHER: f64 = 3.0;
/// A rate above this many times the highest one so far says that slow start goes on.
const GROWS: f64 = 1.25;
/// Slow start has ended when the rate has not grown for so long, and for so many round trips.
const CALM_S: f64 = 0.3;
const CALM_ROUNDS: f64 = 4.0;
/// … or at the latest after this time with data, and so many round trips.
const LONGEST_START_S: f64 = 2.0;
const LONGEST_START_ROUNDS: f64 = 15.0;
/// Time constant of the measured rate, s.
const RATE_TIME_S: f64 = 0.7;
/// Factor of one standard deviation of a rate measured over one look.
const SAMPLE_SPREAD: f64 = 1.6;
/// A path without data that more waits for is given up after so long.
const SILENCE: Nanos = Nanos::from_secs(6);
/// The least rate that any path is believed to carry, bit/s.
const LEAST_BPS: f64 = 1e3;
/// Samples that count at most against the history.
const MOST_SAMPLES: f64 = 50.0;

/// What one path is believed to carry.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Capacity {
    /// Mean rate while more waited, bit/s.
    measured_bps: f64,
    samples: f64,
    peak_bps: f64,
    grown_at: Nanos,
    /// When its subflow first carried data; none while it is closed.
    live_since: Option<Nanos>,
    /// Since when its subflow is open or opening.
    open_since: Option<Nanos>,
    settled: bool,
    /// How long its subflow has been open while less waited than fills the windows, s.
    slack_s: f64,
    /// Bytes that the path had delivered when its subflow opened; none while it is closed.
    opened_bytes: Option<u64>,
    /// True if its subflow has delivered data since it opened.
    has_carried: bool,
}

impl Capacity {
    /// Takes in a look; `seconds` have passed since the last one. `is_full`: all the time more waited than
    /// the windows of the open paths admit. If not, a rate says what the path carries at least, and no more.
    pub(super) fn observe(&mut self, path: &PathSnapshot, now: Nanos, seconds: f64, is_full: bool) {
        if path.state == PathState::Closed {
            (self.live_since, self.open_since, self.peak_bps) = (None, None, 0.0);
            self.slack_s = 0.0;
            (self.opened_bytes, self.has_carried) = (None, false);
            return;
        }
        self.has_carried |= path.delivered_bytes > *self.opened_bytes.get_or_insert(path.delivered_bytes);
        self.open_since.get_or_insert(now);
        if path.state == PathState::Open && !is_full {
            self.slack_s += seconds;
        }
        let Some(rate_bps) = path.busy_bps else { return };
        let live_since = *self.live_since.get_or_insert(now);
        if !is_full {
            self.measured_bps = self.measured_bps.max(rate_bps);
            return;
        }
        if rate_bps > GROWS * self.peak_bps {
            (self.peak_bps, self.grown_at) = (rate_bps, now);
            // What slow start carried before says nothing of the path.
            if !self.settled {
                (self.measured_bps, self.samples) = (rate_bps, 0.0);
            }
        }
        let weight = seconds / (seconds + RATE_TIME_S);
        self.measured_bps += weight * (rate_bps - self.measured_bps);
        self.samples += 1.0;
        let lasted = |since: Nanos, s: f64, rounds: f64| {
            now.saturating_sub(since).as_secs_f64() >= s.max(rounds * path.srtt_s)
        };
        self.settled |= lasted(self.grown_at, CALM_S, CALM_ROUNDS)
            || lasted(live_since, LONGEST_START_S, LONGEST_START_ROUNDS);
    }

    /// Whether its trial is over: it has been measured, or it was open for as long as that takes and what is
    /// offered did not fill it. A load that fits can never measure it, and would keep the trial for ever.
    pub(super) fn is_tried(&self, srtt_s: f64) -> bool {
        self.settled || self.slack_s >= LONGEST_START_S.max(LONGEST_START_ROUNDS * srtt_s)
    }

    /// Whether it has been measured while it was full.
    pub(super) fn is_measured(&self) -> bool {
        self.settled
    }

    /// True if its subflow has been open for [`SILENCE`] and has delivered nothing. A load that fits never
    /// waits, so it never sets `live_since`; what it delivers shows that the path answers.
    pub(super) fn is_silent(&self, now: Nanos) -> bool {
        let is_mute = self.live_since.is_none() && !self.settled && !self.has_carried;
        let opened = self.open_since.filter(|_| is_mute);
        opened.is_some_and(|since| now.saturating_sub(since) >= SILENCE)
    }

    /// What it carries, bit/s. `hoped`: what is unknown is taken for what it may be, so that it is tried.
    /// `is_first`: it is the device's default path.
    pub(super) fn rate_bps(&self, history: Option<Estimate>, hoped: bool, is_first: bool) -> f64 {
        let unknown_bps = match (hoped, is_first) {
            (true, _) => HOPE_BPS,
            (false, true) => EXPECTED_BPS,
            (false, false) => EXPECTED_BPS / FURTHER,
        };
        let prior_bps = history.map_or(unknown_bps, |known| known.median);
        let rate_bps = if self.settled {
            history.map_or(self.measured_bps, |known| self.with(known))
        } else if self.live_since.is_some() {
            prior_bps.max(self.measured_bps)
        } else {
            prior_bps
        };
        rate_bps.max(LEAST_BPS)
    }

    /// What was measured, with what is remembered as prior.
    fn with(&self, known: Estimate) -> f64 {
        known.updated_by(self.measured_bps.max(LEAST_BPS), SAMPLE_SPREAD, self.samples.min(MOST_SAMPLES))
    }
}

/// RTT of a path: measured, remembered, or a guess, s.
pub(super) fn rtt_s(path: &PathSnapshot, remembers: bool, is_first: bool) -> f64 {
    let expected_s = if is_first { EXPECTED_RTT_S } else { FURTHER * EXPECTED_RTT_S };
    let remembered = path.history.rtt_s.filter(|_| remembers).map(|rtt| rtt.median);
    if path.srtt_s > 0.0 { path.srtt_s } else { remembered.unwrap_or(expected_s) }
}
