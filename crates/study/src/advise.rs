//! Which interfaces for a transfer, without simulating anything.
//!
//! | module | what |
//! |---|---|
//! | `question` | words as a question |
//! | `machine` | the answer for programs |
//! | `scenario` | the question as a scenario, for what policies make of it |
//!
//! The optimum itself is [`joulepath_control::advise`]; tables and pages are [`joulepath_report::advice`].

mod machine;
mod question;
mod scenario;

use joulepath_control::advise::{self, Advice, Impossible, Question, Within, significant};

use crate::error::{Error, Result};

pub use machine::Machine;
pub use question::{Words, question};
pub use scenario::scenario;

/// Answers `question`.
///
/// # Errors
/// If nothing meets the demand; the help says what would be possible.
pub fn answer(question: &Question) -> Result<Advice> {
    advise::advise(question).map_err(|error| impossible(question, &error))
}

fn impossible(question: &Question, error: &Impossible) -> Error {
    match (error, question.within) {
        (Impossible::Deadline { fastest_s }, Within::Deadline(deadline)) => Error::usage(format!(
            "--deadline {deadline} cannot be met: {error}"
        ))
        .with_help(format!("give at least --deadline {:.3}s, or a smaller --size", fastest_s + 0.0005)),
        (Impossible::Rate { most_bps }, Within::Rate(rate)) => {
            let most = format!("{}Mbit/s", significant(most_bps * 0.995 / 1e6));
            Error::usage(format!("--rate {rate} is more than the paths carry: {error}"))
                .with_help(format!("ask for at most --rate {most}, or add a --path"))
        }
        _ => Error::usage(error),
    }
}
