//! Windows vary under random losses, which a mean field leaves out.
//!
//! A window w grows by a constant per RTT, and each random loss event takes the share β. In packets
//! sent, w² grows by a constant and is multiplied by c² = (1 − β)² at Poisson instants (Ott,
//! Kemperman and Mathis 1996). So w² is a sum of exponential variables with weights c^(2k), whose
//! moments of order ±½ give, in time,
//!
//! ```text
//!   E w²/(E w)² = (π/2) Π_k (1 − c^(2k−1)) (1 − c^(2k+1))/(1 − c^(2k))²         1.166 at β = ½
//! ```
//! A larger window meets more losses, so this is the factor of the reductions at the mean window. A
//! recovery lasts one RTT, in which the window does not grow: it grows in 1/(1 + λ w) of the time.
//!
//! The part of a link that such windows use: [`joulepath_control::spread`].

use joulepath_control::spread::{EMPTY, FALL};
use libm::exp;

/// E w²/(E w)² − 1 at β = ½.
const HALVING: f64 = 0.1657;

/// E w²/(E w)² − 1 for a window that random losses reduce by `decrease`: a fit of the product above,
/// to 0.01 up to β = 0.7.
fn variance(decrease: f64) -> f64 {
    let slope = 0.25 + 0.11 * decrease + 0.1 * decrease * decrease;
    decrease * slope
}

/// What random losses change in the equations of one window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Varying {
    /// E w²/(E w)² − 1
    pub(crate) variance: f64,
    /// The part of that which the equation of the window lacks.
    pub(crate) unequal: f64,
    /// Part of the time in which the window grows.
    pub(crate) growing: f64,
}

impl Default for Varying {
    /// A window that does not vary.
    fn default() -> Self {
        Varying {
            variance: 0.0,
            unequal: 0.0,
            growing: 1.0,
        }
    }
}

impl Varying {
    /// A window that meets `events` random losses per RTT.
    pub(crate) fn of_window(decrease: f64, events: f64) -> Self {
        let variance = variance(decrease);
        Varying {
            variance,
            unequal: variance,
            growing: 1.0 / (1.0 + events),
        }
    }
}

/// The windows that share a link, as packets per second of their means.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Crowd {
    /// Variance of the sum.
    squares: f64,
    rate_pps: f64,
    /// Packets in flight without queues.
    flying: f64,
}

impl Crowd {
    /// Adds `count` connections of `rate_pps` over a path of `rtt_s` without queues, with this
    /// relative variance each.
    pub(crate) fn add(&mut self, count: f64, rate_pps: f64, rtt_s: f64, variance: f64) {
        self.squares += count * rate_pps * rate_pps * variance;
        self.rate_pps += count * rate_pps;
        self.flying += count * rate_pps * rtt_s;
    }

    /// Part of the rate `capacity_pps` that is used while `queue` packets wait on average. Deviations
    /// of the sum scale with the square root of its variance.
    pub(crate) fn utilisation(&self, capacity_pps: f64, queue: f64) -> f64 {
        if self.squares == 0.0 {
            return 1.0;
        }
        let spread = self.squares.sqrt() / self.rate_pps / HALVING.sqrt();
        let pipe = capacity_pps * self.flying / self.rate_pps;
        1.0 - EMPTY * spread.min(1.0) * exp(-FALL * queue.max(0.0) / (spread * pipe))
    }
}

#[cfg(test)]
mod tests {
    use joulepath_model::random::{Domain, Stream};

    use super::*;

    #[test]
    fn the_variance_matches_the_product() {
        for decrease in [0.125_f64, 0.2, 0.3, 0.5, 0.7] {
            let c = |exponent: i32| 1.0 - (1.0 - decrease).powi(exponent);
            let factor = |k: i32| c(2 * k - 1) * c(2 * k + 1) / c(2 * k).powi(2);
            let product = (1..500).map(factor).product::<f64>();
            let exact = std::f64::consts::FRAC_PI_2 * product - 1.0;
            assert!(
                (variance(decrease) - exact).abs() < 0.01,
                "{decrease}: {} ≠ {exact}",
                variance(decrease)
            );
        }
        assert!((variance(0.5) - HALVING).abs() < 2e-3);
    }

    /// w² = Σ 4^(−k) E_k with E_k exponential, seen per packet. In time it counts 1/w.
    #[test]
    fn the_utilisation_matches_the_distribution_of_a_window() {
        let mut draws = Stream::new(5, Domain::LinkLoss, 0);
        let mut window = || {
            let term = |k: i32| -libm::log(1.0 - draws.uniform()) * 0.25f64.powi(k);
            (0..16).map(term).sum::<f64>().sqrt()
        };
        let windows: Vec<f64> = (0..100_000).map(|_| window()).collect();
        let seconds: f64 = windows.iter().map(|w| 1.0 / w).sum();
        let mean = windows.len() as f64 / seconds;
        for load in [0.6, 0.8, 1.0, 1.3, 2.0] {
            let used = |w: &f64| (w / mean * load).min(1.0) / w;
            let used = windows.iter().map(used).sum::<f64>() / seconds;
            // The queue that gives the mean window at this use, by Little's law.
            let queue = (load - used) / used;
            let mut crowd = Crowd::default();
            crowd.add(1.0, used, 1.0, HALVING);
            let fitted = crowd.utilisation(1.0, queue);
            assert!((fitted - used).abs() < 0.032, "{load}: {fitted} ≠ {used}");
        }
    }

    #[test]
    fn many_windows_use_the_link_like_their_mean() {
        let mut crowd = Crowd::default();
        crowd.add(10_000.0, 1.0, 0.1, HALVING);
        assert!(crowd.utilisation(10_000.0, 0.0) > 0.99);
        assert_eq!(Crowd::default().utilisation(10.0, 0.0), 1.0);
    }
}
