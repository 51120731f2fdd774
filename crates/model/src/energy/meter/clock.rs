//! The device's clocks: simulated time, and how much of it two or more interfaces, or any at all, were
//! active.

use crate::units::Nanos;

/// Moves forward only; between two calls of [`Clock::advance`] the number of active interfaces is constant.
#[derive(Clone, Debug)]
pub(super) struct Clock {
    now: Nanos,
    /// Time so far in which κ applied.
    shared: Nanos,
    /// Time since the begin of the measurement with an active interface.
    any: Nanos,
    active: u32,
    /// Whether it matters that two interfaces are active.
    sharing: bool,
}

/// An instant on the first two clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Stamp {
    pub(super) at: Nanos,
    shared: Nanos,
}

/// A sum of intervals, split by whether two or more interfaces were active.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Span {
    total: Nanos,
    shared: Nanos,
}

impl Clock {
    /// With κ = 1 nothing is shared, so that no interface's sums depend on another, not even in rounding.
    pub(super) fn new(start: Nanos, sharing_factor: f64) -> Self {
        Clock { now: start, shared: Nanos::ZERO, any: Nanos::ZERO, active: 0, sharing: sharing_factor != 1.0 }
    }

    pub(super) const fn now(&self) -> Nanos {
        self.now
    }

    /// Whether two or more interfaces are active, and κ applies.
    pub(super) const fn is_shared(&self) -> bool {
        self.active >= 2 && self.sharing
    }

    /// Time since the begin of the measurement with an active interface.
    pub(super) const fn any(&self) -> Nanos {
        self.any
    }

    /// Counts the time with an active interface from here.
    pub(super) fn restart_any(&mut self) {
        self.any = Nanos::ZERO;
    }

    /// `at`, not earlier than the clock, on both clocks, provided that no interface changes before.
    #[inline]
    pub(super) fn stamp(&self, at: Nanos) -> Stamp {
        let since = if self.is_shared() { at.saturating_sub(self.now) } else { Nanos::ZERO };
        Stamp { at, shared: self.shared + since }
    }

    /// Moves to `to`; an earlier time is the present.
    pub(super) fn advance(&mut self, to: Nanos) {
        let step = to.saturating_sub(self.now);
        if self.active >= 1 {
            self.any += step;
        }
        if self.is_shared() {
            self.shared += step;
        }
        self.now += step;
    }

    /// An interface becomes active now.
    pub(super) fn enter(&mut self) {
        self.active += 1;
    }

    /// An interface becomes inactive now.
    pub(super) fn leave(&mut self) {
        self.active -= 1;
    }
}

impl Span {
    /// Adds the time from `from` to `to`; nothing if `to` is not later.
    pub(super) fn add(&mut self, from: Stamp, to: Stamp) {
        self.total += to.at.saturating_sub(from.at);
        self.shared += to.shared.saturating_sub(from.shared);
    }

    /// This and the time from `from` to `to`.
    pub(super) fn and(mut self, from: Stamp, to: Stamp) -> Span {
        self.add(from, to);
        self
    }

    /// In seconds, those with two or more active interfaces multiplied by κ.
    pub(super) fn weighted_secs(self, sharing_factor: f64) -> f64 {
        let alone = self.total - self.shared;
        alone.as_secs_f64() + sharing_factor * self.shared.as_secs_f64()
    }
}
