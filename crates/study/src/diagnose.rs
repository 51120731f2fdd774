//! Formats the mistakes of a scenario: each with its line underlined and a suggestion.

use std::fmt;

use joulepath_model::brief::around;
use joulepath_model::scenario::{MOST_SHOWN, Problem, ScenarioErrors, Span};
use miette::{
    Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, MietteError,
    MietteSpanContents, SourceCode, SourceSpan, SpanContents,
};

/// Lines of a problem that are shown; of a longer one, only its first line is.
const MOST_LINES: usize = 10;

/// The first problems of a scenario, about `width` columns wide, and the number of the others; no
/// line break at the end.
pub fn problems(errors: &ScenarioErrors, width: usize, color: bool) -> String {
    let theme = if color {
        GraphicalTheme::unicode()
    } else {
        GraphicalTheme::unicode_nocolor()
    };
    let handler = GraphicalReportHandler::new_themed(theme).with_width(width);
    let problems = errors.problems();
    let shown = |problem: &Problem| {
        let mut text = String::new();
        let source = match errors.in_override(problem) {
            None => Excerpt::new(
                errors.name(),
                errors.text(),
                &problem.span,
                errors.place(problem),
            ),
            Some((origin, line, span)) => {
                let column = 1 + line[..span.start].chars().count();
                Excerpt::new(origin, line, &span, (1, column))
            }
        };
        let problem = Problem {
            span: source.span.clone(),
            ..problem.clone()
        };
        handler
            .render_report(
                &mut text,
                &Placed {
                    problem: &problem,
                    source: &source,
                },
            )
            .expect("writing to a String does not fail");
        text.trim_end().to_owned()
    };
    let mut blocks: Vec<String> = problems.iter().take(MOST_SHOWN).map(shown).collect();
    if let Some(more @ 1..) = problems.len().checked_sub(MOST_SHOWN) {
        blocks.push(format!("… and {more} more"));
    }
    blocks.join("\n")
}

/// The lines of a problem with one more before and after, each cut around the problem: miette
/// prints whole lines, and cannot underline what is more than 65,535 columns away.
#[derive(Debug)]
struct Excerpt {
    name: String,
    text: String,
    /// The problem in `text`.
    span: Span,
    /// Line of the file at which `text` begins, from 0.
    first_line: usize,
    /// Column of the problem in the file, from 0.
    column: usize,
}

impl Excerpt {
    /// `place` is line and column of the span in `whole`, from 1.
    fn new(name: &str, whole: &str, span: &Span, place: (usize, usize)) -> Self {
        let line_start = whole[..span.start].rfind('\n').map_or(0, |at| at + 1);
        let line_end = |from: usize| whole[from..].find('\n').map_or(whole.len(), |at| from + at);
        let mut span = span.clone();
        if whole[span.clone()].lines().nth(MOST_LINES).is_some() {
            span.end = line_end(span.start);
        }
        // A span may end with the line break of its last line.
        let inside = span.end.saturating_sub(1).max(span.start);
        let last = (inside..=span.end)
            .find(|&at| whole.is_char_boundary(at))
            .unwrap_or(span.end);
        let begin = whole[..line_start.saturating_sub(1)]
            .rfind('\n')
            .map_or(0, |at| at + 1);
        let begin = if line_start == 0 { 0 } else { begin };
        let end = line_end((line_end(last) + 1).min(whole.len()));

        let mut excerpt = Excerpt {
            name: name.to_owned(),
            text: String::new(),
            span: 0..0,
            first_line: place.0 - 1 - usize::from(line_start > 0),
            column: place.1 - 1,
        };
        let mut at = begin;
        for line in whole[begin..end].split_inclusive('\n') {
            let (bare, line_break) = match line.strip_suffix('\n') {
                Some(bare) => (bare, "\n"),
                None => (line, ""),
            };
            let inside = |byte: usize| byte.clamp(at, at + bare.len()) - at;
            let (shown, part) = around(bare, inside(span.start)..inside(span.end));
            let offset = excerpt.text.len();
            if (at..=at + bare.len()).contains(&span.start) {
                excerpt.span = offset + part.start..offset + part.end;
            } else if (at..=at + bare.len()).contains(&span.end) {
                excerpt.span.end = offset + part.end;
            }
            excerpt.text += &shown;
            excerpt.text += line_break;
            at += line.len();
        }
        excerpt
    }
}

impl SourceCode for Excerpt {
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        before: usize,
        after: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let part = self.text.read_span(span, before, after)?;
        let column = if before == 0 {
            self.column
        } else {
            part.column()
        };
        let line = self.first_line + part.line();
        let (span, lines) = (*part.span(), part.line_count());
        Ok(Box::new(MietteSpanContents::new_named(
            self.name.clone(),
            part.data(),
            span,
            line,
            column,
            lines,
        )))
    }
}

/// A problem with the text that contains it.
struct Placed<'a> {
    problem: &'a Problem,
    source: &'a Excerpt,
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
        Some(self.source)
    }
}

#[cfg(test)]
mod tests {
    use joulepath_model::scenario;

    use super::*;

    fn shown(text: &str) -> String {
        let errors = scenario::load_with(text, &[], &|_| Err("no trace".into())).unwrap_err();
        problems(&errors, 80, false)
    }

    #[test]
    fn a_mistake_in_a_line_of_any_length_is_underlined_in_a_cut_line() {
        for length in [0, 100, 65_536, 1_000_000] {
            let (before, after) = ("a".repeat(length), "b".repeat(length));
            let text = shown(&format!(
                "title = \"t\"\n{after}c = [\"{before}\", ,,1]\nlast = 1\n"
            ));
            let lines: Vec<&str> = text.lines().collect();
            assert!(
                lines.iter().all(|line| line.chars().count() < 140),
                "{length}: {text}"
            );
            let source = lines
                .iter()
                .position(|line| line.starts_with(" 2 │"))
                .unwrap();
            // `c = ["", ` comes before the comma.
            let place = format!("[scenario:2:{}]", 2 * length + 10);
            assert!(lines[source - 2].contains(&place), "{place}: {text}");
            let column = lines[source + 1]
                .chars()
                .position(|mark| "─▲".contains(mark))
                .unwrap();
            assert_eq!(lines[source].chars().nth(column), Some(','), "{text}");
        }
    }

    #[test]
    fn a_binary_file_and_a_mistake_of_many_lines_give_a_short_message() {
        let zeros = shown(&"\0".repeat(3 << 20));
        assert!(zeros.len() < 10_000, "{}", zeros.len());
        let list = format!("title = [\n{}]\n", "1,\n".repeat(100_000));
        let text = shown(&list);
        assert!(
            text.contains("not a list") && text.len() < 10_000,
            "{}",
            text.len()
        );
    }
}
