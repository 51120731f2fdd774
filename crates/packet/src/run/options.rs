//! Options of a run.

use std::num::NonZeroUsize;

use joulepath_model::cancel::Cancel;

/// Cores that a run may use.
#[derive(Clone, Copy, Debug)]
pub struct Cores {
    /// Maximum number of cores.
    pub most: NonZeroUsize,
    /// A monotonic clock, ns. It shows whether the cores are busy with other work, so that one core
    /// is faster. The result does not depend on it.
    pub clock: fn() -> u64,
}

/// What a run records in addition to its result, and its cores and cancel token.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// Whether time series are recorded.
    pub series: bool,
    /// Whether to count for each link:
    /// [`RunResult::links`](joulepath_model::result::RunResult::links).
    pub links: bool,
    /// The cores that the run may use; `None`: one. It uses several where that is faster, in large
    /// networks with a `[topology]`. The result is the same on any number of cores.
    pub cores: Option<Cores>,
    /// After this is set, the run ends within a fraction of a second with
    /// [`RunError::Cancelled`](crate::RunError::Cancelled).
    pub cancel: Cancel,
}
