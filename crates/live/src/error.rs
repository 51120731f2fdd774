//! What can go wrong with the daemon. Every error says what to do next.

use std::io;

use joulepath_model::scenario::ScenarioErrors;

/// A failure in this crate.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The configuration is wrong.
    #[error("{0}")]
    Config(Box<ScenarioErrors>),
    /// A file could not be read.
    #[error("cannot read {path}: {source}")]
    File {
        /// The file.
        path: String,
        /// What the system answered.
        #[source]
        source: io::Error,
    },
    /// Between this program and the kernel.
    #[error("{0}")]
    Kernel(#[from] joulepath_kernel::Error),
    /// The daemon does not answer, or refuses.
    #[error("{what}")]
    Refused {
        /// What was asked, and what came back.
        what: String,
        /// What to do about it.
        remedy: String,
    },
}

/// Of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;
