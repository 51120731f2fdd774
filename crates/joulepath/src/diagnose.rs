//! Failures as they are shown on stderr.

use std::fmt;

use joulepath_model::scenario::{Problem, ScenarioErrors};
use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, SourceCode};

use crate::failure::Failure;
use crate::terminal;

/// Problems of one scenario that are shown; a binary file has thousands.
const MAX_PROBLEMS: usize = 20;

/// Says what is wrong, and what to do next.
pub(crate) fn tell(failure: &Failure) {
    match failure.scenario() {
        Some(errors) => print_problems(errors),
        None => terminal::tell(&format!("error: {}", failure.text())),
    }
    if let Some(help) = failure.next_step() {
        terminal::tell(&format!("help: {help}"));
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
