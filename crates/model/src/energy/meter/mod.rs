//! The energy of one device, integrated over simulated time from the packets that pass its
//! interfaces.
//!
//! The meter counts nanoseconds per state and bytes; it computes joules only when it is read. So
//! sums are exact, equal on every machine, and never decrease. A packet costs one or two
//! nanoseconds of computing: states advance lazily, without timers.
//!
//! Calls come in the order of simulated time. A call that comes late counts at the time of the
//! latest state change.

mod clock;
mod follow;
mod host;
mod linear;
mod phase;
mod rrc;
mod slots;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use self::clock::{Clock, Stamp};
use self::follow::Follower;
use self::host::HostMeter;
use self::linear::LinearMeter;
pub use self::phase::{RadioPhase, RadioState};
use self::rrc::RrcMeter;
use self::slots::SlotMeter;
use super::radios::RadioTable;
use super::{DeviceEnergy, InterfaceModel, Traffic};
use crate::result::EnergySplit;
use crate::units::{BitRate, Dbm, JoulesPerBit, Nanos, Watts};

/// Integrates the energy of one device. To read final values without ending the measurement, finish
/// a clone.
#[derive(Clone, Debug)]
pub struct DeviceMeter {
    interfaces: Vec<Interface>,
    clock: Clock,
    /// No interface changes its state before this time unless a packet arrives. Always later than
    /// the clock.
    next_change: Nanos,
    sharing_factor: f64,
    shared_base: Watts,
    host: Option<HostMeter>,
}

/// Energy of a device since the start of the measurement.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EnergyReading {
    /// Each interface, in the order given to [`DeviceMeter::new`].
    pub interfaces: Vec<EnergySplit>,
    /// The base P0 that the interfaces share, J.
    pub base_j: f64,
    /// The host: its idle power as sunk, the rest as transfer.
    pub host: EnergySplit,
}

#[derive(Clone, Debug)]
struct Interface {
    machine: Machine,
    /// Bytes, by whether one or several interfaces were active, then by direction (down, up).
    bytes: [[u64; 2]; 2],
    down: JoulesPerBit,
    up: JoulesPerBit,
    /// Power by signal, instead of slopes and a constant power.
    follower: Option<Box<Follower>>,
}

#[derive(Clone, Debug)]
enum Machine {
    Linear(LinearMeter),
    Rrc(RrcMeter),
    Slotted(SlotMeter),
}

impl DeviceMeter {
    /// A meter for a device whose radios are idle at `start`. Energy counts from there.
    pub fn new(interfaces: &[InterfaceModel], device: &DeviceEnergy, start: Nanos) -> Self {
        let mut clock = Clock::new(start, device.sharing_factor);
        let interfaces = interfaces
            .iter()
            .map(|model| Interface::new(model, &mut clock))
            .collect();
        DeviceMeter {
            interfaces,
            clock,
            next_change: Nanos::MAX,
            sharing_factor: device.sharing_factor,
            shared_base: device.shared_base,
            host: device
                .host
                .clone()
                .map(|model| HostMeter::new(model, start)),
        }
    }

    /// Lets the power of an RRC radio follow its signal and rates, from before the first packet on.
    /// `series` begins at time 0.
    pub fn follow(
        &mut self,
        interface: usize,
        radio: &'static RadioTable,
        series: Vec<(Nanos, Dbm)>,
    ) {
        let entry = &mut self.interfaces[interface];
        if let Machine::Rrc(rrc) = &mut entry.machine {
            rrc.leave_active_out();
            entry.follower = Some(Box::new(Follower::new(radio, series, self.clock.now())));
        }
    }

    /// The signal of a radio that [follows](Self::follow) its signal, from `now` on.
    pub fn set_signal(&mut self, interface: usize, now: Nanos, signal: Dbm) {
        let here = self.settle(now);
        let entry = &mut self.interfaces[interface];
        if let (Some(follower), Machine::Rrc(rrc)) = (&mut entry.follower, &entry.machine) {
            let seen = (rrc.active(here), total(entry.bytes));
            follower.turn(here.at, signal, seen, self.sharing_factor);
            self.next_change = self.next_change.min(entry.due());
        }
    }

    /// Opens a subflow on `interface`. Affects only linear models that charge θ while a subflow is
    /// open; radios wait for packets.
    pub fn open(&mut self, interface: usize, now: Nanos) {
        self.settle(now);
        if let Machine::Linear(linear) = &mut self.interfaces[interface].machine {
            linear.open(&mut self.clock);
        }
    }

    /// Closes a subflow on `interface`.
    pub fn close(&mut self, interface: usize, now: Nanos) {
        self.settle(now);
        if let Machine::Linear(linear) = &mut self.interfaces[interface].machine {
            linear.close(&mut self.clock);
        }
    }

    /// A packet is about to use `interface`, in either direction. Returns when the radio is ready:
    /// `now`, or later if it must first be promoted.
    #[inline]
    pub fn wake(&mut self, interface: usize, now: Nanos) -> Nanos {
        self.pass(interface, now, Traffic::Up, Nanos::ZERO)
    }

    /// The link at the device transmits packets to `interface` until `until`; it has been
    /// [woken](Self::wake).
    pub fn foretell(&mut self, interface: usize, now: Nanos, until: Nanos) {
        self.settle(now);
        if let Machine::Rrc(rrc) = &mut self.interfaces[interface].machine {
            rrc.foretell(until, &self.clock);
            self.next_change = self.next_change.min(self.interfaces[interface].due());
        }
    }

    /// A packet of `bytes` on the wire, headers included, passes `interface`. It wakes an idle
    /// radio. `air`: how long the transmission took that now ends (down), or how long it is until
    /// the transmission ends, with the wait for earlier packets (up). Returns when the radio is
    /// ready.
    #[inline]
    pub fn on_packet(
        &mut self,
        interface: usize,
        now: Nanos,
        bytes: u32,
        direction: Traffic,
        air: Nanos,
    ) -> Nanos {
        let ready = self.pass(interface, now, direction, air);
        let shared = usize::from(self.clock.is_shared());
        self.interfaces[interface].bytes[shared][direction as usize] += u64::from(bytes);
        ready
    }

    /// As [`Self::on_packet`], for a packet that a counter of the device noted, at any time of its
    /// transmission. A packet received during a promotion shows that the promotion was over: the
    /// device does not delay packets, as a simulated link does.
    pub fn on_counted(&mut self, interface: usize, now: Nanos, bytes: u32, direction: Traffic) {
        self.on_packet(interface, now, bytes, direction, Nanos::ZERO);
        if let Machine::Rrc(rrc) = &mut self.interfaces[interface].machine {
            rrc.was_counted(now.max(self.clock.now()), direction == Traffic::Down);
        }
    }

    #[inline]
    fn pass(&mut self, interface: usize, now: Nanos, direction: Traffic, air: Nanos) -> Nanos {
        let now = now.max(self.clock.now());
        if now >= self.next_change {
            self.sweep(now);
        }
        let sent = if direction == Traffic::Up {
            air
        } else {
            Nanos::ZERO
        };
        let awake = match &mut self.interfaces[interface].machine {
            Machine::Linear(_) => true,
            Machine::Rrc(rrc) => {
                if sent < air && rrc.is_active() {
                    rrc.precede(now, air);
                }
                let awake = rrc.touch_if_active(now, sent, &self.clock);
                if awake && self.clock.is_sharing() {
                    self.next_change = self.next_change.min(rrc.due());
                }
                awake
            }
            Machine::Slotted(slots) => {
                slots.extend(now.saturating_add(air));
                slots.is_busy()
            }
        };
        if awake {
            now
        } else {
            self.rouse(interface, now, direction, air)
        }
    }

    /// How late traffic on `interface` may be reported to the meter by [`Self::on_burst`]. The
    /// result is the same as long as no gap between packets is longer. Zero if each packet must be
    /// reported at once.
    pub fn patience(&self, interface: usize) -> Nanos {
        if self.interfaces[interface].follower.is_some() {
            return Nanos::ZERO; // its windows end in the middle of a burst
        }
        if self.sharing_factor != 1.0 {
            return Nanos::ZERO; // single packets decide which time is shared
        }
        match &self.interfaces[interface].machine {
            Machine::Linear(_) => Nanos::MAX,
            Machine::Rrc(rrc) => rrc.limit(),
            Machine::Slotted(_) => Nanos::ZERO,
        }
    }

    /// Reports the packets that passed `interface` since the last call for it: `bytes` down and up,
    /// the last transmission to its end at `last`, no gap as long as [`Self::patience`]. Report the
    /// bursts of all interfaces before any other call.
    pub fn on_burst(&mut self, interface: usize, last: Nanos, bytes: [u64; 2]) {
        let shared = usize::from(self.clock.is_shared());
        let entry = &mut self.interfaces[interface];
        let awake = match &mut entry.machine {
            Machine::Rrc(rrc) => rrc.touch_if_active(last, Nanos::ZERO, &self.clock),
            Machine::Linear(_) => true,
            Machine::Slotted(_) => false,
        };
        debug_assert!(awake, "a burst must follow a packet that woke the radio");
        for (sum, bytes) in entry.bytes[shared].iter_mut().zip(bytes) {
            *sum += bytes;
        }
    }

    /// From the last sample (or the start) to `now`, the host moved `rate` in total over this many
    /// subflows. Sample at even intervals, for example 100 ms: the power curve is not linear. Does
    /// nothing without a host model.
    pub fn host_sample(&mut self, now: Nanos, rate: BitRate, mean_rtt: Nanos, subflows: u32) {
        if let Some(host) = &mut self.host {
            host.sample(now, rate, mean_rtt, subflows);
        }
    }

    /// No interface changes its state before this time unless a packet arrives; `None`: not at all.
    pub fn next_change(&self) -> Option<Nanos> {
        (self.next_change != Nanos::MAX).then_some(self.next_change)
    }

    /// Ends the warm-up: energy counts from `now`. Radios keep their states, open subflows stay
    /// open.
    pub fn begin_measurement(&mut self, now: Nanos) {
        let here = self.settle(now);
        self.clock.restart_any();
        for interface in &mut self.interfaces {
            interface.restart(here);
        }
        if let Some(host) = &mut self.host {
            host.settle(now);
            host.restart();
        }
    }

    /// Energy up to `now`. No part is ever less than in an earlier snapshot: if only later packets
    /// decide whether the current gap is transfer or tail, a later snapshot charges it (at most
    /// `inactivity` or one slot). The host counts up to its last sample.
    pub fn snapshot(&mut self, now: Nanos) -> EnergyReading {
        let mut reading = EnergyReading::default();
        self.snapshot_into(now, &mut reading);
        reading
    }

    /// Like [`Self::snapshot`], but reuses the memory of an earlier reading.
    pub fn snapshot_into(&mut self, now: Nanos, reading: &mut EnergyReading) {
        let here = self.settle(now);
        self.read_into(here, false, reading);
    }

    /// Energy up to `now` if the observation ends during traffic: the current gap counts as
    /// transfer, and tails are cut.
    pub fn finish(mut self, now: Nanos) -> EnergyReading {
        let here = self.stop(now);
        for interface in &mut self.interfaces {
            if let Machine::Rrc(rrc) = &mut interface.machine {
                rrc.close_gap(here);
            }
        }
        self.read(here)
    }

    /// Energy up to `now` if traffic ends here, plus the energy of the promotions and tails that
    /// still run, including the shared base during that time. Idle power after `now` is not
    /// charged.
    pub fn finish_with_tails(mut self, now: Nanos) -> EnergyReading {
        let here = self.stop(now);
        while self.next_change < Nanos::MAX {
            self.sweep(self.next_change);
        }
        self.read(here)
    }

    /// Like [`Self::finish_with_tails`], but only up to `until`, which is not before `now`. It also
    /// returns the state of each interface at `until`. When all are idle, the energy is that of
    /// [`Self::finish_with_tails`].
    pub fn finish_until(mut self, now: Nanos, until: Nanos) -> (EnergyReading, Vec<RadioState>) {
        let here = self.stop(now);
        self.sweep(until);
        self.advance(until);
        let there = self.clock.stamp(until);
        let mut reading = self.read(here);
        for (split, interface) in reading.interfaces.iter_mut().zip(&self.interfaces) {
            // Idle power after `now` is not charged.
            if matches!(&interface.machine, Machine::Rrc(rrc) if rrc.is_up()) {
                *split = interface.read(there, self.sharing_factor, true);
            }
        }
        (reading, self.states().collect())
    }

    /// The state of each interface at the time of the last call that moved the clock: a snapshot, a
    /// state change.
    pub fn states(&self) -> impl Iterator<Item = RadioState> + '_ {
        self.interfaces
            .iter()
            .map(|interface| match &interface.machine {
                Machine::Linear(linear) => linear.state(),
                Machine::Rrc(rrc) => rrc.state(),
                Machine::Slotted(slots) => slots.state(),
            })
    }

    /// Handles a packet for an interface that is not active.
    #[cold]
    fn rouse(&mut self, interface: usize, now: Nanos, direction: Traffic, air: Nanos) -> Nanos {
        self.advance(now);
        let interface = &mut self.interfaces[interface];
        interface.end_window(&self.clock, self.sharing_factor);
        let ready = match &mut interface.machine {
            Machine::Linear(_) => now,
            Machine::Rrc(rrc) => rrc.rouse(&mut self.clock, direction, air),
            Machine::Slotted(slots) => {
                slots.rouse(&mut self.clock);
                slots.extend(now.saturating_add(air));
                now
            }
        };
        self.next_change = self.next_change.min(interface.due());
        ready
    }

    /// Applies all state changes that are due by `now`, in their order.
    #[cold]
    fn sweep(&mut self, now: Nanos) {
        while self.next_change <= now {
            self.advance(self.next_change);
            for interface in &mut self.interfaces {
                interface.step(&mut self.clock, self.sharing_factor);
            }
            self.next_change = self
                .interfaces
                .iter()
                .map(Interface::due)
                .min()
                .unwrap_or(Nanos::MAX);
        }
    }

    /// Moves the clock. No interface may change its state before `to`.
    fn advance(&mut self, to: Nanos) {
        for interface in &mut self.interfaces {
            if let Machine::Slotted(slots) = &mut interface.machine {
                slots.before_advance(to, &self.clock);
            }
        }
        self.clock.advance(to);
    }

    /// Brings clock and states to `now`.
    fn settle(&mut self, now: Nanos) -> Stamp {
        let now = now.max(self.clock.now());
        self.sweep(now);
        self.advance(now);
        self.clock.stamp(now)
    }

    /// Ends the traffic at `now` and lets radios run until they are idle.
    fn stop(&mut self, now: Nanos) -> Stamp {
        let here = self.settle(now);
        for interface in &mut self.interfaces {
            match &mut interface.machine {
                Machine::Linear(linear) => linear.retire(&mut self.clock),
                Machine::Slotted(slots) => slots.retire(&mut self.clock),
                Machine::Rrc(_) => {}
            }
        }
        if let Some(host) = &mut self.host {
            host.settle(now);
        }
        here
    }

    fn read(&self, here: Stamp) -> EnergyReading {
        let mut reading = EnergyReading::default();
        self.read_into(here, true, &mut reading);
        reading
    }

    /// `whole`: traffic ends here.
    fn read_into(&self, here: Stamp, whole: bool, reading: &mut EnergyReading) {
        reading.interfaces.clear();
        let parts = self
            .interfaces
            .iter()
            .map(|i| i.read(here, self.sharing_factor, whole));
        reading.interfaces.extend(parts);
        reading.base_j = self.shared_base.0 * self.clock.any().as_secs_f64();
        reading.host = self
            .host
            .as_ref()
            .map(HostMeter::energy)
            .unwrap_or_default();
    }
}

impl Interface {
    fn new(model: &InterfaceModel, clock: &mut Clock) -> Self {
        let (down, up) = (model.slope(Traffic::Down), model.slope(Traffic::Up));
        let start = clock.stamp(clock.now());
        let machine = match model {
            InterfaceModel::Linear {
                sunk, sunk_while, ..
            } => {
                let free = [sunk.0, down.0, up.0] == [0.0; 3];
                Machine::Linear(LinearMeter::new(*sunk, *sunk_while, free, clock))
            }
            InterfaceModel::Rrc(rrc) => Machine::Rrc(RrcMeter::new(rrc, start)),
            InterfaceModel::Slotted { idle, slot, .. } => {
                Machine::Slotted(SlotMeter::new(*idle, *slot, start))
            }
        };
        Interface {
            machine,
            bytes: Default::default(),
            down,
            up,
            follower: None,
        }
    }

    fn due(&self) -> Nanos {
        match &self.machine {
            Machine::Linear(_) => Nanos::MAX,
            Machine::Rrc(rrc) => match &self.follower {
                Some(follower) if rrc.is_up() => rrc.due().min(follower.due()),
                _ => rrc.due(),
            },
            Machine::Slotted(slots) => slots.due(),
        }
    }

    fn step(&mut self, clock: &mut Clock, sharing_factor: f64) {
        self.end_window(clock, sharing_factor);
        match &mut self.machine {
            Machine::Linear(_) => {}
            Machine::Rrc(rrc) => rrc.step(clock),
            Machine::Slotted(slots) => slots.step(clock),
        }
    }

    /// Ends the window of a radio that follows its signal, if it is over at the clock's time.
    fn end_window(&mut self, clock: &Clock, sharing_factor: f64) {
        if let (Some(follower), Machine::Rrc(rrc)) = (&mut self.follower, &self.machine)
            && follower.due() <= clock.now()
        {
            let active = rrc.active(clock.stamp(clock.now()));
            follower.close(clock.now(), active, total(self.bytes), sharing_factor);
        }
    }

    fn restart(&mut self, here: Stamp) {
        self.bytes = Default::default();
        match &mut self.machine {
            Machine::Linear(linear) => linear.restart(here),
            Machine::Rrc(rrc) => rrc.restart(here),
            Machine::Slotted(slots) => slots.restart(here),
        }
        if let Some(follower) = &mut self.follower {
            follower.restart(here);
        }
    }

    fn read(&self, here: Stamp, sharing_factor: f64, whole: bool) -> EnergySplit {
        let split = match &self.machine {
            Machine::Linear(linear) => linear.read(here, sharing_factor),
            Machine::Rrc(rrc) => rrc.read(here, sharing_factor),
            Machine::Slotted(slots) => slots.read(here, sharing_factor),
        };
        if let (Some(follower), Machine::Rrc(rrc)) = (&self.follower, &self.machine) {
            let active = follower.read(rrc.active(here), total(self.bytes), sharing_factor, whole);
            return EnergySplit {
                sunk_j: split.sunk_j + active.sunk_j,
                transfer_j: active.transfer_j,
                ..split
            };
        }
        EnergySplit {
            transfer_j: self.transfer_joules(sharing_factor),
            ..split
        }
    }

    fn transfer_joules(&self, sharing_factor: f64) -> f64 {
        let joules =
            |[down, up]: [u64; 2]| (down as f64 * self.down.0 + up as f64 * self.up.0) * 8.0;
        let [alone, shared] = self.bytes.map(joules);
        alone + sharing_factor * shared
    }
}

/// Bytes down and up, shared or not.
fn total([alone, shared]: [[u64; 2]; 2]) -> [u64; 2] {
    [alone[0] + shared[0], alone[1] + shared[1]]
}

impl EnergyReading {
    /// Interfaces, base and host together; the base is sunk.
    pub fn total(&self) -> EnergySplit {
        let device = EnergySplit {
            sunk_j: self.base_j + self.host.sunk_j,
            ..self.host
        };
        self.interfaces
            .iter()
            .fold(device, |sum, part| EnergySplit {
                sunk_j: sum.sunk_j + part.sunk_j,
                transfer_j: sum.transfer_j + part.transfer_j,
                tail_j: sum.tail_j + part.tail_j,
            })
    }

    /// Sum of all causes, joules.
    pub fn total_j(&self) -> f64 {
        self.total().total_j()
    }
}
