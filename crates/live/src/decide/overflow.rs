//! How many paths are in use where each is filled before the next.
//!
//! ```text
//!      k paths  ── they carry FULL of their rates, for FULL_AFTER ──────────►  k + 1 paths
//!         ▲                                                                        │
//!         └── all together carry less than FREE of the first k, for FREE_AFTER ────┘
//! ```
//! FREE is below FULL by more than what moves over when a path opens: without that gap the last path would
//! come and go.

use joulepath_model::units::Nanos;

/// Part of its rate at which a path is full.
const FULL: f64 = 0.85;
/// Part of the others' rates below which the last path is not needed.
const FREE: f64 = 0.6;
const FULL_AFTER: Nanos = Nanos::from_secs(5);
const FREE_AFTER: Nanos = Nanos::from_secs(30);

/// How many are in use, and since when that is too few or too many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Overflow {
    further: usize,
    full_since: Option<Nanos>,
    free_since: Option<Nanos>,
}

/// One path, in the order in which they are filled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Filled {
    /// What it carries, bit/s.
    pub(super) rate_bps: f64,
    /// What it can carry, bit/s; none: it never counts as full.
    pub(super) most_bps: Option<f64>,
}

impl Overflow {
    /// How many of the paths to use; at least one.
    pub(super) fn paths(&mut self, now: Nanos, paths: &[Filled]) -> usize {
        let most = paths.len().max(1);
        self.further = self.further.min(most - 1);
        let used = &paths[..(self.further + 1).min(paths.len())];
        let carried: f64 = paths.iter().map(|path| path.rate_bps).sum();
        let sum = |paths: &[Filled]| paths.iter().map(|path| path.most_bps).sum::<Option<f64>>();
        let is_full = sum(used).is_some_and(|most| used_bps(used) >= FULL * most);
        let fewer = &used[..used.len().saturating_sub(1)];
        let is_free = self.further > 0 && sum(fewer).is_none_or(|most| carried < FREE * most);
        if lasted(&mut self.full_since, is_full, now, FULL_AFTER) && self.further + 1 < most {
            *self = Overflow { further: self.further + 1, ..Overflow::default() };
        } else if lasted(&mut self.free_since, is_free, now, FREE_AFTER) {
            *self = Overflow { further: self.further - 1, ..Overflow::default() };
        }
        self.further + 1
    }
}

fn used_bps(used: &[Filled]) -> f64 {
    used.iter().map(|path| path.rate_bps).sum()
}

/// Whether `holds` has held for `time`; `since` remembers from when on.
pub(super) fn lasted(since: &mut Option<Nanos>, holds: bool, now: Nanos, time: Nanos) -> bool {
    if !holds {
        *since = None;
        return false;
    }
    now.saturating_sub(*since.get_or_insert(now)) >= time
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(rates: [f64; 2]) -> [Filled; 2] {
        rates.map(|rate_bps| Filled { rate_bps, most_bps: Some(10e6) })
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
        let unknown = [Filled { rate_bps: 1e9, most_bps: None }, Filled { rate_bps: 0.0, most_bps: None }];
        for s in 0..100 {
            assert_eq!(overflow.paths(Nanos::from_secs(s), &unknown), 1);
        }
    }

    #[test]
    fn when_paths_go_fewer_are_used() {
        let mut overflow = Overflow::default();
        look(&mut overflow, 0, 10, [9e6, 0.0]);
        assert_eq!(overflow.paths(Nanos::from_secs(10), &paths([9e6, 0.0])[..1]), 1);
        assert_eq!(overflow.paths(Nanos::from_secs(11), &[]), 1);
    }
}
