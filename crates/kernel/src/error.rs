//! Errors at the interface to the kernel. Each says what to do next.

use std::io;

use crate::capability::{Denial, Task};

/// An error of this crate.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The process lacks a permission: exit code 4.
    #[error("{doing}: not permitted ({denial})")]
    Permission {
        /// The failed action.
        doing: String,
        /// Why it is denied.
        denial: Denial,
        /// What to do: a command if there is one.
        remedy: String,
    },
    /// This kernel or machine lacks a feature: exit code 3.
    #[error("{what}: {why}")]
    Unsupported {
        /// What was requested.
        what: String,
        /// What is missing.
        why: String,
        /// What to do: a command if there is one.
        remedy: String,
    },
    /// A user's controller that cannot be compiled for the kernel, or that the kernel's verifier
    /// refuses: exit code 1.
    #[error("{what}: {why}")]
    Refused {
        /// What was requested.
        what: String,
        /// The compiler's or the verifier's message, with the line.
        why: String,
        /// What to do.
        remedy: String,
    },
    /// Another process is at the same work or holds what should be removed. A later attempt may
    /// succeed.
    #[error("{what}: {why}")]
    Busy {
        /// What was requested.
        what: String,
        /// The process or object in the way.
        why: String,
        /// What to do: a command if there is one.
        remedy: String,
    },
    /// The kernel has dropped notifications because they were not read in time. Their subject must
    /// be listed again.
    #[error("{what} were lost: they arrived faster than they were read")]
    Overrun {
        /// The kind of notification.
        what: String,
    },
    /// A message of the kernel, or a file, cannot be parsed.
    #[error("{what} cannot be read: {why}")]
    Malformed {
        /// The message or the file.
        what: String,
        /// The invalid part, by its name, and what is wrong with it.
        why: String,
    },
    /// An unexpected failure of a system call.
    #[error("{doing}: {source}")]
    Io {
        /// The failed action.
        doing: String,
        /// The system's error.
        source: io::Error,
    },
    /// A run without a valid result: a fallback to plain TCP, a worker that died.
    #[error("{0}")]
    Run(String),
}

/// A result with this crate's error.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// What to do, if known.
    pub fn remedy(&self) -> Option<&str> {
        match self {
            Error::Permission { remedy, .. }
            | Error::Unsupported { remedy, .. }
            | Error::Refused { remedy, .. }
            | Error::Busy { remedy, .. } => Some(remedy),
            Error::Overrun { .. } | Error::Malformed { .. } | Error::Io { .. } | Error::Run(_) => {
                None
            }
        }
    }

    /// The message with the remedy in brackets, in one line.
    pub fn with_remedy(&self) -> String {
        self.remedy()
            .map_or_else(|| self.to_string(), |remedy| format!("{self} ({remedy})"))
    }

    /// Wraps the system's error about a file; EPERM and EACCES become [`Error::Permission`].
    pub fn io(doing: impl Into<String>, source: impl Into<io::Error>) -> Self {
        Self::refused(doing.into(), source.into(), || Denial::File)
    }

    /// Wraps the kernel's error about a task that needs capabilities; EPERM and EACCES become
    /// [`Error::Permission`], which names the missing capabilities.
    pub fn task(task: Task, doing: impl Into<String>, source: impl Into<io::Error>) -> Self {
        Self::refused(doing.into(), source.into(), || {
            task.denial().unwrap_or(Denial::Forbidden)
        })
    }

    /// The permission error for a denial.
    pub fn denied(doing: impl Into<String>, denial: Denial) -> Self {
        let remedy = denial.remedy();
        Error::Permission {
            doing: doing.into(),
            denial,
            remedy,
        }
    }

    fn refused(doing: String, source: io::Error, denial: impl FnOnce() -> Denial) -> Self {
        match source.kind() {
            io::ErrorKind::PermissionDenied => Self::denied(doing, denial()),
            _ => Error::Io { doing, source },
        }
    }
}

/// Checks that this thread has the capabilities for `tasks`.
///
/// # Errors
/// [`Error::Permission`] with all capabilities that are missing.
pub fn require(tasks: &[Task], doing: impl Into<String>) -> Result<()> {
    let denials = || tasks.iter().filter_map(|task| task.denial());
    let lacking = denials().filter_map(|denial| match denial {
        Denial::Lacks(lacking) => Some(lacking),
        _ => None,
    });
    match lacking
        .reduce(|all, more| all.and(more))
        .map(Denial::Lacks)
        .or_else(|| denials().next())
    {
        Some(denial) => Err(Error::denied(doing, denial)),
        None => Ok(()),
    }
}

/// Adds context to a failed system call: `result.doing("opening the TUN device")?`.
pub trait Doing<T> {
    /// Names the failed action on a file.
    fn doing(self, what: impl Into<String>) -> Result<T>;

    /// Names the failed action, which needs capabilities.
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
    fn a_refusal_names_the_missing_capability() {
        let lacking = Denial::Lacks(Capabilities::from_mask(1 << 39));
        let error = Error::denied("loading the controller lia", lacking);
        assert_eq!(
            error.to_string(),
            "loading the controller lia: not permitted (needs CAP_BPF)"
        );
        assert!(
            error
                .remedy()
                .unwrap()
                .ends_with("or give this process CAP_BPF"),
            "{error:?}"
        );
    }

    #[test]
    fn the_missing_capabilities_of_several_tasks_are_named_together() {
        let required = std::thread::spawn(|| {
            let mut sets = rustix::thread::capabilities(None).unwrap();
            sets.effective = rustix::thread::CapabilitySet::empty();
            rustix::thread::set_capabilities(None, sets).unwrap();
            require(&[Task::Network, Task::Namespaces], "making a lab")
        });
        let error = required.join().unwrap().unwrap_err();
        assert_eq!(
            error.to_string(),
            "making a lab: not permitted (needs CAP_NET_ADMIN and CAP_SYS_ADMIN)"
        );
    }
}
