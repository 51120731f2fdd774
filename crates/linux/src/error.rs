//! What can go wrong between a program and its kernel. Every error says what to do next.

use std::io;

/// A failure in this crate.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The user may not do this: exit code 4.
    #[error("{doing}: not permitted")]
    Permission {
        /// What was tried.
        doing: String,
        /// What to do about it: a command where there is one.
        remedy: String,
    },
    /// This kernel or machine cannot do it: exit code 3.
    #[error("{what}: {why}")]
    Unsupported {
        /// What was asked for.
        what: String,
        /// What is missing.
        why: String,
        /// What to do about it: a command where there is one.
        remedy: String,
    },
    /// A call failed that should not.
    #[error("{doing}: {source}")]
    Io {
        /// What was tried.
        doing: String,
        /// What the system answered.
        source: io::Error,
    },
    /// A run that cannot count: a fallback to plain TCP, a worker that died.
    #[error("{0}")]
    Run(String),
}

/// Of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// What to do about it, if that is known.
    pub fn remedy(&self) -> Option<&str> {
        match self {
            Error::Permission { remedy, .. } | Error::Unsupported { remedy, .. } => Some(remedy),
            Error::Io { .. } | Error::Run(_) => None,
        }
    }

    /// Wraps what the system answered; EPERM and EACCES become [`Error::Permission`].
    pub fn io(doing: impl Into<String>, source: impl Into<io::Error>) -> Self {
        let (doing, source) = (doing.into(), source.into());
        if source.kind() == io::ErrorKind::PermissionDenied {
            return Error::Permission { doing, remedy: "run it as root, for instance with sudo".into() };
        }
        Error::Io { doing, source }
    }
}

/// `result.doing("opening the TUN device")?`: context for a failed system call.
pub trait Doing<T> {
    /// Says what was tried.
    fn doing(self, what: impl Into<String>) -> Result<T>;
}

impl<T, E: Into<io::Error>> Doing<T> for std::result::Result<T, E> {
    fn doing(self, what: impl Into<String>) -> Result<T> {
        self.map_err(|source| Error::io(what, source))
    }
}
