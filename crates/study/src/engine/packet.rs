//! The engine that simulates every segment, ACK, queue and timer.

use std::num::NonZeroUsize;
use std::sync::OnceLock;
use std::time::Instant;

use joulepath_control::Setup;
use joulepath_model::cancel::Cancel;
use joulepath_model::result::RunResult;
use joulepath_model::scenario::Scenario;
use joulepath_packet::{Cores, RunOptions};

use super::contract::{Engine, RunError, Task};

pub(super) struct Packet;

impl Engine for Packet {
    fn name(&self) -> &'static str {
        "packet"
    }

    fn keeps_phase(&self) -> bool {
        true
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
        let cores = Some(Cores { most: cores, clock });
        let options = RunOptions {
            series,
            cancel,
            cores,
            ..RunOptions::default()
        };
        joulepath_packet::run(scenario, setup, task.seed, options).map_err(|error| match error {
            joulepath_packet::RunError::Cancelled => RunError::Cancelled,
            error => RunError::Failed(error.to_string()),
        })
    }
}

/// Time since the first call, ns.
fn clock() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_nanos() as u64
}
