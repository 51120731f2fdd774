//! What can go wrong with a meter or a calibration, and what to do about it.

use std::fmt;
use std::io;

/// Which kind of trouble, for exit codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It did not work.
    Failed,
    /// What was asked for cannot be.
    Usage,
    /// This machine has no such thing.
    Unsupported,
    /// This user may not.
    Permission,
    /// The meter works, but cannot tell what was asked.
    Refused,
}

/// An error with its next step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// Which kind of trouble.
    pub kind: Kind,
    /// What is wrong.
    pub message: String,
    /// What to do next, if that is known.
    pub help: Option<String>,
}

/// What is returned here.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An error without a next step.
    pub fn new(kind: Kind, message: impl fmt::Display) -> Self {
        Error { kind, message: message.to_string(), help: None }
    }

    /// With what to do next.
    #[must_use]
    pub fn help(mut self, help: impl fmt::Display) -> Self {
        self.help = Some(help.to_string());
        self
    }

    /// An operation of the system that failed; `doing` says which.
    pub fn io(doing: impl fmt::Display, error: &io::Error) -> Self {
        let kind = match error.kind() {
            io::ErrorKind::PermissionDenied => Kind::Permission,
            io::ErrorKind::NotFound => Kind::Unsupported,
            _ => Kind::Failed,
        };
        Error::new(kind, format!("{doing}: {error}"))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}
