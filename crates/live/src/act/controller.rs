//! The congestion controller that new sockets get: set for an intent, and put back.

use joulepath_kernel::Result;
use joulepath_model::units::Nanos;

use super::journal::{ControllerSet, Store};
use super::table::Table;
use super::{Actor, Outcome, Refused};

impl<T: Table, S: Store> Actor<T, S> {
    /// Makes `wanted` what new sockets get; none: what was found, if it is ours to put back. One that another
    /// program has set since is left as it is.
    ///
    /// # Errors
    /// If the kernel cannot be asked, or the journal not be written. What the kernel refuses is told in
    /// `outcome`.
    pub fn control(&mut self, wanted: Option<&str>, now: Nanos, outcome: &mut Outcome) -> Result<()> {
        if wanted.is_none() && self.journal.controller.is_none() {
            return Ok(());
        }
        let there = self.table.controller()?;
        if self.journal.controller.as_ref().is_some_and(|ours| !ours.is_ours(&there)) {
            self.journal.controller = None;
            self.controller_of_others = true;
        }
        let before = self.journal.controller.as_ref().map_or(&there, |ours| &ours.before).clone();
        let target = wanted.map_or_else(|| before.clone(), str::to_owned);
        if self.controller_of_others {
            if there != target {
                let why = format!("another program has made {there} the default: left as it is");
                outcome.controller = Some(why);
            }
            return Ok(());
        }
        let settled = (target != before).then(|| ControllerSet { before, set: target.clone(), was: None });
        if there == target {
            if settled.is_none() && self.journal.controller.is_none() {
                return Ok(());
            }
            return self.keep(settled);
        }
        if let Some(refused) = self.controller_refused.as_ref().filter(|refused| refused.until > now) {
            outcome.controller = Some(refused.why.clone());
            outcome.wait_until(refused.until);
            return Ok(());
        }
        self.change(target, there, settled, now, outcome)
    }

    /// Notes the change, makes it, and notes what became of it.
    fn change(
        &mut self,
        target: String,
        there: String,
        settled: Option<ControllerSet>,
        now: Nanos,
        outcome: &mut Outcome,
    ) -> Result<()> {
        let ours = self.journal.controller.clone();
        let before = ours.as_ref().map_or(&there, |ours| &ours.before).clone();
        self.keep(Some(ControllerSet { before, set: target.clone(), was: Some(there.clone()) }))?;
        // What may not be chosen here could not be put back: that is tried first, and changes nothing.
        let could_return = if ours.is_none() { self.table.set_controller(&there) } else { Ok(()) };
        match could_return.and_then(|()| self.table.set_controller(&target)) {
            Ok(()) => {
                outcome.changes += 1;
                self.controller_refused = None;
                self.keep(settled)
            }
            Err(error) => {
                let remedy = error.remedy().map(|remedy| format!(" ({remedy})")).unwrap_or_default();
                let times = self.controller_refused.as_ref().map_or(0, |refused| refused.times);
                let refused = Refused::after(times, now, format!("{error}{remedy}"));
                outcome.controller = Some(refused.why.clone());
                outcome.wait_until(refused.until);
                self.controller_refused = Some(refused);
                self.keep(ours)
            }
        }
    }

    /// Puts back what was found, if it is still as we left it; whether something was changed.
    pub(super) fn undo_controller(&mut self) -> Result<bool> {
        let Some(ours) = &self.journal.controller else { return Ok(false) };
        let there = self.table.controller()?;
        let is_changed = there != ours.before && ours.is_ours(&there);
        if is_changed {
            self.table.set_controller(&ours.before)?;
        }
        Ok(is_changed)
    }

    fn keep(&mut self, controller: Option<ControllerSet>) -> Result<()> {
        if self.journal.controller == controller {
            return Ok(());
        }
        self.journal.controller = controller;
        self.recorded = true;
        self.store.write(&self.journal)
    }
}
