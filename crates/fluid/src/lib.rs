//! The fluid engine: multipath congestion control as differential equations (002, section IV).
//!
//! | module | what |
//! |---|---|
//! | `form` | what moves a window: each controller's definition as a mean field |
//! | `network`, `dynamics` | links, routes, users; their equations |
//! | `equilibrium`, `stability`, `trajectory` | where they settle, how firmly, and how they get there |
//! | [`theory`] | the papers' conditions and theorems, as functions |
//! | `sawtooth`, `represent`, `run`, `energy`, `measure` | from scenario to result |
//!
//! Nothing is random, and nothing depends on the machine: powers and logarithms are those of `libm`.
//!
//! ```
//! use joulepath_controllers::formula::Law;
//! use joulepath_fluid::{Network, Route};
//!
//! // Two paths with fixed loss: LIA takes together what one TCP takes on the better one, √(2/p)/τ.
//! let network = Network::of_one(Law::Lia, vec![Route::fixed(0.001, 0.05), Route::fixed(0.002, 0.1)]);
//! let equilibrium = network.equilibrium()?;
//! assert!((equilibrium.total_pps() - 894.427).abs() < 0.001);
//! assert!(network.stability(&equilibrium).is_stable());
//! # Ok::<(), joulepath_fluid::NotFound>(())
//! ```

mod dynamics;
mod energy;
mod equilibrium;
mod form;
mod measure;
mod network;
mod represent;
mod run;
mod sawtooth;
mod stability;
pub mod theory;
mod trajectory;

use joulepath_control::allocate::{Eemptcp, Infeasible};
use joulepath_controllers::{Controller, ParamError, UnknownController};
use joulepath_model::result::RunResult;
use joulepath_model::scenario::{PathIndex, Scenario};

pub use dynamics::{Dynamics, Flow};
pub use equilibrium::{Certificate, Equilibrium, NotFound};
pub use form::{Forces, Form};
pub use nalgebra::Complex;
pub use network::{Cost, LEAST_WINDOW, Link, LinkIndex, Network, Price, Route, User};
pub use sawtooth::{Sawtooth, sawtooth};
pub use stability::Stability;
pub use trajectory::{Stuck, Trajectory};

/// A policy with its parts looked up. Packet schedulers have no part in it: with data enough, every window is used.
#[derive(Clone, Debug)]
pub struct Setup {
    /// As the user wrote it; goes into the result.
    pub policy: String,
    /// Congestion controller of every subflow.
    pub controller: Controller,
    /// Its parameters: name and value.
    pub controller_params: Vec<(String, String)>,
    /// Where the target shares come from.
    pub allocator: Option<Eemptcp>,
    /// Only this path is used.
    pub only_path: Option<PathIndex>,
}

/// What of a scenario the fluid engine cannot represent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unsupported {
    /// Its routes are drawn per seed.
    #[error("the fluid engine knows paths, not a [topology]")]
    Topology,
    /// What is sent depends on the packet scheduler and on gaps between writes.
    #[error("connection `{connection}` carries {workload}; the fluid engine knows bulk data and files")]
    Workload {
        /// Name of the group.
        connection: String,
        /// What it carries.
        workload: &'static str,
    },
    /// A competitor that ends.
    #[error("competitor `{competitor}` sends a file; in the fluid engine competitors have data without end")]
    ShortCompetitor {
        /// Its name.
        competitor: String,
    },
    /// Marks instead of losses.
    #[error("link `{link}` marks packets (ECN); the fluid engine's links only lose them")]
    Marking {
        /// Its name.
        link: String,
    },
    /// A shared channel: contention is no equation of a link.
    #[error("path `{path}` has a relay; the fluid engine has no shared channels")]
    Relay {
        /// Its name.
        path: String,
    },
    /// A backup that may be needed.
    #[error("path `{path}` is a backup, and links go down; the fluid engine does not switch between paths")]
    Backup {
        /// Its name.
        path: String,
    },
}

/// Why a run cannot be done.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The engine has no equations for it.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
    /// The selected path is not one of the connection's.
    #[error("connection `{connection}` does not use the path that the policy selects")]
    NoPath {
        /// Name of the group.
        connection: String,
    },
    /// A parameter that the controller does not have, or a value that it does not take.
    #[error(transparent)]
    Parameter(#[from] ParamError),
    /// A competitor's controller.
    #[error(transparent)]
    Controller(#[from] UnknownController),
    /// The allocator's problem has no solution.
    #[error(transparent)]
    Allocation(#[from] Infeasible),
    /// The equations could not be integrated.
    #[error(transparent)]
    Stuck(#[from] Stuck),
}

/// What a run records besides its result.
#[derive(Clone, Copy, Debug, Default)]
pub struct RunOptions {
    /// Time series.
    pub series: bool,
}

/// Whether `scenario` can be represented under the policy.
///
/// # Errors
/// The first thing in it that has no place in the equations.
pub fn check(scenario: &Scenario, setup: &Setup) -> Result<(), Unsupported> {
    represent::check(scenario, setup)
}

/// Runs `scenario` under one policy. The seed matters to a genetic allocator only.
///
/// # Errors
/// If the scenario cannot be represented, or the policy does not fit the scenario.
pub fn run(
    scenario: &Scenario,
    setup: &Setup,
    seed: u64,
    options: RunOptions,
) -> Result<RunResult, RunError> {
    Ok(run::history(scenario, setup, seed)?.result(&setup.policy, seed, options.series))
}
