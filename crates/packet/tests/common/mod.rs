//! From the text of a scenario and the name of a policy to a result.

use joulepath_control::policy::{Selector, resolve};
use joulepath_control::schedule::Scheduler;
use joulepath_controllers::Controller;
use joulepath_model::result::RunResult;
use joulepath_model::scenario::{Scenario, load};
use joulepath_packet::{RunOptions, Setup, run};

pub(crate) fn setup(scenario: &Scenario, policy: &str) -> Setup {
    let known = |name: &str| Controller::by_name(name).is_ok();
    let parts = resolve(&policy.parse().expect("a policy"), &known).expect("a known policy");
    let mss = scenario.transport.mss.0 as u32;
    let only_path = match &parts.selector {
        Selector::Single(name) => {
            Some(scenario.paths.iter().position(|path| path.name == *name).expect("a path"))
        }
        Selector::All | Selector::Dynamic(_) => None,
    };
    let controller = Controller::by_name(&parts.cc).expect("resolve checks it");
    let scheduler =
        Scheduler::by_name(&parts.scheduler, &parts.scheduler_options, mss).expect("resolve checks it");
    Setup::new(policy, parts, controller, scheduler, only_path)
}

/// Runs the scenario written in `toml` (all but its title) under `policy`.
pub(crate) fn simulate(toml: &str, policy: &str, seed: u64, options: RunOptions) -> RunResult {
    let text = format!("title = \"test\"\n{toml}");
    let no_traces = |name: &str| Err(format!("no trace {name}"));
    let scenario = load(&text, &no_traces).unwrap_or_else(|errors| panic!("{errors}\n{text}"));
    run(&scenario, &setup(&scenario, policy), seed, options).expect("the scenario runs")
}
