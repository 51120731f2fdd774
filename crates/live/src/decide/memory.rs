//! What is remembered of an interface.

use joulepath_model::units::Nanos;

use super::decision::Role;
use super::hold::Hold;
use super::lately::lasted;
use super::renewal::Renewal;
use super::silence::Silence;
use super::standing::BatteryLow;
use super::trouble::Trouble;

/// For so long after a loss nothing need come over a path.
const LATELY: Nanos = Nanos::from_secs(30);
/// Subflows have this long to open.
const MISSING: Nanos = Nanos::from_secs(4);
/// A path that was lost for no longer is used again at once.
const BRIEFLY: Nanos = Nanos::from_secs(10);

/// What is remembered of an interface.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Memory {
    pub(super) role: Role,
    /// Since when.
    since: Option<Nanos>,
    pub(super) hold: Hold,
    /// It has its role in place of what was lost, and gives it back without waiting.
    pub(super) stands_in: bool,
    /// Since when it could not be used, the last time.
    lost: Option<Nanos>,
    /// It is a backup whose subflows of before are closed.
    pub(super) is_left: bool,
    pub(super) trouble: Trouble,
    pub(super) battery: BatteryLow,
    pub(super) silence: Silence,
    pub(super) renewal: Renewal,
    /// Since when it has subflows that it must not have.
    pub(super) forbidden_since: Option<Nanos>,
    missing_since: Option<Nanos>,
    /// Connections have had no subflow here for a while, although they could.
    pub(super) misses: bool,
    pub(super) seen: Nanos,
}

impl Memory {
    /// It has another role now.
    pub(super) fn becomes(&mut self, role: Role, now: Nanos) {
        self.becomes_exempt(role, now);
        self.hold.change(now);
    }

    /// The same where the next change need not wait longer for it.
    pub(super) fn becomes_exempt(&mut self, role: Role, now: Nanos) {
        (self.role, self.since, self.is_left, self.stands_in) = (role, Some(now), false, false);
    }

    /// Whether connections have no subflow here at this look, and could have had one for a while.
    pub(super) fn is_missing(&mut self, is_missing: bool, now: Nanos) {
        let holds = is_missing && self.role != Role::Unused && self.has_lasted(MISSING, now);
        self.misses = lasted(&mut self.missing_since, holds, now, MISSING);
    }

    /// It cannot be used any more.
    pub(super) fn is_lost(&mut self, now: Nanos) {
        self.becomes_exempt(Role::Unused, now);
        self.lost = Some(now);
    }

    /// Whether it could not be used for a moment, as when an address changes, and that is not too often.
    pub(super) fn was_lost_briefly(&self, now: Nanos) -> bool {
        let is_brief = self.lost.is_some_and(|lost| now.saturating_sub(lost) < BRIEFLY);
        self.role == Role::Unused && is_brief && self.hold.may_force(now)
    }

    /// It has another role now because something else was lost, or was for a moment.
    pub(super) fn is_forced(&mut self, role: Role, now: Nanos) {
        self.becomes_exempt(role, now);
        self.hold.force(now);
        self.stands_in = true;
    }

    /// Whether it was lost so lately that its silence says nothing: the others carry what it did.
    pub(super) fn was_lost_lately(&self) -> bool {
        self.lost.is_some_and(|lost| self.seen.saturating_sub(lost) < LATELY)
    }

    /// Whether it has had its role since then, or always.
    pub(super) fn is_as_it_was(&self, then: Nanos) -> bool {
        self.since.is_none_or(|since| since <= then)
    }

    /// Whether it has had its role for `time`, or always.
    pub(super) fn has_lasted(&self, time: Nanos, now: Nanos) -> bool {
        self.since.is_none_or(|since| now.saturating_sub(since) >= time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: fn(u64) -> Nanos = Nanos::from_secs;

    #[test]
    fn a_path_that_was_lost_for_less_than_ten_seconds_is_used_again_at_once() {
        let mut memory = Memory::default();
        assert!(!memory.was_lost_briefly(S(5)));
        memory.is_lost(S(100));
        assert!(memory.was_lost_briefly(S(100)) && memory.was_lost_briefly(S(109)));
        assert!(!memory.was_lost_briefly(S(110)) && !memory.was_lost_briefly(S(111)));
        // Where that happens again and again, it waits.
        for _ in 0..5 {
            assert!(memory.was_lost_briefly(S(101)));
            memory.is_forced(Role::Regular, S(101));
            assert!(!memory.was_lost_briefly(S(101)));
            memory.is_lost(S(101));
        }
        assert!(!memory.was_lost_briefly(S(102)));
    }

    #[test]
    fn for_half_a_minute_after_a_loss_silence_says_nothing() {
        let mut memory = Memory::default();
        assert!(!memory.was_lost_lately());
        memory.is_lost(S(100));
        let mut lately = |s| {
            memory.seen = S(s);
            memory.was_lost_lately()
        };
        assert_eq!([100, 101, 129, 130, 500].map(&mut lately), [true, true, true, false, false]);
    }
}
