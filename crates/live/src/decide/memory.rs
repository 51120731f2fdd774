//! The decider's memory of an interface.

use joulepath_model::units::Nanos;

use super::decision::Role;
use super::hold::Hold;
use super::lately::lasted;
use super::renewal::Renewal;
use super::settled::Settled;
use super::silence::Silence;
use super::standing::BatteryLow;
use super::trouble::Trouble;

/// How long after a loss silence is expected.
const LATELY: Nanos = Nanos::from_secs(30);
/// How long subflows may take to open.
const MISSING: Nanos = Nanos::from_secs(4);
/// A path that was lost for less than this is used again at once.
const BRIEFLY: Nanos = Nanos::from_secs(10);

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Memory {
    pub(super) role: Role,
    /// Start of that role.
    since: Option<Nanos>,
    pub(super) hold: Hold,
    /// True if it replaces a lost path; it then yields without delay.
    pub(super) stands_in: bool,
    /// When it last became unusable.
    lost: Option<Nanos>,
    /// True if it is a backup whose earlier subflows are closed.
    pub(super) is_left: bool,
    pub(super) trouble: Trouble,
    pub(super) battery: BatteryLow,
    pub(super) silence: Silence,
    pub(super) renewal: Renewal,
    /// Start of having forbidden subflows.
    pub(super) forbidden_since: Option<Nanos>,
    missing_since: Option<Nanos>,
    /// True if connections have lacked a possible subflow here for a while.
    pub(super) misses: bool,
    pub(super) seen: Nanos,
    pub(super) settled: Settled,
}

impl Memory {
    /// Takes a role.
    pub(super) fn becomes(&mut self, role: Role, now: Nanos) {
        self.becomes_exempt(role, now);
        self.hold.change(now);
    }

    /// Takes a role without delaying the next change.
    pub(super) fn becomes_exempt(&mut self, role: Role, now: Nanos) {
        (self.role, self.since, self.is_left, self.stands_in) = (role, Some(now), false, false);
    }

    /// Records whether connections lack a possible subflow here.
    pub(super) fn note_missing(&mut self, is_missing: bool, now: Nanos) {
        let holds = is_missing && self.role != Role::Unused && self.has_lasted(MISSING, now);
        self.misses = lasted(&mut self.missing_since, holds, now, MISSING);
    }

    /// Records that it is unusable.
    pub(super) fn lose(&mut self, now: Nanos) {
        self.becomes_exempt(Role::Unused, now);
        self.lost = Some(now);
    }

    /// True if it was unusable only for a moment, for example while an address changed, and not too
    /// often.
    pub(super) fn was_lost_briefly(&self, now: Nanos) -> bool {
        let is_brief = self
            .lost
            .is_some_and(|lost| now.saturating_sub(lost) < BRIEFLY);
        self.role == Role::Unused && is_brief && self.hold.may_force(now)
    }

    /// Takes a role because another path was lost, or because it was itself lost for a moment.
    pub(super) fn force(&mut self, role: Role, now: Nanos) {
        self.becomes_exempt(role, now);
        self.hold.force(now);
        self.stands_in = true;
    }

    /// True if it was lost so recently that its silence means nothing: other paths carry its
    /// traffic.
    pub(super) fn was_lost_lately(&self) -> bool {
        self.lost
            .is_some_and(|lost| self.seen.saturating_sub(lost) < LATELY)
    }

    /// True if its role has not changed since `then`.
    pub(super) fn is_as_it_was(&self, then: Nanos) -> bool {
        self.since.is_none_or(|since| since <= then)
    }

    /// True if its role has not changed for `time`.
    pub(super) fn has_lasted(&self, time: Nanos, now: Nanos) -> bool {
        self.since
            .is_none_or(|since| now.saturating_sub(since) >= time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: fn(u64) -> Nanos = Nanos::from_secs;

    #[test]
    fn a_path_lost_for_less_than_ten_seconds_is_used_again_at_once() {
        let mut memory = Memory::default();
        assert!(!memory.was_lost_briefly(S(5)));
        memory.lose(S(100));
        assert!(memory.was_lost_briefly(S(100)) && memory.was_lost_briefly(S(109)));
        assert!(!memory.was_lost_briefly(S(110)) && !memory.was_lost_briefly(S(111)));
        // A path that is lost again and again waits.
        for _ in 0..5 {
            assert!(memory.was_lost_briefly(S(101)));
            memory.force(Role::Regular, S(101));
            assert!(!memory.was_lost_briefly(S(101)));
            memory.lose(S(101));
        }
        assert!(!memory.was_lost_briefly(S(102)));
    }

    #[test]
    fn silence_is_ignored_for_half_a_minute_after_a_loss() {
        let mut memory = Memory::default();
        assert!(!memory.was_lost_lately());
        memory.lose(S(100));
        let mut lately = |s| {
            memory.seen = S(s);
            memory.was_lost_lately()
        };
        assert_eq!(
            [100, 101, 129, 130, 500].map(&mut lately),
            [true, true, true, false, false]
        );
    }
}
