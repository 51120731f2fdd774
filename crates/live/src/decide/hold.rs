//! Limits the frequency of changes: each change delays the next one longer.
//!
//! ```text
//!   after n recent changes:  the next one comes  FIRST · 2^(n−1)  after the last or later,  at most LONGEST
//!   FORGET without a change:  n − 1
//! ```

use joulepath_model::units::Nanos;

use super::lately::Lately;

/// Delay after a single change.
const FIRST: Nanos = Nanos::from_secs(10);
/// Limits the delay to 640 s.
const MOST_DOUBLINGS: u32 = 6;
/// The count of changes drops by one for each such interval without another.
const FORGET: Nanos = Nanos::from_secs(600);
/// Urgent changes wait this fraction of the delay.
const URGENT: u64 = 10;

const LONGEST: Nanos = Nanos(FIRST.0 << MOST_DOUBLINGS);
/// Number of changes forced by a loss that need not wait.
const MOST_FORCED: u32 = 5;
/// The count of forced changes drops by one for each such interval without another.
const FORGET_FORCED: Nanos = Nanos::from_secs(3600);

/// The recent changes of one thing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Hold {
    changes: Lately,
    forced: Lately,
}

impl Hold {
    /// Records a change.
    pub(super) fn change(&mut self, now: Nanos) {
        self.changes.add(now, FORGET, MOST_DOUBLINGS + 1);
    }

    /// Records a change forced by a loss, which does not delay other changes.
    pub(super) fn force(&mut self, now: Nanos) {
        self.forced.add(now, FORGET_FORCED, MOST_FORCED);
    }

    /// True if a loss may force a change now.
    pub(super) fn may_force(&self, now: Nanos) -> bool {
        self.forced.times(now, FORGET_FORCED) < MOST_FORCED
    }

    /// When a loss may force a change.
    pub(super) fn until_forced(&self, now: Nanos) -> Nanos {
        let last = self.forced.last().filter(|_| !self.may_force(now));
        last.map_or(Nanos::ZERO, |last| {
            last.saturating_add(Nanos(LONGEST.0 / URGENT))
        })
    }

    /// When the next change may happen.
    pub(super) fn until(&self, now: Nanos, urgent: bool) -> Nanos {
        let Some(changed) = self.changes.last() else {
            return Nanos::ZERO;
        };
        let length = Nanos(FIRST.0 << self.changes.times(now, FORGET).saturating_sub(1));
        changed.saturating_add(if urgent {
            Nanos(length.0 / URGENT)
        } else {
            length
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Changes in one hour if each happens as soon as it may.
    fn changes(urgent: bool) -> usize {
        let mut hold = Hold::default();
        let hour = |s: u64| hold_step(&mut hold, Nanos::from_secs(s), urgent);
        (1..=3600).map(hour).filter(|&changed| changed).count()
    }

    fn hold_step(hold: &mut Hold, now: Nanos, urgent: bool) -> bool {
        let may = now >= hold.until(now, urgent);
        if may {
            hold.change(now);
        }
        may
    }

    #[test]
    fn changes_come_at_growing_intervals() {
        // At 1 s, then 10, 20, 40 … 640 s later: the seventh at 631 s, the eighth at 1271 s. After
        // that one every 640 s, because one is forgotten in the meantime: 11 in total.
        assert_eq!(changes(false), 11);
        // A tenth of that: 1, 2, 4 … 64 s, then every 64 s.
        assert!((56..=64).contains(&changes(true)), "{}", changes(true));
    }

    #[test]
    fn after_five_losses_in_an_hour_the_next_one_waits_about_a_minute() {
        let (mut hold, s) = (Hold::default(), Nanos::from_secs);
        for loss in 0..5 {
            assert!(hold.may_force(s(loss)) && hold.until_forced(s(loss)) == Nanos::ZERO);
            hold.force(s(loss));
        }
        // A tenth of 640 s after the last.
        assert!(!hold.may_force(s(5)));
        assert_eq!(hold.until_forced(s(5)), s(4 + 64));
        // One is forgotten after an hour without another. Other changes wait for none of them.
        assert!(!hold.may_force(s(4 + 3599)) && hold.may_force(s(4 + 3600)));
        assert_eq!(hold.until(s(5), false), Nanos::ZERO);
    }

    #[test]
    fn a_change_after_a_long_calm_happens_at_once() {
        let mut hold = Hold::default();
        for s in [0, 10, 30] {
            hold.change(Nanos::from_secs(s));
        }
        assert_eq!(
            hold.until(Nanos::from_secs(31), false),
            Nanos::from_secs(30 + 40)
        );
        let later = Nanos::from_secs(30 + 2 * 600);
        assert_eq!(hold.until(later, false), Nanos::from_secs(30 + 10));
    }
}
