//! Clocks of a device: simulated time, time with at least one active interface, and time with two
//! or more.

use crate::units::Nanos;

/// Moves forward only. Between two calls of [`Clock::advance`] the number of active interfaces is
/// constant.
#[derive(Clone, Debug)]
pub(super) struct Clock {
    now: Nanos,
    /// Time so far with two or more active interfaces, to which κ applies.
    shared: Nanos,
    /// Time since the start of the measurement with at least one active interface.
    any: Nanos,
    active: u32,
    /// False if κ = 1, so sharing has no effect.
    sharing: bool,
}

/// An instant on the simulated and the shared clock.
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
    /// With κ = 1 no time counts as shared, so an interface's sums do not depend on the others, not
    /// even in rounding.
    pub(super) fn new(start: Nanos, sharing_factor: f64) -> Self {
        Clock {
            now: start,
            shared: Nanos::ZERO,
            any: Nanos::ZERO,
            active: 0,
            sharing: sharing_factor != 1.0,
        }
    }

    pub(super) const fn now(&self) -> Nanos {
        self.now
    }

    /// True if two or more interfaces are active and κ applies.
    pub(super) const fn is_shared(&self) -> bool {
        self.active >= 2 && self.sharing
    }

    /// True if κ applies while two or more interfaces are active.
    pub(super) const fn is_sharing(&self) -> bool {
        self.sharing
    }

    /// Time since the start of the measurement with at least one active interface.
    pub(super) const fn any(&self) -> Nanos {
        self.any
    }

    /// Restarts the clock of time with an active interface.
    pub(super) fn restart_any(&mut self) {
        self.any = Nanos::ZERO;
    }

    /// Both clocks at `at`, which is not in the past; exact if no interface changes its state
    /// before `at`.
    #[inline]
    pub(super) fn stamp(&self, at: Nanos) -> Stamp {
        let since = if self.is_shared() {
            at.saturating_sub(self.now)
        } else {
            Nanos::ZERO
        };
        Stamp {
            at,
            shared: self.shared + since,
        }
    }

    /// Moves to `to`. Does nothing if `to` is in the past.
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

    /// Notes that an interface becomes active now.
    pub(super) fn enter(&mut self) {
        self.active += 1;
    }

    /// Notes that an interface becomes inactive now.
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

    /// This span plus the time from `from` to `to`.
    pub(super) fn and(mut self, from: Stamp, to: Stamp) -> Span {
        self.add(from, to);
        self
    }

    /// This span without an earlier part of it.
    pub(super) fn since(self, earlier: Span) -> Span {
        Span {
            total: self.total - earlier.total,
            shared: self.shared - earlier.shared,
        }
    }

    /// Seconds; time with two or more active interfaces is multiplied by κ.
    pub(super) fn weighted_secs(self, sharing_factor: f64) -> f64 {
        let alone = self.total - self.shared;
        alone.as_secs_f64() + sharing_factor * self.shared.as_secs_f64()
    }
}
