//! What a meter is: something that tells joules or watts, with a time, and says how far to trust it.

use std::fmt;
use std::time::Instant;

use joulepath_model::units::{Joules, Watts};
use serde::Serialize;

use crate::error::Result;

/// A source of joules or watts.
pub trait Meter: Send {
    /// What it is and what it measures.
    fn about(&self) -> &About;

    /// What it says now. May wait for a fresh value, never longer than the meter's own time limit.
    ///
    /// # Errors
    /// If it cannot be read, or if what it says does not stand for what the device draws at present.
    fn read(&mut self) -> Result<Reading>;
}

/// What a meter is and what it measures.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct About {
    /// As the command line names it: `rapl:package-0`.
    pub name: String,
    /// Where it is: a file, or a command.
    pub place: String,
    /// What of the device it measures.
    pub measures: String,
    /// What its numbers can be used for.
    pub quality: Quality,
    /// Whether it counts joules or tells watts.
    pub unit: Unit,
}

/// What a meter's numbers can be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Quality {
    /// A shunt or an instrument in the supply of the device: absolute values.
    Instrument,
    /// A fuel gauge: its errors repeat, so that differences on one device mean something, absolute values
    /// less.
    Gauge,
    /// A processor's own account, partly estimated: the host's share, no radio.
    HostShare,
    /// Whatever the user's program says.
    Given,
}

impl fmt::Display for Quality {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Quality::Instrument => "instrument",
            Quality::Gauge => "gauge",
            Quality::HostShare => "host share",
            Quality::Given => "given",
        })
    }
}

/// Which quantity a meter tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// It counts energy.
    Joules,
    /// It tells power.
    Watts,
}

/// One reading with its time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    /// When it was taken.
    pub at: Instant,
    /// What the meter said.
    pub value: Value,
}

/// What a meter says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// Energy since the meter was opened; it never falls.
    Energy(Joules),
    /// Power.
    Power(Watts),
}

impl Value {
    /// The bare number, J or W.
    pub fn number(self) -> f64 {
        match self {
            Value::Energy(joules) => joules.0,
            Value::Power(watts) => watts.0,
        }
    }
}
