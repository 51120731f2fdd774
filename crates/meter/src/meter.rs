//! The meter trait: energy or power with a time and a quality.

use std::fmt;
use std::time::Instant;

use joulepath_model::units::{Joules, Watts};
use serde::Serialize;

use crate::error::Result;

/// A source of energy or power readings.
pub trait Meter: Send {
    /// Name and properties.
    fn about(&self) -> &About;

    /// The current reading. May block for a fresh value, up to the meter's own timeout.
    ///
    /// # Errors
    /// If the meter cannot be read, or its value does not represent the device's present power.
    fn read(&mut self) -> Result<Reading>;
}

/// Properties of a meter.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct About {
    /// Name on the command line: `rapl:package-0`.
    pub name: String,
    /// A file or command.
    pub place: String,
    /// The part of the device that it measures.
    pub measures: String,
    /// Reliability of its values.
    pub quality: Quality,
    /// Energy counter or power.
    pub unit: Unit,
}

/// Reliability of a meter's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Quality {
    /// A shunt or an instrument in the device's supply: absolute values.
    Instrument,
    /// A fuel gauge: errors are systematic, so differences on one device are meaningful, absolute
    /// values less so.
    Gauge,
    /// A processor's own estimate: the host's share, without radios.
    HostShare,
    /// Depends on the user's program.
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

/// The quantity that a meter reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// Energy since a start.
    Joules,
    /// Power.
    Watts,
}

/// A value of a meter with its time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    /// Time of the reading.
    pub at: Instant,
    /// Energy or power.
    pub value: Value,
}

/// Energy or power, depending on the meter's [`Unit`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// Energy since the meter was opened; never decreases.
    Energy(Joules),
    /// Present power.
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
