//! Calibrated profiles in files, and scenarios that name them.

use joulepath_model::energy::InterfaceModel;
use joulepath_model::scenario::{
    Beside, CalibratedProfile, Scenario, load, load_beside, read_profile, show, write_profile,
};

const PROFILE: &str = r#"
version = 1
quality = "calibrated"
meter = "hwmon:powerz:bus"
interface = "wlan0"
date = "2026-11-23"
sharing_factor = 0.85
energy = { model = "rrc", per_mbps = "120 mW", up_per_mbps = "250 mW", active = "140 mW",
  inactivity = "100 ms", promotion = { power = "120 mW", duration = "70 ms" },
  tail = [{ power = "110 mW", duration = "220 ms" }], idle = "2 mW" }

[interval]
per_mbps = ["118 mW/Mbps", "122 mW/Mbps"]

[noted]
hold_out_error = "3.1 %"
"#;

const SCENARIO: &str = r#"
title = "calibrated"
duration = "10 s"
[device]
preset = "file:my-wifi.toml"
[[path]]
name = "wifi"
rate = "10 Mbit/s"
delay = "20 ms"
energy = "file:my-wifi.toml"
[workload]
kind = "bulk"
"#;

fn with_profile(scenario: &str, profile: &str) -> Result<Scenario, String> {
    let profiles = |name: &str| match name {
        "my-wifi.toml" => read_profile(profile).map_err(|errors| errors.to_string()),
        _ => Err(format!("there is no file {name}; calibrate first")),
    };
    let traces = |name: &str| Err(format!("no trace {name}"));
    let series = |name: &str| Err(format!("no trace {name}"));
    load_beside(
        scenario,
        &[],
        &Beside {
            traces: &traces,
            series: &series,
            profiles: &profiles,
        },
    )
    .map_err(|errors| errors.to_string())
}

fn profile() -> CalibratedProfile {
    read_profile(PROFILE).unwrap_or_else(|errors| panic!("{errors}"))
}

#[test]
fn a_written_profile_reads_back_unchanged() {
    let profile = profile();
    assert_eq!(
        profile.intervals,
        [(
            "per_mbps".into(),
            ["118 mW/Mbps".into(), "122 mW/Mbps".into()]
        )]
    );
    assert_eq!(profile.notes, [("hold_out_error".into(), "3.1 %".into())]);
    let text = write_profile(&profile, "my-wifi.toml");
    assert!(text.contains("energy = \"file:my-wifi.toml\""), "{text}");
    assert_eq!(
        read_profile(&text).unwrap_or_else(|errors| panic!("{errors}\n{text}")),
        profile
    );
}

#[test]
fn a_path_and_the_device_can_use_a_profile_in_a_file() {
    let scenario = with_profile(SCENARIO, PROFILE).unwrap();
    let energy = &scenario.paths[0].energy;
    assert_eq!(energy.model, profile().model);
    assert_eq!(
        energy.profile,
        "file:my-wifi.toml, calibrated 2026-11-23 with hwmon:powerz:bus"
    );
    assert_eq!(scenario.device.sharing_factor, 0.85);
    // The output of `show` contains all numbers, so it loads without the file.
    let shown = show(&scenario);
    let none = |name: &str| Err(format!("no trace {name}"));
    assert_eq!(
        load(&shown, &none).unwrap_or_else(|errors| panic!("{errors}\n{shown}")),
        scenario
    );
}

#[test]
fn a_profile_in_a_file_can_be_changed() {
    let changed = SCENARIO.replace(
        "energy = \"file:my-wifi.toml\"",
        "energy = { profile = \"file:my-wifi.toml\", idle = \"9 mW\" }",
    );
    let energy = &with_profile(&changed, PROFILE).unwrap().paths[0].energy;
    let InterfaceModel::Rrc(radio) = &energy.model else {
        panic!("an RRC machine")
    };
    assert!((radio.idle.0 - 0.009).abs() < 1e-12);
    assert!(energy.profile.ends_with(", changed"), "{}", energy.profile);
}

#[test]
fn an_unusable_profile_file_is_reported_at_its_key() {
    let error = with_profile(&SCENARIO.replace("my-wifi", "other"), PROFILE).unwrap_err();
    assert!(
        error.contains("scenario:5:10: there is no file other.toml; calibrate first"),
        "{error}"
    );
    let error =
        with_profile(SCENARIO, &PROFILE.replace("sharing_factor = 0.85\n", "")).unwrap_err();
    assert!(
        error.contains("without a second interface; calibrate with --second"),
        "{error}"
    );
    let none = |name: &str| Err(format!("no trace {name}"));
    let error = load(SCENARIO, &none).unwrap_err().to_string();
    assert!(
        error.contains("`my-wifi.toml` cannot be looked up here; write its numbers"),
        "{error}"
    );
    let origin = SCENARIO.replace(
        "energy = \"file:my-wifi.toml\"",
        "energy = { profile = \"free\", origin = \"me\" }",
    );
    assert!(
        with_profile(&origin, PROFILE)
            .unwrap_err()
            .contains("leave `origin` out")
    );
}

#[test]
fn problems_of_a_profile_are_reported_with_position_and_fix() {
    for (from, to, said) in [
        (
            "version = 1",
            "version = 2",
            "2:11: version 2 is not known: this program reads version 1; calibrate again",
        ),
        (
            "\"calibrated\"",
            "\"measured\"",
            "3:11: `measured` is not a quality of a profile in a file; write quality",
        ),
        (
            "meter = \"hwmon:powerz:bus\"\n",
            "",
            "a calibrated profile needs the key `meter`",
        ),
        (
            "sharing_factor = 0.85",
            "sharing_factor = 1.5",
            "this is not a sharing factor; write a number greater than 0",
        ),
        ("\"120 mW\", up", "120, up", "`120` has no unit"),
        (
            "[\"118 mW/Mbps\", \"122 mW/Mbps\"]",
            "[\"118 mW/Mbps\"]",
            "an interval has two ends; write for example per_mbps",
        ),
        (
            "model = \"rrc\", per",
            "profile = \"file:x\", per",
            "does not name another one; write its numbers",
        ),
        (
            "date = ",
            "day = ",
            "`day` is not a key of a calibrated profile; did you mean `date`?",
        ),
    ] {
        assert_eq!(PROFILE.matches(from).count(), 1, "{from}");
        let error = read_profile(&PROFILE.replace(from, to))
            .expect_err(to)
            .to_string();
        assert!(
            error.starts_with("the profile has") && error.contains(said),
            "{to}: {error}"
        );
    }
}
