//! What the machine's endpoints should be: configuration and snapshot in, endpoints and reasons out. Nothing
//! is read and nothing is done here.
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
//! | `want`, `plan` | how each interface should be used, if nothing had to wait |
//! | `frugal` | the cheapest sufficient paths |
//! | `overflow` | how many paths are full |
//! | `drag` | paths that slow the others down |
//! | `fade` | paths that have become too slow |
//! | `trouble` | paths whose subflows get no answer |
//! | `silence` | paths that bring nothing any more |
//! | `renewal` | when lost subflows are opened again |
//! | `hold` | how often a role may change |
//! | `memory` | what is remembered of an interface |
//! | `lately`, `mean` | counts that forget, what has lasted; means |

mod decision;
mod drag;
mod eligible;
mod fade;
mod frugal;
mod hold;
mod lately;
mod mean;
mod memory;
mod overflow;
mod plan;
mod renewal;
mod silence;
mod standing;
#[cfg(test)]
mod tests;
mod trouble;
mod want;

use std::collections::{BTreeMap, BTreeSet};

use joulepath_model::live::{Intent, LiveConfig};
use joulepath_model::units::Nanos;
use serde::{Deserialize, Serialize};

pub use self::decision::{Decision, Role, Told, Wanted};
use self::drag::Drag;
use self::eligible::Eligible;
use self::fade::Fade;
use self::frugal::Frugal;
use self::lately::lasted;
use self::memory::Memory;
use self::overflow::Overflow;
pub(crate) use self::renewal::Renewal;
use self::silence::Verdict;
use self::standing::BatteryLow;
pub(crate) use self::standing::is_over_hard_quota;
use self::want::{Plan, Want};
use crate::snapshot::{Interface, Snapshot};

/// Most subflows besides the first one, and most endpoints that are of use (`MPTCP_PM_ADDR_MAX`).
const MOST_ENDPOINTS: usize = 8;
/// A new regular path is there for so long before an old one goes: its subflows need their handshakes.
const OVERLAP: Nanos = Nanos::from_secs(3);
/// Connections on what is forbidden get this long to find another path before their last subflow is closed.
pub(crate) const CLOSE_AFTER: Nanos = Nanos::from_secs(5);
/// A path brings data from this rate on, bit/s.
const BRINGS_BPS: f64 = 20e3;
/// While a path is watched the next look comes after this time.
const WATCH_EVERY: Nanos = Nanos::from_secs(1);
/// An interface that was not seen for a day is forgotten.
const FORGET: Nanos = Nanos::from_secs(86_400);

/// What `handover` lets the second path carry.
#[derive(Clone, Debug, PartialEq)]
struct Event {
    /// The path that stands in.
    stand_in: String,
    /// What it had carried when the event began, bytes.
    from_bytes: u64,
    /// Nothing more may be carried.
    spent: bool,
}

/// What decides, with its memory.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decider {
    memory: BTreeMap<String, Memory>,
    frugal: Frugal,
    overflow: Overflow,
    drag: Drag,
    fade: Fade,
    event: Option<Event>,
    battery: BatteryLow,
}

impl Decider {
    /// The configuration has changed: what was concluded from it is forgotten, what was seen is not.
    pub fn reconfigured(&mut self) {
        self.frugal.forget();
        self.overflow = Overflow::default();
        self.drag = Drag::default();
        self.fade = Fade::default();
        self.event = None;
    }

    /// Decides. `overrides` go before what is configured.
    pub fn decide(&mut self, config: &LiveConfig, overrides: &Overrides, snapshot: &Snapshot) -> Decision {
        let now = snapshot.now;
        self.memory.retain(|_, memory| now.saturating_sub(memory.seen) < FORGET);
        let intent = self.machine_intent(config, overrides, snapshot);
        if intent == Intent::Off {
            return self.off(config, overrides, snapshot);
        }
        let backups = self.names_of(Role::Backup);
        let mut eligible = vec![];
        let mut refused = vec![];
        let mut closed = vec![];
        let mut look_again = vec![];
        for interface in &snapshot.interfaces {
            let own = overrides.of(config, &interface.name);
            let memory = self.memory.entry(interface.name.clone()).or_default();
            memory.seen = now;
            let was_given_up = memory.trouble.was_given_up();
            let brings = |other: &&Interface| {
                // While both are regular, this one may be silent because it waits for the other.
                let stands_in = backups.contains(&other.name) || was_given_up;
                other.name != interface.name && stands_in && other.rate_bps >= BRINGS_BPS
            };
            let verdict = match memory.trouble.is_given_up(now) {
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
            let trouble = memory.trouble.observe(now, interface.stalled || dead);
            let over = standing::is_over_hard_quota(config, interface) && interface.subflows > 0;
            let waited = lasted(&mut memory.forbidden_since, over, now, CLOSE_AFTER);
            if over && (waited || interface.sole == 0) {
                closed.extend(&interface.addresses);
                // A connection that begins here before the next look has its time, too.
                memory.forbidden_since = None;
            }
            match standing::of(config, own, interface, snapshot.battery, &mut memory.battery, trouble) {
                Ok(standing) => {
                    eligible.push(Eligible { interface, standing, intent: own.unwrap_or(intent), watched });
                }
                Err(reason) => refused.push((interface, own.unwrap_or(intent), reason)),
            }
        }
        eligible.sort_by_key(|one| one.place(config, intent));
        let plan = self.plan(config, intent, &eligible, now);
        if self.fade.is_watched() {
            look_again.push(now.saturating_add(WATCH_EVERY));
        }
        let before = self.names_of(Role::Regular);
        let waits = self.apply(&eligible, &refused, &plan, now);
        let fresh = |one: &&Eligible| before.contains(&one.interface.name) && self.is_fresh(one, &plan);
        let fresh: Vec<u32> = eligible.iter().filter(fresh).map(|one| one.interface.index).collect();
        let mut renewed = self.renew(&eligible, now);
        renewed.extend(fresh);
        closed.extend(
            eligible.iter().filter(|one| one.is_left(&plan)).flat_map(|one| &one.interface.addresses),
        );
        let mut decision = self.told(config, intent, &eligible, refused, &plan, waits);
        for endpoint in decision.endpoints.iter_mut().flatten() {
            endpoint.renew = renewed.contains(&endpoint.interface);
        }
        decision.closed = closed;
        decision.look_again = look_again.into_iter().chain(decision.look_again).min();
        decision
    }

    /// The machine's intent: on a weak battery `frugal`, if that is configured.
    fn machine_intent(&mut self, config: &LiveConfig, overrides: &Overrides, snapshot: &Snapshot) -> Intent {
        let intent = overrides.machine.unwrap_or(config.intent);
        let is_low = self.battery.observe(config.battery_below, snapshot.battery);
        if is_low && intent != Intent::Off { Intent::Frugal } else { intent }
    }

    /// Everything is as it was found.
    fn off(&mut self, config: &LiveConfig, overrides: &Overrides, snapshot: &Snapshot) -> Decision {
        for memory in self.memory.values_mut() {
            memory.role = Role::Unused;
        }
        let told = |interface: &Interface| Told {
            name: interface.name.clone(),
            intent: overrides.of(config, &interface.name).unwrap_or(Intent::Off),
            role: Role::Unused,
            wanted: Role::Unused,
            reason: "nothing is touched: the machine's intent is `off`".into(),
            allowed: standing::is_allowed(config, interface),
        };
        Decision {
            endpoints: None,
            closed: vec![],
            interfaces: snapshot.interfaces.iter().map(told).collect(),
            intent: Some(Intent::Off),
            controller: None,
            look_again: None,
        }
    }

    /// Changes roles as far as they may change now; returns who waits, until when.
    fn apply(
        &mut self,
        eligible: &[Eligible],
        refused: &[(&Interface, Intent, String)],
        plan: &Plan,
        now: Nanos,
    ) -> BTreeMap<String, Nanos> {
        let present: BTreeSet<&str> = eligible.iter().map(|one| one.interface.name.as_str()).collect();
        for (name, memory) in &mut self.memory {
            if !present.contains(name.as_str()) && memory.role != Role::Unused {
                memory.becomes(Role::Unused, now);
            }
        }
        debug_assert!(refused.iter().all(|(one, ..)| self.memory[&one.name].role == Role::Unused));
        for one in eligible.iter().filter(|one| plan[&one.interface.name].forced) {
            let memory = self.memory.get_mut(&one.interface.name).expect("noted above");
            let next = plan[&one.interface.name].role.max(one.lowest());
            if next < memory.role {
                memory.becomes(next, now);
            }
        }
        let mut waits = BTreeMap::new();
        // The most preferred first; upgrades before downgrades.
        for one in eligible {
            let name = &one.interface.name;
            let wanted = plan[name].role;
            let alone = wanted == Role::Regular && !self.some_other_carries(name, eligible, None);
            let urgent = alone || plan[name].urgent;
            let memory = self.memory.get_mut(name).expect("noted above");
            if wanted > memory.role {
                let until = memory.hold.until(now, urgent);
                if now >= until {
                    memory.becomes(wanted, now);
                } else {
                    waits.insert(name.clone(), until);
                }
            }
        }
        for one in eligible.iter().rev() {
            let name = &one.interface.name;
            let wanted = plan[name].role;
            // What slows the others down may be the reason why they bring nothing.
            let at = (!plan[name].afresh).then_some(now);
            let is_replaced = self.some_other_carries(name, eligible, at);
            let memory = self.memory.get_mut(name).expect("noted above");
            if wanted < memory.role {
                let until = memory.hold.until(now, false);
                let next = wanted.max(one.lowest()).min(memory.role);
                if !is_replaced {
                    waits.insert(name.clone(), now.saturating_add(OVERLAP));
                } else if now < until {
                    waits.insert(name.clone(), until);
                } else if next < memory.role {
                    memory.becomes(next, now);
                }
            }
        }
        waits
    }

    fn names_of(&self, role: Role) -> BTreeSet<String> {
        let all = self.memory.iter().filter(|(_, memory)| memory.role == role);
        all.map(|(name, _)| name.clone()).collect()
    }

    /// Whether it has become a backup that gets new subflows, and no connection needs the old ones.
    fn is_fresh(&self, one: &Eligible, plan: &Plan) -> bool {
        let Interface { name, sole, .. } = one.interface;
        self.memory[name].role == Role::Backup && plan[name].afresh && *sole == 0
    }

    /// Interfaces, by index, whose lost subflows are opened again now.
    fn renew(&mut self, eligible: &[Eligible], now: Nanos) -> BTreeSet<u32> {
        let mut renewed = BTreeSet::new();
        for one in eligible {
            let memory = self.memory.get_mut(&one.interface.name).expect("noted above");
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

    /// Whether another interface carries data and is not in trouble; for long enough, if asked at an instant.
    fn some_other_carries(&self, name: &str, eligible: &[Eligible], at: Option<Nanos>) -> bool {
        eligible.iter().filter(|one| one.interface.name != name && one.standing.trouble.is_none()).any(
            |one| {
                let memory = &self.memory[&one.interface.name];
                // What has brought nothing since it failed may still be dead.
                let brings = at.is_none() || one.interface.silent.is_none();
                let lasts = at.is_none_or(|now| memory.has_lasted(OVERLAP, now));
                memory.role == Role::Regular && lasts && brings
            },
        )
    }

    fn told(
        &self,
        config: &LiveConfig,
        intent: Intent,
        eligible: &[Eligible],
        refused: Vec<(&Interface, Intent, String)>,
        plan: &Plan,
        waits: BTreeMap<String, Nanos>,
    ) -> Decision {
        let mut interfaces = vec![];
        let mut endpoints = vec![];
        for one in eligible {
            let name = &one.interface.name;
            let role = self.memory[name].role;
            let Want { role: wanted, mut reason, .. } = plan[name].clone();
            if wanted != role && waits.contains_key(name) {
                reason += "; it changes when the last change is old enough";
            } else if role != Role::Unused && one.interface.lost > 0 {
                let lost = connections(one.interface.lost);
                reason += &format!("; lost by {lost}: opened again, ever later, while none works here");
            } else if wanted != role && one.interface.sole > 0 {
                reason +=
                    &format!("; {} of no other path that works need it", connections(one.interface.sole));
            }
            if role != Role::Unused {
                endpoints.extend(one.endpoints(config, role));
                if endpoints.len() > MOST_ENDPOINTS {
                    reason += &format!("; the kernel takes no more than {MOST_ENDPOINTS} endpoints");
                }
            }
            let (name, intent) = (name.clone(), one.intent);
            interfaces.push(Told { name, intent, role, wanted, reason, allowed: true });
        }
        endpoints.truncate(MOST_ENDPOINTS);
        interfaces.extend(refused.into_iter().map(|(interface, intent, reason)| Told {
            name: interface.name.clone(),
            intent,
            role: Role::Unused,
            wanted: Role::Unused,
            reason,
            allowed: standing::is_allowed(config, interface),
        }));
        let look_again = waits.into_values().min();
        Decision {
            endpoints: Some(endpoints),
            closed: vec![],
            interfaces,
            intent: Some(intent),
            controller: config.controllers.get(&intent).cloned(),
            look_again,
        }
    }
}

/// Intents that were set while the daemon runs, in place of the configured ones.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overrides {
    /// The machine's.
    pub machine: Option<Intent>,
    /// Of interfaces, by name.
    pub interfaces: BTreeMap<String, Intent>,
}

impl Overrides {
    /// The own intent of an interface, if it has one.
    pub fn of(&self, config: &LiveConfig, name: &str) -> Option<Intent> {
        self.interfaces.get(name).copied().or_else(|| config.interface(name)?.intent)
    }
}

fn connections(count: usize) -> String {
    if count == 1 { "1 connection".into() } else { format!("{count} connections") }
}
