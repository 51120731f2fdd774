//! Makes the kernel's endpoints match the wanted ones, and restores the settings found at the
//! start.
//!
//! A change is journalled before it is made and confirmed after it, so that after SIGKILL at any
//! instant the next start knows everything that may be ours:
//!
//! ```text
//!   journal: "these may be ours"  ──►  the kernel, step by step  ──►  journal: "these are ours"
//! ```
//! An endpoint that cannot be journalled is not added. An endpoint that must go is removed in any
//! case: the journal already lists it.
//!
//! **No connection is cut off** because an endpoint is no longer wanted or the daemon ends.
//!
//! **Only endpoints that are ours and unchanged are touched.** Endpoints of other programs are
//! changed only if they may be taken over (`adopt`), and are given back as they were. An endpoint
//! of ours that another program changes belongs to that program from then on. An endpoint of ours
//! that another program removes is added again, at growing intervals.
//!
//! | module | what |
//! |---|---|
//! | `adopt` | takes over endpoints of other programs |
//! | `journal` | our changes, on disk |
//! | `needed` | connections that an endpoint's removal would cut off |
//! | `undo` | restores the settings found at the start |
//! | `setting` | congestion controller and path manager of new sockets |
//! | `table` | the kernel's endpoints, limits and settings |

mod adopt;
mod journal;
mod needed;
mod setting;
mod table;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_of_the_end;
mod undo;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use joulepath_kernel::Result;
use joulepath_kernel::mptcp::AddressId;
use joulepath_kernel::mptcp::path_manager::{Endpoint, Limits};
use joulepath_kernel::reactor::thread_cpu_ns;
use joulepath_model::units::Nanos;

pub use self::adopt::Reach;
pub(crate) use self::journal::FOLDER;
pub use self::journal::{Journal, OnDisk, Store};
use self::journal::{LimitsSet, Own};
pub(crate) use self::needed::pause_after;
use self::needed::{Closing, Staying};
pub use self::table::{Kernel, Setting, Table};
use crate::decide::Wanted;

/// Delay before adding an endpoint again that another program removed; doubles each time.
const AGAIN: Nanos = Nanos::from_secs(30);
const MOST_DOUBLINGS: u32 = 7;

/// Why an address has no endpoint of ours.
const OF_ANOTHER: &str = "another program has set this endpoint: left unchanged";

/// Applies wanted endpoints and settings to a [`Table`], and undoes them.
#[derive(Debug)]
pub struct Actor<T, S> {
    table: T,
    store: S,
    journal: Journal,
    /// The journal as last written; `None` if there is no record.
    on_disk: Option<Journal>,
    /// After an undo: endpoints that stay for connections.
    staying: Option<Staying>,
    /// Until then, unwanted backups count as needed without a new listing.
    needed: Option<Nanos>,
    /// Addresses whose endpoint another program removed or the kernel refused.
    refused: BTreeMap<IpAddr, Refused>,
    /// True if another program changed the limits: they are left alone.
    limits_of_others: bool,
    standings: BTreeMap<Setting, Standing>,
    /// Where endpoints of other programs are taken over.
    reach: Option<Reach>,
    /// Addresses of endpoints that were taken over, which the machine has lost since.
    away: BTreeSet<IpAddr>,
}

#[derive(Clone, Debug)]
struct Refused {
    times: u32,
    until: Nanos,
    why: String,
}

/// State of a setting that is not in the journal.
#[derive(Clone, Debug, Default)]
struct Standing {
    /// True if another program changed it: it is left alone.
    of_others: bool,
    refused: Option<Refused>,
}

/// Result of a round.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Number of changes made.
    pub changes: usize,
    /// Errors by address and interface.
    pub conflicts: BTreeMap<(IpAddr, u32), String>,
    /// Addresses for which another program's endpoint opens subflows.
    pub others: BTreeSet<IpAddr>,
    /// Addresses of endpoints of other programs that are taken over.
    pub adopted: BTreeSet<IpAddr>,
    /// After an undo: addresses whose endpoints stay, and the number of connections without another
    /// path.
    pub stays: BTreeMap<IpAddr, usize>,
    /// When to retry.
    pub again: Option<Nanos>,
    /// Why a setting lacks its wanted value.
    pub settings: BTreeMap<Setting, String>,
}

impl Outcome {
    /// Addresses and interfaces whose endpoints another program has set.
    pub fn of_another(&self) -> impl Iterator<Item = (IpAddr, u32)> {
        self.conflicts
            .iter()
            .filter(|(_, why)| *why == OF_ANOTHER)
            .map(|(place, _)| *place)
    }

    /// Counts the endpoints of other programs on these interfaces as conflicts: they open subflows,
    /// whatever the decision says.
    pub fn disputes(&mut self, places: impl Iterator<Item = (IpAddr, u32)>) {
        let of_others = places.filter(|(address, _)| self.others.contains(address));
        self.conflicts
            .extend(of_others.map(|place| (place, OF_ANOTHER.into())));
    }

    /// One line per endpoint that stays: why, and until when.
    pub fn staying(&self) -> impl Iterator<Item = String> {
        self.stays.iter().map(|(address, count)| {
            let connections =
                if *count == 1 { "1 connection has".into() } else { format!("{count} connections have") };
            format!(
                "the endpoint {address} stays: {connections} no other working path; it is removed when they \
                 have ended or have another path"
            )
        })
    }

    fn wait_until(&mut self, at: Nanos) {
        self.again = Some(self.again.map_or(at, |again| again.min(at)));
    }
}

impl Refused {
    /// A refusal after `times` earlier ones.
    fn after(times: u32, now: Nanos, why: String) -> Self {
        let until = now.saturating_add(Nanos(AGAIN.0 << times.min(MOST_DOUBLINGS)));
        Refused {
            times: times + 1,
            until,
            why,
        }
    }
}

impl<T: Table, S: Store> Actor<T, S> {
    /// Takes over what an earlier process left.
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
            reach: None,
            away: BTreeSet::new(),
        })
    }

    /// True if something may be ours.
    pub fn has_something(&self) -> bool {
        !self.journal.is_empty()
    }

    /// Makes our part of the table match `wanted`; `None` restores the settings found at the start.
    /// An unwanted endpoint whose address and interface are in `spare` stays as a backup while a
    /// connection has no other path.
    ///
    /// # Errors
    /// If a request to the kernel fails, or the journal cannot be written; unwanted endpoints are
    /// removed even then. Refused endpoints are in the outcome instead.
    pub fn reconcile(
        &mut self,
        wanted: Option<&[Wanted]>,
        spare: &[(IpAddr, u32)],
        now: Nanos,
    ) -> Result<Outcome> {
        let Some(wanted) = wanted else {
            return self.undo(now);
        };
        let mut outcome = Outcome::default();
        let mut wanted = distinct(wanted, &mut outcome);
        let mut table = self.table.endpoints()?;
        self.take_over(&table, &wanted, now);
        let given = self.give_back(Self::releases);
        wanted.retain(|one| !self.releases(one.address));
        if !matches!(given, Ok(0)) {
            table = self.table.endpoints()?;
        }
        outcome.adopted = self
            .journal
            .adopted
            .iter()
            .map(|found| found.address)
            .collect();
        let is_own = |there: &&Endpoint| {
            self.journal
                .endpoints
                .iter()
                .any(|own| own.address == there.address)
        };
        let of_others = table
            .iter()
            .filter(|there| there.opens_subflows() && !is_own(there));
        outcome.others = of_others.map(|there| there.address).collect();
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
                steps.retain(|step| step.only_removes(&wanted) && self.is_recorded(step));
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
        outcome.changes += given?;
        let waiting = self
            .refused
            .iter()
            .filter(|(_, refused)| refused.until > now);
        outcome.again = waiting.map(|(_, refused)| refused.until).min();
        Ok(outcome)
    }

    /// True if the journal on disk has the endpoint of this step.
    fn is_recorded(&self, step: &Step) -> bool {
        let (Step::Remove(own) | Step::SetBackup(own, _) | Step::Add(own)) = step;
        let recorded = self.on_disk.iter().flat_map(|journal| &journal.endpoints);
        recorded
            .into_iter()
            .any(|one| (one.id, one.address) == (own.id, own.address))
    }

    /// Writes the journal if it has changed.
    fn save(&mut self) -> Result<()> {
        if self.on_disk.as_ref() != Some(&self.journal) {
            self.store.write(&self.journal)?;
            self.on_disk = Some(self.journal.clone());
        }
        Ok(())
    }

    /// Closes the initial subflows that have one of these addresses. Nothing is journalled, because
    /// this cannot be undone.
    ///
    /// # Errors
    /// As [`Table::delete_first`].
    pub fn close_first(&mut self, mut addresses: impl Iterator<Item = IpAddr>) -> Result<()> {
        addresses.try_for_each(|address| self.table.delete_first(address))
    }

    /// Restores a setting that an earlier process changed.
    ///
    /// # Errors
    /// If the kernel refuses, or the journal cannot be written.
    pub fn undo_setting(&mut self, setting: Setting, now: Nanos) -> Result<()> {
        self.set(setting, None, now, &mut Outcome::default())
    }

    /// Forgets endpoints that others removed or changed, and resolves doubts from the kernel's
    /// table.
    fn take_stock(&mut self, table: &[Endpoint], now: Nanos) {
        let (mut kept, mut removed) = (vec![], vec![]);
        for mut own in std::mem::take(&mut self.journal.endpoints) {
            if let Some(there) = table.iter().find(|endpoint| own.is(endpoint)) {
                own.take_state(there);
                kept.push(own);
            } else if own.is_certain() && !table.iter().any(|there| there.is_at(own.address)) {
                removed.push(own.address);
            }
        }
        self.journal.endpoints = kept;
        for address in removed {
            self.journal
                .adopted
                .retain(|found| found.address != address);
            self.refuse(
                address,
                now,
                "another program has removed its endpoint".into(),
            );
        }
    }

    /// `wanted` plus, as backups, our endpoints that connections need.
    fn with_needed(
        &mut self,
        mut wanted: Vec<Wanted>,
        spare: &[(IpAddr, u32)],
        now: Nanos,
    ) -> Result<Vec<Wanted>> {
        let is_adopted = |address: IpAddr| {
            self.journal
                .adopted
                .iter()
                .any(|found| found.address == address)
        };
        let may_stay = |own: &Own| {
            let at = |&(address, interface): &(IpAddr, u32)| {
                address == own.address && (interface == own.interface || is_adopted(address))
            };
            spare.iter().any(at)
        };
        let is_spare = |own: &&Own| may_stay(own) && !wanted.iter().any(|one| own.serves(one));
        let mut spared: Vec<Own> = self
            .journal
            .endpoints
            .iter()
            .filter(is_spare)
            .cloned()
            .collect();
        let was_needed = |own: &Own| self.needed.is_some_and(|until| until > now) && own.backup;
        if !spared.iter().all(was_needed) {
            let begun = thread_cpu_ns();
            let connections = self.table.connections()?;
            let is_needed = |own: &Own| {
                let closing = Closing::new(own.id, own.address);
                connections
                    .iter()
                    .any(|connection| closing.cuts(connection))
            };
            spared.retain(is_needed);
            self.needed = (!spared.is_empty()).then(|| now.saturating_add(pause_after(begun)));
        }
        for own in spared {
            // The kernel accepts an address once.
            // It keeps its role if it lacks only `laminar`, which the kernel cannot change.
            let would_do = |one: &Wanted| {
                own.serves(&Wanted {
                    laminar: false,
                    ..one.clone()
                })
            };
            let backup = wanted
                .iter()
                .find(|one| would_do(one))
                .is_none_or(|one| one.backup);
            wanted.retain(|one| one.address != own.address);
            wanted.push(Wanted {
                backup,
                ..own.wanted()
            });
        }
        Ok(wanted)
    }

    fn refuse(&mut self, address: IpAddr, now: Nanos, why: String) {
        let times = self
            .refused
            .get(&address)
            .map_or(0, |refused| refused.times);
        self.refused
            .insert(address, Refused::after(times, now, why));
    }

    /// The steps to `wanted`. Removals come first, so that an interface's old address goes before
    /// its new one comes, and ids become free.
    fn steps(
        &self,
        wanted: &[Wanted],
        table: &[Endpoint],
        now: Nanos,
        outcome: &mut Outcome,
    ) -> Vec<Step> {
        let mut steps = vec![];
        let is_wanted = |own: &Own| wanted.iter().any(|wanted| own.serves(wanted));
        for own in self.journal.endpoints.iter().filter(|own| !is_wanted(own)) {
            steps.push(Step::Remove(own.clone()));
        }
        let mut taken: Vec<AddressId> = table.iter().filter_map(|endpoint| endpoint.id).collect();
        let reserved: Vec<AddressId> = self
            .journal
            .adopted
            .iter()
            .filter_map(|found| found.id)
            .collect();
        let free = |taken: &[AddressId]| {
            (1..=u8::MAX)
                .map(AddressId)
                .find(|id| !taken.contains(id) && !reserved.contains(id))
        };
        for wanted in wanted {
            let found = self
                .journal
                .adopted
                .iter()
                .find(|found| found.address == wanted.address);
            let own = self.journal.endpoints.iter().find(|own| own.serves(wanted));
            if let Some(own) = own.filter(|_| wanted.renew) {
                // With a new id, because the kernel considers the present one used.
                if let Some(id) = free(&taken) {
                    taken.push(id);
                    steps.push(Step::Remove(own.clone()));
                    steps.push(Step::Add(Own::new(wanted, id, false, found)));
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
                self.journal
                    .endpoints
                    .iter()
                    .any(|own| own.address == address && !is_wanted(own))
            };
            let there = table.iter().find(|there| there.is_at(wanted.address));
            let implicit = there
                .filter(|there| there.is_implicit())
                .and_then(|there| there.id);
            if there.is_some() && implicit.is_none() && !is_removed(wanted.address) {
                outcome
                    .conflicts
                    .insert((wanted.address, wanted.interface), OF_ANOTHER.into());
                continue;
            }
            if let Some(refused) = self
                .refused
                .get(&wanted.address)
                .filter(|refused| refused.until > now)
            {
                outcome
                    .conflicts
                    .insert((wanted.address, wanted.interface), refused.why.clone());
                continue;
            }
            let of_found = || {
                found
                    .and_then(|found| found.id)
                    .filter(|id| !taken.contains(id))
            };
            let Some(id) = implicit.or_else(of_found).or_else(|| free(&taken)) else {
                outcome.conflicts.insert(
                    (wanted.address, wanted.interface),
                    "all 255 endpoint ids are in use".into(),
                );
                continue;
            };
            taken.push(id);
            steps.push(Step::Add(Own::new(wanted, id, implicit.is_some(), found)));
        }
        steps
    }

    /// The limits before and after, if they must change.
    fn wanted_limits(&mut self, wanted: &[Wanted]) -> Result<Option<(Limits, Limits)>> {
        let now = self.table.limits()?;
        if let Some(limits) = &mut self.journal.limits {
            match limits.is_ours(now) {
                true => (limits.set, limits.was) = (now, None),
                false => (self.journal.limits, self.limits_of_others) = (None, true),
            }
        }
        if self.limits_of_others {
            return Ok(None);
        }
        let before = self.journal.limits.map_or(now, |limits| limits.before);
        // The decision wants no more endpoints than the kernel allows, and as many subflows.
        let needed = wanted.len() as u32;
        let announced = u32::from(wanted.iter().any(|one| one.laminar));
        let after = Limits {
            extra_subflows: before.extra_subflows.max(needed),
            accepted_addresses: before.accepted_addresses.max(announced),
        };
        Ok((after != now).then_some((now, after)))
    }

    /// Journals the steps before they are made.
    fn note(&mut self, steps: &[Step], limits: Option<(Limits, Limits)>) {
        if let Some((now, after)) = limits {
            let before = self.journal.limits.map_or(now, |limits| limits.before);
            self.journal.limits = Some(LimitsSet {
                before,
                set: after,
                was: Some(now),
            });
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
            .map(|limits| LimitsSet {
                set: now,
                was: None,
                ..limits
            });
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
                // After an hour without a refusal, intervals start short again.
                self.refused.retain(|_, refused| {
                    now.saturating_sub(refused.until) < Nanos::from_secs(3600)
                });
            }
            Err(error) => {
                let why = error.to_string();
                outcome
                    .conflicts
                    .insert((own.address, own.interface), why.clone());
                self.refuse(own.address, now, why);
            }
        }
    }
}

/// The first wish for each address: the kernel accepts an address once.
fn distinct(wanted: &[Wanted], outcome: &mut Outcome) -> Vec<Wanted> {
    let mut first: Vec<Wanted> = vec![];
    for one in wanted {
        if first.iter().any(|other| other.address == one.address) {
            let why = "another interface has the same address, and the kernel accepts an address only once: \
                       this interface gets no endpoint";
            outcome
                .conflicts
                .insert((one.address, one.interface), why.into());
        } else {
            first.push(one.clone());
        }
    }
    first
}

#[derive(Clone, Debug)]
enum Step {
    Remove(Own),
    SetBackup(Own, bool),
    Add(Own),
}

impl Step {
    /// True if it removes an endpoint without a wanted replacement.
    fn only_removes(&self, wanted: &[Wanted]) -> bool {
        matches!(self, Step::Remove(own) if !wanted.iter().any(|wanted| own.serves(wanted)))
    }
}
