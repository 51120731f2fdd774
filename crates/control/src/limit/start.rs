//! Effect of connection setup and slow start on a file's rates.
//!
//! A subflow opens with a handshake and starts with W bits; each round trip at most doubles its
//! window (RFC 5681, RFC 6928). Before j round trips have passed, the sender has sent at most the
//! first j windows; the links always bound the rate. With h round trips until the first window
//! arrives (uplink: leaves), ρ the round trip, and x the highest rate of the links, a path is in
//! use for at least
//!
//! ```text
//!   τ(n) = h ρ + max  j ρ + (n − n_j) / x        n_j = W (2^j − 1)
//!               j: n_j < n
//! ```
//! to carry n bits. Of a file of N bits a path carries n ≤ N, and for all of them τ(n) ≥ n / v with
//!
//! ```text
//!   v = max n / τ(n)      over n ≤ N
//! ```
//! so the mean rate of a path in use is at most v. Between two ends of windows τ is a line that is
//! above 0 at n = 0, so n/τ(n) rises there: the maximum is at an n_j or at N.
//!
//! All paths together carry the file no sooner than the maximal sum of their progress. One path
//! opens first, the others after its reply, because MP_JOIN needs the peer's key (RFC 8684, section
//! 3.2). So with D_r of `slow_start` the transfer lasts at least
//!
//! ```text
//!   T = min   t   with   D_f(t − h ρ_f) + Σ_{r ≠ f} D_r(t − ρ_f − h ρ_r) ≥ N
//!        f
//! ```
//! which counts for power that burns as long as the transfer lasts, whichever path is in use.
//!
//! Between two windows a radio waits for a round trip. With a tail at least that long it cannot
//! sleep, and a longer wait burns at least as much.

use crate::slow_start;

/// A path of a file's transfer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Carrier {
    /// Minimum round-trip time, s.
    pub rtt_s: f64,
    /// The highest rate of its links, bit/s of payload.
    pub links_bps: f64,
}

/// Start behaviour of a connection's subflows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Start {
    /// The initial window, bits of payload.
    pub window_bits: f64,
    /// Round trips from a subflow's first packet until the first window reaches the device, or
    /// leaves it.
    pub opening_rtts: f64,
    /// Whether the links' rate also counts: a device may finish sending before its link does.
    pub by_links: bool,
}

impl Start {
    /// The minimum time that `paths` need together for a file of `bits`, s.
    pub fn least_s(&self, bits: f64, paths: &[Carrier]) -> f64 {
        let with_first = |first: usize| {
            let carried_by = |(r, path): (usize, &Carrier), after_s: f64| {
                let joins_s = if r == first { 0.0 } else { paths[first].rtt_s };
                let since_s = after_s - joins_s - self.opening_rtts * path.rtt_s;
                slow_start::carried_bits(self.window_bits, path.rtt_s, self.rate_bps(path), since_s)
            };
            let carried = |after_s| {
                paths
                    .iter()
                    .enumerate()
                    .map(|path| carried_by(path, after_s))
                    .sum::<f64>()
            };
            slow_start::time_s(bits, self.in_use_s(bits, &paths[first]), carried)
        };
        (0..paths.len())
            .map(with_first)
            .fold(f64::INFINITY, f64::min)
    }

    /// The highest mean rate of a path in use for a file of `bits`, bit/s.
    pub fn most_bps(&self, bits: f64, path: &Carrier) -> f64 {
        let candidates = self.windows_before(bits).skip(1).chain([bits]);
        candidates
            .map(|n| n / self.in_use_s(n, path))
            .fold(0.0, f64::max)
    }

    /// τ(n), s.
    fn in_use_s(&self, n: f64, path: &Carrier) -> f64 {
        let of_window =
            |(j, end): (usize, f64)| j as f64 * path.rtt_s + (n - end) / self.rate_bps(path);
        let windows_s = self
            .windows_before(n)
            .enumerate()
            .map(of_window)
            .fold(0.0, f64::max);
        self.opening_rtts * path.rtt_s + windows_s
    }

    /// n_j while below `n`.
    fn windows_before(&self, n: f64) -> impl Iterator<Item = f64> + use<> {
        let window_bits = self.window_bits;
        let ends = (0..).map(move |j: i32| window_bits * (libm::exp2(f64::from(j)) - 1.0));
        ends.take_while(move |&end| end < n)
    }

    fn rate_bps(&self, path: &Carrier) -> f64 {
        if self.by_links {
            path.links_bps
        } else {
            f64::INFINITY
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten segments of 1000 bits.
    const DOWN: Start = Start {
        window_bits: 10_000.0,
        opening_rtts: 2.0,
        by_links: true,
    };

    fn path(rtt_s: f64, links_bps: f64) -> Carrier {
        Carrier { rtt_s, links_bps }
    }

    fn assert_close(actual: f64, expected: f64) {
        assert!(
            (actual - expected).abs() < 1e-9 * expected,
            "{actual} ≠ {expected}"
        );
    }

    /// RTT 100 ms. 5000 bits over 1 Mbit/s: 200 ms + 5 ms. 30,000 bits are two windows: the second
    /// starts to arrive 100 ms after the first does, so 300 ms + 20 ms for its 20,000 bits.
    #[test]
    fn a_file_takes_a_handshake_and_its_windows() {
        assert_close(DOWN.most_bps(5000.0, &path(0.1, 1e6)), 5000.0 / 0.205);
        assert_close(DOWN.most_bps(30_000.0, &path(0.1, 1e6)), 30_000.0 / 0.320);
        let up = Start {
            opening_rtts: 1.0,
            by_links: false,
            ..DOWN
        };
        assert_close(up.most_bps(30_000.0, &path(0.1, 1e6)), 30_000.0 / 0.200);
    }

    /// One segment more than a window costs a whole round trip for a thousand bits. Two paths could
    /// avoid that, so the first window's rate counts.
    #[test]
    fn a_part_of_the_file_may_be_faster_than_the_whole() {
        assert_close(
            DOWN.most_bps(11_000.0, &path(0.1, f64::INFINITY)),
            10_000.0 / 0.2,
        );
    }

    /// 40,000 bits, 1 Mbit/s. Alone over 100 ms: the handshake's 200 ms, two windows in two round
    /// trips, and 10 ms of the third. Over 20 ms: 40 ms, a window of 10 ms, and from a round trip
    /// after its start on the rate binds: 30 ms. A second path of 100 ms starts to deliver 220 ms
    /// after the start; so does the first if it is opened second.
    #[test]
    fn two_paths_take_less_time_but_the_second_starts_later() {
        let (near, far) = (path(0.02, 1e6), path(0.1, 1e6));
        assert_close(DOWN.least_s(40_000.0, &[far]), 0.410);
        assert_close(DOWN.least_s(40_000.0, &[near]), 0.090);
        assert_close(DOWN.least_s(40_000.0, &[near, far]), 0.090);
        // 400,000 bits: alone until 40 + 10 + 400 ms. The second path adds 10,000 bits from 220 ms
        // on, 20,000 from 320 to 340 ms, and 1 Mbit/s from then on. At t = 420 − ε 370,000 + 30,000
        // = 400,000 bits have arrived.
        assert_close(DOWN.least_s(400_000.0, &[near]), 0.450);
        assert_close(DOWN.least_s(400_000.0, &[near, far]), 0.420);
        assert_close(DOWN.least_s(400_000.0, &[far, near]), 0.420);
    }

    /// 100 Mbit over 1 Mbit/s take 100 s of the link, and 200 ms before. After four round trips,
    /// when the link has no more gaps, 150,000 bits have arrived instead of 400,000: that costs 250
    /// ms.
    #[test]
    fn a_long_file_loses_the_idle_time_of_slow_start() {
        assert_close(DOWN.most_bps(100e6, &path(0.1, 1e6)), 100e6 / 100.45);
        assert_close(DOWN.most_bps(100e6, &path(0.0, 1e6)), 1e6);
    }

    /// However a file is divided, and wherever its last window ends, no part of it is faster.
    #[test]
    fn no_part_of_a_file_takes_less_than_its_share_of_the_time() {
        for whole in 1..400 {
            let bits = 1000.0 * f64::from(whole);
            let most = DOWN.most_bps(bits, &path(0.03, 7e5));
            for part in 1..=whole {
                let n = 1000.0 * f64::from(part);
                // Successive windows of 10, 20, 40 … segments, each sent once the previous one is
                // acknowledged and the link is free.
                let (mut left, mut window, mut sent_s, mut free_s) = (n, 10_000.0f64, 0.06, 0.0f64);
                while left > 0.0 {
                    let carried = left.min(window);
                    free_s = free_s.max(sent_s) + carried / 7e5;
                    (left, window, sent_s) = (left - carried, 2.0 * window, sent_s + 0.03);
                }
                assert!(
                    n / free_s <= most * (1.0 + 1e-9),
                    "{part} of {whole}: {} {most}",
                    n / free_s
                );
            }
        }
    }
}
