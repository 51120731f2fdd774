//! Errors of this crate: the reason, its kind and the next step for the user.

use std::fmt;
use std::io;
use std::path::PathBuf;

use joulepath_control::SetupError;
use joulepath_model::policy::PolicySyntax;
use joulepath_model::scenario::{MOST_SHOWN, ScenarioErrors};
use joulepath_report::ReportError;

/// Kind of a failure. A program maps it to its exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The operation failed: a file is broken, a disk is full, a scenario has mistakes.
    Failed,
    /// The request is wrong: a name, an option, a value.
    Usage,
    /// This build or this machine does not support it.
    Unsupported,
    /// Access to a file or a device is denied.
    Permission,
}

/// An error of this crate. [`Error::kind`] classifies it, [`Error::help`] names the next step.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An option, name or value that does not exist or does not fit.
    #[error("{message}")]
    Usage {
        /// The mistake.
        message: String,
        /// The next step.
        help: Option<String>,
    },
    /// A text that is not a policy.
    #[error(transparent)]
    Syntax(#[from] PolicySyntax),
    /// A policy that does not exist or does not fit the scenario.
    #[error("{error}")]
    Setup {
        /// The mistake.
        error: Box<SetupError>,
        /// [`Kind::Usage`] if the user named the policy, [`Kind::Failed`] if the scenario names it.
        kind: Kind,
    },
    /// A scenario with mistakes. As a miette diagnostic, the value shows each of them in its line.
    #[error("{errors}")]
    Scenario {
        /// All mistakes with their places.
        errors: Box<ScenarioErrors>,
        /// [`Kind::Usage`] if all mistakes are in the overrides, [`Kind::Permission`] if a trace is
        /// not readable.
        kind: Kind,
    },
    /// Several mistakes of one file.
    #[error("{}", .0.iter().map(Error::in_one_line).collect::<Vec<_>>().join("; "))]
    Several(Vec<Error>),
    /// An episode that could not continue.
    #[error("{doing}: {why}")]
    Episode {
        /// The episode and its simulated time.
        doing: String,
        /// The reason.
        why: String,
    },
    /// A file that could not be read or written.
    #[error("{doing}")]
    File {
        /// The operation, for example `cannot write results.json`.
        doing: String,
        /// The system's error.
        source: io::Error,
    },
    /// A file that is refused because its use is unsafe or makes no sense.
    #[error("{doing}: {why}")]
    Refused {
        /// The operation, for example `cannot write results.json`.
        doing: String,
        /// The reason.
        why: String,
        /// The next step.
        help: String,
        /// [`Kind::Failed`], or [`Kind::Usage`] if the request needs another kind of file.
        kind: Kind,
    },
    /// A feature that this build or an engine does not have.
    #[error("{message}")]
    Unsupported {
        /// The feature and the reason.
        message: String,
        /// The alternative.
        help: String,
    },
    /// The running kernel does not support it or denies it to this user.
    #[cfg(feature = "live")]
    #[error(transparent)]
    Kernel(#[from] joulepath_kernel::Error),
    /// The kernel engine cannot run a scenario or create a lab.
    #[cfg(feature = "kernel")]
    #[error(transparent)]
    Lab(joulepath_lab::Error),
    /// A file of stored runs with a line that is not a run.
    #[error("line {line} of {} is not a run: {source}", path.display())]
    NoRun {
        /// The file.
        path: PathBuf,
        /// Line number, from 1.
        line: usize,
        /// The parser's error.
        source: serde_json::Error,
    },
    /// Results that could not be written.
    #[error(transparent)]
    Report(#[from] ReportError),
}

/// Result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// An error in the request.
    pub fn usage(message: impl fmt::Display) -> Self {
        Error::Usage {
            message: message.to_string(),
            help: None,
        }
    }

    /// Names where the overrides of a scenario come from; `others` are keys with origins of their
    /// own.
    #[must_use]
    pub fn overridden_by(self, origin: &'static str, others: Vec<(String, &'static str)>) -> Self {
        match self {
            Error::Scenario { errors, kind } => Error::Scenario {
                errors: Box::new(errors.overridden_by(origin, others)),
                kind,
            },
            error => error,
        }
    }

    /// Adds the next step, except to errors that have their own.
    #[must_use]
    pub fn with_help(mut self, text: impl Into<String>) -> Self {
        if let Error::Usage { help, .. } = &mut self {
            *help = Some(text.into());
        }
        self
    }

    /// An error while reading or writing a file; `doing` names the file and the operation.
    pub fn file(doing: impl Into<String>, source: impl Into<io::Error>) -> Self {
        Error::File {
            doing: doing.into(),
            source: source.into(),
        }
    }

    /// One error, or several as one.
    #[cfg(not(target_family = "wasm"))]
    pub(crate) fn of_all(mut errors: Vec<Error>) -> Self {
        if errors.len() == 1 {
            errors.remove(0)
        } else {
            Error::Several(errors)
        }
    }

    /// Kind of the failure.
    pub fn kind(&self) -> Kind {
        match self {
            Error::Usage { .. } | Error::Syntax(_) => Kind::Usage,
            Error::Setup { kind, .. }
            | Error::Scenario { kind, .. }
            | Error::Refused { kind, .. } => *kind,
            Error::File { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
                Kind::Permission
            }
            Error::File { .. } | Error::NoRun { .. } | Error::Report(_) | Error::Episode { .. } => {
                Kind::Failed
            }
            Error::Several(errors) => errors.first().map_or(Kind::Failed, Error::kind),
            Error::Unsupported { .. } => Kind::Unsupported,
            #[cfg(feature = "live")]
            Error::Kernel(error) => kind_of_kernel(error),
            // Errors of the kernel itself are `Error::Kernel`.
            #[cfg(feature = "kernel")]
            Error::Lab(_) => Kind::Failed,
        }
    }

    /// The next step, unless the message contains it.
    pub fn help(&self) -> Option<String> {
        match self {
            Error::Usage { help, .. } => help.clone(),
            Error::Setup { error, .. } => error.help(),
            Error::Refused { help, .. } | Error::Unsupported { help, .. } => Some(help.clone()),
            Error::File { source, .. } => io_help(source.kind()).map(str::to_owned),
            Error::NoRun { .. } => Some("name another file".to_owned()),
            Error::Episode { .. } => {
                Some("please report it with the actions that led there".to_owned())
            }
            #[cfg(feature = "live")]
            Error::Kernel(error) => error.remedy().map(str::to_owned),
            #[cfg(feature = "kernel")]
            Error::Lab(error) => error.remedy().map(str::to_owned),
            Error::Syntax(_) | Error::Scenario { .. } | Error::Several(_) | Error::Report(_) => {
                None
            }
        }
    }

    /// The mistakes of a scenario, for [`Error::Scenario`].
    pub fn scenario(&self) -> Option<&ScenarioErrors> {
        match self {
            Error::Scenario { errors, .. } => Some(errors),
            _ => None,
        }
    }

    /// The error in one line.
    pub fn in_one_line(&self) -> String {
        match self {
            Error::Scenario { errors, .. } => errors
                .problems()
                .iter()
                .take(MOST_SHOWN)
                .map(|problem| problem.to_string())
                .collect::<Vec<_>>()
                .join("; "),
            Error::File { doing, source } => format!("{doing}: {source}"),
            error => error.to_string(),
        }
    }
}

#[cfg(feature = "kernel")]
impl From<joulepath_lab::Error> for Error {
    fn from(error: joulepath_lab::Error) -> Self {
        match error {
            joulepath_lab::Error::Kernel(error) => Error::Kernel(error),
            error => Error::Lab(error),
        }
    }
}

/// The next step after a file system error.
fn io_help(kind: io::ErrorKind) -> Option<&'static str> {
    use io::ErrorKind as Io;
    match kind {
        Io::NotFound => Some("check the path"),
        Io::PermissionDenied => Some("check its permissions with `ls -l`"),
        Io::StorageFull | Io::QuotaExceeded => Some("free some space, or write to another place"),
        Io::ReadOnlyFilesystem => Some("write to another place"),
        _ => None,
    }
}

#[cfg(feature = "live")]
fn kind_of_kernel(error: &joulepath_kernel::Error) -> Kind {
    use joulepath_kernel::Error as Kernel;
    match error {
        Kernel::Permission { .. } => Kind::Permission,
        Kernel::Unsupported { .. } => Kind::Unsupported,
        _ => Kind::Failed,
    }
}
