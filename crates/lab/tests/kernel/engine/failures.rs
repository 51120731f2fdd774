//! An event that invalidates a run ends it at once, with the reason.

use std::time::{Duration, Instant};
use std::{fs, thread};

use joulepath_lab::engine::{self, Progress, RunOptions};
use joulepath_lab::{Error, Result};
use joulepath_model::result::RunResult;
use joulepath_testbed::observe::{is_running, processes, wait_until};
use rustix::process::{Pid, Signal, kill_process};

use super::{TWO_PATHS, WORKER, changed, program, run, setup};

/// Selects the process that dies.
type Victim = fn(&Progress<'_>) -> u32;

/// Controllers registered by any process of this machine for a run or a lab. Controllers of `cc
/// load` have other names.
fn registered() -> Vec<String> {
    let all = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap();
    let names = all
        .split_whitespace()
        .filter(|name| name.starts_with("jp") && !name.starts_with("jp_"));
    names.map(str::to_owned).collect()
}

#[test(needs(ENGINE, ALONE))]
fn a_killed_process_fails_the_run_and_nothing_is_left() {
    let scenario = changed(TWO_PATHS, &[("duration", "\"60 s\"")]);
    let setup = setup("mptcp", &scenario);
    let victims: [(&str, Victim); 3] = [
        ("emulator", |run| run.lab.emulator_pid()),
        ("traffic-client", |run| run.workers[1]),
        ("traffic-server", |run| run.workers[0]),
    ];
    for (name, victim) in victims {
        let (before, mut others, mut own) = (registered(), vec![], vec![]);
        let mut watch = |run: Progress<'_>| -> Result<()> {
            if run.time > Duration::from_millis(700) && others.is_empty() {
                own = registered();
                own.retain(|name| !before.contains(name));
                others = vec![run.lab.emulator_pid(), run.workers[0], run.workers[1]];
                kill_process(Pid::from_raw(victim(&run) as i32).unwrap(), Signal::KILL).unwrap();
            }
            // The run takes a minute and must fail before its end.
            assert!(
                run.time < Duration::from_secs(50),
                "{name}: its end was not detected"
            );
            Ok(())
        };
        let outcome = engine::run_watched(
            &scenario,
            &setup,
            1,
            &RunOptions::default(),
            &program(),
            &mut watch,
        );
        let error = outcome.unwrap_err();
        assert!(matches!(error, Error::Run(_)), "{error}");
        assert!(
            error
                .to_string()
                .contains(&format!("the {name} was killed by signal 9")),
            "{error}"
        );
        wait_until("the others end", || {
            others.iter().all(|&pid| !is_running(pid))
        });
        // The kernel removes a controller from its list when no socket uses it.
        assert!(!own.is_empty());
        wait_until("the controllers are gone", || {
            registered().iter().all(|name| !own.contains(name))
        });
    }
    // The next run is unaffected.
    run(&super::scenario(TWO_PATHS), "mptcp").unwrap();
}

#[test(needs(ENGINE))]
fn a_subflow_that_never_opens_fails_the_run() {
    let scenario = changed(TWO_PATHS, &[("path.lte.start", "\"2 s\"")]);
    let setup = setup("mptcp", &scenario);
    let mut is_down = false;
    let mut watch = |run: Progress<'_>| -> Result<()> {
        // Long before the subflow opens.
        if !std::mem::replace(&mut is_down, true) {
            run.lab.set_tunnel(1, false)?;
        }
        Ok(())
    };
    let error = engine::run_watched(
        &scenario,
        &setup,
        1,
        &RunOptions::default(),
        &program(),
        &mut watch,
    );
    let error = error.unwrap_err().to_string();
    assert!(
        error.contains("lte") && error.contains("never opened"),
        "{error}"
    );
}

#[test(needs(ENGINE))]
fn the_error_of_a_watcher_ends_the_run() {
    let scenario = changed(TWO_PATHS, &[("duration", "\"60 s\"")]);
    let setup = setup("uncoupled", &scenario);
    let stop = |run: Progress<'_>| match run.time {
        time if time > Duration::from_millis(300) => Err(Error::Run("enough".into())),
        _ => Ok(()),
    };
    let outcome = engine::run_watched(
        &scenario,
        &setup,
        1,
        &RunOptions::default(),
        &program(),
        &mut { stop },
    );
    assert_eq!(outcome.unwrap_err().to_string(), "enough");
}

/// Runs for an hour, and cancels when a process of a role exists. Also returns how long the run
/// took to end.
fn cancelled_when(role: &str) -> (Result<RunResult>, Duration) {
    let scenario = changed(TWO_PATHS, &[("duration", "\"1 h\"")]);
    let setup = setup("olia", &scenario);
    let options = RunOptions::default();
    let worker = format!("{WORKER} --joulepath-worker {role}");
    thread::scope(|scope| {
        let run = scope.spawn(|| engine::run(&scenario, &setup, 1, &options, &program()));
        wait_until("the worker is there", || {
            !processes(|line| line.starts_with(&worker)).is_empty()
        });
        let since = Instant::now();
        options.cancel.set();
        (run.join().unwrap(), since.elapsed())
    })
}

#[test(needs(ENGINE, ALONE))]
fn a_cancelled_run_leaves_nothing() {
    let before = registered();
    // During the preparation, and during the run.
    for role in ["lab-init", "emulator", "traffic-server", "traffic-client"] {
        let (outcome, _) = cancelled_when(role);
        assert!(
            matches!(outcome, Err(Error::Cancelled)),
            "{role}: {outcome:?}"
        );
        wait_until("all its processes end", || {
            processes(|line| line.starts_with(WORKER)).is_empty()
        });
        wait_until("the controllers are gone", || {
            registered().iter().all(|name| before.contains(name))
        });
    }
}

#[test(needs(ENGINE, QUIET_CLOCK))]
fn a_cancelled_run_ends_within_a_second() {
    for role in ["lab-init", "traffic-client"] {
        let (outcome, elapsed) = cancelled_when(role);
        assert!(
            matches!(outcome, Err(Error::Cancelled)),
            "{role}: {outcome:?}"
        );
        assert!(elapsed < Duration::from_secs(1), "{role}: {elapsed:?}");
    }
}
