//! A run: from a built engine to a result.
//!
//! | file | content |
//! |---|---|
//! | `engine` | the main loop |
//! | `fast` | fast paths for segments and ACKs on plain subflows |
//! | `timers`, `events` | timers; events that belong to no connection |
//! | `config`, `options`, `error` | constants; options; errors |
//! | `recorder`, `measure` | samples over time; sums at the end |
//! | `session` | a run in steps, with commands; a run with a log of its packets |

pub(crate) mod config;
pub(crate) mod engine;
pub(crate) mod error;
mod events;
mod fast;
mod measure;
pub(crate) mod options;
pub(crate) mod recorder;
pub(crate) mod session;
mod timers;

use joulepath_control::Setup;
use joulepath_model::result::RunResult;
use joulepath_model::scenario::Scenario;

use crate::build::build;
use crate::parallel;
use crate::run::error::RunError;
use crate::run::options::RunOptions;

/// Runs `scenario` under one policy with one seed.
///
/// # Errors
/// [`RunError::TooLong`] and [`RunError::TooLarge`] if the scenario exceeds the engine's bounds,
/// [`RunError::Setup`] if the setup belongs to another scenario or its allocator fails,
/// [`RunError::Cancelled`] if `options.cancel` is set before the end.
pub fn run(
    scenario: &Scenario,
    setup: &Setup,
    seed: u64,
    options: RunOptions,
) -> Result<RunResult, RunError> {
    let scenario = &*scenario.drawn(seed);
    let parts = parallel::parts_for(scenario, setup, &options);
    let mut engine = build(scenario, setup, seed, &options, parts)?;
    match options.cores.filter(|_| engine.net.border.is_some()) {
        Some(cores) => parallel::run(&mut engine, cores, &options.cancel)?,
        None => engine.run(&options.cancel)?,
    }
    Ok(engine.result(scenario, setup.policy(), seed))
}
