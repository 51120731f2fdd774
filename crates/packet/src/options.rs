//! What a run is asked for besides its result.

use joulepath_model::cancel::Cancel;

/// What a run records besides its result, and what may end it.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// Whether time series are recorded.
    pub series: bool,
    /// Whether each link is counted: [`RunResult::links`](joulepath_model::result::RunResult::links).
    pub links: bool,
    /// Once this has been set, the run ends within a fraction of a second with
    /// [`RunError::Cancelled`](crate::RunError::Cancelled).
    pub cancel: Cancel,
}
