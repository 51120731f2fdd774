//! Why something cannot be done, of which kind that is, and what to do next.

use std::fmt;
use std::io;
use std::path::PathBuf;

use joulepath_control::SetupError;
use joulepath_model::policy::PolicySyntax;
use joulepath_model::scenario::ScenarioErrors;
use joulepath_report::ReportError;

/// What kind of failure it is: a program maps it to its exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It did not work: a file is broken, a disk is full, a scenario is wrong.
    Failed,
    /// What was asked for is wrong: a name, an option, a value.
    Usage,
    /// This build or this machine cannot do it.
    Unsupported,
    /// A file or a device may not be used.
    Permission,
}

/// Why something cannot be done. [`Error::kind`] classifies it, [`Error::help`] says what to do next.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An option, a name or a value that does not exist or does not fit.
    #[error("{message}")]
    Usage {
        /// What is wrong.
        message: String,
        /// What to write instead.
        help: Option<String>,
    },
    /// A text that is no policy.
    #[error(transparent)]
    Syntax(#[from] PolicySyntax),
    /// A policy that does not exist or does not fit the scenario.
    #[error("{error}")]
    Setup {
        /// What is wrong.
        error: Box<SetupError>,
        /// [`Kind::Usage`] if the policy was asked for, [`Kind::Failed`] if the scenario names it.
        kind: Kind,
    },
    /// A scenario with mistakes. As a diagnostic of miette, the value shows each of them in its line.
    #[error("{errors}")]
    Scenario {
        /// All mistakes, with their places.
        errors: Box<ScenarioErrors>,
        /// [`Kind::Usage`] if all of them are in the overrides, [`Kind::Permission`] if a trace may not be
        /// read.
        kind: Kind,
    },
    /// An episode that an agent steers could not go on.
    #[error("{doing}: {why}")]
    Episode {
        /// Which one, and at which instant.
        doing: String,
        /// What went wrong.
        why: String,
    },
    /// A file that could not be read or written.
    #[error("{doing}")]
    File {
        /// `cannot write results.json`.
        doing: String,
        /// What the system answered.
        source: io::Error,
    },
    /// A file that is not used, because that would not be safe or would make no sense.
    #[error("{doing}: {why}")]
    Refused {
        /// `cannot write results.json`.
        doing: String,
        /// What is wrong with it.
        why: String,
        /// What to do instead.
        help: String,
        /// [`Kind::Failed`], or [`Kind::Usage`] if another kind of file was asked for.
        kind: Kind,
    },
    /// Something that this build or an engine cannot do.
    #[error("{message}")]
    Unsupported {
        /// What and why.
        message: String,
        /// What can do it.
        help: String,
    },
    /// The running kernel cannot do it, or may not for this user.
    #[cfg(feature = "live")]
    #[error(transparent)]
    Kernel(#[from] joulepath_kernel::Error),
    /// The kernel engine cannot run a scenario, or a lab cannot be made.
    #[cfg(feature = "kernel")]
    #[error(transparent)]
    Lab(joulepath_lab::Error),
    /// A file of stored runs with something else in it.
    #[error("line {line} of {} is no run: {source}", path.display())]
    NoRun {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        /// What the line lacks.
        source: serde_json::Error,
    },
    /// Results that could not be written out.
    #[error(transparent)]
    Report(#[from] ReportError),
}

/// Of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// Something that was asked for and is wrong.
    pub fn usage(message: impl fmt::Display) -> Self {
        Error::Usage { message: message.to_string(), help: None }
    }

    /// The same error with what to do next; errors that know it themselves keep theirs.
    #[must_use]
    pub fn with_help(mut self, text: impl Into<String>) -> Self {
        if let Error::Usage { help, .. } = &mut self {
            *help = Some(text.into());
        }
        self
    }

    /// A file that could not be read or written; `doing` says which and what for.
    pub fn file(doing: impl Into<String>, source: impl Into<io::Error>) -> Self {
        Error::File { doing: doing.into(), source: source.into() }
    }

    /// What kind of failure it is.
    pub fn kind(&self) -> Kind {
        match self {
            Error::Usage { .. } | Error::Syntax(_) => Kind::Usage,
            Error::Setup { kind, .. } | Error::Scenario { kind, .. } | Error::Refused { kind, .. } => *kind,
            Error::File { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
                Kind::Permission
            }
            Error::File { .. } | Error::NoRun { .. } | Error::Report(_) | Error::Episode { .. } => {
                Kind::Failed
            }
            Error::Unsupported { .. } => Kind::Unsupported,
            #[cfg(feature = "live")]
            Error::Kernel(error) => kind_of_kernel(error),
            // What the kernel said is an `Error::Kernel`.
            #[cfg(feature = "kernel")]
            Error::Lab(_) => Kind::Failed,
        }
    }

    /// What to do next, where the message does not say it.
    pub fn help(&self) -> Option<String> {
        match self {
            Error::Usage { help, .. } => help.clone(),
            Error::Setup { error, .. } => error.help(),
            Error::Refused { help, .. } | Error::Unsupported { help, .. } => Some(help.clone()),
            Error::File { source, .. } => io_help(source.kind()).map(str::to_owned),
            Error::NoRun { .. } => Some("name another file".to_owned()),
            Error::Episode { .. } => Some("please report it with the actions that led there".to_owned()),
            #[cfg(feature = "live")]
            Error::Kernel(error) => error.remedy().map(str::to_owned),
            #[cfg(feature = "kernel")]
            Error::Lab(error) => error.remedy().map(str::to_owned),
            Error::Syntax(_) | Error::Scenario { .. } | Error::Report(_) => None,
        }
    }

    /// The mistakes of a scenario, if that is what is wrong.
    pub fn scenario(&self) -> Option<&ScenarioErrors> {
        match self {
            Error::Scenario { errors, .. } => Some(errors),
            _ => None,
        }
    }

    /// What is wrong, in one line.
    pub fn in_one_line(&self) -> String {
        match self {
            Error::Scenario { errors, .. } => {
                errors.problems().iter().map(|problem| problem.to_string()).collect::<Vec<_>>().join("; ")
            }
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

/// What to do about an error of the file system.
fn io_help(kind: io::ErrorKind) -> Option<&'static str> {
    use io::ErrorKind as Io;
    match kind {
        Io::NotFound => Some("check the path"),
        Io::PermissionDenied => Some("check who may use it with `ls -l`"),
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
