//! Bytes that interfaces may still carry: hard quotas and the budget of `handover`.
//!
//! Near a bound the daemon polls as soon as it could be reached, and reads only counters. A poll
//! that finds that the bytes under way reach the bound starts a round.

use std::collections::BTreeMap;

use joulepath_kernel::route::Counters;
use joulepath_model::live::LiveConfig;
use joulepath_model::units::Nanos;

use crate::accounts::{FEW_UNDER_WAY, closing_time};
use crate::decide::{Bound, is_over_hard_quota};
use crate::machine::Look;

/// Rate that an interface of unknown or lower capacity is expected to reach, bytes/s: 100 Mbit/s.
const LEAST_RATE: f64 = 12.5e6;
/// Least time between two polls while bytes move.
const SOON: Nanos = Nanos::from_millis(10);
/// Least time between two polls of idle interfaces.
const SOON_IDLE: Nanos = Nanos::from_millis(40);
/// Rates are measured over this time at least.
const LEAST_TIME: Nanos = Nanos::from_millis(5);
/// A connection in slow start has at most as many bytes in flight as have passed in about this
/// time, s; any other has fewer.
const LATELY_S: f64 = 4.0;
/// Bytes in flight of a subflow that begins: RFC 6928, 10 full segments.
const INITIAL_WINDOW: f64 = 15e3;
/// More bytes per s are moving data.
const MOVING: f64 = 10e3;
/// Assumed time from a reading until an interface is closed.
const LEAST_REACTION: Nanos = Nanos::from_millis(30);
/// Longest such time: longer ones are those of a machine that slept.
const MOST_REACTION: Nanos = Nanos::from_secs(1);
/// Bounds that may be reached in this time are near: the longest time without a poll.
const NEAR_S: f64 = 8.0;

/// Least limit of the kernel, bytes: it stops no single packets that a poll finds as well.
const LEAST_LIMIT: f64 = 100e3;
/// Kinds of bounds: names begin with them.
pub(super) const QUOTA: &str = "quota";
pub(super) const BUDGET: &str = "budget";

#[derive(Clone, Debug, Default)]
pub(super) struct Bounds {
    /// By name: the kind and the indexes of the interfaces.
    bounds: BTreeMap<String, Bound>,
    /// The fastest rate that the interface may reach, bytes/s.
    fastest: BTreeMap<u32, f64>,
    /// Bytes since the bounds were set.
    carried: BTreeMap<u32, u64>,
    /// The last counters, and their time.
    last: Option<(Nanos, BTreeMap<u32, u64>)>,
    /// Bytes/s of both directions: those of the last interval, and as much more as they have grown
    /// in it. A short burst has a high rate, but no more bytes are under way than have passed.
    rates: BTreeMap<u32, f64>,
    /// Bytes/s of the last interval.
    measured: BTreeMap<u32, f64>,
    /// Bytes that have passed, each counted less the longer ago it has.
    lately: BTreeMap<u32, f64>,
    /// Bytes in flight when all connections begin at once on the paths of a budget.
    initial: BTreeMap<u32, f64>,
    /// How late the counters were read lately, at most.
    late: Nanos,
    /// How long a round took lately, at most.
    took: Nanos,
    /// Time until nothing passes after closing an interface.
    closing_s: BTreeMap<u32, f64>,
    /// The kernel stops interfaces at bounds that are near.
    pub(super) enforced: bool,
    /// Bounds at which the kernel has stopped interfaces, by name.
    stopped: Vec<String>,
}

impl Bounds {
    /// Takes in counters. Returns the rates of the interfaces with a bound, bytes/s.
    pub(super) fn count(
        &mut self,
        now: Nanos,
        counters: impl Iterator<Item = (u32, Counters)>,
    ) -> BTreeMap<u32, f64> {
        let bytes: BTreeMap<u32, u64> = counters
            .map(|(index, one)| (index, one.received_bytes.saturating_add(one.sent_bytes)))
            .collect();
        if let Some((at, before)) = &self.last {
            let past = now.saturating_sub(*at);
            if past < LEAST_TIME {
                return self.rates.clone();
            }
            // Counters that are lower than before count from 0.
            let moved = |(index, &bytes): (&u32, &u64)| {
                let before = *before.get(index)?;
                Some((*index, bytes.checked_sub(before).unwrap_or(bytes)))
            };
            let moved: BTreeMap<u32, u64> = bytes.iter().filter_map(moved).collect();
            for (&index, &bytes) in &moved {
                *self.carried.entry(index).or_default() += bytes;
                let lately = self.lately.entry(index).or_default();
                *lately = *lately * (-past.as_secs_f64() / LATELY_S).exp() + bytes as f64;
            }
            let rate = |(index, bytes): (u32, u64)| (index, bytes as f64 / past.as_secs_f64());
            let rates: BTreeMap<u32, f64> = moved.into_iter().map(rate).collect();
            let growing = |(index, &rate): (&u32, &f64)| {
                let before = self.measured.get(index).copied().unwrap_or(rate);
                let grown = rate + (rate - before).max(0.0);
                let most = (self.lately[index] + self.initial(index))
                    / self.closing_s.get(index).copied().unwrap_or(0.0);
                (*index, grown.min(most))
            };
            self.rates = rates.iter().map(growing).collect();
            self.measured = rates;
        }
        self.last = Some((now, bytes));
        self.rates.clone()
    }

    /// Notes when counters are read that were due earlier.
    pub(super) fn note_delay(&mut self, now: Nanos) {
        let late = self.due().map_or(Nanos::ZERO, |at| now.saturating_sub(at));
        self.late = late.max(Nanos(self.late.0 - self.late.0 / 8));
    }

    /// Notes how long a round took.
    pub(super) fn took(&mut self, time: Nanos) {
        self.took = time.max(Nanos(self.took.0 - self.took.0 / 8));
    }

    /// Time from a reading that finds a bound reached until the interface is closed: it is longer
    /// on a busy machine. The kernel needs none.
    pub(super) fn reaction(&self) -> Nanos {
        if self.enforced {
            return Nanos::ZERO;
        }
        self.late
            .saturating_add(self.took)
            .saturating_add(SOON)
            .clamp(LEAST_REACTION, MOST_REACTION)
    }

    /// Sets the bounds after a round.
    pub(super) fn set(&mut self, config: &LiveConfig, look: &Look, budget: Option<&Bound>) {
        let quotas = look
            .interfaces
            .iter()
            .filter(|one| !is_over_hard_quota(config, one))
            .filter_map(|one| {
                let hard = config.interface(&one.name)?.quota?.hard?;
                let left_bytes = hard.0.saturating_sub(one.used?.0);
                Some((
                    QUOTA,
                    Bound {
                        interfaces: vec![one.index],
                        left_bytes,
                    },
                ))
            });
        let connections = look.counted.mptcp as f64;
        let of_budget = budget.iter().flat_map(|bound| &bound.interfaces);
        let most = budget.map_or(0.0, |bound| joins_within(bound.left_bytes as f64));
        self.initial = of_budget
            .map(|&index| (index, INITIAL_WINDOW * connections.min(most)))
            .collect();
        let budget = budget.map(|budget| (BUDGET, budget.clone()));
        self.bounds = quotas
            .chain(budget)
            .map(|(kind, bound)| (name(kind, &bound), bound))
            .collect();
        self.stopped.clear();
        self.carried.clear();
        self.fastest.clear();
        self.closing_s.clear();
        for one in &look.interfaces {
            self.fastest.insert(
                one.index,
                (one.capacity_bps.unwrap_or(0.0) / 8.0).max(LEAST_RATE),
            );
            self.closing_s.insert(
                one.index,
                closing_time(one.rtt, self.reaction()).as_secs_f64(),
            );
        }
    }

    /// When to read the counters next; `None`: the next round suffices.
    pub(super) fn due(&self) -> Option<Nanos> {
        let (at, _) = self.last.as_ref()?;
        let pauses = self.ahead().map(|(_, bound)| self.pause(bound));
        pauses.min().map(|pause| at.saturating_add(pause))
    }

    fn pause(&self, bound: &Bound) -> Nanos {
        let fastest = |index: &u32| self.fastest(index).max(2.0 * self.rate(index));
        let is_idle = bound
            .interfaces
            .iter()
            .map(|index| self.rate(index))
            .sum::<f64>()
            < MOVING;
        let fastest: f64 = bound.interfaces.iter().map(fastest).sum();
        let pause = Nanos::from_secs_f64((self.left(bound) / fastest).clamp(0.0, 3600.0));
        pause.max(if is_idle { SOON_IDLE } else { SOON })
    }

    /// The present rate, bytes/s.
    fn rate(&self, index: &u32) -> f64 {
        self.rates.get(index).copied().unwrap_or(0.0)
    }

    /// The fastest rate that the interface may reach, bytes/s.
    fn fastest(&self, index: &u32) -> f64 {
        self.fastest.get(index).copied().unwrap_or(LEAST_RATE)
    }

    /// Bytes in flight when all connections begin at once.
    fn initial(&self, index: &u32) -> f64 {
        self.initial.get(index).copied().unwrap_or(0.0)
    }

    /// Bytes until the bound, without those under way.
    fn left(&self, bound: &Bound) -> f64 {
        let under_way = self.under_way(bound, |index| self.rate(index));
        self.remaining(bound) - (under_way - FEW_UNDER_WAY as f64).max(0.0)
    }

    /// Bytes until the bound.
    fn remaining(&self, bound: &Bound) -> f64 {
        let carried = |index: &u32| self.carried.get(index).copied().unwrap_or(0);
        bound
            .left_bytes
            .saturating_sub(bound.interfaces.iter().map(carried).sum()) as f64
    }

    /// Bytes that pass after closing the interfaces, at these rates in bytes/s.
    fn under_way(&self, bound: &Bound, rate: impl Fn(&u32) -> f64) -> f64 {
        let one = |index: &u32| rate(index) * self.closing_s.get(index).copied().unwrap_or(0.0);
        bound.interfaces.iter().map(one).sum()
    }

    /// Bytes after which the kernel should stop the interfaces. The rest is under way then: at the
    /// present rates, or, because rates may rise before the next reading, at the fastest. A slow
    /// start has at most as much in flight as has passed, and the initial windows.
    pub(super) fn limit(&self, bound: &Bound) -> u64 {
        let remaining = self.remaining(bound);
        let initial: f64 = bound.interfaces.iter().map(|one| self.initial(one)).sum();
        let at_most = self
            .under_way(bound, |index| self.fastest(index))
            .min((remaining + initial) / 2.0);
        let limit = remaining - self.under_way(bound, |index| self.rate(index)).max(at_most);
        if remaining > 0.0 {
            limit.max(LEAST_LIMIT) as u64
        } else {
            0
        }
    }

    /// When the counters were read last.
    pub(super) fn read_at(&self) -> Nanos {
        self.last.as_ref().map_or(Nanos::ZERO, |(at, _)| *at)
    }

    /// Subflows that may open now.
    pub(super) fn joins(&self, bound: &Bound) -> u64 {
        joins_within(self.remaining(bound)) as u64
    }

    /// Bounds that are not used up.
    fn ahead(&self) -> impl Iterator<Item = (&String, &Bound)> {
        self.bounds.iter().filter(|(_, bound)| bound.left_bytes > 0)
    }

    /// Bounds that a late poll might miss, and their names.
    pub(super) fn near(&self) -> impl Iterator<Item = (&String, &Bound)> {
        let reach = |bound: &Bound| {
            bound
                .interfaces
                .iter()
                .map(|index| self.fastest(index))
                .sum::<f64>()
                * NEAR_S
        };
        self.bounds
            .iter()
            .filter(move |(_, bound)| self.remaining(bound) < reach(bound))
    }

    /// Notes at which bounds the kernel has stopped interfaces.
    pub(super) fn stop<'a>(&mut self, names: impl Iterator<Item = &'a String>) {
        let is_ahead = |name: &&String| self.ahead().any(|(ahead, _)| ahead == *name);
        self.stopped = names.filter(is_ahead).cloned().collect();
    }

    /// What remains of the bounds at which the kernel has stopped interfaces, by interface.
    pub(super) fn stopped(&self) -> BTreeMap<u32, u64> {
        let bounds = self.stopped.iter().filter_map(|name| self.bounds.get(name));
        bounds
            .flat_map(|bound| {
                bound
                    .interfaces
                    .iter()
                    .map(|&index| (index, bound.left_bytes))
            })
            .collect()
    }

    /// True if a bound is reached.
    pub(super) fn is_reached(&self) -> bool {
        !self.stopped.is_empty() || self.ahead().any(|(_, bound)| self.left(bound) <= 0.0)
    }
}

/// Subflows whose initial windows are half of these bytes, at least one: the other half is under
/// way when the daemon sees the first.
fn joins_within(bytes: f64) -> f64 {
    (bytes / (2.0 * INITIAL_WINDOW)).floor().max(1.0)
}

fn name(kind: &str, bound: &Bound) -> String {
    let indexes = bound.interfaces.iter().map(|index| format!("-{index}"));
    format!("{kind}{}", indexes.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters(bytes: u64) -> impl Iterator<Item = (u32, Counters)> {
        [(
            3,
            Counters {
                received_bytes: bytes,
                ..Counters::default()
            },
        )]
        .into_iter()
    }

    #[test]
    fn polls_come_sooner_as_a_bound_comes_nearer_and_count_bytes_under_way() {
        let mut near = Bounds::default();
        let ms = Nanos::from_millis;
        near.count(ms(1000), counters(0));
        assert_eq!(near.due(), None);
        near.bounds = [(
            "quota-3".into(),
            Bound {
                interfaces: vec![3],
                left_bytes: 5_000_000,
            },
        )]
        .into();
        near.fastest = [(3, 12.5e6)].into();
        near.closing_s = [(3, 0.1)].into();
        assert_eq!(near.due(), Some(ms(1400)));
        // 10 MB/s: 1 MB is under way, less the 0.1 MB that do not count, and the rate may double.
        near.count(ms(1300), counters(3_000_000));
        assert!(!near.is_reached());
        assert_eq!(near.due(), Some(ms(1355)));
        near.count(ms(1350), counters(3_500_000));
        assert_eq!(near.due(), Some(ms(1380)));
        near.count(ms(1420), counters(4_200_000));
        assert!(near.is_reached());
        // Idle again: nothing is under way, and 0.8 MB remain.
        near.count(ms(1500), counters(4_200_000));
        assert!(!near.is_reached());
        assert_eq!(near.due(), Some(ms(1564)));
        near.bounds.get_mut("quota-3").unwrap().left_bytes = 4_200_001;
        assert_eq!(near.due(), Some(ms(1540)));
        // A flow that begins may grow as much again: 5 MB/s, and soon 10 MB/s.
        near.count(ms(1520), counters(4_200_000));
        assert_eq!(
            near.count(ms(1540), counters(4_300_000)),
            [(3, 10e6)].into()
        );
        // Counters that start again count from 0.
        near.bounds.get_mut("quota-3").unwrap().left_bytes = 5_000_000;
        near.count(ms(1560), counters(300_000));
        assert_eq!(near.remaining(&near.bounds["quota-3"]), 400_000.0);
    }

    /// A budget of 1 MB on a path of 100 Mbit/s that closes within 150 ms.
    fn near_budget() -> (Bounds, Bound) {
        let budget = Bound {
            interfaces: vec![3],
            left_bytes: 1_000_000,
        };
        let near = Bounds {
            bounds: [("budget-3".into(), budget.clone())].into(),
            fastest: [(3, 12.5e6)].into(),
            closing_s: [(3, 0.15)].into(),
            ..Bounds::default()
        };
        (near, budget)
    }

    #[test]
    fn a_burst_after_a_pause_does_not_count_as_more_than_has_passed() {
        let (mut near, budget) = near_budget();
        let ms = Nanos::from_millis;
        near.count(ms(1000), counters(0));
        near.count(ms(1100), counters(0));
        // 12 MB/s for 5 ms.
        near.count(ms(1105), counters(60_000));
        assert!(!near.is_reached());
        assert!((460_000..=480_000).contains(&near.limit(&budget)));
        // The same rate for 50 ms.
        near.count(ms(1150), counters(600_000));
        assert!(near.is_reached());
    }

    #[test]
    fn many_connections_that_move_at_once_leave_room_for_their_initial_windows() {
        let (mut near, budget) = near_budget();
        let ms = Nanos::from_millis;
        near.count(ms(1000), counters(0));
        assert_eq!(near.limit(&budget), 500_000);
        // 50 connections: 0.75 MB are in flight before the first byte passes.
        near.initial = [(3, 750e3)].into();
        assert_eq!(near.limit(&budget), 125_000);
        near.count(ms(1010), counters(100_000));
        assert!(!near.is_reached());
        // 33 windows of 15 kB are half of 1 MB, 30 of 0.9 MB.
        assert_eq!((joins_within(1e6), near.joins(&budget)), (33.0, 30));
        // 0.2 MB have passed, 0.95 MB are in flight.
        near.count(ms(1020), counters(200_000));
        assert!(near.is_reached());
    }

    #[test]
    fn a_busy_machine_closes_earlier() {
        let mut near = Bounds::default();
        let ms = Nanos::from_millis;
        assert_eq!(near.reaction(), ms(30));
        near.count(ms(1000), counters(0));
        near.bounds = [(
            "quota-3".into(),
            Bound {
                interfaces: vec![3],
                left_bytes: 5_000_000,
            },
        )]
        .into();
        near.fastest = [(3, 12.5e6)].into();
        // Due after 400 ms.
        near.note_delay(ms(1440));
        near.took(ms(60));
        assert_eq!(near.reaction(), ms(110));
        // Calm again.
        for _ in 0..40 {
            near.note_delay(ms(1400));
            near.took(ms(2));
        }
        assert_eq!(near.reaction(), ms(30));
    }

    #[test]
    fn the_kernel_stops_an_interface_before_the_bound_by_what_may_be_under_way() {
        let mut near = Bounds::default();
        let ms = Nanos::from_millis;
        near.count(ms(1000), counters(0));
        let bound = |left_bytes| Bound {
            interfaces: vec![3],
            left_bytes,
        };
        near.fastest = [(3, 12.5e6)].into();
        near.closing_s = [(3, 0.16)].into();
        // 2 MB are under way at the fastest rate, and no more than has passed in a slow start.
        assert_eq!(near.limit(&bound(10_000_000)), 8_000_000);
        assert_eq!(near.limit(&bound(1_000_000)), 500_000);
        // At 10 MB/s 1.6 MB are under way, once as many have passed.
        near.count(ms(1100), counters(1_000_000));
        assert_eq!(near.limit(&bound(3_800_000)), 1_400_000);
        near.count(ms(1200), counters(2_000_000));
        assert_eq!(near.limit(&bound(4_800_000)), 1_200_000);
        assert_eq!(near.limit(&bound(3_000_000)), 100_000);
        assert_eq!(near.limit(&bound(2_000_000)), 0);
        // Only what a late reading could miss is near; a bound that is used up is, too, and needs
        // no reading.
        near.bounds = [
            ("quota-3".into(), bound(200_000_000)),
            ("budget-3".into(), bound(0)),
        ]
        .into();
        assert_eq!(
            near.near()
                .map(|(name, _)| name.as_str())
                .collect::<Vec<_>>(),
            ["budget-3"]
        );
        near.stop(["budget-3".to_owned()].iter());
        assert!(!near.is_reached() && near.stopped().is_empty());
        near.stop(["quota-3".to_owned()].iter());
        assert!(near.is_reached());
        assert_eq!(near.stopped(), [(3, 200_000_000)].into());
    }
}
