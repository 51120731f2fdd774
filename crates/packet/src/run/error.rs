//! Why a run has no result.

use joulepath_control::SetupError;

/// Why a run has no result.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The scenario lasts longer than the engine's clock.
    #[error("the packet engine simulates at most 19.5 hours; shorten `duration`")]
    TooLong,
    /// The network has more event sources than the 18 bits of the event queue can number.
    #[error("the network has {sources} event sources, more than the packet engine can number (262144)")]
    TooLarge {
        /// Number of links, timers and generators.
        sources: usize,
    },
    /// The setup does not fit the scenario: it was made for another one, or its allocator found no solution
    /// with this seed.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// A run that is stepped has one connection under test, on paths that the scenario writes.
    #[error(
        "a run is stepped with one connection on the scenario's own paths; here are {connections}, or a \
         [topology]"
    )]
    NotOne {
        /// Connections under test.
        connections: usize,
    },
    /// [`RunOptions::cancel`](crate::RunOptions::cancel) has been set.
    #[error("the run was cancelled")]
    Cancelled,
}
