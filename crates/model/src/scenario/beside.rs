//! What a scenario names and does not hold: traces and calibrated profiles.

use crate::energy::InterfaceModel;
use crate::network::DeliveryTrace;

/// An energy model that was calibrated on a device, with what is known of how.
#[derive(Clone, Debug, PartialEq)]
pub struct CalibratedProfile {
    /// The model.
    pub model: InterfaceModel,
    /// κ of the device with a second interface, if it was measured.
    pub sharing_factor: Option<f64>,
    /// Name of the meter.
    pub meter: String,
    /// Name of the interface.
    pub interface: String,
    /// Day, as 2026-11-23.
    pub date: String,
    /// 95 % intervals: what, and its two ends with their unit.
    pub intervals: Vec<(String, [String; 2])>,
    /// What else was noted: what, and its value with its unit.
    pub notes: Vec<(String, String)>,
}

/// What a scenario finds beside itself: an error is a message, a semicolon, and what to do.
#[derive(Clone, Copy)]
pub struct Beside<'f> {
    /// Resolves the traces that it names.
    pub traces: &'f dyn Fn(&str) -> Result<DeliveryTrace, String>,
    /// Resolves the calibrated profiles that it names, without `file:`.
    pub profiles: &'f dyn Fn(&str) -> Result<CalibratedProfile, String>,
}
