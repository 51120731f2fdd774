//! The budget of other paths under `handover`, while the first path exists.
//!
//! ```text
//!   another path has a role ──► event: all bytes of other paths count ── budget ──► only the first path
//!                                   │
//!                    CALM of data over the first path alone, without trouble ──► over
//! ```
//! Bytes that other paths carry while the first path is gone do not count: no other path could
//! carry them.

use std::collections::BTreeMap;

use joulepath_model::live::{Intent, LiveConfig};
use joulepath_model::units::Nanos;

use super::decision::{Bound, Role};
use super::eligible::Eligible;
use super::memory::Memory;
use super::silence::BRINGS_BPS;
use super::want::{Plan, Want};
use crate::reason::Reason;

/// Time of data over the first path without trouble, after which the event is over.
const CALM: Nanos = Nanos::from_secs(60);
/// Longest time between two polls that is counted.
const LONGEST_LOOK: Nanos = Nanos::from_secs(5);
/// Rate assumed for a path of unknown rate, bit/s.
const UNKNOWN_BPS: f64 = 10e6;

/// An event: other paths carry data in place of the first.
#[derive(Clone, Debug, PartialEq)]
struct Event {
    first: String,
    /// Why another path carries data.
    why: Option<Reason>,
    used_bytes: u64,
    /// For how long the first path has carried data without trouble.
    calm: Nanos,
    looked: Nanos,
}

/// The present event, and the bytes of each path at the last poll.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Handover {
    event: Option<Event>,
    carried: BTreeMap<String, u64>,
    /// What remains of the budget, while other paths may use it.
    pub(super) left: Option<Bound>,
}

impl Handover {
    /// True if the budget of the present event is used up.
    pub(super) fn is_spent(&self, config: &LiveConfig) -> bool {
        self.event
            .as_ref()
            .is_some_and(|event| event.used_bytes >= config.handover_budget.0)
    }

    /// Takes in a poll and limits the wanted roles of other paths. Returns when to poll again so
    /// that the budget is hardly exceeded.
    pub(super) fn bound(
        &mut self,
        config: &LiveConfig,
        machine: Intent,
        eligible: &[Eligible],
        memory: &BTreeMap<String, Memory>,
        plan: &mut Plan,
        now: Nanos,
    ) -> Option<Nanos> {
        let passed = self.passed(eligible);
        self.left = None;
        let first = eligible
            .iter()
            .min_by_key(|one| one.place_at_best(config, machine))?;
        let name = &first.interface.name;
        let others: Vec<&Eligible> = eligible
            .iter()
            .filter(|one| one.interface.name != *name && one.intent == Intent::Handover)
            .collect();
        let role = |one: &Eligible| memory[&one.interface.name].role;
        let is_open = |one: &&Eligible| {
            role(one) != Role::Unused || plan[&one.interface.name].role != Role::Unused
        };
        let is_one_open = others.iter().any(is_open);
        if self
            .event
            .as_ref()
            .is_some_and(|event| event.first != *name)
            && !is_one_open
        {
            // The first path is gone. The event resumes when it returns.
            return None;
        }
        // Paths that another intent has opened close without an event.
        let is_one_wanted = others
            .iter()
            .any(|one| plan[&one.interface.name].role != Role::Unused);
        if first.intent != Intent::Handover || (self.event.is_none() && !is_one_wanted) {
            self.event = None;
            return None;
        }
        let event = self.event.take().filter(|event| event.first == *name);
        let mut event = event.unwrap_or_else(|| Event {
            first: name.clone(),
            why: None,
            used_bytes: 0,
            calm: Nanos::ZERO,
            looked: now,
        });
        event.used_bytes += others
            .iter()
            .map(|one| passed[&one.interface.name])
            .sum::<u64>();
        if plan[name].role != Role::Regular {
            event.why = Some(plan[name].reason.clone());
        }
        let is_well = first.standing.trouble.is_none() && first.watched.is_none();
        event.calm = match is_well && !is_one_open && role(first) == Role::Regular {
            true if first.interface.rate_bps >= BRINGS_BPS => event
                .calm
                .saturating_add(now.saturating_sub(event.looked).min(LONGEST_LOOK)),
            true => event.calm,
            false => Nanos::ZERO,
        };
        event.looked = now;
        let under_way: u64 = others.iter().map(|one| one.interface.under_way).sum();
        if event.used_bytes.saturating_add(under_way) >= config.handover_budget.0 {
            event.used_bytes = event.used_bytes.max(config.handover_budget.0);
        }
        let left = config.handover_budget.0.saturating_sub(event.used_bytes);
        let (used_bytes, budget_bytes) = (event.used_bytes, config.handover_budget.0);
        let is_over = event.calm >= CALM;
        if left == 0 && !is_over {
            confine(
                first,
                &others,
                plan,
                (used_bytes, budget_bytes),
                event.why.as_ref(),
            );
            self.event = Some(event);
            if !is_well {
                let interfaces = others.iter().map(|one| one.interface.index).collect();
                self.left = Some(Bound {
                    interfaces,
                    left_bytes: 0,
                });
            }
            return None;
        }
        self.event = (!is_over).then_some(event);
        let open: Vec<&Eligible> = others.into_iter().filter(is_open).collect();
        if !open.is_empty() {
            let interfaces = open.iter().map(|one| one.interface.index).collect();
            self.left = Some(Bound {
                interfaces,
                left_bytes: left,
            });
        }
        for one in &open {
            let want = plan.get_mut(&one.interface.name).expect("each has a plan");
            if want.role == Role::Regular {
                let because = Box::new(want.reason.clone());
                want.reason = Reason::Handover {
                    first: name.clone(),
                    used_bytes,
                    budget_bytes,
                    because,
                };
            }
        }
        let most_bps = |one: &&Eligible| one.interface.capacity_bps.unwrap_or(UNKNOWN_BPS);
        let bps: f64 = open.iter().map(most_bps).sum();
        (bps > 0.0).then(|| now.saturating_add(Nanos((left as f64 * 8e9 / bps) as u64)))
    }

    /// Bytes carried by each path since the last poll.
    fn passed(&mut self, eligible: &[Eligible]) -> BTreeMap<String, u64> {
        let mut passed = BTreeMap::new();
        for one in eligible {
            let (name, bytes) = (&one.interface.name, one.interface.carried_bytes);
            let before = self.carried.insert(name.clone(), bytes).unwrap_or(bytes);
            passed.insert(name.clone(), bytes.saturating_sub(before));
        }
        passed
    }
}

/// Plans only the first path. The pair is the used part of the budget and the whole budget, bytes;
/// `why` is the trouble of the first path.
fn confine(
    first: &Eligible,
    others: &[&Eligible],
    plan: &mut Plan,
    (used_bytes, budget_bytes): (u64, u64),
    why: Option<&Reason>,
) {
    for one in others
        .iter()
        .filter(|one| one.interface.name != first.interface.name)
    {
        let reason = Reason::BudgetUsed {
            used_bytes,
            budget_bytes,
        };
        let want = Want {
            forced: true,
            ..Want::new(Role::Unused, reason)
        };
        plan.insert(one.interface.name.clone(), want);
    }
    let because = match first.standing.is_clear() {
        true => why.into_iter().cloned().collect(),
        false => first.standing.against(),
    };
    let reason = Reason::NoStandIn {
        used_bytes,
        budget_bytes,
        because,
    };
    let want = Want {
        exempt: true,
        ..Want::new(Role::Regular, reason)
    };
    plan.insert(first.interface.name.clone(), want);
}
