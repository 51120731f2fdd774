//! The kernel engine with endpoints that another program sets.

use std::num::NonZeroUsize;
use std::time::Duration;

use joulepath_control::Setup;
use joulepath_lab::Program;
use joulepath_lab::engine::{RunOptions, run_managed};
use joulepath_model::cancel::Cancel;
use joulepath_model::result::RunResult;
use joulepath_model::scenario::Scenario;
use joulepath_model::units::Nanos;

use super::management::Means;
use crate::engine::{Engine, EngineOptions, RunError, Task};

/// Attempts before a run counts as failed: other work on the machine may spoil one.
const ATTEMPTS: usize = 3;

/// Runs the kernel engine with endpoints set by `means`.
pub(super) struct Managed {
    name: &'static str,
    means: Means,
    max_lateness: Option<Nanos>,
    worker: Program,
}

impl Managed {
    pub(super) fn new(name: &'static str, means: Means, options: &EngineOptions) -> Self {
        let worker = options
            .worker
            .as_ref()
            .map_or_else(Program::current, Program::at);
        Managed {
            name,
            means,
            max_lateness: options.max_lateness,
            worker,
        }
    }
}

impl Engine for Managed {
    fn name(&self) -> &'static str {
        self.name
    }

    fn most_at_a_time(&self) -> Option<NonZeroUsize> {
        Some(NonZeroUsize::MIN)
    }

    fn attempts(&self) -> usize {
        ATTEMPTS
    }

    fn takes(&self, scenario: &Scenario) -> Option<Duration> {
        Some(Duration::from_nanos(scenario.duration.0))
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
            max_lateness: self.max_lateness,
            cancel: cancel.clone(),
            ..RunOptions::default()
        };
        let mut management = self.means.management(task.seed);
        run_managed(
            scenario,
            setup,
            task.seed,
            &options,
            &self.worker,
            &mut *management,
        )
        .map_err(|error| match error {
            joulepath_lab::Error::Cancelled => RunError::Cancelled,
            error => RunError::Failed(error.to_string()),
        })
    }
}
