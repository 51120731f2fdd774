use joulepath_control::SetupError;

/// Why a run has no result.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The scenario is longer than the engine's clock.
    #[error("the packet engine simulates at most 19.5 hours; shorten `duration`")]
    TooLong,
    /// The network has more event sources than the 18 bits of the event queue can number.
    #[error("the network has {sources} event sources; the packet engine supports at most 262144")]
    TooLarge {
        /// Number of links, timers and generators.
        sources: usize,
    },
    /// The setup belongs to another scenario, or its allocator found no solution with this seed.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// A session needs exactly one connection under test, on the scenario's own paths.
    #[error(
        "a session needs exactly one connection, on the scenario's own paths; this scenario has \
         {connections}, or a [topology]"
    )]
    NotOne {
        /// Connections under test.
        connections: usize,
    },
    /// [`RunOptions::cancel`](crate::RunOptions::cancel) was set.
    #[error("the run was cancelled")]
    Cancelled,
}
