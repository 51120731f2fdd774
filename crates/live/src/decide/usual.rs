//! The usual rate, and whether the present rate is lower.

use joulepath_model::units::Nanos;

use super::lately::lasted;

/// Time constant of the usual rate, s.
const USUAL_S: f64 = 10.0;
/// Lower rates count as no traffic, bit/s. Plans are throttled to as little as 32 kbit/s.
pub(super) const LEAST_BPS: f64 = 20e3;
/// After so long without traffic a new flow begins. Its first poll saw part of the rest.
const BREAK: Nanos = Nanos::from_secs(2);
/// The usual rate is forgotten after so long without traffic.
const REST: Nanos = Nanos::from_secs(10);

/// The usual rate, and for how long the rate has been low.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Usual {
    bps: Option<f64>,
    looked: Option<Nanos>,
    resting_since: Option<Nanos>,
    low_for: Nanos,
}

impl Usual {
    /// The usual rate, bit/s; `None` before any traffic.
    pub(super) fn bps(&self) -> Option<f64> {
        self.bps
    }

    /// Takes in a rate, which is low below `bound_bps`. Returns for how long it has been low.
    /// Delayed data arrives in bursts, so time with a normal rate is subtracted only by half.
    pub(super) fn observe(&mut self, now: Nanos, carried_bps: f64, bound_bps: f64) -> Nanos {
        let passed = self
            .looked
            .map_or(Nanos::ZERO, |looked| now.saturating_sub(looked));
        self.looked = Some(now);
        let rests = carried_bps < LEAST_BPS;
        let begins = self
            .resting_since
            .is_some_and(|since| now.saturating_sub(since) >= BREAK);
        if lasted(&mut self.resting_since, rests, now, REST) {
            self.bps = None;
        }
        if rests {
            // Nobody sends, or nothing gets through: `silence` and `trouble` handle that.
            return Nanos::ZERO;
        }
        if begins {
            self.calm();
            return Nanos::ZERO;
        }
        if carried_bps < bound_bps {
            self.low_for = self.low_for.saturating_add(passed);
            return self.low_for;
        }
        self.low_for = self.low_for.saturating_sub(Nanos(passed.0 / 2));
        let usual = self.bps.unwrap_or(carried_bps);
        let weight = 1.0 - (-passed.as_secs_f64() / USUAL_S).exp();
        self.bps = Some(usual + weight * (carried_bps - usual));
        Nanos::ZERO
    }

    /// True if the rate is low, even if not for long.
    pub(super) fn is_low(&self) -> bool {
        self.low_for > Nanos::ZERO
    }

    /// Resets the low time.
    pub(super) fn calm(&mut self) {
        self.low_for = Nanos::ZERO;
    }

    /// Sets the usual rate.
    pub(super) fn becomes(&mut self, bps: f64) {
        *self = Usual {
            bps: Some(bps),
            looked: self.looked,
            ..Usual::default()
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: fn(u64) -> Nanos = Nanos::from_secs;

    #[test]
    fn the_usual_rate_follows_with_a_time_constant_of_ten_seconds() {
        let mut usual = Usual::default();
        usual.observe(S(0), 4e6, 0.0);
        assert_eq!(usual.bps(), Some(4e6));
        // After 10 s a step has settled except for e^-1: 8 - 4 / e = 6.528 Mbit/s.
        usual.observe(S(10), 8e6, 0.0);
        assert!(
            (usual.bps().unwrap() - 6.528482e6).abs() < 1.0,
            "{:?}",
            usual.bps()
        );
        // A rate set at 10 s and seen again at 20 s continues from there: 8 - 6 / e = 5.793 Mbit/s.
        usual.becomes(2e6);
        usual.observe(S(20), 8e6, 0.0);
        assert!(
            (usual.bps().unwrap() - 5.792723e6).abs() < 1.0,
            "{:?}",
            usual.bps()
        );
    }

    #[test]
    fn flows_that_end_and_begin_within_a_poll_are_not_low() {
        let mut usual = Usual::default();
        for page in 0..6 {
            // A rest, the begin of a page, and its end.
            for (after, bps) in [(0, 0.0), (4, 1e6), (5, 8e6), (6, 1e6)] {
                assert!(
                    usual.observe(S(10 * page + after), bps, 4e6) <= S(1),
                    "{page}"
                );
            }
        }
        // A flow that is slow all the time is.
        let low = (60..64).map(|s| usual.observe(S(s), 1e6, 4e6)).max();
        assert!(low >= Some(S(3)), "{low:?}");
    }

    #[test]
    fn time_at_a_normal_rate_counts_half_against_low_time() {
        let mut usual = Usual::default();
        let low: Vec<(Nanos, bool)> = [
            (0, 1e6),
            (6, 1e6),
            (10, 4e6),
            (11, 1e6),
            (17, 4e6),
            (18, 1e6),
            (40, 4e6),
        ]
        .map(|(s, bps)| (usual.observe(S(s), bps, 2e6), usual.is_low()))
        .into();
        // Low for 6 s, minus half of 4; plus 1 s, minus half of 6; plus 1 s.
        let zero = Nanos::ZERO;
        let expected = [
            (zero, false),
            (S(6), true),
            (zero, true),
            (S(5), true),
            (zero, true),
            (S(3), true),
        ];
        assert_eq!(low[..6], expected);
        assert_eq!(low[6], (zero, false));
    }
}
