//! Throughput of a receive window with in-order delivery and losses.
//!
//! A segment lost K times in a row arrives at the earliest (1 + K) RTTs, less the one-way delay,
//! after its first transmission. Until then no later segment is delivered. With a window of W
//! segments, segment m is not sent before segment m − W was delivered in order and the sender
//! knows. D_n is the instant at which the sender knows that all segments up to n were delivered, in
//! RTTs:
//!
//! ```text
//!   D_m ≥ D_{m−W} + 1 + K_m                          K geometric: P(K ≥ k) = q^k, independent
//!
//!   for any h ≥ 1 and blocks of W + h segments that begin after n:  the last h segments m of a block have
//!   m − W > n, D does not decrease, so
//!
//!   D_{n+W+h} ≥ D_n + 1 + max of h independent K
//!
//!                    W + h
//!   rate  ≤  min  ─────────────  segments per RTT,    E max_h K = Σ_{k ≥ 1} 1 − (1 − q^k)^h
//!             h   1 + E max_h K
//! ```
//! by the law of large numbers over the blocks, whose maxima are over disjoint segments. q is the
//! probability that all copies sent within one RTT are lost: with one copy per path Π p_r. A sender
//! that sends a segment twice over one path within one RTT may exceed the bound.

/// Window and losses of one connection.
#[derive(Clone, Debug, PartialEq)]
pub struct InOrder {
    /// Whole segments per window.
    pub segments: f64,
    /// Payload of a segment, bits.
    pub segment_bits: f64,
    /// Minimum RTT of each path, s.
    pub rtts_s: Vec<f64>,
    /// Independent loss probability of a segment on each path; 0 for bursty losses, which give no
    /// bound.
    pub loss: Vec<f64>,
}

impl InOrder {
    /// Maximum payload rate delivered in order over these paths, bit/s; infinite without paths, and
    /// if one of them is lossless.
    pub fn most_bps(&self, paths: impl Iterator<Item = usize>) -> f64 {
        let (mut rtt_s, mut all_lost) = (f64::INFINITY, 1.0);
        for path in paths {
            rtt_s = rtt_s.min(self.rtts_s[path]);
            all_lost *= self.loss[path];
        }
        match rtt_s {
            rtt if rtt > 0.0 && rtt.is_finite() && all_lost > 0.0 => {
                segments_per_rtt(self.segments, all_lost) * self.segment_bits / rtt
            }
            _ => f64::INFINITY,
        }
    }
}

/// The bound above; W without loss.
fn segments_per_rtt(window: f64, lost: f64) -> f64 {
    if lost <= 0.0 || window < 1.0 {
        return window;
    }
    let of = |h: f64| (window + h) / (1.0 + mean_of_most(h, lost));
    // Blocks longer than the window add no tighter bound; steps of 1/16 are fine enough.
    let mut h = 1.0;
    let mut least = window;
    while h <= window {
        least = least.min(of(h.floor()));
        h = (h * 1.0625).max(h + 1.0);
    }
    least
}

/// E max of `h` geometric numbers; the sum stops at a term below 10⁻⁹.
fn mean_of_most(h: f64, q: f64) -> f64 {
    let mut sum = 0.0;
    let mut power = q;
    loop {
        let term = -libm::expm1(h * libm::log1p(-power.min(1.0 - 1e-15)));
        sum += term;
        if term < 1e-9 {
            return sum;
        }
        power *= q;
    }
}

#[cfg(test)]
mod tests {
    use joulepath_model::random::{Domain, Stream};

    use super::*;

    /// q = 1/2: E K = q/(1 − q) = 1; E max of two = Σ 1 − (1 − 2^−k)² = Σ 2·2^−k − 4^−k = 2 − 1/3.
    #[test]
    fn the_mean_maximum_of_losses_matches_the_closed_form() {
        assert!((mean_of_most(1.0, 0.5) - 1.0).abs() < 1e-8);
        assert!((mean_of_most(2.0, 0.5) - 5.0 / 3.0).abs() < 1e-8);
        assert!((mean_of_most(1.0, 0.1) - 1.0 / 9.0).abs() < 1e-8);
    }

    #[test]
    fn without_loss_the_window_is_full_and_a_lossless_path_has_no_bound() {
        assert_eq!(segments_per_rtt(44.0, 0.0), 44.0);
        // W = 1, h = 1: 2/(1 + 1/9) = 1.8; the window itself is lower.
        assert_eq!(segments_per_rtt(1.0, 0.1), 1.0);
        let bound = InOrder {
            segments: 10.0,
            segment_bits: 1e4,
            rtts_s: vec![0.1, 0.05],
            loss: vec![0.0, 0.5],
        };
        // A copy on the lossless path always arrives: only the window bounds the rate.
        let bounds = [vec![0], vec![0, 1], vec![]].map(|paths| bound.most_bps(paths.into_iter()));
        assert_eq!(bounds, [f64::INFINITY; 3]);
        let lossy = bound.most_bps([1].into_iter());
        assert!(lossy < 10.0 * 1e4 / 0.05, "{lossy}");
    }

    /// The best possible transport: a window that opens at once, losses known after one RTT,
    /// unlimited rate: D_m = max(D_{m−1}, D_{m−W} + 1 + K_m). It stays below the bound, and close
    /// to it.
    #[test]
    fn the_best_possible_transport_comes_near_the_bound_and_never_exceeds_it() {
        let mut draws = Stream::new(1, Domain::LinkLoss, 1);
        for (window, q) in [
            (4, 0.1),
            (44, 0.01),
            (44, 0.1),
            (122, 0.1),
            (122, 0.01),
            (700, 0.05),
            (30, 0.5),
        ] {
            let mut done = vec![0.0f64; window];
            let n = 400_000;
            let mut last = 0.0f64;
            for m in 0..n {
                let mut lost = 0.0;
                while draws.uniform() < q {
                    lost += 1.0;
                }
                last = last.max(done[m % window] + 1.0 + lost);
                done[m % window] = last;
            }
            let (best, bound) = (n as f64 / last, segments_per_rtt(window as f64, q));
            assert!(best < 1.005 * bound, "{window} {q}: {best} above {bound}");
            assert!(best > 0.6 * bound, "{window} {q}: {best} far below {bound}");
        }
    }
}
