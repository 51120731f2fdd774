//! From endpoints that are wanted to endpoints that are there, and back to what was found.
//!
//! What is going to be changed is noted first, and what has been changed after, so that after SIGKILL at any
//! instant the next start knows all that may be ours:
//!
//! ```text
//!   journal: "these may be ours"  ──►  the kernel, step by step  ──►  journal: "these are ours"
//! ```
//! **Only what is ours and still as we left it is touched.** An endpoint that another program has set is
//! never changed; one of ours that another has changed is his from then on; one of ours that another has
//! removed is added again, at ever longer intervals.
//!
//! | module | what |
//! |---|---|
//! | `journal` | what is ours, on disk |
//! | `setting` | what new sockets get: the congestion controller, the path manager |
//! | `table` | the kernel's endpoints, limits and settings |

mod journal;
mod setting;
mod table;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::net::IpAddr;

use joulepath_kernel::Result;
use joulepath_kernel::mptcp::AddressId;
use joulepath_kernel::mptcp::path_manager::{Endpoint, Limits};
use joulepath_model::units::Nanos;

pub use self::journal::{Journal, OnDisk, Store};
use self::journal::{LimitsSet, Own};
pub use self::table::{Setting, Table};
use crate::decide::Wanted;

/// Most subflows besides the first one (`MPTCP_PM_ADDR_MAX`).
const MOST_SUBFLOWS: u32 = 8;
/// What another has removed is added again after this time, and twice as long each time.
const AGAIN: Nanos = Nanos::from_secs(30);
const MOST_DOUBLINGS: u32 = 7;

/// Why an address has no endpoint of ours.
const OF_ANOTHER: &str = "another program has set an endpoint for it: left as it is";

/// Changes the kernel's table.
#[derive(Debug)]
pub struct Actor<T, S> {
    table: T,
    store: S,
    journal: Journal,
    /// Whether there is a record, be it empty.
    recorded: bool,
    /// Addresses whose endpoint another has removed, or that the kernel refused.
    refused: BTreeMap<IpAddr, Refused>,
    /// Others have set the limits since: they are theirs.
    limits_of_others: bool,
    standings: BTreeMap<Setting, Standing>,
}

#[derive(Clone, Debug)]
struct Refused {
    times: u32,
    until: Nanos,
    why: String,
}

/// What is known of a setting besides the journal.
#[derive(Clone, Debug, Default)]
struct Standing {
    /// Another program has set it since: it is theirs.
    of_others: bool,
    refused: Option<Refused>,
}

/// What could not be had, for people.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Changes that were made.
    pub changes: usize,
    /// What stands in the way, by address.
    pub conflicts: BTreeMap<IpAddr, String>,
    /// When something that was refused is tried again.
    pub again: Option<Nanos>,
    /// Why new sockets do not get what is wanted, if so.
    pub settings: BTreeMap<Setting, String>,
}

impl Outcome {
    /// Whether another program has set the endpoint of an address.
    pub fn is_of_another(&self, address: &IpAddr) -> bool {
        self.conflicts.get(address).is_some_and(|why| why == OF_ANOTHER)
    }

    fn wait_until(&mut self, at: Nanos) {
        self.again = Some(self.again.map_or(at, |again| again.min(at)));
    }
}

impl Refused {
    /// After so many refusals before this one.
    fn after(times: u32, now: Nanos, why: String) -> Self {
        let until = now.saturating_add(Nanos(AGAIN.0 << times.min(MOST_DOUBLINGS)));
        Refused { times: times + 1, until, why }
    }
}

impl<T: Table, S: Store> Actor<T, S> {
    /// Takes up what an earlier process has left, if there is something.
    ///
    /// # Errors
    /// If the journal cannot be read.
    pub fn open(table: T, store: S) -> Result<Self> {
        let record = store.read()?;
        let recorded = record.is_some();
        let journal = record.unwrap_or_default();
        Ok(Actor {
            table,
            store,
            journal,
            recorded,
            refused: BTreeMap::new(),
            limits_of_others: false,
            standings: BTreeMap::new(),
        })
    }

    /// Whether something may be ours.
    pub fn has_something(&self) -> bool {
        !self.journal.is_empty()
    }

    /// Brings the table to what is wanted, as far as it is ours; none: back to what was found.
    ///
    /// # Errors
    /// If the kernel cannot be asked, or the journal not be written. Single endpoints that are refused are
    /// told in the outcome.
    pub fn reconcile(&mut self, wanted: Option<&[Wanted]>, now: Nanos) -> Result<Outcome> {
        let Some(wanted) = wanted else { return self.undo() };
        let mut outcome = Outcome::default();
        let table = self.table.endpoints()?;
        self.disown(&table, now);
        let steps = self.steps(wanted, &table, now, &mut outcome);
        let limits = self.wanted_limits(wanted)?;
        if !steps.is_empty() || limits.is_some() {
            self.note(&steps, limits);
            self.recorded = true;
            self.store.write(&self.journal)?;
            if let Some((before, after)) = limits {
                match self.table.set_limits(after) {
                    Ok(()) => outcome.changes += 1,
                    Err(_) => self.forget_limits(before),
                }
            }
            for step in steps {
                self.take(step, now, &mut outcome);
            }
            self.journal.settle();
            self.store.write(&self.journal)?;
        }
        let waiting = self.refused.iter().filter(|(_, refused)| refused.until > now);
        outcome.again = waiting.map(|(_, refused)| refused.until).min();
        Ok(outcome)
    }

    /// Closes the first subflows that have one of these addresses. Nothing of that can be put back, so that
    /// nothing is noted.
    ///
    /// # Errors
    /// Those of [`Table::delete_first`].
    pub fn close_first(&mut self, addresses: &[IpAddr]) -> Result<()> {
        addresses.iter().try_for_each(|&address| self.table.delete_first(address))
    }

    /// Puts everything back that is ours and still as it was left.
    ///
    /// # Errors
    /// If the kernel refuses: what is left stays noted, and may be tried again.
    pub fn undo(&mut self) -> Result<Outcome> {
        let mut outcome = Outcome::default();
        if !self.recorded {
            return Ok(outcome);
        }
        for endpoint in self.table.endpoints()? {
            if let Some(id) = self.journal.owned_id(&endpoint) {
                self.table.delete(id)?;
                outcome.changes += 1;
            }
        }
        if let Some(limits) = self.journal.limits {
            let now = self.table.limits()?;
            if now != limits.before && limits.is_ours(now) {
                self.table.set_limits(limits.before)?;
                outcome.changes += 1;
            }
        }
        outcome.changes += self.undo_settings()?;
        self.store.remove()?;
        self.recorded = false;
        self.journal = Journal::default();
        self.limits_of_others = false;
        self.standings.clear();
        Ok(outcome)
    }

    /// Puts back one setting that an earlier process has left.
    ///
    /// # Errors
    /// If the kernel refuses, or the journal cannot be written.
    pub fn undo_setting(&mut self, setting: Setting, now: Nanos) -> Result<()> {
        self.set(setting, None, now, &mut Outcome::default())
    }

    /// Forgets what others have removed or changed.
    fn disown(&mut self, table: &[Endpoint], now: Nanos) {
        let (mut kept, mut removed) = (vec![], vec![]);
        for own in std::mem::take(&mut self.journal.endpoints) {
            if table.iter().any(|endpoint| own.is(endpoint)) {
                kept.push(own);
            } else if own.is_certain() && !table.iter().any(|endpoint| endpoint.address == own.address) {
                removed.push(own.address);
            }
        }
        self.journal.endpoints = kept;
        for address in removed {
            self.refuse(address, now, "another program has removed its endpoint".into());
        }
    }

    fn refuse(&mut self, address: IpAddr, now: Nanos, why: String) {
        let times = self.refused.get(&address).map_or(0, |refused| refused.times);
        self.refused.insert(address, Refused::after(times, now, why));
    }

    /// The steps to what is wanted. Removals come first: an interface's old address goes before its new one
    /// comes, and ids are free again.
    fn steps(&self, wanted: &[Wanted], table: &[Endpoint], now: Nanos, outcome: &mut Outcome) -> Vec<Step> {
        let mut steps = vec![];
        let is_wanted = |own: &Own| wanted.iter().any(|wanted| own.serves(wanted));
        for own in self.journal.endpoints.iter().filter(|own| !is_wanted(own)) {
            steps.push(Step::Remove(own.clone()));
        }
        let mut taken: Vec<AddressId> = table.iter().filter_map(|endpoint| endpoint.id).collect();
        for wanted in wanted {
            let own = self.journal.endpoints.iter().find(|own| own.serves(wanted));
            if let Some(own) = own.filter(|_| wanted.renew) {
                // With another id: the kernel holds the present one to be in use.
                if let Some(id) = (1..=u8::MAX).map(AddressId).find(|id| !taken.contains(id)) {
                    taken.push(id);
                    steps.push(Step::Remove(own.clone()));
                    steps.push(Step::Add(Own::new(wanted, id, false)));
                }
                continue;
            }
            if let Some(own) = own {
                if own.backup != wanted.backup || !own.is_certain() {
                    steps.push(Step::SetBackup(own.clone(), wanted.backup));
                }
                continue;
            }
            let is_removed = |address: IpAddr| {
                self.journal.endpoints.iter().any(|own| own.address == address && !is_wanted(own))
            };
            let there = table.iter().find(|there| there.address == wanted.address);
            let implicit = there.filter(|there| is_implicit(there)).and_then(|there| there.id);
            if there.is_some() && implicit.is_none() && !is_removed(wanted.address) {
                outcome.conflicts.insert(wanted.address, OF_ANOTHER.into());
                continue;
            }
            if let Some(refused) = self.refused.get(&wanted.address).filter(|refused| refused.until > now) {
                outcome.conflicts.insert(wanted.address, refused.why.clone());
                continue;
            }
            let free = || (1..=u8::MAX).map(AddressId).find(|id| !taken.contains(id));
            let Some(id) = implicit.or_else(free) else {
                outcome.conflicts.insert(wanted.address, "all 255 ids of endpoints are taken".into());
                continue;
            };
            taken.push(id);
            steps.push(Step::Add(Own::new(wanted, id, implicit.is_some())));
        }
        steps
    }

    /// The limits before and after, if they have to change.
    fn wanted_limits(&mut self, wanted: &[Wanted]) -> Result<Option<(Limits, Limits)>> {
        let now = self.table.limits()?;
        if let Some(limits) = self.journal.limits
            && !limits.is_ours(now)
        {
            self.journal.limits = None;
            self.limits_of_others = true;
        }
        if self.limits_of_others {
            return Ok(None);
        }
        let before = self.journal.limits.map_or(now, |limits| limits.before);
        let needed = (wanted.len() as u32).min(MOST_SUBFLOWS);
        let after = Limits { extra_subflows: before.extra_subflows.max(needed), ..now };
        Ok((after != now).then_some((now, after)))
    }

    /// What may be ours from now on.
    fn note(&mut self, steps: &[Step], limits: Option<(Limits, Limits)>) {
        if let Some((now, after)) = limits {
            let before = self.journal.limits.map_or(now, |limits| limits.before);
            self.journal.limits = Some(LimitsSet { before, set: after, was: Some(now) });
        }
        for step in steps {
            match step {
                Step::Remove(own) => self.journal.doubt(own.id),
                Step::SetBackup(own, backup) => self.journal.doubt_backup(own.id, *backup),
                Step::Add(own) => self.journal.endpoints.push(own.clone()),
            }
        }
    }

    fn forget_limits(&mut self, now: Limits) {
        self.journal.limits = self
            .journal
            .limits
            .filter(|limits| limits.before != now)
            .map(|limits| LimitsSet { set: now, was: None, ..limits });
    }

    fn take(&mut self, step: Step, now: Nanos, outcome: &mut Outcome) {
        let (own, done) = match step {
            Step::Remove(own) => {
                let done = self.table.delete(own.id);
                if done.is_ok() {
                    self.journal.drop(own.id);
                }
                (own, done)
            }
            Step::SetBackup(own, backup) => {
                let done = self.table.set_flags(own.id, backup, own.fullmesh);
                if done.is_err() {
                    self.journal.doubt_backup(own.id, own.backup);
                }
                (own, done)
            }
            Step::Add(own) => {
                let done = self.table.add(&own.request());
                if done.is_err() {
                    self.journal.drop(own.id);
                }
                (own, done)
            }
        };
        match done {
            Ok(()) => {
                outcome.changes += 1;
                // An hour without a further refusal, and it begins with short intervals again.
                self.refused.retain(|_, refused| now.saturating_sub(refused.until) < Nanos::from_secs(3600));
            }
            Err(error) => {
                let why = error.to_string();
                outcome.conflicts.insert(own.address, why.clone());
                self.refuse(own.address, now, why);
            }
        }
    }
}

/// Whether the kernel has made an endpoint for itself, which one that is set replaces.
fn is_implicit(endpoint: &Endpoint) -> bool {
    !(endpoint.subflow || endpoint.signal || endpoint.backup || endpoint.fullmesh)
}

/// One change.
#[derive(Clone, Debug)]
enum Step {
    Remove(Own),
    SetBackup(Own, bool),
    Add(Own),
}
