//! State of an interface at an instant.

use crate::units::Nanos;

/// What an interface draws power for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum RadioPhase {
    /// Nothing: it waits for a packet, or its power is off.
    #[default]
    Idle,
    /// It wakes up; the first packet waits.
    Promotion,
    /// It carries traffic. A linear model is active while it draws its sunk power.
    Active,
    /// No packet came for a while.
    Tail,
}

/// A phase and its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RadioState {
    /// The phase.
    pub phase: RadioPhase,
    /// Its start. A tail starts at the last packet, so it begins before the meter knows of it.
    pub since: Nanos,
}

impl RadioState {
    pub(super) const fn new(phase: RadioPhase, since: Nanos) -> Self {
        RadioState { phase, since }
    }
}
