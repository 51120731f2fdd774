//! What a calibration needs of the world: something that makes traffic and reads a meter meanwhile. The real
//! one uses sockets and the clock; the simulated one the energy model, so that the truth is known.

use joulepath_model::energy::Traffic;
use joulepath_model::units::{BitRate, Nanos};

use crate::error::Result;
use crate::meter::Unit;

/// Makes traffic and reads a meter meanwhile. Times are from the rig's own start and never go back.
pub trait Rig {
    /// What the meter tells.
    fn unit(&self) -> Unit;

    /// Interfaces that traffic can be sent on: the first is calibrated, a second one is for both together.
    fn interfaces(&self) -> usize;

    /// Whether the first interface's radio can be switched off.
    fn can_switch_off(&self) -> bool;

    /// How often the meter shall be read from now on: as often as it changes.
    fn pace(&mut self, period: Nanos);

    /// Does something for its time, and says what was seen.
    ///
    /// # Errors
    /// If the meter or the traffic fails, or the user wants to stop.
    fn run(&mut self, action: &Action) -> Result<Record>;
}

/// A stream of packets at an even rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flow {
    /// Received or sent.
    pub direction: Traffic,
    /// On the wire, headers included.
    pub rate: BitRate,
    /// Of a packet on the wire, bytes.
    pub packet: u32,
}

/// What can be done while the meter is read.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Nothing for a time.
    Idle(Nanos),
    /// Nothing for a time, with the first interface's radio switched off; it is on again afterwards.
    Off(Nanos),
    /// A flow on one interface.
    Steady {
        /// Which.
        interface: usize,
        /// What.
        flow: Flow,
        /// How long.
        lasts: Nanos,
    },
    /// A flow on each of two interfaces at once.
    Together([Flow; 2], Nanos),
    /// After each of some quiet times a small packet to the far end, and its echo.
    Probes {
        /// Where.
        interface: usize,
        /// The quiet times.
        gaps: Vec<Nanos>,
    },
    /// Computing without traffic.
    Work {
        /// Processors that are kept busy.
        cores: f64,
        /// How long.
        lasts: Nanos,
    },
    /// Bursts: a flow for a time, then a quiet time.
    Bursts(Vec<(Flow, Nanos, Nanos)>),
}

impl Action {
    /// How long it takes, echoes not counted.
    pub fn lasts(&self) -> Nanos {
        match self {
            Action::Idle(lasts)
            | Action::Off(lasts)
            | Action::Together(_, lasts)
            | Action::Steady { lasts, .. }
            | Action::Work { lasts, .. } => *lasts,
            Action::Probes { gaps, .. } => gaps.iter().fold(Nanos::ZERO, |sum, gap| sum + *gap),
            Action::Bursts(bursts) => bursts.iter().fold(Nanos::ZERO, |sum, burst| sum + burst.1 + burst.2),
        }
    }
}

/// What was seen while an action was done.
#[derive(Clone, Debug, Default)]
pub struct Record {
    /// When it began.
    pub start: Nanos,
    /// When it ended; with the radio off, before it was switched on.
    pub end: Nanos,
    /// Readings of the meter, in their order.
    pub samples: Vec<Sample>,
    /// Own traffic, in its order.
    pub passed: Vec<Passed>,
    /// Of each probe that was answered: the time since the interface's last packet, and the time to its echo.
    pub echoes: Vec<(Nanos, Nanos)>,
    /// Bytes of others on the first interface.
    pub foreign_bytes: u64,
}

/// A reading of the meter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// When.
    pub at: Nanos,
    /// J since some start, or W over the time since the last update.
    pub value: f64,
    /// Time that processors have been busy since some start, s.
    pub cpu_s: f64,
}

/// Packets that passed within a few milliseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Passed {
    /// When, within these milliseconds.
    pub at: Nanos,
    /// Where.
    pub interface: usize,
    /// Which way.
    pub direction: Traffic,
    /// On the wire.
    pub bytes: u32,
    /// How many.
    pub packets: u32,
}
