//! Takes over endpoints of other programs, and gives them back as they were.
//!
//! Taking over changes only the journal: it keeps the endpoint as it was found, and lists it among
//! ours. From then on it is changed, removed and added again like an endpoint of ours, and keeps
//! its id, its port and the flags that its role does not decide. An endpoint that another program
//! changes afterwards belongs to that program until it is removed.

use std::collections::BTreeMap;
use std::net::IpAddr;

use joulepath_kernel::Result;
use joulepath_kernel::mptcp::path_manager::Endpoint;
use joulepath_model::units::Nanos;

use super::Actor;
use super::journal::{Own, Store};
use super::table::Table;
use crate::decide::Wanted;

/// The machine's addresses; true where endpoints of other programs are taken over.
pub type Reach = BTreeMap<IpAddr, bool>;

impl<T: Table, S: Store> Actor<T, S> {
    /// Sets where endpoints of other programs are taken over; `None`: nowhere. Takes effect with
    /// the next change.
    pub fn adopt(&mut self, reach: Option<Reach>) {
        self.reach = reach;
    }

    /// Notes what other programs have changed, and takes over their endpoints: those that open
    /// subflows, and those whose address is wanted.
    pub(super) fn take_over(&mut self, table: &[Endpoint], wanted: &[Wanted], now: Nanos) {
        self.take_stock(table, now);
        self.journal
            .respected
            .retain(|address| table.iter().any(|there| there.is_at(*address)));
        let Some(reach) = &self.reach else { return };
        let journal = &mut self.journal;
        let adopted = journal.adopted.iter().map(|found| found.address);
        self.away
            .extend(adopted.filter(|address| !reach.contains_key(address)));
        let is_wanted = |there: &Endpoint| wanted.iter().any(|one| there.is_at(one.address));
        let takes = |there: &&Endpoint| {
            !there.is_implicit() && (there.opens_subflows() || is_wanted(there))
        };
        for there in table.iter().filter(takes) {
            let address = there.address;
            let is_reached = reach.get(&address) == Some(&true) && there.port.is_none();
            if !is_reached
                || journal.respected.contains(&address)
                || journal.owned_id(there).is_some()
            {
                continue;
            }
            let was_adopted = journal.adopted.iter().any(|found| found.address == address);
            journal.adopted.retain(|found| found.address != address);
            // A program that sets its endpoint again when its address returns has changed none of
            // ours.
            if was_adopted && !self.away.remove(&address) {
                journal.respected.insert(address);
            } else if let Some(own) = Own::adopted(there) {
                journal.adopted.push(there.clone());
                journal.endpoints.push(own);
            }
        }
    }

    /// True if the endpoint of `address` was taken over, and may no longer be.
    pub(super) fn releases(&self, address: IpAddr) -> bool {
        let is_released = self
            .reach
            .as_ref()
            .is_none_or(|reach| reach.get(&address) == Some(&false));
        is_released
            && self
                .journal
                .adopted
                .iter()
                .any(|found| found.address == address)
    }

    /// Gives back the endpoints for which `is_due`, except where another endpoint of ours has the
    /// address. Returns the number of changes. An error of one endpoint does not keep the others.
    pub(super) fn give_back(&mut self, is_due: impl Fn(&Self, IpAddr) -> bool) -> Result<usize> {
        if !self
            .journal
            .adopted
            .iter()
            .any(|found| is_due(self, found.address))
        {
            return Ok(0);
        }
        let table = self.table.endpoints()?;
        let is_due =
            |found: &&Endpoint| is_due(self, found.address) && !self.is_replaced(found, &table);
        let due: Vec<Endpoint> = self
            .journal
            .adopted
            .iter()
            .filter(is_due)
            .cloned()
            .collect();
        for found in &due {
            match table.iter().find(|there| there.is_at(found.address)) {
                None => self.journal.returns(found, None),
                Some(there) => {
                    if let Some(id) = self.journal.owned_id(there) {
                        self.journal.returns(found, Some(id));
                    }
                }
            }
        }
        // Without a record, the next process takes what was given back for another program's
        // change.
        let _ = self.save();
        let (mut changes, mut failed) = (0, None);
        for found in due {
            match self.give_one_back(&found, &table) {
                Ok(changed) => {
                    changes += usize::from(changed);
                    self.journal
                        .endpoints
                        .retain(|own| own.address != found.address);
                    self.journal.adopted.retain(|one| *one != found);
                }
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        failed.map_or(Ok(changes), Err)
    }

    /// Gives all back. Restores the limits first: the endpoints then open no more subflows than
    /// they would have without us.
    pub(super) fn give_all_back(&mut self) -> Result<usize> {
        let table = self.table.endpoints()?;
        if self
            .journal
            .adopted
            .iter()
            .any(|found| !self.is_replaced(found, &table))
        {
            let limits = self.table.limits()?;
            self.undo_limits(limits)?;
        }
        self.give_back(|_, _| true)
    }

    /// True if another endpoint of ours has its address.
    fn is_replaced(&self, found: &Endpoint, table: &[Endpoint]) -> bool {
        let there = table.iter().find(|there| there.is_at(found.address));
        there.is_some_and(|there| self.journal.owned_id(there).is_some() && !is_same(there, found))
    }

    /// True if this changed the kernel's table.
    fn give_one_back(&mut self, found: &Endpoint, table: &[Endpoint]) -> Result<bool> {
        let Some(there) = table.iter().find(|there| there.is_at(found.address)) else {
            let is_taken = table.iter().any(|there| there.id == found.id);
            let id = found.id.filter(|_| !is_taken);
            return self
                .table
                .add(&Endpoint {
                    id,
                    ..found.clone()
                })
                .map(|()| true);
        };
        match self.journal.owned_id(there) {
            Some(id) if there.backup != found.backup => self
                .table
                .set_flags(id, found.backup, found.fullmesh)
                .map(|()| true),
            None if there.is_implicit() => self
                .table
                .add(&Endpoint {
                    id: None,
                    ..found.clone()
                })
                .map(|()| true),
            // As it was found, or of another program.
            _ => Ok(false),
        }
    }
}

/// True if the endpoints differ in their priority at most.
fn is_same(there: &Endpoint, found: &Endpoint) -> bool {
    *there
        == Endpoint {
            backup: there.backup,
            ..found.clone()
        }
}
