//! What a study asks of an engine.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use joulepath_control::Setup;
use joulepath_model::cancel::Cancel;
use joulepath_model::result::RunResult;
use joulepath_model::scenario::Scenario;
use joulepath_model::units::Nanos;

use crate::error::Result;

/// How an engine shall run, beyond what the scenario says.
#[derive(Clone, Debug, Default)]
pub struct EngineOptions {
    /// How late packets may leave the links of an emulation; none: as late as each scenario tolerates.
    pub max_lateness: Option<Nanos>,
    /// Runs at a time of an engine that works in real time; one if none. Links of slow scenarios leave the
    /// processor idle most of the time; a run whose links were late has failed as ever.
    pub at_a_time: Option<NonZeroUsize>,
    /// The program whose processes emulate links and make traffic: one that begins with
    /// `joulepath_lab::worker::run_if_asked`. None: this program.
    pub worker: Option<PathBuf>,
}

/// One run of a setup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Task {
    /// Of all random numbers.
    pub seed: u64,
    /// Whether time series are recorded.
    pub series: bool,
}

/// Why there is no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// The token was set before the end.
    #[error("the run was cancelled")]
    Cancelled,
    /// It failed.
    #[error("{0}")]
    Failed(String),
}

/// Something that can run a scenario under a policy.
pub trait Engine: Send + Sync {
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

    /// How often a run is tried before it counts as failed.
    fn attempts(&self) -> usize {
        1
    }

    /// Most seeds, unless more are asked for.
    fn most_seeds(&self) -> u32 {
        u32::MAX
    }

    /// How long a run takes; none if that is not known before.
    fn takes(&self, _scenario: &Scenario) -> Option<Duration> {
        None
    }

    /// What a reader of the results has to know, one sentence each.
    fn notes(&self, _scenario: &Scenario, _setups: &[Setup]) -> Vec<String> {
        vec![]
    }

    /// Why runs of these scenarios will probably fail on this machine at present, in one sentence; none if
    /// nothing speaks for that. It may take some tenths of a second.
    fn doubt(&self, _scenarios: &[&Scenario]) -> Option<String> {
        None
    }

    /// Refuses what it cannot run, before anything runs.
    ///
    /// # Errors
    /// [`Error::Unsupported`](crate::error::Error::Unsupported) or the engine's own error: what of the
    /// scenario or of a policy it cannot represent, by name.
    fn check(&self, _scenario: &Scenario, _setups: &[Setup]) -> Result<()> {
        Ok(())
    }

    /// Does one run on at most `cores` cores, which ends within a second after `cancel` is set. The result
    /// does not depend on the number of cores.
    ///
    /// # Errors
    /// [`RunError::Cancelled`] if `cancel` was set before the end, [`RunError::Failed`] with the reason
    /// otherwise.
    fn run(
        &self,
        scenario: &Scenario,
        setup: &Setup,
        task: &Task,
        cores: NonZeroUsize,
        cancel: &Cancel,
    ) -> Result<RunResult, RunError>;
}
