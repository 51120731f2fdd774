//! A named energy model of an interface, with its source and the rates for which it holds.

use std::fmt;

use serde::Serialize;

use super::{InterfaceEnergy, InterfaceModel, Traffic};
use crate::units::rounded;

/// A named energy model of an interface.
#[derive(Clone, Debug)]
pub struct Profile {
    /// Name in scenarios.
    pub name: &'static str,
    /// One-line description.
    pub summary: &'static str,
    /// Source of the constants.
    pub source: &'static str,
    /// Confidence in its constants: the lowest among those that matter.
    pub confidence: Confidence,
    /// Device and rates for which it holds; `None` if they are unknown.
    pub validity: Option<Validity>,
    /// Bounds of an estimate; `None` for profiles from measurements.
    pub bounds: Option<Bounds>,
    pub(super) build: fn() -> InterfaceModel,
}

/// Device and rates for which a profile holds: those of its measurement, or of its estimate. At
/// higher rates it is extrapolated.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Validity {
    /// Device, and network where it matters.
    pub device: &'static str,
    /// Year of the measurement or of its publication.
    pub year: u16,
    /// Range of rates.
    #[serde(flatten)]
    pub rates: Rates,
}

/// Lowest and highest rate in each direction, Mbit/s.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Rates {
    /// Towards the device.
    pub down_mbps: [f64; 2],
    /// From the device.
    pub up_mbps: [f64; 2],
}

/// Lower and upper bounds of an estimated radio.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Bounds {
    /// Power of the active radio without traffic, mW.
    pub active_mw: [f64; 2],
    /// Slope of received traffic, mW/(Mbit/s).
    pub down_mw_per_mbps: [f64; 2],
    /// Slope of sent traffic, mW/(Mbit/s).
    pub up_mw_per_mbps: [f64; 2],
}

impl Rates {
    /// The range in one direction, Mbit/s.
    pub const fn of(&self, traffic: Traffic) -> [f64; 2] {
        match traffic {
            Traffic::Down => self.down_mbps,
            Traffic::Up => self.up_mbps,
        }
    }

    /// True if a rate in bit/s is above the range.
    pub fn are_exceeded(&self, traffic: Traffic, rate_bps: f64) -> bool {
        rate_bps * 1e-6 > self.of(traffic)[1]
    }
}

impl fmt::Display for Rates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ([down_least, down_most], [up_least, up_most]) = (self.down_mbps, self.up_mbps);
        write!(
            f,
            "{down_least} to {down_most} Mbit/s down, {up_least} to {up_most} Mbit/s up"
        )
    }
}

impl fmt::Display for Validity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}), {}", self.device, self.year, self.rates)
    }
}

impl fmt::Display for Bounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let range =
            |[least, most]: [f64; 2]| format!("{} to {}", rounded(least, 3), rounded(most, 3));
        write!(
            f,
            "{} mW active, {} mW/Mbps down, {} mW/Mbps up",
            range(self.active_mw),
            range(self.down_mw_per_mbps),
            range(self.up_mw_per_mbps)
        )
    }
}

/// Confidence in the constants of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confidence {
    /// **V**: checked against the paper, a public tool's configuration or a published data set.
    Verified,
    /// **L**: from the literature, not confirmed against the primary text.
    Literature,
    /// **R**: partly chosen here.
    Reconstruction,
}

impl Confidence {
    /// The letter used in the documentation.
    pub const fn letter(self) -> char {
        match self {
            Confidence::Verified => 'V',
            Confidence::Literature => 'L',
            Confidence::Reconstruction => 'R',
        }
    }
}

impl fmt::Display for Confidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Confidence::Verified => "verified",
            Confidence::Literature => "literature",
            Confidence::Reconstruction => "recon.",
        })
    }
}

impl Profile {
    /// The equations and constants.
    pub fn model(&self) -> InterfaceModel {
        (self.build)()
    }

    /// The profile as the energy model of an interface.
    pub fn interface(&self) -> InterfaceEnergy {
        InterfaceEnergy {
            profile: self.name.to_owned(),
            model: self.model(),
        }
    }
}
