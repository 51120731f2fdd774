//! From a scenario and a policy to an engine that is ready to run.

mod builder;
mod connection;
mod finish;
mod processing;
mod routes;
mod start;
mod tested;

use joulepath_control::Setup;
use joulepath_model::scenario::Scenario;
use joulepath_topology::Network as Topology;

use self::builder::Builder;
use crate::event::MAX_TIME_NS;
use crate::run::engine::Engine;
use crate::run::error::RunError;
use crate::run::options::RunOptions;

/// Builds the engine of one run. A large enough network is divided into `parts` parts.
pub(crate) fn build(
    scenario: &Scenario,
    setup: &Setup,
    seed: u64,
    options: &RunOptions,
    parts: usize,
) -> Result<Engine, RunError> {
    if scenario.duration.0 > MAX_TIME_NS {
        return Err(RunError::TooLong);
    }
    let topology = scenario.topology.as_ref().map(Topology::new);
    let mut builder = Builder::new(scenario, setup, seed, options, topology.as_ref());
    builder.cut(parts);
    builder.add_relay_stations();
    builder.add_tested()?;
    let unfinished = builder.connections.len();
    builder.add_competitors()?;
    builder.finish(unfinished)
}
