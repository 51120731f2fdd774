//! Tells a dead path from one on which nobody sends. The receiver of a download cannot tell, so the
//! next path opens as a backup; a sender that gets no answers moves to it.
//!
//! ```text
//!   calm ── silent for PATIENCE ──► watched ── another path brings data ──► dead
//!     ▲                                │
//!     └── data arrives, or LONGEST passes: a false alarm, PATIENCE doubles ◄┘
//! ```

use joulepath_model::units::Nanos;

use super::lately::Lately;

/// Least rate at which a path counts as bringing data, bit/s.
pub(super) const BRINGS_BPS: f64 = 20e3;
/// How long a path may be silent without being watched.
const PATIENCE: Nanos = Nanos::from_secs(3);
const MOST_DOUBLINGS: u32 = 7;
/// If all paths are silent for so long, nobody sends.
const LONGEST: Nanos = Nanos::from_secs(60);
/// The count of false alarms drops by one for each such interval without another.
const FORGET: Nanos = Nanos::from_secs(1800);

/// State of one path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Silence {
    /// Since when the path is watched.
    watched: Option<Nanos>,
    /// True if another path has brought data in the meantime.
    dead: bool,
    /// True if this silence counts as a false alarm.
    dismissed: bool,
    false_alarms: Lately,
    /// True if there was no connection at the last poll.
    is_idle: bool,
    /// The first poll with connections after one without: earlier silence says nothing.
    begun: Nanos,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// No evidence against the path. With a time: a silent path, and when it will be watched.
    Calm(Option<Nanos>),
    /// Silent for this long.
    Watched(Nanos),
    /// Silent while another path brings data.
    Dead,
}

impl Silence {
    /// Takes in a poll: how long the path has been silent, and whether another path brings data.
    pub(super) fn observe(
        &mut self,
        now: Nanos,
        silent: Option<Nanos>,
        others_bring: bool,
    ) -> Verdict {
        if std::mem::take(&mut self.is_idle) {
            self.begun = now;
        }
        let Some(silent) = silent.map(|silent| silent.min(now.saturating_sub(self.begun))) else {
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

    /// Resets the state; past false alarms still count.
    pub(super) fn start_anew(&mut self) -> Verdict {
        let Silence {
            false_alarms,
            begun,
            ..
        } = *self;
        *self = Silence {
            false_alarms,
            begun,
            ..Silence::default()
        };
        Verdict::Calm(None)
    }

    /// Takes in a poll without connections.
    pub(super) fn idle(&mut self) -> Verdict {
        self.start_anew();
        self.is_idle = true;
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
    fn a_silent_path_is_dead_when_another_path_brings_data() {
        let mut silence = Silence::default();
        assert_eq!(silence.observe(S(10), None, false), Verdict::Calm(None));
        assert_eq!(
            silence.observe(S(12), Some(S(2)), false),
            Verdict::Calm(Some(S(13)))
        );
        assert_eq!(
            silence.observe(S(13), Some(S(3)), false),
            Verdict::Watched(S(3))
        );
        assert_eq!(silence.observe(S(15), Some(S(5)), true), Verdict::Dead);
        // It stays dead while it is silent, even if all other paths pause.
        assert_eq!(silence.observe(S(99), Some(S(89)), false), Verdict::Dead);
        assert_eq!(silence.observe(S(100), None, true), Verdict::Calm(None));
        assert_eq!(silence.doublings(S(100)), 0);
    }

    #[test]
    fn a_pause_without_connections_is_no_silence() {
        let mut silence = Silence::default();
        assert_eq!(silence.observe(S(10), None, false), Verdict::Calm(None));
        assert_eq!(silence.idle(), Verdict::Calm(None));
        // A connection begins, and its first packet has not arrived.
        assert_eq!(
            silence.observe(S(16), Some(S(6)), false),
            Verdict::Calm(Some(S(19)))
        );
        assert_eq!(
            silence.observe(S(19), Some(S(9)), false),
            Verdict::Watched(S(3))
        );
    }

    #[test]
    fn false_alarms_increase_the_patience() {
        let mut silence = Silence::default();
        let mut alarms = vec![];
        // A film that is fetched for 10 s and pauses for 20 s.
        for s in 0..900 {
            let quiet = (s % 30 >= 10).then(|| S(s % 30 - 9));
            if let Verdict::Watched(_) = silence.observe(S(s), quiet, false) {
                alarms.push(s);
            }
        }
        // At 3, 6 and 12 s of silence; 24 s never occur.
        assert_eq!(
            alarms
                .iter()
                .map(|s| s / 30)
                .collect::<std::collections::BTreeSet<_>>(),
            [0, 1, 2].into()
        );
        assert_eq!(silence.doublings(S(900)), 3);
        assert_eq!(silence.doublings(S(900 + 3 * 1800)), 0);
    }

    #[test]
    fn a_long_silence_of_all_paths_is_no_failure() {
        let mut silence = Silence::default();
        let verdicts: Vec<_> = (3..200)
            .map(|s| silence.observe(S(s), Some(S(s)), false))
            .collect();
        assert!(
            verdicts[..60]
                .iter()
                .all(|verdict| matches!(verdict, Verdict::Watched(_)))
        );
        assert!(
            verdicts[60..]
                .iter()
                .all(|verdict| *verdict == Verdict::Calm(None))
        );
    }
}
