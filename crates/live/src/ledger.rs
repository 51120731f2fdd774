//! Bytes and joules by interface and day, and what became of them in a period.
//!
//! A period is a sum of days, so that a clock that jumps back finds the days that it had before. What an
//! interface carried while nobody looked counts for the day on which it is seen, as far as its counters tell:
//! those of the kernel begin with the device, and with the boot.

use joulepath_model::calendar::Day;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Days that are kept: two of the longest periods.
const KEPT_DAYS: i64 = 64;
/// Interfaces that are kept at most; those that were used longest ago go first.
const MOST_INTERFACES: usize = 256;
/// 2020-01-01. A clock before it has not been set yet: what is seen then counts for the latest day known.
const FIRST_DAY: i64 = 18_262;

/// What an interface carried, and what that cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sum {
    /// Bytes received, with the headers of the link layer.
    pub received_bytes: u64,
    /// Bytes sent, with the headers of the link layer.
    pub sent_bytes: u64,
    /// Joules; none where nothing says what the traffic costs.
    pub joules: Option<f64>,
}

impl Sum {
    /// Both directions.
    pub fn bytes(&self) -> u64 {
        self.received_bytes.saturating_add(self.sent_bytes)
    }

    /// Adds another one.
    pub fn add(&mut self, other: Sum) {
        self.received_bytes = self.received_bytes.saturating_add(other.received_bytes);
        self.sent_bytes = self.sent_bytes.saturating_add(other.sent_bytes);
        self.joules = match (self.joules, other.joules) {
            (None, None) => None,
            (one, another) => Some(one.unwrap_or(0.0) + another.unwrap_or(0.0)),
        };
    }
}

/// Counters of a device, since it was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    /// The boot in which it was made.
    pub boot: String,
    /// Its index.
    pub device: u32,
    /// Bytes received.
    pub received_bytes: u64,
    /// Bytes sent.
    pub sent_bytes: u64,
}

/// One interface.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Account {
    /// By day.
    days: BTreeMap<i64, Sum>,
    /// The last reading.
    last: Option<Reading>,
}

/// All interfaces, by name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Ledger {
    accounts: BTreeMap<String, Account>,
    /// Joules that a meter of the whole machine has measured, by day. Absent in what older versions wrote.
    #[serde(default)]
    measured_j: BTreeMap<i64, f64>,
    /// The latest day that was seen.
    latest: i64,
}

impl Ledger {
    /// Takes in a reading of an interface's counters; returns what it carried since the one before.
    pub fn read(&mut self, interface: &str, reading: Reading, today: Day) -> Sum {
        let day = self.day(today);
        let account = self.accounts.entry(interface.to_owned()).or_default();
        let carried = match &account.last {
            // What it carried before anybody counted is not known.
            None => Sum::default(),
            Some(last) => since(last, &reading),
        };
        account.last = Some(reading);
        account.days.entry(day).or_default().add(carried);
        account.days.retain(|&kept, _| kept > day - KEPT_DAYS);
        self.forget_the_oldest();
        carried
    }

    /// Adds joules of today.
    pub fn spend(&mut self, interface: &str, joules: f64, today: Day) {
        let day = self.day(today);
        if let Some(account) = self.accounts.get_mut(interface) {
            account.days.entry(day).or_default().add(Sum { joules: Some(joules), ..Sum::default() });
        }
    }

    /// Adds joules that the machine was measured to have spent today.
    pub fn measure(&mut self, joules: f64, today: Day) {
        let day = self.day(today);
        *self.measured_j.entry(day).or_default() += joules;
        self.measured_j.retain(|&kept, _| kept > day - KEPT_DAYS);
    }

    /// What was measured from `first` to today; none if nothing was.
    pub fn measured(&self, first: Day, today: Day) -> Option<f64> {
        let last = self.seen(today);
        let days = (first.0 <= last).then(|| self.measured_j.range(first.0..=last))?;
        days.map(|(_, joules)| *joules).reduce(|sum, joules| sum + joules)
    }

    /// What an interface carried from `first` to today.
    pub fn since(&self, interface: &str, first: Day, today: Day) -> Sum {
        let mut sum = Sum::default();
        let last = self.seen(today);
        if let Some(account) = self.accounts.get(interface).filter(|_| first.0 <= last) {
            account.days.range(first.0..=last).for_each(|(_, day)| sum.add(*day));
        }
        sum
    }

    /// The day that counts as today.
    pub fn today(&self, today: Day) -> Day {
        Day(self.seen(today))
    }

    fn day(&mut self, today: Day) -> i64 {
        let day = self.seen(today);
        self.latest = self.latest.max(day);
        day
    }

    fn seen(&self, today: Day) -> i64 {
        if today.0 < FIRST_DAY { self.latest.max(FIRST_DAY) } else { today.0 }
    }

    fn forget_the_oldest(&mut self) {
        while self.accounts.len() > MOST_INTERFACES {
            let last_used = |account: &Account| account.days.keys().next_back().copied();
            let oldest = self.accounts.iter().min_by_key(|(_, account)| last_used(account));
            let Some(oldest) = oldest.map(|(name, _)| name.clone()) else { return };
            self.accounts.remove(&oldest);
        }
    }
}

/// What was carried between two readings. A device that was made since, and one whose counters have begun
/// again, has carried at least what it says.
fn since(last: &Reading, now: &Reading) -> Sum {
    let is_same = last.boot == now.boot
        && last.device == now.device
        && now.received_bytes >= last.received_bytes
        && now.sent_bytes >= last.sent_bytes;
    let (received, sent) = if is_same { (last.received_bytes, last.sent_bytes) } else { (0, 0) };
    Sum { received_bytes: now.received_bytes - received, sent_bytes: now.sent_bytes - sent, joules: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TODAY: Day = Day(20_780);

    fn reading(boot: &str, device: u32, received_bytes: u64) -> Reading {
        Reading { boot: boot.into(), device, received_bytes, sent_bytes: 0 }
    }

    #[test]
    fn bytes_are_counted_over_restarts_boots_and_new_devices() {
        let mut ledger = Ledger::default();
        // Before the first look nobody counted.
        assert_eq!(ledger.read("lte", reading("a", 3, 1000), TODAY).bytes(), 0);
        assert_eq!(ledger.read("lte", reading("a", 3, 1500), TODAY).bytes(), 500);
        // It restarts: what passed meanwhile counts.
        let text = serde_json::to_string(&ledger).unwrap();
        let mut ledger: Ledger = serde_json::from_str(&text).unwrap();
        assert_eq!(ledger.read("lte", reading("a", 3, 1700), TODAY).bytes(), 200);
        // The modem was unplugged and is a new device; then the machine boots.
        assert_eq!(ledger.read("lte", reading("a", 9, 30), TODAY).bytes(), 30);
        assert_eq!(ledger.read("lte", reading("b", 9, 50), TODAY).bytes(), 50);
        // The driver begins again.
        assert_eq!(ledger.read("lte", reading("b", 9, 20), TODAY).bytes(), 20);
        assert_eq!(ledger.since("lte", TODAY, TODAY).bytes(), 500 + 200 + 30 + 50 + 20);
    }

    #[test]
    fn a_period_ends_and_a_clock_that_jumps_back_finds_its_days() {
        let mut ledger = Ledger::default();
        ledger.read("lte", reading("a", 3, 0), TODAY);
        ledger.read("lte", reading("a", 3, 100), TODAY);
        let next = Day(TODAY.0 + 1);
        ledger.read("lte", reading("a", 3, 107), next);
        assert_eq!(ledger.since("lte", next, next).bytes(), 7);
        assert_eq!(ledger.since("lte", TODAY, next).bytes(), 107);
        // The clock was wrong, and it is the day before again.
        ledger.read("lte", reading("a", 3, 110), TODAY);
        assert_eq!(ledger.since("lte", TODAY, TODAY).bytes(), 103);
        // A machine without a clock begins in 1970: that is not a new period.
        ledger.read("lte", reading("a", 3, 111), Day(3));
        assert_eq!(ledger.since("lte", next, next).bytes(), 8);
        assert_eq!(ledger.since("lte", ledger.today(Day(3)), Day(3)).bytes(), 8);
    }

    #[test]
    fn it_does_not_grow_without_end() {
        let mut ledger = Ledger::default();
        for day in 0..1000 {
            ledger.read(&format!("ppp{day}"), reading("a", 1, 5), Day(TODAY.0 + day));
            ledger.read("eth0", reading("a", 2, 5), Day(TODAY.0 + day));
            ledger.measure(1.0, Day(TODAY.0 + day));
        }
        assert_eq!(ledger.accounts.len(), MOST_INTERFACES);
        assert_eq!(ledger.accounts["eth0"].days.len(), KEPT_DAYS as usize);
        assert_eq!(ledger.measured_j.len(), KEPT_DAYS as usize);
    }

    #[test]
    fn what_is_measured_is_counted_by_day() {
        let mut ledger = Ledger::default();
        assert_eq!(ledger.measured(TODAY, TODAY), None);
        ledger.measure(3.0, Day(TODAY.0 - 1));
        ledger.measure(4.0, TODAY);
        ledger.measure(0.5, TODAY);
        assert_eq!(ledger.measured(TODAY, TODAY), Some(4.5));
        assert_eq!(ledger.measured(Day(TODAY.0 - 1), TODAY), Some(7.5));
    }

    #[test]
    fn joules_are_unknown_until_something_says_them() {
        let mut ledger = Ledger::default();
        ledger.read("eth0", reading("a", 2, 5), TODAY);
        assert_eq!(ledger.since("eth0", TODAY, TODAY).joules, None);
        ledger.spend("eth0", 1.5, TODAY);
        ledger.spend("eth0", 0.0, TODAY);
        assert_eq!(ledger.since("eth0", TODAY, TODAY).joules, Some(1.5));
    }
}
