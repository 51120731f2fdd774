//! The interface between studies and engines.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use joulepath_control::Setup;
use joulepath_model::cancel::Cancel;
use joulepath_model::result::RunResult;
use joulepath_model::scenario::Scenario;
use joulepath_model::units::Nanos;

use crate::error::Result;

/// Options of an engine besides the scenario.
#[derive(Clone, Debug, Default)]
pub struct EngineOptions {
    /// Maximum lateness of packets on emulated links; `None`: as each scenario tolerates.
    pub max_lateness: Option<Nanos>,
    /// Concurrent runs of a real-time engine; default one. Slow links leave the processor idle most
    /// of the time. A run with late links fails in any case.
    pub at_a_time: Option<NonZeroUsize>,
    /// Program whose processes emulate links and generate traffic; its `main` starts with
    /// `joulepath_lab::worker::run_if_asked`. `None`: this program.
    pub worker: Option<PathBuf>,
}

/// One run of a setup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Task {
    /// Seed of all random numbers.
    pub seed: u64,
    /// Whether to record time series.
    pub series: bool,
    /// Whether the engine may keep what has settled constant, if its results change by less than
    /// 0.3 %. The fluid engine is then faster; the other engines compute every packet.
    pub settles: bool,
}

/// Reasons for a missing result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// The cancel token was set before the end.
    #[error("the run was cancelled")]
    Cancelled,
    /// The run failed, with this message.
    #[error("{0}")]
    Failed(String),
}

/// Runs scenarios with policies.
pub trait Engine: Send + Sync {
    /// Name in results and reports.
    fn name(&self) -> &'static str;

    /// Whether runs with different seeds differ. If not, one run of each policy is enough.
    fn draws(&self) -> bool {
        true
    }

    /// Whether flows keep their phase at a `DropTail` queue if nothing in the scenario is random.
    /// Real hosts do not, and equations have no phase.
    fn keeps_phase(&self) -> bool {
        false
    }

    /// Maximum number of concurrent runs; `None`: limited by the cores only.
    fn most_at_a_time(&self) -> Option<NonZeroUsize> {
        None
    }

    /// Attempts before a run counts as failed.
    fn attempts(&self) -> usize {
        1
    }

    /// Default maximum of seeds.
    fn most_seeds(&self) -> u32 {
        u32::MAX
    }

    /// Duration of a run; `None` if it is not known in advance.
    fn takes(&self, _scenario: &Scenario) -> Option<Duration> {
        None
    }

    /// Notes for readers of the results, one sentence each.
    fn notes(&self, _scenario: &Scenario, _setups: &[Setup]) -> Vec<String> {
        vec![]
    }

    /// Reason why runs of these scenarios will probably fail on this machine now, in one sentence;
    /// `None` if they probably succeed. The check may take some tenths of a second.
    fn doubt(&self, _scenarios: &[&Scenario]) -> Option<String> {
        None
    }

    /// Refuses scenarios and policies that the engine cannot run, before any run.
    ///
    /// # Errors
    /// [`Error::Unsupported`](crate::error::Error::Unsupported) or the engine's own error, naming
    /// the part of the scenario or policy.
    fn check(&self, _scenario: &Scenario, _setups: &[Setup]) -> Result<()> {
        Ok(())
    }

    /// Does one run on at most `cores` cores; ends within a second after `cancel` is set. The
    /// result does not depend on the number of cores.
    ///
    /// # Errors
    /// [`RunError::Cancelled`] if `cancel` was set before the end, [`RunError::Failed`] with the
    /// reason otherwise.
    fn run(
        &self,
        scenario: &Scenario,
        setup: &Setup,
        task: &Task,
        cores: NonZeroUsize,
        cancel: &Cancel,
    ) -> Result<RunResult, RunError>;
}
