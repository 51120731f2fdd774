//! Errors of meters and calibrations, with remedies.

use std::fmt;
use std::io;

/// Kind of error, for exit codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The operation failed.
    Failed,
    /// The request is invalid.
    Usage,
    /// This machine lacks the feature.
    Unsupported,
    /// The user lacks permission.
    Permission,
    /// The meter works but cannot measure this.
    Refused,
}

/// An error with a remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// Determines the exit code.
    pub kind: Kind,
    /// What is wrong, without the remedy.
    pub message: String,
    /// What to do next, if known.
    pub help: Option<String>,
}

/// Shorthand with this crate's error.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An error without a remedy.
    pub fn new(kind: Kind, message: impl fmt::Display) -> Self {
        Error {
            kind,
            message: message.to_string(),
            help: None,
        }
    }

    /// Adds a remedy.
    #[must_use]
    pub fn help(mut self, help: impl fmt::Display) -> Self {
        self.help = Some(help.to_string());
        self
    }

    /// A failed system call; `doing` names the operation.
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
