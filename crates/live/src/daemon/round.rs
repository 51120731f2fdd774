//! One round: poll, decide, act.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::IpAddr;
use std::path::Path;

use joulepath_kernel::mptcp::TcpState;
use joulepath_kernel::mptcp::abort::Aborter;
use joulepath_kernel::mptcp::diag::{Connection, Listing, TcpSocket};
use joulepath_model::live::{First, Intent, Manager as PathManaging};
use joulepath_model::units::Nanos;

use super::choice::{cut, for_kernel, managed, may_be_used, reach, wish};
use super::{Daemon, times, used};
use crate::act::{Outcome, Setting};
use crate::battery;
use crate::decide::Decision;
use crate::error::Result;
use crate::first::is_beyond;
use crate::machine::{Counted, Look};
use crate::precheck;
use crate::report;
use crate::snapshot::Interface;
use crate::status::ProgramsStatus;
use crate::strength;
use crate::units;

/// Poll interval for things that change rarely: battery, other programs, filters.
const RARELY: Nanos = Nanos::from_secs(30);
/// Least time until the next poll after a failure.
const AFTER_FAILURE: Nanos = Nanos::from_secs(2);
/// A machine on which nothing happens is polled once in so many poll intervals, until a packet
/// passes.
const RESTS: u64 = 4;
/// Least time between two polls.
const SOON: Nanos = Nanos::from_millis(100);

impl Daemon<'_> {
    pub(super) fn look(&mut self, now: Nanos, say: &mut dyn FnMut(&str)) {
        self.round(now, say);
        self.bounds.took(super::now().saturating_sub(now));
        // Last: a slow disk must not delay what the round changes.
        self.accounts.save(now, false);
    }

    fn round(&mut self, now: Nanos, say: &mut dyn FnMut(&str)) {
        self.looked = now;
        self.next_look = now.saturating_add(self.config.sample);
        self.failure.poll_begins();
        if self
            .user_space
            .as_ref()
            .is_some_and(|(all, _)| all.needs_listing())
        {
            self.machine.list_next();
        }
        if self
            .last
            .as_ref()
            .is_some_and(|(_, decision, _)| decision.lists_next)
        {
            self.machine.list_next();
        }
        let (mut look, listing) = match self.machine.hear().and_then(|_| self.machine.look(now)) {
            Ok(seen) => seen,
            Err(error) => {
                self.next_look = now.saturating_add(self.config.sample.max(AFTER_FAILURE));
                return self.fail(&error.to_string(), say);
            }
        };
        self.guard(listing.as_ref(), say);
        self.ask(&look);
        self.tell_answers(&look, say);
        self.strengths.take(&self.config, &mut look.interfaces);
        if self.pulse_due().is_some() {
            for one in &mut look.interfaces {
                one.interrupted = self.machine.is_dead(one.index);
            }
        }
        let index = |name: &str| {
            look.interfaces
                .iter()
                .find(|one| one.name == name)
                .map(|one| one.index)
        };
        let counters = look
            .counters
            .iter()
            .filter_map(|(name, one)| Some((index(name)?, *one)));
        look.rates = self.bounds.count(now, counters);
        look.reaction = self.bounds.reaction();
        self.follow_gates();
        look.stopped = self.bounds.stopped();
        let is_off = self
            .last
            .as_ref()
            .is_none_or(|(_, decision, _)| decision.endpoints.is_none());
        self.accounts
            .list(listing.as_ref(), look.begun, !self.paused && !is_off);
        self.accounts.take(&self.config, &mut look, now, times());
        self.networks
            .take(&mut look, now, self.accounts.midnight_s());
        self.tell_of_clock(say);
        self.look_for_blockers(say);
        self.look_rarely(now, &look.interfaces, say);
        let snapshot = look.snapshot(now, self.battery);
        let mut decider = self.decider.clone();
        let decision = decider.decide(&self.config, &self.overrides, &snapshot);
        if listing.is_none() && self.would_change(&decision) {
            // Nothing may change because of a stale listing. The decision is repeated with a new
            // one; one-time requests of this decision are kept.
            self.machine.list_next();
            return self.look_at(now, now);
        }
        self.decider = decider;
        let recorder = self.recorder.as_mut();
        let recorded =
            recorder.map(|recorder| recorder.look(&snapshot, &self.overrides, &decision));
        self.recorded(recorded, say);
        let seen = (&look, listing.as_ref());
        self.open_gates(&look, &decision, say);
        // What ends an interface comes first.
        let is_cut = !cut(&self.config, &look).is_empty();
        if is_cut && let Err(error) = self.start_connections(&decision, seen, now, say) {
            self.fail(&error.to_string(), say);
        }
        let acted = self.act(&decision, &look, now);
        // Close forbidden subflows even if the rest of the action failed.
        let closed = decision.closed.iter().map(|closed| closed.address);
        if let Err(error) = self.actor.close_first(closed) {
            self.fail(&error.to_string(), say);
        }
        if !is_cut && let Err(error) = self.start_connections(&decision, seen, now, say) {
            self.fail(&error.to_string(), say);
        }
        let outcome = match acted {
            Ok(outcome) => outcome,
            Err(error) => {
                self.next_look = now.saturating_add(self.config.sample.max(AFTER_FAILURE));
                self.fail(&error.to_string(), say);
                return self.steer(&snapshot, (&look, listing.as_ref()), &decision, say);
            }
        };
        self.changes += outcome.changes;
        if outcome.changes > 0 || !decision.closed.is_empty() {
            self.machine.list_next();
        }
        self.note_disputed(&look, &outcome, say);
        self.tell_changes(&decision, &outcome, say);
        let again = [
            decision.look_again,
            outcome.again,
            look.roaming.1,
            look.answers.again,
        ];
        if again.iter().all(Option::is_none) && self.may_rest(&look) {
            self.next_look = now.saturating_add(Nanos(self.config.sample.0.saturating_mul(RESTS)));
        }
        for at in again.into_iter().flatten() {
            self.look_at(at, now);
        }
        self.steer(&snapshot, (&look, listing.as_ref()), &decision, say);
        self.gates.keep(&self.bounds);
        self.failure.poll_ends();
        self.listings.keep(now, listing);
        self.last = Some((look, decision, outcome));
    }

    /// When to watch the paths again, under `uninterrupted`.
    pub(super) fn pulse_due(&self) -> Option<Nanos> {
        let (_, decision, _) = self.last.as_ref()?;
        let watches = decision.intent == Some(Intent::Uninterrupted) && !self.paused;
        watches.then(|| self.machine.pulse_due())
    }

    /// Watches the paths. Makes the next round immediate if one has died or lives again.
    pub(super) fn feel(&mut self, now: Nanos, say: &mut dyn FnMut(&str)) {
        match self.machine.feel(now) {
            Ok(true) => {
                self.machine.list_next();
                self.next_look = now;
            }
            Ok(false) => {}
            Err(error) => self.fail(&error.to_string(), say),
        }
    }

    /// When to read the counters before the next round.
    pub(super) fn reading_due(&self) -> Option<Nanos> {
        self.bounds
            .due()
            .into_iter()
            .chain(self.accounts.due())
            .min()
    }

    /// Reads the counters. Makes the next round immediate if a quota or budget is used up.
    pub(super) fn read_counters(&mut self, now: Nanos, say: &mut dyn FnMut(&str)) {
        self.bounds.note_delay(now);
        let is_near = self.bounds.due().is_some_and(|at| now >= at);
        if self.machine.is_still() && !is_near {
            return self.accounts.is_still(now);
        }
        match self.machine.counters() {
            Ok(counters) => {
                let sampled = self.looked.saturating_add(self.config.sample);
                self.next_look = self.next_look.min(sampled.max(self.rests));
                self.accounts.read(now, &counters);
                self.bounds.count(now, counters.into_iter());
                self.follow_gates();
                if self.bounds.is_reached() {
                    self.machine.list_next();
                    self.next_look = now;
                }
            }
            Err(error) => self.fail(&error.to_string(), say),
        }
    }

    /// Sets the bounds, and makes the kernel enforce them unless the daemon changes nothing.
    fn open_gates(&mut self, look: &Look, decision: &Decision, say: &mut dyn FnMut(&str)) {
        let is_on = !self.paused && decision.endpoints.is_some();
        self.bounds.set(
            &self.config,
            look,
            decision.budget.as_ref().filter(|_| is_on),
        );
        if !is_on {
            self.gates.clear();
        } else if let Some(trouble) = self.gates.open(&self.bounds, look) {
            say(&format!(
                "warning: quotas and budgets are enforced at polls, not by the kernel: {trouble}"
            ));
        }
        self.bounds.enforced = self.gates.is_on();
    }

    fn follow_gates(&mut self) {
        self.gates.follow(&self.bounds);
        self.bounds.stop(self.gates.closed());
    }

    /// True if nothing happens: no packet has passed, there is no connection, and nothing is due.
    /// Readings of the counters notice the next packet.
    fn may_rest(&self, look: &Look) -> bool {
        let is_idle = look.measured.values().all(|one| one.passed.packets == 0);
        let has_none = look.counted == Counted::default();
        is_idle
            && has_none
            && self.accounts.due().is_some()
            && self.next_look == self.looked.saturating_add(self.config.sample)
    }

    /// True if the decision changes endpoints or closes subflows.
    fn would_change(&self, decision: &Decision) -> bool {
        let before = self.last.as_ref().map(|(_, before, _)| &before.endpoints);
        before != Some(&decision.endpoints) || !decision.closed.is_empty()
    }

    /// Stops recording after a write error; the daemon continues.
    pub(super) fn recorded(&mut self, written: Option<io::Result<()>>, say: &mut dyn FnMut(&str)) {
        if let Some(Err(error)) = written {
            say(&format!(
                "recording stopped: cannot write the record: {error}"
            ));
            self.recorder = None;
        }
    }

    /// Makes the kernel match the decision.
    fn act(&mut self, decision: &Decision, look: &Look, now: Nanos) -> Result<Outcome> {
        let is_on = !self.paused;
        let guarded = self.guard.is_on();
        let steers = self.config.manager == PathManaging::UserSpace || guarded;
        let user_space = self.user_space.as_ref().filter(|_| steers && is_on);
        let manager = user_space.and_then(|(all, _)| all.wanted(decision, &self.overrides));
        let mut early = Outcome::default();
        if guarded {
            // At once; an error must not keep the endpoints, and is repeated below.
            let _ = self.actor.set(Setting::Manager, manager, now, &mut early);
        }
        let endpoints = decision.endpoints.as_deref().filter(|_| is_on);
        self.actor.adopt(reach(&self.config, decision, look));
        let wanted = endpoints.map(|all| {
            if steers {
                all.to_vec()
            } else {
                for_kernel(all, look)
            }
        });
        let mut outcome = match endpoints {
            Some(_) if guarded => self.actor.withdraw(now)?,
            _ => self
                .actor
                .reconcile(wanted.as_deref(), &self.spare(decision, look), now)?,
        };
        outcome.changes += early.changes;
        self.guarded = guarded;
        if endpoints.is_some() && !steers {
            outcome.disputes(managed(decision, look).into_iter());
        }
        let controller = decision.controller.as_deref().filter(|_| is_on);
        self.actor
            .set(Setting::Controller, controller, now, &mut outcome)?;
        self.actor
            .set(Setting::Manager, manager, now, &mut outcome)?;
        Ok(outcome)
    }

    /// Makes new connections start on the preferred interface, if configured.
    fn start_connections(
        &mut self,
        decision: &Decision,
        (look, listing): (&Look, Option<&Listing>),
        now: Nanos,
        say: &mut dyn FnMut(&str),
    ) -> Result<()> {
        let cut = cut(&self.config, look);
        let is_on = !self.paused && decision.endpoints.is_some();
        let steers = is_on && (self.config.first == First::Steer || !cut.is_empty());
        if is_on && !cut.is_empty() {
            self.reset(&cut, decision, (look, listing), say)?;
        }
        let may_be_used = |index| may_be_used(&self.config, &self.overrides, decision, look, index);
        let wish = steers.then(|| wish(&self.config, decision, look, may_be_used));
        let (outcome, remarks) = self.first.follow(self.machine.view(), wish.as_ref(), now)?;
        self.changes += outcome.changes;
        remarks.iter().for_each(|line| say(line));
        if let Some(at) = outcome.again {
            self.look_at(at, now);
        }
        Ok(())
    }

    /// Resets the TCP connections of these interfaces that lead beyond their networks. MPTCP
    /// connections lose their subflows with our endpoints; those of other programs' endpoints are
    /// reset.
    fn reset(
        &self,
        cut: &[u32],
        decision: &Decision,
        (look, listing): (&Look, Option<&Listing>),
        say: &mut dyn FnMut(&str),
    ) -> Result<()> {
        let Some(listing) = listing else {
            return Ok(());
        };
        let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
        let device = |one: &TcpSocket| {
            one.interface
                .or_else(|| look.owners.get(&one.local.ip().to_canonical()).copied())
        };
        let is_cut = |one: &TcpSocket| device(one).is_some_and(|device| cut.contains(&device));
        let nothing = BTreeSet::new();
        let others = self
            .last
            .as_ref()
            .map_or(&nothing, |(_, _, outcome)| &outcome.others);
        let ends = |connection: &Connection, one: &TcpSocket| {
            let local = one.local.ip().to_canonical();
            let works = |other: &TcpSocket| other.state == TcpState::Established && !is_cut(other);
            connection.info.fallback
                || others.contains(&local)
                    && (connection.subflows.iter().any(works) || decision.closes(&local))
        };
        let of_mptcp = listing.connections.iter().flat_map(|connection| {
            connection
                .subflows
                .iter()
                .filter(|one| ends(connection, one))
                .collect::<Vec<_>>()
        });
        let mut aborter = None;
        for socket in listing.plain.iter().chain(of_mptcp) {
            let remote = socket.remote.ip().to_canonical();
            let Some(device) = device(socket).filter(|device| cut.contains(device)) else {
                continue;
            };
            let has_ended = matches!(socket.state, TcpState::Closed | TcpState::TimeWait);
            if has_ended || !is_beyond(self.machine.view(), remote) {
                continue;
            }
            let aborter = match &mut aborter {
                Some(aborter) => aborter,
                none => none.insert(Aborter::open()?),
            };
            if aborter.abort(socket.local, socket.remote, socket.interface)? {
                *counts.entry(device).or_default() += 1;
            }
        }
        for (device, count) in counts {
            let name = look
                .interfaces
                .iter()
                .find(|one| one.index == device)
                .map(|one| one.name.as_str());
            let name = name.unwrap_or_default();
            say(&format!(
                "{name}: its hard quota is used up; TCP connections reset: {count}"
            ));
        }
        Ok(())
    }

    /// Asks the first routers of paths for a sign of life, unless the daemon changes nothing.
    fn ask(&mut self, look: &Look) {
        let is_off = self
            .last
            .as_ref()
            .is_some_and(|(_, decision, _)| decision.endpoints.is_none());
        if !self.paused && !is_off {
            look.answers
                .ask
                .iter()
                .for_each(|&ask| self.machine.ask(ask));
        }
    }

    /// Addresses, with interfaces, whose endpoints may stay for connections without another path:
    /// those on interfaces that may be used.
    fn spare(&self, decision: &Decision, look: &Look) -> Vec<(IpAddr, u32)> {
        let may_be_used = |index| may_be_used(&self.config, &self.overrides, decision, look, index);
        let all = look
            .owners
            .iter()
            .map(|(&address, &index)| (address, index));
        all.filter(|&(_, index)| may_be_used(index)).collect()
    }

    /// Makes the next poll happen at `at` at the latest, but not immediately.
    pub(super) fn look_at(&mut self, at: Nanos, now: Nanos) {
        self.next_look = self.next_look.min(at.max(now.saturating_add(SOON)));
    }

    fn look_rarely(&mut self, now: Nanos, interfaces: &[Interface], say: &mut dyn FnMut(&str)) {
        if self
            .looked_rarely
            .is_some_and(|at| now.saturating_sub(at) < RARELY)
        {
            return;
        }
        self.looked_rarely = Some(now);
        self.battery = battery::read(Path::new(battery::FOLDER));
        self.warn(interfaces, say);
        let programs = units::status(&self.config);
        let waiting =
            |programs: &Option<ProgramsStatus>| programs.as_ref().map(|one| one.waiting.clone());
        if let Some(waiting) = waiting(&programs).filter(|now| !now.is_empty())
            && Some(&waiting) != self.programs.as_ref().map(|one| &one.waiting)
        {
            say(&format!("on MPTCP after a restart: {}", waiting.join(", ")));
        }
        self.programs = programs;
    }

    fn warn(&mut self, interfaces: &[Interface], say: &mut dyn FnMut(&str)) {
        let used = self
            .last
            .as_ref()
            .map(|(_, decision, _)| used(decision))
            .unwrap_or_default();
        let mut warnings = precheck::warnings(&used, &self.disputed, self.config.adopt);
        warnings.extend(self.strengths.troubles());
        warnings.extend(strength::outside(&self.config, interfaces));
        warnings.extend(precheck::names(&self.config, &self.path, interfaces));
        say_new(&warnings, &self.warnings, say);
        self.warnings = warnings;
    }

    /// Blockers that were absent at the start may appear later.
    fn look_for_blockers(&mut self, say: &mut dyn FnMut(&str)) {
        let is_ours = self.guarded || self.guard.is_on();
        let manager = if is_ours {
            PathManaging::UserSpace
        } else {
            self.config.manager
        };
        let blockers = precheck::blockers(manager);
        let blockers: Vec<String> = blockers
            .iter()
            .map(joulepath_kernel::Error::with_remedy)
            .collect();
        say_new(&blockers, &self.blockers, say);
        self.blockers = blockers;
    }

    fn tell_of_clock(&mut self, say: &mut dyn FnMut(&str)) {
        let trouble = self.accounts.clock_trouble();
        if trouble.is_some() != self.clock_doubted {
            self.clock_doubted = trouble.is_some();
            let date = self.accounts.date();
            say(&trouble.unwrap_or_else(|| format!("the clock is trusted: today is {date}")));
        }
    }

    fn note_disputed(&mut self, look: &Look, outcome: &Outcome, say: &mut dyn FnMut(&str)) {
        let disputed = report::by_interface(&look.interfaces, outcome.of_another());
        if disputed != self.disputed {
            self.disputed = disputed;
            // At once, so that the first status that a client gets has the warning.
            self.warn(&look.interfaces, say);
        }
    }
}

fn say_new(warnings: &[String], known: &[String], say: &mut dyn FnMut(&str)) {
    for warning in warnings.iter().filter(|warning| !known.contains(warning)) {
        say(&format!("warning: {warning}"));
    }
}
