//! Bytes and joules of all interfaces, kept across boots.

#[cfg(test)]
mod tests;

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
/// The part of the spared energy that counts. Of pages over both paths, equal runs need joules that
/// differ by 12 %, and the sum must not be too high for any.
const SURE: f64 = 0.85;
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

    /// True if counters are read rarely, because no packet passes.
    pub(crate) fn is_quiet(&self) -> bool {
        self.sources.is_quiet()
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
