//! The fluid engine: multipath congestion control as differential equations (002, section IV).
//!
//! | module | what |
//! |---|---|
//! | `form` | what moves a window: each controller's definition as a mean field |
//! | `network`, `dynamics` | links, routes, users; their equations |
//! | `closed`, `equilibrium`, `stability`, `trajectory` | where they settle, how firmly, how they get there |
//! | `sawtooth`, `represent`, `run`, `transit`, `energy`, `measure` | from scenario to result |
//!
//! Nothing is random or machine-dependent: powers and logarithms come from `libm`.
//!
//! ```
//! use joulepath_controllers::formula::Law;
//! use joulepath_fluid::{Network, Route};
//!
//! // Two paths with fixed loss: LIA gets in total what one TCP gets on the better path, √(2/p)/τ.
//! let network = Network::of_one(Law::Lia, vec![Route::fixed(0.001, 0.05), Route::fixed(0.002, 0.1)]);
//! let equilibrium = network.equilibrium()?;
//! assert!((equilibrium.total_pps() - 894.427).abs() < 0.001);
//! assert!(network.stability(&equilibrium).is_stable());
//! # Ok::<(), joulepath_fluid::NotFound>(())
//! ```

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

mod closed;
mod detect;
mod dynamics;
mod energy;
mod equilibrium;
mod error;
mod form;
mod measure;
mod network;
mod options;
mod represent;
mod run;
mod sawtooth;
mod split;
mod spread;
mod stability;
mod trajectory;
mod transit;

use joulepath_control::Setup;
use joulepath_model::result::RunResult;
use joulepath_model::scenario::Scenario;

pub use dynamics::{Dynamics, Flow};
pub use equilibrium::{Certificate, Equilibrium, NotFound, equilibria_of};
pub use error::{RunError, Unsupported};
pub use form::{Forces, Form};
pub use nalgebra::Complex;
pub use network::{Cost, LEAST_WINDOW, Link, LinkIndex, Network, Price, Route, User};
pub use options::RunOptions;
pub use sawtooth::{Sawtooth, sawtooth};
pub use stability::Stability;
pub use trajectory::{Stuck, Trajectory};

/// Checks that the engine supports `scenario` under the policy of `setup`.
///
/// # Errors
/// The first feature of the scenario or policy that is missing in the equations.
pub fn check(scenario: &Scenario, setup: &Setup) -> Result<(), Unsupported> {
    represent::check(scenario, setup)
}

/// Notes on results of `scenario`, one sentence each: where radios rest within a round trip in a way
/// that the equations lack.
pub fn notes(scenario: &Scenario) -> Vec<String> {
    energy::notes(scenario)
}

/// Runs `scenario` under one policy. Only a genetic allocator uses the seed.
///
/// # Errors
/// [`RunError::Unsupported`] as [`check`] returns it, [`RunError::Setup`] if the setup belongs to
/// another scenario, [`RunError::Stuck`] if the equations cannot be integrated,
/// [`RunError::Cancelled`] if `options.cancel` was set before the end.
pub fn run(
    scenario: &Scenario,
    setup: &Setup,
    seed: u64,
    options: RunOptions,
) -> Result<RunResult, RunError> {
    let scenario = &*scenario.drawn(seed);
    let history = run::history(scenario, setup, seed, &options)?;
    Ok(history.result(setup.policy(), seed, options.series))
}
