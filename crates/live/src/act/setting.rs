//! Settings for new sockets and connections of the namespace: set for an intent, and restored.

use joulepath_kernel::Result;
use joulepath_model::units::Nanos;

use super::journal::{SettingSet, Store};
use super::table::{Setting, Table};
use super::{Actor, Outcome, Refused};

impl<T: Table, S: Store> Actor<T, S> {
    /// Sets `setting` to `wanted`; `None` restores the value found at the start if we changed it. A
    /// value that another program has set since is left alone.
    ///
    /// # Errors
    /// If a request to the kernel fails, or the journal cannot be written. A refused value is in
    /// `outcome` instead.
    pub fn set(
        &mut self,
        setting: Setting,
        wanted: Option<&str>,
        now: Nanos,
        outcome: &mut Outcome,
    ) -> Result<()> {
        let ours = self.journal.setting(setting).clone();
        if wanted.is_none() && ours.is_none() {
            return Ok(());
        }
        let there = self.table.value(setting)?;
        let standing = self.standings.entry(setting).or_default();
        let ours = ours.filter(|ours| {
            standing.of_others |= !ours.is_ours(&there);
            ours.is_ours(&there)
        });
        let before = ours.as_ref().map_or(&there, |ours| &ours.before).clone();
        let target = wanted.map_or_else(|| before.clone(), str::to_owned);
        if standing.of_others {
            if there != target {
                let why = format!("another program has set {there}: left unchanged");
                outcome.settings.insert(setting, why);
            }
            *self.journal.setting(setting) = None;
            return Ok(());
        }
        let settled = (target != before).then(|| SettingSet {
            before,
            set: target.clone(),
            was: None,
        });
        if there == target {
            if settled.is_none() && ours.is_none() {
                return Ok(());
            }
            return self.keep(setting, settled);
        }
        if let Some(refused) = standing
            .refused
            .as_ref()
            .filter(|refused| refused.until > now)
        {
            outcome.settings.insert(setting, refused.why.clone());
            outcome.wait_until(refused.until);
            return Ok(());
        }
        self.change(setting, [target, there], settled, now, outcome)
    }

    /// Journals the change, makes it, and journals the result.
    fn change(
        &mut self,
        setting: Setting,
        [target, there]: [String; 2],
        settled: Option<SettingSet>,
        now: Nanos,
        outcome: &mut Outcome,
    ) -> Result<()> {
        let ours = self.journal.setting(setting).clone();
        let before = ours.as_ref().map_or(&there, |ours| &ours.before).clone();
        self.keep(
            setting,
            Some(SettingSet {
                before,
                set: target.clone(),
                was: Some(there.clone()),
            }),
        )?;
        // Set the current value first, which changes nothing: if that is refused, we could not
        // restore it later.
        let could_return = if ours.is_none() {
            self.table.set_value(setting, &there)
        } else {
            Ok(())
        };
        match could_return.and_then(|()| self.table.set_value(setting, &target)) {
            Ok(()) => {
                outcome.changes += 1;
                self.standings.remove(&setting);
                self.keep(setting, settled)
            }
            Err(error) => {
                let standing = self.standings.entry(setting).or_default();
                let times = standing.refused.as_ref().map_or(0, |refused| refused.times);
                let refused = Refused::after(times, now, error.with_remedy());
                outcome.settings.insert(setting, refused.why.clone());
                outcome.wait_until(refused.until);
                standing.refused = Some(refused);
                self.keep(setting, ours)
            }
        }
    }

    /// Restores settings that are as we left them. Returns the number of changes.
    pub(super) fn undo_settings(&mut self) -> Result<usize> {
        let mut changes = 0;
        for setting in Setting::ALL {
            let Some(ours) = self.journal.setting(setting).clone() else {
                continue;
            };
            let there = self.table.value(setting)?;
            if there != ours.before && ours.is_ours(&there) {
                self.table.set_value(setting, &ours.before)?;
                changes += 1;
            }
            *self.journal.setting(setting) = None;
        }
        Ok(changes)
    }

    fn keep(&mut self, setting: Setting, value: Option<SettingSet>) -> Result<()> {
        *self.journal.setting(setting) = value;
        self.save()
    }
}
