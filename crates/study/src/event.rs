//! Progress of runs, for a progress bar or a log.

use std::time::Duration;

use joulepath_model::result::RunResult;
use serde::Serialize;

/// Progress of runs. Events arrive one at a time, in the calling thread.
#[derive(Clone, Debug)]
pub enum Event<'a> {
    /// Runs are about to start.
    Begin {
        /// Number of runs, including stored ones.
        runs: usize,
        /// Duration of each run, if known.
        takes: Option<Duration>,
    },
    /// A run has finished or was found among the stored ones.
    Finished(&'a RunResult),
    /// A run of the slotted system has finished; it has no [`RunResult`].
    Step,
    /// A run failed and starts again.
    Again(&'a FailedRun),
    /// A run failed for the last time. The other runs continue.
    Failed(&'a FailedRun),
    /// A note for the user, one sentence. Nothing stops because of it.
    Note(String),
}

/// Receives each event.
pub type Watch<'a> = &'a mut dyn FnMut(Event<'_>);

/// A run that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FailedRun {
    /// Name or title of the scenario.
    pub scenario: String,
    /// The policy as the user wrote it.
    pub policy: String,
    /// Name of the engine.
    pub engine: &'static str,
    /// The run's seed.
    pub seed: u64,
    /// Reason of the failure.
    pub error: String,
}

/// Ignores all events.
pub fn unwatched(_: Event<'_>) {}
