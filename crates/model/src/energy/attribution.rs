//! The energy of a device by what its traffic is for.
//!
//! What a radio does until its next packet belongs to the cause of its last one. So the first
//! packet of a burst pays for the promotion, and the last one for the tail. Radios that are awake
//! share the device's base equally.

use serde::{Deserialize, Serialize};

use super::meter::{DeviceMeter, EnergyReading, RadioPhase};
use crate::units::Nanos;

/// Joules by phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PhaseEnergy {
    /// Waking radios.
    pub promotion_j: f64,
    /// While packets pass: the power of active radios and the joules of each byte.
    pub transfer_j: f64,
    /// Radios that wait for more.
    pub tail_j: f64,
    /// What the radios of the device share while one of them is awake.
    pub base_j: f64,
}

impl PhaseEnergy {
    /// The sum.
    pub fn total_j(&self) -> f64 {
        self.promotion_j + self.transfer_j + self.tail_j + self.base_j
    }

    /// Adds the joules of another cause.
    pub fn add(&mut self, other: PhaseEnergy) {
        self.promotion_j += other.promotion_j;
        self.transfer_j += other.transfer_j;
        self.tail_j += other.tail_j;
        self.base_j += other.base_j;
    }
}

/// Charges the energy of a [`DeviceMeter`] to causes.
#[derive(Clone, Debug)]
pub struct Attribution {
    /// The reading until which joules are charged, and room for the next.
    charged: EnergyReading,
    reading: EnergyReading,
    phases: Vec<RadioPhase>,
    /// The cause of the last packet, by interface and of all.
    owners: Vec<Option<usize>>,
    owner: Option<usize>,
    causes: Vec<PhaseEnergy>,
    interfaces: Vec<PhaseEnergy>,
    idle_j: Vec<f64>,
    is_over: bool,
}

impl Attribution {
    /// Charges what `meter` counts from `now` on.
    pub fn new(meter: &mut DeviceMeter, now: Nanos) -> Self {
        let charged = meter.snapshot(now);
        let phases: Vec<RadioPhase> = meter.states().map(|state| state.phase).collect();
        Attribution {
            reading: charged.clone(),
            charged,
            owners: vec![None; phases.len()],
            owner: None,
            causes: vec![],
            interfaces: vec![PhaseEnergy::default(); phases.len()],
            idle_j: vec![0.0; phases.len()],
            phases,
            is_over: false,
        }
    }

    /// The next packet of `interface` is for `cause`: call [`Self::charge`] first.
    pub fn own(&mut self, interface: usize, cause: usize) {
        (self.owners[interface], self.owner) = (Some(cause), Some(cause));
        if cause >= self.causes.len() {
            self.causes.resize(cause + 1, PhaseEnergy::default());
        }
    }

    /// True if the interface was idle at the last [`Self::charge`].
    pub fn is_idle(&self, interface: usize) -> bool {
        self.phases[interface] == RadioPhase::Idle
    }

    /// Charges all joules until `now`, state by state.
    pub fn charge(&mut self, meter: &mut DeviceMeter, now: Nanos) {
        while let Some(due) = meter.next_change().filter(|due| *due < now) {
            self.charge_at_once(meter, due);
        }
        self.charge_at_once(meter, now);
    }

    /// Charges all joules until `now`: no radio changes its state before.
    pub fn charge_at_once(&mut self, meter: &mut DeviceMeter, now: Nanos) {
        let mut reading = std::mem::take(&mut self.reading);
        meter.snapshot_into(now, &mut reading);
        self.charge_to(&reading);
        self.reading = std::mem::replace(&mut self.charged, reading);
        for (phase, state) in self.phases.iter_mut().zip(meter.states()) {
            *phase = state.phase;
        }
    }

    /// From now on only tails count: idle power is nobody's.
    pub fn end(&mut self) {
        self.is_over = true;
    }

    /// Charges the rest: `last` is the reading of the same meter after its tails.
    pub fn finish(mut self, last: &EnergyReading) -> Self {
        self.end();
        self.charge_to(last);
        self
    }

    /// Joules by cause; causes without a packet may be missing at the end.
    pub fn causes(&self) -> &[PhaseEnergy] {
        &self.causes
    }

    /// Joules by interface that have a cause; [`PhaseEnergy::base_j`] is 0.
    pub fn interfaces(&self) -> &[PhaseEnergy] {
        &self.interfaces
    }

    /// Idle power by interface, J.
    pub fn idle_j(&self) -> &[f64] {
        &self.idle_j
    }

    fn charge_to(&mut self, reading: &EnergyReading) {
        let pairs = reading.interfaces.iter().zip(&self.charged.interfaces);
        for (interface, (now, before)) in pairs.enumerate() {
            let tail_j = now.tail_j - before.tail_j;
            let (promotion_j, tail_j) = match self.phases[interface] {
                RadioPhase::Promotion => (tail_j, 0.0),
                _ => (0.0, tail_j),
            };
            let (idle_j, active_j) = match (self.phases[interface], now.sunk_j - before.sunk_j) {
                _ if self.is_over => (0.0, 0.0),
                (RadioPhase::Idle, sunk_j) => (sunk_j, 0.0),
                (_, sunk_j) => (0.0, sunk_j),
            };
            let joules = PhaseEnergy {
                promotion_j,
                transfer_j: now.transfer_j - before.transfer_j + active_j,
                tail_j,
                base_j: 0.0,
            };
            self.idle_j[interface] += idle_j;
            match self.owners[interface] {
                Some(cause) => {
                    self.causes[cause].add(joules);
                    self.interfaces[interface].add(joules);
                }
                // A model that is always active, before its first packet.
                None => self.idle_j[interface] += joules.total_j(),
            }
        }
        let base_j = reading.base_j - self.charged.base_j;
        let causes = &mut self.causes;
        let awake = || {
            let pairs = self.phases.iter().zip(&self.owners);
            pairs.filter_map(|(phase, owner)| owner.filter(|_| *phase != RadioPhase::Idle))
        };
        let sharers = awake().count();
        for cause in awake() {
            causes[cause].base_j += base_j / sharers as f64;
        }
        // A radio that is awake for less than a state.
        if let (0, Some(cause)) = (sharers, self.owner) {
            causes[cause].base_j += base_j;
        }
    }
}
