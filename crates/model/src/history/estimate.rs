//! What is known of a network from earlier visits: rate, RTT and loss as log-normal estimates that age.
//!
//! ```text
//!   ln X ~ N(ln median, ln² spread)                 spread: the factor of one standard deviation, at least 1
//!   a visit that saw x:  w = max(1/(n + 1), W),  d = ln(x/median),
//!                        ln median += w d,   ln² spread ← (1 − w)(ln² spread + w d²)
//!   after t days:        ln² spread(t) = ln² spread + D² t,   at most [`MOST_SPREAD`]
//! ```
//! Rates of access networks over days are close to log-normal, and a factor is what a choice between radios
//! depends on.

use serde::Serialize;

/// Least weight of the latest visit: older ones than about five count little.
const LATEST_WEIGHT: f64 = 0.2;
/// Spread after a single visit, which says nothing of its own.
const FIRST_SPREAD: f64 = 1.5;
/// No estimate is surer than this: variance of the logarithm.
const LEAST_VARIANCE: f64 = 1e-6;
/// By this factor an estimate spreads in a day.
const DAILY_SPREAD: f64 = 1.3;
/// No estimate is worth less: below it, nothing is known.
pub const MOST_SPREAD: f64 = 20.0;

/// A quantity above 0 whose logarithm is normal.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// In the unit of the quantity.
    pub median: f64,
    /// Factor of one standard deviation, at least 1.
    pub spread: f64,
}

impl Estimate {
    /// After the first visit.
    pub fn first(value: f64) -> Self {
        Estimate { median: value, spread: FIRST_SPREAD }
    }

    /// With one more visit after `visits` of them, `days` after the last, which saw `value`.
    #[must_use]
    pub fn learn(self, value: f64, visits: u32, days: f64) -> Self {
        let weight = (1.0 / (f64::from(visits) + 1.0)).max(LATEST_WEIGHT);
        let aged = self.aged(days);
        let (variance, distance) = (square(libm::log(aged.spread)), libm::log(value / aged.median));
        let variance = (1.0 - weight) * (variance + weight * square(distance));
        Estimate {
            median: aged.median * libm::exp(weight * distance),
            spread: libm::exp(libm::sqrt(variance)).min(MOST_SPREAD),
        }
    }

    /// The median after `samples` measurements whose logarithms have the mean of `value`'s and the spread
    /// `spread` each: the mean of both logarithms, weighted by their precision.
    pub fn updated_by(self, value: f64, spread: f64, samples: f64) -> f64 {
        let precision = |spread: f64| 1.0 / square(libm::log(spread)).max(LEAST_VARIANCE);
        let (measured, remembered) = (samples * precision(spread), precision(self.spread));
        let sum = measured * libm::log(value) + remembered * libm::log(self.median);
        libm::exp(sum / (measured + remembered))
    }

    /// As it is worth after `days`.
    #[must_use]
    pub fn aged(self, days: f64) -> Self {
        let variance = square(libm::log(self.spread)) + square(libm::log(DAILY_SPREAD)) * days.max(0.0);
        Estimate { spread: libm::exp(libm::sqrt(variance)).min(MOST_SPREAD), ..self }
    }
}

fn square(x: f64) -> f64 {
    x * x
}

/// What is known of the network that a path's interface is attached to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct PathHistory {
    /// What it carried while more waited, bit/s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_bps: Option<Estimate>,
    /// Smoothed RTT, s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rtt_s: Option<Estimate>,
    /// Loss events per packet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss: Option<Estimate>,
    /// Time since the last visit, days.
    pub age_days: f64,
}

impl PathHistory {
    /// The rate as it is worth now; none if nothing is known, or nothing any more.
    pub fn rate_now(&self) -> Option<Estimate> {
        let aged = self.rate_bps?.aged(self.age_days);
        (aged.spread < MOST_SPREAD).then_some(aged)
    }

    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.rate_bps.is_none() && self.rtt_s.is_none() && self.loss.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn visits_move_the_median_by_their_weight() {
        // n = 1: w = 1/2; ln(16/4)/2 = ln 2, so 4 · 2 = 8. Variance: (ln² 1.5 + ln² 4/2)/2 = 0.56265,
        // e^0.75010 = 2.1172.
        let second = Estimate::first(4.0).learn(16.0, 1, 0.0);
        assert!((second.median - 8.0).abs() < 1e-12 && (second.spread - 2.1172).abs() < 1e-4, "{second:?}");
        // The hundredth still counts a fifth: 8 · (1/32)^0.2 = 4.
        let later = Estimate { median: 8.0, spread: 1.2 }.learn(0.25, 100, 0.0);
        assert!((later.median - 4.0).abs() < 1e-12, "{later:?}");
    }

    #[test]
    fn what_is_measured_outweighs_what_is_remembered() {
        // Equal spreads: the geometric mean of 1 and 16; with three samples, 16^(3/4).
        let known = Estimate { median: 1.0, spread: 1.5 };
        assert!((known.updated_by(16.0, 1.5, 1.0) - 4.0).abs() < 1e-12);
        assert!((known.updated_by(16.0, 1.5, 3.0) - 8.0).abs() < 1e-12);
        assert!((known.updated_by(16.0, 1.5, 0.0) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn equal_visits_make_it_sure_and_days_make_it_unsure() {
        let sure = (1..40).fold(Estimate::first(5.0), |known, visits| known.learn(5.0, visits, 0.0));
        assert!((sure.median - 5.0).abs() < 1e-12 && sure.spread < 1.02, "{sure:?}");
        // From a spread of 1: 1.3^√t. Four days: 1.69.
        let old = Estimate { median: 5.0, spread: 1.0 }.aged(4.0);
        assert!((old.spread - 1.69).abs() < 1e-12 && old.median == 5.0);
        assert_eq!(old.aged(1e9).spread, MOST_SPREAD);
        let forgotten = PathHistory { rate_bps: Some(old), age_days: 1e9, ..PathHistory::default() };
        assert_eq!((forgotten.rate_now(), forgotten.is_empty()), (None, false));
    }
}
