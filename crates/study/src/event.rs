//! What happens while runs are done: for a progress bar or a log.

use std::time::Duration;

use joulepath_model::result::RunResult;
use serde::Serialize;

/// Something that happened. Events come one at a time, in the thread that called.
#[derive(Clone, Debug)]
pub enum Event<'a> {
    /// Runs are about to be done.
    Begin {
        /// How many, those included that are found among stored runs.
        runs: usize,
        /// How long each of them takes, if that is known.
        takes: Option<Duration>,
    },
    /// A run is there: it has just finished, or was found among stored runs.
    Finished(&'a RunResult),
    /// A run without a result of that form is there: those of the slotted system.
    Step,
    /// A run has failed and is done again.
    Again(&'a FailedRun),
    /// A run has failed for good. The others go on.
    Failed(&'a FailedRun),
    /// Something that the user has to know, one sentence; nothing stops because of it.
    Note(String),
}

/// A function that is called with each event.
pub type Watch<'a> = &'a mut dyn FnMut(Event<'_>);

/// A run that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FailedRun {
    /// Name or title of the scenario.
    pub scenario: String,
    /// As the user wrote it.
    pub policy: String,
    /// Name of the engine.
    pub engine: &'static str,
    /// The run's seed.
    pub seed: u64,
    /// Why it failed.
    pub error: String,
}

/// A watch that ignores all events.
pub fn unwatched(_: Event<'_>) {}
