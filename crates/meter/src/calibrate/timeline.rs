//! All records in sequence: power and radio activity in a window.
//!
//! The activity follows from the packets through the energy model's state machine
//! (`joulepath_model::energy::meter`), given the length of the tail. A profile therefore has the
//! same meaning in a simulation as in the fit.

use joulepath_model::energy::meter::{DeviceMeter, EnergyReading};
use joulepath_model::energy::{DeviceEnergy, InterfaceModel, RrcModel, Stage, Traffic};
use joulepath_model::units::{JoulesPerBit, Nanos, Watts};

use super::refusal::Refusal;
use super::rig::{Passed, Record, Sample};
use super::signals::Signals;
use crate::meter::Unit;

/// A shorter gap is part of a transfer (docs/models/energy.md); this value is not calibrated.
pub(super) const INACTIVITY: Nanos = Nanos::from_millis(100);
/// A shorter tail cannot be distinguished from the end of a transfer.
pub(super) const SHORTEST_TAIL: Nanos = Nanos::from_millis(150);

/// Size of a full packet, bytes: the energy per packet is stated relative to it.
pub(super) const FULL_PACKET: u32 = 1400;

/// All records so far.
#[derive(Debug)]
pub(super) struct Timeline {
    unit: Unit,
    /// Time between two updates of the meter. A reading in watts covers the time since the last
    /// update.
    pub(super) period: Nanos,
    samples: Vec<Sample>,
    pub(super) passed: Vec<Passed>,
    pub(super) echoes: Vec<(Nanos, Nanos)>,
    foreign_bytes: u64,
    signals: Signals,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Window {
    pub(super) from: Nanos,
    pub(super) to: Nanos,
}

/// Readings in a window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Seen {
    /// The part of the window that the readings cover.
    pub(super) window: Window,
    /// Mean power, W.
    pub(super) power: f64,
    /// Mean number of busy processors.
    pub(super) cores: f64,
}

/// Activity of a radio per second of a window: columns of the regression.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Activity {
    /// Fraction of time in ACTIVE.
    pub(super) active: f64,
    /// Fraction of time in TAIL.
    pub(super) tail: f64,
    /// Promotions, 1/s.
    pub(super) promotions: f64,
    /// Receive rate, bit/s.
    pub(super) down: f64,
    /// Send rate, bit/s.
    pub(super) up: f64,
    /// Packets minus the number that the bits would fill, 1/s.
    pub(super) packets: f64,
}

/// The timers of a radio.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Timers {
    pub(super) tail: Nanos,
    pub(super) promotion: Nanos,
}

impl Window {
    pub(super) fn seconds(&self) -> f64 {
        self.to.saturating_sub(self.from).as_secs_f64()
    }

    fn middle(&self) -> f64 {
        0.5 * (self.from.as_secs_f64() + self.to.as_secs_f64())
    }
}

impl Timeline {
    pub(super) fn new(unit: Unit) -> Self {
        Timeline {
            unit,
            period: Nanos::ZERO,
            samples: Vec::new(),
            passed: Vec::new(),
            echoes: Vec::new(),
            foreign_bytes: 0,
            signals: Signals::default(),
        }
    }

    pub(super) fn add(&mut self, record: &Record) {
        self.samples.extend(&record.samples);
        self.passed.extend(&record.passed);
        self.echoes.extend(&record.echoes);
        self.foreign_bytes += record.foreign_bytes;
        self.signals.add(record.signal_dbm);
    }

    /// Refuses signals that differ by more than the model bears.
    pub(super) fn check_signal(&self) -> Result<(), Refusal> {
        self.signals.check()
    }

    /// Weakest and strongest signal, dBm.
    pub(super) fn signal_dbm(&self) -> Option<[f64; 2]> {
        self.signals.range()
    }

    /// Other programs' bytes divided by own bytes on the first interface.
    pub(super) fn foreign_share(&self) -> f64 {
        let own: u64 = self
            .passed
            .iter()
            .filter(|p| p.interface == 0)
            .map(|p| u64::from(p.bytes))
            .sum();
        self.foreign_bytes as f64 / own.max(1) as f64
    }

    /// Samples updated within the window.
    pub(super) fn samples(&self, window: Window) -> &[Sample] {
        let from = match self.unit {
            Unit::Watts => window.from + self.period,
            Unit::Joules => window.from,
        };
        let first = self.samples.partition_point(|sample| sample.at < from);
        let last = self
            .samples
            .partition_point(|sample| sample.at <= window.to);
        &self.samples[first..last.max(first)]
    }

    pub(super) fn unit(&self) -> Unit {
        self.unit
    }

    /// Power from each reading to the next within a window.
    pub(super) fn powers(&self, window: Window) -> Vec<f64> {
        let samples = self.samples(window);
        let counted = |pair: &[Sample]| {
            (pair[1].value - pair[0].value) / (pair[1].at - pair[0].at).as_secs_f64()
        };
        match self.unit {
            Unit::Watts => samples.iter().map(|sample| sample.value).collect(),
            Unit::Joules => samples.windows(2).map(counted).collect(),
        }
    }

    /// Power and busy processors in a window; `None` with fewer than three readings.
    pub(super) fn seen(&self, window: Window) -> Option<Seen> {
        let samples = self.samples(window);
        let (first, last) = (samples.first()?, samples.last()?);
        if samples.len() < 3 {
            return None;
        }
        let (power, from) = match self.unit {
            Unit::Watts => {
                let sum: f64 = samples.iter().map(|sample| sample.value).sum();
                (
                    sum / samples.len() as f64,
                    first.at.saturating_sub(self.period),
                )
            }
            Unit::Joules => {
                let seconds = (last.at - first.at).as_secs_f64();
                ((last.value - first.value) / seconds, first.at)
            }
        };
        let cores = (last.cpu_s - first.cpu_s) / (last.at - first.at).as_secs_f64();
        Some(Seen {
            window: Window { from, to: last.at },
            power,
            cores,
        })
    }

    /// Activity of the radio of `interface` in each window.
    pub(super) fn activity(
        &self,
        interface: usize,
        timers: Timers,
        windows: &[Window],
    ) -> Vec<Activity> {
        let mut ends: Vec<Nanos> = windows
            .iter()
            .flat_map(|window| [window.from, window.to])
            .collect();
        ends.sort();
        ends.dedup();
        let mut follower = Follower::new(timers);
        let mut passed = self
            .passed
            .iter()
            .filter(|passed| passed.interface == interface)
            .peekable();
        let mut sums = Vec::with_capacity(ends.len());
        for &end in &ends {
            while let Some(passed) = passed.next_if(|passed| passed.at <= end) {
                follower.on_passed(passed);
            }
            sums.push(follower.sums(end));
        }
        let sum = |at: Nanos| {
            sums[ends
                .binary_search(&at)
                .expect("every end of a window is listed")]
        };
        windows
            .iter()
            .map(|window| sum(window.to).per_second(sum(window.from), window.seconds()))
            .collect()
    }
}

impl Activity {
    fn per_second(self, before: Activity, seconds: f64) -> Activity {
        let rate = |to: f64, from: f64| (to - from) / seconds;
        Activity {
            active: rate(self.active, before.active),
            tail: rate(self.tail, before.tail),
            promotions: rate(self.promotions, before.promotions),
            down: rate(self.down, before.down),
            up: rate(self.up, before.up),
            packets: rate(self.packets, before.packets),
        }
    }

    /// All packets, 1/s.
    pub(super) fn all_packets(&self) -> f64 {
        self.packets + (self.down + self.up) / (8.0 * f64::from(FULL_PACKET))
    }

    /// The columns in the order of the coefficients.
    pub(super) fn columns(&self) -> [f64; 6] {
        [
            self.active,
            self.tail,
            self.promotions,
            self.down,
            self.up,
            self.packets,
        ]
    }
}

/// The energy model's state machine, twice: with powers that make its joules equal the seconds of
/// ACTIVE and TAIL, and of PROMOTION.
struct Follower {
    meter: DeviceMeter,
    timers: Timers,
    sums: Activity,
    reading: EnergyReading,
}

impl Follower {
    fn new(timers: Timers) -> Self {
        let (none, second) = (Watts(0.0), Watts(1.0));
        let machine = |active, promotion, tail| {
            InterfaceModel::Rrc(RrcModel {
                down: JoulesPerBit(0.0),
                up: JoulesPerBit(0.0),
                active,
                inactivity: inactivity(timers.tail),
                promotion: Stage {
                    power: promotion,
                    duration: timers.promotion,
                },
                tail: tail_stages(tail, timers.tail),
                idle: none,
            })
        };
        let machines = [machine(second, none, second), machine(none, second, none)];
        let meter = DeviceMeter::new(&machines, &DeviceEnergy::ADDITIVE, Nanos::ZERO);
        let reading = EnergyReading::default();
        Follower {
            meter,
            timers,
            sums: Activity::default(),
            reading,
        }
    }

    fn on_passed(&mut self, passed: &Passed) {
        for machine in 0..2 {
            self.meter.on_packet(
                machine,
                passed.at,
                passed.bytes,
                passed.direction,
                Nanos::ZERO,
            );
        }
        let bits = f64::from(passed.bytes) * 8.0;
        match passed.direction {
            Traffic::Down => self.sums.down += bits,
            Traffic::Up => self.sums.up += bits,
        }
        self.sums.packets +=
            f64::from(passed.packets) - f64::from(passed.bytes) / f64::from(FULL_PACKET);
    }

    fn sums(&mut self, at: Nanos) -> Activity {
        self.meter.snapshot_into(at, &mut self.reading);
        let (states, promoting) = (self.reading.interfaces[0], self.reading.interfaces[1]);
        // Without a separate tail the radio stays in ACTIVE until it sleeps.
        let has_tail = self.timers.tail >= SHORTEST_TAIL;
        Activity {
            active: states.sunk_j + if has_tail { 0.0 } else { states.tail_j },
            tail: if has_tail { states.tail_j } else { 0.0 },
            promotions: promoting.tail_j / self.timers.promotion.as_secs_f64(),
            ..self.sums
        }
    }
}

/// Time without a packet until the tail begins, as stored in the profile.
pub(super) fn inactivity(tail: Nanos) -> Nanos {
    if tail < SHORTEST_TAIL {
        tail
    } else {
        INACTIVITY
    }
}

/// The tail as stored in the profile; empty if it is too short.
pub(super) fn tail_stages(power: Watts, tail: Nanos) -> Vec<Stage> {
    if tail < SHORTEST_TAIL {
        Vec::new()
    } else {
        vec![Stage {
            power,
            duration: tail,
        }]
    }
}

/// Weights of the neighbours in the line that is subtracted from a block.
pub(super) fn between(before: &Seen, block: &Seen, after: &Seen) -> [f64; 2] {
    let (from, at, to) = (
        before.window.middle(),
        block.window.middle(),
        after.window.middle(),
    );
    let share = (at - from) / (to - from);
    [1.0 - share, share]
}
