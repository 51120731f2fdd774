//! Back to what was found, without cutting off a connection.
//!
//! An endpoint stays for as long as a connection has no subflow that works but those that would go with it
//! (`needed`). Meanwhile the limit of subflows is 0, if no other program has endpoints: a connection that
//! begins then opens no subflow from an endpoint that stays, and the kernel does not tie its first subflow to
//! one. So the endpoint can go when the connections that stood have ended, whatever has begun since. What
//! stays is in the journal, with those connections.

use joulepath_kernel::Result;
use joulepath_kernel::mptcp::path_manager::{Endpoint, Limits};
use joulepath_kernel::reactor::thread_cpu_ns;
use joulepath_model::units::Nanos;

use super::journal::{Journal, Kept, LimitsSet, Store};
use super::needed::{Closing, Staying, pause_after};
use super::table::Table;
use super::{Actor, Outcome, is_implicit};

/// A socket that was made while the limit was not 0 is tied when it connects: so much later at most. One that
/// was connecting already is listed.
const GRACE: Nanos = Nanos::from_secs(3);
impl<T: Table, S: Store> Actor<T, S> {
    /// Puts everything back that is ours and still as it was left, but for the endpoints that connections
    /// need: those are in the outcome, with the time from which on to try again.
    ///
    /// # Errors
    /// If the kernel refuses: what is left stays noted, and may be tried again.
    pub fn undo(&mut self, now: Nanos) -> Result<Outcome> {
        let mut outcome = Outcome::default();
        if self.on_disk.is_none() {
            return Ok(outcome);
        }
        if let Some(staying) = self.staying.as_ref().filter(|staying| staying.until > now) {
            return Ok(Outcome {
                stays: staying.stays.clone(),
                again: Some(staying.until),
                ..Outcome::default()
            });
        }
        let settings = self.undo_settings();
        let begun = thread_cpu_ns();
        let table = self.table.endpoints()?;
        let limits = self.table.limits()?;
        let are_others = self.has_endpoints_of_others(&table);
        if table.iter().any(|there| self.journal.owned_id(there).is_some()) {
            self.undo_endpoints(&table, limits, now, &mut outcome)?;
        } else {
            self.journal.endpoints.clear();
        }
        // What could not be put back of them hinders nothing else.
        outcome.changes += settings?;
        if outcome.stays.is_empty() {
            outcome.changes += usize::from(self.undo_limits(limits)?);
            self.store.remove()?;
            self.on_disk = None;
            self.journal = Journal::default();
            self.limits_of_others = false;
            self.standings.clear();
            self.staying = None;
            return Ok(outcome);
        }
        if are_others {
            self.undo_limits(limits)?;
        }
        let until = now.saturating_add(pause_after(begun));
        outcome.wait_until(until);
        self.staying = Some(Staying { until, stays: outcome.stays.clone() });
        // What is on disk already says at least as much.
        let _ = self.save();
        Ok(outcome)
    }

    /// Puts settings back, and leaves endpoints and limits to the next process; how many changes that were,
    /// and whether something is left.
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
        let mut connections = self.table.connections()?;
        let listed = || connections.iter().map(|connection| connection.info.token);
        let kept = match self.journal.kept.take().filter(|_| was_shut) {
            Some(kept) if now >= kept.since.saturating_add(GRACE) => {
                Kept { tied: listed().filter(|token| kept.tied.contains(token)).collect(), ..kept }
            }
            Some(kept) => Kept { tied: listed().collect(), ..kept },
            None => Kept { tied: listed().collect(), since: now },
        };
        connections.retain(|connection| kept.tied.contains(&connection.info.token));
        self.journal.kept = Some(kept);
        let is_own = |there: &&Endpoint| self.journal.owned_id(there).is_some();
        let mut own: Vec<(Closing, bool)> = table
            .iter()
            .filter(is_own)
            .filter_map(|there| Some((Closing::with(there)?, there.backup)))
            .collect();
        // What carries data stays rather than a backup.
        own.sort_by_key(|(closing, backup)| (!backup, closing.touches(&connections)));
        for (closing, _) in own {
            let cut = connections.iter().filter(|connection| closing.cuts(connection)).count();
            if cut > 0 {
                outcome.stays.insert(closing.address, cut);
                continue;
            }
            self.table.delete(closing.id)?;
            self.journal.drop(closing.id);
            connections.iter_mut().for_each(|connection| closing.take_from(connection));
            outcome.changes += 1;
        }
        Ok(())
    }

    /// Whether no connection that began since the last look can need an endpoint of ours.
    fn is_shut(&self, table: &[Endpoint], limits: Limits) -> bool {
        limits.extra_subflows == 0 && !self.has_endpoints_of_others(table)
    }

    fn has_endpoints_of_others(&self, table: &[Endpoint]) -> bool {
        table.iter().any(|there| self.journal.owned_id(there).is_none() && !is_implicit(there))
    }

    /// New connections get no further subflows, unless other programs' endpoints are for that.
    fn shut(&mut self, table: &[Endpoint], now: Limits) -> Result<()> {
        if now.extra_subflows == 0 || self.has_endpoints_of_others(table) {
            return Ok(());
        }
        let noted = self.journal.limits;
        let before = noted.filter(|limits| limits.is_ours(now)).map_or(now, |limits| limits.before);
        let set = Limits { extra_subflows: 0, ..now };
        self.journal.limits = Some(LimitsSet { before, set, was: Some(now) });
        if self.save().is_err() {
            // Without a note it is not done: connections that begin meanwhile count as those before.
            self.journal.limits = noted;
            return Ok(());
        }
        self.table.set_limits(set)
    }

    /// Whether the limits are others now than they were at `first`.
    fn undo_limits(&mut self, first: Limits) -> Result<bool> {
        let now = self.table.limits()?;
        let mut after = now;
        if let Some(limits) = self.journal.limits.take().filter(|limits| limits.is_ours(now)) {
            after = limits.before;
            if now != after {
                self.table.set_limits(after)?;
            }
        }
        Ok(after != first)
    }
}
