//! How many paths are in use where each is filled before the next.
//!
//! ```text
//!      k paths  ── they carry FULL of their rates, for FULL_AFTER ──────────►  k + 1 paths
//!         ▲                                                                        │
//!         └── all together carry less than FREE of the first k, for FREE_AFTER ────┘
//! ```
//! Where nobody says what a path carries, the highest rate seen stands for it. An application that sends
//! steadily looks as if it had filled such a path, so that the next one is on trial: if all together do not
//! carry GAIN more after TRIAL, it closes again, and opens no more before there is more to carry, or PAUSE is
//! over, which doubles each time. A path that has become slow comes last (`slow`).
//!
//! FREE is below FULL by more than what moves over when a path opens: without that gap the last path would
//! come and go.

use joulepath_model::units::Nanos;

use super::lately::lasted;

/// Part of its rate at which a path is full.
const FULL: f64 = 0.85;
/// Part of the others' rates below which the last path is not needed.
const FREE: f64 = 0.6;
const FULL_AFTER: Nanos = Nanos::from_secs(5);
const FREE_AFTER: Nanos = Nanos::from_secs(30);

/// How long a path is on trial, and what it has to bring.
const TRIAL: Nanos = Nanos::from_secs(10);
const GAIN: f64 = 1.1;
/// Before the next trial at the same rate.
const PAUSE: Nanos = Nanos::from_secs(600);
const MOST_DOUBLINGS: u32 = 6;

/// A path that was opened to see whether it is needed.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Trial {
    since: Nanos,
    before_bps: f64,
}

/// A rate at which another path brought nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Enough {
    rate_bps: f64,
    until: Nanos,
    times: u32,
}

/// How many are in use, and since when that is too few or too many.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Overflow {
    further: usize,
    full_since: Option<Nanos>,
    free_since: Option<Nanos>,
    trial: Option<Trial>,
    enough: Option<Enough>,
}

/// One path, in the order in which they are filled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Filled {
    /// What it carries, bit/s.
    pub(super) rate_bps: f64,
    /// What it can carry, bit/s; none: it never counts as full.
    pub(super) most_bps: Option<f64>,
    /// Whether somebody has said so; if not, it is the highest rate seen.
    pub(super) is_said: bool,
}

impl Overflow {
    /// How many of the paths to use; at least one.
    pub(super) fn paths(&mut self, now: Nanos, paths: &[Filled]) -> usize {
        let most = paths.len().max(1);
        self.further = self.further.min(most - 1);
        let used = &paths[..(self.further + 1).min(paths.len())];
        let carried: f64 = paths.iter().map(|path| path.rate_bps).sum();
        let sum = |paths: &[Filled]| paths.iter().map(|path| path.most_bps).sum::<Option<f64>>();
        let is_sure = used.iter().all(|path| path.is_said);
        let is_enough =
            self.enough.is_some_and(|enough| now < enough.until && carried < GAIN * enough.rate_bps);
        let is_at_its_rate = sum(used).is_some_and(|most| used_bps(used) >= FULL * most);
        let is_full = is_at_its_rate && (is_sure || !is_enough);
        if self.trial_has_failed(now, carried) {
            return self.further + 1;
        }
        let fewer = &used[..used.len().saturating_sub(1)];
        let is_free = self.further > 0 && carried < FREE * sum(fewer).unwrap_or(f64::INFINITY);
        if lasted(&mut self.full_since, is_full, now, FULL_AFTER) && self.further + 1 < most {
            let trial = (!is_sure).then_some(Trial { since: now, before_bps: carried });
            *self = Overflow { trial, ..self.with(self.further + 1) };
        } else if lasted(&mut self.free_since, is_free, now, FREE_AFTER) {
            *self = self.with(self.further - 1);
        }
        self.further + 1
    }

    /// So many further paths, and what was learnt.
    fn with(&self, further: usize) -> Overflow {
        Overflow { further, enough: self.enough, ..Overflow::default() }
    }

    /// Ends a trial that is over; whether it was for nothing.
    fn trial_has_failed(&mut self, now: Nanos, carried: f64) -> bool {
        let Some(trial) = self.trial.filter(|trial| now.saturating_sub(trial.since) >= TRIAL) else {
            return false;
        };
        self.trial = None;
        if self.further == 0 || carried >= GAIN * trial.before_bps {
            return false;
        }
        let times = self.enough.map_or(0, |enough| (enough.times + 1).min(MOST_DOUBLINGS));
        let until = now.saturating_add(Nanos(PAUSE.0 << times));
        let enough = Some(Enough { rate_bps: carried.max(trial.before_bps), until, times });
        *self = Overflow { enough, ..self.with(self.further - 1) };
        true
    }
}

fn used_bps(used: &[Filled]) -> f64 {
    used.iter().map(|path| path.rate_bps).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(rates: [f64; 2]) -> [Filled; 2] {
        rates.map(|rate_bps| Filled { rate_bps, most_bps: Some(10e6), is_said: true })
    }

    /// Looks every second from `from` to `to`; the last answer.
    fn look(overflow: &mut Overflow, from: u64, to: u64, rates: [f64; 2]) -> usize {
        (from..to).map(|s| overflow.paths(Nanos::from_secs(s), &paths(rates))).last().unwrap()
    }

    #[test]
    fn the_second_path_opens_when_the_first_is_full_and_closes_when_the_first_suffices() {
        let mut overflow = Overflow::default();
        assert_eq!(look(&mut overflow, 0, 100, [8.4e6, 0.0]), 1);
        assert_eq!(look(&mut overflow, 100, 105, [9e6, 0.0]), 1);
        assert_eq!(look(&mut overflow, 105, 106, [9e6, 0.0]), 2);
        // Traffic has moved over; the first path is not full any more, and the second is needed still.
        assert_eq!(look(&mut overflow, 106, 300, [5e6, 4e6]), 2);
        assert_eq!(look(&mut overflow, 300, 330, [3e6, 2e6]), 2);
        assert_eq!(look(&mut overflow, 330, 331, [3e6, 2e6]), 1);
    }

    #[test]
    fn a_path_whose_rate_is_not_known_is_never_full() {
        let mut overflow = Overflow::default();
        let unknown = [1e9, 0.0].map(|rate_bps| Filled { rate_bps, most_bps: None, is_said: false });
        for s in 0..100 {
            assert_eq!(overflow.paths(Nanos::from_secs(s), &unknown), 1);
        }
    }

    /// Looks every second at an application that sends `wanted` over a first path of 7 Mbit/s, which nobody
    /// has said; in how many of them both paths were in use.
    fn both_in_use(overflow: &mut Overflow, seconds: std::ops::Range<u64>, wanted: f64) -> usize {
        let (mut used, mut most, mut count) = (1, 0.0_f64, 0);
        for s in seconds {
            let first = f64::min(wanted, 7e6);
            most = most.max(first);
            let rates = [first, if used > 1 { wanted - first } else { 0.0 }];
            let all = rates.map(|rate_bps| Filled { rate_bps, most_bps: Some(most), is_said: false });
            used = overflow.paths(Nanos::from_secs(s), &all);
            count += used - 1;
        }
        count
    }

    #[test]
    fn without_a_rate_a_path_is_full_if_the_next_one_brings_more() {
        let mut overflow = Overflow::default();
        assert_eq!(both_in_use(&mut overflow, 0..1000, 10e6), 995);
        // An application that sends 5 Mbit/s needs no second one: trials of 10 s after 5, 615, 1825 … s.
        let mut overflow = Overflow::default();
        assert_eq!(both_in_use(&mut overflow, 0..1000, 5e6), 20);
        assert_eq!(both_in_use(&mut overflow, 1000..3600, 5e6), 10);
        // More to carry is no reason to wait.
        assert!(both_in_use(&mut overflow, 3600..3700, 10e6) > 90);
        // One that sends 7.5 Mbit/s gains 7 %, which is too little.
        let mut overflow = Overflow::default();
        assert_eq!(both_in_use(&mut overflow, 0..500, 7.5e6), 10);
    }

    #[test]
    fn when_paths_go_fewer_are_used() {
        let mut overflow = Overflow::default();
        look(&mut overflow, 0, 10, [9e6, 0.0]);
        assert_eq!(overflow.paths(Nanos::from_secs(10), &paths([9e6, 0.0])[..1]), 1);
        assert_eq!(overflow.paths(Nanos::from_secs(11), &[]), 1);
    }
}
