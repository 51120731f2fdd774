//! Exit codes, and errors as they are shown.

use std::fmt;
use std::io;
use std::process::ExitCode;

use joulepath_model::scenario::{Problem, ScenarioErrors};
use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, SourceCode};

use crate::terminal;

/// Problems of one scenario that are shown; a binary file has thousands.
const MAX_PROBLEMS: usize = 20;

/// How the process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// All is done.
    Ok,
    /// It did not work.
    Failed,
    /// The command line is wrong.
    Usage,
    /// This version or this machine cannot do it.
    Unsupported,
    /// A file or a device may not be used.
    Permission,
    /// Some of it is done.
    Partial,
    /// As the user's own command ended.
    #[cfg(feature = "kernel")]
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
            #[cfg(feature = "kernel")]
            Exit::Command(code) => code,
        })
    }
}

/// Why a command ends early, what to do about it, and with which exit code.
#[derive(Debug)]
pub(crate) struct Failure {
    exit: Exit,
    what: What,
    help: Option<String>,
}

#[derive(Debug)]
enum What {
    Error(anyhow::Error),
    Scenario(Box<ScenarioErrors>),
}

impl Failure {
    /// An error with its causes.
    pub(crate) fn new(exit: Exit, error: impl Into<anyhow::Error>) -> Self {
        Failure { exit, what: What::Error(error.into()), help: None }
    }

    /// A sentence.
    pub(crate) fn message(exit: Exit, message: impl fmt::Display) -> Self {
        Self::new(exit, anyhow::anyhow!("{message}"))
    }

    /// The command line is wrong.
    pub(crate) fn usage(message: impl fmt::Display) -> Self {
        Self::message(Exit::Usage, message)
    }

    /// The scenario is wrong.
    pub(crate) fn scenario(exit: Exit, errors: ScenarioErrors) -> Self {
        Failure { exit, what: What::Scenario(Box::new(errors)), help: None }
    }

    /// A file could not be read or written; `what` says which and what for.
    pub(crate) fn io(what: impl fmt::Display, error: io::Error) -> Self {
        use io::ErrorKind as Kind;
        let exit = if error.kind() == Kind::PermissionDenied { Exit::Permission } else { Exit::Failed };
        let help = match error.kind() {
            Kind::NotFound => Some("check the path"),
            Kind::PermissionDenied => Some("check who may use it with `ls -l`"),
            Kind::StorageFull | Kind::QuotaExceeded => Some("free some space, or write to another place"),
            Kind::ReadOnlyFilesystem => Some("write to another place"),
            _ => None,
        };
        let error = anyhow::Error::new(error).context(what.to_string());
        Failure { exit, what: What::Error(error), help: help.map(str::to_owned) }
    }

    /// The command needs what this program was built without.
    #[cfg(not(feature = "kernel"))]
    pub(crate) fn without_kernel_engine() -> Self {
        Self::message(Exit::Unsupported, "this joulepath was built without the kernel engine")
            .help("on Linux, install clang, libelf-dev and zlib1g-dev, then `make build`")
    }

    /// With what to do next.
    #[must_use]
    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// How the process ends.
    pub(crate) fn exit(&self) -> Exit {
        self.exit
    }

    /// What is wrong, in one line.
    pub(crate) fn text(&self) -> String {
        match &self.what {
            What::Error(error) => format!("{error:#}"),
            What::Scenario(errors) => {
                errors.problems().iter().map(|p| p.to_string()).collect::<Vec<_>>().join("; ")
            }
        }
    }

    /// Says it on stderr.
    pub(crate) fn print(&self) {
        match &self.what {
            What::Error(error) => {
                let mut text = format!("error: {error}");
                for cause in error.chain().skip(1) {
                    text += &format!(": {cause}");
                }
                terminal::tell(&text);
            }
            What::Scenario(errors) => print_problems(errors),
        }
        if let Some(help) = &self.help {
            terminal::tell(&format!("help: {help}"));
        }
    }
}

#[cfg(feature = "kernel")]
impl From<joulepath_linux::Error> for Failure {
    fn from(error: joulepath_linux::Error) -> Self {
        use joulepath_linux::Error;
        let exit = match error {
            Error::Permission { .. } => Exit::Permission,
            Error::Unsupported { .. } => Exit::Unsupported,
            Error::Io { .. } | Error::Run(_) => Exit::Failed,
        };
        let help = error.remedy().map(str::to_owned);
        Failure { help, ..Failure::new(exit, error) }
    }
}

/// Each problem with its line underlined.
fn print_problems(errors: &ScenarioErrors) {
    let (width, color) = terminal::stderr();
    let theme = if color { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
    let handler = GraphicalReportHandler::new_themed(theme).with_width(width);
    let problems = errors.problems();
    for problem in &problems[..problems.len().min(MAX_PROBLEMS)] {
        let mut text = String::new();
        let shown = handler.render_report(&mut text, &Placed { problem, errors });
        shown.expect("writing to a String does not fail");
        terminal::say(text.trim_end());
    }
    if let Some(more @ 1..) = problems.len().checked_sub(MAX_PROBLEMS) {
        terminal::say(&format!("… and {more} more"));
    }
}

/// A problem together with the text that it is in.
#[derive(Debug)]
struct Placed<'a> {
    problem: &'a Problem,
    errors: &'a ScenarioErrors,
}

impl fmt::Display for Placed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.problem.fmt(f)
    }
}

impl std::error::Error for Placed<'_> {}

impl Diagnostic for Placed<'_> {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.problem.help()
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        self.problem.labels()
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.errors.source_code()
    }
}
