//! The daemon's output: log, status, messages to systemd.

use std::collections::{BTreeMap, BTreeSet};

use joulepath_model::units::Nanos;

use super::Daemon;
use crate::act::{Outcome, Setting};
use crate::decide::{Decision, Role, is_over_hard_quota};
use crate::foreign;
use crate::machine::Look;
use crate::mute::News;
use crate::report;
use crate::status::Status;
use crate::user_space::UserSpace;

/// Slower traffic of an interface over its hard quota is no reason for a warning, bit/s.
const STILL_BPS: f64 = 50e3;

impl Daemon<'_> {
    /// Logs changes since the last round.
    pub(super) fn tell_changes(
        &mut self,
        decision: &Decision,
        outcome: &Outcome,
        say: &mut dyn FnMut(&str),
    ) {
        let mut told = BTreeMap::new();
        for one in &decision.interfaces {
            let is_new = self
                .told
                .get(&one.name)
                .is_none_or(|role| *role != one.role);
            if is_new && (one.role != Role::Unused || self.told.contains_key(&one.name)) {
                say(&one.to_string());
            }
            told.insert(one.name.clone(), one.role);
        }
        self.told = told;
        let before = self
            .last
            .as_ref()
            .map(|(_, _, outcome)| outcome.conflicts.clone())
            .unwrap_or_default();
        let told = self
            .last
            .as_ref()
            .map(|(_, _, outcome)| outcome.settings.clone())
            .unwrap_or_default();
        for (setting, why) in outcome
            .settings
            .iter()
            .filter(|(setting, why)| told.get(setting) != Some(why))
        {
            say(&format!("{}: {why}", setting.word()));
        }
        let controller = |decision: &Decision| decision.controller.clone();
        let before_controller = self
            .last
            .as_ref()
            .and_then(|(_, decision, _)| controller(decision));
        let is_refused = outcome.settings.contains_key(&Setting::Controller);
        if decision.controller != before_controller && !is_refused {
            say(&match &decision.controller {
                Some(name) => format!("new sockets get the congestion controller {name}"),
                None => "new sockets get the original congestion controller".into(),
            });
        }
        for ((address, _), why) in outcome
            .conflicts
            .iter()
            .filter(|(place, _)| !before.contains_key(place))
        {
            say(&format!("{address}: {why}"));
        }
        let nothing = BTreeSet::new();
        let adopted = self
            .last
            .as_ref()
            .map_or(&nothing, |(_, _, outcome)| &outcome.adopted);
        for address in outcome.adopted.difference(adopted) {
            say(&format!(
                "{address}: the endpoint of another program is taken over"
            ));
        }
        let stayed = self
            .last
            .as_ref()
            .map(|(_, _, outcome)| outcome.stays.clone())
            .unwrap_or_default();
        if !outcome.stays.keys().eq(stayed.keys()) {
            outcome.staying().for_each(|line| say(&line));
        }
    }

    /// Logs which paths get no answer, and which get answers again; the family, if they have both.
    pub(super) fn tell_answers(&self, look: &Look, say: &mut dyn FnMut(&str)) {
        for ((device, v4), news) in &look.answers.news {
            let Some(one) = look.interfaces.iter().find(|one| one.index == *device) else {
                continue;
            };
            let name = &one.name;
            let has_both = one.addresses.iter().any(|own| own.is_ipv4() != *v4);
            let family = match (has_both, v4) {
                (false, _) => "",
                (true, true) => " over IPv4",
                (true, false) => " over IPv6",
            };
            say(&match news {
                News::Mute(why) => format!("{name} gets no answer{family}: {why}"),
                News::Back => format!("{name} is used again{family}"),
                News::Dead(server) => {
                    format!(
                        "{name} is used again{family}: {server} does not answer over another interface either"
                    )
                }
            });
        }
    }

    pub(super) fn fail(&mut self, text: &str, say: &mut dyn FnMut(&str)) {
        if self.failure.take(text) {
            say(text);
        }
    }

    pub(super) fn status(&mut self, now: Nanos) -> Option<Status> {
        let (look, decision, outcome) = self.last.as_ref()?;
        let warnings = self
            .blockers
            .iter()
            .chain(&self.warnings)
            .chain(&self.rules_warnings)
            .chain(&self.accounts.trouble)
            .chain(&self.networks.trouble);
        let clock = self.accounts.clock_trouble();
        let refused = outcome
            .settings
            .iter()
            .map(|(setting, why)| format!("{}: {why}", setting.word()));
        let user_space = self.user_space.as_ref().map(|(user_space, _)| user_space);
        let of_rules = user_space.into_iter().flat_map(UserSpace::warnings);
        let facts = report::Facts {
            config: &self.config,
            path: &self.path,
            paused: self.paused,
            up: now.saturating_sub(self.begun),
            changes: self.changes,
            battery: self.battery,
            outcome,
            warnings: warnings
                .chain(&self.reload_failure)
                .chain(self.failure.text())
                .cloned()
                .chain(of_rules)
                .chain(refused)
                .chain(clock)
                .chain(outcome.staying())
                .chain(self.first.remarks())
                .chain(self.beyond_quota(look))
                .collect(),
            events: self.events.latest(now),
            steering: user_space.map(|user_space| user_space.status(&self.config)),
            networks: &self.networks,
            programs: self.programs.clone(),
            tunnels: foreign::status(&self.config, self.machine.view(), &look.starts),
        };
        let mut status = report::status(&facts, decision, look, &self.accounts);
        status.why = self.listings.explain(now, &status);
        Some(status)
    }

    /// Interfaces that still carry data after their hard quota, and what the likely causes are.
    fn beyond_quota(&self, look: &Look) -> Vec<String> {
        let over = look
            .interfaces
            .iter()
            .filter(|one| is_over_hard_quota(&self.config, one));
        let lines = over.filter_map(|one| {
            let measured = look.measured.get(&one.name)?;
            let bps = measured.received_bps + measured.sent_bps;
            let quota = self.accounts.quota(&self.config, &one.name)?;
            let beyond = quota.used_bytes.saturating_sub(quota.hard_bytes?);
            let causes = match self.paused {
                true => "the daemon is paused",
                false => "local networks, forwarded packets and sockets bound to the device are not cut off",
            };
            (bps >= STILL_BPS).then(|| {
                format!(
                    "{} still carries {:.1} Mbit/s, {:.1} MB beyond its hard quota: {causes}",
                    one.name,
                    bps / 1e6,
                    beyond as f64 / 1e6
                )
            })
        });
        lines.collect()
    }

    /// Tells systemd that the daemon is ready and alive, and its state.
    pub(super) fn tell_manager(&mut self) {
        let (Some(manager), Some((_, decision, _))) = (&self.manager, &self.last) else {
            return;
        };
        let ready = if self.is_ready { "" } else { "READY=1\n" };
        self.is_ready = true;
        let paths = decision
            .interfaces
            .iter()
            .filter(|one| one.role != Role::Unused)
            .count();
        let intent = decision.intent.unwrap_or(self.config.intent);
        let state = if self.paused { "paused" } else { intent.word() };
        manager.tell(&format!("{ready}WATCHDOG=1\nSTATUS={paths} paths, {state}"));
    }
}
