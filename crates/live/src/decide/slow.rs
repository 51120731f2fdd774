//! Paths that answer but have become slow: a radio at the edge of its cell, a plan throttled after
//! its cap. Such a path carries little of what is sent, and data waiting on it delays data on other
//! paths.
//!
//! A slow path looks like an application with less to send. So the daemon tries to do without it:
//!
//! ```text
//!   in use ── all paths carry less than LOW of the usual rate for LOW_AFTER ──► Trial: leave the suspect
//!     ▲                                                                            │ for TRIAL
//!     ├── no gain: the next suspect; after the last, PAUSE · 2ⁿ ◄──────────────────┤
//!     ▲                                                                            ▼ rate × GAIN
//!     └── low again within BACK: the next trial after LOW_AGAIN ◄── Found: left for PAUSE · 2ⁿ
//! ```
//! A single path in use is the suspect, and the next path replaces it. Among several paths the
//! suspect is the path furthest below its own highest rate; if almost nothing is carried, it is the
//! path that never pauses, because the others wait for it. If no path ever pauses and all carry
//! about the same, all are slow and none is tried: data waiting on a closed subflow would only be
//! retransmitted into the queue of another slow path.
//!
//! n is the number of trials in recent hours. A pause ends early if far less is carried than in the
//! failed trial.

use std::collections::{BTreeMap, BTreeSet};

use joulepath_model::units::Nanos;

use super::lately::Lately;
use super::mean::Mean;
pub(super) use super::usual::LEAST_BPS;
use super::usual::Usual;
use crate::reason::Reason;

#[cfg(test)]
mod tests;

/// Least time over which rates are averaged, s.
const LOOK_S: f64 = 0.9;
/// With several paths: low is below this fraction of the second-highest capacity.
const LOW: f64 = 0.7;
const LOW_AFTER: Nanos = Nanos::from_secs(3);
/// The same for a formerly slow path, during `BACK` after it is used again.
const LOW_AGAIN: Nanos = Nanos::from_secs(1);
const BACK: Nanos = Nanos::from_secs(10);
/// Fraction of an earlier rate that counts as far less.
const FAR: f64 = 0.3;
/// Below this fraction of the second-highest capacity the other paths wait for the slow one.
const STALLED: f64 = 0.1;
/// Length of a trial after the suspect's subflows are closed.
const TRIAL: Nanos = Nanos::from_secs(8);
/// Data that was in flight does not count as gain for so long.
const SETTLE: Nanos = Nanos::from_secs(2);
/// After SETTLE, a rate below this fraction of the earlier rate ends the trial at once.
const WORSE: f64 = 0.5;
/// Consecutive polls of LOOK_S with almost no data that end a trial at once.
const MOST_EMPTY: u32 = 2;
/// Paths whose rates are within this factor are slow alike; none waits for another.
const ALIKE: f64 = 3.0;
/// A trial ends if the suspect's subflows cannot be closed within this time.
const LONGEST: Nanos = Nanos::from_secs(15);
const GAIN: f64 = 1.25;
/// Roles are restored within this time after a trial.
const REVERTS: Nanos = Nanos::from_secs(6);
/// A rate below this counts as no gain: a few packets, bit/s.
const LEAST_GAINED_BPS: f64 = 100e3;
const PAUSE: Nanos = Nanos::from_secs(60);
const MOST_DOUBLINGS: u32 = 5;
/// The count of trials drops by one for each such interval without another.
const FORGET: Nanos = Nanos::from_secs(3600);

/// A path at one poll.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Path {
    pub(super) name: String,
    /// Present rate, bit/s.
    pub(super) rate_bps: f64,
    /// Highest rate seen, bit/s.
    pub(super) most_bps: Option<f64>,
    /// True if it carries data and is meant to.
    pub(super) is_regular: bool,
    /// True if it may replace another path.
    pub(super) may_stand_in: bool,
    /// True if it has subflows.
    pub(super) is_open: bool,
    /// True if it was left: it is not regular, and its earlier subflows are closed.
    pub(super) is_left: bool,
    /// With one path in use: the fraction of the usual rate below which this path replaces it.
    pub(super) low: f64,
}

#[derive(Clone, Debug, PartialEq)]
enum Stage {
    /// A suspect is left as a trial. `asked`: start; `since`: when its subflows were closed;
    /// `empty`: consecutive polls with almost no data.
    Trial {
        name: String,
        asked: Nanos,
        since: Option<Nanos>,
        before_bps: f64,
        after: Mean,
        empty: u32,
    },
    /// The trial brought a gain.
    Found {
        name: String,
        until: Nanos,
        reason: Reason,
        part: f64,
    },
}

/// A path that should carry no data.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Held {
    pub(super) name: String,
    pub(super) reason: Reason,
    /// Its rate divided by the rate of the other paths without it, if known.
    pub(super) part: Option<f64>,
}

/// How roles are restored after a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Revert {
    /// Without waiting for the hold time.
    Soon,
    /// Without waiting for the hold time or the overlap: almost nothing gets through.
    AtOnce,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Slow {
    window: Window,
    usual: Usual,
    low: Low,
    /// Suspects whose trial brought no gain, since the last pause.
    cleared: BTreeSet<String>,
    /// The paths that carried data when the first suspect was tried.
    suspects: BTreeSet<String>,
    stage: Option<Stage>,
    /// When a formerly slow path was used again.
    back: Option<Nanos>,
    /// Roles are restored until then.
    reverts: Option<(Nanos, Revert)>,
    /// No trial before `pause_until`, unless far less than `enough_bps` is carried.
    pause_until: Nanos,
    enough_bps: f64,
    trials: Lately,
}

/// Traffic since the last judgement. A poll of 200 ms sees at most one packet of a path throttled
/// to 50 kbit/s.
#[derive(Clone, Debug, Default, PartialEq)]
struct Window {
    looked: Option<Nanos>,
    length_s: f64,
    bits: BTreeMap<String, f64>,
}

/// Statistics of the low phase.
#[derive(Clone, Debug, Default, PartialEq)]
struct Low {
    all: Mean,
    each: BTreeMap<String, Mean>,
    /// The smallest rate of each path while all wait, and the number of such polls.
    least: BTreeMap<String, f64>,
    stalled: u32,
    /// Number of polls in which a path carried almost nothing.
    rests: BTreeMap<String, u32>,
}

impl Slow {
    /// Takes in a poll of the paths, in order of preference. Returns the path that should carry no
    /// data, if any.
    pub(super) fn observe(&mut self, now: Nanos, paths: &[Path]) -> Option<Held> {
        match self.window.take(now, paths) {
            None => self
                .stage
                .as_ref()
                .filter(|stage| can_be_left(paths, stage.name()))
                .map(Stage::held),
            Some(paths) => self.judge_window(now, &paths),
        }
    }

    fn judge_window(&mut self, now: Nanos, paths: &[Path]) -> Option<Held> {
        let carried_bps: f64 = paths.iter().map(|path| path.rate_bps).sum();
        let bound_bps = self.bound_bps(paths);
        let low_for = self.usual.observe(now, carried_bps, bound_bps);
        if low_for > Nanos::ZERO && carried_bps >= LEAST_BPS {
            self.low.add(paths, carried_bps);
        } else if !self.usual.is_low() {
            self.low = Low::default();
        }
        if self
            .stage
            .as_ref()
            .is_some_and(|stage| !can_be_left(paths, stage.name()))
        {
            self.end(None);
        }
        match &mut self.stage {
            None => self.suspect(now, paths, carried_bps, low_for),
            Some(Stage::Trial {
                name,
                asked,
                since,
                before_bps,
                after,
                empty,
            }) => {
                let before_bps = *before_bps;
                // Data in the queue of the path that was left still arrives; it is no gain.
                let others = paths.iter().filter(|path| path.name != *name);
                let others_bps: f64 = others.map(|path| path.rate_bps).sum();
                *empty = if since.is_some() && others_bps < LEAST_BPS {
                    *empty + 1
                } else {
                    0
                };
                if paths.iter().any(|path| path.name == *name && path.is_left) {
                    since.get_or_insert(now);
                }
                let tried = since.map_or(Nanos::ZERO, |since| now.saturating_sub(since));
                if tried >= SETTLE {
                    after.add(others_bps);
                }
                // The first poll after SETTLE may include earlier data.
                let is_worse =
                    *empty >= MOST_EMPTY || (after.count >= 2 && others_bps < WORSE * before_bps);
                let is_over =
                    tried >= TRIAL || (since.is_none() && now.saturating_sub(*asked) >= LONGEST);
                let (name, after_bps) = (name.clone(), after.get().unwrap_or(0.0));
                if !is_worse && !is_over {
                    return self.stage.as_ref().map(Stage::held);
                }
                let held = self.judge(now, &name, before_bps, after_bps);
                if held.is_none() {
                    self.revert(
                        now,
                        if is_worse {
                            Revert::AtOnce
                        } else {
                            Revert::Soon
                        },
                    );
                }
                held
            }
            Some(Stage::Found { until, .. }) => {
                let is_over = now >= *until;
                // The replacement may have become slow as well, and the path that was left may have
                // recovered.
                let is_slow_too = low_for >= LOW_AFTER && self.may_try(now, carried_bps);
                if !is_over && !is_slow_too {
                    return self.stage.as_ref().map(Stage::held);
                }
                if !is_over {
                    self.count(now, carried_bps);
                }
                self.end(None);
                self.revert(now, Revert::Soon);
                self.back = Some(now);
                None
            }
        }
    }

    /// True if the next poll should come soon.
    pub(super) fn is_watched(&self, now: Nanos) -> bool {
        self.usual.is_low() || self.is_trying() || self.is_back(now)
    }

    fn is_trying(&self) -> bool {
        matches!(self.stage, Some(Stage::Trial { .. }))
    }

    /// True if a trial waits for connections to get another path.
    pub(super) fn is_waiting(&self) -> bool {
        matches!(self.stage, Some(Stage::Trial { since: None, .. }))
    }

    /// Whether and how roles are restored after a trial.
    pub(super) fn reverts(&self, now: Nanos) -> Option<Revert> {
        self.reverts
            .filter(|(until, _)| now < *until)
            .map(|(_, revert)| revert)
    }

    fn is_back(&self, now: Nanos) -> bool {
        self.back
            .is_some_and(|back| now.saturating_sub(back) < BACK)
    }

    /// The rate below which all paths together carry little, bit/s.
    fn bound_bps(&self, paths: &[Path]) -> f64 {
        let usual_bps = self.usual.bps().unwrap_or(0.0);
        let regular: Vec<&Path> = paths.iter().filter(|path| path.is_regular).collect();
        if let [one] = regular[..] {
            let low = next(paths, &one.name).map_or(0.0, |next| next.low);
            return low * usual_bps;
        }
        (LOW * second_best_bps(&regular).unwrap_or(0.0)).max(FAR * usual_bps)
    }

    fn suspect(
        &mut self,
        now: Nanos,
        paths: &[Path],
        carried_bps: f64,
        low_for: Nanos,
    ) -> Option<Held> {
        let is_back = self.is_back(now);
        let patience = if is_back { LOW_AGAIN } else { LOW_AFTER };
        if low_for < patience || !(is_back || self.may_try(now, carried_bps)) {
            return None;
        }
        if self.low.is_everywhere(paths, carried_bps) {
            // Check again with new data: a recovering path waits for the others.
            self.forget_low();
            return None;
        }
        let before_bps = self.low.all.get()?;
        let name = self.low.suspect(paths, &self.cleared)?.name.clone();
        let regular = paths
            .iter()
            .filter(|path| path.is_regular && path.most_bps.is_some());
        self.suspects = regular
            .map(|path| path.name.clone())
            .chain([name.clone()])
            .collect();
        let (asked, after) = (now, Mean::default());
        self.stage = Some(Stage::Trial {
            name: name.clone(),
            asked,
            since: None,
            before_bps,
            after,
            empty: 0,
        });
        self.forget_low();
        self.stage.as_ref().map(Stage::held)
    }

    fn revert(&mut self, now: Nanos, how: Revert) {
        self.reverts = Some((now.saturating_add(REVERTS), how));
    }

    fn may_try(&self, now: Nanos, carried_bps: f64) -> bool {
        now >= self.pause_until || carried_bps < FAR * self.enough_bps
    }

    /// Judges a trial that is over.
    fn judge(&mut self, now: Nanos, name: &str, before_bps: f64, after_bps: f64) -> Option<Held> {
        if after_bps >= (GAIN * before_bps).max(LEAST_GAINED_BPS) {
            let until = now.saturating_add(self.length(now));
            self.trials.add(now, FORGET, MOST_DOUBLINGS);
            let (path, with_bps, without_bps) = (name.to_owned(), before_bps, after_bps);
            let reason = Reason::Slow {
                path,
                with_bps,
                without_bps,
            };
            let part = before_bps / after_bps;
            self.end(Some(after_bps));
            self.stage = Some(Stage::Found {
                name: name.to_owned(),
                until,
                reason,
                part,
            });
            return self.stage.as_ref().map(Stage::held);
        }
        self.cleared.insert(name.to_owned());
        let is_last = self.suspects.is_subset(&self.cleared);
        if is_last {
            self.count(now, before_bps);
            self.end(Some(before_bps.max(after_bps)));
        } else {
            self.stage = None;
            self.forget_low();
        }
        None
    }

    /// Records a trial without gain, which delays the next one.
    fn count(&mut self, now: Nanos, carried_bps: f64) {
        let before = if now < self.pause_until {
            self.enough_bps
        } else {
            f64::INFINITY
        };
        self.enough_bps = before.min(carried_bps);
        self.pause_until = now.saturating_add(self.length(now));
        self.trials.add(now, FORGET, MOST_DOUBLINGS);
    }

    /// All paths may carry data again; `usual_bps` becomes the usual rate, if known.
    fn end(&mut self, usual_bps: Option<f64>) {
        self.stage = None;
        self.back = None;
        self.cleared.clear();
        if let Some(bps) = usual_bps {
            self.usual.becomes(bps);
        }
        self.forget_low();
    }

    fn forget_low(&mut self) {
        self.usual.calm();
        self.low = Low::default();
    }

    fn length(&self, now: Nanos) -> Nanos {
        Nanos(PAUSE.0 << self.trials.times(now, FORGET).min(MOST_DOUBLINGS))
    }
}

impl Window {
    /// Adds a poll. Returns the paths with mean rates once the window is long enough.
    fn take(&mut self, now: Nanos, paths: &[Path]) -> Option<Vec<Path>> {
        let looked = self.looked.replace(now).unwrap_or(now);
        let passed_s = now.saturating_sub(looked).as_secs_f64();
        for path in paths {
            *self.bits.entry(path.name.clone()).or_default() += path.rate_bps * passed_s;
        }
        self.length_s += passed_s;
        if self.length_s > 0.0 && self.length_s < LOOK_S {
            return None;
        }
        let Window { bits, length_s, .. } = std::mem::take(self);
        self.looked = Some(now);
        let mean_bps = |path: &Path| match length_s > 0.0 {
            true => bits
                .get(&path.name)
                .map_or(path.rate_bps, |bits| bits / length_s),
            false => path.rate_bps,
        };
        Some(
            paths
                .iter()
                .map(|path| Path {
                    rate_bps: mean_bps(path),
                    ..path.clone()
                })
                .collect(),
        )
    }
}

impl Stage {
    fn held(&self) -> Held {
        match self {
            Stage::Trial {
                name, before_bps, ..
            } => {
                let reason = Reason::Trial {
                    path: name.clone(),
                    rate_bps: *before_bps,
                };
                Held {
                    name: name.clone(),
                    reason,
                    part: None,
                }
            }
            Stage::Found {
                name, reason, part, ..
            } => Held {
                name: name.clone(),
                reason: reason.clone(),
                part: Some(*part),
            },
        }
    }

    fn name(&self) -> &str {
        match self {
            Stage::Trial { name, .. } | Stage::Found { name, .. } => name,
        }
    }
}

impl Low {
    fn add(&mut self, paths: &[Path], carried_bps: f64) {
        self.all.add(carried_bps);
        let regular: Vec<&Path> = paths.iter().filter(|path| path.is_regular).collect();
        let waits =
            second_best_bps(&regular).is_some_and(|best_bps| carried_bps < STALLED * best_bps);
        self.stalled += u32::from(waits);
        for path in paths {
            self.each
                .entry(path.name.clone())
                .or_default()
                .add(path.rate_bps);
            *self.rests.entry(path.name.clone()).or_default() +=
                u32::from(path.rate_bps < LEAST_BPS);
            if waits {
                // The poll in which the wait begins still includes earlier data, so the minimum is
                // used, not the mean.
                let least = self.least.entry(path.name.clone()).or_insert(f64::INFINITY);
                *least = least.min(path.rate_bps);
            }
        }
    }

    fn mean_bps(&self, path: &Path) -> f64 {
        self.each
            .get(&path.name)
            .and_then(|mean| mean.get())
            .unwrap_or(0.0)
    }

    /// True if several paths carry almost nothing, all about the same, and none waits for another.
    fn is_everywhere(&self, paths: &[Path], carried_bps: f64) -> bool {
        let regular: Vec<&Path> = paths.iter().filter(|path| path.is_regular).collect();
        let rests =
            |path: &Path| 2 * self.rests.get(&path.name).copied().unwrap_or(0) > self.all.count;
        let rates_bps = || regular.iter().map(|path| self.mean_bps(path));
        let are_alike =
            rates_bps().fold(0.0, f64::max) <= ALIKE * rates_bps().fold(f64::INFINITY, f64::min);
        let best_bps = regular
            .iter()
            .filter_map(|path| path.most_bps)
            .fold(0.0, f64::max);
        let is_little = carried_bps < STALLED * best_bps;
        regular.len() > 1 && is_little && are_alike && !regular.iter().any(|path| rests(path))
    }

    /// The path to leave as a trial.
    fn suspect<'a>(&self, paths: &'a [Path], cleared: &BTreeSet<String>) -> Option<&'a Path> {
        let regular: Vec<&Path> = paths.iter().filter(|path| path.is_regular).collect();
        if let [one] = regular[..] {
            return (one.is_open && next(paths, &one.name).is_some()).then_some(one);
        }
        let mostly_stalled = 2 * self.stalled > self.all.count;
        let while_stalled = |path: &Path| match mostly_stalled {
            true => self.least.get(&path.name).copied().unwrap_or(0.0),
            false => 0.0,
        };
        let part = |path: &Path| self.mean_bps(path) / path.most_bps.unwrap_or(f64::INFINITY);
        let suspects = regular
            .into_iter()
            .filter(|path| path.most_bps.is_some() && !cleared.contains(&path.name));
        suspects.min_by(|a, b| {
            while_stalled(b)
                .total_cmp(&while_stalled(a))
                .then(part(a).total_cmp(&part(b)))
        })
    }
}

/// The path that replaces `name`.
pub(super) fn next<'a>(paths: &'a [Path], name: &str) -> Option<&'a Path> {
    paths
        .iter()
        .find(|path| path.name != name && path.may_stand_in)
}

/// True if `name` exists and another path can replace it.
fn can_be_left(paths: &[Path], name: &str) -> bool {
    paths.iter().any(|path| path.name == name) && next(paths, name).is_some()
}

/// The second-highest capacity: whichever path is slow, another path has carried this rate alone.
fn second_best_bps(regular: &[&Path]) -> Option<f64> {
    let mut most: Vec<f64> = regular.iter().filter_map(|path| path.most_bps).collect();
    most.sort_by(f64::total_cmp);
    most.iter().rev().nth(1).copied()
}
