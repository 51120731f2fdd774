//! What can go wrong in a lab.

use std::fmt;

use joulepath_kernel::lateness::milliseconds_apart;
use joulepath_model::units::Nanos;

/// A failure in this crate.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The kernel refused something, or cannot do it.
    #[error(transparent)]
    Kernel(#[from] joulepath_kernel::Error),
    /// A run that does not count: a fallback to plain TCP, a byte that came wrong, a process that died.
    #[error("{0}")]
    Run(String),
    /// The run was stopped before its end, because its [`Cancel`](joulepath_model::cancel::Cancel) was set.
    #[error("the run was stopped before its end")]
    Cancelled,
    /// The emulated links were too late for their scenario: the machine had too much else to do.
    #[error(fmt = too_late)]
    Late {
        /// One packet in a hundred left this late, or later.
        late: Nanos,
        /// What is allowed.
        allowed: Nanos,
    },
}

/// Of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// What to do about it, if that is known and not in the message.
    pub fn remedy(&self) -> Option<&str> {
        match self {
            Error::Kernel(error) => error.remedy(),
            Error::Run(_) | Error::Cancelled | Error::Late { .. } => None,
        }
    }
}

fn too_late(late: &Nanos, allowed: &Nanos, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let [shown, bound] = milliseconds_apart(*late, *allowed);
    write!(
        f,
        "the emulated links were {shown} late (99th percentile), and {bound} are allowed: \
         this machine was too busy; --max-lateness '{}' would accept it",
        least_that_allows(*late)
    )
}

/// Whole milliseconds with which something so late would pass.
pub(crate) fn least_that_allows(late: Nanos) -> String {
    format!("{} ms", late.0 / 1_000_000 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_run_names_the_option_with_which_it_would_have_passed() {
        let error = Error::Late { late: Nanos(4_520_000), allowed: Nanos(1_000_000) };
        let message = error.to_string();
        assert!(message.contains("4.5 ms late") && message.contains("1.0 ms are allowed"), "{message}");
        assert!(message.contains("--max-lateness '5 ms'"), "{message}");
    }
}
