//! Runs of the kernel engine, from scenario to result.

mod differential;
mod failures;
mod fair;
mod hystart;
mod integrity;
mod late;
mod owners;
mod paths;
mod refusals;
mod selectors;
mod walk;
mod whole;

use std::panic::resume_unwind;
use std::thread;
use std::time::Duration;

use joulepath_control::Setup;
use joulepath_lab::engine::{self, RunOptions};
use joulepath_lab::{Error, Program, Result};
use joulepath_model::result::RunResult;
use joulepath_model::scenario::{self, Scenario};

/// WiFi and LTE: 20 and 10 Mbit/s, queues of one bandwidth-delay product.
const TWO_PATHS: &str = r#"
title = "two paths"
duration = "4 s"
warm_up = "1 s"
[[path]]
name = "wifi"
rate = "20 Mbit/s"
delay = "10 ms"
queue = "33 packets"
energy = { per_mbps = "100 mW", active = "1 W", sunk_while = "open" }
[[path]]
name = "lte"
rate = "10 Mbit/s"
delay = "20 ms"
queue = "33 packets"
energy = { per_mbps = "50 mW", active = "2 W", sunk_while = "open" }
"#;

fn scenario(text: &str) -> Scenario {
    let no_traces = |name: &str| Err(format!("no trace {name}"));
    scenario::load(text, &no_traces).unwrap_or_else(|errors| panic!("{errors}\n{text}"))
}

/// The scenario with some keys changed.
fn changed(text: &str, set: &[(&str, &str)]) -> Scenario {
    let set: Vec<_> = set
        .iter()
        .map(|&(key, value)| (key.to_owned(), value.to_owned()))
        .collect();
    scenario::load_with(text, &set, &|_| Err("no traces".into()))
        .unwrap_or_else(|errors| panic!("{errors}"))
}

/// This crate's worker program.
const WORKER: &str = env!("CARGO_BIN_EXE_joulepath-worker");

fn program() -> Program {
    Program::at(WORKER)
}

fn setup(policy: &str, scenario: &Scenario) -> Setup {
    Setup::of(&policy.parse().unwrap(), scenario).unwrap()
}

fn run(scenario: &Scenario, policy: &str) -> Result<RunResult> {
    run_seed(scenario, policy, 1)
}

fn run_seed(scenario: &Scenario, policy: &str, seed: u64) -> Result<RunResult> {
    let setup = setup(policy, scenario);
    engine::check(scenario, std::slice::from_ref(&setup))?;
    in_time(RunOptions::default(), |options| {
        engine::run(scenario, &setup, seed, options, &program())
    })
}

/// Repeats a run that the engine refused because other processes made it late, after increasing
/// pauses, and notes each. If all attempts are late, the test is ignored with the last lateness.
fn in_time(
    options: RunOptions,
    mut run: impl FnMut(&RunOptions) -> Result<RunResult>,
) -> Result<RunResult> {
    let mut late = String::new();
    for number in 0..ATTEMPTS {
        thread::sleep(Duration::from_secs(2 * number));
        match run(&options) {
            Err(error @ Error::Late { .. }) => {
                late = error.to_string();
                joulepath_testbed::repeated(&late);
            }
            outcome => return outcome,
        }
    }
    joulepath_testbed::too_busy(late)
}

/// Maximum number of attempts.
const ATTEMPTS: u64 = 4;

/// Runs all at once, in labs that share only the processors.
fn at_once<const N: usize, T: Send>(work: [impl FnOnce() -> T + Send; N]) -> [T; N] {
    thread::scope(|scope| {
        let threads = work.map(|work| scope.spawn(work));
        // A panic in a thread ends the test, which it may mark as ignored.
        threads.map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)))
    })
}
