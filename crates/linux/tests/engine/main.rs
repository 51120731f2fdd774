//! Runs of the kernel engine, from scenario to result.

#[path = "../common/mod.rs"]
mod common;

mod failures;
mod fair;
mod integrity;
mod refusals;
mod roads;
mod selectors;
mod whole;

use joulepath_linux::engine::{self, RunOptions, Setup};
use joulepath_linux::{Program, Result};
use joulepath_model::result::RunResult;
use joulepath_model::scenario::{self, Scenario};
use joulepath_model::units::Nanos;

/// WiFi and LTE: 20 and 10 Mbit/s, queues of one bandwidth-delay product.
pub(crate) const TWO_PATHS: &str = r#"
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

pub(crate) fn scenario(text: &str) -> Scenario {
    let no_traces = |name: &str| Err(format!("no trace {name}"));
    scenario::load(text, &no_traces).unwrap_or_else(|errors| panic!("{errors}\n{text}"))
}

/// With keys changed.
pub(crate) fn changed(text: &str, set: &[(&str, &str)]) -> Scenario {
    let set: Vec<_> = set.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
    scenario::load_with(text, &set, &|_| Err("no traces".into())).unwrap_or_else(|errors| panic!("{errors}"))
}

pub(crate) fn program() -> Program {
    Program::at(env!("CARGO_BIN_EXE_joulepath-worker"))
}

pub(crate) fn setup(policy: &str, scenario: &Scenario) -> Setup {
    Setup::of(&policy.parse().unwrap(), scenario).unwrap()
}

pub(crate) fn run(scenario: &Scenario, policy: &str) -> Result<RunResult> {
    run_seed(scenario, policy, 1)
}

pub(crate) fn run_seed(scenario: &Scenario, policy: &str, seed: u64) -> Result<RunResult> {
    let setup = setup(policy, scenario);
    engine::check(scenario, std::slice::from_ref(&setup))?;
    patiently(RunOptions::default(), |options| engine::run(scenario, &setup, seed, options, &program()))
}

/// A run that another process of this machine has made late is no run: it is done again, after a pause that grows. Where every
/// run is late, the last one counts: what a test measures is mostly right even then.
pub(crate) fn patiently(
    options: RunOptions,
    mut run: impl FnMut(RunOptions) -> Result<RunResult>,
) -> Result<RunResult> {
    let is_late = |outcome: &Result<RunResult>| {
        outcome.as_ref().is_err_and(|error| error.to_string().contains("this machine was too busy"))
    };
    let attempt = |number| {
        std::thread::sleep(std::time::Duration::from_secs(2 * number));
        run(options)
    };
    let however_late = RunOptions { max_lateness: Nanos::MAX, ..options };
    let in_time = (0..ATTEMPTS).map(attempt).find(|outcome| !is_late(outcome));
    in_time.unwrap_or_else(|| run(however_late))
}

/// How often at most, before a late one counts.
const ATTEMPTS: u64 = 4;
