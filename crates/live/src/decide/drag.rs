//! Paths that slow all others down: a plan that is throttled after its cap, a radio at its edge. Data that
//! waits on them holds up what comes over the others. The path to suspect is that which has fallen most below
//! what it has carried; but if next to nothing is carried, that which still carries something, since the
//! others wait for it.
//!
//! From one end that cannot be told from an application with little to send. So it is tried:
//!
//! ```text
//!   all regular ── all carry less than LOW of one alone, for LOW_AFTER ──► the suspect is a backup
//!        ▲                                                                                    │ for TRIAL
//!        ├── no gain: the next path; when each was tried, after PAUSE · 2ⁿ ◄───────────────────┤
//!        └── a backup for PAUSE · 2ⁿ ◄── all together carry GAIN more ────────────────────────┘
//! ```

use std::collections::{BTreeMap, BTreeSet};

use joulepath_model::units::Nanos;

use super::mean::Mean;

/// Part of what at least one path besides the slow one has carried alone.
const LOW: f64 = 0.7;
const LOW_AFTER: Nanos = Nanos::from_secs(4);
/// Part of the same below which the others do not carry little, but wait for the slow path.
const STALLED: f64 = 0.1;
/// Less than this is no traffic, bit/s. Plans are throttled to as little as 32 kbit/s, and what is held up
/// comes no faster.
const LEAST_BPS: f64 = 20e3;
const TRIAL: Nanos = Nanos::from_secs(8);
/// A trial begins when the path carries nothing any more, and not later than this: a queue of 100 kB in front
/// of 32 kbit/s takes 25 s, and holds up the others meanwhile.
const DRAIN: Nanos = Nanos::from_secs(30);
/// What was on its way counts as the gain of nothing.
const SETTLE: Nanos = Nanos::from_secs(3);
/// A gain that ends at less than this says nothing: a few packets, bit/s.
const LEAST_GAINED_BPS: f64 = 100e3;
const GAIN: f64 = 1.25;
const PAUSE: Nanos = Nanos::from_secs(60);
const MOST_DOUBLINGS: u32 = 5;

/// One path among those that carry data.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Carrier {
    pub(super) name: String,
    /// What it carries, bit/s.
    pub(super) rate_bps: f64,
    /// What it has carried at most, bit/s.
    pub(super) most_bps: Option<f64>,
    /// Whether it is regular at present.
    pub(super) is_regular: bool,
}

/// What is tried, or was found.
#[derive(Clone, Debug, PartialEq)]
enum Stage {
    /// A path is a backup to see whether that helps: `since` then, and `empty` since it carries nothing.
    Trial { name: String, since: Option<Nanos>, empty: Option<Nanos>, before_bps: f64, after: Mean },
    /// It helped.
    Found { name: String, until: Nanos, reason: String },
}

/// The paths that slow others down.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Drag {
    /// The last look.
    looked: Option<Nanos>,
    /// How long little has been carried. Half of the time in which much is carried is taken off, since data
    /// that was held up comes in bursts.
    low_for: Nanos,
    before: Mean,
    /// Of each path in that time.
    each: BTreeMap<String, Mean>,
    /// The same while everything waited.
    stalled: BTreeMap<String, Mean>,
    /// Those for which a trial has brought nothing since the last pause.
    cleared: BTreeSet<String>,
    stage: Option<Stage>,
    /// No trial before.
    pause_until: Nanos,
    times: u32,
}

impl Drag {
    /// The path that is to be a backup, and why; none if all may be regular.
    pub(super) fn observe(&mut self, now: Nanos, all: &[Carrier]) -> Option<(String, String)> {
        let total_bps: f64 = all.iter().map(|one| one.rate_bps).sum();
        match &mut self.stage {
            None => self.suspect(now, all, total_bps),
            Some(Stage::Trial { name, since, empty, before_bps, after }) => {
                let Some(one) = all.iter().find(|one| one.name == *name) else {
                    return self.end_trial(now, all);
                };
                if !one.is_regular {
                    let since = *since.get_or_insert(now);
                    if one.rate_bps < LEAST_BPS || now.saturating_sub(since) >= DRAIN {
                        empty.get_or_insert(now);
                    }
                    let tried = empty.map_or(Nanos::ZERO, |empty| now.saturating_sub(empty));
                    if tried >= SETTLE {
                        after.add(total_bps);
                    }
                    if tried >= TRIAL {
                        let (before, after) = (*before_bps, after.get().unwrap_or(0.0));
                        if after < (GAIN * before).max(LEAST_GAINED_BPS) {
                            let name = name.clone();
                            self.cleared.insert(name);
                            return self.end_trial(now, all);
                        }
                        let (name, mbps) = (name.clone(), |bps: f64| bps / 1e6);
                        let reason = format!(
                            "it slows the others down: {:.1} Mbit/s in all with it, {:.1} without",
                            mbps(before),
                            mbps(after)
                        );
                        let until = now.saturating_add(self.length());
                        self.times = (self.times + 1).min(MOST_DOUBLINGS);
                        self.stage = Some(Stage::Found { name: name.clone(), until, reason: reason.clone() });
                        return Some((name, reason));
                    }
                }
                let reason = format!("a trial: all paths together carry {:.1} Mbit/s", *before_bps / 1e6);
                Some((name.clone(), reason))
            }
            Some(Stage::Found { name, until, reason }) => {
                if now >= *until || all.iter().all(|one| one.name != *name) {
                    // It is regular again, and shows soon whether it still slows the others down.
                    self.stage = None;
                    self.forget();
                    return None;
                }
                Some((name.clone(), reason.clone()))
            }
        }
    }

    fn suspect(&mut self, now: Nanos, all: &[Carrier], total_bps: f64) -> Option<(String, String)> {
        let regular = all.iter().all(|one| one.is_regular);
        // The second best: whichever the slow one is, another one has carried that.
        let mut most: Vec<f64> = all.iter().filter_map(|one| one.most_bps).collect();
        most.sort_by(f64::total_cmp);
        let best_bps = most.iter().rev().nth(1).copied()?;
        let is_low =
            regular && total_bps >= LEAST_BPS && total_bps < LOW * best_bps && now >= self.pause_until;
        let passed = self.looked.map_or(Nanos::ZERO, |looked| now.saturating_sub(looked));
        self.looked = Some(now);
        self.low_for = match is_low {
            true => self.low_for.saturating_add(passed),
            false => self.low_for.saturating_sub(Nanos(passed.0 / 2)),
        };
        if !is_low && self.low_for == Nanos::ZERO {
            self.forget_means();
            return None;
        }
        self.before.add(total_bps);
        for one in all {
            self.each.entry(one.name.clone()).or_default().add(one.rate_bps);
            if is_low && total_bps < STALLED * best_bps {
                self.stalled.entry(one.name.clone()).or_default().add(one.rate_bps);
            }
        }
        if !is_low || self.low_for < LOW_AFTER {
            return None;
        }
        let before_bps = self.before.get()?;
        let stalled_looks = self.stalled.values().map(|mean| mean.count).max().unwrap_or(0);
        let mostly_stalled = 2 * stalled_looks > self.before.count;
        let mean_bps = |means: &BTreeMap<String, Mean>, one: &Carrier| {
            means.get(&one.name).and_then(|mean| mean.get()).unwrap_or(0.0)
        };
        // Only the path that all wait for carries data while they wait.
        let while_stalled = |one: &Carrier| if mostly_stalled { mean_bps(&self.stalled, one) } else { 0.0 };
        let part = |one: &Carrier| mean_bps(&self.each, one) / one.most_bps.unwrap_or(f64::INFINITY);
        let suspects = all.iter().filter(|one| one.most_bps.is_some() && !self.cleared.contains(&one.name));
        let first = |a: &&Carrier, b: &&Carrier| {
            while_stalled(b).total_cmp(&while_stalled(a)).then(part(a).total_cmp(&part(b)))
        };
        let name = suspects.min_by(first)?.name.clone();
        let after = Mean::default();
        self.stage = Some(Stage::Trial { name: name.clone(), since: None, empty: None, before_bps, after });
        self.forget();
        Some((name, format!("a trial: all paths together carry {:.1} Mbit/s", before_bps / 1e6)))
    }

    /// The trial was for nothing: all are regular again. When each has had one, the next comes later.
    fn end_trial(&mut self, now: Nanos, all: &[Carrier]) -> Option<(String, String)> {
        self.stage = None;
        self.forget();
        if all.iter().all(|one| one.most_bps.is_none() || self.cleared.contains(&one.name)) {
            self.pause_until = now.saturating_add(self.length());
            self.times = (self.times + 1).min(MOST_DOUBLINGS);
            self.cleared.clear();
        }
        None
    }

    fn forget(&mut self) {
        (self.looked, self.low_for) = (None, Nanos::ZERO);
        self.forget_means();
    }

    fn forget_means(&mut self) {
        self.before = Mean::default();
        self.each.clear();
        self.stalled.clear();
    }

    fn length(&self) -> Nanos {
        Nanos(PAUSE.0 << self.times)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    const WIFI_BPS: f64 = 10e6;

    /// WiFi and LTE at these rates; the held one is no regular path.
    fn carriers([wifi, lte]: [f64; 2], held: &str) -> [Carrier; 2] {
        let one = |name: &str, rate_bps, most| Carrier {
            name: name.into(),
            rate_bps,
            most_bps: Some(most),
            is_regular: held != name,
        };
        [one("wifi", wifi, WIFI_BPS), one("lte", lte, 2.0 * WIFI_BPS)]
    }

    /// Looks each second for so long; which path was a backup when. `rates` says what both carry meanwhile.
    fn backups(drag: &mut Drag, seconds: u64, rates: impl Fn(&str) -> [f64; 2]) -> Vec<(u64, String)> {
        let (mut at, mut held) = (vec![], String::new());
        for s in 0..seconds {
            let [wifi, lte] = rates(&held);
            let all = carriers([wifi, lte], &held);
            held = drag.observe(Nanos::from_secs(s), &all).map_or_else(String::new, |(name, _)| name);
            if !held.is_empty() {
                at.push((s, held.clone()));
            }
        }
        at
    }

    #[test]
    fn a_throttled_path_that_holds_up_the_other_becomes_a_backup_and_is_tried_again() {
        // With it 3 Mbit/s in all, without it 9.5.
        let rates = |held: &str| match held {
            "lte" => [9.5e6, 0.0],
            "wifi" => [0.0, 0.1e6],
            _ => [2.9e6, 0.1e6],
        };
        let at = backups(&mut Drag::default(), 200, rates);
        assert!(at[0] == (4, "lte".into()) && at.iter().all(|(_, name)| name == "lte"), "{at:?}");
        // 4 s low, 9 s of a trial, a backup for 60 s; regular for 5 s, a trial again, and then for 120 s.
        let is_held = |s: u64| at.iter().any(|(at, _)| *at == s);
        assert!(at.len() > 180 && is_held(70) && !is_held(75) && is_held(199), "{at:?}");
        let mut drag = Drag::default();
        backups(&mut drag, 30, rates);
        let Some(Stage::Found { reason, .. }) = drag.stage else { panic!("{drag:?}") };
        assert!(reason.contains("3.0 Mbit/s in all with it, 9.5 without"), "{reason}");
    }

    #[test]
    fn a_path_that_is_throttled_to_almost_nothing_is_judged_when_its_queue_is_empty() {
        // As the kernel shows it: 100 kB in front of 50 kbit/s hold up everything until they are sent.
        // The other path has fallen further, to nothing.
        let (mut drag, was_held) = (Drag::default(), Cell::new(0));
        let rates = |held: &str| {
            was_held.set(was_held.get() + u64::from(held == "lte"));
            if was_held.get() > 16 { [9e6, 0.0] } else { [0.0, 60e3] }
        };
        backups(&mut drag, 60, rates);
        let Some(Stage::Found { name, reason, .. }) = &drag.stage else { panic!("{drag:?}") };
        assert!(name == "lte" && reason.contains("0.1 Mbit/s in all with it, 9.0 without"), "{reason}");
        assert!(drag.cleared.is_empty(), "{drag:?}");
    }

    #[test]
    fn a_few_packets_are_no_gain() {
        let rates = |held: &str| match held {
            "lte" => [90e3, 0.0],
            "wifi" => [0.0, 90e3],
            _ => [30e3, 0.0],
        };
        let mut drag = Drag::default();
        let at = backups(&mut drag, 600, rates);
        assert!(at.len() < 120 && !matches!(drag.stage, Some(Stage::Found { .. })), "{} {drag:?}", at.len());
    }

    #[test]
    fn bursts_of_what_was_held_up_do_not_clear_a_path() {
        let mut drag = Drag::default();
        let look = |drag: &mut Drag, s: u64| {
            // Two seconds in five bring what has waited.
            let wifi = if s % 5 < 2 { 9e6 } else { 0.1e6 };
            drag.observe(Nanos::from_secs(s), &carriers([wifi, 0.1e6], ""))
        };
        let first = (0..60).find_map(|s| look(&mut drag, s).map(|(name, _)| (s, name)));
        // 3 s low, 2 s not, 3 s low …: 3 − 1 + 3 s at the second time.
        assert!(first.as_ref().is_some_and(|(s, name)| *s < 15 && name == "lte"), "{first:?}");
    }

    #[test]
    fn if_the_first_suspect_is_innocent_the_next_one_is_tried() {
        // The first path is throttled, and carries still the larger part.
        let rates = |held: &str| match held {
            "lte" => [2e6, 0.0],
            "wifi" => [0.0, 9e6],
            _ => [2e6, 0.5e6],
        };
        let at = backups(&mut Drag::default(), 60, rates);
        let names: Vec<&str> = at.iter().map(|(_, name)| name.as_str()).collect();
        assert!(
            names[..8].iter().all(|name| *name == "lte") && names[9..].iter().all(|name| *name == "wifi")
        );
        assert!(names.len() > 45, "{at:?}");
    }

    #[test]
    fn an_application_with_little_to_send_costs_a_trial_now_and_then() {
        // 2 Mbit/s, whoever carries them.
        let rates = |held: &str| match held {
            "lte" => [2e6, 0.0],
            "wifi" => [0.0, 2e6],
            _ => [1.5e6, 0.5e6],
        };
        let at = backups(&mut Drag::default(), 3600, rates);
        // Trials of 8 s of both paths at first, and after 60, 120, 240, 480, 960, 1920 s.
        assert!((6 * 16..=8 * 18).contains(&at.len()), "{}", at.len());
    }

    #[test]
    fn paths_that_are_well_used_are_left_alone() {
        assert_eq!(backups(&mut Drag::default(), 600, |_| [7.5e6, 1e6]), []);
        assert_eq!(backups(&mut Drag::default(), 600, |_| [0.0, 0.0]), []);
    }
}
