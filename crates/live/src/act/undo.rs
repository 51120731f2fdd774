//! Restores the settings found at the start without cutting off a connection.
//!
//! An endpoint stays while a connection has no other working subflow (`needed`). Meanwhile the
//! limit of extra subflows is 0, unless other programs have endpoints: new connections then open no
//! subflow from a remaining endpoint, and the kernel does not tie their initial subflow to one. So
//! the endpoint can go when the old connections have ended, whatever has started since. The journal
//! has the remaining endpoints and those connections.

use joulepath_kernel::Result;
use joulepath_kernel::mptcp::path_manager::{Endpoint, Limits};
use joulepath_kernel::reactor::thread_cpu_ns;
use joulepath_model::units::Nanos;

use super::journal::{Journal, Kept, LimitsSet, Store};
use super::needed::{Closing, Staying, pause_after};
use super::table::Table;
use super::{Actor, Outcome};

/// A socket created while the limit was above 0 is tied when it connects, at most this much later.
/// The first listing after that is the last one that ties connections.
const GRACE: Nanos = Nanos::from_secs(3);
impl<T: Table, S: Store> Actor<T, S> {
    /// Restores everything that is ours and unchanged, except endpoints that connections need. The
    /// outcome has those endpoints and the time of the next attempt.
    ///
    /// # Errors
    /// If the kernel refuses. The rest stays in the journal, and the undo may be repeated.
    pub fn undo(&mut self, now: Nanos) -> Result<Outcome> {
        self.restore(true, now)
    }

    /// As [`Self::undo`], for endpoints and limits alone. Subflows are opened from none of the
    /// endpoints that stay, unless other programs have endpoints.
    ///
    /// # Errors
    /// As [`Self::undo`].
    pub fn withdraw(&mut self, now: Nanos) -> Result<Outcome> {
        let table = self.table.endpoints()?;
        let before = self.journal.clone();
        self.take_over(&table, &[], now);
        let given = self.give_back(Self::releases);
        let saved = if self.journal.adopted.is_empty() {
            Ok(())
        } else {
            self.save()
        };
        if saved.is_err() {
            self.journal = before;
        }
        let mut outcome = self.restore(false, now)?;
        outcome.adopted = self
            .journal
            .adopted
            .iter()
            .map(|found| found.address)
            .collect();
        outcome.changes += given?;
        saved.map(|()| outcome)
    }

    fn restore(&mut self, with_settings: bool, now: Nanos) -> Result<Outcome> {
        let mut outcome = Outcome::default();
        if self.on_disk.is_none() {
            self.journal = Journal::default();
            return Ok(outcome);
        }
        if let Some(staying) = self.staying.as_ref().filter(|staying| staying.until > now) {
            return Ok(Outcome {
                stays: staying.stays.clone(),
                again: Some(staying.until),
                ..Outcome::default()
            });
        }
        let settings = if with_settings {
            self.undo_settings()
        } else {
            Ok(0)
        };
        let begun = thread_cpu_ns();
        let first = self.table.limits()?;
        let given = if with_settings {
            self.give_all_back()
        } else {
            Ok(0)
        };
        let limits = self.table.limits()?;
        let table = self.table.endpoints()?;
        let are_others = self.has_endpoints_of_others(&table);
        if table
            .iter()
            .any(|there| self.journal.owned_id(there).is_some())
        {
            self.undo_endpoints(&table, limits, now, &mut outcome)?;
        } else {
            self.journal.endpoints.clear();
        }
        // What could not be restored must not block the rest.
        outcome.changes += settings? + given?;
        if with_settings {
            outcome.changes += self.give_all_back()?;
        }
        if outcome.stays.is_empty() {
            outcome.changes += usize::from(self.undo_limits(first)?);
            (self.journal.kept, self.staying) = (None, None);
            if !with_settings {
                self.save()?;
                return Ok(outcome);
            }
            self.store.remove()?;
            self.on_disk = None;
            self.journal = Journal::default();
            self.limits_of_others = false;
            self.standings.clear();
            return Ok(outcome);
        }
        if are_others {
            self.undo_limits(limits)?;
        }
        let after_pause = now.saturating_add(pause_after(begun));
        let is_due = |kept: &Kept| (!kept.complete).then(|| kept.since.saturating_add(GRACE));
        let complete = self.journal.kept.as_ref().and_then(is_due);
        let until = complete.map_or(after_pause, |at| after_pause.min(at));
        outcome.wait_until(until);
        self.staying = Some(Staying {
            until,
            stays: outcome.stays.clone(),
        });
        // The journal on disk already covers this.
        let _ = self.save();
        Ok(outcome)
    }

    /// Restores settings; leaves endpoints and limits to the next process. Returns the number of
    /// changes, and whether anything is left.
    ///
    /// # Errors
    /// If the kernel refuses, or the journal cannot be written.
    pub fn leave(&mut self, now: Nanos) -> Result<(usize, bool)> {
        let changes = self.undo_settings()?;
        if self.journal.is_empty() {
            return Ok((changes + self.undo(now)?.changes, false));
        }
        self.save()?;
        Ok((changes, true))
    }

    /// Removes the endpoints that no connection needs.
    fn undo_endpoints(
        &mut self,
        table: &[Endpoint],
        limits: Limits,
        now: Nanos,
        outcome: &mut Outcome,
    ) -> Result<()> {
        let was_shut = self.is_shut(table, limits);
        self.shut(table, limits)?;
        // Netlink may have taken long since `now`.
        let at = self.table.time().max(now);
        let mut connections = self.table.connections()?;
        let listed = || connections.iter().map(|connection| connection.info.token);
        let kept = match self.journal.kept.take().filter(|_| was_shut) {
            Some(kept) if kept.complete => Kept {
                tied: listed().filter(|token| kept.tied.contains(token)).collect(),
                ..kept
            },
            Some(Kept { since, .. }) => Kept {
                tied: listed().collect(),
                since,
                complete: at >= since.saturating_add(GRACE),
            },
            None => Kept {
                tied: listed().collect(),
                since: at,
                complete: false,
            },
        };
        connections.retain(|connection| kept.tied.contains(&connection.info.token));
        self.journal.kept = Some(kept);
        if !self.journal.adopted.is_empty() {
            // Else the next process takes them for removed by another program.
            self.journal.doubt_adopted();
            let _ = self.save();
        }
        let is_own = |there: &&Endpoint| self.journal.owned_id(there).is_some();
        let mut own: Vec<(Closing, bool)> = table
            .iter()
            .filter(is_own)
            .filter_map(|there| Some((Closing::with(there)?, there.backup)))
            .collect();
        // Endpoints that carry data stay rather than backups.
        own.sort_by_key(|(closing, backup)| (!backup, closing.touches(&connections)));
        for (closing, _) in own {
            let cut = connections
                .iter()
                .filter(|connection| closing.cuts(connection))
                .count();
            if cut > 0 {
                outcome.stays.insert(closing.address, cut);
                continue;
            }
            self.table.delete(closing.id)?;
            self.journal.drop(closing.id);
            connections
                .iter_mut()
                .for_each(|connection| closing.take_from(connection));
            outcome.changes += 1;
        }
        Ok(())
    }

    /// True if no connection started since the last check can need one of our endpoints.
    fn is_shut(&self, table: &[Endpoint], limits: Limits) -> bool {
        limits.extra_subflows == 0 && !self.has_endpoints_of_others(table)
    }

    fn has_endpoints_of_others(&self, table: &[Endpoint]) -> bool {
        table
            .iter()
            .any(|there| self.journal.owned_id(there).is_none() && !there.is_implicit())
    }

    /// Sets the limit of extra subflows to 0, unless other programs have endpoints.
    fn shut(&mut self, table: &[Endpoint], now: Limits) -> Result<()> {
        if now.extra_subflows == 0 || self.has_endpoints_of_others(table) {
            return Ok(());
        }
        let noted = self.journal.limits;
        let before = noted
            .filter(|limits| limits.is_ours(now))
            .map_or(now, |limits| limits.before);
        let set = Limits {
            extra_subflows: 0,
            ..now
        };
        self.journal.limits = Some(LimitsSet {
            before,
            set,
            was: Some(now),
        });
        if self.save().is_err() {
            // Without a journal the limit stays; new connections count like old ones.
            self.journal.limits = noted;
            return Ok(());
        }
        self.table.set_limits(set)
    }

    /// Restores the limits. Returns true if they differ from `first`.
    pub(super) fn undo_limits(&mut self, first: Limits) -> Result<bool> {
        let now = self.table.limits()?;
        let mut after = now;
        if let Some(limits) = self
            .journal
            .limits
            .take()
            .filter(|limits| limits.is_ours(now))
        {
            after = limits.before;
            if now != after {
                self.table.set_limits(after)?;
            }
        }
        Ok(after != first)
    }
}
