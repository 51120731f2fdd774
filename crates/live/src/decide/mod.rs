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
mod fade;
mod frugal;
mod hold;
mod lately;
mod mean;
mod memory;
mod overflow;
mod renewal;
mod silence;
mod standing;
#[cfg(test)]
mod tests;
mod trouble;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use joulepath_model::live::{Intent, LiveConfig};
use joulepath_model::units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

pub use self::decision::{Decision, Role, Told, Wanted};
use self::drag::{Carrier, Drag};
use self::fade::Fade;
use self::frugal::{Candidate, Choice, Frugal};
use self::lately::lasted;
use self::memory::Memory;
use self::overflow::{Filled, Overflow};
pub(crate) use self::renewal::Renewal;
use self::silence::Verdict;
pub(crate) use self::standing::is_over_hard_quota;
use self::standing::{BatteryLow, Standing};
use crate::snapshot::{Interface, Snapshot};

/// Most subflows besides the first one, and most endpoints that are of use (`MPTCP_PM_ADDR_MAX`).
const MOST_ENDPOINTS: usize = 8;
/// A new regular path is there for so long before an old one goes: its subflows need their handshakes.
const OVERLAP: Nanos = Nanos::from_secs(3);
/// Connections on what is forbidden get this long to find another path before their last subflow is closed.
pub(crate) const CLOSE_AFTER: Nanos = Nanos::from_secs(5);
/// A path brings data from this rate on, bit/s.
const BRINGS_BPS: f64 = 20e3;
/// The highest rate seen says what a path can carry from so many bytes on.
const ENOUGH_SEEN: Bytes = Bytes(5_000_000);
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

/// An interface that may be used, and what speaks against it.
struct Eligible<'a> {
    interface: &'a Interface,
    standing: Standing,
    intent: Intent,
    /// For how long it has brought nothing, if that may mean something.
    watched: Option<Nanos>,
}

/// How an interface should be used.
#[derive(Clone, Debug)]
struct Want {
    role: Role,
    reason: String,
    /// It must not carry more: nothing waits for that.
    forced: bool,
    /// Data waits for it.
    urgent: bool,
    /// As a backup it gets new subflows: what waits on the old ones travels on others then.
    afresh: bool,
}

impl Want {
    fn new(role: Role, reason: impl Into<String>) -> Self {
        Want { role, reason: reason.into(), forced: false, urgent: false, afresh: false }
    }
}

/// What is wanted, by name.
type Plan = BTreeMap<String, Want>;

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

    /// How each interface should be used, if nothing had to wait.
    fn plan(&mut self, config: &LiveConfig, intent: Intent, eligible: &[Eligible], now: Nanos) -> Plan {
        let Some(first) = eligible.first() else { return Plan::new() };
        let rank = |one: &Eligible| (one.standing.rank(), one.is_outsider(intent));
        let candidates: Vec<&Eligible> = eligible.iter().filter(|one| rank(one) == rank(first)).collect();
        let mut chosen = self.chosen(config, intent, &candidates, now);
        let mut plan = Plan::new();
        // Under the other intents the order of preference says who carries data.
        let may_drag = intent == Intent::Aggregate;
        let dragged = may_drag.then(|| self.dragged(&candidates, &chosen, now)).flatten();
        if let Some((name, _)) = &dragged {
            chosen.paths.remove(name);
        }
        let faded = (intent == Intent::Interactive).then(|| self.faded(eligible, now)).flatten();
        if let Some((stand_in, reason)) = &faded {
            chosen = Choice { paths: [stand_in.clone()].into(), reason: format!("stands in: {reason}") };
        }
        for one in eligible {
            let name = &one.interface.name;
            let wanted = match chosen.paths.contains(name) {
                true => Want::new(Role::Regular, chosen.reason.clone()),
                false => self.not_chosen(one, intent),
            };
            plan.insert(name.clone(), wanted);
        }
        if let Some((name, reason)) = dragged {
            plan.insert(name, Want { afresh: true, ..Want::new(Role::Backup, reason) });
        }
        if let Some((stand_in, reason)) = faded {
            plan.entry(stand_in).and_modify(|want| want.urgent = true);
            let want = Want { afresh: true, ..Want::new(Role::Backup, reason) };
            plan.insert(first.interface.name.clone(), want);
        }
        self.bound_handover(config, eligible, &mut plan);
        open_beside_watched(eligible, &mut plan);
        plan
    }

    /// The one of the chosen that slows the others down, and why.
    fn dragged(&mut self, candidates: &[&Eligible], chosen: &Choice, now: Nanos) -> Option<(String, String)> {
        let memory = &self.memory;
        let carrier = |one: &&Eligible| Carrier {
            name: one.interface.name.clone(),
            rate_bps: one.interface.rate_bps,
            most_bps: one.interface.capacity_bps,
            is_regular: memory[&one.interface.name].role == Role::Regular,
        };
        let chosen = candidates.iter().filter(|one| chosen.paths.contains(&one.interface.name));
        let all: Vec<Carrier> = chosen.map(carrier).collect();
        self.drag.observe(now, &all)
    }

    /// Which path stands in for the first one because that has become slow, and why.
    fn faded(&mut self, eligible: &[Eligible], now: Nanos) -> Option<(String, String)> {
        let (first, others) = eligible.split_first()?;
        let stand_in = others.iter().find(|one| one.standing.may_stand_in())?;
        let [first, stand_in] = [first, stand_in].map(|one| one.interface);
        let is_regular = |one: &Interface| self.memory[&one.name].role == Role::Regular;
        let look = fade::Look {
            first: &first.name,
            stand_in: &stand_in.name,
            carried_bps: eligible.iter().map(|one| one.interface.rate_bps).sum(),
            stands_in: is_regular(stand_in) && !is_regular(first),
            has_subflows: first.subflows > 0,
        };
        Some((stand_in.name.clone(), self.fade.observe(now, look)?))
    }

    /// Which of the candidates carry data.
    fn chosen(
        &mut self,
        config: &LiveConfig,
        intent: Intent,
        candidates: &[&Eligible],
        now: Nanos,
    ) -> Choice {
        let names = |count: usize| -> BTreeSet<String> {
            candidates[..count].iter().map(|one| one.interface.name.clone()).collect()
        };
        let (count, alone) = (candidates.len(), candidates.len() == 1);
        match intent {
            Intent::Frugal => {
                let candidate = |one: &&Eligible| {
                    let known = config.interface(&one.interface.name);
                    let configured = known.and_then(|known| known.rate).map(|rate| rate.bps() as f64);
                    Candidate {
                        name: one.interface.name.clone(),
                        rate_bps: configured.or_else(|| one.known_bps()),
                        rtt: one.interface.rtt,
                        energy: known.and_then(|known| Some(known.energy.as_ref()?.model.clone())),
                    }
                };
                self.frugal.choose(config, &candidates.iter().map(candidate).collect::<Vec<_>>())
            }
            Intent::Aggregate => Choice { paths: names(count), reason: "all paths are used".into() },
            Intent::Overflow => {
                let filled: Vec<Filled> = candidates.iter().map(|one| one.filled(config)).collect();
                let used = self.overflow.paths(now, &filled);
                let mbps = filled.iter().map(|path| path.rate_bps).sum::<f64>() / 1e6;
                let reason = format!("{used} of {count} are needed for {mbps:.1} Mbit/s, the cheapest first");
                Choice { paths: names(used), reason }
            }
            Intent::Handover | Intent::Interactive | Intent::Off => {
                let reason = match alone {
                    true => "the only path of its standing that works".to_owned(),
                    false => format!("the first of {count} in the order of cost"),
                };
                Choice { paths: names(1), reason }
            }
        }
    }

    /// The role of an interface that is not among the chosen.
    fn not_chosen(&self, one: &Eligible, machine: Intent) -> Want {
        let standing = &one.standing;
        let role_now = self.memory.get(&one.interface.name).map_or(Role::Unused, |memory| memory.role);
        if standing.trouble.is_some() && role_now != Role::Unused {
            let reason = format!("{}; kept as a backup to see it recover", standing.why());
            return Want::new(Role::Backup, reason);
        }
        let is_meant = one.intent != machine;
        match one.intent {
            Intent::Aggregate if standing.is_clear() || (is_meant && standing.is_metered_only()) => {
                Want::new(Role::Regular, "its own intent is `aggregate`")
            }
            Intent::Aggregate | Intent::Interactive | Intent::Overflow => {
                let why = standing.or("others come first");
                Want::new(Role::Backup, format!("a backup that is open: {why}"))
            }
            Intent::Frugal | Intent::Handover | Intent::Off => {
                let why = standing.or("others come first");
                Want::new(Role::Unused, format!("no subflow before it is needed: {why}"))
            }
        }
    }

    /// Under `handover` a path that stands in for one that is in trouble has a budget.
    fn bound_handover(&mut self, config: &LiveConfig, eligible: &[Eligible], plan: &mut Plan) {
        let troubled = eligible
            .iter()
            .find(|one| one.standing.trouble.is_some() && plan[&one.interface.name].role != Role::Unused);
        let stand_in = eligible
            .iter()
            .find(|one| plan[&one.interface.name].role == Role::Regular && one.intent == Intent::Handover);
        let (Some(troubled), Some(stand_in)) = (troubled, stand_in) else {
            self.event = None;
            return;
        };
        let Interface { name, carried_bytes, .. } = stand_in.interface;
        if troubled.interface.name == *name {
            return;
        }
        if self.event.as_ref().is_none_or(|event| event.stand_in != *name) {
            self.event = Some(Event { stand_in: name.clone(), from_bytes: *carried_bytes, spent: false });
        }
        let Some(event) = &mut self.event else { return };
        let carried = Bytes(carried_bytes.saturating_sub(event.from_bytes));
        event.spent |= carried >= config.handover_budget;
        let text = format!("{carried} of {} of this event", config.handover_budget);
        if event.spent {
            let reason = format!("the budget of `handover` is used up: {text}");
            plan.insert(name.clone(), Want { forced: true, ..Want::new(Role::Unused, reason) });
            let reason = format!("{}, and its stand-in has no budget left", troubled.standing.why());
            plan.insert(troubled.interface.name.clone(), Want::new(Role::Regular, reason));
        } else if let Some(want) = plan.get_mut(name) {
            want.reason = format!("stands in for {}: {text}", troubled.interface.name);
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

impl Eligible<'_> {
    /// Where it stands in the order of preference.
    fn place(&self, config: &LiveConfig, machine: Intent) -> (u8, bool, u32, String) {
        let cost = config.interface(&self.interface.name).and_then(|known| known.cost).unwrap_or(u32::MAX);
        (self.standing.rank(), self.is_outsider(machine), cost, self.interface.name.clone())
    }

    /// Whether connections begin here that have a better path by now: a subflow that stays open costs energy,
    /// since the kernel acknowledges data on all of them.
    fn is_left(&self, plan: &Plan) -> bool {
        let Interface { first, subflows, sole, .. } = *self.interface;
        first && subflows > 0 && sole == 0 && plan[&self.interface.name].role == Role::Unused
    }

    /// Whether its own intent sets it behind those of the machine's.
    fn is_outsider(&self, machine: Intent) -> bool {
        self.intent != machine && self.intent != Intent::Aggregate
    }

    /// What it can carry as far as that is known. A path that has carried little so far may well carry more.
    fn known_bps(&self) -> Option<f64> {
        let is_known = self.interface.carried_bytes >= ENOUGH_SEEN.0;
        self.interface.capacity_bps.filter(|&bps| is_known || bps > frugal::UNTRIED_BPS)
    }

    /// An endpoint for each of its addresses.
    fn endpoints(&self, config: &LiveConfig, role: Role) -> Vec<Wanted> {
        let known = config.interface(&self.interface.name);
        let endpoint = |&address: &IpAddr| Wanted {
            address,
            interface: self.interface.index,
            backup: role == Role::Backup,
            signal: known.is_some_and(|known| known.signal),
            fullmesh: known.is_some_and(|known| known.fullmesh),
            renew: false,
        };
        self.interface.addresses.iter().map(endpoint).collect()
    }

    /// What it may fall to by choice: no subflow is closed that is the last one of a connection.
    fn lowest(&self) -> Role {
        if self.interface.sole > 0 { Role::Backup } else { Role::Unused }
    }

    fn filled(&self, config: &LiveConfig) -> Filled {
        let rate = config.interface(&self.interface.name).and_then(|known| known.rate);
        let most_bps = rate.map(|rate| rate.bps() as f64).or(self.interface.capacity_bps);
        Filled { rate_bps: self.interface.rate_bps, most_bps, is_said: rate.is_some() }
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

/// Where a chosen path brings nothing any more, the next one is opened as a backup: the other end, whose data
/// gets no answer, moves over to it.
fn open_beside_watched(eligible: &[Eligible], plan: &mut Plan) {
    let is_watched =
        |one: &&Eligible| one.watched.is_some() && plan[&one.interface.name].role == Role::Regular;
    let Some((name, silent)) =
        eligible.iter().find(is_watched).and_then(|one| Some((one.interface.name.clone(), one.watched?)))
    else {
        return;
    };
    let next = eligible.iter().find(|one| {
        let want = &plan[&one.interface.name];
        want.role == Role::Unused && !want.forced
    });
    if let Some(next) = next {
        let reason = format!("opened as a backup: nothing has come over {name} for {silent}");
        plan.insert(next.interface.name.clone(), Want { urgent: true, ..Want::new(Role::Backup, reason) });
    }
}

fn connections(count: usize) -> String {
    if count == 1 { "1 connection".into() } else { format!("{count} connections") }
}
