//! The battery, from `/sys/class/power_supply`.

use std::fs;
use std::path::Path;

use crate::snapshot::Battery;

/// The kernel's folder.
pub(crate) const FOLDER: &str = "/sys/class/power_supply";

/// All batteries of the machine as one: mean charge; discharging if any of them is. Batteries of
/// peripherals do not count. `None` without a battery that reports its charge.
pub(crate) fn read(folder: &Path) -> Option<Battery> {
    let mut levels = vec![];
    let mut discharging = false;
    for entry in fs::read_dir(folder).ok()?.flatten() {
        let text = |name: &str| {
            fs::read_to_string(entry.path().join(name))
                .ok()
                .map(|text| text.trim().to_owned())
        };
        if text("type").as_deref() != Some("Battery") || text("scope").as_deref() == Some("Device")
        {
            continue;
        }
        let Some(percent) = text("capacity").and_then(|text| text.parse::<f64>().ok()) else {
            continue;
        };
        if (0.0..=100.0).contains(&percent) {
            levels.push(percent / 100.0);
            discharging |= text("status").as_deref() == Some("Discharging");
        }
    }
    let count = levels.len() as f64;
    (!levels.is_empty()).then(|| Battery {
        level: levels.iter().sum::<f64>() / count,
        discharging,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batteries_of_peripherals_do_not_count() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(read(folder.path()), None);
        for (name, files) in [
            ("AC", &[("type", "Mains"), ("online", "0")][..]),
            (
                "BAT0",
                &[
                    ("type", "Battery"),
                    ("capacity", "40\n"),
                    ("status", "Discharging\n"),
                ],
            ),
            (
                "BAT1",
                &[
                    ("type", "Battery"),
                    ("capacity", "80"),
                    ("status", "Unknown"),
                ],
            ),
            ("BAT2", &[("type", "Battery"), ("status", "Full")]),
            (
                "mouse",
                &[
                    ("type", "Battery"),
                    ("capacity", "1"),
                    ("scope", "Device"),
                    ("status", "Discharging"),
                ],
            ),
        ] {
            let place = folder.path().join(name);
            fs::create_dir(&place).unwrap();
            for (file, text) in files {
                fs::write(place.join(file), text).unwrap();
            }
        }
        let battery = read(folder.path()).unwrap();
        assert!((battery.level - 0.6).abs() < 1e-12 && battery.discharging);
    }
}
