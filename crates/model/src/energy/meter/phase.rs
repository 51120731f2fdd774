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

impl RadioPhase {
    /// What a capture says when a radio enters the phase; joules are those of its path until then.
    pub fn comment(self, path: &str, at: Nanos, energy_j: f64) -> String {
        let phase = match self {
            RadioPhase::Idle => "idle",
            RadioPhase::Promotion => "in promotion",
            RadioPhase::Active => "active",
            RadioPhase::Tail => "in its tail",
        };
        let at_s = at.as_secs_f64();
        format!("{path}: radio {phase} from {at_s:.3} s, {energy_j:.3} J until then")
    }
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
