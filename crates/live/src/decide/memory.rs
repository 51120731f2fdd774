//! What is remembered of an interface.

use joulepath_model::units::Nanos;

use super::decision::Role;
use super::hold::Hold;
use super::renewal::Renewal;
use super::silence::Silence;
use super::standing::BatteryLow;
use super::trouble::Trouble;

/// What is remembered of an interface.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Memory {
    pub(super) role: Role,
    pub(super) hold: Hold,
    pub(super) trouble: Trouble,
    pub(super) battery: BatteryLow,
    pub(super) silence: Silence,
    pub(super) renewal: Renewal,
    /// Since when it has subflows that it must not have.
    pub(super) forbidden_since: Option<Nanos>,
    pub(super) seen: Nanos,
}

impl Memory {
    /// It has another role now.
    pub(super) fn becomes(&mut self, role: Role, now: Nanos) {
        self.role = role;
        self.hold.change(now);
    }

    /// Whether it has had its role for `time`, or always.
    pub(super) fn has_lasted(&self, time: Nanos, now: Nanos) -> bool {
        self.hold.since().is_none_or(|since| now.saturating_sub(since) >= time)
    }
}
