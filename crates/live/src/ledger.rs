//! Bytes and joules by interface and day, and what became of them in a period.
//!
//! A clock that was wrong loses no count. Days of this boot are kept apart from those before: time since the
//! boot is known, so that they move together when the clock is set to another time ([`Ledger::shift`]), and
//! what was counted yesterday stays yesterday's. A period takes in what is noted for days after today. The
//! number of days is bounded, not their age: a day far in the future makes none of the past forgotten.
//!
//! What an interface carried while nobody looked counts for the day on which it is seen, as far as its
//! counters tell: those of the kernel begin with the device, and with the boot.

use joulepath_model::calendar::Day;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::clock::Anchor;

/// Days that are kept: two of the longest periods.
const KEPT_DAYS: usize = 64;
/// Interfaces that are kept at most; those that were used longest ago go first.
const MOST_INTERFACES: usize = 256;

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

/// One interface, or the machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Account {
    /// By day, until the present boot.
    days: BTreeMap<i64, Sum>,
    /// By day, of the present boot. Absent in what older versions wrote.
    #[serde(default)]
    recent: BTreeMap<i64, Sum>,
    /// The last reading.
    last: Option<Reading>,
}

impl Account {
    fn add(&mut self, sum: Sum, today: Day) {
        self.recent.entry(today.0).or_default().add(sum);
        while self.days.len() + self.recent.len() > KEPT_DAYS {
            let oldest = |days: &BTreeMap<i64, Sum>| days.keys().next().copied().unwrap_or(i64::MAX);
            let is_settled = oldest(&self.days) <= oldest(&self.recent);
            if is_settled {
                self.days.pop_first()
            } else {
                self.recent.pop_first()
            };
        }
    }

    fn since(&self, first: Day) -> Sum {
        let mut sum = Sum::default();
        let all = self.days.range(first.0..).chain(self.recent.range(first.0..));
        all.for_each(|(_, day)| sum.add(*day));
        sum
    }

    fn settle(&mut self) {
        for (day, sum) in std::mem::take(&mut self.recent) {
            self.days.entry(day).or_default().add(sum);
        }
    }

    fn shift(&mut self, by_days: i64) {
        let recent = std::mem::take(&mut self.recent);
        self.recent = recent.into_iter().map(|(day, sum)| (day.saturating_add(by_days), sum)).collect();
    }

    fn fold(&mut self, today: Day) {
        for (_, sum) in self.days.split_off(&(today.0 + 1)) {
            self.recent.entry(today.0).or_default().add(sum);
        }
    }
}

/// All interfaces, by name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Ledger {
    accounts: BTreeMap<String, Account>,
    /// What a meter of the whole machine has measured: joules only.
    #[serde(default)]
    machine: Account,
    /// The trusted time.
    #[serde(default)]
    clock: Option<Anchor>,
    /// Joules of the machine by day, as version 2 of the record has them.
    #[serde(default, skip_serializing)]
    measured_j: BTreeMap<i64, f64>,
    /// The latest day that was seen, in place of the time: so until version 2.
    #[serde(default, skip_serializing)]
    latest: i64,
}

impl Ledger {
    /// Goes on in a boot; what was counted in an earlier one keeps its days. Returns the time that was
    /// trusted last; none if nothing was counted yet.
    pub(crate) fn resume(&mut self, boot: &str) -> Option<Anchor> {
        for (day, joules) in std::mem::take(&mut self.measured_j) {
            let sum = Sum { joules: Some(joules), ..Sum::default() };
            self.machine.days.entry(day).or_default().add(sum);
        }
        let of_older = (self.latest > 0).then(|| Anchor::of_day(Day(self.latest)));
        self.clock = self.clock.take().or(of_older);
        if self.clock.as_ref().is_none_or(|anchor| !anchor.is_of(boot)) {
            self.all().for_each(Account::settle);
        }
        self.clock.clone()
    }

    /// Notes the trusted time.
    pub(crate) fn note(&mut self, anchor: Anchor) {
        self.clock = Some(anchor);
    }

    /// The clock was set to another time: today is so many days later than it was.
    pub fn shift(&mut self, by_days: i64) {
        self.all().for_each(|account| account.shift(by_days));
    }

    /// What an earlier boot has noted for days after today counts for today: its clock was wrong.
    pub fn fold(&mut self, today: Day) {
        self.all().for_each(|account| account.fold(today));
    }

    /// Takes in a reading of an interface's counters; returns what it carried since the one before.
    pub fn read(&mut self, interface: &str, reading: Reading, today: Day) -> Sum {
        let account = self.accounts.entry(interface.to_owned()).or_default();
        let carried = match &account.last {
            // What it carried before anybody counted is not known.
            None => Sum::default(),
            Some(last) => since(last, &reading),
        };
        account.last = Some(reading);
        account.add(carried, today);
        self.forget_the_oldest();
        carried
    }

    /// Adds joules of today.
    pub fn spend(&mut self, interface: &str, joules: f64, today: Day) {
        if let Some(account) = self.accounts.get_mut(interface) {
            account.add(Sum { joules: Some(joules), ..Sum::default() }, today);
        }
    }

    /// Adds joules that the machine was measured to have spent today.
    pub fn measure(&mut self, joules: f64, today: Day) {
        self.machine.add(Sum { joules: Some(joules), ..Sum::default() }, today);
    }

    /// What was measured from `first` on; none if nothing was.
    pub fn measured(&self, first: Day) -> Option<f64> {
        self.machine.since(first).joules
    }

    /// What an interface carried from `first` on.
    pub fn since(&self, interface: &str, first: Day) -> Sum {
        self.accounts.get(interface).map(|account| account.since(first)).unwrap_or_default()
    }

    fn all(&mut self) -> impl Iterator<Item = &mut Account> {
        self.accounts.values_mut().chain([&mut self.machine])
    }

    fn forget_the_oldest(&mut self) {
        while self.accounts.len() > MOST_INTERFACES {
            let last_used = |account: &Account| {
                account.days.keys().next_back().max(account.recent.keys().next_back()).copied()
            };
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
        assert_eq!(ledger.since("lte", TODAY).bytes(), 500 + 200 + 30 + 50 + 20);
    }

    fn used(ledger: &Ledger, first: i64) -> u64 {
        ledger.since("lte", Day(first)).bytes()
    }

    #[test]
    fn a_period_ends_and_a_day_before_it_is_not_in_it() {
        let mut ledger = Ledger::default();
        ledger.read("lte", reading("a", 3, 0), TODAY);
        ledger.read("lte", reading("a", 3, 100), TODAY);
        ledger.read("lte", reading("a", 3, 107), Day(TODAY.0 + 1));
        assert_eq!((used(&ledger, TODAY.0 + 1), used(&ledger, TODAY.0)), (7, 107));
    }

    #[test]
    fn a_clock_that_is_set_there_and_back_changes_nothing() {
        for by in [100, -100] {
            let mut ledger = Ledger { clock: Some(Anchor::of_day(TODAY)), ..Ledger::default() };
            let mut carried = 0;
            let mut carry = |ledger: &mut Ledger, bytes, day| {
                carried += bytes;
                ledger.read("lte", reading("a", 3, carried), Day(day));
            };
            for day in TODAY.0 - 90..=TODAY.0 {
                carry(&mut ledger, 10, day);
            }
            // A boot: what was before keeps its days.
            ledger.resume("b");
            carry(&mut ledger, 1, TODAY.0);
            carry(&mut ledger, 1, TODAY.0 + 1);
            let before: Vec<u64> =
                (0..KEPT_DAYS as i64 - 5).map(|ago| used(&ledger, TODAY.0 - ago)).collect();
            assert_eq!(before[..3], [12, 22, 32]);
            ledger.shift(by);
            ledger.measure(1.0, Day(TODAY.0 + by));
            // What this boot has carried is as long ago as before.
            assert!(used(&ledger, TODAY.0 + by) >= 2);
            ledger.shift(-by);
            let after: Vec<u64> = (0..KEPT_DAYS as i64 - 5).map(|ago| used(&ledger, TODAY.0 - ago)).collect();
            assert_eq!(before, after);
        }
    }

    #[test]
    fn what_a_boot_with_a_wrong_clock_has_counted_stays_used_and_ends_as_todays() {
        let mut ledger = Ledger::default();
        let future = Day(TODAY.0 + 5000);
        ledger.read("lte", reading("a", 3, 0), future);
        ledger.read("lte", reading("a", 3, 100), future);
        ledger.resume("b");
        ledger.read("lte", reading("b", 3, 7), TODAY);
        assert_eq!(used(&ledger, TODAY.0), 107);
        ledger.fold(TODAY);
        assert_eq!((used(&ledger, TODAY.0), used(&ledger, TODAY.0 + 1)), (107, 0));
    }

    #[test]
    fn it_does_not_grow_without_end() {
        let mut ledger = Ledger::default();
        for day in 0..1000 {
            if day % 10 == 0 {
                ledger.resume(&day.to_string());
            }
            ledger.read(&format!("ppp{day}"), reading("a", 1, 5), Day(TODAY.0 + day));
            ledger.read("eth0", reading("a", 2, 5), Day(TODAY.0 + day));
            ledger.measure(1.0, Day(TODAY.0 + day));
        }
        assert_eq!(ledger.accounts.len(), MOST_INTERFACES);
        for account in [&ledger.accounts["eth0"], &ledger.machine] {
            assert_eq!(account.days.len() + account.recent.len(), KEPT_DAYS);
        }
        assert_eq!(ledger.measured(Day(TODAY.0 + 990)), Some(10.0));
    }

    #[test]
    fn what_is_measured_is_counted_by_day() {
        let mut ledger = Ledger::default();
        assert_eq!(ledger.measured(TODAY), None);
        ledger.measure(3.0, Day(TODAY.0 - 1));
        ledger.measure(4.0, TODAY);
        ledger.measure(0.5, TODAY);
        assert_eq!(ledger.measured(TODAY), Some(4.5));
        assert_eq!(ledger.measured(Day(TODAY.0 - 1)), Some(7.5));
    }

    #[test]
    fn joules_are_unknown_until_something_says_them() {
        let mut ledger = Ledger::default();
        ledger.read("eth0", reading("a", 2, 5), TODAY);
        assert_eq!(ledger.since("eth0", TODAY).joules, None);
        ledger.spend("eth0", 1.5, TODAY);
        ledger.spend("eth0", 0.0, TODAY);
        assert_eq!(ledger.since("eth0", TODAY).joules, Some(1.5));
    }
}
