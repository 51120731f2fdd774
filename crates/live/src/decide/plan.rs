//! The role of each interface if no change had to wait.

use std::collections::BTreeSet;

use joulepath_model::live::{Intent, LiveConfig};
use joulepath_model::units::Nanos;

use super::Decider;
use super::decision::Role;
use super::eligible::Eligible;
use super::frugal::{Candidate, Choice};
use super::overflow::Filled;
use super::slow::{self, Held, Revert};
use super::want::{Plan, Want};
use crate::reason::{Other, Reason};

/// A slow path is worth keeping from this fraction of the other paths' rate.
const WORTH: f64 = 0.1;

impl Decider {
    /// The role of each interface if no change had to wait, and when to poll again for it.
    pub(super) fn plan(
        &mut self,
        config: &LiveConfig,
        intent: Intent,
        eligible: &[Eligible],
        now: Nanos,
    ) -> (Plan, Option<Nanos>) {
        let held = self
            .slow
            .observe(now, &self.slow_paths(config, intent, eligible));
        let is_held = |one: &&Eligible| {
            held.as_ref()
                .is_some_and(|held| held.name == one.interface.name)
        };
        let rest: Vec<&Eligible> = eligible.iter().filter(|one| !is_held(one)).collect();
        let Some(first) = rest.first() else {
            return (Plan::new(), None);
        };
        let rank = |one: &Eligible| (one.standing.rank(), one.is_outsider(intent));
        let mut candidates: Vec<&Eligible> = rest
            .iter()
            .copied()
            .filter(|one| rank(one) == rank(first))
            .collect();
        if intent == Intent::Overflow
            && held
                .as_ref()
                .and_then(|held| held.part)
                .is_some_and(|p| p >= WORTH)
        {
            candidates.extend(eligible.iter().filter(is_held));
        }
        let chosen = self.chosen(config, intent, &candidates, eligible, now);
        let mut plan = Plan::new();
        for one in eligible {
            let name = &one.interface.name;
            let wanted = match chosen.paths.contains(name) {
                true => Want::new(Role::Regular, chosen.reason.clone()),
                false => self.not_chosen(one, intent),
            };
            plan.insert(name.clone(), wanted);
        }
        if let Some(Held { name, reason, .. }) =
            held.filter(|held| !chosen.paths.contains(&held.name))
        {
            for want in plan.values_mut().filter(|want| want.role == Role::Regular) {
                want.exempt = true;
                want.reason = Reason::StandsIn {
                    because: Box::new(reason.clone()),
                };
            }
            plan.insert(
                name,
                Want {
                    afresh: true,
                    exempt: true,
                    ..Want::new(Role::Backup, reason)
                },
            );
        } else if let Some(revert) = self.slow.reverts(now) {
            for want in plan.values_mut() {
                want.exempt = true;
                want.afresh = revert == Revert::AtOnce && want.role != Role::Regular;
            }
        }
        if intent == Intent::Uninterrupted {
            leave_interrupted(eligible, &mut plan);
        }
        // Before the budget, which also bounds a path that opens for this.
        open_beside_watched(eligible, &mut plan);
        let again = self
            .handover
            .bound(config, intent, eligible, &self.memory, &mut plan, now);
        let waits =
            self.tolerance
                .hold_back(config, intent, eligible, &self.memory, &mut plan, now);
        let again = again.into_iter().chain(waits).min();
        let regular = plan.iter().filter(|(_, want)| want.role == Role::Regular);
        self.meant = regular.map(|(name, _)| name.clone()).collect();
        (plan, again)
    }

    /// The paths as input of `slow`.
    fn slow_paths(
        &self,
        config: &LiveConfig,
        intent: Intent,
        eligible: &[Eligible],
    ) -> Vec<slow::Path> {
        let is_spent = self.handover.is_spent(config);
        let path = |one: &Eligible| {
            let memory = &self.memory[&one.interface.name];
            let is_regular = memory.role == Role::Regular;
            // A path that stays only until another has taken over must not be judged.
            let is_meant = self.meant.contains(&one.interface.name);
            slow::Path {
                name: one.interface.name.clone(),
                rate_bps: one.interface.rate_bps,
                most_bps: one.interface.capacity_bps,
                is_regular: is_regular && is_meant,
                // Traffic that may wait may also be slow.
                may_stand_in: one.standing.may_stand_in()
                    && !(is_spent && one.intent == Intent::Handover)
                    && !(intent.may_wait() && config.tolerance.is_some()),
                is_open: one.interface.subflows > 0,
                is_left: !is_regular && (memory.is_left || memory.role == Role::Unused),
                low: low(intent, one.standing.is_metered()),
            }
        };
        eligible.iter().map(path).collect()
    }

    /// The candidates that carry data.
    fn chosen(
        &mut self,
        config: &LiveConfig,
        intent: Intent,
        candidates: &[&Eligible],
        all: &[Eligible],
        now: Nanos,
    ) -> Choice {
        let names = |count: usize| -> BTreeSet<String> {
            candidates[..count]
                .iter()
                .map(|one| one.interface.name.clone())
                .collect()
        };
        let count = candidates.len();
        let why_alone = why_alone(candidates, all);
        match intent {
            Intent::Frugal | Intent::Balanced | Intent::Fast => {
                let preset = intent
                    .preset()
                    .expect("each of these intents has a balance");
                let candidate = |one: &&Eligible| {
                    let known = config.interface(&one.interface.name);
                    let configured = known
                        .and_then(|known| known.rate)
                        .map(|rate| rate.bps() as f64);
                    Candidate {
                        name: one.interface.name.clone(),
                        rate_bps: configured.or_else(|| one.known_bps()),
                        rtt: one.known_rtt(),
                        energy: known.and_then(|known| Some(known.energy.as_ref()?.model.clone())),
                        radio: known
                            .and_then(|known| known.energy.as_ref()?.radio())
                            .zip(self.memory[&one.interface.name].settled.dbm()),
                    }
                };
                let candidates: Vec<Candidate> = candidates.iter().map(candidate).collect();
                let choice = self.frugal.choose(config, preset, &candidates);
                Choice {
                    reason: why_alone.unwrap_or(choice.reason),
                    ..choice
                }
            }
            Intent::Aggregate => {
                let reason = Reason::Aggregate {
                    used: count,
                    paths: all.len(),
                };
                Choice {
                    paths: names(count),
                    reason: why_alone.unwrap_or(reason),
                }
            }
            Intent::Overflow => {
                let filled: Vec<Filled> = candidates.iter().map(|one| one.filled(config)).collect();
                let used = self.overflow.paths(now, &filled);
                let rate_bps = filled.iter().map(|path| path.rate_bps).sum();
                let reason = Reason::Overflow {
                    used,
                    paths: count,
                    rate_bps,
                };
                Choice {
                    paths: names(used),
                    reason: why_alone.unwrap_or(reason),
                }
            }
            Intent::Handover | Intent::Interactive | Intent::Uninterrupted | Intent::Off => {
                let reason = Reason::Cheapest { paths: count };
                Choice {
                    paths: names(1),
                    reason: why_alone.unwrap_or(reason),
                }
            }
        }
    }

    /// The role of an interface that was not chosen.
    fn not_chosen(&self, one: &Eligible, machine: Intent) -> Want {
        let standing = &one.standing;
        let role_now = self
            .memory
            .get(&one.interface.name)
            .map_or(Role::Unused, |memory| memory.role);
        if standing.trouble.is_some() && role_now != Role::Unused {
            let reason = Reason::Recovering {
                because: standing.against(),
            };
            // `trouble` limits how often that happens.
            return Want {
                exempt: true,
                ..Want::new(Role::Backup, reason)
            };
        }
        let is_meant = one.intent != machine;
        match one.intent {
            Intent::Aggregate
                if standing.is_clear() || (is_meant && standing.is_metered_only()) =>
            {
                Want::new(Role::Regular, Reason::InterfaceAggregate)
            }
            Intent::Aggregate | Intent::Interactive | Intent::Overflow | Intent::Uninterrupted => {
                Want::new(
                    Role::Backup,
                    Reason::OpenBackup {
                        because: standing.against(),
                    },
                )
            }
            Intent::Frugal | Intent::Balanced | Intent::Fast | Intent::Handover | Intent::Off => {
                Want::new(
                    Role::Unused,
                    Reason::NotNeeded {
                        because: standing.against(),
                    },
                )
            }
        }
    }
}

/// The next path is tried if less than this fraction of the usual rate is carried. Sleeping radios
/// cost energy and metered paths cost money, so both are tried later.
fn low(intent: Intent, is_metered: bool) -> f64 {
    match intent {
        Intent::Interactive | Intent::Uninterrupted => 0.7,
        _ if is_metered => 0.1,
        Intent::Frugal | Intent::Balanced | Intent::Handover => 0.5,
        Intent::Fast | Intent::Aggregate | Intent::Overflow | Intent::Off => 0.7,
    }
}

/// Why there is only one candidate; `None` if there are several.
fn why_alone(candidates: &[&Eligible], all: &[Eligible]) -> Option<Reason> {
    let [one] = candidates else { return None };
    let others = all
        .iter()
        .filter(|other| other.interface.name != one.interface.name);
    let other = |one: &Eligible| Other {
        path: one.interface.name.clone(),
        because: one.standing.against(),
    };
    let others: Vec<Other> = others.map(other).collect();
    Some(if others.is_empty() {
        Reason::OnlyPath
    } else {
        Reason::FirstPath { others }
    })
}

/// Data on a path that delivers nothing moves to the others at once.
fn leave_interrupted(eligible: &[Eligible], plan: &mut Plan) {
    let is_left = |one: &&Eligible| {
        one.interface.interrupted && plan[&one.interface.name].role != Role::Regular
    };
    let left: Vec<String> = eligible
        .iter()
        .filter(is_left)
        .map(|one| one.interface.name.clone())
        .collect();
    if left.is_empty() {
        return;
    }
    for (name, want) in plan {
        // Trouble limits how often that happens.
        want.exempt = true;
        want.afresh |= left.contains(name);
    }
}

/// If a chosen path is silent, the next path opens as a backup: a sender that gets no answers moves
/// to it.
fn open_beside_watched(eligible: &[Eligible], plan: &mut Plan) {
    let is_watched =
        |one: &&Eligible| one.watched.is_some() && plan[&one.interface.name].role == Role::Regular;
    let Some((name, silent)) = eligible
        .iter()
        .find(is_watched)
        .and_then(|one| Some((one.interface.name.clone(), one.watched?)))
    else {
        return;
    };
    let next = eligible.iter().find(|one| {
        let want = &plan[&one.interface.name];
        want.role == Role::Unused && !want.forced
    });
    if let Some(next) = next {
        let reason = Reason::Silent {
            path: name,
            silent_s: silent.as_secs_f64(),
        };
        plan.insert(
            next.interface.name.clone(),
            Want {
                urgent: true,
                ..Want::new(Role::Backup, reason)
            },
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sleeping_and_metered_paths_are_tried_at_lower_rates() {
        for (intent, fractions) in [
            (Intent::Interactive, [0.7, 0.7]),
            (Intent::Frugal, [0.5, 0.1]),
            (Intent::Balanced, [0.5, 0.1]),
            (Intent::Fast, [0.7, 0.1]),
            (Intent::Handover, [0.5, 0.1]),
            (Intent::Aggregate, [0.7, 0.1]),
            (Intent::Overflow, [0.7, 0.1]),
            (Intent::Uninterrupted, [0.7, 0.7]),
        ] {
            assert_eq!(
                [false, true].map(|is_metered| low(intent, is_metered)),
                fractions,
                "{intent:?}"
            );
        }
    }
}
