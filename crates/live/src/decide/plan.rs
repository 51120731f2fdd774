//! How each interface should be used, if nothing had to wait.

use std::collections::BTreeSet;

use joulepath_model::live::{Intent, LiveConfig};
use joulepath_model::units::{Bytes, Nanos};

use super::decision::Role;
use super::drag::Carrier;
use super::eligible::Eligible;
use super::fade;
use super::frugal::{Candidate, Choice};
use super::overflow::Filled;
use super::want::{Plan, Want};
use super::{Decider, Event};
use crate::snapshot::Interface;

impl Decider {
    /// How each interface should be used, if nothing had to wait.
    pub(super) fn plan(
        &mut self,
        config: &LiveConfig,
        intent: Intent,
        eligible: &[Eligible],
        now: Nanos,
    ) -> Plan {
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
