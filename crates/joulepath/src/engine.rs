//! What runs a scenario. An engine is a type that implements [`Runner`]; [`open`] finds it by its name.
//!
//! `compare` knows no engine: a further one is a type here (or in a module of its own), and an arm of [`open`].

use std::num::NonZeroUsize;

use joulepath_model::scenario::Scenario;
use joulepath_packet::RunOptions;

use crate::cli::Engine;
use crate::contenders::Contender;
use crate::failure::{Exit, Failure};
use crate::study::{Outcome, Task};

/// Something that can run a scenario under a policy.
pub(crate) trait Runner: Sync {
    /// Its name, in results and reports.
    fn name(&self) -> &'static str;

    /// Whether two seeds differ. If not, one run of each policy says all.
    fn draws(&self) -> bool {
        true
    }

    /// Most runs at a time; none if only the cores set a bound.
    fn most_at_a_time(&self) -> Option<NonZeroUsize> {
        None
    }

    /// Refuses what it cannot run, before anything runs.
    ///
    /// # Errors
    /// What of the scenario or of a policy it cannot represent, by name.
    fn check(&self, _scenario: &Scenario, _contenders: &[Contender]) -> Result<(), Failure> {
        Ok(())
    }

    /// Does one run.
    fn run(&self, scenario: &Scenario, contender: &Contender, task: &Task) -> Outcome;
}

/// The engine called `engine`.
///
/// # Errors
/// If this version or this machine has no such engine.
pub(crate) fn open(engine: Engine) -> Result<Box<dyn Runner>, Failure> {
    let missing = |name: &str| {
        Err(Failure::message(Exit::Unsupported, format!("this version has no {name} engine"))
            .help("use `--engine packet`"))
    };
    match engine {
        Engine::Packet => Ok(Box::new(Packet)),
        Engine::Fluid => missing("fluid"),
        Engine::Kernel => missing("kernel"),
        Engine::Live => missing("live"),
    }
}

/// Every segment, ACK, queue and timer, simulated.
struct Packet;

impl Runner for Packet {
    fn name(&self) -> &'static str {
        "packet"
    }

    fn run(&self, scenario: &Scenario, contender: &Contender, task: &Task) -> Outcome {
        let options = RunOptions { series: task.series };
        joulepath_packet::run(scenario, &contender.setup, task.seed, options)
            .map_err(|error| error.to_string())
    }
}
