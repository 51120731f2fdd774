//! Sunk power θ of a linear model: while a subflow is open, or always.

use super::clock::{Clock, Span, Stamp};
use super::phase::{RadioPhase, RadioState};
use crate::energy::SunkWhile;
use crate::result::EnergySplit;
use crate::units::Watts;

#[derive(Clone, Debug)]
pub(super) struct LinearMeter {
    sunk: Watts,
    sunk_while: SunkWhile,
    /// An interface without any cost never counts as active.
    free: bool,
    open: u32,
    /// Start of the charge for the current activity.
    from: Option<Stamp>,
    span: Span,
}

impl LinearMeter {
    pub(super) fn new(sunk: Watts, sunk_while: SunkWhile, free: bool, clock: &mut Clock) -> Self {
        let mut meter = LinearMeter {
            sunk,
            sunk_while,
            free,
            open: 0,
            from: None,
            span: Span::default(),
        };
        if sunk_while == SunkWhile::Always {
            meter.begin(clock);
        }
        meter
    }

    fn begin(&mut self, clock: &mut Clock) {
        self.from = Some(clock.stamp(clock.now()));
        if !self.free {
            clock.enter();
        }
    }

    /// Stops the charge at the clock's time.
    pub(super) fn retire(&mut self, clock: &mut Clock) {
        if let Some(from) = self.from.take() {
            self.span.add(from, clock.stamp(clock.now()));
            if !self.free {
                clock.leave();
            }
        }
    }

    pub(super) fn state(&self) -> RadioState {
        match self.from {
            Some(from) => RadioState::new(RadioPhase::Active, from.at),
            None => RadioState::default(),
        }
    }

    /// Opens a subflow at the clock's time.
    pub(super) fn open(&mut self, clock: &mut Clock) {
        self.open += 1;
        if self.sunk_while == SunkWhile::Open && self.open == 1 {
            self.begin(clock);
        }
    }

    /// Closes a subflow at the clock's time.
    pub(super) fn close(&mut self, clock: &mut Clock) {
        debug_assert!(self.open > 0, "closed more often than opened");
        self.open = self.open.saturating_sub(1);
        if self.sunk_while == SunkWhile::Open && self.open == 0 {
            self.retire(clock);
        }
    }

    /// Starts the measurement at `here`; open subflows stay open.
    pub(super) fn restart(&mut self, here: Stamp) {
        self.span = Span::default();
        self.from = self.from.map(|_| here);
    }

    /// Energy that is not proportional to traffic, from the start of the measurement to `here`.
    pub(super) fn read(&self, here: Stamp, sharing_factor: f64) -> EnergySplit {
        let span = self
            .from
            .map_or(self.span, |from| self.span.and(from, here));
        EnergySplit {
            sunk_j: self.sunk.0 * span.weighted_secs(sharing_factor),
            ..EnergySplit::default()
        }
    }
}
