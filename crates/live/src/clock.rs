//! Today's date, although the system clock may jump: pure.
//!
//! The kernel's time since the boot, which includes sleep, extends the last trusted time. The
//! system clock is followed while it agrees with that. Otherwise it is **doubted**, and the
//! extended time gives the date. A doubted clock is trusted again once it has been steady for
//! [`STEADY`].
//!
//! ```text
//!   trusted ──(deviates from elapsed time)──► doubted ──(steady for 10 min)──► trusted
//!      ▲───────────────(returns)──────────────────┘
//! ```
//! After a boot the clock is trusted if it is at most [`A_REBOOT_S`] after the last known time, and
//! doubted otherwise: how long the machine was off is unknown.

use joulepath_model::calendar::Day;
use joulepath_model::units::Nanos;
use serde::{Deserialize, Serialize};

const DAY_S: i64 = 86_400;
/// 2020-01-01. An earlier clock has never been set.
const FIRST_S: i64 = 18_262 * DAY_S;
/// A smaller deviation is a correction, which is followed.
const AGREES_S: i64 = 600;
/// How long a clock must run steadily after a jump to be trusted.
const STEADY: Nanos = Nanos::from_secs(600);
/// Longest time that a booting machine is assumed to have been off.
const A_REBOOT_S: i64 = 2 * DAY_S;
/// After so long a trusted clock is considered right; days after today came from a wrong clock.
const SURE: Nanos = Nanos::from_secs(86_400);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Times {
    /// System clock, seconds since 1970, UTC.
    pub(crate) unix_s: i64,
    /// Time since the boot, including sleep.
    pub(crate) since_boot: Nanos,
}

/// The trusted time, as stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Anchor {
    boot: String,
    /// Trusted time of the boot, seconds since 1970.
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
    /// Boot time according to the doubted clock, and since when it has been steady.
    doubt: Option<(i64, Nanos)>,
    /// Time after the boot since which the clock is trusted.
    trusted: Nanos,
}

impl Times {
    /// Time of the boot, if the clock is right.
    fn booted_s(self) -> i64 {
        self.unix_s.saturating_sub(whole_s(self.since_boot))
    }
}

impl Anchor {
    /// For a record that has only days.
    pub(crate) fn of_day(day: Day) -> Self {
        Anchor {
            boot: String::new(),
            booted_s: day.0 * DAY_S,
            unix_s: day.0 * DAY_S,
        }
    }

    pub(crate) fn is_of(&self, boot: &str) -> bool {
        self.boot == boot
    }
}

impl Clock {
    /// Continues from the stored time.
    pub(crate) fn new(boot: String, kept: Option<&Anchor>, seen: Times) -> Self {
        let says_s = seen.booted_s();
        let booted_s = match kept {
            None => FIRST_S.max(seen.unix_s) - whole_s(seen.since_boot),
            Some(kept) if kept.is_of(&boot) => kept.booted_s,
            Some(kept) => {
                let off_s = seen.unix_s.saturating_sub(kept.unix_s);
                let is_plausible = (-AGREES_S..=A_REBOOT_S).contains(&off_s);
                if is_plausible {
                    says_s
                } else {
                    kept.unix_s - whole_s(seen.since_boot)
                }
            }
        };
        let mut clock = Clock {
            boot,
            booted_s,
            seen,
            doubt: None,
            trusted: seen.since_boot,
        };
        clock.look(seen);
        clock
    }

    /// Takes in the clocks. Returns by how many days today moves: 0 unless a doubted clock becomes
    /// trusted.
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

    /// Today, UTC.
    pub(crate) fn today(&self) -> Day {
        Day::of(self.unix_s())
    }

    /// True if the clock has been trusted long enough to be considered right.
    pub(crate) fn is_sure(&self) -> bool {
        self.doubt.is_none() && self.seen.since_boot.saturating_sub(self.trusted) >= SURE
    }

    /// The trusted time, to be stored.
    pub(crate) fn anchor(&self) -> Anchor {
        Anchor {
            boot: self.boot.clone(),
            booted_s: self.booted_s,
            unix_s: self.unix_s(),
        }
    }

    /// Why the clock is not trusted.
    pub(crate) fn trouble(&self) -> Option<String> {
        let (says_s, _) = self.doubt?;
        let (says, today) = (Day::of(self.seen.unix_s).date(), self.today().date());
        let off = words(says_s.saturating_sub(self.booted_s));
        let what = format!("the clock says {says}, {off} the expected time");
        let until = match self.seen.unix_s < FIRST_S {
            true => "it is set".to_owned(),
            false => format!("it has been steady for {} min", whole_s(STEADY) / 60),
        };
        Some(format!("{what}: days and quotas use {today} until {until}"))
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
    let (size_s, side) = (
        off_s.unsigned_abs(),
        if off_s < 0 { "before" } else { "after" },
    );
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

    /// A machine `s` seconds after its boot at noon, with a clock that is `off_s` off.
    fn at(s: u64, off_s: i64) -> Times {
        Times {
            unix_s: NOON_S + s as i64 + off_s,
            since_boot: Nanos::from_secs(s),
        }
    }

    fn new(kept: Option<&Anchor>, seen: Times) -> Clock {
        Clock::new("a".into(), kept, seen)
    }

    #[test]
    fn a_clock_that_jumps_and_returns_changes_no_day() {
        for off_s in [100 * DAY_S, -100 * DAY_S, 3 * DAY_S, -DAY_S, -NOON_S] {
            let mut clock = new(None, at(100, 0));
            for s in 101..105 {
                assert_eq!(clock.look(at(s, off_s)), 0);
                assert_eq!(clock.today(), TODAY);
                assert!(clock.trouble().is_some());
            }
            assert_eq!((clock.look(at(105, 0)), clock.trouble()), (0, None));
            // The earlier steady time does not count for the next jump.
            assert_eq!(clock.look(at(800, off_s)), 0);
            assert_eq!((clock.look(at(1399, off_s)), clock.today()), (0, TODAY));
        }
    }

    #[test]
    fn a_clock_steady_at_its_new_time_is_trusted_after_ten_minutes() {
        for off in [100, -100] {
            let mut clock = new(None, at(100, 0));
            assert_eq!(clock.look(at(102, off * DAY_S)), 0);
            assert_eq!(clock.look(at(701, off * DAY_S)), 0);
            assert_eq!(clock.look(at(702, off * DAY_S)), off);
            assert_eq!((clock.today(), clock.trouble()), (Day(TODAY.0 + off), None));
        }
        // A clock that keeps jumping is not trusted, nor one that was never set.
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
            assert_eq!(
                (clock.today(), clock.trouble()),
                (Day::of(at(s, off_s).unix_s), None)
            );
        }
        assert_eq!(clock.today(), Day(TODAY.0 + 2));
    }

    #[test]
    fn a_jump_while_no_daemon_runs_is_doubted_by_the_next_daemon() {
        let anchor = new(None, at(100, 0)).anchor();
        let mut clock = new(Some(&anchor), at(7300, 100 * DAY_S));
        assert_eq!(clock.today(), TODAY);
        assert!(
            clock
                .trouble()
                .unwrap()
                .contains("2027-03-07, 100 days after"),
            "{:?}",
            clock.trouble()
        );
        // A restart does not make the clock trusted. Time passes in the meantime.
        let again = new(Some(&clock.anchor()), at(7300 + 86_400, 100 * DAY_S));
        assert_eq!(again.today(), Day(TODAY.0 + 1));
        assert_eq!(clock.look(at(7900, 100 * DAY_S)), 100);
    }

    #[test]
    fn a_boot_long_after_the_last_waits_for_a_steady_clock() {
        let anchor = new(None, at(100, 0)).anchor();
        let boot = |off_s| Clock::new("b".into(), Some(&anchor), at(5, off_s));
        // A reboot, and a night.
        for off_s in [60, DAY_S, -300] {
            assert_eq!(
                (boot(off_s).trouble(), boot(off_s).today()),
                (None, Day::of(at(5, off_s).unix_s))
            );
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
    fn a_machine_without_a_clock_trusts_one_once_it_is_set() {
        let mut clock = new(None, at(5, -NOON_S));
        assert_eq!(clock.today(), Day::of(FIRST_S));
        assert!(clock.trouble().unwrap().contains("until it is set"));
        assert_eq!(clock.look(at(900, 0)), 0);
        assert_eq!(clock.look(at(1500, 0)), TODAY.0 - Day::of(FIRST_S).0);
        assert!(!clock.is_sure());
        clock.look(at(1500 + 86_400, 0));
        assert!(clock.is_sure());
        // The ledger of an older version gives the day.
        let clock = new(Some(&Anchor::of_day(TODAY)), at(5, -NOON_S));
        assert_eq!(clock.today(), TODAY);
    }
}
