//! What a run is asked for besides its result.

use std::num::NonZeroUsize;

use joulepath_model::cancel::Cancel;

/// Cores that a run may use.
#[derive(Clone, Copy, Debug)]
pub struct Cores {
    /// Most of them.
    pub most: NonZeroUsize,
    /// A clock that does not go back, ns. It tells whether the cores are busy with other work, so that one
    /// core alone is faster. The result does not depend on it.
    pub clock: fn() -> u64,
}

/// What a run records besides its result, and what may end it.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// Whether time series are recorded.
    pub series: bool,
    /// Whether each link is counted: [`RunResult::links`](joulepath_model::result::RunResult::links).
    pub links: bool,
    /// The cores that the run may use; one if none. It uses more than one where that is faster: in large
    /// networks with a `[topology]`. The result is the same on any number of cores.
    pub cores: Option<Cores>,
    /// Once this has been set, the run ends within a fraction of a second with
    /// [`RunError::Cancelled`](crate::RunError::Cancelled).
    pub cancel: Cancel,
}
