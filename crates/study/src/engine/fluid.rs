//! The engine that solves differential equations.

use std::num::NonZeroUsize;

use joulepath_control::Setup;
use joulepath_fluid::RunOptions;
use joulepath_model::cancel::Cancel;
use joulepath_model::result::RunResult;
use joulepath_model::scenario::Scenario;

use super::contract::{Engine, RunError, Task};
use crate::error::{Error, Result};
#[cfg(not(target_family = "wasm"))]
use crate::own;

pub(super) struct Fluid;

impl Engine for Fluid {
    fn name(&self) -> &'static str {
        "fluid"
    }

    fn draws(&self) -> bool {
        false
    }

    fn check(&self, scenario: &Scenario, setups: &[Setup]) -> Result<()> {
        #[cfg(not(target_family = "wasm"))]
        own::refuse(setups, self.name())?;
        for setup in setups {
            joulepath_fluid::check(scenario, setup).map_err(|error| Error::Unsupported {
                message: error.to_string(),
                help: "use `--engine packet`".to_owned(),
            })?;
        }
        Ok(())
    }

    fn notes(&self, scenario: &Scenario, _setups: &[Setup]) -> Vec<String> {
        joulepath_fluid::notes(scenario)
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
            settles: task.settles,
            cancel: cancel.clone(),
        };
        joulepath_fluid::run(scenario, setup, task.seed, options).map_err(|error| match error {
            joulepath_fluid::RunError::Cancelled => RunError::Cancelled,
            error => RunError::Failed(error.to_string()),
        })
    }
}
