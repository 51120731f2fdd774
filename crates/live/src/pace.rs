//! When connections are listed. A listing costs the kernel and this process some time for each socket of the
//! network namespace, so that a host with thousands of them gets it more seldom; counters, which cost next to
//! nothing, are read at each look and say when it cannot wait.

use joulepath_model::units::Nanos;

/// The listings' part of a processor: one in so many.
const SHARE: u64 = 1000;
/// The same while an interface sends and nothing comes back.
const SHARE_IN_DOUBT: u64 = 100;
/// The longest time between two listings. Where no packet passes nothing changes for connections, but for
/// what their programs do with them.
const LONGEST: Nanos = Nanos::from_secs(30);

/// What counters say of the time since the last look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    /// Some packet has passed.
    pub(crate) passed: bool,
    /// Some interface has sent and got nothing, or is silent after a flow.
    pub(crate) doubtful: bool,
}

/// When the next listing is due.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pace {
    /// When the last one was made, and the processor time that it took.
    last: Option<(Nanos, Nanos)>,
    /// Something has passed since.
    passed: bool,
    /// It must not wait.
    at_once: bool,
}

impl Pace {
    /// The next look lists, whatever else is seen.
    pub(crate) fn list_next(&mut self) {
        self.at_once = true;
    }

    /// Whether this look lists.
    pub(crate) fn is_due(&mut self, now: Nanos, seen: Seen) -> bool {
        self.passed |= seen.passed;
        let Some((at, cost)) = self.last else { return true };
        let share = if seen.doubtful { SHARE_IN_DOUBT } else { SHARE };
        let pause = if self.passed { Nanos(cost.0.saturating_mul(share)).min(LONGEST) } else { LONGEST };
        self.at_once || now.saturating_sub(at) >= pause
    }

    /// One was made, and took this much of a processor.
    pub(crate) fn listed(&mut self, now: Nanos, cost: Nanos) {
        *self = Pace { last: Some((now, cost)), passed: false, at_once: false };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUSY: Seen = Seen { passed: true, doubtful: false };
    const IN_DOUBT: Seen = Seen { passed: true, doubtful: true };
    const S: fn(u64) -> Nanos = Nanos::from_secs;

    /// How many listings a day of looks, one every 2 s, makes; each costs `cost`.
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
    fn few_connections_are_listed_at_each_look_and_many_take_a_thousandth_of_a_processor_at_most() {
        assert_eq!(listings(Nanos::from_micros(300), BUSY), 43_200);
        // 8 s between two.
        assert_eq!(listings(Nanos::from_millis(7), BUSY), 10_800);
        // More than a thousandth only where even one in half a minute is more.
        assert_eq!(listings(S(1), BUSY), 2880);
    }

    #[test]
    fn a_path_in_doubt_is_listed_ten_times_as_often_and_one_where_nothing_passes_seldom() {
        assert_eq!(listings(Nanos::from_millis(60), IN_DOUBT), 14_400);
        assert_eq!(listings(Nanos::from_millis(60), BUSY), 2880);
        assert_eq!(listings(Nanos::from_micros(300), Seen::default()), 2880);
    }

    #[test]
    fn what_passed_once_is_listed_though_nothing_passes_now() {
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
