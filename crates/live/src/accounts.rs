//! Bytes and joules of all interfaces, kept across boots.

use std::collections::BTreeMap;
use std::path::Path;

use joulepath_kernel::Result;
use joulepath_kernel::mptcp::diag::Listing;
use joulepath_kernel::route::Counters;
use joulepath_kernel::state::{State, boot_id};
use joulepath_model::calendar::{Date, Day};
use joulepath_model::live::{LiveConfig, Quota};
use joulepath_model::units::{Bytes, Dbm, Nanos};

use crate::always::{Moved, Shortened};
use crate::clock::{Clock, Times};
use crate::gauge::{Gauge, Machine};
use crate::joules::Quality;
use crate::ledger::{Ledger, Reading, Sum};
use crate::machine::Look;
use crate::placing::Passed;
use crate::snapshot::Interface;
use crate::sources::Sources;
use crate::status::{AllPaths, MachineStatus, QuotaStatus, Spared, Spent};
use crate::versioned;

const NAME: &str = "ledger";
/// Schema of the record: 2 added measured energy; 3 added the trusted time and the days of this
/// boot.
const SCHEMA: u64 = 3;
/// Remedy for a record that cannot be read.
const REMEDY: &str = "install the version that wrote it, or move the file away: then counting restarts, \
                    also for quotas";
const SAVED_EVERY: Nanos = Nanos::from_secs(60);
/// The ledger is also written when an interface has carried this share of its hard quota since it
/// was written: the kernel's counters end with the device or the boot.
const SAVED_SHARE: u64 = 100;
/// The part of the spared energy that counts: models are not exact, and the sum must not be too
/// high.
const SURE: f64 = 0.95;
/// The least RTT assumed: that of a full queue, which may have grown since connections were listed.
const LEAST_RTT: Nanos = Nanos::from_millis(150);

/// The first bytes under way do not count: single packets would use up a small quota.
pub(crate) const FEW_UNDER_WAY: u64 = 100_000;

pub(crate) struct Accounts {
    ledger: Ledger,
    /// Where the ledger is stored; `None` if that failed.
    state: Option<State>,
    /// Why the ledger is not stored.
    pub(crate) trouble: Option<String>,
    boot: String,
    clock: Clock,
    sources: Sources,
    /// Traffic by interface since this process started.
    totals: BTreeMap<String, Sum>,
    /// The meter of the machine.
    machine: Option<Machine>,
    moved: Moved,
    /// Bytes that MPTCP connections have received and sent since the last poll; `None`: none.
    mptcp: Option<[u64; 2]>,
    /// What all paths would have needed less than was used, J: spared energy only grows.
    owed_j: f64,
    /// The last poll.
    looked: Nanos,
    /// What [`Ledger::spared`] has, since this process started.
    spared: Sum,
    saved: Nanos,
    /// True if the record lacks the counters from which traffic would be recovered after a kill.
    lacks_base: bool,
    /// Bytes of hard quotas since the ledger was written, by interface.
    unsaved: BTreeMap<String, u64>,
}

impl Accounts {
    /// Opens the ledger in `folder`, which is created if absent.
    pub(crate) fn open(folder: &str, now: Nanos, times: Times) -> Result<Self> {
        let opened = State::lasting(Path::new(folder))
            .and_then(|state| Ok((versioned::read(&state, NAME, SCHEMA, REMEDY)?, state)));
        let (ledger, state, trouble) = match opened {
            Ok((ledger, state)) => (ledger.unwrap_or_default(), Some(state), None),
            Err(error) => (Ledger::default(), None, Some(not_kept(&error))),
        };
        let accounts = Self::of(ledger, boot_id()?, now, times);
        Ok(Accounts {
            state,
            trouble,
            ..accounts
        })
    }

    /// Opens the ledger read-only: creates no folder and writes nothing.
    pub(crate) fn look_at(folder: &str, now: Nanos, times: Times) -> Result<Self> {
        if !Path::new(folder).exists() {
            return Ok(Self::of(Ledger::default(), boot_id()?, now, times));
        }
        let accounts = Self::open(folder, now, times)?;
        Ok(Accounts {
            state: None,
            ..accounts
        })
    }

    fn of(mut ledger: Ledger, boot: String, now: Nanos, times: Times) -> Self {
        let clock = Clock::new(boot.clone(), ledger.resume(&boot).as_ref(), times);
        let (sources, totals) = (Sources::default(), BTreeMap::new());
        Accounts {
            ledger,
            state: None,
            trouble: None,
            boot,
            clock,
            sources,
            totals,
            machine: None,
            moved: Moved::default(),
            mptcp: None,
            owed_j: 0.0,
            looked: now,
            spared: Sum::default(),
            saved: now,
            lacks_base: true,
            unsaved: BTreeMap::new(),
        }
    }

    /// Takes in the connections of the next poll. `begun`: some were established since the last
    /// poll. `chooses`: the daemon chooses their paths at present.
    pub(crate) fn list(&mut self, listing: Option<&Listing>, begun: bool, chooses: bool) {
        let moved = listing
            .map(|listing| self.moved.since_last(listing))
            .unwrap_or_default();
        self.mptcp = (chooses && (begun || moved != [0; 2])).then_some(moved);
    }

    /// When to read counters next; `None`: the next poll suffices.
    pub(crate) fn due(&self) -> Option<Nanos> {
        self.sources.due()
    }

    /// Notes that no packet has passed since the last reading.
    pub(crate) fn is_still(&mut self, now: Nanos) {
        self.sources.is_still(now);
    }

    /// Takes in counters between two polls.
    pub(crate) fn read(&mut self, now: Nanos, counters: &[(u32, Counters)]) {
        self.sources.read(now, counters);
    }

    /// Takes in a poll and fills in its quota use.
    pub(crate) fn take(&mut self, config: &LiveConfig, look: &mut Look, now: Nanos, times: Times) {
        self.keep_time(times, now);
        let today = self.clock.today();
        let mut attributed_j = 0.0;
        self.measure(config, look, now);
        let all_paths = self.all_paths_of(config, look, now);
        let [received_bytes, sent_bytes] = self.mptcp.take().unwrap_or_default();
        let mut all_j = 0.0;
        for interface in &mut look.interfaces {
            let name = &interface.name;
            if let Some(counters) = look.counters.get(name) {
                let reading = Reading {
                    boot: self.boot.clone(),
                    device: interface.index,
                    received_bytes: counters.received_bytes,
                    sent_bytes: counters.sent_bytes,
                };
                let is_known = config.interface(name).is_some();
                self.lacks_base |= is_known && !self.ledger.is_based_on(name, &reading);
                let carried = self.ledger.read(name, reading, today).bytes();
                let hard = config.interface(name).and_then(|known| known.quota?.hard);
                if let Some(hard) = hard {
                    let unsaved = self.unsaved.entry(name.clone()).or_default();
                    *unsaved = unsaved.saturating_add(carried);
                    self.lacks_base |= *unsaved >= (hard.0 / SAVED_SHARE).max(1);
                }
            }
            let passed = look
                .measured
                .get(name)
                .map(|measured| measured.passed)
                .unwrap_or_default();
            let round = self.sources.end(now, name, all_paths.as_ref());
            let joules = round.map(|round| round.joules);
            if let Some(round) = round {
                self.ledger.spend(name, round.joules, today);
                attributed_j += round.joules;
                all_j += round.all_j;
            }
            let Passed {
                received_bytes,
                sent_bytes,
                ..
            } = passed;
            self.totals.entry(name.clone()).or_default().add(Sum {
                received_bytes,
                sent_bytes,
                joules,
            });
            let quota = config.interface(name).and_then(|known| known.quota);
            let rate = look.rates.get(&interface.index).copied();
            let stopped = look.stopped.get(&interface.index).copied().unwrap_or(0);
            let closing = closing_time(interface.rtt, look.reaction);
            interface.under_way = under_way(rate.unwrap_or(0.0), closing).max(stopped);
            interface.used = quota.map(|quota| self.used(name, quota, interface.under_way));
        }
        let present = |name: &String| {
            look.interfaces
                .iter()
                .any(|interface| interface.name == *name)
        };
        let spared_j = (all_j - attributed_j - self.owed_j).max(0.0);
        self.owed_j += spared_j - (all_j - attributed_j);
        let spared = Sum {
            received_bytes,
            sent_bytes,
            joules: Some(SURE * spared_j),
        };
        self.ledger.spare(spared, today);
        self.spared.add(spared);
        self.sources.retain(present);
        self.totals.retain(|name, _| present(name));
        if let Some(machine) = &mut self.machine {
            machine.look(&mut self.ledger, attributed_j, today);
        }
    }

    fn keep_time(&mut self, times: Times, now: Nanos) {
        let moved = self.clock.look(times);
        self.ledger.shift(moved);
        if self.clock.is_sure() {
            self.ledger.fold(self.clock.today());
        }
        self.ledger.note(self.clock.anchor());
        if moved != 0 {
            self.save(now, true);
        }
    }

    /// Why the clock is not trusted.
    pub(crate) fn clock_trouble(&self) -> Option<String> {
        self.clock.trouble()
    }

    /// Gives the energy models the counters of this poll.
    fn measure(&mut self, config: &LiveConfig, look: &Look, now: Nanos) {
        for interface in &look.interfaces {
            let name = &interface.name;
            match config
                .interface(name)
                .and_then(|known| known.energy.as_ref())
            {
                Some(energy) => {
                    let signal = interface.strength.map(|strength| Dbm(strength.dbm));
                    let counters = look.counters.get(name).copied();
                    self.sources
                        .look(now, (name, interface.index), energy, counters, signal);
                }
                None => self.sources.remove(name),
            }
        }
    }

    /// How the time since the last poll would have gone with all paths, if that differs.
    fn all_paths_of(&mut self, config: &LiveConfig, look: &Look, now: Nanos) -> Option<Shortened> {
        let length_s = now
            .saturating_sub(std::mem::replace(&mut self.looked, now))
            .as_secs_f64();
        let passed = |one: &Interface| self.sources.passed(&one.name);
        self.mptcp
            .and_then(|_| Shortened::new(config, &look.interfaces, passed, length_s))
    }

    /// Resets all energy models after a change of the configuration.
    pub(crate) fn reconfigured(&mut self) {
        self.sources.clear();
    }

    /// Replaces the meter of the machine.
    pub(crate) fn measure_by(&mut self, gauge: Option<Box<dyn Gauge>>) {
        self.machine = gauge.map(|gauge| Machine::new(gauge, self.clock.today()));
    }

    /// Measurements of the machine; `None` without a meter.
    pub(crate) fn machine(&self) -> Option<MachineStatus> {
        Some(
            self.machine
                .as_ref()?
                .status(&self.ledger, self.sources.attributed_w()),
        )
    }

    /// Writes the ledger if it is due.
    pub(crate) fn save(&mut self, now: Nanos, at_once: bool) {
        if !at_once && !self.lacks_base && now.saturating_sub(self.saved) < SAVED_EVERY {
            return;
        }
        self.saved = now;
        self.lacks_base = false;
        self.unsaved.clear();
        if let Some(state) = &self.state {
            self.trouble = versioned::write(state, NAME, SCHEMA, &self.ledger)
                .err()
                .map(|error| not_kept(&error));
        }
    }

    /// Bytes of the current period. At least the hard quota from when the bytes that are under way
    /// would exceed it, until the period or the quota changes.
    fn used(&mut self, name: &str, quota: Quota, under_way: u64) -> Bytes {
        let (sum, start) = self.in_period(name, quota);
        let used = Bytes(sum.bytes());
        let Some(hard) = quota.hard else { return used };
        if used.0.saturating_add(under_way) >= hard.0 {
            self.lacks_base |= self.ledger.close(name, start, hard.0);
        }
        if self.ledger.is_closed(name, start, hard.0) {
            used.max(hard)
        } else {
            used
        }
    }

    fn in_period(&self, name: &str, quota: Quota) -> (Sum, Day) {
        let start = self.clock.today().period_start(quota.period_day);
        (self.ledger.since(name, start), start)
    }

    pub(crate) fn date(&self) -> Date {
        self.clock.today().date()
    }

    /// Start of today, s since 1970.
    pub(crate) fn midnight_s(&self) -> u32 {
        u32::try_from(self.clock.today().0.saturating_mul(86_400)).unwrap_or(0)
    }

    /// State of an interface's quota; `None` without a quota.
    pub(crate) fn quota(&self, config: &LiveConfig, name: &str) -> Option<QuotaStatus> {
        let quota = config.interface(name)?.quota?;
        let (sum, start) = self.in_period(name, quota);
        Some(QuotaStatus {
            used_bytes: sum.bytes(),
            soft_bytes: quota.soft.map(|bytes| bytes.0),
            hard_bytes: quota.hard.map(|bytes| bytes.0),
            since: start.date().to_string(),
        })
    }

    /// Traffic of today and of this month.
    pub(crate) fn spent(&self, name: &str) -> [Spent; 2] {
        let today = self.clock.today();
        [today, today.period_start(1)]
            .map(|first| self.spent_of(name, self.ledger.since(name, first)))
    }

    /// Traffic since this process started.
    pub(crate) fn total(&self, name: &str) -> Spent {
        self.spent_of(name, self.totals.get(name).copied().unwrap_or_default())
    }

    /// With the energy since the last poll.
    fn spent_of(&self, name: &str, sum: Sum) -> Spent {
        let Sum {
            received_bytes,
            sent_bytes,
            joules,
        } = sum;
        let energy_j = joules.map(|joules| joules + self.sources.pending_j(name).unwrap_or(0.0));
        Spent {
            received_bytes,
            sent_bytes,
            energy_j,
        }
    }

    /// What the choice of paths has spared; `None` without an energy model.
    pub(crate) fn all_paths(&self) -> Option<AllPaths> {
        let of = |sum: Sum| Spared {
            mptcp_bytes: sum.bytes(),
            spared_j: sum.joules.unwrap_or(0.0),
        };
        let today = self.clock.today();
        let [today, month] =
            [today, today.period_start(1)].map(|first| of(self.ledger.spared(first)));
        (!self.sources.is_empty()).then(|| AllPaths {
            total: of(self.spared),
            today,
            month,
            ..AllPaths::default()
        })
    }

    /// Power of its traffic, W; `None` without an energy model.
    pub(crate) fn power_w(&self, name: &str) -> Option<f64> {
        self.sources.power_w(name)
    }

    /// The signal for which the energy model computes, dBm; `None` if it does not depend on the
    /// signal.
    pub(crate) fn at_dbm(&self, name: &str) -> Option<f64> {
        Some(self.sources.get(name)?.signal()?.0)
    }

    /// The energy profile of an interface and its quality.
    pub(crate) fn source(&self, name: &str) -> Option<(String, Quality)> {
        let source = self.sources.get(name)?;
        Some((source.profile.clone(), source.quality()))
    }
}

/// Bytes that still pass after the decision to close an interface, at a rate in bytes/s.
fn under_way(rate: f64, closing: Nanos) -> u64 {
    ((rate * closing.as_secs_f64()) as u64).saturating_sub(FEW_UNDER_WAY)
}

/// Time from the decision to close an interface until nothing passes; `reaction`: until it is
/// closed.
pub(crate) fn closing_time(rtt: Option<Nanos>, reaction: Nanos) -> Nanos {
    rtt.unwrap_or_default()
        .max(LEAST_RTT)
        .saturating_add(reaction)
}

fn not_kept(error: &joulepath_kernel::Error) -> String {
    format!(
        "byte and joule counters will be lost when this process ends: {}",
        error.with_remedy()
    )
}

#[cfg(test)]
mod tests {
    use joulepath_kernel::mptcp::info::ByteCounters;
    use joulepath_kernel::route::Counters;
    use joulepath_model::scenario::read_live;

    use super::*;
    use crate::samples::{connection, seen};

    /// `s` seconds after noon of `day`, and an hour more after the boot.
    fn at(day: i64, s: u64) -> Times {
        let unix_s = day * 86_400 + 43_200 + s as i64;
        Times {
            unix_s,
            since_boot: Nanos::from_secs(3600 + s),
        }
    }

    const QUOTA: &str = "intent = \"interactive\"\n[[interface]]\nname = \"wwan0\"\ncost = 1\n";

    fn quota(period_day: u32) -> LiveConfig {
        let quota = format!("quota = {{ hard = \"5 MB\", period_day = {period_day} }}");
        read_live(&format!("{QUOTA}{quota}\n")).unwrap_or_else(|errors| panic!("{errors}"))
    }

    /// Quota use when the interface has carried `received_bytes` since its creation.
    fn used(
        accounts: &mut Accounts,
        config: &LiveConfig,
        received_bytes: u64,
        times: Times,
    ) -> u64 {
        let counters = Counters {
            received_bytes,
            ..Counters::default()
        };
        let mut look = Look {
            interfaces: vec![seen(3, "wwan0")],
            counters: [("wwan0".to_owned(), counters)].into(),
            ..Look::default()
        };
        accounts.take(config, &mut look, Nanos(times.since_boot.0), times);
        let used = look.interfaces[0].used.unwrap().0;
        assert_eq!(accounts.quota(config, "wwan0").unwrap().used_bytes, used);
        used
    }

    /// 2026-11-27.
    const TODAY: i64 = 20_784;

    /// A look at an interface that carries `rate` bytes/s and has carried `received_bytes` since
    /// its creation.
    fn carrying(rate: f64, received_bytes: u64) -> Look {
        let counters = Counters {
            received_bytes,
            ..Counters::default()
        };
        Look {
            interfaces: vec![seen(3, "wwan0")],
            counters: [("wwan0".to_owned(), counters)].into(),
            rates: [(3, rate)].into(),
            reaction: Nanos::from_millis(30),
            ..Look::default()
        }
    }

    #[test]
    fn bytes_under_way_use_up_a_hard_quota_until_its_period_or_the_quota_changes() {
        let config = quota(1);
        let mut accounts = Accounts::of(Ledger::default(), "a".into(), Nanos::ZERO, at(TODAY, 0));
        let mut used = |config: &LiveConfig, rate: f64, received_bytes: u64, times: Times| {
            let mut look = carrying(rate, received_bytes);
            accounts.take(config, &mut look, times.since_boot, times);
            look.interfaces[0].used.unwrap().0
        };
        assert_eq!(used(&config, 0.0, 0, at(TODAY, 1)), 0);
        assert_eq!(used(&config, 10e6, 3_200_000, at(TODAY, 2)), 3_200_000);
        // 1.8 MB follow in 180 ms; 0.1 MB of them do not count.
        assert_eq!(used(&config, 10e6, 3_300_000, at(TODAY, 3)), 5_000_000);
        assert_eq!(used(&config, 0.0, 4_500_000, at(TODAY, 4)), 5_000_000);
        let more = read_live(&format!(
            "{QUOTA}quota = {{ hard = \"6 MB\", period_day = 1 }}\n"
        ))
        .unwrap();
        assert_eq!(used(&more, 0.0, 4_500_000, at(TODAY, 5)), 4_500_000);
        assert_eq!(used(&config, 0.0, 4_500_000, at(TODAY, 6)), 5_000_000);
        let december = at(TODAY, 4 * 86_400);
        // A daemon that starts now keeps it closed.
        let text = serde_json::to_string(&accounts.ledger).unwrap();
        let mut next = Accounts::of(
            serde_json::from_str(&text).unwrap(),
            "a".into(),
            Nanos::ZERO,
            at(TODAY, 7),
        );
        let mut look = carrying(0.0, 4_500_000);
        next.take(&config, &mut look, Nanos::from_secs(7), at(TODAY, 7));
        assert_eq!(look.interfaces[0].used, Some(Bytes(5_000_000)));
        // 1 December.
        let mut look = carrying(0.0, 4_500_000);
        next.take(&config, &mut look, december.since_boot, december);
        assert_eq!(look.interfaces[0].used, Some(Bytes(0)));
    }

    #[test]
    fn traffic_after_the_first_poll_survives_kills() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().to_str().unwrap();
        let config = quota(1);
        for kill in 0..10 {
            let times = at(TODAY, kill);
            let mut accounts = Accounts::open(folder, times.since_boot, times).unwrap();
            let mut look = carrying(0.0, kill * 400_000);
            accounts.take(&config, &mut look, times.since_boot, times);
            accounts.save(times.since_boot, false);
            assert_eq!(look.interfaces[0].used, Some(Bytes(kill * 400_000)));
            // It carries more before the kill.
            let mut look = carrying(0.0, kill * 400_000 + 200_000);
            accounts.take(&config, &mut look, times.since_boot, times);
        }
    }

    /// Polls of a machine whose WiFi carries an MPTCP connection, while LTE sleeps or has a
    /// subflow.
    struct Polls {
        config: LiveConfig,
        accounts: Accounts,
        wifi_bytes: u64,
    }

    impl Polls {
        fn new() -> Self {
            let text = "intent = \"frugal\"\n[[interface]]\nname = \"wlan0\"\nrate = \"20 Mbit/s\"\n\
                        energy = \"wifi-huang2012\"\n[[interface]]\nname = \"wwan0\"\n\
                        rate = \"10 Mbit/s\"\nenergy = \"lte-huang2012\"\n";
            let accounts = Accounts::of(Ledger::default(), "a".into(), Nanos::ZERO, at(TODAY, 0));
            Polls {
                config: read_live(text).unwrap(),
                accounts,
                wifi_bytes: 0,
            }
        }

        /// One poll a second. In all, MPTCP has moved this many bytes a second since second 0.
        fn pass(
            &mut self,
            seconds: std::ops::Range<u64>,
            a_second: Option<u64>,
            lte: usize,
            chooses: bool,
        ) -> Spared {
            for second in seconds {
                self.wifi_bytes += a_second.unwrap_or(1000);
                let packets = self.wifi_bytes / 1000;
                let wifi = Counters {
                    received_bytes: self.wifi_bytes,
                    received_packets: packets,
                    ..Counters::default()
                };
                let mut look = Look {
                    interfaces: vec![seen(2, "wlan0"), seen(3, "wwan0")],
                    counters: [
                        ("wlan0".to_owned(), wifi),
                        ("wwan0".to_owned(), Counters::default()),
                    ]
                    .into(),
                    ..Look::default()
                };
                (look.interfaces[0].subflows, look.interfaces[1].subflows) = (1, lte);
                let listing = a_second.map(|a_second| {
                    let mut one = connection(1, &[[192, 0, 2, 1].into()]);
                    let received = a_second * second;
                    let counters = ByteCounters {
                        sent: 0,
                        received,
                        acked: 0,
                        reinjected: 0,
                        timeouts: 0,
                    };
                    one.info.counters = Some(counters);
                    Listing {
                        connections: vec![one],
                        ..Listing::default()
                    }
                });
                self.accounts.list(listing.as_ref(), false, chooses);
                self.accounts.take(
                    &self.config,
                    &mut look,
                    Nanos::from_secs(second),
                    at(TODAY, second),
                );
            }
            self.accounts.all_paths().unwrap().today
        }
    }

    /// LTE, awake for 60 s and its tail of 11.6 s, uses 1.06 W or more; idle it uses 0.02 W.
    #[test]
    fn a_sleeping_radio_is_spared_while_mptcp_moves_data() {
        let mut polls = Polls::new();
        // Plain TCP spares nothing.
        assert_eq!(polls.pass(0..20, None, 0, true).spared_j, 0.0);
        let first = polls.pass(20..21, Some(10_000), 0, true);
        let spared = polls.pass(21..81, Some(10_000), 0, true);
        assert_eq!(spared.mptcp_bytes - first.mptcp_bytes, 600_000);
        assert!(
            (55.0..75.0).contains(&(spared.spared_j - first.spared_j)),
            "{spared:?}"
        );
        // The tail follows, and nothing more.
        let tail = polls.pass(81..121, None, 0, true).spared_j - spared.spared_j;
        assert!((9.0..14.0).contains(&tail), "{tail}");
        // A paused daemon spares nothing.
        let paused = polls.pass(121..181, Some(10_000), 0, false).spared_j - spared.spared_j - tail;
        assert!(paused.abs() < 0.1, "{paused}");
    }

    #[test]
    fn an_interface_with_an_open_subflow_spares_nothing() {
        assert_eq!(Polls::new().pass(0..60, Some(200), 1, true).spared_j, 0.0);
    }

    /// 20 MB at 20 Mbit/s take 8 s over WiFi, and 5.33 s with LTE. By Huang et al., table 3, LTE
    /// then needs 5.33 s · 1.288 W + 53.3 Mbit · 0.052 J + 0.3 J of promotion + 12.3 J of tail =
    /// 22.2 J, and WiFi needs a third less than 160 Mbit · 0.137 J + 8 s · 0.133 W = 23.0 J.
    #[test]
    fn a_transfer_at_full_rate_would_end_sooner_with_all_paths() {
        let mut polls = Polls::new();
        polls.pass(0..1, Some(2_500_000), 0, true);
        polls.pass(1..9, Some(2_500_000), 0, true);
        let spared = polls.pass(9..60, None, 0, true).spared_j;
        assert!((12.5..14.6).contains(&spared), "{spared}");
    }

    #[test]
    fn a_quota_counts_from_the_day_its_period_begins() {
        let mut accounts = Accounts::of(Ledger::default(), "a".into(), Nanos::ZERO, at(TODAY, 0));
        used(&mut accounts, &quota(1), 0, at(TODAY, 0));
        // 1 MB on the 27th, 2 MB on the 28th.
        used(&mut accounts, &quota(1), 1_000_000, at(TODAY, 1));
        let next = Times {
            since_boot: Nanos::from_secs(3600 + 86_400),
            ..at(TODAY + 1, 0)
        };
        for (period_day, since, bytes) in [
            (28, "2026-11-28", 2_000_000),
            (27, "2026-11-27", 3_000_000),
            (29, "2026-10-29", 3_000_000),
        ] {
            let config = quota(period_day);
            assert_eq!(
                used(&mut accounts, &config, 3_000_000, next),
                bytes,
                "{period_day}"
            );
            assert_eq!(accounts.quota(&config, "wwan0").unwrap().since, since);
        }
    }

    #[test]
    fn the_ledger_is_written_at_once_each_minute_after_each_percent_of_a_quota_and_at_the_end() {
        let (folder, s) = (tempfile::tempdir().unwrap(), Nanos::from_secs);
        let kept = || -> Option<Ledger> {
            versioned::read(
                &State::lasting(folder.path()).unwrap(),
                NAME,
                SCHEMA,
                REMEDY,
            )
            .unwrap()
        };
        let mut accounts = Accounts {
            state: Some(State::lasting(folder.path()).unwrap()),
            ..Accounts::of(Ledger::default(), "a".into(), s(100), at(TODAY, 0))
        };
        used(&mut accounts, &quota(1), 0, at(TODAY, 0));
        accounts.save(s(100), false);
        let first = kept();
        assert!(first.is_some());
        used(&mut accounts, &quota(1), 10_000, at(TODAY, 1));
        accounts.save(s(159), false);
        assert_eq!(kept(), first);
        accounts.save(s(160), false);
        let second = kept();
        assert_ne!(second, first);
        used(&mut accounts, &quota(1), 1_000_000, at(TODAY, 2));
        accounts.save(s(161), false);
        let third = kept();
        assert_ne!(third, second);
        used(&mut accounts, &quota(1), 1_010_000, at(TODAY, 3));
        accounts.save(s(162), false);
        assert_eq!(kept(), third);
        accounts.save(s(162), true);
        assert_ne!(kept(), third);
        assert_eq!(accounts.trouble, None);
    }

    /// A used-up quota stays used up, whatever the clock shows for a while, also after a restart.
    #[test]
    fn a_jumping_clock_gives_no_quota_back() {
        let config = quota(1);
        for off in [100, -100, 4, -27, -TODAY, 5000] {
            let mut accounts =
                Accounts::of(Ledger::default(), "a".into(), Nanos::ZERO, at(TODAY, 0));
            used(&mut accounts, &config, 0, at(TODAY, 0));
            assert_eq!(
                used(&mut accounts, &config, 5_200_000, at(TODAY, 1)),
                5_200_000
            );
            for s in 2..7 {
                assert_eq!(
                    used(&mut accounts, &config, 5_200_000, at(TODAY + off, s)),
                    5_200_000,
                    "{off}"
                );
                assert!(accounts.clock_trouble().is_some());
            }
            // A daemon that starts now reads the record, in this boot or the next.
            let text = serde_json::to_string(&accounts.ledger).unwrap();
            for (boot, bytes) in [("a", 5_200_000), ("b", 0)] {
                let kept = serde_json::from_str(&text).unwrap();
                let mut next = Accounts::of(kept, boot.into(), Nanos::ZERO, at(TODAY + off, 8));
                assert_eq!(
                    used(&mut next, &config, bytes, at(TODAY + off, 9)),
                    5_200_000,
                    "{off}"
                );
                assert!(next.clock_trouble().is_some());
            }
            assert_eq!(
                used(&mut accounts, &config, 5_300_000, at(TODAY, 10)),
                5_300_000,
                "{off}"
            );
            assert_eq!(accounts.clock_trouble(), None);
        }
    }

    #[test]
    fn correcting_a_trusted_wrong_clock_gives_no_quota_back() {
        let config = quota(1);
        for off in [100, -100, 5000] {
            let mut accounts =
                Accounts::of(Ledger::default(), "a".into(), Nanos::ZERO, at(TODAY, 0));
            used(&mut accounts, &config, 0, at(TODAY, 0));
            used(&mut accounts, &config, 5_200_000, at(TODAY, 1));
            for s in (2..1200).step_by(2) {
                used(&mut accounts, &config, 5_200_000, at(TODAY + off, s));
            }
            assert_eq!(accounts.clock_trouble(), None);
            used(&mut accounts, &config, 5_300_000, at(TODAY + off, 1200));
            for s in (1202..2400).step_by(2) {
                used(&mut accounts, &config, 5_300_000, at(TODAY, s));
            }
            assert_eq!(
                used(&mut accounts, &config, 5_300_000, at(TODAY, 2400)),
                5_300_000,
                "{off}"
            );
        }
    }

    /// A record of version 0.1.0, which measured nothing.
    #[test]
    fn an_older_ledger_is_continued_and_a_newer_one_is_left_unchanged() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(NAME);
        let old = include_str!("ledger-0.1.0.json");
        std::fs::write(&file, old).unwrap();
        let open =
            || Accounts::open(folder.path().to_str().unwrap(), Nanos::ZERO, at(20_780, 0)).unwrap();
        let mut accounts = open();
        accounts.keep_time(at(20_780, 1), Nanos::ZERO);
        assert_eq!(accounts.trouble, None);
        let [_, month] = accounts.spent("wwan0");
        assert_eq!((month.received_bytes, month.energy_j), (7_000, Some(1.5)));
        accounts.save(Nanos::ZERO, true);
        let new = std::fs::read_to_string(&file).unwrap();
        assert!(
            new.contains("\"schema\":3") && open().spent("wwan0")[1] == month,
            "{new}"
        );

        let newer = new.replace("\"schema\":3", "\"schema\":4");
        std::fs::write(&file, &newer).unwrap();
        let mut accounts = open();
        let trouble = accounts.trouble.clone().unwrap();
        assert!(
            trouble.contains("a newer version") && trouble.contains("move the file away"),
            "{trouble}"
        );
        accounts.save(Nanos::ZERO, true);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), newer);
    }
}
