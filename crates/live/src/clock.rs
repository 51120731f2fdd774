//! Which day counts as today, although the system's clock may jump: pure.
//!
//! The kernel's time since the boot, which also passes while the machine sleeps, carries the time on that was
//! trusted. The clock is followed while it agrees with that. One that does not is **doubted**: it becomes the
//! time only when it has agreed with itself for [`STEADY`]. Until then days go by the time before.
//!
//! ```text
//!   trusted ──(the clock leaves the time that passes)──► doubted ──(steady for 10 min)──► trusted
//!      ▲───────────────(it comes back)──────────────────────┘
//! ```
//! A boot begins trusted if the clock is at most [`A_REBOOT`] after what was last known, and doubted
//! otherwise: how long the machine was off is not known.

use joulepath_model::calendar::Day;
use joulepath_model::units::Nanos;
use serde::{Deserialize, Serialize};

const DAY_S: i64 = 86_400;
/// 2020-01-01. A clock before it has not been set.
const FIRST_S: i64 = 18_262 * DAY_S;
/// A clock that is no further off was corrected, and not set to another time.
const AGREES_S: i64 = 600;
/// A clock that jumped is trusted when it has gone with the time for so long.
const STEADY: Nanos = Nanos::from_secs(600);
/// A machine that boots was off for so long at most, unless its clock proves steady.
const A_REBOOT_S: i64 = 2 * DAY_S;
/// Trusted for so long, the clock is right, and days after today were a wrong clock's.
const SURE: Nanos = Nanos::from_secs(86_400);

/// What the clocks say at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Times {
    /// The system's clock: seconds since 1970, UTC.
    pub(crate) unix_s: i64,
    /// Time since the boot, sleep included.
    pub(crate) since_boot: Nanos,
}

/// What is kept of the trusted time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Anchor {
    boot: String,
    /// When that boot began by the trusted time, seconds since 1970.
    booted_s: i64,
    /// The last trusted time, seconds since 1970.
    unix_s: i64,
}

/// The trusted time.
#[derive(Clone, Debug)]
pub(crate) struct Clock {
    boot: String,
    booted_s: i64,
    seen: Times,
    /// What the clock says of the boot's beginning instead, and since when.
    doubt: Option<(i64, Nanos)>,
    /// Since when, after the boot, it has been trusted.
    trusted: Nanos,
}

impl Times {
    /// When the boot began, if the clock is right.
    fn booted_s(self) -> i64 {
        self.unix_s.saturating_sub(whole_s(self.since_boot))
    }
}

impl Anchor {
    /// Of a record that has only days.
    pub(crate) fn of_day(day: Day) -> Self {
        Anchor { boot: String::new(), booted_s: day.0 * DAY_S, unix_s: day.0 * DAY_S }
    }

    /// Whether it is of this boot.
    pub(crate) fn is_of(&self, boot: &str) -> bool {
        self.boot == boot
    }
}

impl Clock {
    /// Goes on from what was kept.
    pub(crate) fn new(boot: String, kept: Option<&Anchor>, seen: Times) -> Self {
        let says_s = seen.booted_s();
        let booted_s = match kept {
            None => FIRST_S.max(seen.unix_s) - whole_s(seen.since_boot),
            Some(kept) if kept.is_of(&boot) => kept.booted_s,
            Some(kept) => {
                let off_s = seen.unix_s.saturating_sub(kept.unix_s);
                let is_plausible = (-AGREES_S..=A_REBOOT_S).contains(&off_s);
                if is_plausible { says_s } else { kept.unix_s - whole_s(seen.since_boot) }
            }
        };
        let mut clock = Clock { boot, booted_s, seen, doubt: None, trusted: seen.since_boot };
        clock.look(seen);
        clock
    }

    /// Takes in what the clocks say. When a clock that was doubted becomes the trusted time, returns by how
    /// many days today has moved.
    pub(crate) fn look(&mut self, seen: Times) -> i64 {
        self.seen = seen;
        let says_s = seen.booted_s();
        if agree(says_s, self.booted_s) {
            self.booted_s = says_s;
            self.doubt = None;
            return 0;
        }
        let since = match self.doubt {
            Some((before_s, since)) if agree(says_s, before_s) => since,
            _ => seen.since_boot,
        };
        self.doubt = Some((says_s, since));
        if seen.unix_s < FIRST_S || seen.since_boot.saturating_sub(since) < STEADY {
            return 0;
        }
        let before = self.today();
        (self.booted_s, self.doubt, self.trusted) = (says_s, None, seen.since_boot);
        self.today().0 - before.0
    }

    /// The day that counts as today, UTC.
    pub(crate) fn today(&self) -> Day {
        Day::of(self.unix_s())
    }

    /// Whether the clock has been trusted for so long that it is right.
    pub(crate) fn is_sure(&self) -> bool {
        self.doubt.is_none() && self.seen.since_boot.saturating_sub(self.trusted) >= SURE
    }

    /// What is to be kept.
    pub(crate) fn anchor(&self) -> Anchor {
        Anchor { boot: self.boot.clone(), booted_s: self.booted_s, unix_s: self.unix_s() }
    }

    /// Why the clock is not trusted, if so.
    pub(crate) fn trouble(&self) -> Option<String> {
        let (says_s, _) = self.doubt?;
        let (says, today) = (Day::of(self.seen.unix_s).date(), self.today().date());
        let off = words(says_s.saturating_sub(self.booted_s));
        let what = format!("the clock says {says}, {off} the time that has passed since it was last trusted");
        let until = match self.seen.unix_s < FIRST_S {
            true => "it is set".to_owned(),
            false => format!("it has been steady for {} min", whole_s(STEADY) / 60),
        };
        Some(format!("{what}: days and quotas go by {today} until {until}"))
    }

    fn unix_s(&self) -> i64 {
        self.booted_s.saturating_add(whole_s(self.seen.since_boot))
    }
}

fn agree(one_s: i64, other_s: i64) -> bool {
    one_s.abs_diff(other_s) <= AGREES_S.unsigned_abs()
}

fn whole_s(time: Nanos) -> i64 {
    (time.0 / 1_000_000_000) as i64
}

/// `3 days before`, `2 h after`.
fn words(off_s: i64) -> String {
    let (size_s, side) = (off_s.unsigned_abs(), if off_s < 0 { "before" } else { "after" });
    let amount = match size_s {
        0..7200 => format!("{} min", size_s / 60),
        7200..172_800 => format!("{} h", size_s / 3600),
        _ => format!("{} days", size_s / 86_400),
    };
    format!("{amount} {side}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-11-27, 12:00.
    const NOON_S: i64 = 20_784 * DAY_S + DAY_S / 2;
    const TODAY: Day = Day(20_784);

    /// A machine that was booted at noon, `s` seconds later, with a clock that is `off_s` off.
    fn at(s: u64, off_s: i64) -> Times {
        Times { unix_s: NOON_S + s as i64 + off_s, since_boot: Nanos::from_secs(s) }
    }

    fn new(kept: Option<&Anchor>, seen: Times) -> Clock {
        Clock::new("a".into(), kept, seen)
    }

    #[test]
    fn a_clock_that_jumps_and_comes_back_changes_no_day() {
        for off_s in [100 * DAY_S, -100 * DAY_S, 3 * DAY_S, -DAY_S, -NOON_S] {
            let mut clock = new(None, at(100, 0));
            for s in 101..105 {
                assert_eq!(clock.look(at(s, off_s)), 0);
                assert_eq!(clock.today(), TODAY);
                assert!(clock.trouble().is_some());
            }
            assert_eq!((clock.look(at(105, 0)), clock.trouble()), (0, None));
            // What was steady before does not count for the next jump.
            assert_eq!(clock.look(at(800, off_s)), 0);
            assert_eq!((clock.look(at(1399, off_s)), clock.today()), (0, TODAY));
        }
    }

    #[test]
    fn a_clock_that_stays_at_its_new_time_is_trusted_after_ten_minutes() {
        for off in [100, -100] {
            let mut clock = new(None, at(100, 0));
            assert_eq!(clock.look(at(102, off * DAY_S)), 0);
            assert_eq!(clock.look(at(701, off * DAY_S)), 0);
            assert_eq!(clock.look(at(702, off * DAY_S)), off);
            assert_eq!((clock.today(), clock.trouble()), (Day(TODAY.0 + off), None));
        }
        // One that goes on jumping is not, and neither is one that was never set.
        let mut clock = new(None, at(0, 0));
        for s in 1..2000 {
            assert_eq!(clock.look(at(s, s as i64 * DAY_S)), 0);
        }
        for s in 2000..4000 {
            assert_eq!(clock.look(at(s, -NOON_S)), 0);
        }
        assert_eq!(clock.today(), TODAY);
    }

    #[test]
    fn small_corrections_and_midnight_are_followed() {
        let mut clock = new(None, at(0, 0));
        let mut off_s = 0;
        for s in (0..200_000).step_by(100) {
            off_s += 1;
            assert_eq!(clock.look(at(s, off_s)), 0);
            assert_eq!((clock.today(), clock.trouble()), (Day::of(at(s, off_s).unix_s), None));
        }
        assert_eq!(clock.today(), Day(TODAY.0 + 2));
    }

    #[test]
    fn a_jump_while_no_daemon_runs_is_seen_by_the_next_one() {
        let anchor = new(None, at(100, 0)).anchor();
        let mut clock = new(Some(&anchor), at(7300, 100 * DAY_S));
        assert_eq!(clock.today(), TODAY);
        assert!(clock.trouble().unwrap().contains("2027-03-07, 100 days after"), "{:?}", clock.trouble());
        // A restart does not make it trusted, and time passes meanwhile.
        let again = new(Some(&clock.anchor()), at(7300 + 86_400, 100 * DAY_S));
        assert_eq!(again.today(), Day(TODAY.0 + 1));
        assert_eq!(clock.look(at(7900, 100 * DAY_S)), 100);
    }

    #[test]
    fn a_boot_long_after_the_last_one_waits_for_a_steady_clock() {
        let anchor = new(None, at(100, 0)).anchor();
        let boot = |off_s| Clock::new("b".into(), Some(&anchor), at(5, off_s));
        // A reboot, and a night.
        for off_s in [60, DAY_S, -300] {
            assert_eq!((boot(off_s).trouble(), boot(off_s).today()), (None, Day::of(at(5, off_s).unix_s)));
        }
        for off in [30, 3, -3, -20_000] {
            let mut clock = boot(off * DAY_S);
            assert_eq!(clock.today(), TODAY);
            assert!(clock.trouble().is_some());
            let moved = if off == -20_000 { 0 } else { off };
            assert_eq!(clock.look(at(605, off * DAY_S)), moved);
        }
    }

    #[test]
    fn a_machine_without_a_clock_starts_in_1970_and_gets_one() {
        let mut clock = new(None, at(5, -NOON_S));
        assert_eq!(clock.today(), Day::of(FIRST_S));
        assert!(clock.trouble().unwrap().contains("until it is set"));
        assert_eq!(clock.look(at(900, 0)), 0);
        assert_eq!(clock.look(at(1500, 0)), TODAY.0 - Day::of(FIRST_S).0);
        assert!(!clock.is_sure());
        clock.look(at(1500 + 86_400, 0));
        assert!(clock.is_sure());
        // What an older version has counted says the day.
        let clock = new(Some(&Anchor::of_day(TODAY)), at(5, -NOON_S));
        assert_eq!(clock.today(), TODAY);
    }
}
