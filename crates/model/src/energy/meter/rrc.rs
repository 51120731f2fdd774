//! The radio resource control state machine of one interface (Huang et al. 2012), advanced lazily.
//! It counts nanoseconds per state.
//!
//! ```text
//!            packet               promoted            gap >= limit
//!     IDLE ----------> PROMOTION ----------> ACTIVE ---------------> TAIL 0 ---> TAIL 1 ---> ...
//!      ^                                     ^    |                    |           |          |
//!      |                                     +----+ packet             |           |          |
//!      |                                     ^                 packet  |           |          |
//!      |                                     +-------------------------+-----------+          |
//!      +------------------------------------------------------------------- last stage over --+
//! ```
//!
//! In terms of sharing, every state except IDLE is active. The gap after the last transmission is
//! not charged until the next packet or the limit decides whether it was ACTIVE or TAIL. So no
//! energy is ever taken back, and timers run from the end of the last transmission, as in the
//! radio.
//!
//! The meter learns of a received packet when its transmission ends. If the radio was in its tail,
//! that time is already charged: instead the radio is ACTIVE for as long afterwards, and everything
//! until the next gap counts that much later.

use super::clock::{Clock, Span, Stamp};
use super::phase::{RadioPhase, RadioState};
use crate::energy::{RrcModel, Stage, Traffic};
use crate::result::EnergySplit;
use crate::units::{Nanos, Watts};

#[derive(Clone, Debug)]
pub(super) struct RrcMeter {
    model: Machine,
    state: State,
    /// How much later than it happens everything counts until the next gap.
    shift: Nanos,
    /// Start of the first transmission since the last gap, as it happened.
    began: Nanos,
    /// Whether the transmission of the next packet to the device is charged already.
    foretold: bool,
    /// Whether the end of ACTIVE lies ahead of the clock, so that its stamp is not final.
    ahead: bool,
    idle: Span,
    promotion: Span,
    active: Span,
    tail: Box<[Span]>,
}

#[derive(Clone, Debug)]
struct Machine {
    idle: Watts,
    promotion: Stage,
    active: Watts,
    tail: Box<[Stage]>,
    /// A gap of this length is TAIL.
    limit: Nanos,
}

/// `from` is the start of the charge for the current state; `until` and `last` the end of the last
/// transmission.
#[derive(Clone, Copy, Debug)]
enum State {
    Idle {
        from: Stamp,
    },
    Promotion {
        from: Stamp,
        ready: Nanos,
        until: Nanos,
    },
    Active {
        from: Stamp,
        last: Stamp,
    },
    Tail {
        stage: usize,
        from: Stamp,
        end: Nanos,
    },
}

impl Machine {
    fn new(model: &RrcModel) -> Self {
        let mut tail: Box<[Stage]> = model
            .tail
            .iter()
            .copied()
            .filter(|stage| stage.duration > Nanos::ZERO)
            .collect();
        if tail.is_empty() {
            tail = Box::new([Stage {
                power: model.active,
                duration: model.inactivity,
            }]);
        }
        let limit = model.inactivity.min(tail[0].duration);
        Machine {
            idle: model.idle,
            promotion: model.promotion,
            active: model.active,
            tail,
            limit,
        }
    }
}

impl RrcMeter {
    pub(super) fn new(model: &RrcModel, start: Stamp) -> Self {
        let model = Machine::new(model);
        let tail = vec![Span::default(); model.tail.len()].into();
        let (idle, promotion, active) = Default::default();
        let state = State::Idle { from: start };
        let (shift, began, foretold, ahead) = Default::default();
        RrcMeter {
            model,
            state,
            shift,
            began,
            foretold,
            ahead,
            idle,
            promotion,
            active,
            tail,
        }
    }

    /// Length of the gap that ends ACTIVE.
    pub(super) fn limit(&self) -> Nanos {
        self.model.limit
    }

    /// A packet in ACTIVE at `now`, which is not before the clock's time, and for which the radio
    /// stays ACTIVE `air` longer. Returns false in any other state.
    #[inline]
    pub(super) fn touch_if_active(&mut self, now: Nanos, air: Nanos, clock: &Clock) -> bool {
        let State::Active { last, .. } = &mut self.state else {
            return false;
        };
        let until = Nanos(now.0.saturating_add(self.shift.0).saturating_add(air.0));
        if until >= last.at {
            *last = clock.stamp(until);
            self.ahead = until > now && clock.is_sharing();
        }
        true
    }

    /// A packet has arrived at `now` whose transmission took `air`, in ACTIVE.
    #[inline]
    pub(super) fn precede(&mut self, now: Nanos, air: Nanos) {
        let start = now.saturating_sub(air);
        let charged = std::mem::take(&mut self.foretold);
        if start < self.began && !charged {
            self.shift = self.shift.saturating_add(self.began - start);
            self.began = start;
        }
    }

    /// A packet at the clock's time: its transmission to the device took `air`, or from the device
    /// takes until `air` from now. Returns when the radio is ready for it.
    pub(super) fn rouse(&mut self, clock: &mut Clock, direction: Traffic, air: Nanos) -> Nanos {
        let here = clock.stamp(clock.now());
        let (received, sent) = match direction {
            Traffic::Down => (air, Nanos::ZERO),
            Traffic::Up => (Nanos::ZERO, air),
        };
        match self.state {
            State::Active { .. } => {
                self.precede(here.at, received);
                self.touch_if_active(here.at, sent, clock);
                here.at
            }
            State::Promotion { from, ready, until } => {
                let until = until
                    .max(ready.saturating_add(received))
                    .max(here.at.saturating_add(sent));
                self.state = State::Promotion { from, ready, until };
                ready
            }
            State::Tail { stage, from, .. } => {
                self.tail[stage].add(from, here);
                self.state = State::Active {
                    from: here,
                    last: here,
                };
                (self.shift, self.began) = (Nanos::ZERO, here.at);
                self.precede(here.at, received);
                self.touch_if_active(here.at, sent, clock);
                here.at
            }
            State::Idle { from } => {
                self.idle.add(from, here);
                clock.enter();
                let ready = here.at.saturating_add(self.model.promotion.duration);
                let charged = std::mem::take(&mut self.foretold);
                let received = if charged { Nanos::ZERO } else { received };
                // A link waits for the promotion, unless the packet came unforetold.
                (self.shift, self.began) = match received {
                    Nanos::ZERO => Default::default(),
                    _ => (
                        ready.saturating_add(received) - here.at,
                        here.at.saturating_sub(received),
                    ),
                };
                let until = ready
                    .saturating_add(received)
                    .max(here.at.saturating_add(sent));
                self.state = State::Promotion {
                    from: here,
                    ready,
                    until,
                };
                ready
            }
        }
    }

    /// The link transmits to the device until `until`; the packet is not yet there. The radio is
    /// not IDLE.
    pub(super) fn foretell(&mut self, until: Nanos, clock: &Clock) {
        self.foretold = true;
        if let State::Promotion { until: known, .. } = &mut self.state {
            *known = until.max(*known);
        } else {
            self.touch_if_active(clock.now(), until.saturating_sub(clock.now()), clock);
        }
    }

    /// A packet has passed at `now` that a counter noted. If it was `received` in PROMOTION, the
    /// radio was promoted before: everything counts that much later until the next gap.
    pub(super) fn was_counted(&mut self, now: Nanos, received: bool) {
        let State::Promotion { ready, until, .. } = &mut self.state else {
            return;
        };
        if received && self.shift == Nanos::ZERO {
            self.shift = ready.saturating_sub(now);
        }
        *until = now.saturating_add(self.shift).max(*until);
    }

    pub(super) fn state(&self) -> RadioState {
        let (phase, from) = match self.state {
            State::Idle { from } => (RadioPhase::Idle, from),
            State::Promotion { from, .. } => (RadioPhase::Promotion, from),
            State::Active { from, .. } => (RadioPhase::Active, from),
            State::Tail { from, .. } => (RadioPhase::Tail, from),
        };
        RadioState::new(phase, from.at)
    }

    /// True in ACTIVE.
    #[inline]
    pub(super) fn is_active(&self) -> bool {
        matches!(self.state, State::Active { .. })
    }

    /// True in every state except IDLE.
    pub(super) fn is_up(&self) -> bool {
        !matches!(self.state, State::Idle { .. })
    }

    /// Time in ACTIVE from the start of the measurement to `here`, without an open gap.
    pub(super) fn active(&self, here: Stamp) -> Span {
        match self.state {
            State::Active { from, last } => self.active.and(from, last.min(here)),
            _ => self.active,
        }
    }

    /// The radio's power while active counts elsewhere, by signal.
    pub(super) fn leave_active_out(&mut self) {
        self.model.active = Watts(0.0);
    }

    /// When the state changes unless a packet arrives.
    pub(super) fn due(&self) -> Nanos {
        match self.state {
            State::Idle { .. } => Nanos::MAX,
            State::Promotion { ready, .. } => ready,
            State::Active { last, .. } if self.ahead => last.at,
            State::Active { last, .. } => last.at.saturating_add(self.model.limit),
            State::Tail { end, .. } => end,
        }
    }

    /// Makes the state change that is due at the clock's time, if any.
    pub(super) fn step(&mut self, clock: &mut Clock) {
        if self.due() > clock.now() {
            return;
        }
        let here = clock.stamp(clock.now());
        match self.state {
            State::Idle { .. } => {}
            State::Promotion { from, until, .. } => {
                self.promotion.add(from, here);
                let last = clock.stamp(until.max(here.at));
                self.ahead = last.at > here.at && clock.is_sharing();
                self.state = State::Active { from: here, last };
            }
            State::Active { from, .. } if self.ahead => {
                self.ahead = false;
                self.state = State::Active { from, last: here };
            }
            State::Active { from, last } => {
                self.active.add(from, last);
                let end = last.at.saturating_add(self.model.tail[0].duration);
                self.state = State::Tail {
                    stage: 0,
                    from: last.max(from),
                    end,
                };
            }
            State::Tail { stage, from, end } => {
                self.tail[stage].add(from, here);
                self.state = match self.model.tail.get(stage + 1) {
                    Some(next) => {
                        let end = end.saturating_add(next.duration);
                        State::Tail {
                            stage: stage + 1,
                            from: here,
                            end,
                        }
                    }
                    None => {
                        clock.leave();
                        State::Idle { from: here }
                    }
                };
            }
        }
    }

    /// Starts the measurement at `here`; the state carries over.
    pub(super) fn restart(&mut self, here: Stamp) {
        (self.idle, self.promotion, self.active) = Default::default();
        self.tail.fill(Span::default());
        match &mut self.state {
            State::Idle { from }
            | State::Promotion { from, .. }
            | State::Active { from, .. }
            | State::Tail { from, .. } => *from = here,
        }
    }

    /// Ends the observation at `here`, during traffic: an open gap counts as ACTIVE.
    pub(super) fn close_gap(&mut self, here: Stamp) {
        if let State::Active { last, .. } = &mut self.state {
            *last = here;
            self.ahead = false;
        }
    }

    /// Energy that is not proportional to traffic, from the start of the measurement to `here`,
    /// without an open gap. If the machine has run ahead of `here`, its tail is charged but not its
    /// idle power.
    pub(super) fn read(&self, here: Stamp, sharing_factor: f64) -> EnergySplit {
        let joules = |power: Watts, span: Span| power.0 * span.weighted_secs(sharing_factor);
        let (mut idle, mut promotion, mut active) = (self.idle, self.promotion, self.active);
        let mut open_tail = None;
        match self.state {
            State::Idle { from } => idle.add(from, here),
            State::Promotion { from, .. } => promotion.add(from, here),
            State::Active { from, last } => active.add(from, last.min(here)),
            State::Tail { stage, from, .. } => open_tail = Some((stage, from)),
        }
        let tail = self
            .model
            .tail
            .iter()
            .zip(&self.tail)
            .enumerate()
            .map(|(i, (stage, span))| {
                let span = match open_tail {
                    Some((open, from)) if open == i => span.and(from, here),
                    _ => *span,
                };
                joules(stage.power, span)
            });
        EnergySplit {
            sunk_j: joules(self.model.idle, idle) + joules(self.model.active, active),
            transfer_j: 0.0,
            tail_j: tail.sum::<f64>() + joules(self.model.promotion.power, promotion),
        }
    }
}
