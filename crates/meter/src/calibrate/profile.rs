//! A calibration as a profile for scenarios.

use joulepath_model::scenario::CalibratedProfile;
use joulepath_model::units::Dbm;

use super::outcome::{Calibration, Estimate};

/// The circumstances of a calibration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Circumstances {
    /// Meter name.
    pub meter: String,
    /// Interface name.
    pub interface: String,
    /// Date, for example 2026-11-23.
    pub date: String,
    /// The device, if known.
    pub device: Option<String>,
    /// The radio, if known.
    pub radio: Option<String>,
    /// Version of the radio's firmware, if known.
    pub firmware: Option<String>,
    /// Further notes: key and value.
    pub notes: Vec<(String, String)>,
}

impl Calibration {
    /// The profile of this calibration.
    pub fn profile(&self, at: &Circumstances) -> CalibratedProfile {
        let mut intervals = vec![
            interval("per_mbps", &self.down, 1e9, "mW/Mbps"),
            interval("up_per_mbps", &self.up, 1e9, "mW/Mbps"),
            interval("active", &self.active, 1e3, "mW"),
            interval("promotion_power", &self.promotion, 1e3, "mW"),
            interval("promotion_duration", &self.promotion_s, 1e3, "ms"),
            interval("tail_duration", &self.tail_s, 1e3, "ms"),
            interval("per_packet", &self.packet, 1e6, "uJ"),
            interval("per_busy_processor", &self.core, 1e3, "mW"),
        ];
        intervals.extend(
            self.tail
                .as_ref()
                .map(|tail| interval("tail_power", tail, 1e3, "mW")),
        );
        intervals.extend(
            self.idle
                .as_ref()
                .map(|idle| interval("idle", idle, 1e3, "mW")),
        );
        intervals.extend(self.sharing.as_ref().map(|sharing| {
            (
                "sharing_factor".to_owned(),
                [sharing.low, sharing.high].map(|end| format!("{end:.4}")),
            )
        }));
        intervals.sort();
        CalibratedProfile {
            model: self.model(),
            // Above 1, both together would cost more than each alone, which the model excludes.
            sharing_factor: self.sharing.map(|sharing| sharing.value.min(1.0)),
            meter: at.meter.clone(),
            interface: at.interface.clone(),
            date: at.date.clone(),
            device: at.device.clone(),
            radio: at.radio.clone(),
            firmware: at.firmware.clone(),
            signal: self.signal_dbm.map(|ends| ends.map(Dbm)),
            intervals,
            notes: self.notes(at),
        }
    }

    fn notes(&self, at: &Circumstances) -> Vec<(String, String)> {
        let mut notes = at.notes.clone();
        let mut note = |key: &str, value: String| notes.push((key.to_owned(), value));
        note(
            "hold_out_error",
            format!("{:.1} %", 100.0 * self.hold_out_error),
        );
        note("blocks", self.blocks.to_string());
        note("minutes", format!("{:.0}", self.seconds / 60.0));
        if let Some(period) = self.survey.period_s {
            note("meter_period", format!("{:.0} ms", 1e3 * period));
        }
        if let Some(noise) = self.survey.noise_w {
            note("meter_noise", format!("{:.1} mW", 1e3 * noise));
        }
        note("packet", "slopes are those of packets of 1400 B".to_owned());
        note("inactivity", "assumed, not calibrated".to_owned());
        if self.idle.is_none() {
            note(
                "idle",
                "not measured: it belongs to the device, and is 0 here".to_owned(),
            );
        }
        if self.tail.is_none() {
            note(
                "tail",
                "too short to distinguish from a transfer".to_owned(),
            );
        }
        let untold = self.untold();
        if !untold.is_empty() {
            note("not_told_from_zero", untold.join(", "));
        }
        notes.sort();
        notes
    }

    /// The values whose intervals contain 0.
    pub fn untold(&self) -> Vec<&'static str> {
        let mut all = vec![
            ("per_mbps", self.down),
            ("up_per_mbps", self.up),
            ("promotion_power", self.promotion),
            ("per_packet", self.packet),
            ("per_busy_processor", self.core),
        ];
        all.extend(self.idle.map(|idle| ("idle", idle)));
        all.retain(|(_, estimate)| estimate.covers(0.0));
        all.into_iter().map(|(name, _)| name).collect()
    }
}

fn interval(key: &str, estimate: &Estimate, scale: f64, unit: &str) -> (String, [String; 2]) {
    (
        key.to_owned(),
        [estimate.low, estimate.high].map(|end| format!("{:.4} {unit}", end * scale)),
    )
}
