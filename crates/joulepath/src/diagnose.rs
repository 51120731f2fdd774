//! Failures on stderr.

use joulepath_model::scenario::ScenarioErrors;
use joulepath_study::diagnose;
use joulepath_study::error::Error;

use crate::failure::Failure;
use crate::terminal;

/// Prints what is wrong and what to do next.
pub(crate) fn tell(failure: &Failure) {
    match failure.of_study() {
        Some(Error::Several(errors)) => {
            errors.iter().for_each(|error| {
                one(
                    error.scenario(),
                    &error.to_string(),
                    error.help().as_deref(),
                )
            });
        }
        error => one(
            error.and_then(Error::scenario),
            &failure.text(),
            failure.next_step(),
        ),
    }
}

fn one(mistakes: Option<&ScenarioErrors>, text: &str, help: Option<&str>) {
    match mistakes {
        Some(errors) => {
            let (width, color) = terminal::stderr();
            terminal::say(&diagnose::problems(errors, width, color));
        }
        None => terminal::tell(&format!("error: {text}")),
    }
    if let Some(help) = help {
        terminal::tell(&format!("help: {help}"));
    }
}
