//! Paths that slow all others down: a plan that is throttled after its cap, a radio at its edge. Data that
//! waits on them holds up what comes over the others.
//!
//! From one end that cannot be told from an application with little to send. So it is tried:
//!
//! ```text
//!   all regular ── all together carry less than LOW of the best alone, for LOW_AFTER ──► the slowest is a backup
//!        ▲                                                                                    │ for TRIAL
//!        ├── no gain: next trial after PAUSE · 2ⁿ ◄───────────────────────────────────────────┤
//!        └── a backup for PAUSE · 2ⁿ ◄── all together carry GAIN more ────────────────────────┘
//! ```

use joulepath_model::units::Nanos;

use super::overflow::lasted;

/// Part of what the best of the others has carried alone.
const LOW: f64 = 0.7;
const LOW_AFTER: Nanos = Nanos::from_secs(4);
/// Less than this is no traffic, bit/s.
const LEAST_BPS: f64 = 100e3;
const TRIAL: Nanos = Nanos::from_secs(8);
/// What was on its way counts as the gain of nothing.
const SETTLE: Nanos = Nanos::from_secs(3);
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

/// The mean of what was seen.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Mean {
    sum: f64,
    count: u32,
}

impl Mean {
    fn add(&mut self, value: f64) {
        (self.sum, self.count) = (self.sum + value, self.count + 1);
    }

    fn get(self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / f64::from(self.count))
    }
}

/// What is tried, or was found.
#[derive(Clone, Debug, PartialEq)]
enum Stage {
    /// A path is a backup to see whether that helps.
    Trial { name: String, since: Option<Nanos>, before_bps: f64, after: Mean },
    /// It helped.
    Found { name: String, until: Nanos, reason: String },
}

/// The paths that slow others down.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Drag {
    low_since: Option<Nanos>,
    before: Mean,
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
            Some(Stage::Trial { name, since, before_bps, after }) => {
                let Some(one) = all.iter().find(|one| one.name == *name) else { return self.pause(now) };
                if !one.is_regular {
                    let since = *since.get_or_insert(now);
                    if now.saturating_sub(since) >= SETTLE {
                        after.add(total_bps);
                    }
                    if now.saturating_sub(since) >= TRIAL {
                        let (before, after) = (*before_bps, after.get().unwrap_or(0.0));
                        if after < GAIN * before {
                            return self.pause(now);
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
                    (self.stage, self.low_since, self.before) = (None, None, Mean::default());
                    return None;
                }
                Some((name.clone(), reason.clone()))
            }
        }
    }

    fn suspect(&mut self, now: Nanos, all: &[Carrier], total_bps: f64) -> Option<(String, String)> {
        let regular = all.iter().all(|one| one.is_regular);
        let slowest = all.iter().min_by(|a, b| a.rate_bps.total_cmp(&b.rate_bps))?;
        let others = all.iter().filter(|one| one.name != slowest.name);
        let best_bps = others.filter_map(|one| one.most_bps).reduce(f64::max)?;
        let is_low =
            regular && total_bps >= LEAST_BPS && total_bps < LOW * best_bps && now >= self.pause_until;
        if is_low {
            self.before.add(total_bps);
        } else {
            self.before = Mean::default();
        }
        if !lasted(&mut self.low_since, is_low, now, LOW_AFTER) {
            return None;
        }
        let before_bps = self.before.get()?;
        let name = slowest.name.clone();
        self.stage =
            Some(Stage::Trial { name: name.clone(), since: None, before_bps, after: Mean::default() });
        (self.low_since, self.before) = (None, Mean::default());
        Some((name, format!("a trial: all paths together carry {:.1} Mbit/s", before_bps / 1e6)))
    }

    /// The trial was for nothing: all are regular again, and the next one comes later.
    fn pause(&mut self, now: Nanos) -> Option<(String, String)> {
        self.pause_until = now.saturating_add(self.length());
        self.times = (self.times + 1).min(MOST_DOUBLINGS);
        self.stage = None;
        None
    }

    fn length(&self) -> Nanos {
        Nanos(PAUSE.0 << self.times)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WIFI_BPS: f64 = 10e6;

    /// Looks each second for so long; when the second path was a backup.
    fn backups(drag: &mut Drag, seconds: u64, rates: impl Fn(bool) -> [f64; 2]) -> Vec<u64> {
        let (mut at, mut is_backup) = (vec![], false);
        for s in 0..seconds {
            let [wifi, lte] = rates(is_backup);
            let all = [
                Carrier { name: "wifi".into(), rate_bps: wifi, most_bps: Some(WIFI_BPS), is_regular: true },
                Carrier {
                    name: "lte".into(),
                    rate_bps: lte,
                    most_bps: Some(2.0 * WIFI_BPS),
                    is_regular: !is_backup,
                },
            ];
            let found = drag.observe(Nanos::from_secs(s), &all);
            is_backup = found.is_some_and(|(name, _)| name == "lte");
            if is_backup {
                at.push(s);
            }
        }
        at
    }

    #[test]
    fn a_throttled_path_that_holds_up_the_other_becomes_a_backup_and_is_tried_again() {
        // With it 3 Mbit/s in all, without it 9.5.
        let rates = |without: bool| if without { [9.5e6, 0.0] } else { [2.9e6, 0.1e6] };
        let at = backups(&mut Drag::default(), 200, rates);
        assert_eq!(at[0], 4);
        // 4 s low, 9 s of a trial, a backup for 60 s; regular for 5 s, a trial again, and then for 120 s.
        assert!(at.len() > 180 && at.contains(&70) && !at.contains(&75) && at.contains(&199), "{at:?}");
        let mut drag = Drag::default();
        assert!(backups(&mut drag, 30, rates).contains(&20));
        assert!(
            matches!(drag.stage, Some(Stage::Found { ref reason, .. }) if reason.contains("3.0 Mbit/s in all"))
        );
    }

    #[test]
    fn an_application_with_little_to_send_costs_a_trial_now_and_then() {
        // 2 Mbit/s, whoever carries them.
        let rates = |without: bool| if without { [2e6, 0.0] } else { [1.5e6, 0.5e6] };
        let at = backups(&mut Drag::default(), 3600, rates);
        // Trials of 9 s at 0, 60, 120, 240, 480, 960 … 1920 s and later.
        assert!((5 * 9..=8 * 10).contains(&at.len()), "{}", at.len());
    }

    #[test]
    fn paths_that_are_well_used_are_left_alone() {
        assert_eq!(backups(&mut Drag::default(), 600, |_| [7.5e6, 1e6]), [0; 0]);
        assert_eq!(backups(&mut Drag::default(), 600, |_| [0.0, 0.0]), [0; 0]);
    }
}
