//! Errors of a lab.

use std::fmt;

use joulepath_kernel::lateness::milliseconds_apart;
use joulepath_model::units::Nanos;

/// An error of this crate.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The kernel refused something or lacks a feature.
    #[error(transparent)]
    Kernel(#[from] joulepath_kernel::Error),
    /// A run without a valid result: a fallback to plain TCP, a damaged byte, a process that died.
    #[error("{0}")]
    Run(String),
    /// The run's [`Cancel`](joulepath_model::cancel::Cancel) was set.
    #[error("the run was stopped before its end")]
    Cancelled,
    /// The machine was too busy, so the emulated links delivered packets too late for the scenario.
    #[error(fmt = too_late)]
    Late {
        /// Lateness that one packet in a hundred exceeded.
        late: Nanos,
        /// The allowed lateness.
        allowed: Nanos,
    },
}

/// A result with this crate's error.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// What to do, if known and not part of the message.
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
         this machine was too busy; --max-lateness '{}' would allow it",
        least_that_allows(*late)
    )
}

/// The smallest whole number of milliseconds that allows this lateness.
pub(crate) fn least_that_allows(late: Nanos) -> String {
    format!("{} ms", late.0 / 1_000_000 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_of_a_late_run_names_the_option_that_allows_it() {
        let error = Error::Late {
            late: Nanos(4_520_000),
            allowed: Nanos(1_000_000),
        };
        let message = error.to_string();
        assert!(
            message.contains("4.5 ms late") && message.contains("1.0 ms are allowed"),
            "{message}"
        );
        assert!(message.contains("--max-lateness '5 ms'"), "{message}");
    }
}
