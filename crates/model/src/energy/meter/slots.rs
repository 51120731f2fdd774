//! The slotted cost of so-MPTCP (003): c^e Δt for every slot without traffic. An interface is
//! active from the first packet of a slot to the end of the slot in which its transmission ends.
//!
//! A slot is charged when it ends or has its first packet: only then is it known which of the two
//! costs applies.

use super::clock::{Clock, Span, Stamp};
use super::phase::{RadioPhase, RadioState};
use crate::result::EnergySplit;
use crate::units::{Nanos, Watts};

#[derive(Clone, Debug)]
pub(super) struct SlotMeter {
    idle_power: Watts,
    /// Δt, at least 1 ns.
    slot: Nanos,
    start: Nanos,
    /// Start of the latest slot that the clock has reached.
    current: Stamp,
    /// End of the slot whose traffic makes the interface active.
    busy_until: Option<Nanos>,
    /// Start of the time without traffic that is not charged yet.
    idle_from: Stamp,
    idle: Span,
}

impl SlotMeter {
    pub(super) fn new(idle_power: Watts, slot: Nanos, start: Stamp) -> Self {
        SlotMeter {
            idle_power,
            slot: slot.max(Nanos(1)),
            start: start.at,
            current: start,
            busy_until: None,
            idle_from: start,
            idle: Span::default(),
        }
    }

    /// Prepares for the clock's move to `to`. No interface may change its state before `to`.
    pub(super) fn before_advance(&mut self, to: Nanos, clock: &Clock) {
        let into_slot = Nanos(to.saturating_sub(self.start).0 % self.slot.0);
        let begin = to.saturating_sub(into_slot);
        if begin > self.current.at {
            self.current = clock.stamp(begin);
        }
    }

    pub(super) fn state(&self) -> RadioState {
        let phase = if self.is_busy() {
            RadioPhase::Active
        } else {
            RadioPhase::Idle
        };
        RadioState::new(phase, self.current.at)
    }

    /// True if the current slot has had traffic.
    pub(super) const fn is_busy(&self) -> bool {
        self.busy_until.is_some()
    }

    /// The first packet of a slot, at the clock's time.
    pub(super) fn rouse(&mut self, clock: &mut Clock) {
        if self.busy_until.is_none() {
            self.idle.add(self.idle_from, self.current);
            self.busy_until = Some(self.current.at.saturating_add(self.slot));
            clock.enter();
        }
    }

    /// A transmission, of a packet in the current slot, lasts until `until`.
    pub(super) fn extend(&mut self, until: Nanos) {
        if let Some(busy_until) = &mut self.busy_until {
            let slots = until.saturating_sub(self.start).0.div_ceil(self.slot.0);
            let end = Nanos(
                self.start
                    .0
                    .saturating_add(slots.saturating_mul(self.slot.0)),
            );
            *busy_until = end.max(*busy_until);
        }
    }

    /// When the activity ends.
    pub(super) fn due(&self) -> Nanos {
        self.busy_until.unwrap_or(Nanos::MAX)
    }

    /// Ends the activity if it is due at the clock's time.
    pub(super) fn step(&mut self, clock: &mut Clock) {
        if self.due() <= clock.now() {
            self.busy_until = None;
            self.idle_from = self.current;
            clock.leave();
        }
    }

    /// Starts the measurement at `here`; the state carries over.
    pub(super) fn restart(&mut self, here: Stamp) {
        self.idle = Span::default();
        self.idle_from = here;
    }

    /// Ends the observation at the clock's time, possibly within a slot.
    pub(super) fn retire(&mut self, clock: &mut Clock) {
        let here = clock.stamp(clock.now());
        if self.busy_until.take().is_some() {
            clock.leave();
        } else {
            self.idle.add(self.idle_from, here);
        }
        (self.current, self.idle_from) = (here, here);
    }

    /// Energy that is not proportional to traffic, from the start of the measurement to the start
    /// of the current slot, at most to `here`.
    pub(super) fn read(&self, here: Stamp, sharing_factor: f64) -> EnergySplit {
        let settled = self.current.min(here);
        let idle = if self.is_busy() {
            self.idle
        } else {
            self.idle.and(self.idle_from, settled)
        };
        EnergySplit {
            sunk_j: self.idle_power.0 * idle.weighted_secs(sharing_factor),
            ..EnergySplit::default()
        }
    }
}
