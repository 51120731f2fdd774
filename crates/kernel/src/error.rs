//! What can go wrong between a program and its kernel. Every error says what to do next.

use std::io;

use crate::capability::{Denial, Task};

/// A failure in this crate.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The process may not do this: exit code 4.
    #[error("{doing}: not permitted ({denial})")]
    Permission {
        /// What was tried.
        doing: String,
        /// Why it is refused.
        denial: Denial,
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
    /// A controller of a user that cannot be compiled for the kernel, or that the kernel's verifier refuses:
    /// exit code 1.
    #[error("{what}: {why}")]
    Refused {
        /// What was asked for.
        what: String,
        /// The compiler's words or the verifier's, with the line.
        why: String,
        /// What to do about it.
        remedy: String,
    },
    /// Another process is at the same work, or keeps what was to go: later it may succeed.
    #[error("{what}: {why}")]
    Busy {
        /// What was asked for.
        what: String,
        /// Who or what is in the way.
        why: String,
        /// What to do about it: a command where there is one.
        remedy: String,
    },
    /// The kernel has dropped notices, because they were not read in time: what they were about has to be
    /// listed again.
    #[error("{what} were lost: they came faster than they were read")]
    Overrun {
        /// The notices.
        what: String,
    },
    /// The kernel, or a file, says what cannot be understood.
    #[error("{what} cannot be read: {why}")]
    Malformed {
        /// The message or the file.
        what: String,
        /// The part that is wrong, by its name, and how.
        why: String,
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
            Error::Permission { remedy, .. }
            | Error::Unsupported { remedy, .. }
            | Error::Refused { remedy, .. }
            | Error::Busy { remedy, .. } => Some(remedy),
            Error::Overrun { .. } | Error::Malformed { .. } | Error::Io { .. } | Error::Run(_) => None,
        }
    }

    /// What went wrong and, in brackets, what to do about it: for a line of text.
    pub fn with_remedy(&self) -> String {
        self.remedy().map_or_else(|| self.to_string(), |remedy| format!("{self} ({remedy})"))
    }

    /// Wraps what the system answered about a file; EPERM and EACCES become [`Error::Permission`].
    pub fn io(doing: impl Into<String>, source: impl Into<io::Error>) -> Self {
        Self::refused(doing.into(), source.into(), || Denial::File)
    }

    /// Wraps what the kernel answered to a task that needs capabilities; EPERM and EACCES become
    /// [`Error::Permission`], which names those that are missing.
    pub fn task(task: Task, doing: impl Into<String>, source: impl Into<io::Error>) -> Self {
        Self::refused(doing.into(), source.into(), || task.denial().unwrap_or(Denial::Forbidden))
    }

    /// It is not permitted.
    pub fn denied(doing: impl Into<String>, denial: Denial) -> Self {
        let remedy = denial.remedy();
        Error::Permission { doing: doing.into(), denial, remedy }
    }

    fn refused(doing: String, source: io::Error, denial: impl FnOnce() -> Denial) -> Self {
        match source.kind() {
            io::ErrorKind::PermissionDenied => Self::denied(doing, denial()),
            _ => Error::Io { doing, source },
        }
    }
}

/// Refuses what this thread lacks capabilities for, before anything is begun.
///
/// # Errors
/// [`Error::Permission`] with all that is missing for `tasks` together.
pub fn require(tasks: &[Task], doing: impl Into<String>) -> Result<()> {
    let denials = || tasks.iter().filter_map(|task| task.denial());
    let lacking = denials().filter_map(|denial| match denial {
        Denial::Lacks(lacking) => Some(lacking),
        _ => None,
    });
    match lacking.reduce(|all, more| all.and(more)).map(Denial::Lacks).or_else(|| denials().next()) {
        Some(denial) => Err(Error::denied(doing, denial)),
        None => Ok(()),
    }
}

/// `result.doing("opening the TUN device")?`: context for a failed system call.
pub trait Doing<T> {
    /// Says what was tried with a file.
    fn doing(self, what: impl Into<String>) -> Result<T>;

    /// Says what was tried that needs capabilities.
    fn doing_task(self, task: Task, what: impl Into<String>) -> Result<T>;
}

impl<T, E: Into<io::Error>> Doing<T> for std::result::Result<T, E> {
    fn doing(self, what: impl Into<String>) -> Result<T> {
        self.map_err(|source| Error::io(what, source))
    }

    fn doing_task(self, task: Task, what: impl Into<String>) -> Result<T> {
        self.map_err(|source| Error::task(task, what, source))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capability::Capabilities;

    #[test]
    fn a_refusal_names_the_capability_that_is_missing() {
        let lacking = Denial::Lacks(Capabilities::from_mask(1 << 39));
        let error = Error::denied("loading the controller lia", lacking);
        assert_eq!(error.to_string(), "loading the controller lia: not permitted (needs CAP_BPF)");
        assert!(error.remedy().unwrap().ends_with("or give this process CAP_BPF"), "{error:?}");
    }

    #[test]
    fn all_that_is_missing_for_several_tasks_is_named_at_once() {
        let required = std::thread::spawn(|| {
            let mut sets = rustix::thread::capabilities(None).unwrap();
            sets.effective = rustix::thread::CapabilitySet::empty();
            rustix::thread::set_capabilities(None, sets).unwrap();
            require(&[Task::Network, Task::Namespaces], "making a lab")
        });
        let error = required.join().unwrap().unwrap_err();
        assert_eq!(error.to_string(), "making a lab: not permitted (needs CAP_NET_ADMIN and CAP_SYS_ADMIN)");
    }
}
