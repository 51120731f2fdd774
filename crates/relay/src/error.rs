//! Why the relay cannot start.

use std::{fmt, io};

/// What kind of error it is: the command turns it into an exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The configuration or a file that was named.
    Usage,
    /// This machine cannot do it.
    Unsupported,
    /// This user may not do it.
    Permission,
    /// Anything else.
    Failed,
}

/// What went wrong, and what to do about it.
#[derive(Debug)]
pub struct Error {
    /// The kind.
    pub kind: Kind,
    what: String,
    help: Option<String>,
}

impl Error {
    pub(crate) fn new(kind: Kind, what: impl Into<String>) -> Self {
        Error {
            kind,
            what: what.into(),
            help: None,
        }
    }

    pub(crate) fn usage(what: impl Into<String>) -> Self {
        Self::new(Kind::Usage, what)
    }

    /// An error of the system; `what` says what could not be done.
    pub(crate) fn io(what: impl fmt::Display, error: &io::Error) -> Self {
        let kind = match error.kind() {
            io::ErrorKind::PermissionDenied => Kind::Permission,
            io::ErrorKind::NotFound
            | io::ErrorKind::AlreadyExists
            | io::ErrorKind::IsADirectory => Kind::Usage,
            io::ErrorKind::Unsupported => Kind::Unsupported,
            _ => Kind::Failed,
        };
        Self::new(kind, format!("{what}: {error}"))
    }

    #[must_use]
    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// What to do next, if that is known.
    pub fn next_step(&self) -> Option<&str> {
        self.help.as_deref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for Error {}
