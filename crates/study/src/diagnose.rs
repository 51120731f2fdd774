//! Formats the mistakes of a scenario: each with its line underlined and a suggestion.

use std::fmt;

use joulepath_model::scenario::{Problem, ScenarioErrors};
use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, NamedSource, SourceCode};

/// Maximum number of problems shown; a binary file has thousands.
const MAX_PROBLEMS: usize = 20;

/// The first problems of a scenario, at most `width` columns wide, and the number of the others; no line
/// break at the end.
pub fn problems(errors: &ScenarioErrors, width: usize, color: bool) -> String {
    let theme = if color { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
    let handler = GraphicalReportHandler::new_themed(theme).with_width(width);
    let problems = errors.problems();
    let shown = |problem: &Problem| {
        let mut text = String::new();
        let shown = match errors.in_override(problem) {
            None => handler.render_report(&mut text, &Placed { problem, source: errors.source_code() }),
            Some((origin, line, span)) => {
                let source = NamedSource::new(origin, line.to_owned());
                let problem = Problem { span, ..problem.clone() };
                handler.render_report(&mut text, &Placed { problem: &problem, source: Some(&source) })
            }
        };
        shown.expect("writing to a String does not fail");
        text.trim_end().to_owned()
    };
    let mut blocks: Vec<String> = problems.iter().take(MAX_PROBLEMS).map(shown).collect();
    if let Some(more @ 1..) = problems.len().checked_sub(MAX_PROBLEMS) {
        blocks.push(format!("… and {more} more"));
    }
    blocks.join("\n")
}

/// A problem with the text that contains it.
struct Placed<'a> {
    problem: &'a Problem,
    source: Option<&'a dyn SourceCode>,
}

impl fmt::Debug for Placed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.problem.fmt(f)
    }
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
        self.source
    }
}
