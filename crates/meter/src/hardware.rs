//! The hardware whose power is measured: its names, and the signal of its WiFi.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use joulepath_model::calendar::Day;

/// Name of the device: of a PC, then of a board.
pub fn device_name(sysfs: &Path) -> Option<String> {
    let text = |file: &str| fs::read_to_string(sysfs.join(file)).ok();
    let name =
        text("class/dmi/id/product_name").or_else(|| text("firmware/devicetree/base/model"))?;
    let name = name.trim_matches(|c: char| c.is_whitespace() || c == '\0');
    (!name.is_empty()).then(|| name.to_owned())
}

/// Name of an interface's driver.
pub fn driver(sysfs: &Path, interface: &str) -> Option<String> {
    let link = fs::read_link(
        sysfs
            .join("class/net")
            .join(interface)
            .join("device/driver"),
    )
    .ok()?;
    Some(link.file_name()?.to_string_lossy().into_owned())
}

/// Strength of a WiFi interface's signal, dBm.
pub fn wifi_signal(interface: &str) -> Option<f64> {
    level(&fs::read_to_string("/proc/net/wireless").ok()?, interface)
}

/// As in /proc/net/wireless: `wlan0: 0000   70.  -40.  -256 …`: status, quality, level, noise.
fn level(text: &str, interface: &str) -> Option<f64> {
    let line = text
        .lines()
        .find_map(|line| line.trim_start().strip_prefix(interface)?.strip_prefix(':'))?;
    line.split_whitespace()
        .nth(2)?
        .trim_end_matches('.')
        .parse()
        .ok()
}

/// Circumstances that the profile notes.
pub fn notes(second: Option<&str>) -> Vec<(String, String)> {
    let mut notes = Vec::new();
    let mut note = |key: &str, value: String| notes.push((key.to_owned(), value));
    if let Ok(release) = fs::read_to_string("/proc/sys/kernel/osrelease") {
        note("kernel", release.trim().to_owned());
    }
    if let Some(second) = second {
        note("second_interface", second.to_owned());
    }
    notes
}

/// The day in UTC, as 2026-11-23.
pub fn date(now: SystemTime) -> String {
    let seconds = now
        .duration_since(UNIX_EPOCH)
        .unwrap_or(Duration::ZERO)
        .as_secs();
    Day::of(i64::try_from(seconds).unwrap_or(i64::MAX))
        .date()
        .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signal_is_the_level_of_that_interface() {
        let text = "Inter-| sta-|   Quality        |\n wlan0: 0000   70.  -40.  -256        0\n";
        assert_eq!(level(text, "wlan0"), Some(-40.0));
        assert_eq!(level(text, "wlan"), None);
    }

    #[test]
    fn names_are_those_of_the_machine_and_the_driver() {
        let tree = tempfile::tempdir().unwrap();
        assert_eq!(
            (device_name(tree.path()), driver(tree.path(), "wlan0")),
            (None, None)
        );
        let device = tree.path().join("class/net/wlan0/device");
        fs::create_dir_all(&device).unwrap();
        std::os::unix::fs::symlink(
            "../../../../bus/sdio/drivers/rtw88_8822cs",
            device.join("driver"),
        )
        .unwrap();
        let board = tree.path().join("firmware/devicetree/base");
        fs::create_dir_all(&board).unwrap();
        fs::write(board.join("model"), "Librem 5\0").unwrap();
        assert_eq!(device_name(tree.path()).as_deref(), Some("Librem 5"));
        assert_eq!(
            driver(tree.path(), "wlan0").as_deref(),
            Some("rtw88_8822cs")
        );
    }

    #[test]
    fn days_are_those_of_the_calendar() {
        // 2026-11-23: 56 years with 14 leap days, then 304 days to the end of October, and 22.
        let of = |days: u64| date(UNIX_EPOCH + Duration::from_secs(days * 86_400 + 86_399));
        assert_eq!(of(0), "1970-01-01");
        assert_eq!(of(56 * 365 + 14 + 304 + 22), "2026-11-23");
        assert_eq!(of(30 * 365 + 7 + 31 + 28), "2000-02-29");
        assert_eq!(of(30 * 365 + 7 + 31 + 29), "2000-03-01");
    }
}
