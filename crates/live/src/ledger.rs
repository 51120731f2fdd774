//! Bytes and joules by interface and day, and their sums over a period.
//!
//! A wrong clock loses no count. Days of this boot are kept apart from earlier days: the time since
//! the boot is known, so they move together when the clock is set ([`Ledger::shift`]), and
//! yesterday's traffic stays yesterday's. A period includes the days noted after today. The number
//! of days is limited, not their age, so a day far in the future does not erase the past.
//!
//! Traffic that passed while no daemon ran counts for the day of the next poll, if the counters
//! still show it: the kernel's counters start at 0 with each device and each boot.

use joulepath_model::calendar::Day;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::clock::Anchor;

/// Days kept per account: two of the longest periods.
const KEPT_DAYS: usize = 64;
/// Most interfaces kept. The interface that was used least recently is dropped first.
const MOST_INTERFACES: usize = 256;

/// Traffic of an interface and its energy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sum {
    /// Bytes received, with link-layer headers.
    pub received_bytes: u64,
    /// Bytes sent, with link-layer headers.
    pub sent_bytes: u64,
    /// Energy, J; `None` without an energy model.
    pub joules: Option<f64>,
}

impl Sum {
    /// Bytes in both directions.
    pub fn bytes(&self) -> u64 {
        self.received_bytes.saturating_add(self.sent_bytes)
    }

    /// Adds `other`; a known energy stays known.
    pub fn add(&mut self, other: Sum) {
        self.received_bytes = self.received_bytes.saturating_add(other.received_bytes);
        self.sent_bytes = self.sent_bytes.saturating_add(other.sent_bytes);
        self.joules = match (self.joules, other.joules) {
            (None, None) => None,
            (one, another) => Some(one.unwrap_or(0.0) + another.unwrap_or(0.0)),
        };
    }
}

/// Counters of a device since its creation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    /// Boot id.
    pub boot: String,
    /// Interface index.
    pub device: u32,
    /// Bytes received, with link-layer headers.
    pub received_bytes: u64,
    /// Bytes sent, with link-layer headers.
    pub sent_bytes: u64,
}

/// The account of one interface or of the machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Account {
    /// By day, for earlier boots.
    days: BTreeMap<i64, Sum>,
    /// By day, for this boot. Absent in records of older versions.
    #[serde(default)]
    recent: BTreeMap<i64, Sum>,
    last: Option<Reading>,
}

impl Account {
    fn add(&mut self, sum: Sum, today: Day) {
        self.recent.entry(today.0).or_default().add(sum);
        while self.days.len() + self.recent.len() > KEPT_DAYS {
            let oldest =
                |days: &BTreeMap<i64, Sum>| days.keys().next().copied().unwrap_or(i64::MAX);
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
        let all = self
            .days
            .range(first.0..)
            .chain(self.recent.range(first.0..));
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
        self.recent = recent
            .into_iter()
            .map(|(day, sum)| (day.saturating_add(by_days), sum))
            .collect();
    }

    fn fold(&mut self, today: Day) {
        for (_, sum) in self.days.split_off(&(today.0 + 1)) {
            self.recent.entry(today.0).or_default().add(sum);
        }
    }
}

/// All accounts, by interface name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Ledger {
    accounts: BTreeMap<String, Account>,
    /// Energy from a whole-machine meter; no bytes.
    #[serde(default)]
    machine: Account,
    /// Bytes of MPTCP connections, and the energy that their radios would have used besides if all
    /// had been awake.
    #[serde(default)]
    mptcp: Account,
    /// Interfaces whose hard quota is used up: the first day of the period, and the quota, bytes.
    #[serde(default)]
    closed: BTreeMap<String, (i64, u64)>,
    /// The trusted time.
    #[serde(default)]
    clock: Option<Anchor>,
    /// Energy of the machine by day, in records of version 2.
    #[serde(default, skip_serializing)]
    measured_j: BTreeMap<i64, f64>,
    /// The latest day, in records up to version 2, which have no time.
    #[serde(default, skip_serializing)]
    latest: i64,
}

impl Ledger {
    /// Starts counting in boot `boot`; counts of earlier boots keep their days. Returns the last
    /// trusted time; `None` if the ledger is empty.
    pub(crate) fn resume(&mut self, boot: &str) -> Option<Anchor> {
        for (day, joules) in std::mem::take(&mut self.measured_j) {
            let sum = Sum {
                joules: Some(joules),
                ..Sum::default()
            };
            self.machine.days.entry(day).or_default().add(sum);
        }
        let of_older = (self.latest > 0).then(|| Anchor::of_day(Day(self.latest)));
        self.clock = self.clock.take().or(of_older);
        if self.clock.as_ref().is_none_or(|anchor| !anchor.is_of(boot)) {
            self.all().for_each(Account::settle);
        }
        self.clock.clone()
    }

    /// Stores the trusted time.
    pub(crate) fn note(&mut self, anchor: Anchor) {
        self.clock = Some(anchor);
    }

    /// Moves the days of this boot by `by_days`, after the clock was set.
    pub fn shift(&mut self, by_days: i64) {
        self.all().for_each(|account| account.shift(by_days));
    }

    /// Counts for today what an earlier boot counted for later days: its clock was wrong.
    pub fn fold(&mut self, today: Day) {
        self.all().for_each(|account| account.fold(today));
    }

    /// True if the last reading is of the same device in the same boot: traffic since then can be
    /// recovered from the kernel's counters.
    pub(crate) fn is_based_on(&self, interface: &str, reading: &Reading) -> bool {
        let last = self
            .accounts
            .get(interface)
            .and_then(|account| account.last.as_ref());
        last.is_some_and(|last| (&last.boot, last.device) == (&reading.boot, reading.device))
    }

    /// Takes in a reading of the counters. Returns the traffic since the previous reading.
    pub fn read(&mut self, interface: &str, reading: Reading, today: Day) -> Sum {
        let account = self.accounts.entry(interface.to_owned()).or_default();
        let carried = match &account.last {
            // Traffic before the first reading is unknown.
            None => Sum::default(),
            Some(last) => since(last, &reading),
        };
        account.last = Some(reading);
        account.add(carried, today);
        self.forget_the_oldest();
        carried
    }

    /// Adds modelled energy to today.
    pub fn spend(&mut self, interface: &str, joules: f64, today: Day) {
        if let Some(account) = self.accounts.get_mut(interface) {
            account.add(
                Sum {
                    joules: Some(joules),
                    ..Sum::default()
                },
                today,
            );
        }
    }

    /// Adds measured energy of the machine to today.
    pub fn measure(&mut self, joules: f64, today: Day) {
        self.machine.add(
            Sum {
                joules: Some(joules),
                ..Sum::default()
            },
            today,
        );
    }

    /// Adds bytes of MPTCP connections, and spared energy, to today.
    pub fn spare(&mut self, sum: Sum, today: Day) {
        self.mptcp.add(sum, today);
    }

    /// Bytes of MPTCP connections, and spared energy, since `first`.
    pub fn spared(&self, first: Day) -> Sum {
        self.mptcp.since(first)
    }

    /// Measured energy since `first`, J; `None` if nothing was measured.
    pub fn measured(&self, first: Day) -> Option<f64> {
        self.machine.since(first).joules
    }

    /// Notes that the hard quota of an interface is used up in the period that began on `first`.
    /// Returns true if that is new.
    pub fn close(&mut self, interface: &str, first: Day, hard: u64) -> bool {
        self.closed.insert(interface.to_owned(), (first.0, hard)) != Some((first.0, hard))
    }

    /// True if [`Self::close`] was called for this period and quota.
    pub fn is_closed(&self, interface: &str, first: Day, hard: u64) -> bool {
        self.closed.get(interface) == Some(&(first.0, hard))
    }

    /// Traffic of an interface since `first`.
    pub fn since(&self, interface: &str, first: Day) -> Sum {
        self.accounts
            .get(interface)
            .map(|account| account.since(first))
            .unwrap_or_default()
    }

    fn all(&mut self) -> impl Iterator<Item = &mut Account> {
        self.accounts
            .values_mut()
            .chain([&mut self.machine, &mut self.mptcp])
    }

    fn forget_the_oldest(&mut self) {
        while self.accounts.len() > MOST_INTERFACES {
            let last_used = |account: &Account| {
                account
                    .days
                    .keys()
                    .next_back()
                    .max(account.recent.keys().next_back())
                    .copied()
            };
            let oldest = self
                .accounts
                .iter()
                .min_by_key(|(_, account)| last_used(account));
            let Some(oldest) = oldest.map(|(name, _)| name.clone()) else {
                return;
            };
            self.accounts.remove(&oldest);
        }
    }
}

/// Traffic between two readings. A new device, or one whose counters were reset, carried at least
/// what its counters show.
fn since(last: &Reading, now: &Reading) -> Sum {
    let is_same = last.boot == now.boot
        && last.device == now.device
        && now.received_bytes >= last.received_bytes
        && now.sent_bytes >= last.sent_bytes;
    let (received, sent) = if is_same {
        (last.received_bytes, last.sent_bytes)
    } else {
        (0, 0)
    };
    Sum {
        received_bytes: now.received_bytes - received,
        sent_bytes: now.sent_bytes - sent,
        joules: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TODAY: Day = Day(20_780);

    fn reading(boot: &str, device: u32, received_bytes: u64) -> Reading {
        Reading {
            boot: boot.into(),
            device,
            received_bytes,
            sent_bytes: 0,
        }
    }

    #[test]
    fn bytes_are_counted_across_restarts_boots_and_new_devices() {
        let mut ledger = Ledger::default();
        // Nothing is counted before the first poll.
        assert_eq!(ledger.read("lte", reading("a", 3, 1000), TODAY).bytes(), 0);
        assert_eq!(
            ledger.read("lte", reading("a", 3, 1500), TODAY).bytes(),
            500
        );
        // Restart: traffic in the meantime counts.
        let text = serde_json::to_string(&ledger).unwrap();
        let mut ledger: Ledger = serde_json::from_str(&text).unwrap();
        assert_eq!(
            ledger.read("lte", reading("a", 3, 1700), TODAY).bytes(),
            200
        );
        // The modem was replugged and is a new device; then the machine boots.
        assert_eq!(ledger.read("lte", reading("a", 9, 30), TODAY).bytes(), 30);
        assert_eq!(ledger.read("lte", reading("b", 9, 50), TODAY).bytes(), 50);
        // The driver resets its counters.
        assert_eq!(ledger.read("lte", reading("b", 9, 20), TODAY).bytes(), 20);
        assert_eq!(ledger.since("lte", TODAY).bytes(), 500 + 200 + 30 + 50 + 20);
    }

    fn used(ledger: &Ledger, first: i64) -> u64 {
        ledger.since("lte", Day(first)).bytes()
    }

    #[test]
    fn a_period_excludes_the_day_before_it() {
        let mut ledger = Ledger::default();
        ledger.read("lte", reading("a", 3, 0), TODAY);
        ledger.read("lte", reading("a", 3, 100), TODAY);
        ledger.read("lte", reading("a", 3, 107), Day(TODAY.0 + 1));
        assert_eq!(
            (used(&ledger, TODAY.0 + 1), used(&ledger, TODAY.0)),
            (7, 107)
        );
    }

    #[test]
    fn setting_the_clock_there_and_back_changes_no_day() {
        for by in [100, -100] {
            let mut ledger = Ledger {
                clock: Some(Anchor::of_day(TODAY)),
                ..Ledger::default()
            };
            let mut carried = 0;
            let mut carry = |ledger: &mut Ledger, bytes, day| {
                carried += bytes;
                ledger.read("lte", reading("a", 3, carried), Day(day));
            };
            for day in TODAY.0 - 90..=TODAY.0 {
                carry(&mut ledger, 10, day);
            }
            // After a boot, earlier counts keep their days.
            ledger.resume("b");
            carry(&mut ledger, 1, TODAY.0);
            carry(&mut ledger, 1, TODAY.0 + 1);
            let before: Vec<u64> = (0..KEPT_DAYS as i64 - 5)
                .map(|ago| used(&ledger, TODAY.0 - ago))
                .collect();
            assert_eq!(before[..3], [12, 22, 32]);
            ledger.shift(by);
            ledger.measure(1.0, Day(TODAY.0 + by));
            // The age of this boot's traffic is unchanged.
            assert!(used(&ledger, TODAY.0 + by) >= 2);
            ledger.shift(-by);
            let after: Vec<u64> = (0..KEPT_DAYS as i64 - 5)
                .map(|ago| used(&ledger, TODAY.0 - ago))
                .collect();
            assert_eq!(before, after);
        }
    }

    #[test]
    fn bytes_counted_under_a_wrong_clock_stay_used_and_move_to_today() {
        let mut ledger = Ledger::default();
        let future = Day(TODAY.0 + 5000);
        ledger.read("lte", reading("a", 3, 0), future);
        ledger.read("lte", reading("a", 3, 100), future);
        ledger.resume("b");
        ledger.read("lte", reading("b", 3, 7), TODAY);
        assert_eq!(used(&ledger, TODAY.0), 107);
        ledger.fold(TODAY);
        assert_eq!(
            (used(&ledger, TODAY.0), used(&ledger, TODAY.0 + 1)),
            (107, 0)
        );
    }

    #[test]
    fn the_ledger_has_bounded_size() {
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
    fn measured_joules_are_counted_by_day() {
        let mut ledger = Ledger::default();
        assert_eq!(ledger.measured(TODAY), None);
        ledger.measure(3.0, Day(TODAY.0 - 1));
        ledger.measure(4.0, TODAY);
        ledger.measure(0.5, TODAY);
        assert_eq!(ledger.measured(TODAY), Some(4.5));
        assert_eq!(ledger.measured(Day(TODAY.0 - 1)), Some(7.5));
    }

    #[test]
    fn joules_are_unknown_until_a_model_gives_them() {
        let mut ledger = Ledger::default();
        ledger.read("eth0", reading("a", 2, 5), TODAY);
        assert_eq!(ledger.since("eth0", TODAY).joules, None);
        ledger.spend("eth0", 1.5, TODAY);
        ledger.spend("eth0", 0.0, TODAY);
        assert_eq!(ledger.since("eth0", TODAY).joules, Some(1.5));
    }
}
