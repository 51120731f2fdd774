//! Calibrations of simulated radios with known values.

use std::fs;
use std::sync::Mutex;

use joulepath_meter::Unit;
use joulepath_meter::calibrate::{Refusal, Settings, Stop, calibrate};
use joulepath_model::units::{BitRate, Nanos};

use crate::simulate::Simulated;
use crate::trial::{draw, refusals, refusals_markdown, trial};

/// Writes a table into docs/calibration.md, between its marks, if JOULEPATH_WRITE_DOCS is set.
fn document(mark: &str, table: &str) {
    const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/calibration.md");
    if std::env::var_os("JOULEPATH_WRITE_DOCS").is_none() {
        return;
    }
    // Another test writes the other table.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _one = ONE_AT_A_TIME.lock().unwrap();
    let page = fs::read_to_string(PAGE).unwrap();
    let (before, rest) = page
        .split_once(&format!("<!-- {mark}: begin -->\n"))
        .unwrap();
    let (_, after) = rest.split_once(&format!("<!-- {mark}: end -->")).unwrap();
    let text = format!("{before}<!-- {mark}: begin -->\n{table}<!-- {mark}: end -->{after}");
    fs::write(PAGE, text).unwrap();
}

#[test]
fn calibrations_recover_every_parameter_within_its_interval() {
    let trial = trial(1, 100).unwrap();
    document("calibrations", &trial.markdown());
    // A radio whose tail power is almost its transfer power may be refused, but rarely.
    assert!(trial.refused.len() <= 10, "{:?}", trial.refused);
    assert_eq!(trial.parameters.len(), 11);
    for parameter in &trial.parameters {
        assert!(parameter.draws >= 30, "{parameter:?}");
        assert!(
            parameter.covered * 10 >= parameter.draws * 9,
            "{parameter:?}"
        );
    }
    // Wide intervals would contain everything: the most important ones must be narrow.
    let margin = |name: &str| {
        let of = trial
            .parameters
            .iter()
            .find(|parameter| parameter.parameter == name);
        of.unwrap_or_else(|| panic!("{name} is estimated"))
            .median_margin
    };
    for (name, most) in [
        ("active", 0.02),
        ("down", 0.04),
        ("up", 0.02),
        ("tail power", 0.05),
    ] {
        assert!(margin(name) < most, "{name}: {}", margin(name));
    }
    assert!(trial.worst_hold_out < 0.10, "{}", trial.worst_hold_out);
}

#[test]
fn undetermined_calibrations_are_refused_with_the_right_reason() {
    let refusals = refusals(1).unwrap();
    document("refusals", &refusals_markdown(&refusals));
    assert!(refusals.len() >= 10);
    for refused in refusals {
        assert!(refused.right, "{}: {:?}", refused.condition, refused.reason);
    }
}

const SETTINGS: Settings = Settings {
    down: BitRate::from_bps(20_000_000),
    up: BitRate::from_bps(10_000_000),
    limit: None,
    seed: 7,
};

#[test]
fn the_same_readings_give_the_same_profile() {
    let again = || calibrate(&mut Simulated::new(draw(3), 3), &SETTINGS, &mut |_| {}).unwrap();
    assert_eq!(again(), again());
}

#[test]
fn a_time_limit_is_kept_or_refused_with_the_least_time() {
    let truth = draw(3);
    let run = |minutes: u64| {
        let limit = Some(Nanos::from_secs(60 * minutes));
        calibrate(
            &mut Simulated::new(truth.clone(), 3),
            &Settings { limit, ..SETTINGS },
            &mut |_| {},
        )
    };
    let Err(Stop::Error(error)) = run(5) else {
        panic!("five minutes are too short")
    };
    let help = error.help.unwrap();
    let least: u64 = help
        .split_whitespace()
        .nth(2)
        .and_then(|word| word.parse().ok())
        .expect(&help);
    let found = run(least).expect("what is said to be enough is enough");
    // The search for the tail comes on top of the plan.
    assert!(
        found.seconds < 60.0 * least as f64 + 200.0,
        "{} s",
        found.seconds
    );
    assert!(run(2 * least).unwrap().blocks > found.blocks);
}

#[test]
fn watts_and_joules_of_one_device_give_one_profile() {
    let mut truth = draw(3);
    truth.meter.step = 0.0;
    let mut found = |unit| {
        truth.meter.unit = unit;
        calibrate(
            &mut Simulated::new(truth.clone(), 3),
            &SETTINGS,
            &mut |_| {},
        )
        .unwrap()
    };
    let (watts, joules) = (found(Unit::Watts), found(Unit::Joules));
    for (a, b) in [(watts.active, joules.active), (watts.down, joules.down)] {
        assert!(a.covers(b.value) && b.covers(a.value), "{a:?} {b:?}");
    }
}

#[test]
fn a_calibration_carries_its_signals_and_refuses_those_that_differ_too_much() {
    let settings = Settings {
        down: BitRate::from_bps(20_000_000),
        up: BitRate::from_bps(10_000_000),
        limit: None,
        seed: 1,
    };
    let run = |per_s: f64| {
        let mut truth = draw(1);
        truth.signal = Some([-60.0, per_s]);
        calibrate(&mut Simulated::new(truth, 1), &settings, &mut |_| {})
    };
    let [low, high] = run(0.0).unwrap().signal_dbm.unwrap();
    assert_eq!((low, high), (-60.0, -60.0));
    // 36 dB in an hour.
    match run(-0.01) {
        Err(Stop::Refused(Refusal::Signal {
            ends_dbm: [low, high],
        })) => {
            assert!(
                high <= -60.0 && high - low > 6.8 && high - low < 9.0,
                "{low} {high}"
            );
        }
        other => panic!("{other:?}"),
    }
}
