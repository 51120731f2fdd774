//! What a run is asked for besides its result.

use std::num::NonZeroUsize;

use joulepath_model::cancel::Cancel;

/// What a run records besides its result, and what may end it.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// Whether time series are recorded.
    pub series: bool,
    /// Whether each link is counted: [`RunResult::links`](joulepath_model::result::RunResult::links).
    pub links: bool,
    /// Most cores that the run may use; one if none. It uses more than one where that is faster: in large
    /// networks with a `[topology]`. The result is the same on any number of cores.
    pub threads: Option<NonZeroUsize>,
    /// Once this has been set, the run ends within a fraction of a second with
    /// [`RunError::Cancelled`](crate::RunError::Cancelled).
    pub cancel: Cancel,
}
