//! Detects paths that share a bottleneck: by correlated changes of their RTTs, and by an active
//! test.
//!
//! ```text
//!   unknown, until both RTTs have changed and gone apart, or for four windows
//!      │
//!      ▼        fast r > R             fast r > R again           its RTT falls, twice
//!   distinct ─────────────► suspected ──────────────► drains one ─────────────────────► shared
//!      ▲                        │ r ≤ R                    │ it does not                  │ after a minute,
//!      └────────────────────────┴──────────────────────────┴──────────────────────────────┘ then 2, 4, …
//! ```
//! Fast r: correlation of the changes of srtt between successive decisions over a window; slow r:
//! of the changes over five decisions. Two paths are apart if both are small: fast changes are
//! mostly each path's own noise, even behind one queue, and slow changes are queues. Levels would
//! mislead: any two paths that start together rise together (Rubenstein, Kurose, Towsley, ToN 2002,
//! compare cross- with auto-correlation for the same reason). Even so, two paths of one kind can
//! correlate for a while. So one member is drained: it becomes a backup (MP_PRIO) for some round
//! trips, and if both share a queue the other's RTT falls. A suspicion alone closes no path.
//!
//! Controllers couple the windows of all pairs that are not distinct or acquitted, from the start
//! on: a bottleneck without a queue never shows in RTTs, and two uncoupled windows take two shares.

use joulepath_controllers::MAX_SUBFLOWS;
use joulepath_model::units::Nanos;

use super::super::snapshot::{PathSnapshot, PathState, Snapshot};

/// R: correlation above which changes count as common.
const TOGETHER: f64 = 0.7;
/// Correlation, of fast and of slow changes, up to which paths count as apart. Values between
/// decide nothing.
const APART: f64 = 0.2;
/// Decisions over which a change is slow.
const SLOW: usize = 5;
/// Windows that an unknown pair may combine into one.
const MOST_WINDOWS: u32 = 4;
/// Samples per window.
const WINDOW: u32 = 80;
/// Changes with a smaller deviation are noise of hosts and timers, s.
const LEAST_DEVIATION_S: f64 = 5e-4;
/// Below this rate a path has too few packets for a meaningful srtt, bit/s.
const LEAST_BPS: f64 = 1e5;
/// Length of a drain: at least this many round trips, and at least this time.
const DRAIN_ROUNDS: f64 = 3.0;
const SHORTEST_DRAIN: Nanos = Nanos::from_millis(400);
/// Time between two drains of a pair.
const BETWEEN_DRAINS: Nanos = Nanos::from_secs(2);
/// Drains that must confirm the suspicion.
const WITNESSES: u32 = 2;
/// A fall counts if the RTT falls by this part of its excess over the minimum, and by this time, s.
const FALL: f64 = 0.25;
const LEAST_FALL_S: f64 = 1e-3;
/// Weight of the latest srtt in the level before a drain.
const LEVEL_WEIGHT: f64 = 0.1;
/// A finding expires after this time, which doubles each time the same is found again.
const MEMORY: Nanos = Nanos::from_secs(60);
const LONGEST_MEMORY: Nanos = Nanos::from_secs(3600);

/// Sums over the changes of two srtts, s and s².
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Moments {
    n: u32,
    a: f64,
    b: f64,
    aa: f64,
    bb: f64,
    ab: f64,
}

impl Moments {
    fn add(&mut self, a: f64, b: f64) {
        self.n += 1;
        self.a += a;
        self.b += b;
        self.aa += a * a;
        self.bb += b * b;
        self.ab += a * b;
    }

    fn covariance(&self, xy: f64, x: f64, y: f64) -> f64 {
        let n = f64::from(self.n);
        xy / n - x / n * (y / n)
    }

    fn variances(&self) -> [f64; 2] {
        [(self.aa, self.a), (self.bb, self.b)].map(|(xx, x)| self.covariance(xx, x, x).max(0.0))
    }

    /// Zero if one srtt does not change.
    fn correlation(&self) -> f64 {
        let scale = self.variances().into_iter().product::<f64>().sqrt();
        if scale > 0.0 {
            self.covariance(self.ab, self.a, self.b) / scale
        } else {
            0.0
        }
    }
}

/// A change of srtt since the last decision, and over [`SLOW`] decisions, s; 0 if unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Change {
    fast_s: f64,
    slow_s: f64,
}

/// The changes of two srtts over a window.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Window {
    fast: Moments,
    slow: Moments,
}

impl Window {
    fn add(&mut self, a: Change, b: Change) {
        self.fast.add(a.fast_s, b.fast_s);
        self.slow.add(a.slow_s, b.slow_s);
    }

    /// True if the srtts changed together; `None` if one hardly changed, or if they were neither
    /// together nor apart.
    fn together(&self) -> Option<bool> {
        let [a, b] = self.fast.variances();
        let (fast, slow) = (self.fast.correlation(), self.slow.correlation());
        if a.min(b) <= LEAST_DEVIATION_S * LEAST_DEVIATION_S {
            None
        } else if fast > TOGETHER {
            Some(true)
        } else if fast.max(slow) <= APART {
            Some(false)
        } else {
            None
        }
    }
}

/// Knowledge about two paths.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Verdict {
    /// Nothing is known yet: the windows are coupled, which is harmless if wrong.
    #[default]
    Unknown,
    /// Their RTTs changed apart.
    Distinct,
    /// Their RTTs changed together in one window.
    Suspected,
    /// Number of drains that confirmed it, and the earliest start of the next one.
    Testing(u32, Nanos),
    /// Shared until this instant.
    Shared(Nanos),
    /// The drains did not confirm it: no suspicion before this instant.
    Acquitted(Nanos),
}

/// Two paths that are open together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Pair {
    window: Window,
    verdict: Verdict,
    /// How often they were found to share a bottleneck.
    found: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Trace {
    /// At the last decisions, the latest first, s; 0 if it was not visible.
    recent_s: [f64; SLOW],
    /// Smoothed, s.
    level_s: f64,
    /// Least, s.
    least_s: f64,
}

/// A drain under way.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Drain {
    /// The path without new data, and the watched path.
    drained: usize,
    watched: usize,
    until: Nanos,
    /// srtt of the watched path before the drain, s.
    before_s: f64,
}

/// Knowledge about all pairs.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Bottlenecks {
    traces: [Trace; MAX_SUBFLOWS],
    pairs: [[Pair; MAX_SUBFLOWS]; MAX_SUBFLOWS],
    drain: Option<Drain>,
}

/// A number for each path; equal numbers other than 0 form a group.
pub(super) type Groups = [u8; MAX_SUBFLOWS];

fn is_seen(path: &PathSnapshot) -> bool {
    path.state == PathState::Open && path.usable && path.srtt_s > 0.0
}

impl Bottlenecks {
    /// Updates with a snapshot.
    pub(super) fn observe(&mut self, snapshot: &Snapshot) {
        let mut changes = [None; MAX_SUBFLOWS];
        for ((trace, change), path) in self.traces.iter_mut().zip(&mut changes).zip(snapshot.paths)
        {
            *change = trace.observe(path);
        }
        self.expire(snapshot.now);
        if let Some(drain) = self.drain {
            // RTT changes caused by the drain are not evidence about the traffic.
            return self.watch(drain, snapshot);
        }
        for j in 0..snapshot.paths.len() {
            for i in 0..j {
                if let (Some(a), Some(b)) = (changes[i], changes[j]) {
                    self.pairs[i][j].add(a, b, snapshot.now);
                }
            }
        }
        self.drain = self.next_drain(snapshot);
    }

    /// The path that gets no new data at present.
    pub(super) fn drained(&self) -> Option<usize> {
        self.drain.map(|drain| drain.drained)
    }

    /// Groups of paths known to share a bottleneck.
    pub(super) fn shared(&self) -> Groups {
        self.groups(|i, j| matches!(self.pairs[i][j].verdict, Verdict::Shared(_)))
    }

    /// Groups of paths that share a bottleneck, or may share one.
    pub(super) fn suspected(&self) -> Groups {
        let are_open = |i: usize, j: usize| {
            self.traces[i].recent_s[0] > 0.0 && self.traces[j].recent_s[0] > 0.0
        };
        self.groups(|i, j| match self.pairs[i][j].verdict {
            Verdict::Distinct | Verdict::Acquitted(_) => false,
            Verdict::Unknown => are_open(i, j),
            Verdict::Suspected | Verdict::Testing(..) | Verdict::Shared(_) => true,
        })
    }

    /// The classes of paths that `joins` connects, directly or transitively.
    fn groups(&self, joins: impl Fn(usize, usize) -> bool) -> Groups {
        let mut groups: Groups = [0; MAX_SUBFLOWS];
        for j in 0..MAX_SUBFLOWS {
            for i in 0..j {
                if !joins(i, j) {
                    continue;
                }
                let (of_i, of_j) = (groups[i], groups[j]);
                let number = [of_i, of_j]
                    .into_iter()
                    .find(|&n| n != 0)
                    .unwrap_or(i as u8 + 1);
                let joined = |n: u8| n != 0 && (n == of_i || n == of_j);
                groups
                    .iter_mut()
                    .filter(|n| joined(**n))
                    .for_each(|n| *n = number);
                (groups[i], groups[j]) = (number, number);
            }
        }
        groups
    }

    fn expire(&mut self, now: Nanos) {
        for pair in self.pairs.iter_mut().flatten() {
            if let Verdict::Shared(until) | Verdict::Acquitted(until) = pair.verdict
                && now >= until
            {
                (pair.verdict, pair.window) = (Verdict::Distinct, Window::default());
            }
        }
    }

    /// The drain of the next pair to test: the slower of its two paths is drained.
    fn next_drain(&self, snapshot: &Snapshot) -> Option<Drain> {
        for j in 0..snapshot.paths.len() {
            for i in 0..j {
                let Verdict::Testing(_, from) = self.pairs[i][j].verdict else {
                    continue;
                };
                let (a, b) = (&snapshot.paths[i], &snapshot.paths[j]);
                if snapshot.now < from || !is_seen(a) || !is_seen(b) {
                    continue;
                }
                let (drained, watched) = if a.rate_bps < b.rate_bps {
                    (i, j)
                } else {
                    (j, i)
                };
                let lasts = DRAIN_ROUNDS * a.srtt_s.max(b.srtt_s);
                let until = snapshot
                    .now
                    .saturating_add(Nanos::from_secs_f64(lasts).max(SHORTEST_DRAIN));
                return Some(Drain {
                    drained,
                    watched,
                    until,
                    before_s: self.traces[watched].level_s,
                });
            }
        }
        None
    }

    fn watch(&mut self, drain: Drain, snapshot: &Snapshot) {
        let Drain {
            drained,
            watched,
            until,
            before_s,
        } = drain;
        if snapshot.now < until {
            return;
        }
        self.drain = None;
        let path = &snapshot.paths[watched];
        let pair = &mut self.pairs[drained.min(watched)][drained.max(watched)];
        let Verdict::Testing(seen, _) = pair.verdict else {
            return;
        };
        let fall_s = before_s - path.srtt_s;
        let least_s = (FALL * (before_s - self.traces[watched].least_s)).max(LEAST_FALL_S);
        pair.verdict = if !is_seen(path) {
            Verdict::Distinct
        } else if fall_s < least_s {
            Verdict::Acquitted(snapshot.now.saturating_add(MEMORY))
        } else if seen + 1 < WITNESSES {
            Verdict::Testing(seen + 1, snapshot.now.saturating_add(BETWEEN_DRAINS))
        } else {
            let memory = Nanos(MEMORY.0 << pair.found.min(6)).min(LONGEST_MEMORY);
            pair.found += 1;
            Verdict::Shared(snapshot.now.saturating_add(memory))
        };
        pair.window = Window::default();
    }
}

impl Trace {
    /// Updates with a snapshot. Returns the change of srtt if the path was visible last time and
    /// carries enough.
    fn observe(&mut self, path: &PathSnapshot) -> Option<Change> {
        if !is_seen(path) {
            self.recent_s = [0.0; SLOW];
            return None;
        }
        let (before_s, oldest_s) = (self.recent_s[0], self.recent_s[SLOW - 1]);
        let is_new = before_s == 0.0;
        let slow_s = if oldest_s > 0.0 {
            path.srtt_s - oldest_s
        } else {
            0.0
        };
        self.recent_s.rotate_right(1);
        self.recent_s[0] = path.srtt_s;
        let is_first = self.least_s == 0.0;
        self.least_s = if is_first {
            path.srtt_s
        } else {
            self.least_s.min(path.srtt_s)
        };
        self.level_s = if is_new {
            path.srtt_s
        } else {
            self.level_s + LEVEL_WEIGHT * (path.srtt_s - self.level_s)
        };
        let is_told = !is_new && path.rate_bps >= LEAST_BPS;
        is_told.then_some(Change {
            fast_s: path.srtt_s - before_s,
            slow_s,
        })
    }
}

impl Pair {
    fn add(&mut self, a: Change, b: Change, now: Nanos) {
        self.window.add(a, b);
        let n = self.window.fast.n;
        if !n.is_multiple_of(WINDOW) {
            return;
        }
        let together = self.window.together();
        // A longer window may decide.
        if self.verdict != Verdict::Unknown || together.is_some() || n >= MOST_WINDOWS * WINDOW {
            self.window = Window::default();
        }
        self.verdict = match (self.verdict, together) {
            (known @ (Verdict::Testing(..) | Verdict::Shared(_) | Verdict::Acquitted(_)), _) => {
                known
            }
            (Verdict::Unknown | Verdict::Suspected, None) => Verdict::Unknown,
            (Verdict::Suspected, Some(true)) => Verdict::Testing(0, now),
            (_, Some(true)) => Verdict::Suspected,
            (_, None | Some(false)) => Verdict::Distinct,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::snapshot::Demand;
    use super::super::super::tests::at;
    use super::*;

    /// Decides every 100 ms on two paths with srtts `rtts`(instant, drained path), s. Returns the
    /// knowledge after `seconds`, and the start of each drain.
    fn after(
        seconds: u64,
        rtts: impl Fn(u64, Option<usize>) -> [f64; 2],
    ) -> (Bottlenecks, Vec<(u64, usize)>) {
        let (mut known, mut drains) = (Bottlenecks::default(), vec![]);
        for look in 0..10 * seconds {
            let path = |srtt_s, rate_bps| PathSnapshot {
                state: PathState::Open,
                usable: true,
                srtt_s,
                rate_bps,
                ..PathSnapshot::default()
            };
            let before = known.drained();
            let [a, b] = rtts(look, before);
            known.observe(&Snapshot {
                now: Nanos::from_millis(100 * look),
                ..at(0.0, Demand::Endless, &[path(a, 8e6), path(b, 2e6)])
            });
            if let (None, Some(drained)) = (before, known.drained()) {
                drains.push((look, drained));
            }
        }
        (known, drains)
    }

    /// A queue that fills for 1.7 s and empties, s.
    fn saw(look: u64) -> f64 {
        (look % 17) as f64 * 0.004
    }

    #[test]
    fn one_queue_is_found_by_two_windows_and_two_drains() {
        // Half of the queue belongs to the drained path.
        let together = |look: u64, drained: Option<usize>| {
            let queue = if drained.is_some() {
                0.1 * saw(look)
            } else {
                saw(look)
            };
            [0.040 + queue, 0.055 + queue]
        };
        let (known, drains) = after(25, together);
        // 80 changes per window: the second one ends at decision 160. The slower path is drained.
        assert_eq!(drains[0], (160, 1));
        assert!(
            drains.len() == 2 && drains[1].0 >= 160 + 4 + 20,
            "{drains:?}"
        );
        assert_eq!(
            (&known.shared()[..3], known.drained()),
            (&[1, 1, 0][..], None)
        );
        // After the first window there is a suspicion: controllers may couple the windows, but
        // nothing is known yet.
        let (known, _) = after(10, together);
        assert_eq!(
            (
                known.shared()[..2].to_vec(),
                known.suspected()[..2].to_vec()
            ),
            (vec![0, 0], vec![1, 1])
        );
    }

    #[test]
    fn what_was_found_is_forgotten_and_found_again() {
        let together = |look: u64, drained: Option<usize>| {
            let queue = if drained.is_some() { 0.0 } else { saw(look) };
            [0.040 + queue, 0.055 + queue]
        };
        // Found before 20 s, forgotten a minute later, found again before 105 s, then for two
        // minutes.
        let shared = |seconds| after(seconds, together).0.shared()[0] != 0;
        assert_eq!(
            [20, 78, 82, 105, 200].map(shared),
            [true, true, false, true, true]
        );
    }

    #[test]
    fn twins_that_move_alike_are_acquitted_by_the_drain() {
        // Two separate queues that happen to fill at the same time: draining one path leaves the
        // other's queue.
        let (known, drains) = after(30, |look, _| [0.040 + saw(look), 0.055 + saw(look)]);
        assert!(!drains.is_empty());
        let fell = known.shared()[0] != 0;
        // The saw tooth itself falls at times, but hardly at the end of both drains.
        assert!(!fell, "{drains:?}");
    }

    #[test]
    fn levels_that_rise_together_are_no_sign() {
        // Both start together and rise for 30 s, each with its own variation.
        let own = |look: u64, period: u64| (look % period) as f64 * 0.003;
        let (known, drains) = after(30, |look, _| {
            [
                0.04 + look as f64 * 1e-3 + own(look, 7),
                0.05 + look as f64 * 1e-3 + own(look, 11),
            ]
        });
        assert_eq!((drains.len(), known.suspected()[0]), (0, 0));
    }

    #[test]
    fn windows_are_coupled_until_their_rtts_have_changed_apart() {
        let own = |look: u64, period: u64| (look % period) as f64 * 0.003;
        let apart = |look: u64, _| [0.04 + own(look, 7), 0.05 + own(look, 11)];
        let coupled = |seconds| after(seconds, apart).0.suspected()[..3].to_vec();
        assert_eq!((coupled(7), coupled(9)), (vec![1, 1, 0], vec![0, 0, 0]));
        // A queue that never varies gives no evidence.
        let (still, _) = after(30, |_, _| [0.04, 0.05]);
        assert_eq!(
            (&still.suspected()[..3], &still.shared()[..3]),
            (&[1, 1, 0][..], &[0, 0, 0][..])
        );
    }

    /// One queue that oscillates with a period of 4 s, under each path's own noise of single-packet
    /// RTTs.
    #[test]
    fn noise_does_not_acquit_paths_that_swing_together() {
        let noise = |look: u64, seed: u64| {
            let mixed = (look + 1)
                .wrapping_mul(seed)
                .wrapping_mul(0x9e37_79b9_7f4a_7c15)
                >> 40;
            0.02 * (mixed % 1000) as f64 / 1000.0
        };
        let swing = |look: u64| 0.04 * f64::from((look % 40).abs_diff(20) as u32) / 20.0;
        let shared = |look: u64, _| {
            [
                0.05 + swing(look) + noise(look, 7),
                0.06 + swing(look) + noise(look, 13),
            ]
        };
        let own = |look: u64, _| [0.05 + noise(look, 7), 0.06 + noise(look, 13)];
        let coupled = |known: (Bottlenecks, Vec<(u64, usize)>)| known.0.suspected()[0] != 0;
        assert_eq!(
            (coupled(after(30, shared)), coupled(after(30, own))),
            (true, false)
        );
    }

    #[test]
    fn groups_are_joined_through_a_common_member() {
        let mut known = Bottlenecks::default();
        let forever = Verdict::Shared(Nanos::MAX);
        (known.pairs[0][3].verdict, known.pairs[1][2].verdict) = (forever, forever);
        assert_eq!(known.shared()[..5], [1, 2, 2, 1, 0]);
        known.pairs[2][3].verdict = forever;
        let all = known.shared();
        assert!(
            all[0] != 0 && all[..4].iter().all(|&group| group == all[0]) && all[4] == 0,
            "{all:?}"
        );
    }
}
