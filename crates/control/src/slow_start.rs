//! Data that slow start admits: an upper bound, or an estimate.
//!
//! A subflow starts with W bits, and each round trip ρ at most doubles its window (RFC 5681, RFC
//! 6928). u seconds after its first window starts to arrive, the windows that started to arrive
//! within j round trips are at most n_j = W (2^j − 1) bits; the path's rate x always bounds the
//! rest:
//!
//! ```text
//!   D(u) = min  n_j + x max(0, u − j ρ)        j = 0, 1, 2, …
//! ```

/// Round trips from a subflow's first packet until its first window arrives: handshake and request.
pub(crate) const OPENING_RTTS: f64 = 2.0;
/// Bisection steps, enough for full precision.
const HALVINGS: u32 = 50;

/// D(u) of a path, bits.
pub(crate) fn carried_bits(window_bits: f64, rtt_s: f64, rate_bps: f64, since_s: f64) -> f64 {
    if since_s <= 0.0 {
        return 0.0;
    }
    let by_rate = rate_bps * since_s;
    if rtt_s <= 0.0 {
        return by_rate;
    }
    let mut least = by_rate;
    let mut windows_bits = 0.0;
    for round in 1.. {
        windows_bits = 2.0 * windows_bits + window_bits;
        let after_s = since_s - f64::from(round) * rtt_s;
        if after_s <= 0.0 {
            return least.min(windows_bits);
        }
        // Windows above the rate never bind again.
        if windows_bits >= least {
            return least;
        }
        least = least.min(windows_bits + rate_bps * after_s);
    }
    least
}

/// The time after which `carried`, which never falls, reaches `bits`, s; at most `enough_s`.
pub(crate) fn time_s(bits: f64, enough_s: f64, carried: impl Fn(f64) -> f64) -> f64 {
    let (mut below, mut above) = (0.0, enough_s);
    for _ in 0..HALVINGS {
        let middle = 0.5 * (below + above);
        if carried(middle) < bits {
            below = middle
        } else {
            above = middle
        }
    }
    above
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_close(actual: f64, expected: f64) {
        assert!(
            (actual - expected).abs() <= 1e-9 * expected.abs(),
            "{actual} ≠ {expected}"
        );
    }

    /// W = 10 kbit, 100 ms, 1 Mbit/s. After 5 ms the rate binds; after 50 ms the first window;
    /// after 150 ms the first window and 50 ms of the second, all of which would be 20 kbit; after
    /// 1 s the rate after four round trips: 150 kbit and 600 kbit, which is less than 310 kbit and
    /// 500 kbit, and than 70 kbit and 700 kbit.
    #[test]
    fn windows_bind_until_the_rate_does() {
        let carried = |since_s| carried_bits(10e3, 0.1, 1e6, since_s);
        assert_close(carried(0.005), 5e3);
        assert_close(carried(0.050), 10e3);
        assert_close(carried(0.150), 30e3);
        assert_close(carried(1.0), 750e3);
        assert_eq!(carried(-1.0), 0.0);
        assert_close(carried_bits(10e3, 0.0, 1e6, 0.3), 300e3);
        assert_close(carried_bits(10e3, 0.1, f64::INFINITY, 0.25), 70e3);
    }

    #[test]
    fn the_time_ends_when_enough_is_carried() {
        let carried = |since_s| carried_bits(10e3, 0.1, 1e6, since_s);
        for bits in [4e3, 25e3, 750e3] {
            let seconds = time_s(bits, 10.0, carried);
            assert!(
                carried(seconds) >= bits && carried(seconds - 1e-9) < bits,
                "{bits} in {seconds} s"
            );
        }
    }

    /// It never falls, and until the rate binds twice the time is at least twice as much.
    #[test]
    fn carried_bits_never_fall() {
        let mut last = 0.0;
        for k in 1..2000 {
            let now = carried_bits(10e3, 0.1, 3e6, f64::from(k) * 1e-3);
            assert!(now >= last);
            last = now;
        }
    }
}
