//! Files that a scenario refers to: traces and calibrated profiles.

use crate::energy::InterfaceModel;
use crate::network::DeliveryTrace;
use crate::units::Dbm;

/// An energy model that was calibrated on a device, with the record of the calibration.
#[derive(Clone, Debug, PartialEq)]
pub struct CalibratedProfile {
    /// The model.
    pub model: InterfaceModel,
    /// κ of the device together with a second interface, if measured.
    pub sharing_factor: Option<f64>,
    /// Name of the meter.
    pub meter: String,
    /// Name of the interface.
    pub interface: String,
    /// Date, as 2026-11-23.
    pub date: String,
    /// The device: `Librem 5`.
    pub device: Option<String>,
    /// The radio: driver or modem.
    pub radio: Option<String>,
    /// Version of the radio's firmware.
    pub firmware: Option<String>,
    /// Weakest and strongest signal of the measurements.
    pub signal: Option<[Dbm; 2]>,
    /// 95 % intervals: name, and both ends with units.
    pub intervals: Vec<(String, [String; 2])>,
    /// Further notes: name, and value with unit.
    pub notes: Vec<(String, String)>,
}

/// Looks up the files that a scenario refers to. An error is a message, a semicolon, and the fix.
#[derive(Clone, Copy)]
pub struct Beside<'f> {
    /// Resolves the name of a trace.
    pub traces: &'f dyn Fn(&str) -> Result<DeliveryTrace, String>,
    /// Reads a file of signals or delays over time ([`crate::series`]).
    pub series: &'f dyn Fn(&str) -> Result<String, String>,
    /// Resolves the name of a calibrated profile, without `file:`.
    pub profiles: &'f dyn Fn(&str) -> Result<CalibratedProfile, String>,
}
