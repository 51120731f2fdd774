//! The engine that uses the machine's own MPTCP stack over emulated links, in real time.

use std::num::NonZeroUsize;
use std::time::Duration;

use joulepath_control::Setup;
use joulepath_controllers::Controller;
use joulepath_lab::Program;
use joulepath_lab::emulator::{self, allowed_lateness};
use joulepath_lab::engine::{self, RunOptions};
use joulepath_model::cancel::Cancel;
use joulepath_model::result::RunResult;
use joulepath_model::scenario::Scenario;
use joulepath_model::units::Nanos;

use super::contract::{Engine, EngineOptions, RunError, Task};
use crate::error::Result;
use crate::own;

/// Approximate time to create and remove the namespaces, controllers and processes of a run.
const AROUND: Duration = Duration::from_millis(400);

/// A run takes the scenario's duration and needs the whole machine, unless its links are slow.
pub(super) struct Kernel {
    /// A run with later links fails; `None`: the scenario's own tolerance.
    max_lateness: Option<Nanos>,
    /// Maximum number of concurrent labs.
    at_a_time: NonZeroUsize,
    worker: Program,
}

impl Kernel {
    pub(super) fn new(options: &EngineOptions) -> Self {
        let worker = options
            .worker
            .as_ref()
            .map_or_else(Program::current, Program::at);
        let at_a_time = options.at_a_time.unwrap_or(NonZeroUsize::MIN);
        Kernel {
            max_lateness: options.max_lateness,
            at_a_time,
            worker,
        }
    }
}

impl Engine for Kernel {
    fn name(&self) -> &'static str {
        "kernel"
    }

    fn most_at_a_time(&self) -> Option<NonZeroUsize> {
        Some(self.at_a_time)
    }

    /// A moment of other work on the machine can spoil a run.
    fn attempts(&self) -> usize {
        3
    }

    fn most_seeds(&self) -> u32 {
        3
    }

    fn takes(&self, scenario: &Scenario) -> Option<Duration> {
        Some(Duration::from_nanos(scenario.duration.0) + AROUND)
    }

    fn check(&self, scenario: &Scenario, setups: &[Setup]) -> Result<()> {
        engine::check(scenario, setups)?;
        let competitors = scenario
            .competitors
            .iter()
            .filter_map(|other| Controller::by_name(&other.cc).ok());
        setups
            .iter()
            .map(Setup::controller)
            .chain(competitors)
            .try_for_each(own::kernel::prepare)
    }

    fn notes(&self, scenario: &Scenario, setups: &[Setup]) -> Vec<String> {
        let mut notes = engine::notes(scenario, setups);
        let tolerated = allowed_lateness(scenario);
        if let Some(allowed) = self.max_lateness.filter(|allowed| *allowed > tolerated) {
            notes.push(format!(
                "The emulated links may have been up to {allowed} late (one packet in a hundred more); this \
                 scenario tolerates {tolerated}."
            ));
        }
        notes
    }

    fn doubt(&self, scenarios: &[&Scenario]) -> Option<String> {
        emulator::doubt(scenarios.iter().copied(), self.max_lateness)
    }

    fn run(
        &self,
        scenario: &Scenario,
        setup: &Setup,
        task: &Task,
        _cores: NonZeroUsize,
        cancel: &Cancel,
    ) -> Result<RunResult, RunError> {
        let options = RunOptions {
            series: task.series,
            max_lateness: self.max_lateness,
            cancel: cancel.clone(),
            ..RunOptions::default()
        };
        engine::run(scenario, setup, task.seed, &options, &self.worker).map_err(|error| match error
        {
            joulepath_lab::Error::Cancelled => RunError::Cancelled,
            error => RunError::Failed(error.to_string()),
        })
    }
}
