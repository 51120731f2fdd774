//! What makes a run worthless fails it, at once, with the reason.

use std::time::{Duration, Instant};

use joulepath_linux::engine::{self, Moment, RunOptions};
use joulepath_linux::{Error, Result};
use rustix::process::{Pid, Signal, kill_process};

use crate::common::machine;
use crate::{TWO_PATHS, changed, program, run, scenario, setup};

/// Which process dies.
type Victim = fn(&Moment<'_>) -> u32;

#[test]
fn a_process_that_is_killed_fails_the_run_and_leaves_nothing() {
    let Some(_machine) = machine() else { return };
    let scenario = changed(TWO_PATHS, &[("duration", "\"60 s\"")]);
    let setup = setup("mptcp", &scenario);
    let victims: [(&str, Victim); 3] = [
        ("emulator", |moment| moment.lab.emulator_pid()),
        ("traffic-client", |moment| moment.workers[1]),
        ("traffic-server", |moment| moment.workers[0]),
    ];
    for (name, victim) in victims {
        let began = Instant::now();
        let mut others = vec![];
        let mut watch = |moment: Moment<'_>| -> Result<()> {
            if moment.time > Duration::from_millis(700) && others.is_empty() {
                others = vec![moment.lab.emulator_pid(), moment.workers[0], moment.workers[1]];
                kill_process(Pid::from_raw(victim(&moment) as i32).unwrap(), Signal::KILL).unwrap();
            }
            Ok(())
        };
        let outcome =
            engine::run_watched(&scenario, &setup, 1, RunOptions::default(), &program(), &mut watch);
        let error = outcome.unwrap_err();
        assert!(matches!(error, Error::Run(_)), "{error}");
        assert!(error.to_string().contains(&format!("the {name} was killed by signal 9")), "{error}");
        assert!(began.elapsed() < Duration::from_secs(40), "{name}: {:?}", began.elapsed());
        for pid in others {
            assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists(), "{name}: {pid} lives");
        }
    }
    // No controller of these runs is left: their names begin with this process's number.
    let all = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap();
    let own = all.split_whitespace().filter(|name| name.starts_with("jp") && !name.starts_with("jp_"));
    assert_eq!(own.filter(|name| name.contains(&base36(std::process::id()))).count(), 0, "{all}");
    // And the next run is as if nothing had been.
    run(&crate::scenario(TWO_PATHS), "mptcp").unwrap();
}

fn base36(mut number: u32) -> String {
    let mut text = String::new();
    while number > 0 {
        text.insert(0, char::from_digit(number % 36, 36).unwrap());
        number /= 36;
    }
    text
}

#[test]
fn a_subflow_that_never_comes_up_fails_the_run() {
    let Some(_machine) = machine() else { return };
    let scenario = scenario(TWO_PATHS);
    let setup = setup("mptcp", &scenario);
    let mut cut = false;
    let error = engine::run_watched(&scenario, &setup, 1, RunOptions::default(), &program(), &mut |moment| {
        // Before the first packet: the handshake takes 20 ms.
        if !cut {
            cut = true;
            moment.lab.set_line(1, false)?;
        }
        Ok(())
    });
    let error = error.unwrap_err().to_string();
    assert!(error.contains("lte") && error.contains("up"), "{error}");
}

#[test]
fn whoever_watches_can_end_a_run() {
    let Some(_machine) = machine() else { return };
    let scenario = changed(TWO_PATHS, &[("duration", "\"60 s\"")]);
    let setup = setup("uncoupled", &scenario);
    let began = Instant::now();
    let stop = |moment: Moment<'_>| match moment.time {
        time if time > Duration::from_millis(300) => Err(Error::Run("enough".into())),
        _ => Ok(()),
    };
    let outcome = engine::run_watched(&scenario, &setup, 1, RunOptions::default(), &program(), &mut { stop });
    assert_eq!(outcome.unwrap_err().to_string(), "enough");
    assert!(began.elapsed() < Duration::from_secs(40));
}
