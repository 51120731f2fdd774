//! A command that is killed between any two steps leaves only what the next start repairs.

use joulepath_testbed::steps::{End, kill_at};

use super::stage::{Place, Stage, another, controller};

const NAME: &str = "cwa";

/// Kills a command at each of its steps, after `prepare` and before `check`, which gets the number
/// of the step. Returns the number of steps.
fn at_each_step(
    place: &Place,
    killed: &[&str],
    mut prepare: impl FnMut(),
    mut check: impl FnMut(&str),
) -> usize {
    for number in 1.. {
        prepare();
        match kill_at(place.command(killed), number) {
            End::KilledBefore(step) => check(&format!(
                "cc {} before step {number}, {step}",
                killed.join(" ")
            )),
            End::Ended(status) => {
                assert!(status.success());
                check("not killed");
                return number - 1;
            }
        }
    }
    unreachable!("every command ends");
}

/// `cc status` works and is right, and the controller can be unloaded and loaded in every case.
#[track_caller]
fn assert_mended(stage: &Stage, when: &str) {
    let status = stage.here.status();
    // A second unload finishes the first.
    let is_being_unloaded =
        when.starts_with("cc unload") && status["unfinished"] == format!("jp_{NAME}");
    let is_loaded = controller(&status, NAME).is_some() || is_being_unloaded;
    let said = stage.cc(&["unload", NAME]);
    assert_eq!(
        said.code,
        Some(if is_loaded { 0 } else { 3 }),
        "{when}: {status} {said:?}"
    );
    stage.assert_clean();
    let said = stage.cc(&["load", NAME]);
    assert_eq!(said.code, Some(0), "{when}: {said:?}");
    assert!(controller(&stage.here.status(), NAME).is_some(), "{when}");
    let said = stage.cc(&["unload", NAME]);
    assert_eq!(said.code, Some(0), "{when}: {said:?}");
    stage.assert_clean();
}

#[test(needs(ENGINE, MACHINE_STATE))]
fn load_can_be_killed_at_every_step() {
    let stage = Stage::new(&[NAME]);
    let steps = at_each_step(
        &stage.here,
        &["load", NAME],
        || {},
        |when| assert_mended(&stage, when),
    );
    // Lock, journal, folders, three pins, the registration, the rename, the journal again.
    assert!(
        steps > 15,
        "{steps} steps are too few: does the tracer see them?"
    );
    // The first command after a kill may be another load.
    let load = |when: &str| {
        let said = stage.cc(&["load", NAME]);
        assert_eq!(said.code, Some(0), "{when}: {said:?}");
        stage.cc(&["unload", NAME]).ok();
        stage.assert_clean();
    };
    at_each_step(&stage.here, &["load", NAME], || {}, load);
}

#[test(needs(ENGINE, MACHINE_STATE))]
fn unload_can_be_killed_at_every_step_and_every_default_is_restored() {
    let stage = Stage::new(&[NAME]);
    let there = Place::new(another());
    let prepare = || {
        stage.cc(&["load", NAME]).ok();
        for place in [&stage.here, &there] {
            place.cc(&["default", NAME]).ok();
        }
    };
    let check = |when: &str| {
        assert_mended(&stage, when);
        assert_eq!(
            [stage.here.default(), there.default()],
            ["reno", another()],
            "{when}"
        );
    };
    let steps = at_each_step(&stage.here, &["unload", NAME], prepare, check);
    assert!(
        steps > 10,
        "{steps} steps are too few: does the tracer see them?"
    );
}

#[test(needs(ENGINE, MACHINE_STATE))]
fn a_replacement_can_be_killed_at_every_step_and_no_socket_is_left_behind() {
    const PAIRS: usize = 5;
    let stage = Stage::new(&[NAME]);
    stage.cc(&["load", NAME]).ok();
    stage.here.cc(&["default", NAME]).ok();
    let old = stage.here.connections(PAIRS, Some(&format!("jp_{NAME}")));
    let check = |when: &str| {
        // Any command that takes the lock repairs.
        stage.cc(&["default", NAME]).ok();
        // Sockets that get the default get the newest load.
        let new = stage.here.connections(1, None);
        let status = stage.here.status();
        let found = controller(&status, NAME).unwrap_or_else(|| panic!("{when}: {status}"));
        assert_eq!(found["sockets"], 2 * PAIRS + 2, "{when}: {status}");
        assert_eq!(
            (&found["stayed_sockets"], &found["registered"]),
            (&0.into(), &true.into()),
            "{when}: {status}"
        );
        drop(new);
    };
    let steps = at_each_step(&stage.here, &["load", NAME], || {}, check);
    assert!(
        steps > 10,
        "{steps} steps are too few: does the tracer see them?"
    );
    drop(old);
    stage.cc(&["unload", NAME]).ok();
    assert_eq!(stage.here.default(), "reno");
    stage.assert_clean();
}

#[test(needs(ENGINE, MACHINE_STATE))]
fn default_and_restore_can_be_killed_at_every_step() {
    let stage = Stage::new(&[NAME]);
    stage.cc(&["load", NAME]).ok();
    let check = |when: &str| {
        // The earlier default is restored, if it was changed.
        let is_changed = stage.here.default() != "reno";
        let said = stage.cc(&["default", "--restore"]);
        assert_eq!(
            said.code,
            Some(if is_changed { 0 } else { 1 }),
            "{when}: {said:?}"
        );
        assert_eq!(stage.here.default(), "reno", "{when}");
        stage.cc(&["default", NAME]).ok();
        assert_eq!(stage.here.default(), format!("jp_{NAME}"), "{when}");
        stage.cc(&["default", "--restore"]).ok();
        assert_eq!(stage.here.default(), "reno", "{when}");
    };
    assert!(at_each_step(&stage.here, &["default", NAME], || {}, check) > 5);
    let prepare = || {
        stage.cc(&["default", NAME]).ok();
    };
    assert!(at_each_step(&stage.here, &["default", "--restore"], prepare, check) > 5);
}
