//! Errors of the daemon. Each says what to do next.

use std::io;

use joulepath_model::scenario::ScenarioErrors;

/// An error of the daemon, with its remedy.
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
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// A request to the kernel failed.
    #[error("{0}")]
    Kernel(#[from] joulepath_kernel::Error),
    /// The daemon does not answer or refuses the request.
    #[error("{what}")]
    Refused {
        /// The request and the answer.
        what: String,
        /// What the user can do about it.
        remedy: String,
    },
}

/// Shorthand with this crate's error.
pub type Result<T, E = Error> = std::result::Result<T, E>;
