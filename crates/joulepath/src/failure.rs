//! Exit codes, and why a command ends early.

use std::error::Error;
use std::fmt;
use std::io;
use std::process::ExitCode;

use joulepath_control::policy::PolicyError;
use joulepath_study::error::{self as study, Kind};

/// Exit code of a process that SIGINT ends, as shells report it.
pub(crate) const INTERRUPTED: u8 = 130;

/// How the process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// All is done.
    Ok,
    /// It ran and failed, or a check failed.
    Failed,
    /// The command line is wrong, or a file that it names cannot be read or understood.
    Usage,
    /// This version or this machine cannot do it.
    Unsupported,
    /// This user may not do it.
    Permission,
    /// Some of it is done.
    Partial,
    /// `why` has found something that can be fixed.
    #[cfg(feature = "live")]
    Found,
    /// Ctrl-C or another signal stopped it.
    Interrupted,
    /// The exit code of the user's own command.
    #[cfg(feature = "live")]
    Command(u8),
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(match exit {
            Exit::Ok => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::Unsupported => 3,
            Exit::Permission => 4,
            Exit::Partial => 5,
            #[cfg(feature = "live")]
            Exit::Found => 10,
            Exit::Interrupted => INTERRUPTED,
            #[cfg(feature = "live")]
            Exit::Command(code) => code,
        })
    }
}

/// Why a command ends early, what to do about it, and with which exit code.
#[derive(Debug)]
pub(crate) struct Failure {
    exit: Exit,
    error: Box<dyn Error + Send + Sync>,
    help: Option<String>,
}

impl Failure {
    /// An error with its causes.
    pub(crate) fn new(exit: Exit, error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Failure {
            exit,
            error: error.into(),
            help: None,
        }
    }

    /// A sentence.
    pub(crate) fn message(exit: Exit, message: impl fmt::Display) -> Self {
        Self::new(exit, message.to_string())
    }

    /// The command line is wrong.
    pub(crate) fn usage(message: impl fmt::Display) -> Self {
        Self::message(Exit::Usage, message)
    }

    /// A part of a policy on the command line does not exist.
    pub(crate) fn policy(error: &PolicyError) -> Self {
        Failure {
            help: error.help(),
            ..Self::usage(error)
        }
    }

    /// A file could not be read or written; `what` says which and what for.
    pub(crate) fn io(what: impl fmt::Display, error: io::Error) -> Self {
        study::Error::file(what.to_string(), error).into()
    }

    /// This build lacks what the command needs.
    #[cfg(not(feature = "kernel"))]
    pub(crate) fn without_kernel_engine() -> Self {
        Self::message(
            Exit::Unsupported,
            "this joulepath was built without the kernel engine",
        )
        .help("on Linux `make build` installs what it needs and builds it in")
    }

    /// Adds what to do next.
    #[must_use]
    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// How the process ends.
    pub(crate) fn exit(&self) -> Exit {
        self.exit
    }

    /// What to do next, if that is known.
    pub(crate) fn next_step(&self) -> Option<&str> {
        self.help.as_deref()
    }

    /// The error, if it is one of `joulepath_study`.
    pub(crate) fn of_study(&self) -> Option<&study::Error> {
        self.error.downcast_ref()
    }

    /// What is wrong, with its causes, in one line.
    pub(crate) fn text(&self) -> String {
        let mut text = self.error.to_string();
        let mut cause = self.error.source();
        while let Some(error) = cause {
            let said = error.to_string();
            // Some messages end with their cause.
            if !text.ends_with(&said) {
                text += &format!(": {said}");
            }
            cause = error.source();
        }
        text
    }
}

impl From<&study::Error> for Exit {
    fn from(error: &study::Error) -> Self {
        use io::ErrorKind as Io;
        use study::Error as E;
        match (error.kind(), error) {
            (Kind::Unsupported, _) => Exit::Unsupported,
            (Kind::Permission, _) => Exit::Permission,
            (Kind::Usage, _) => Exit::Usage,
            // A file that was named and cannot be used, whatever is wrong with it.
            (_, E::Scenario { .. } | E::Setup { .. } | E::Several(_)) => Exit::Usage,
            (_, E::Refused { .. } | E::NoRun { .. }) => Exit::Usage,
            (_, E::File { source, .. }) => match source.kind() {
                Io::NotFound | Io::NotADirectory | Io::IsADirectory | Io::AlreadyExists => {
                    Exit::Usage
                }
                Io::InvalidData | Io::InvalidInput | Io::InvalidFilename | Io::FileTooLarge => {
                    Exit::Usage
                }
                _ => Exit::Failed,
            },
            (Kind::Failed, _) => Exit::Failed,
        }
    }
}

impl From<study::Error> for Failure {
    fn from(error: study::Error) -> Self {
        Failure {
            exit: (&error).into(),
            help: error.help(),
            error: error.into(),
        }
    }
}

#[cfg(feature = "live")]
impl From<joulepath_kernel::Error> for Failure {
    fn from(error: joulepath_kernel::Error) -> Self {
        study::Error::from(error).into()
    }
}

#[cfg(feature = "live")]
impl From<joulepath_meter::Error> for Failure {
    fn from(error: joulepath_meter::Error) -> Self {
        use joulepath_meter::Kind;
        let exit = match error.kind {
            Kind::Failed => Exit::Failed,
            Kind::Usage => Exit::Usage,
            Kind::Unsupported => Exit::Unsupported,
            Kind::Permission => Exit::Permission,
            Kind::Refused => Exit::Failed,
        };
        let help = error.help.clone();
        Failure {
            help,
            ..Failure::new(exit, error)
        }
    }
}

#[cfg(feature = "live")]
impl From<joulepath_relay::Error> for Failure {
    fn from(error: joulepath_relay::Error) -> Self {
        let exit = match error.kind {
            joulepath_relay::Kind::Failed => Exit::Failed,
            joulepath_relay::Kind::Usage => Exit::Usage,
            joulepath_relay::Kind::Unsupported => Exit::Unsupported,
            joulepath_relay::Kind::Permission => Exit::Permission,
        };
        Failure {
            help: error.next_step().map(str::to_owned),
            ..Failure::new(exit, error)
        }
    }
}

#[cfg(feature = "kernel")]
impl From<joulepath_lab::Error> for Failure {
    fn from(error: joulepath_lab::Error) -> Self {
        if let joulepath_lab::Error::Cancelled = error {
            return Failure::new(Exit::Partial, error);
        }
        study::Error::from(error).into()
    }
}

#[cfg(feature = "live")]
impl From<joulepath_live::Error> for Failure {
    fn from(error: joulepath_live::Error) -> Self {
        match error {
            joulepath_live::Error::Kernel(error) => error.into(),
            joulepath_live::Error::Config(errors) => study::Error::Scenario {
                errors,
                kind: Kind::Failed,
            }
            .into(),
            joulepath_live::Error::File { path, source } => {
                Failure::io(format!("cannot use {path}"), source)
            }
            joulepath_live::Error::Refused { what, remedy } => {
                Failure::message(Exit::Failed, what).help(remedy)
            }
        }
    }
}

impl From<joulepath_report::ReportError> for Failure {
    fn from(error: joulepath_report::ReportError) -> Self {
        study::Error::from(error).into()
    }
}
