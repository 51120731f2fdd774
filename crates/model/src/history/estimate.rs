//! Estimates of a network's rate, RTT and loss from earlier visits. They are log-normal and lose
//! confidence with age.
//!
//! ```text
//!   ln X ~ N(ln median, ln² spread)                 spread: the factor of one standard deviation, at least 1
//!   a visit that saw x:  w = max(1/(n + 1), W),  d = ln(x/median),
//!                        ln median += w d,   ln² spread ← (1 − w)(ln² spread + w d²)
//!   after t days:        ln² spread(t) = ln² spread + D² t,   at most [`MOST_SPREAD`]
//! ```
//! Rates of access networks over days are close to log-normal, and a choice between radios depends
//! on ratios.

use serde::{Deserialize, Serialize};

/// Least weight of the latest visit: visits before the last five or so count little.
const LATEST_WEIGHT: f64 = 0.2;
/// Spread after a single visit, which cannot show any variation.
const FIRST_SPREAD: f64 = 1.5;
/// Least variance of the logarithm: no estimate is more certain.
const LEAST_VARIANCE: f64 = 1e-6;
/// Factor by which the spread of an estimate grows per day.
const DAILY_SPREAD: f64 = 1.3;
/// Largest spread: a network with this spread counts as unknown.
pub const MOST_SPREAD: f64 = 20.0;

/// A positive quantity whose logarithm is normally distributed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Estimate {
    /// Median, in the unit of the quantity.
    pub median: f64,
    /// Factor of one standard deviation, at least 1.
    pub spread: f64,
}

impl Estimate {
    /// The estimate after the first visit.
    pub fn first(value: f64) -> Self {
        Estimate {
            median: value,
            spread: FIRST_SPREAD,
        }
    }

    /// True if a positive quantity can have this estimate.
    pub(super) fn is_valid(self) -> bool {
        self.median > 0.0
            && self.median.is_finite()
            && self.spread >= 1.0
            && self.spread.is_finite()
    }

    /// The estimate after one more visit, which measured `value`, `days` after the last of `visits`
    /// earlier visits.
    #[must_use]
    pub fn learn(self, value: f64, visits: u32, days: f64) -> Self {
        let weight = (1.0 / (f64::from(visits) + 1.0)).max(LATEST_WEIGHT);
        let aged = self.aged(days);
        let (variance, distance) = (
            square(libm::log(aged.spread)),
            libm::log(value / aged.median),
        );
        let variance = (1.0 - weight) * (variance + weight * square(distance));
        Estimate {
            median: aged.median * libm::exp(weight * distance),
            spread: libm::exp(libm::sqrt(variance)).min(MOST_SPREAD),
        }
    }

    /// The median after `samples` measurements whose logarithms have mean ln `value` and spread
    /// `spread` each: the mean of remembered and measured logarithm, weighted by precision.
    pub fn updated_by(self, value: f64, spread: f64, samples: f64) -> f64 {
        let precision = |spread: f64| 1.0 / square(libm::log(spread)).max(LEAST_VARIANCE);
        let (measured, remembered) = (samples * precision(spread), precision(self.spread));
        let sum = measured * libm::log(value) + remembered * libm::log(self.median);
        libm::exp(sum / (measured + remembered))
    }

    /// The estimate after `days`: its spread grows.
    #[must_use]
    pub fn aged(self, days: f64) -> Self {
        let variance =
            square(libm::log(self.spread)) + square(libm::log(DAILY_SPREAD)) * days.max(0.0);
        Estimate {
            spread: libm::exp(libm::sqrt(variance)).min(MOST_SPREAD),
            ..self
        }
    }
}

fn square(x: f64) -> f64 {
    x * x
}

/// Estimates of the network that a path's interface is attached to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct PathHistory {
    /// Rate while more data was waiting, bit/s.
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
    /// The estimate of the rate, aged to now; none if the rate is unknown or too uncertain.
    pub fn rate_now(&self) -> Option<Estimate> {
        self.now(self.rate_bps)
    }

    /// The estimate of the RTT, aged to now; none if the RTT is unknown or too uncertain.
    pub fn rtt_now(&self) -> Option<Estimate> {
        self.now(self.rtt_s)
    }

    /// The estimate of the loss, aged to now; none if the loss is unknown or too uncertain.
    pub fn loss_now(&self) -> Option<Estimate> {
        self.now(self.loss)
    }

    fn now(&self, estimate: Option<Estimate>) -> Option<Estimate> {
        estimate
            .map(|known| known.aged(self.age_days))
            .filter(|aged| aged.spread < MOST_SPREAD)
    }

    /// True if there are no estimates.
    pub fn is_empty(&self) -> bool {
        self.rate_bps.is_none() && self.rtt_s.is_none() && self.loss.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn visits_move_the_median_by_their_weight() {
        // n = 1: w = 1/2; ln(16/4)/2 = ln 2, so 4 · 2 = 8. Variance: (ln² 1.5 + ln² 4/2)/2 =
        // 0.56265, e^0.75010 = 2.1172.
        let second = Estimate::first(4.0).learn(16.0, 1, 0.0);
        assert!(
            (second.median - 8.0).abs() < 1e-12 && (second.spread - 2.1172).abs() < 1e-4,
            "{second:?}"
        );
        // The hundredth visit still has weight 1/5: 8 · (1/32)^0.2 = 4.
        let later = Estimate {
            median: 8.0,
            spread: 1.2,
        }
        .learn(0.25, 100, 0.0);
        assert!((later.median - 4.0).abs() < 1e-12, "{later:?}");
    }

    #[test]
    fn measurements_and_memory_are_weighted_by_precision() {
        // Equal spreads: the geometric mean of 1 and 16; with three samples, 16^(3/4).
        let known = Estimate {
            median: 1.0,
            spread: 1.5,
        };
        assert!((known.updated_by(16.0, 1.5, 1.0) - 4.0).abs() < 1e-12);
        assert!((known.updated_by(16.0, 1.5, 3.0) - 8.0).abs() < 1e-12);
        assert!((known.updated_by(16.0, 1.5, 0.0) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn equal_visits_reduce_the_spread_and_days_increase_it() {
        let sure = (1..40).fold(Estimate::first(5.0), |known, visits| {
            known.learn(5.0, visits, 0.0)
        });
        assert!(
            (sure.median - 5.0).abs() < 1e-12 && sure.spread < 1.02,
            "{sure:?}"
        );
        // From a spread of 1: 1.3^√t. Four days: 1.69.
        let old = Estimate {
            median: 5.0,
            spread: 1.0,
        }
        .aged(4.0);
        assert!((old.spread - 1.69).abs() < 1e-12 && old.median == 5.0);
        assert_eq!(old.aged(1e9).spread, MOST_SPREAD);
        let forgotten = PathHistory {
            rate_bps: Some(old),
            age_days: 1e9,
            ..PathHistory::default()
        };
        assert_eq!((forgotten.rate_now(), forgotten.is_empty()), (None, false));
    }
}
