//! Meters on recorded trees, calibrations of simulated radios, scenarios that name a calibrated
//! profile.

use std::fs;
use std::path::Path;

use crate::QUICK;
use crate::run::{folder, joulepath, joulepath_in};

#[cfg(feature = "live")]
mod with_the_running_kernel {
    use super::*;

    fn write(folder: &Path, path: &str, text: &str) {
        let path = folder.join("class").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn meters_are_listed_with_readings_or_the_reason_for_none() {
        let tree = folder();
        write(tree.path(), "hwmon/hwmon0/name", "ina226\n");
        write(tree.path(), "hwmon/hwmon0/power1_input", "2500000\n");
        write(tree.path(), "power_supply/BAT0/type", "Battery\n");
        write(tree.path(), "power_supply/BAT0/status", "Charging\n");
        write(tree.path(), "power_supply/BAT0/power_now", "9000000\n");
        let text = joulepath_in(tree.path(), &["meter", "--sysfs", ".", "--seconds", "0.2"]).ok();
        assert!(
            text.contains("hwmon:ina226:power1          2.50 W        –"),
            "{text}"
        );
        assert!(
            text.contains("battery: BAT0 is being charged\n  → pull the plug"),
            "{text}"
        );
        assert!(
            text.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );

        let json = joulepath_in(
            tree.path(),
            &["meter", "--sysfs", ".", "--seconds", "0.2", "--json"],
        )
        .json();
        assert_eq!(json["meters"][0]["power_w"], 2.5);
        assert_eq!(json["meters"][0]["quality"], "instrument");
        assert_eq!(json["meters"][1]["error"], "battery: BAT0 is being charged");

        let said = joulepath_in(tree.path(), &["meter", "powerz", "--sysfs", "."]);
        assert_eq!(said.code, Some(2), "{}", said.stderr);
        assert!(
            said.stderr
                .contains("available: hwmon:ina226:power1, battery"),
            "{}",
            said.stderr
        );
    }

    #[test]
    fn exit_codes_distinguish_no_meter_from_a_failing_one() {
        let none = joulepath(&["meter", "--sysfs", "."]);
        assert_eq!(none.code, Some(3));
        assert!(
            none.stdout.contains("This machine has no power meter"),
            "{}",
            none.stdout
        );
        let dead = joulepath(&[
            "meter",
            "--command",
            "echo 1; echo 'no device' >&2; exit 1",
            "--seconds",
            "2",
        ]);
        assert_eq!(dead.code, Some(1), "{}", dead.stdout);
        assert!(
            dead.stdout.contains("last line on stderr: no"),
            "{}",
            dead.stdout
        );
    }

    #[test]
    fn a_calibration_on_mains_is_refused_before_anything_else() {
        let tree = folder();
        write(tree.path(), "power_supply/BAT0/type", "Battery\n");
        write(tree.path(), "power_supply/BAT0/status", "Full\n");
        write(tree.path(), "power_supply/BAT0/power_now", "0\n");
        let said = joulepath_in(
            tree.path(),
            &[
                "calibrate",
                "--interface",
                "lo",
                "--to",
                "127.0.0.1:1",
                "--meter",
                "battery",
                "--sysfs",
                ".",
                "--profile",
                "x.toml",
            ],
        );
        assert_eq!(said.code, Some(1), "{}", said.stderr);
        assert!(
            said.stderr.contains("BAT0 is not discharging"),
            "{}",
            said.stderr
        );
        assert!(!tree.path().join("x.toml").exists());
    }

    #[test]
    fn a_calibration_says_what_it_needs() {
        let said = joulepath(&["calibrate", "--interface", "lo"]);
        assert_eq!(said.code, Some(2));
        for option in ["--to", "--meter", "--profile"] {
            assert!(said.stderr.contains(option), "{}", said.stderr);
        }
        let all = [
            "calibrate",
            "--interface",
            "lo",
            "--to",
            "127.0.0.1:1",
            "--command",
            "echo 1",
            "--profile",
            "x.toml",
        ];
        let said = joulepath(&[&all[..], &["--down", "5 kbit/s"]].concat());
        assert!(
            said.code == Some(2) && said.stderr.contains("100 kbit/s to 1 Gbit/s"),
            "{}",
            said.stderr
        );
        let said = joulepath(&all);
        assert!(
            said.code == Some(1) && said.stderr.contains("cannot reach 127.0.0.1:1"),
            "{}",
            said.stderr
        );
    }
}

const PROFILE: &str = r#"
version = 1
quality = "calibrated"
meter = "battery"
interface = "wlan0"
date = "2026-11-23"
energy = { model = "rrc", per_mbps = "POWER mW", up_per_mbps = "250 mW", active = "140 mW",
  inactivity = "100 ms", promotion = { power = "120 mW", duration = "70 ms" },
  tail = [{ power = "110 mW", duration = "220 ms" }], idle = "2 mW" }
[interval]
[noted]
"#;

/// Mean energy of the first policy of `quick`, whose first path has a profile with that slope, J.
fn energy(folder: &Path, slope: &str) -> f64 {
    fs::write(folder.join("my-wifi.toml"), PROFILE.replace("POWER", slope)).unwrap();
    let json = joulepath_in(
        folder,
        &["compare", "my.toml", "--policies", "mptcp", "--json"],
    )
    .json();
    json["rows"][0]["energy_j"]["mean"]
        .as_f64()
        .unwrap_or_else(|| panic!("{json:#}"))
}

#[test]
fn a_comparison_uses_the_calibrated_profile_that_its_scenario_names() {
    let folder = folder();
    let line = QUICK
        .lines()
        .find(|line| line.trim_start().starts_with("energy"))
        .unwrap();
    fs::write(
        folder.path().join("my.toml"),
        QUICK.replacen(line, "energy = \"file:my-wifi.toml\"", 1),
    )
    .unwrap();
    let (cheap, dear) = (energy(folder.path(), "10"), energy(folder.path(), "1000"));
    assert!(dear > 1.05 * cheap, "{cheap} J and {dear} J");
    let shown = joulepath_in(folder.path(), &["show", "my.toml"]).ok();
    assert!(
        shown.contains("file:my-wifi.toml, calibrated 2026-11-23 with battery"),
        "{shown}"
    );

    fs::write(
        folder.path().join("my-wifi.toml"),
        PROFILE.replace("POWER mW", "9"),
    )
    .unwrap();
    let said = joulepath_in(folder.path(), &["compare", "my.toml"]);
    assert_eq!(said.code, Some(2), "{}", said.stderr);
    for part in ["my.toml", "my-wifi.toml:7:38", "`9` has no unit"] {
        assert!(said.stderr.contains(part), "{part}: {}", said.stderr);
    }
    fs::remove_file(folder.path().join("my-wifi.toml")).unwrap();
    let said = joulepath_in(folder.path(), &["compare", "my.toml"]);
    assert!(
        said.code == Some(2) && said.stderr.contains("my-wifi.toml"),
        "{}",
        said.stderr
    );
}

#[test]
fn a_profile_without_a_folder_says_what_to_do() {
    let said = joulepath(&["show", "quick", "--set", "path.0.energy=file:my-wifi.toml"]);
    assert_eq!(said.code, Some(2), "{}", said.stderr);
    assert!(
        said.stderr.contains("save the scenario as a file first"),
        "{}",
        said.stderr
    );
}

/// A profile without a problem.
fn complete() -> String {
    let head = "device = \"Librem 5\"\nradio = \"rtw88_8822cs\"\nfirmware = \"9.9.14\"\n\
                signal = [\"-62 dBm\", \"-58 dBm\"]\n";
    PROFILE
        .replace("POWER", "130")
        .replace("energy = ", &format!("{head}energy = "))
        .replace(
            "[interval]",
            "[interval]\nactive = [\"138 mW\", \"142 mW\"]",
        )
        .replace("[noted]", "[noted]\nhold_out_error = \"3.1 %\"")
}

#[test]
fn a_profile_is_judged_by_its_fields_its_domain_its_numbers_and_its_error() {
    let folder = folder();
    let check = |text: &str| {
        fs::write(folder.path().join("my.toml"), text).unwrap();
        joulepath_in(folder.path(), &["profile", "check", "my.toml"])
    };
    let said = check(&complete());
    assert_eq!(
        (said.code, said.stderr.as_str()),
        (Some(0), ""),
        "{}",
        said.stdout
    );
    assert!(
        said.stdout.contains("signal    -62 dBm to -58 dBm"),
        "{}",
        said.stdout
    );
    assert!(
        !said.stdout.contains("problem") && !said.stdout.contains("remark"),
        "{}",
        said.stdout
    );
    for (from, to, code, says) in [
        (
            "firmware = \"9.9.14\"",
            "",
            0,
            "remark: `firmware` is missing",
        ),
        ("device = \"Librem 5\"", "", 1, "`device` is missing"),
        ("\"rtw88_8822cs\"", "\" \"", 1, "`radio` is missing"),
        (
            "signal = [\"-62 dBm\", \"-58 dBm\"]",
            "",
            1,
            "`signal` is missing",
        ),
        (
            "-62 dBm",
            "-66 dBm",
            1,
            "the signals differ by 8.0 dB, more than 6.9 dB",
        ),
        ("-62 dBm", "-50 dBm", 1, "has its stronger end first"),
        ("hold_out_error = \"3.1 %\"", "", 1, "the error for loads"),
        ("3.1 %", "16 %", 1, "its error is 16 %, more than 15 %"),
        ("\"130 mW\"", "\"130 W/Mbps\"", 1, "is not that of a radio"),
        (
            "power = \"110 mW\"",
            "power = \"150 mW\"",
            1,
            "stage 1 of the tail draws more than transferring",
        ),
        (
            "power = \"110 mW\"",
            "power = \"1 mW\"",
            1,
            "draws less than the idle radio",
        ),
        (
            "active = \"140 mW\"",
            "active = \"140 W\"",
            1,
            "an active power of 140.000 W",
        ),
        (
            "duration = \"220 ms\"",
            "duration = \"220 s\"",
            1,
            "a tail of",
        ),
        (
            "[\"138 mW\", \"142 mW\"]",
            "[\"142 mW\", \"138 mW\"]",
            1,
            "does not ascend",
        ),
        ("2026-11-23", "23.11.2026", 1, "is not a date"),
    ] {
        assert!(complete().contains(from), "{from}");
        let said = check(&complete().replacen(from, to, 1));
        let words = said.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(said.code, Some(code), "{to}: {words}{}", said.stderr);
        assert!(words.contains(says), "{says}: {words}");
    }
    // A slope without a unit is no profile; neither is a missing file.
    let said = check(&complete().replace("130 mW", "130"));
    assert!(
        said.code == Some(2) && said.stderr.contains("has no unit"),
        "{}",
        said.stderr
    );
    let said = joulepath_in(folder.path(), &["profile", "check", "none.toml"]);
    assert_eq!(said.code, Some(2), "{}", said.stderr);
    fs::write(
        folder.path().join("my.toml"),
        complete().replace("3.1 %", "50 %"),
    )
    .unwrap();
    let said = joulepath_in(folder.path(), &["profile", "check", "my.toml", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(
        (
            said.code,
            json["problems"].as_u64(),
            json["schema"].as_u64()
        ),
        (Some(1), Some(1), Some(1))
    );
}
