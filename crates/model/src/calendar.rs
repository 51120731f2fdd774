//! Days since 1970 and their months (proleptic Gregorian calendar, UTC).

/// Seconds of a day.
const DAY_S: i64 = 86_400;

/// A day, counted from 1970-01-01.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Day(pub i64);

/// Year, month (1 to 12) and day of the month (1 to 31).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Date {
    /// Year of the common era.
    pub year: i64,
    /// 1 to 12.
    pub month: u32,
    /// 1 to 31.
    pub day: u32,
}

impl Day {
    /// The day of an instant given in seconds since 1970.
    pub fn of(unix_s: i64) -> Self {
        Day(unix_s.div_euclid(DAY_S))
    }

    /// The date of this day.
    pub fn date(self) -> Date {
        // The year starts in March here, so a leap day is its last day. An era has 400 years.
        let since_march = self.0 + 719_468;
        let era = since_march.div_euclid(146_097);
        let of_era = since_march.rem_euclid(146_097);
        let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month = (5 * of_year + 2) / 153;
        let day = of_year - (153 * month + 2) / 5 + 1;
        let month = if month < 10 { month + 3 } else { month - 9 };
        let year = year_of_era + era * 400 + i64::from(month <= 2);
        Date {
            year,
            month: month as u32,
            day: day as u32,
        }
    }

    /// First day of the period that contains this day. Periods begin on day `period_day` of each
    /// month, or on the last day of a month that has no such day.
    pub fn period_start(self, period_day: u32) -> Day {
        let Date { year, month, .. } = self.date();
        let here = begin(year, month, period_day);
        if here <= self {
            return here;
        }
        let (year, month) = if month == 1 {
            (year - 1, 12)
        } else {
            (year, month - 1)
        };
        begin(year, month, period_day)
    }
}

fn begin(year: i64, month: u32, day: u32) -> Day {
    Date {
        year,
        month,
        day: day.min(length(year, month)),
    }
    .day_number()
}

fn length(year: i64, month: u32) -> u32 {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

impl Date {
    /// The day of this date.
    pub fn day_number(self) -> Day {
        let year = self.year - i64::from(self.month <= 2);
        let era = year.div_euclid(400);
        let of_era = year.rem_euclid(400);
        let month = i64::from(if self.month > 2 {
            self.month - 3
        } else {
            self.month + 9
        });
        let of_year = (153 * month + 2) / 5 + i64::from(self.day) - 1;
        Day(era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468)
    }
}

impl std::fmt::Display for Date {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(text: &str) -> Day {
        let parts: Vec<u32> = text.split('-').map(|part| part.parse().unwrap()).collect();
        Date {
            year: parts[0].into(),
            month: parts[1],
            day: parts[2],
        }
        .day_number()
    }

    #[test]
    fn day_numbers_and_dates_convert_both_ways() {
        // 2000 had a leap day, 1900 had none: 365 · 30 + 7 leap days from 1970 to 2000 is 10957.
        assert_eq!(day("1970-01-01"), Day(0));
        assert_eq!(day("2000-01-01"), Day(10_957));
        assert_eq!(Day::of(951_782_400).date().to_string(), "2000-02-29");
        for number in -100_000..100_000 {
            assert_eq!(Day(number).date().day_number(), Day(number));
        }
    }

    #[test]
    fn a_period_begins_on_its_day_or_on_the_last_day_of_a_shorter_month() {
        for (today, period_day, start) in [
            ("2026-11-23", 1, "2026-11-01"),
            ("2026-11-23", 23, "2026-11-23"),
            ("2026-11-22", 23, "2026-10-23"),
            ("2026-01-05", 20, "2025-12-20"),
            ("2026-03-01", 31, "2026-02-28"),
            ("2028-02-29", 30, "2028-02-29"),
            ("2026-02-27", 31, "2026-01-31"),
        ] {
            assert_eq!(
                day(today).period_start(period_day),
                day(start),
                "{today} {period_day}"
            );
        }
    }
}
