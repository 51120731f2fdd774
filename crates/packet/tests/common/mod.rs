//! From the text of a scenario and the name of a policy to a result.

use joulepath_control::Setup;
use joulepath_model::result::RunResult;
use joulepath_model::scenario::{Scenario, load};
use joulepath_packet::{RunOptions, run};

pub(crate) fn setup(scenario: &Scenario, policy: &str) -> Setup {
    let policy = policy.parse().expect("a policy");
    Setup::of(&policy, scenario).expect("the policy fits the scenario")
}

/// Runs the scenario written in `toml`, without its title, under `policy`.
pub(crate) fn simulate(toml: &str, policy: &str, seed: u64, options: RunOptions) -> RunResult {
    let text = format!("title = \"test\"\n{toml}");
    let no_traces = |name: &str| Err(format!("no trace {name}"));
    let scenario = load(&text, &no_traces).unwrap_or_else(|errors| panic!("{errors}\n{text}"));
    run(&scenario, &setup(&scenario, policy), seed, options).expect("the scenario runs")
}
