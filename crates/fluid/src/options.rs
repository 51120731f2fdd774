//! Options of a run.

use joulepath_model::cancel::Cancel;

/// Time series to record, precision, and cancellation.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// True to record time series.
    pub series: bool,
    /// True to keep windows and queues constant once they would change by less than 0.3 % until the
    /// end if they went on as in the last two seconds. Long runs are several times as fast. A
    /// trajectory that rests at an unstable equilibrium and leaves it later is not seen.
    pub settles: bool,
    /// Once it is set, the run ends within a fraction of a second with
    /// [`RunError::Cancelled`](crate::RunError::Cancelled).
    pub cancel: Cancel,
}
