//! Every segment, ACK, queue and timer, simulated.

use std::num::NonZeroUsize;

use joulepath_control::Setup;
use joulepath_model::cancel::Cancel;
use joulepath_model::result::RunResult;
use joulepath_model::scenario::Scenario;
use joulepath_packet::RunOptions;

use super::contract::{Engine, RunError, Task};

/// The packet engine.
pub(super) struct Packet;

impl Engine for Packet {
    fn name(&self) -> &'static str {
        "packet"
    }

    fn run(
        &self,
        scenario: &Scenario,
        setup: &Setup,
        task: &Task,
        cores: NonZeroUsize,
        cancel: &Cancel,
    ) -> Result<RunResult, RunError> {
        let (series, cancel) = (task.series, cancel.clone());
        let options = RunOptions { series, cancel, threads: Some(cores), ..RunOptions::default() };
        joulepath_packet::run(scenario, setup, task.seed, options).map_err(|error| match error {
            joulepath_packet::RunError::Cancelled => RunError::Cancelled,
            error => RunError::Failed(error.to_string()),
        })
    }
}
