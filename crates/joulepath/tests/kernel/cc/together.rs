//! Several commands at once, and commands while sockets open and close.

use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::stage::{Place, Stage, controller};

const NAME: &str = "cwa";
const OTHER: &str = "emreno";

#[test(needs(ENGINE, MACHINE_STATE))]
fn commands_that_load_and_unload_the_same_controller_do_not_disturb_each_other() {
    const ROUNDS: usize = 4;
    let stage = Stage::new(&[NAME, OTHER]);
    let commands: [&[&str]; 6] = [
        &["load", NAME],
        &["load", NAME, OTHER],
        &["unload", NAME],
        &["default", OTHER],
        &["status", "--json"],
        &["unload", OTHER],
    ];
    for _ in 0..ROUNDS {
        let spawn = |arguments: &&[&str]| {
            let mut command = stage.here.command(arguments);
            command
                .stdout(Stdio::null())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap()
        };
        let children: Vec<_> = commands.iter().map(spawn).collect();
        for (child, arguments) in children.into_iter().zip(commands) {
            let output = child.wait_with_output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            // "It is not loaded" is right at some instants; any other error is wrong.
            let not_loaded = output.status.code() == Some(3) && said.contains("it is not loaded");
            assert!(
                output.status.success() || not_loaded,
                "{arguments:?}: {said}"
            );
        }
    }
    stage.cc(&["load", NAME, OTHER]).ok();
    stage.cc(&["unload", NAME, OTHER]).ok();
    stage.assert_clean();
    assert_eq!(stage.here.default(), "reno");
}

#[test(needs(ENGINE, MACHINE_STATE))]
fn two_commands_that_load_the_same_controller_at_once_both_succeed() {
    let stage = Stage::new(&[NAME]);
    let (first, second) = thread::scope(|scope| {
        let load = || stage.cc(&["load", NAME]);
        let threads = (scope.spawn(load), scope.spawn(load));
        (threads.0.join().unwrap(), threads.1.join().unwrap())
    });
    assert_eq!(
        (first.code, second.code),
        (Some(0), Some(0)),
        "{first:?} {second:?}"
    );
    let replaced = [&first, &second]
        .iter()
        .filter(|said| said.stderr.contains("replaced"))
        .count();
    assert_eq!(replaced, 1, "{first:?} {second:?}");
}

#[test(needs(ENGINE, MACHINE_STATE))]
fn the_name_is_free_when_unload_returns_also_while_connections_open_and_close() {
    const ROUNDS: usize = 10;
    let stage = Stage::new(&[NAME]);
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let churn = || {
            while !stop.load(Ordering::Relaxed) {
                drop(stage.here.connections(200, None));
            }
        };
        scope.spawn(churn);
        for round in 0..ROUNDS {
            let loaded = stage.cc(&["load", NAME]);
            let made_default = stage.cc(&["default", NAME]);
            let unloaded = stage.cc(&["unload", NAME]);
            let codes = [&loaded, &made_default, &unloaded].map(|said| said.code);
            let right = codes == [Some(0); 3] && stage.here.default() == "reno";
            if !right {
                stop.store(true, Ordering::Relaxed);
            }
            assert!(
                right,
                "round {round}: {loaded:?} {made_default:?} {unloaded:?} {}",
                stage.here.default()
            );
        }
        stop.store(true, Ordering::Relaxed);
    });
    stage.assert_clean();
}

#[test(needs(ENGINE, MACHINE_STATE))]
fn a_controller_that_cannot_be_unloaded_does_not_block_others() {
    let stage = Stage::new(&[NAME, OTHER]);
    stage.cc(&["load", NAME, OTHER]).ok();
    // The earlier default is unknown.
    let there = Place::new(&format!("jp_{NAME}"));
    let said = stage.cc(&["unload", NAME, OTHER]);
    assert_eq!(said.code, Some(5), "{said:?}");
    assert!(
        said.stderr
            .contains(&format!("unloading jp_{NAME}: it is the default of ")),
        "{said:?}"
    );
    assert!(said.stderr.contains("jp_emreno: unloaded"), "{said:?}");
    // Nothing was changed half.
    let status = stage.here.status();
    assert!(
        controller(&status, NAME).is_some() && controller(&status, OTHER).is_none(),
        "{status}"
    );
    assert_eq!(there.default(), format!("jp_{NAME}"));
    drop(there);
    stage.cc(&["unload", NAME]).ok();
    stage.assert_clean();
}
