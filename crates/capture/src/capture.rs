//! A run with what its packets at both ends share.

use joulepath_model::scenario::Scenario;
use joulepath_packet::Trace;

use crate::flows::Flows;
use crate::{Refusal, check};

/// A run, to be seen at each of its ends.
pub struct Capture<'a> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) trace: &'a Trace,
    pub(crate) flows: Flows,
}

impl<'a> Capture<'a> {
    /// Of the run of `scenario` that `trace` holds.
    ///
    /// # Errors
    /// See [`crate::check`].
    pub fn new(scenario: &'a Scenario, trace: &'a Trace) -> Result<Self, Refusal> {
        check(scenario)?;
        Ok(Capture {
            scenario,
            trace,
            flows: Flows::new(scenario, trace),
        })
    }

    /// The title of the capture of a run, for [`Self::pcapng`] and [`Self::qlog`].
    pub fn title(&self, policy: &str, seed: u64) -> String {
        format!("{}: {policy}, seed {seed}", self.scenario.title)
    }
}
