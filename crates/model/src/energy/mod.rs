//! Energy models of interfaces and devices, as data, and the meters that integrate them.
//!
//! Units: power in watts, marginal energy in joules per bit, time in nanoseconds.

pub mod attribution;
pub mod constants;
mod describe;
pub mod equations;
mod kinds;
pub mod meter;
mod presets;
mod profiles;
mod provenance;
pub mod radios;
mod shipped;
#[cfg(test)]
mod tests;

pub use kinds::{RADIO_KINDS, RadioKind, radio_kind};
pub use presets::{DevicePreset, device_preset, device_preset_names, device_presets};
pub use profiles::{named, nearest, notes, profile, profile_names, profiles, suggest_profile};
pub use provenance::{Bounds, Confidence, Profile, Rates, Validity};

use serde::Serialize;

use crate::units::{JoulesPerBit, Nanos, Watts};

/// The energy model of one interface of the device.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InterfaceEnergy {
    /// Name of the profile, or `inline`.
    pub profile: String,
    /// Equations and constants.
    pub model: InterfaceModel,
}

/// Prefix of `profile` for a calibrated profile, which is in a file.
pub(crate) const FILE_PREFIX: &str = "file:";

impl InterfaceEnergy {
    /// True if the profile was calibrated on a device, and so is in a file.
    pub fn is_calibrated(&self) -> bool {
        self.profile.starts_with(FILE_PREFIX)
    }
}

/// How an interface turns traffic into joules.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "model", rename_all = "snake_case")]
pub enum InterfaceModel {
    /// P = b x + θ (papers 000 and 001).
    Linear {
        /// b for received traffic.
        down: JoulesPerBit,
        /// b for sent traffic; 000 and 001 count received data only.
        up: JoulesPerBit,
        /// θ.
        sunk: Watts,
        /// When θ is drawn.
        sunk_while: SunkWhile,
    },
    /// The radio resource control state machine of Huang et al. (MobiSys 2012).
    Rrc(RrcModel),
    /// Per-slot cost of so-MPTCP (003, section 3, eq. 3): `transfer` per bit while sending, `idle`
    /// in slots without traffic.
    Slotted {
        /// c^d.
        transfer: JoulesPerBit,
        /// c^e: power in every slot without traffic.
        idle: Watts,
        /// Length of a slot.
        slot: Nanos,
    },
}

/// Direction of traffic through an interface of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Traffic {
    /// Received by the device.
    Down,
    /// Sent by the device.
    Up,
}

/// When a linear model draws its sunk power.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SunkWhile {
    /// For the whole run, used or not (000, table 1).
    Always,
    /// While a subflow is open on the interface.
    Open,
}

/// IDLE → PROMOTION → ACTIVE → TAIL → IDLE; a packet during TAIL returns to ACTIVE at once.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RrcModel {
    /// α_d.
    pub down: JoulesPerBit,
    /// α_u.
    pub up: JoulesPerBit,
    /// β, while active.
    pub active: Watts,
    /// A gap between packets shorter than this (and than the first stage of the tail) is ACTIVE. A
    /// longer gap is TAIL from its start.
    pub inactivity: Nanos,
    /// IDLE → ACTIVE: power and duration; the first packet waits for it.
    pub promotion: Stage,
    /// Stages of the tail, in order (LTE: one stage; 3G: DCH then FACH), timed from the last
    /// packet. Powers are means that include DRX on-periods. Without any stage the radio stays at
    /// `active` for `inactivity`.
    pub tail: Vec<Stage>,
    /// Mean power when idle, including DRX or beacons.
    pub idle: Watts,
}

/// A constant power for a fixed time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Stage {
    /// Mean power.
    pub power: Watts,
    /// Duration.
    pub duration: Nanos,
}

/// Power of a device besides the sum of its interfaces.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DeviceEnergy {
    /// Power while at least one interface is active.
    pub shared_base: Watts,
    /// κ: factor on the power of all interfaces while two or more are active (1: additive).
    pub sharing_factor: f64,
    /// Host power (002), relative to a calibration point, in addition to the interfaces.
    pub host: Option<HostModel>,
}

impl DeviceEnergy {
    /// [`Self::additive`] as a constant, for references.
    pub const ADDITIVE: Self = Self::additive();

    /// The sum of the interfaces only (000, 001, 003).
    pub const fn additive() -> Self {
        DeviceEnergy {
            shared_base: Watts(0.0),
            sharing_factor: 1.0,
            host: None,
        }
    }
}

impl Default for DeviceEnergy {
    fn default() -> Self {
        Self::additive()
    }
}

/// Host power relative to one calibration point (002, figs 1, 3, 4):
/// P(R) (1 + η log2(1 + RTT / 10 ms) + ν (n − 1)) times `unit`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HostModel {
    /// P as function of the device's total rate.
    pub curve: HostCurve,
    /// η: relative growth with the mean RTT (free parameter).
    pub delay_weight: f64,
    /// ν: relative growth with each further subflow (free parameter).
    pub subflow_weight: f64,
    /// Watts at P = 1.
    pub unit: Watts,
}

/// Relative power of a host as a function of its rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "medium", rename_all = "lowercase")]
pub enum HostCurve {
    /// 1 + 0.15 ((R − 200) / 800)^γ, R in Mbit/s. The power is odd about 200 Mbit/s: R = 0 gives 1
    /// − 0.15 (200/800)^γ.
    Wired {
        /// γ: 1, or 0.7 for a concave curve.
        exponent: f64,
    },
    /// (34.4 + R) / 44.4, R in Mbit/s: 1 at 10 Mbit/s, 1.9 at 50 Mbit/s.
    Wifi,
}
