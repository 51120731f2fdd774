//! Recommends interfaces for a transfer, without a simulation.
//!
//! | module | what |
//! |---|---|
//! | `question` | parses the command line's words |
//! | `machine` | the answer as JSON |
//! | `remembered` | what a memory of networks knows about a path |
//! | `scenario` | the question as a scenario, to compare policies on it |
//!
//! [`joulepath_control::advise`] computes the optimum; [`joulepath_report::advice`] has tables and
//! pages.

mod machine;
mod question;
mod remembered;
mod scenario;

use joulepath_control::advise::{self, Advice, Impossible, Question, Within, significant};

use crate::error::{Error, Result};

pub use machine::Machine;
pub use question::{Words, question, waiting};
#[cfg(not(target_family = "wasm"))]
pub(crate) use question::{base, energy_model, quantity};
pub use scenario::scenario;

/// Answers `question`.
///
/// # Errors
/// If no plan meets the deadline or rate; the help names the nearest one that can be met.
pub fn answer(question: &Question) -> Result<Advice> {
    advise::advise(question).map_err(|error| impossible(question, &error))
}

fn impossible(question: &Question, error: &Impossible) -> Error {
    match (error, question.within) {
        (Impossible::Deadline { fastest_s }, Within::Deadline(deadline)) => Error::usage(format!(
            "--deadline {deadline} cannot be met: {error}"
        ))
        .with_help(format!(
            "give at least --deadline {:.3}s, or a smaller --size",
            fastest_s + 0.0005
        )),
        (Impossible::Rate { most_bps }, Within::Rate(rate)) => {
            let most = format!("{}Mbit/s", significant(most_bps * 0.995 / 1e6));
            Error::usage(format!(
                "--rate {rate} exceeds the capacity of the paths: {error}"
            ))
            .with_help(format!("ask for at most --rate {most}, or add a --path"))
        }
        _ => Error::usage(error),
    }
}
