//! Paths that still answer and have become slow: a radio at the edge of its cell, a plan that is throttled
//! after its cap. Such a path carries little of what is sent, and data that waits on it holds up what comes
//! over the others.
//!
//! From one end a slow path looks like an application that has less to send. So the daemon tries it:
//!
//! ```text
//!   in use ── all paths carry less than LOW of the usual, for LOW_AFTER ──► Trial: the suspect is left
//!     ▲                                                                           │ for TRIAL
//!     ├── no gain: the next suspect; after the last one PAUSE · 2ⁿ ◄───────────────┤
//!     ▲                                                                           ▼ GAIN more is carried
//!     └── low again within BACK: the next trial after LOW_AGAIN ◄── Found: left for PAUSE · 2ⁿ
//! ```
//! The suspect is the only path that carries data, and the next path stands in for it. Among several it is
//! the path that has fallen most below what it has carried; but if next to nothing is carried, it is the path
//! that never stops: the others wait for it. If none of several paths ever stops, and all carry about the
//! same, none waits: all of them are slow, and none is tried. What waits on a closed subflow would only be
//! sent again behind the queue of another slow path.
//!
//! n is the number of trials in the last hours. A pause ends early if far less is carried than in the trial
//! that brought nothing.

use std::collections::{BTreeMap, BTreeSet};

use joulepath_model::units::Nanos;

use super::lately::Lately;
use super::mean::Mean;
pub(super) use super::usual::LEAST_BPS;
use super::usual::Usual;
use crate::reason::Reason;

#[cfg(test)]
mod tests;

/// Rates are means over at least so long, s.
const LOOK_S: f64 = 0.9;
/// With several paths: part of what the second best of them has carried alone.
const LOW: f64 = 0.7;
const LOW_AFTER: Nanos = Nanos::from_secs(3);
/// The same when a path that was slow is used again, for so long.
const LOW_AGAIN: Nanos = Nanos::from_secs(1);
const BACK: Nanos = Nanos::from_secs(10);
/// Far less than was carried before.
const FAR: f64 = 0.3;
/// Part of what the second best has carried below which the others do not carry little, but wait.
const STALLED: f64 = 0.1;
/// A trial takes this long from the instant at which the suspect's subflows are closed.
const TRIAL: Nanos = Nanos::from_secs(8);
/// What was on its way does not count as gain.
const SETTLE: Nanos = Nanos::from_secs(2);
/// After SETTLE a trial ends at once where less than this part of what was carried before is carried.
const WORSE: f64 = 0.5;
/// So many looks in a row, of LOOK_S or more, that see next to nothing arrive end a trial at once.
const MOST_EMPTY: u32 = 2;
/// Slow paths of which none waits for another carry the same up to this factor.
const ALIKE: f64 = 3.0;
/// A suspect whose subflows cannot be closed for so long is not tried.
const LONGEST: Nanos = Nanos::from_secs(15);
const GAIN: f64 = 1.25;
/// After a trial roles go back within this time.
const REVERTS: Nanos = Nanos::from_secs(6);
/// A gain that ends at less than this says nothing: a few packets, bit/s.
const LEAST_GAINED_BPS: f64 = 100e3;
const PAUSE: Nanos = Nanos::from_secs(60);
const MOST_DOUBLINGS: u32 = 5;
/// One trial is forgotten after this time.
const FORGET: Nanos = Nanos::from_secs(3600);

/// One path at one look.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Path {
    pub(super) name: String,
    /// What it carries, bit/s.
    pub(super) rate_bps: f64,
    /// What it has carried at most, bit/s.
    pub(super) most_bps: Option<f64>,
    /// Whether it carries data, as it should.
    pub(super) is_regular: bool,
    /// Whether it may carry what another one should.
    pub(super) may_stand_in: bool,
    /// Whether it has subflows.
    pub(super) is_open: bool,
    /// Whether it was left: it is not regular, and its subflows of before are closed.
    pub(super) is_left: bool,
    /// With one path in use: the part of the usual rate below which this one is to stand in.
    pub(super) low: f64,
}

/// What is tried, or was found.
#[derive(Clone, Debug, PartialEq)]
enum Stage {
    /// A path is left to see whether that helps: when that began, since when it is left, and how many of the
    /// last looks have seen nothing arrive.
    Trial { name: String, asked: Nanos, since: Option<Nanos>, before_bps: f64, after: Mean, empty: u32 },
    /// It helped.
    Found { name: String, until: Nanos, reason: Reason, part: f64 },
}

/// A path that is not to carry data.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Held {
    pub(super) name: String,
    pub(super) reason: Reason,
    /// What it carried of what the others carry without it, if that is known.
    pub(super) part: Option<f64>,
}

/// How roles go back after a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Revert {
    /// Without waiting for the last change to be old enough.
    Soon,
    /// The same, and at once: next to nothing gets through now.
    AtOnce,
}

/// Which path has become slow.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Slow {
    window: Window,
    usual: Usual,
    low: Low,
    /// Suspects for which a trial has brought nothing since the last pause.
    cleared: BTreeSet<String>,
    /// The paths that carried data when the first of them was tried.
    suspects: BTreeSet<String>,
    stage: Option<Stage>,
    /// A path that was slow is used again since then.
    back: Option<Nanos>,
    /// Roles go back until then.
    reverts: Option<(Nanos, Revert)>,
    /// No trial before, unless far less than that is carried, bit/s.
    pause_until: Nanos,
    enough_bps: f64,
    trials: Lately,
}

/// What the paths have carried since they were judged. A look of 200 ms sees one packet of a path that is
/// throttled to 50 kbit/s, or none.
#[derive(Clone, Debug, Default, PartialEq)]
struct Window {
    looked: Option<Nanos>,
    length_s: f64,
    bits: BTreeMap<String, f64>,
}

/// What was carried while it was low.
#[derive(Clone, Debug, Default, PartialEq)]
struct Low {
    all: Mean,
    each: BTreeMap<String, Mean>,
    /// The least of each path while everything waited, and for how many looks.
    least: BTreeMap<String, f64>,
    stalled: u32,
    /// In how many looks a path carried next to nothing.
    rests: BTreeMap<String, u32>,
}

impl Slow {
    /// Takes in a look at the paths, in the order of preference; which is not to carry data, if one is.
    pub(super) fn observe(&mut self, now: Nanos, paths: &[Path]) -> Option<Held> {
        match self.window.take(now, paths) {
            None => self.stage.as_ref().filter(|stage| can_be_left(paths, stage.name())).map(Stage::held),
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
        if self.stage.as_ref().is_some_and(|stage| !can_be_left(paths, stage.name())) {
            self.end(None);
        }
        match &mut self.stage {
            None => self.suspect(now, paths, carried_bps, low_for),
            Some(Stage::Trial { name, asked, since, before_bps, after, empty }) => {
                let before_bps = *before_bps;
                // What was in the queue of the path that is left comes still, and is no gain.
                let others = paths.iter().filter(|path| path.name != *name);
                let others_bps: f64 = others.map(|path| path.rate_bps).sum();
                *empty = if since.is_some() && others_bps < LEAST_BPS { *empty + 1 } else { 0 };
                if paths.iter().any(|path| path.name == *name && path.is_left) {
                    since.get_or_insert(now);
                }
                let tried = since.map_or(Nanos::ZERO, |since| now.saturating_sub(since));
                if tried >= SETTLE {
                    after.add(others_bps);
                }
                // The first look after SETTLE may have a part of what came before.
                let is_worse = *empty >= MOST_EMPTY || (after.count >= 2 && others_bps < WORSE * before_bps);
                let is_over = tried >= TRIAL || (since.is_none() && now.saturating_sub(*asked) >= LONGEST);
                let (name, after_bps) = (name.clone(), after.get().unwrap_or(0.0));
                if !is_worse && !is_over {
                    return self.stage.as_ref().map(Stage::held);
                }
                let held = self.judge(now, &name, before_bps, after_bps);
                if held.is_none() {
                    self.revert(now, if is_worse { Revert::AtOnce } else { Revert::Soon });
                }
                held
            }
            Some(Stage::Found { until, .. }) => {
                let is_over = now >= *until;
                // What stands in may have become slow as well, and the path that was left may be well again.
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

    /// Whether the next look should come soon.
    pub(super) fn is_watched(&self, now: Nanos) -> bool {
        self.usual.is_low() || self.is_trying() || self.is_back(now)
    }

    fn is_trying(&self) -> bool {
        matches!(self.stage, Some(Stage::Trial { .. }))
    }

    /// Whether a trial waits until connections have another path.
    pub(super) fn is_waiting(&self) -> bool {
        matches!(self.stage, Some(Stage::Trial { since: None, .. }))
    }

    /// Whether roles go back after a trial, and how.
    pub(super) fn reverts(&self, now: Nanos) -> Option<Revert> {
        self.reverts.filter(|(until, _)| now < *until).map(|(_, revert)| revert)
    }

    fn is_back(&self, now: Nanos) -> bool {
        self.back.is_some_and(|back| now.saturating_sub(back) < BACK)
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

    fn suspect(&mut self, now: Nanos, paths: &[Path], carried_bps: f64, low_for: Nanos) -> Option<Held> {
        let is_back = self.is_back(now);
        let patience = if is_back { LOW_AGAIN } else { LOW_AFTER };
        if low_for < patience || !(is_back || self.may_try(now, carried_bps)) {
            return None;
        }
        if self.low.is_everywhere(paths, carried_bps) {
            // Asked again on what comes next: a path that recovers waits for the others.
            self.forget_low();
            return None;
        }
        let before_bps = self.low.all.get()?;
        let name = self.low.suspect(paths, &self.cleared)?.name.clone();
        let regular = paths.iter().filter(|path| path.is_regular && path.most_bps.is_some());
        self.suspects = regular.map(|path| path.name.clone()).chain([name.clone()]).collect();
        let (asked, after) = (now, Mean::default());
        self.stage =
            Some(Stage::Trial { name: name.clone(), asked, since: None, before_bps, after, empty: 0 });
        self.forget_low();
        self.stage.as_ref().map(Stage::held)
    }

    fn revert(&mut self, now: Nanos, how: Revert) {
        self.reverts = Some((now.saturating_add(REVERTS), how));
    }

    fn may_try(&self, now: Nanos, carried_bps: f64) -> bool {
        now >= self.pause_until || carried_bps < FAR * self.enough_bps
    }

    /// Ends a trial.
    fn judge(&mut self, now: Nanos, name: &str, before_bps: f64, after_bps: f64) -> Option<Held> {
        if after_bps >= (GAIN * before_bps).max(LEAST_GAINED_BPS) {
            let until = now.saturating_add(self.length(now));
            self.trials.add(now, FORGET, MOST_DOUBLINGS);
            let (path, with_bps, without_bps) = (name.to_owned(), before_bps, after_bps);
            let reason = Reason::Slow { path, with_bps, without_bps };
            let part = before_bps / after_bps;
            self.end(Some(after_bps));
            self.stage = Some(Stage::Found { name: name.to_owned(), until, reason, part });
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

    /// A trial was for nothing: the next one comes later.
    fn count(&mut self, now: Nanos, carried_bps: f64) {
        let before = if now < self.pause_until { self.enough_bps } else { f64::INFINITY };
        self.enough_bps = before.min(carried_bps);
        self.pause_until = now.saturating_add(self.length(now));
        self.trials.add(now, FORGET, MOST_DOUBLINGS);
    }

    /// All paths may carry data again, and this is carried as a rule, if that is known.
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
    /// Takes in a look; the paths with their mean rates, once that was long enough.
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
            true => bits.get(&path.name).map_or(path.rate_bps, |bits| bits / length_s),
            false => path.rate_bps,
        };
        Some(paths.iter().map(|path| Path { rate_bps: mean_bps(path), ..path.clone() }).collect())
    }
}

impl Stage {
    fn held(&self) -> Held {
        match self {
            Stage::Trial { name, before_bps, .. } => {
                let reason = Reason::Trial { path: name.clone(), rate_bps: *before_bps };
                Held { name: name.clone(), reason, part: None }
            }
            Stage::Found { name, reason, part, .. } => {
                Held { name: name.clone(), reason: reason.clone(), part: Some(*part) }
            }
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
        let waits = second_best_bps(&regular).is_some_and(|best_bps| carried_bps < STALLED * best_bps);
        self.stalled += u32::from(waits);
        for path in paths {
            self.each.entry(path.name.clone()).or_default().add(path.rate_bps);
            *self.rests.entry(path.name.clone()).or_default() += u32::from(path.rate_bps < LEAST_BPS);
            if waits {
                // The look in which the wait begins still has what the others carried before: not the mean.
                let least = self.least.entry(path.name.clone()).or_insert(f64::INFINITY);
                *least = least.min(path.rate_bps);
            }
        }
    }

    fn mean_bps(&self, path: &Path) -> f64 {
        self.each.get(&path.name).and_then(|mean| mean.get()).unwrap_or(0.0)
    }

    /// Whether there are several paths, next to nothing is carried, about the same by each, and none waits
    /// for another.
    fn is_everywhere(&self, paths: &[Path], carried_bps: f64) -> bool {
        let regular: Vec<&Path> = paths.iter().filter(|path| path.is_regular).collect();
        let rests = |path: &Path| 2 * self.rests.get(&path.name).copied().unwrap_or(0) > self.all.count;
        let rates_bps = || regular.iter().map(|path| self.mean_bps(path));
        let are_alike = rates_bps().fold(0.0, f64::max) <= ALIKE * rates_bps().fold(f64::INFINITY, f64::min);
        let best_bps = regular.iter().filter_map(|path| path.most_bps).fold(0.0, f64::max);
        let is_little = carried_bps < STALLED * best_bps;
        regular.len() > 1 && is_little && are_alike && !regular.iter().any(|path| rests(path))
    }

    /// The path that is to be left to see whether that helps.
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
        let suspects =
            regular.into_iter().filter(|path| path.most_bps.is_some() && !cleared.contains(&path.name));
        suspects
            .min_by(|a, b| while_stalled(b).total_cmp(&while_stalled(a)).then(part(a).total_cmp(&part(b))))
    }
}

/// The path that stands in for this one.
pub(super) fn next<'a>(paths: &'a [Path], name: &str) -> Option<&'a Path> {
    paths.iter().find(|path| path.name != name && path.may_stand_in)
}

/// Whether there are this path and another one that can carry data in its place.
fn can_be_left(paths: &[Path], name: &str) -> bool {
    paths.iter().any(|path| path.name == name) && next(paths, name).is_some()
}

/// The second best: whichever the slow one is, another one has carried that alone.
fn second_best_bps(regular: &[&Path]) -> Option<f64> {
    let mut most: Vec<f64> = regular.iter().filter_map(|path| path.most_bps).collect();
    most.sort_by(f64::total_cmp);
    most.iter().rev().nth(1).copied()
}
