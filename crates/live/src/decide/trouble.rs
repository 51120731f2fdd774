//! Paths whose subflows get no answer. Such a path is avoided for a time that doubles with each
//! failure: only using it shows whether it has recovered.

use joulepath_model::units::Nanos;

use super::lately::lasted;

/// How long subflows may wait for an answer.
const AFTER: Nanos = Nanos::from_secs(3);
/// How long a path is avoided at first. The time doubles up to 960 s.
const FIRST: Nanos = Nanos::from_secs(15);
const MOST_DOUBLINGS: u32 = 6;
/// The count of failures drops by one for each such interval without another.
const FORGET: Nanos = Nanos::from_secs(1800);

/// The failures of one path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Trouble {
    stalled_since: Option<Nanos>,
    until: Option<Nanos>,
    times: u32,
}

impl Trouble {
    /// True if it is avoided at present.
    pub(super) fn is_given_up(&self, now: Nanos) -> bool {
        self.until.is_some_and(|until| now < until)
    }

    /// True if it has ever been avoided.
    pub(super) fn was_given_up(&self) -> bool {
        self.until.is_some()
    }

    /// Avoids it from now on: it delivers nothing.
    pub(super) fn give_up(&mut self, now: Nanos) {
        if !self.is_given_up(now) {
            self.avoid(now);
        }
    }

    /// Takes in a poll. Returns until when the path is avoided, if it is.
    pub(super) fn observe(&mut self, now: Nanos, stalled: bool) -> Option<Nanos> {
        let stalls = lasted(&mut self.stalled_since, stalled, now, AFTER);
        let is_given_up = self.is_given_up(now);
        if stalls && !is_given_up {
            self.avoid(now);
        }
        self.until.filter(|&until| now < until)
    }

    fn avoid(&mut self, now: Nanos) {
        let calm = self
            .until
            .map_or(0, |until| now.saturating_sub(until).0 / FORGET.0);
        self.times = self
            .times
            .saturating_sub(u32::try_from(calm).unwrap_or(u32::MAX));
        self.until = Some(now.saturating_add(Nanos(FIRST.0 << self.times.min(MOST_DOUBLINGS))));
        self.times = (self.times + 1).min(MOST_DOUBLINGS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_stalls_again_is_avoided_for_longer() {
        let mut trouble = Trouble::default();
        let s = Nanos::from_secs;
        assert_eq!(trouble.observe(s(0), true), None);
        assert_eq!(trouble.observe(s(2), false), None);
        assert_eq!(trouble.observe(s(3), true), None);
        assert_eq!(trouble.observe(s(6), true), Some(s(21)));
        assert_eq!(trouble.observe(s(10), false), Some(s(21)));
        assert_eq!(trouble.observe(s(21), false), None);
        trouble.observe(s(30), true);
        assert_eq!(trouble.observe(s(33), true), Some(s(63)));
        // One of both failures is forgotten half an hour later.
        trouble.observe(s(64), false);
        trouble.observe(s(63 + 1800), true);
        assert_eq!(trouble.observe(s(66 + 1800), true), Some(s(66 + 1800 + 30)));
    }
}
