//! Input and output of a calibration: makes traffic while a meter is read. The real rig uses
//! sockets and the clock; the simulated rig uses the energy model, so its true values are known.

use joulepath_model::energy::Traffic;
use joulepath_model::units::{BitRate, Nanos};

use crate::error::Result;
use crate::meter::Unit;

/// Makes traffic while a meter is read. Times count from the rig's start and never decrease.
pub trait Rig {
    /// Unit of the meter.
    fn unit(&self) -> Unit;

    /// Number of interfaces: the first is calibrated, a second is used for κ.
    fn interfaces(&self) -> usize;

    /// True if the first interface's radio can be switched off.
    fn can_switch_off(&self) -> bool;

    /// Sets the time between two readings of the meter.
    fn pace(&mut self, period: Nanos);

    /// Runs an action. Returns its measurements.
    ///
    /// # Errors
    /// If the meter or the traffic fails, or the user cancels.
    fn run(&mut self, action: &Action) -> Result<Record>;
}

/// A stream of packets at an even rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flow {
    /// Direction.
    pub direction: Traffic,
    /// Rate on the wire, including headers.
    pub rate: BitRate,
    /// Packet size on the wire, bytes.
    pub packet: u32,
}

/// What to do while the meter is read.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Wait.
    Idle(Nanos),
    /// Wait with the first interface's radio off. It is on again afterwards.
    Off(Nanos),
    /// A flow on one interface.
    Steady {
        /// Interface number.
        interface: usize,
        /// The packets to send or receive.
        flow: Flow,
        /// Duration.
        lasts: Nanos,
    },
    /// A flow on each of two interfaces at once.
    Together([Flow; 2], Nanos),
    /// Send a small packet after each quiet time and wait for its echo.
    Probes {
        /// Interface number.
        interface: usize,
        /// The quiet times.
        gaps: Vec<Nanos>,
    },
    /// Compute without traffic.
    Work {
        /// Number of busy processors.
        cores: f64,
        /// Duration.
        lasts: Nanos,
    },
    /// Bursts: a flow for a time, then a quiet time.
    Bursts(Vec<(Flow, Nanos, Nanos)>),
}

impl Action {
    /// Duration, excluding echoes.
    pub fn lasts(&self) -> Nanos {
        match self {
            Action::Idle(lasts)
            | Action::Off(lasts)
            | Action::Together(_, lasts)
            | Action::Steady { lasts, .. }
            | Action::Work { lasts, .. } => *lasts,
            Action::Probes { gaps, .. } => gaps.iter().fold(Nanos::ZERO, |sum, gap| sum + *gap),
            Action::Bursts(bursts) => bursts
                .iter()
                .fold(Nanos::ZERO, |sum, burst| sum + burst.1 + burst.2),
        }
    }
}

/// Measurements of an action.
#[derive(Clone, Debug, Default)]
pub struct Record {
    /// Start.
    pub start: Nanos,
    /// End; with the radio off, before it is switched on.
    pub end: Nanos,
    /// Meter readings in order.
    pub samples: Vec<Sample>,
    /// Own packets in order.
    pub passed: Vec<Passed>,
    /// For each answered probe: time since the interface's last packet, and time to its echo.
    pub echoes: Vec<(Nanos, Nanos)>,
    /// Signal of the first interface at the end, dBm; `None` without a reading.
    pub signal_dbm: Option<f64>,
    /// Bytes of other programs on the first interface.
    pub foreign_bytes: u64,
}

/// A reading of the meter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Time of the reading.
    pub at: Nanos,
    /// Energy since an arbitrary start, J; or mean power since the last update, W.
    pub value: f64,
    /// Busy time of all processors since an arbitrary start, s.
    pub cpu_s: f64,
}

/// Packets that passed within a few milliseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Passed {
    /// A time within these milliseconds.
    pub at: Nanos,
    /// Interface number.
    pub interface: usize,
    /// Direction.
    pub direction: Traffic,
    /// Bytes on the wire.
    pub bytes: u32,
    /// Number of packets.
    pub packets: u32,
}
