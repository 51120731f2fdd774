//! One run, from a scenario to its result.

use joulepath_control::Setup;
use joulepath_model::result::RunResult;
use joulepath_model::scenario::Scenario;

use crate::build::build;
use crate::error::RunError;
use crate::options::RunOptions;
use crate::parallel;

/// Runs `scenario` under one policy with one seed.
///
/// # Errors
/// [`RunError::TooLong`] and [`RunError::TooLarge`] if the scenario exceeds the engine's bounds,
/// [`RunError::Setup`] if the setup was made for another scenario, [`RunError::Cancelled`] if
/// `options.cancel` was set before the end.
pub fn run(
    scenario: &Scenario,
    setup: &Setup,
    seed: u64,
    options: RunOptions,
) -> Result<RunResult, RunError> {
    let parts = parallel::parts_for(scenario, setup, &options);
    let mut engine = build(scenario, setup, seed, &options, parts)?;
    match options.cores.filter(|_| engine.net.border.is_some()) {
        Some(cores) => parallel::run(&mut engine, cores, &options.cancel)?,
        None => engine.run(&options.cancel)?,
    }
    Ok(engine.result(scenario, setup.policy(), seed))
}
