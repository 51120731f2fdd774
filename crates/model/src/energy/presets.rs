//! Named models of devices: their power besides the interfaces, and the interface profiles that go
//! with them.

use super::constants::{device, host, narayanan2021};
use super::provenance::Confidence;
use super::{DeviceEnergy, HostCurve, HostModel};
use crate::units::Watts;

/// A named model of a device.
#[derive(Clone, Debug)]
pub struct DevicePreset {
    /// Name in scenarios.
    pub name: &'static str,
    /// One-line description.
    pub summary: &'static str,
    /// Confidence in its constants.
    pub confidence: Confidence,
    /// Interface profiles that were calibrated together with the device.
    pub interfaces: &'static [&'static str],
    build: fn() -> DeviceEnergy,
}

impl DevicePreset {
    /// The energy model of the device.
    pub fn device(&self) -> DeviceEnergy {
        (self.build)()
    }
}

/// All device presets.
pub fn device_presets() -> impl Iterator<Item = &'static DevicePreset> {
    PRESETS.iter()
}

/// Names of all device presets.
pub fn device_preset_names() -> impl Iterator<Item = &'static str> {
    device_presets().map(|preset| preset.name)
}

/// The device preset `name`.
pub fn device_preset(name: &str) -> Option<DeviceEnergy> {
    device_presets()
        .find(|preset| preset.name == name)
        .map(DevicePreset::device)
}

const HUANG2012: &[&str] = &["wifi-huang2012", "lte-huang2012", "3g-huang2012"];

static PRESETS: &[DevicePreset] = &[
    DevicePreset {
        name: "seed000",
        summary: "interfaces only, as in paper 000",
        confidence: Confidence::Verified,
        interfaces: &["wifi-seed000", "lte-seed000", "umts-seed000"],
        build: DeviceEnergy::additive,
    },
    DevicePreset {
        name: "seed001",
        summary: "interfaces only, as in paper 001",
        confidence: Confidence::Verified,
        interfaces: &["wlan-seed001", "3g-seed001"],
        build: DeviceEnergy::additive,
    },
    DevicePreset {
        name: "huang2012-rrc",
        summary: "interfaces only, as in Huang et al. 2012",
        confidence: Confidence::Literature,
        interfaces: HUANG2012,
        build: DeviceEnergy::additive,
    },
    DevicePreset {
        name: "phone2015",
        summary: "phone with a shared base of 500 mW while an interface is active",
        confidence: Confidence::Reconstruction,
        interfaces: HUANG2012,
        build: || with_base(device::PHONE_BASE_MW),
    },
    DevicePreset {
        name: "5g2021",
        summary: "phone with a shared base of 2 W while an interface is active",
        confidence: Confidence::Reconstruction,
        interfaces: &["5g-mmwave-2021", "5g-lowband-2021", "lte-2021"],
        build: || with_base(narayanan2021::PHONE_BASE_MW),
    },
    DevicePreset {
        name: "seed003",
        summary: "interfaces only, as in paper 003",
        confidence: Confidence::Reconstruction,
        interfaces: &["wifi-seed003", "lte-seed003", "mmwave-seed003"],
        build: DeviceEnergy::additive,
    },
    DevicePreset {
        name: "host-relative",
        summary: "wired host of paper 002; 1 W stands for its power at 200 Mbit/s",
        confidence: Confidence::Reconstruction,
        interfaces: &["free"],
        build: || relative_host(HostCurve::Wired { exponent: 1.0 }),
    },
    DevicePreset {
        name: "host-relative-wifi",
        summary: "WiFi host of paper 002; 1 W stands for its power at 10 Mbit/s",
        confidence: Confidence::Reconstruction,
        interfaces: &["free"],
        build: || relative_host(HostCurve::Wifi),
    },
];

fn with_base(base_mw: f64) -> DeviceEnergy {
    DeviceEnergy {
        shared_base: Watts(base_mw * 1e-3),
        ..DeviceEnergy::additive()
    }
}

fn relative_host(curve: HostCurve) -> DeviceEnergy {
    let host = HostModel {
        curve,
        delay_weight: host::DELAY_WEIGHT,
        subflow_weight: host::SUBFLOW_WEIGHT,
        unit: Watts(1.0),
    };
    DeviceEnergy {
        host: Some(host),
        ..DeviceEnergy::additive()
    }
}
