//! When to list connections. A listing costs time for each socket of the network namespace, so a
//! host with thousands of sockets is listed less often. Counters cost almost nothing: every poll
//! reads them, and they tell when a listing cannot wait.

use joulepath_model::units::Nanos;

/// Listings may use 1 of `SHARE` of a processor.
const SHARE: u64 = 1000;
/// The same while an interface sends and receives nothing.
const SHARE_IN_DOUBT: u64 = 100;
/// Longest time between two listings. Without packets, only programs change connections.
const LONGEST: Nanos = Nanos::from_secs(30);

/// What the counters have shown since the last poll.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    /// Some packet passed.
    pub(crate) passed: bool,
    /// Some interface sent and received nothing, or is silent after a flow.
    pub(crate) doubtful: bool,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pace {
    /// Time of the last listing and its processor time.
    last: Option<(Nanos, Nanos)>,
    /// Some packet passed since.
    passed: bool,
    /// The next poll must list.
    at_once: bool,
}

impl Pace {
    /// Makes the next poll list.
    pub(crate) fn list_next(&mut self) {
        self.at_once = true;
    }

    /// True if this poll lists.
    pub(crate) fn is_due(&mut self, now: Nanos, seen: Seen) -> bool {
        self.passed |= seen.passed;
        let Some((at, cost)) = self.last else {
            return true;
        };
        let share = if seen.doubtful { SHARE_IN_DOUBT } else { SHARE };
        let pause = if self.passed {
            Nanos(cost.0.saturating_mul(share)).min(LONGEST)
        } else {
            LONGEST
        };
        self.at_once || now.saturating_sub(at) >= pause
    }

    /// Records a listing that took `cost` of processor time.
    pub(crate) fn listed(&mut self, now: Nanos, cost: Nanos) {
        *self = Pace {
            last: Some((now, cost)),
            passed: false,
            at_once: false,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUSY: Seen = Seen {
        passed: true,
        doubtful: false,
    };
    const IN_DOUBT: Seen = Seen {
        passed: true,
        doubtful: true,
    };
    const S: fn(u64) -> Nanos = Nanos::from_secs;

    /// Listings in a day with one poll every 2 s; each listing costs `cost`.
    fn listings(cost: Nanos, seen: Seen) -> u64 {
        let mut pace = Pace::default();
        let mut count = 0;
        for now in (0..86_400).step_by(2).map(S) {
            if pace.is_due(now, seen) {
                pace.listed(now, cost);
                count += 1;
            }
        }
        count
    }

    #[test]
    fn few_connections_are_listed_at_each_poll_and_many_cost_a_thousandth_of_a_processor() {
        assert_eq!(listings(Nanos::from_micros(300), BUSY), 43_200);
        // 8 s between two listings.
        assert_eq!(listings(Nanos::from_millis(7), BUSY), 10_800);
        // The cap of 30 s wins, although 1 s in 30 s is more than a thousandth.
        assert_eq!(listings(S(1), BUSY), 2880);
    }

    #[test]
    fn a_doubtful_path_is_listed_ten_times_as_often_and_an_idle_path_rarely() {
        assert_eq!(listings(Nanos::from_millis(60), IN_DOUBT), 14_400);
        assert_eq!(listings(Nanos::from_millis(60), BUSY), 2880);
        assert_eq!(listings(Nanos::from_micros(300), Seen::default()), 2880);
    }

    #[test]
    fn one_packet_causes_a_listing_even_if_the_path_is_idle_again() {
        let mut pace = Pace::default();
        assert!(pace.is_due(S(0), Seen::default()));
        pace.listed(S(0), Nanos::from_millis(3));
        assert!(!pace.is_due(S(2), BUSY));
        assert!(pace.is_due(S(4), Seen::default()));
        pace.listed(S(4), Nanos::from_millis(3));
        assert!(!pace.is_due(S(10), Seen::default()));
        pace.list_next();
        assert!(pace.is_due(S(10), Seen::default()));
        pace.listed(S(10), Nanos::from_millis(3));
        assert!(!pace.is_due(S(12), Seen::default()));
    }
}
