//! Failures on stderr.

use joulepath_study::diagnose;

use crate::failure::Failure;
use crate::terminal;

/// Prints what is wrong and what to do next.
pub(crate) fn tell(failure: &Failure) {
    match failure.scenario() {
        Some(errors) => {
            let (width, color) = terminal::stderr();
            terminal::say(&diagnose::problems(errors, width, color));
        }
        None => terminal::tell(&format!("error: {}", failure.text())),
    }
    if let Some(help) = failure.next_step() {
        terminal::tell(&format!("help: {help}"));
    }
}
