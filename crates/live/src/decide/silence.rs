//! Whether a path that brought data all the time is dead, or only nobody sends: the receiver of a download
//! cannot tell. The next path is opened as a backup; a sender whose data gets no answer moves over to it.
//!
//! ```text
//!   calm ── nothing comes for PATIENCE ──► watched ── another path brings data ──────► dead
//!     ▲                                       │
//!     └── something comes, or LONGEST: nobody had sent, PATIENCE doubles ◄──┘
//! ```

use joulepath_model::units::Nanos;

use super::lately::Lately;

/// A path brings data from this rate on, bit/s.
pub(super) const BRINGS_BPS: f64 = 20e3;
/// How long nothing comes before it is noticed.
const PATIENCE: Nanos = Nanos::from_secs(3);
const MOST_DOUBLINGS: u32 = 7;
/// A path that stays silent for so long, like all others, is silent because nobody sends.
const LONGEST: Nanos = Nanos::from_secs(60);
/// One false alarm is forgotten after this time.
const FORGET: Nanos = Nanos::from_secs(1800);

/// What is known of one path's silence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Silence {
    /// When it began to be watched.
    watched: Option<Nanos>,
    /// Another path has brought data meanwhile.
    dead: bool,
    /// It was given up that this silence says something.
    dismissed: bool,
    false_alarms: Lately,
}

/// How a path stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Nothing speaks against it; if it is silent, until when that is so.
    Calm(Option<Nanos>),
    /// Nothing has come for this long.
    Watched(Nanos),
    /// Nothing comes, and another path brings data.
    Dead,
}

impl Silence {
    /// Takes in a look: for how long nothing has come, and whether another path brings data.
    pub(super) fn observe(&mut self, now: Nanos, silent: Option<Nanos>, others_bring: bool) -> Verdict {
        let Some(silent) = silent else {
            if self.watched.is_some() && !self.dead && !self.dismissed {
                self.false_alarm(now);
            }
            return self.start_anew();
        };
        if self.dismissed {
            return Verdict::Calm(None);
        }
        let patience = Nanos(PATIENCE.0 << self.doublings(now));
        if silent < patience && self.watched.is_none() {
            return Verdict::Calm(Some(now.saturating_add(patience.saturating_sub(silent))));
        }
        let since = *self.watched.get_or_insert(now);
        self.dead |= others_bring;
        if self.dead {
            return Verdict::Dead;
        }
        if now.saturating_sub(since) >= LONGEST {
            self.dismissed = true;
            self.false_alarm(now);
            return Verdict::Calm(None);
        }
        Verdict::Watched(silent)
    }

    /// The path is given up for other reasons: what comes after counts.
    pub(super) fn start_anew(&mut self) -> Verdict {
        *self = Silence { false_alarms: self.false_alarms, ..Silence::default() };
        Verdict::Calm(None)
    }

    fn false_alarm(&mut self, now: Nanos) {
        self.false_alarms.add(now, FORGET, MOST_DOUBLINGS);
    }

    fn doublings(&self, now: Nanos) -> u32 {
        self.false_alarms.times(now, FORGET)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: fn(u64) -> Nanos = Nanos::from_secs;

    #[test]
    fn a_path_is_dead_when_another_brings_what_it_does_not() {
        let mut silence = Silence::default();
        assert_eq!(silence.observe(S(10), None, false), Verdict::Calm(None));
        assert_eq!(silence.observe(S(12), Some(S(2)), false), Verdict::Calm(Some(S(13))));
        assert_eq!(silence.observe(S(13), Some(S(3)), false), Verdict::Watched(S(3)));
        assert_eq!(silence.observe(S(15), Some(S(5)), true), Verdict::Dead);
        // It stays so while nothing comes, also when all the others pause.
        assert_eq!(silence.observe(S(99), Some(S(89)), false), Verdict::Dead);
        assert_eq!(silence.observe(S(100), None, true), Verdict::Calm(None));
        assert_eq!(silence.doublings(S(100)), 0);
    }

    #[test]
    fn who_was_silent_for_no_reason_is_waited_for_longer() {
        let mut silence = Silence::default();
        let mut alarms = vec![];
        // A film that is fetched for 10 s and rests for 20 s.
        for s in 0..900 {
            let quiet = (s % 30 >= 10).then(|| S(s % 30 - 9));
            if let Verdict::Watched(_) = silence.observe(S(s), quiet, false) {
                alarms.push(s);
            }
        }
        // At 3, 6 and 12 s of silence; 24 s never come.
        assert_eq!(
            alarms.iter().map(|s| s / 30).collect::<std::collections::BTreeSet<_>>(),
            [0, 1, 2].into()
        );
        assert_eq!(silence.doublings(S(900)), 3);
        assert_eq!(silence.doublings(S(900 + 3 * 1800)), 0);
    }

    #[test]
    fn a_long_rest_of_all_paths_is_no_failure() {
        let mut silence = Silence::default();
        let verdicts: Vec<_> = (3..200).map(|s| silence.observe(S(s), Some(S(s)), false)).collect();
        assert!(verdicts[..60].iter().all(|verdict| matches!(verdict, Verdict::Watched(_))));
        assert!(verdicts[60..].iter().all(|verdict| *verdict == Verdict::Calm(None)));
    }
}
