//! What opening a connection and slow start leave of a file's rates.
//!
//! A subflow opens with a handshake and starts with W bits; each round trip at most doubles its window (RFC
//! 5681, RFC 6928). What the sender has sent before j round trips have passed is at most the first j windows,
//! and afterwards nothing is faster than the links. With h round trips until the first window arrives (leaves,
//! on the way up), ρ a round trip, and x the highest rate of the links, carrying n bits keeps a path in use for
//!
//! ```text
//!   τ(n) = h ρ + max  j ρ + (n − n_j) / x        n_j = W (2^j − 1)
//!               j: n_j < n
//! ```
//! at least. Of a file of N bits a path carries n ≤ N, and for all of them τ(n) ≥ n / v with
//!
//! ```text
//!   v = max n / τ(n)      over n ≤ N
//! ```
//! so the mean rate of a path while it is in use is at most v. Between two ends of windows τ is a line that is
//! above 0 at n = 0, so n/τ(n) rises there: the greatest is at an n_j or at N.
//!
//! Between two windows a radio waits for a round trip. Where its tail is no shorter it does not sleep meanwhile,
//! and whoever waits longer burns at least as much.

/// How the subflows of a connection start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Start {
    /// The initial window, bits of payload.
    pub window_bits: f64,
    /// Round trips from a subflow's first packet until the first window arrives at the device, or leaves it.
    pub opening_rtts: f64,
    /// Whether the links' rate counts as well: a device may be done with what it sends before its link is.
    pub by_links: bool,
}

impl Start {
    /// The highest mean rate, while in use, of a path with this round-trip time whose links carry at most
    /// `links_bps`, of a file of `bits`, bit/s.
    pub fn most_bps(&self, bits: f64, rtt_s: f64, links_bps: f64) -> f64 {
        let x = if self.by_links { links_bps } else { f64::INFINITY };
        let opening_s = self.opening_rtts * rtt_s;
        let ends = |j: i32| self.window_bits * (libm::exp2(f64::from(j)) - 1.0);
        let windows_before = |n: f64| (0..).map(ends).take_while(move |&end| end < n);
        let in_use_s = |n: f64| {
            let of_window = |(j, end): (usize, f64)| j as f64 * rtt_s + (n - end) / x;
            opening_s + windows_before(n).enumerate().map(of_window).fold(0.0, f64::max)
        };
        let candidates = windows_before(bits).skip(1).chain([bits]);
        candidates.map(|n| n / in_use_s(n)).fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten segments of 1000 bits.
    const DOWN: Start = Start { window_bits: 10_000.0, opening_rtts: 2.0, by_links: true };

    fn assert_close(actual: f64, expected: f64) {
        assert!((actual - expected).abs() < 1e-9 * expected, "{actual} ≠ {expected}");
    }

    /// 100 ms a round trip. 5000 bits over 1 Mbit/s: 200 ms and 5 ms. 30,000 bits are two windows: the second
    /// arrives 100 ms after the first begins to, 300 ms and 20 ms for its 20,000 bits.
    #[test]
    fn a_file_takes_its_handshake_and_its_windows() {
        assert_close(DOWN.most_bps(5000.0, 0.1, 1e6), 5000.0 / 0.205);
        assert_close(DOWN.most_bps(30_000.0, 0.1, 1e6), 30_000.0 / 0.320);
        let up = Start { opening_rtts: 1.0, by_links: false, ..DOWN };
        assert_close(up.most_bps(30_000.0, 0.1, 1e6), 30_000.0 / 0.200);
    }

    /// One segment more than a window needs a round trip for a thousand bits: two paths could spare that, so
    /// the first window's rate is what counts.
    #[test]
    fn a_part_of_the_file_may_be_faster_than_the_whole() {
        assert_close(DOWN.most_bps(11_000.0, 0.1, f64::INFINITY), 10_000.0 / 0.2);
    }

    /// 100 Mbit over 1 Mbit/s take 100 s of the link, and 200 ms before it. When the link has no gaps any more,
    /// after four round trips, 150,000 bits have come in place of 400,000: that is 250 ms.
    #[test]
    fn a_long_file_loses_what_slow_start_leaves_idle() {
        assert_close(DOWN.most_bps(100e6, 0.1, 1e6), 100e6 / 100.45);
        assert_close(DOWN.most_bps(100e6, 0.0, 1e6), 1e6);
    }

    /// However a file is divided, and however late its window ends: no part of it is faster.
    #[test]
    fn no_part_of_a_file_takes_less_than_its_share_of_the_time() {
        for whole in 1..400 {
            let bits = 1000.0 * f64::from(whole);
            let most = DOWN.most_bps(bits, 0.03, 7e5);
            for part in 1..=whole {
                let n = 1000.0 * f64::from(part);
                // Windows of 10, 20, 40 … segments one after the other, each as soon as the one before is
                // acknowledged and the link is free.
                let (mut left, mut window, mut sent_s, mut free_s) = (n, 10_000.0f64, 0.06, 0.0f64);
                while left > 0.0 {
                    let carried = left.min(window);
                    free_s = free_s.max(sent_s) + carried / 7e5;
                    (left, window, sent_s) = (left - carried, 2.0 * window, sent_s + 0.03);
                }
                assert!(n / free_s <= most * (1.0 + 1e-9), "{part} of {whole}: {} {most}", n / free_s);
            }
        }
    }
}
