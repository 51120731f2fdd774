//! Which endpoints the machine should have: configuration and snapshot in, endpoints and reasons
//! out. Pure.
//!
//! ```text
//!   interface ──► may it be used at all?  ──► restrained or in trouble? ──► its place in the order
//!                 (`standing`)                                                    │
//!   intent, frugal / overflow / first ──► roles that are wanted ◄─────────────────┘
//!                                              │
//!   hold: not too often; upgrades first ───────┴──► roles that are in force ──► endpoints, limits
//! ```
//! | module | what |
//! |---|---|
//! | `decision` | roles, endpoints, reasons: what comes out |
//! | `standing` | whether an interface may be used, and what speaks against it |
//! | `eligible` | an interface that may be used |
//! | `want`, `plan` | the role of each interface if no change had to wait |
//! | `frugal` | the cheapest sufficient paths |
//! | `overflow` | how many paths are full |
//! | `slow`, `usual` | paths that have become slow |
//! | `handover` | the budget of other paths under `handover` |
//! | `places` | which addresses get one of the kernel's few endpoint entries |
//! | `trouble` | paths whose subflows get no answer |
//! | `silence` | paths over which nothing arrives |
//! | `renewal` | when to reopen lost subflows |
//! | `tolerance` | traffic that may wait for its path |
//! | `settled` | the signal of a path, without its noise |
//! | `hold` | how often a role may change |
//! | `memory` | the memory of an interface |
//! | `lately`, `mean` | decaying counts, durations, means |

mod decision;
mod eligible;
mod frugal;
mod handover;
mod hold;
mod lately;
mod mean;
mod memory;
mod overflow;
mod places;
mod plan;
mod renewal;
mod settled;
mod silence;
mod slow;
mod standing;
#[cfg(test)]
mod tests;
mod tolerance;
mod trouble;
mod usual;
mod want;

use std::collections::{BTreeMap, BTreeSet};

use joulepath_model::live::{Intent, LiveConfig};
use joulepath_model::units::Nanos;
use serde::{Deserialize, Serialize};

pub use self::decision::{Bound, Closed, Decision, Role, Told, Wanted};
use self::eligible::Eligible;
use self::frugal::Frugal;
pub(crate) use self::frugal::UNTRIED_BPS;
use self::handover::Handover;
pub(crate) use self::lately::Lately;
use self::lately::lasted;
use self::memory::Memory;
use self::overflow::Overflow;
pub(crate) use self::renewal::Renewal;
use self::silence::{BRINGS_BPS, Verdict};
use self::slow::Slow;
use self::standing::BatteryLow;
pub(crate) use self::standing::is_over_hard_quota;
use self::tolerance::Tolerance;
use self::want::{Plan, Want};
use crate::reason::Reason;
use crate::snapshot::{Families, Interface, Snapshot};

/// A new regular path must exist this long before an old one goes: its subflows need their
/// handshakes.
const OVERLAP: Nanos = Nanos::from_secs(3);
/// The same if the old path only replaces the new one, which was lost.
const BRIEF_OVERLAP: Nanos = Nanos::from_secs(1);
/// Time for connections on a forbidden interface to find another path before their last subflow is
/// closed.
pub(crate) const CLOSE_AFTER: Nanos = Nanos::from_secs(5);
/// Poll interval while a path is watched.
const WATCH_EVERY: Nanos = Nanos::from_secs(1);
/// Poll interval while connections are about to get another path.
const WAIT_EVERY: Nanos = Nanos::from_millis(300);
/// How long an absent interface is remembered.
const FORGET: Nanos = Nanos::from_secs(86_400);

/// The decider and its memory.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decider {
    memory: BTreeMap<String, Memory>,
    frugal: Frugal,
    overflow: Overflow,
    slow: Slow,
    handover: Handover,
    tolerance: Tolerance,
    /// The paths that were to carry data at the last poll.
    meant: BTreeSet<String>,
    battery: BatteryLow,
}

impl Decider {
    /// Resets conclusions that depend on the configuration, and keeps observations.
    pub fn reconfigured(&mut self) {
        self.frugal.forget();
        self.overflow = Overflow::default();
        self.slow = Slow::default();
        self.handover = Handover::default();
        self.tolerance = Tolerance::default();
    }

    /// Decides. `overrides` take precedence over the configuration.
    pub fn decide(
        &mut self,
        config: &LiveConfig,
        overrides: &Overrides,
        snapshot: &Snapshot,
    ) -> Decision {
        let now = snapshot.now;
        self.memory
            .retain(|_, memory| now.saturating_sub(memory.seen) < FORGET);
        let intent = self.machine_intent(config, overrides, snapshot);
        if intent == Intent::Off {
            return self.off(config, overrides, snapshot);
        }
        let backups = self.names_of(Role::Backup);
        // Without connections, silence is normal.
        let is_idle = snapshot.families == Families::default();
        let mut eligible = vec![];
        let mut refused = vec![];
        // Interfaces whose initial subflows are closed.
        let mut closed = BTreeSet::new();
        let mut look_again = vec![];
        for interface in &snapshot.interfaces {
            let own = overrides.of(config, &interface.name);
            let memory = self.memory.entry(interface.name.clone()).or_default();
            memory.seen = now;
            memory
                .settled
                .observe(now, interface.strength.map(|strength| strength.dbm));
            let was_given_up = memory.trouble.was_given_up();
            let brings = |other: &&Interface| {
                // If both are regular, this path may be silent because it waits for the other.
                let stands_in = backups.contains(&other.name) || was_given_up;
                other.name != interface.name && stands_in && other.rate_bps >= BRINGS_BPS
            };
            let verdict = match interface.mute || memory.trouble.is_given_up(now) {
                _ if is_idle => memory.silence.idle(),
                true => memory.silence.start_anew(),
                false => {
                    let others_bring = snapshot.interfaces.iter().any(|other| brings(&other));
                    memory.silence.observe(now, interface.silent, others_bring)
                }
            };
            let (watched, dead) = match verdict {
                Verdict::Calm(until) => {
                    look_again.extend(until);
                    (None, false)
                }
                Verdict::Watched(silent) => {
                    look_again.push(now.saturating_add(WATCH_EVERY));
                    (Some(silent), false)
                }
                Verdict::Dead => (None, true),
            };
            let interrupted = interface.interrupted && intent == Intent::Uninterrupted;
            if interrupted {
                memory.trouble.give_up(now);
            }
            let trouble = memory.trouble.observe(now, interface.stalled || dead);
            // How long such a path is avoided is decided where it is found.
            let trouble = if interface.mute || interrupted {
                Some(Nanos::MAX)
            } else {
                trouble
            };
            let over = standing::is_over_hard_quota(config, interface) && interface.subflows > 0;
            memory.note_missing(interface.missing > 0, now);
            let waited = lasted(&mut memory.forbidden_since, over, now, CLOSE_AFTER);
            if over && (waited || interface.sole == 0) {
                closed.insert(interface.index);
                // A connection that starts here before the next poll gets its time, too.
                memory.forbidden_since = None;
            }
            match standing::of(
                config,
                own,
                interface,
                snapshot.battery,
                &mut memory.battery,
                trouble,
            ) {
                Ok(standing) => {
                    eligible.push(Eligible {
                        interface,
                        standing,
                        intent: own.unwrap_or(intent),
                        watched,
                    });
                }
                Err(reason) => refused.push((interface, own.unwrap_or(intent), reason)),
            }
        }
        eligible.sort_by_key(|one| one.place(config, intent));
        let (plan, again) = self.plan(config, intent, &eligible, now);
        look_again.extend(again);
        if self.slow.is_waiting() {
            look_again.push(now.saturating_add(WAIT_EVERY));
        } else if self.slow.is_watched(now) {
            look_again.push(now.saturating_add(WATCH_EVERY));
        }
        let waits = self.apply(&eligible, &refused, &plan, now);
        let mut renewed = self.renew(&eligible, now);
        renewed.extend(self.leave(&eligible, &plan));
        let left = eligible.iter().filter(|one| one.is_left(&plan));
        closed.extend(left.map(|one| one.interface.index));
        let mut decision = self.told(config, (intent, snapshot), &eligible, refused, &plan, waits);
        decision.lists_next = self.slow.is_waiting();
        for endpoint in decision.endpoints.iter_mut().flatten() {
            endpoint.renew = renewed.contains(&endpoint.interface);
        }
        decision.closed = snapshot
            .interfaces
            .iter()
            .filter(|one| closed.contains(&one.index))
            .flat_map(|one| decision.closes_all(one))
            .collect();
        decision.budget = self.budget(&eligible);
        decision.look_again = look_again.into_iter().chain(decision.look_again).min();
        decision
    }

    /// What remains of the budget of `handover`. 0 while connections without another path keep an
    /// interface open: they wait for the first path.
    fn budget(&self, eligible: &[Eligible]) -> Option<Bound> {
        let mut left = self.handover.left.clone()?;
        if left.left_bytes == 0 {
            let open = |index: &u32| {
                let one = eligible.iter().find(|one| one.interface.index == *index);
                one.is_some_and(|one| self.memory[&one.interface.name].role != Role::Unused)
            };
            left.interfaces.retain(open);
        }
        (!left.interfaces.is_empty()).then_some(left)
    }

    /// The machine's intent: `frugal` on a weak battery, if configured.
    fn machine_intent(
        &mut self,
        config: &LiveConfig,
        overrides: &Overrides,
        snapshot: &Snapshot,
    ) -> Intent {
        let intent = overrides.machine.unwrap_or(config.intent);
        let is_low = self.battery.observe(config.battery_below, snapshot.battery);
        if is_low && intent != Intent::Off {
            Intent::Frugal
        } else {
            intent
        }
    }

    /// The decision to restore everything.
    fn off(&mut self, config: &LiveConfig, overrides: &Overrides, snapshot: &Snapshot) -> Decision {
        for memory in self.memory.values_mut() {
            memory.role = Role::Unused;
        }
        let told = |interface: &Interface| Told {
            name: interface.name.clone(),
            intent: overrides.of(config, &interface.name).unwrap_or(Intent::Off),
            role: Role::Unused,
            wanted: Role::Unused,
            reason: Reason::MachineOff,
            notes: vec![],
            allowed: standing::is_allowed(config, interface),
        };
        Decision {
            endpoints: None,
            waiting: vec![],
            closed: vec![],
            lists_next: false,
            budget: None,
            interfaces: snapshot.interfaces.iter().map(told).collect(),
            intent: Some(Intent::Off),
            controller: None,
            look_again: None,
        }
    }

    /// Changes roles that may change now. Returns the interfaces that wait, and until when.
    fn apply(
        &mut self,
        eligible: &[Eligible],
        refused: &[(&Interface, Intent, Reason)],
        plan: &Plan,
        now: Nanos,
    ) -> BTreeMap<String, Nanos> {
        let present: BTreeSet<&str> = eligible
            .iter()
            .map(|one| one.interface.name.as_str())
            .collect();
        for (name, memory) in &mut self.memory {
            if !present.contains(name.as_str()) && memory.role != Role::Unused {
                // Its return counts as a change, not its loss.
                memory.lose(now);
            }
        }
        debug_assert!(
            refused
                .iter()
                .all(|(one, ..)| self.memory[&one.name].role == Role::Unused)
        );
        for one in eligible
            .iter()
            .filter(|one| plan[&one.interface.name].forced)
        {
            let memory = self
                .memory
                .get_mut(&one.interface.name)
                .expect("noted above");
            let next = plan[&one.interface.name].role.max(one.lowest_by_force());
            if next < memory.role {
                memory.becomes(next, now);
            }
        }
        let mut waits = BTreeMap::new();
        // Upgrades come before downgrades, preferred interfaces first.
        for one in eligible {
            let (name, want) = (&one.interface.name, &plan[&one.interface.name]);
            let alone =
                want.role == Role::Regular && !self.some_other_carries(name, eligible, None);
            let memory = self.memory.get_mut(name).expect("noted above");
            if want.role > memory.role {
                let until = match () {
                    () if want.exempt => Nanos::ZERO,
                    () if alone || memory.was_lost_briefly(now) => memory.hold.until_forced(now),
                    () => memory.hold.until(now, want.urgent),
                };
                if now < until {
                    waits.insert(name.clone(), until);
                } else if want.exempt {
                    memory.becomes_exempt(want.role, now);
                } else if alone || memory.was_lost_briefly(now) {
                    memory.force(want.role, now);
                } else {
                    memory.becomes(want.role, now);
                }
            }
        }
        for one in eligible.iter().rev() {
            let (name, want) = (&one.interface.name, &plan[&one.interface.name]);
            // The path that slows the others down may be the reason why nothing arrives over them.
            let overlap = if self.memory[name].stands_in {
                BRIEF_OVERLAP
            } else {
                OVERLAP
            };
            let since = (!want.afresh).then(|| now.saturating_sub(overlap));
            let is_replaced = self.some_other_carries(name, eligible, since);
            let memory = self.memory.get_mut(name).expect("noted above");
            if want.role < memory.role {
                let is_exempt = want.exempt || memory.stands_in;
                let until = if is_exempt {
                    Nanos::ZERO
                } else {
                    memory.hold.until(now, false)
                };
                let next = want.role.max(one.lowest()).min(memory.role);
                if !is_replaced {
                    waits.insert(name.clone(), now.saturating_add(overlap));
                } else if now < until {
                    waits.insert(name.clone(), until);
                } else if next < memory.role {
                    match is_exempt {
                        true => memory.becomes_exempt(next, now),
                        false => memory.becomes(next, now),
                    }
                }
            }
        }
        waits
    }

    fn names_of(&self, role: Role) -> BTreeSet<String> {
        let all = self.memory.iter().filter(|(_, memory)| memory.role == role);
        all.map(|(name, _)| name.clone()).collect()
    }

    /// Indexes of interfaces to leave: no connection needs their subflows, which are closed and
    /// reopened as backups.
    fn leave(&mut self, eligible: &[Eligible], plan: &Plan) -> Vec<u32> {
        let mut left = vec![];
        for one in eligible
            .iter()
            .filter(|one| plan[&one.interface.name].afresh)
        {
            let memory = self
                .memory
                .get_mut(&one.interface.name)
                .expect("noted above");
            if memory.role == Role::Backup && !memory.is_left && one.interface.sole == 0 {
                memory.is_left = true;
                left.push(one.interface.index);
            }
        }
        left
    }

    /// Indexes of interfaces whose lost subflows are reopened now.
    fn renew(&mut self, eligible: &[Eligible], now: Nanos) -> BTreeSet<u32> {
        let mut renewed = BTreeSet::new();
        for one in eligible {
            let memory = self
                .memory
                .get_mut(&one.interface.name)
                .expect("noted above");
            let has_lost = one.interface.lost > 0 && one.interface.healthy == 0;
            let is_used = memory.role != Role::Unused && memory.has_lasted(OVERLAP, now);
            let may = is_used && one.standing.trouble.is_none();
            if has_lost && may && now >= memory.renewal.due(now) {
                memory.renewal.tried(now);
                renewed.insert(one.interface.index);
            }
        }
        renewed
    }

    /// True if another interface carries data without trouble, and has since `since`.
    fn some_other_carries(&self, name: &str, eligible: &[Eligible], since: Option<Nanos>) -> bool {
        eligible
            .iter()
            .filter(|one| one.interface.name != name && one.standing.trouble.is_none())
            .any(|one| {
                let memory = &self.memory[&one.interface.name];
                // A path that has been silent since its failure may still be dead.
                let is_silent = one.interface.silent.is_some() && !memory.was_lost_lately();
                let brings = since.is_none() || !is_silent;
                let lasts = since.is_none_or(|since| memory.is_as_it_was(since));
                memory.role == Role::Regular && lasts && brings
            })
    }

    /// Why subflows do not open here.
    fn missing(&self, one: &Eligible) -> Option<Reason> {
        let Interface {
            missing, refused, ..
        } = *one.interface;
        match refused {
            0 if self.memory[&one.interface.name].misses => Some(Reason::Unanswered {
                connections: missing,
            }),
            0 => None,
            refused => Some(Reason::Refused {
                connections: refused,
            }),
        }
    }

    fn told(
        &self,
        config: &LiveConfig,
        (intent, snapshot): (Intent, &Snapshot),
        eligible: &[Eligible],
        refused: Vec<(&Interface, Intent, Reason)>,
        plan: &Plan,
        waits: BTreeMap<String, Nanos>,
    ) -> Decision {
        let mut interfaces = vec![];
        let mut endpoints = vec![];
        for one in eligible {
            let name = &one.interface.name;
            let role = self.memory[name].role;
            let Want {
                role: wanted,
                reason,
                ..
            } = plan[name].clone();
            let mut notes = vec![];
            if wanted != role && waits.contains_key(name) {
                notes.push(Reason::Waits);
            } else if role != Role::Unused && one.interface.lost > one.interface.refused {
                notes.push(Reason::Lost {
                    connections: one.interface.lost,
                });
            } else if wanted != role && one.interface.sole > 0 {
                notes.push(Reason::StillNeeded {
                    connections: one.interface.sole,
                });
            }
            if role != Role::Unused {
                notes.extend(self.missing(one));
                endpoints.extend(one.endpoints(config, role));
            }
            let (name, intent) = (name.clone(), one.intent);
            interfaces.push(Told {
                name,
                intent,
                role,
                wanted,
                reason,
                notes,
                allowed: true,
            });
        }
        let most = places::number(snapshot);
        let (endpoints, left) = places::give(endpoints, most, snapshot.families);
        for one in eligible {
            let told = interfaces
                .iter_mut()
                .find(|told: &&mut Told| told.name == one.interface.name);
            let told = told.expect("each was told above");
            if told.role != Role::Unused {
                places::tell(one.interface, &endpoints, (&left, most), told);
            }
        }
        interfaces.extend(refused.into_iter().map(|(interface, intent, reason)| Told {
            name: interface.name.clone(),
            intent,
            role: Role::Unused,
            wanted: Role::Unused,
            reason,
            notes: vec![],
            allowed: standing::is_allowed(config, interface),
        }));
        let look_again = waits.into_values().min();
        let held_back = eligible
            .iter()
            .filter(|one| plan[&one.interface.name].held_back);
        Decision {
            endpoints: Some(endpoints),
            waiting: held_back
                .flat_map(|one| one.endpoints(config, Role::Regular))
                .collect(),
            closed: vec![],
            lists_next: false,
            budget: None,
            interfaces,
            intent: Some(intent),
            controller: config.controllers.get(&intent).cloned(),
            look_again,
        }
    }
}

/// Intents set while the daemon runs; they override the configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overrides {
    /// Intent of the machine.
    pub machine: Option<Intent>,
    /// By interface name.
    pub interfaces: BTreeMap<String, Intent>,
}

impl Overrides {
    /// The intent of an interface, if it has its own.
    pub fn of(&self, config: &LiveConfig, name: &str) -> Option<Intent> {
        self.interfaces
            .get(name)
            .copied()
            .or_else(|| config.interface(name)?.intent)
    }
}
