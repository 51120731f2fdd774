//! How many paths to use if each is filled before the next.
//!
//! ```text
//!      k paths  ── they carry FULL of their rates for FULL_AFTER ───────────►  k + 1 paths
//!         ▲                                                                        │
//!         └── all together carry less than FREE of the first k for FREE_AFTER ─────┘
//! ```
//! Without a configured rate, the highest rate seen is a path's rate. A steady application then
//! seems to fill the path, so the next path is on trial: unless all paths together carry GAIN more
//! after TRIAL, it closes. It opens again only when there is more to carry, or after PAUSE, which
//! doubles each time. A slow path comes last (`slow`).
//!
//! FREE is below FULL by more than the traffic that moves over when a path opens: otherwise the
//! last path would flap.

use joulepath_model::units::Nanos;

use super::lately::lasted;

/// A path is full at this fraction of its rate.
const FULL: f64 = 0.85;
/// Below this fraction of the other paths' rates the last path is not needed.
const FREE: f64 = 0.6;
const FULL_AFTER: Nanos = Nanos::from_secs(5);
const FREE_AFTER: Nanos = Nanos::from_secs(30);

/// Length of a trial and the gain that it must bring.
const TRIAL: Nanos = Nanos::from_secs(10);
const GAIN: f64 = 1.1;
/// Pause before the next trial at the same rate.
const PAUSE: Nanos = Nanos::from_secs(600);
const MOST_DOUBLINGS: u32 = 6;

/// A path that was opened as a trial.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Trial {
    since: Nanos,
    before_bps: f64,
}

/// A rate at which one more path brought no gain.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Enough {
    rate_bps: f64,
    until: Nanos,
    times: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Overflow {
    further: usize,
    full_since: Option<Nanos>,
    free_since: Option<Nanos>,
    trial: Option<Trial>,
    enough: Option<Enough>,
}

/// A path, in the order of filling.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Filled {
    /// Present rate, bit/s.
    pub(super) rate_bps: f64,
    /// Capacity, bit/s; a path without one is never full.
    pub(super) most_bps: Option<f64>,
    /// True if the capacity is configured; otherwise it is the highest rate seen.
    pub(super) is_said: bool,
}

impl Overflow {
    /// Number of paths to use, at least 1.
    pub(super) fn paths(&mut self, now: Nanos, paths: &[Filled]) -> usize {
        let most = paths.len().max(1);
        self.further = self.further.min(most - 1);
        let used = &paths[..(self.further + 1).min(paths.len())];
        let carried: f64 = paths.iter().map(|path| path.rate_bps).sum();
        let sum = |paths: &[Filled]| paths.iter().map(|path| path.most_bps).sum::<Option<f64>>();
        let is_sure = used.iter().all(|path| path.is_said);
        let is_enough = self
            .enough
            .is_some_and(|enough| now < enough.until && carried < GAIN * enough.rate_bps);
        let is_at_its_rate = sum(used).is_some_and(|most| used_bps(used) >= FULL * most);
        let is_full = is_at_its_rate && (is_sure || !is_enough);
        if self.trial_has_failed(now, carried) {
            return self.further + 1;
        }
        let fewer = &used[..used.len().saturating_sub(1)];
        let is_free = self.further > 0 && carried < FREE * sum(fewer).unwrap_or(f64::INFINITY);
        if lasted(&mut self.full_since, is_full, now, FULL_AFTER) && self.further + 1 < most {
            let trial = (!is_sure).then_some(Trial {
                since: now,
                before_bps: carried,
            });
            *self = Overflow {
                trial,
                ..self.with(self.further + 1)
            };
        } else if lasted(&mut self.free_since, is_free, now, FREE_AFTER) {
            *self = self.with(self.further - 1);
        }
        self.further + 1
    }

    /// This state with `further` additional paths, keeping what trials have shown.
    fn with(&self, further: usize) -> Overflow {
        Overflow {
            further,
            enough: self.enough,
            ..Overflow::default()
        }
    }

    /// Ends a trial that is due. Returns true if it brought no gain.
    fn trial_has_failed(&mut self, now: Nanos, carried: f64) -> bool {
        let Some(trial) = self
            .trial
            .filter(|trial| now.saturating_sub(trial.since) >= TRIAL)
        else {
            return false;
        };
        self.trial = None;
        if self.further == 0 || carried >= GAIN * trial.before_bps {
            return false;
        }
        let times = self
            .enough
            .map_or(0, |enough| (enough.times + 1).min(MOST_DOUBLINGS));
        let until = now.saturating_add(Nanos(PAUSE.0 << times));
        let enough = Some(Enough {
            rate_bps: carried.max(trial.before_bps),
            until,
            times,
        });
        *self = Overflow {
            enough,
            ..self.with(self.further - 1)
        };
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
        rates.map(|rate_bps| Filled {
            rate_bps,
            most_bps: Some(10e6),
            is_said: true,
        })
    }

    /// Polls every second from `from` to `to`. Returns the last answer.
    fn look(overflow: &mut Overflow, from: u64, to: u64, rates: [f64; 2]) -> usize {
        (from..to)
            .map(|s| overflow.paths(Nanos::from_secs(s), &paths(rates)))
            .last()
            .unwrap()
    }

    #[test]
    fn a_full_path_opens_the_next_which_closes_when_the_first_suffices() {
        let mut overflow = Overflow::default();
        assert_eq!(look(&mut overflow, 0, 100, [8.4e6, 0.0]), 1);
        assert_eq!(look(&mut overflow, 100, 105, [9e6, 0.0]), 1);
        assert_eq!(look(&mut overflow, 105, 106, [9e6, 0.0]), 2);
        // Traffic has moved over: the first path is not full, but the second is still needed.
        assert_eq!(look(&mut overflow, 106, 300, [5e6, 4e6]), 2);
        assert_eq!(look(&mut overflow, 300, 330, [3e6, 2e6]), 2);
        assert_eq!(look(&mut overflow, 330, 331, [3e6, 2e6]), 1);
    }

    #[test]
    fn a_path_of_unknown_rate_is_never_full() {
        let mut overflow = Overflow::default();
        let unknown = [1e9, 0.0].map(|rate_bps| Filled {
            rate_bps,
            most_bps: None,
            is_said: false,
        });
        for s in 0..100 {
            assert_eq!(overflow.paths(Nanos::from_secs(s), &unknown), 1);
        }
    }

    /// Polls every second while an application sends `wanted` over a first path of 7 Mbit/s without
    /// a configured rate. Returns how many polls used both paths.
    fn both_in_use(overflow: &mut Overflow, seconds: std::ops::Range<u64>, wanted: f64) -> usize {
        let (mut used, mut most, mut count) = (1, 0.0_f64, 0);
        for s in seconds {
            let first = f64::min(wanted, 7e6);
            most = most.max(first);
            let rates = [first, if used > 1 { wanted - first } else { 0.0 }];
            let all = rates.map(|rate_bps| Filled {
                rate_bps,
                most_bps: Some(most),
                is_said: false,
            });
            used = overflow.paths(Nanos::from_secs(s), &all);
            count += used - 1;
        }
        count
    }

    #[test]
    fn a_path_without_a_rate_is_full_if_the_next_one_brings_more() {
        let mut overflow = Overflow::default();
        assert_eq!(both_in_use(&mut overflow, 0..1000, 10e6), 995);
        // An application at 5 Mbit/s needs no second path: trials of 10 s after 5, 615, 1825 … s.
        let mut overflow = Overflow::default();
        assert_eq!(both_in_use(&mut overflow, 0..1000, 5e6), 20);
        assert_eq!(both_in_use(&mut overflow, 1000..3600, 5e6), 10);
        // More traffic starts a trial without waiting.
        assert!(both_in_use(&mut overflow, 3600..3700, 10e6) > 90);
        // At 7.5 Mbit/s the gain is 7 %, which is too little.
        let mut overflow = Overflow::default();
        assert_eq!(both_in_use(&mut overflow, 0..500, 7.5e6), 10);
    }

    #[test]
    fn lost_paths_reduce_the_number_in_use() {
        let mut overflow = Overflow::default();
        look(&mut overflow, 0, 10, [9e6, 0.0]);
        assert_eq!(
            overflow.paths(Nanos::from_secs(10), &paths([9e6, 0.0])[..1]),
            1
        );
        assert_eq!(overflow.paths(Nanos::from_secs(11), &[]), 1);
    }
}
