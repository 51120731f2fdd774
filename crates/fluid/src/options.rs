//! Options of a run.

use joulepath_model::cancel::Cancel;

/// Time series to record, and cancellation.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// True to record time series.
    pub series: bool,
    /// Once it is set, the run ends within a fraction of a second with
    /// [`RunError::Cancelled`](crate::RunError::Cancelled).
    pub cancel: Cancel,
}
