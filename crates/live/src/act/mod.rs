//! From endpoints that are wanted to endpoints that are there, and back to what was found.
//!
//! What is going to be changed is noted first, and what has been changed after, so that after SIGKILL at any
//! instant the next start knows all that may be ours:
//!
//! ```text
//!   journal: "these may be ours"  ──►  the kernel, step by step  ──►  journal: "these are ours"
//! ```
//! What cannot be noted is not added. An endpoint that must go goes all the same: the note that it is ours
//! stands already.
//!
//! **No connection is cut off** for an endpoint that is only not wanted any more, nor by the end.
//!
//! **Only what is ours and still as we left it is touched.** An endpoint that another program has set is
//! never changed; one of ours that another has changed is his from then on; one of ours that another has
//! removed is added again, at ever longer intervals.
//!
//! | module | what |
//! |---|---|
//! | `journal` | what is ours, on disk |
//! | `needed` | which connections an endpoint may not be taken from |
//! | `undo` | back to what was found |
//! | `setting` | what new sockets get: the congestion controller, the path manager |
//! | `table` | the kernel's endpoints, limits and settings |

mod journal;
mod needed;
mod setting;
mod table;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_of_the_end;
mod undo;

use std::collections::BTreeMap;
use std::net::IpAddr;

use joulepath_kernel::Result;
use joulepath_kernel::mptcp::AddressId;
use joulepath_kernel::mptcp::path_manager::{Endpoint, Limits};
use joulepath_kernel::reactor::thread_cpu_ns;
use joulepath_model::units::Nanos;

pub(crate) use self::journal::FOLDER;
pub use self::journal::{Journal, OnDisk, Store};
use self::journal::{LimitsSet, Own};
use self::needed::{Closing, Staying, pause_after};
pub use self::table::{Kernel, Setting, Table};
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
    /// What was written last; none: there is no record.
    on_disk: Option<Journal>,
    /// After an undo: what stays for connections.
    staying: Option<Staying>,
    /// Until then backups that are not wanted count as needed, as they were at the last listing.
    needed: Option<Nanos>,
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
    /// What stands in the way, by address and interface.
    pub conflicts: BTreeMap<(IpAddr, u32), String>,
    /// After an undo: addresses whose endpoints stay, and how many connections have no other path.
    pub stays: BTreeMap<IpAddr, usize>,
    /// When something that was refused is tried again.
    pub again: Option<Nanos>,
    /// Why new sockets do not get what is wanted, if so.
    pub settings: BTreeMap<Setting, String>,
}

impl Outcome {
    /// Whether another program has set the endpoint of an address on an interface.
    pub fn is_of_another(&self, address: IpAddr, interface: u32) -> bool {
        self.conflicts.get(&(address, interface)).is_some_and(|why| why == OF_ANOTHER)
    }

    /// What stays, why, and when it goes: a line for each endpoint.
    pub fn staying(&self) -> impl Iterator<Item = String> {
        self.stays.iter().map(|(address, count)| {
            let connections =
                if *count == 1 { "1 connection has".into() } else { format!("{count} connections have") };
            format!(
                "the endpoint {address} stays: {connections} no other path that works, and the kernel closes \
                 an endpoint's subflows with it; it goes when they have ended, or have another path"
            )
        })
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
        let on_disk = store.read()?;
        Ok(Actor {
            table,
            store,
            journal: on_disk.clone().unwrap_or_default(),
            on_disk,
            staying: None,
            needed: None,
            refused: BTreeMap::new(),
            limits_of_others: false,
            standings: BTreeMap::new(),
        })
    }

    /// Whether something may be ours.
    pub fn has_something(&self) -> bool {
        !self.journal.is_empty()
    }

    /// Brings the table to what is wanted, as far as it is ours; none: back to what was found. An endpoint
    /// that is not wanted, of an address and interface in `spare`, stays as a backup for as long as a
    /// connection has no other path.
    ///
    /// # Errors
    /// If the kernel cannot be asked, or the journal not be written: then endpoints that are not wanted have
    /// gone nevertheless. Single endpoints that are refused are told in the outcome.
    pub fn reconcile(
        &mut self,
        wanted: Option<&[Wanted]>,
        spare: &[(IpAddr, u32)],
        now: Nanos,
    ) -> Result<Outcome> {
        let Some(wanted) = wanted else { return self.undo(now) };
        let mut outcome = Outcome::default();
        let wanted = distinct(wanted, &mut outcome);
        let table = self.table.endpoints()?;
        self.take_stock(&table, now);
        self.staying = None;
        self.journal.kept = None;
        let wanted = self.with_needed(wanted, spare, now)?;
        let mut steps = self.steps(&wanted, &table, now, &mut outcome);
        let limits = self.wanted_limits(&wanted)?;
        if !steps.is_empty() || limits.is_some() {
            let before = self.journal.clone();
            self.note(&steps, limits);
            let noted = self.save();
            if noted.is_err() {
                self.journal = before;
                steps.retain(|step| step.only_removes(&wanted));
            } else if let Some((before, after)) = limits {
                match self.table.set_limits(after) {
                    Ok(()) => outcome.changes += 1,
                    Err(_) => self.forget_limits(before),
                }
            }
            for step in steps {
                self.take(step, now, &mut outcome);
            }
            self.journal.settle();
            noted?;
        }
        if self.on_disk.is_some() {
            self.save()?;
        }
        let waiting = self.refused.iter().filter(|(_, refused)| refused.until > now);
        outcome.again = waiting.map(|(_, refused)| refused.until).min();
        Ok(outcome)
    }

    /// Writes the journal, unless it is on disk as it is.
    fn save(&mut self) -> Result<()> {
        if self.on_disk.as_ref() != Some(&self.journal) {
            self.store.write(&self.journal)?;
            self.on_disk = Some(self.journal.clone());
        }
        Ok(())
    }

    /// Closes the first subflows that have one of these addresses. Nothing of that can be put back, so that
    /// nothing is noted.
    ///
    /// # Errors
    /// Those of [`Table::delete_first`].
    pub fn close_first(&mut self, addresses: &[IpAddr]) -> Result<()> {
        addresses.iter().try_for_each(|&address| self.table.delete_first(address))
    }

    /// Puts back one setting that an earlier process has left.
    ///
    /// # Errors
    /// If the kernel refuses, or the journal cannot be written.
    pub fn undo_setting(&mut self, setting: Setting, now: Nanos) -> Result<()> {
        self.set(setting, None, now, &mut Outcome::default())
    }

    /// Forgets what others have removed or changed. What was in doubt is known by the kernel's table.
    fn take_stock(&mut self, table: &[Endpoint], now: Nanos) {
        let (mut kept, mut removed) = (vec![], vec![]);
        for mut own in std::mem::take(&mut self.journal.endpoints) {
            if let Some(there) = table.iter().find(|endpoint| own.is(endpoint)) {
                own.was_found(there);
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

    /// What is wanted, and as backups those of ours that connections have no other path than.
    fn with_needed(
        &mut self,
        mut wanted: Vec<Wanted>,
        spare: &[(IpAddr, u32)],
        now: Nanos,
    ) -> Result<Vec<Wanted>> {
        let is_spare = |own: &&Own| {
            spare.contains(&(own.address, own.interface)) && !wanted.iter().any(|one| own.serves(one))
        };
        let mut spared: Vec<Own> = self.journal.endpoints.iter().filter(is_spare).cloned().collect();
        let was_needed = |own: &Own| self.needed.is_some_and(|until| until > now) && own.backup;
        if !spared.iter().all(was_needed) {
            let begun = thread_cpu_ns();
            let connections = self.table.connections()?;
            let is_needed = |own: &Own| {
                let closing = Closing::new(own.id, own.address);
                connections.iter().any(|connection| closing.cuts(connection))
            };
            spared.retain(is_needed);
            self.needed = (!spared.is_empty()).then(|| now.saturating_add(pause_after(begun)));
        }
        for own in spared {
            // The kernel takes an address once.
            wanted.retain(|one| one.address != own.address);
            wanted.push(Wanted { backup: true, ..own.wanted() });
        }
        Ok(wanted)
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
                if own.backup != wanted.backup {
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
                outcome.conflicts.insert((wanted.address, wanted.interface), OF_ANOTHER.into());
                continue;
            }
            if let Some(refused) = self.refused.get(&wanted.address).filter(|refused| refused.until > now) {
                outcome.conflicts.insert((wanted.address, wanted.interface), refused.why.clone());
                continue;
            }
            let free = || (1..=u8::MAX).map(AddressId).find(|id| !taken.contains(id));
            let Some(id) = implicit.or_else(free) else {
                outcome
                    .conflicts
                    .insert((wanted.address, wanted.interface), "all 255 ids of endpoints are taken".into());
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
                outcome.conflicts.insert((own.address, own.interface), why.clone());
                self.refuse(own.address, now, why);
            }
        }
    }
}

/// Whether the kernel has made an endpoint for itself, which one that is set replaces.
fn is_implicit(endpoint: &Endpoint) -> bool {
    !(endpoint.subflow || endpoint.signal || endpoint.backup || endpoint.fullmesh)
}

/// One endpoint for each address, the first one: the kernel takes no second.
fn distinct(wanted: &[Wanted], outcome: &mut Outcome) -> Vec<Wanted> {
    let mut first: Vec<Wanted> = vec![];
    for one in wanted {
        if first.iter().any(|other| other.address == one.address) {
            let why = "another interface has the same address, and the kernel takes an address once: this \
                       one gets no endpoint";
            outcome.conflicts.insert((one.address, one.interface), why.into());
        } else {
            first.push(one.clone());
        }
    }
    first
}

/// One change.
#[derive(Clone, Debug)]
enum Step {
    Remove(Own),
    SetBackup(Own, bool),
    Add(Own),
}

impl Step {
    /// Whether it removes an endpoint in whose place none is wanted.
    fn only_removes(&self, wanted: &[Wanted]) -> bool {
        matches!(self, Step::Remove(own) if !wanted.iter().any(|wanted| own.serves(wanted)))
    }
}
