//! Problems of a scenario: each with its position, its cause and its fix.

use std::fmt;
use std::ops::Range;

use miette::{Diagnostic, LabeledSpan, NamedSource, SourceCode};

use crate::brief::{self, around};
use crate::names;

/// Problems that are shown of one file; a binary file has thousands.
pub const MOST_SHOWN: usize = 20;

/// A range of bytes in the text of a scenario.
pub type Span = Range<usize>;

/// One problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Position, in bytes of [`ScenarioErrors::text`].
    pub span: Span,
    /// Description of the problem.
    pub message: String,
    /// The fix.
    pub help: Option<String>,
}

/// All problems of a scenario, in the order of the text.
///
/// As a [`miette::Diagnostic`] it carries its source text, so a program can print each problem with
/// its line underlined.
#[derive(Debug)]
pub struct ScenarioErrors {
    problems: Vec<Problem>,
    source: NamedSource<String>,
    /// The subject of the messages, such as `the scenario`.
    what: &'static str,
    /// Boxed, because the error is returned by value.
    overrides: Option<Box<Overrides>>,
}

/// The end of the text that does not come from the file.
#[derive(Debug)]
struct Overrides {
    /// Byte of the text at which they begin.
    begin: usize,
    /// Their source: `--set`.
    origin: &'static str,
    /// Keys from other sources: `--x`.
    others: Vec<(String, &'static str)>,
}

impl ScenarioErrors {
    pub(super) fn new(text: String, mut problems: Vec<Problem>) -> Self {
        let end = text.len();
        for problem in &mut problems {
            problem.span.end = problem.span.end.min(end);
            problem.span.start = problem.span.start.min(problem.span.end);
        }
        problems.sort_by_key(|problem| (problem.span.start, problem.span.end));
        problems.dedup();
        let source = NamedSource::new("scenario", text);
        ScenarioErrors {
            problems,
            source,
            what: "the scenario",
            overrides: None,
        }
    }

    /// Sets the file name for printing.
    #[must_use]
    pub fn in_file(self, name: &str) -> Self {
        let source = NamedSource::new(name, self.source.inner().clone());
        ScenarioErrors { source, ..self }
    }

    /// Marks the text from byte `begin` on as overrides from `origin`, such as `--set`.
    #[must_use]
    pub fn with_overrides(self, begin: usize, origin: &'static str) -> Self {
        ScenarioErrors {
            overrides: Some(Box::new(Overrides {
                begin,
                origin,
                others: vec![],
            })),
            ..self
        }
    }

    /// Replaces the origin of the overrides; `others` are keys with origins of their own.
    #[must_use]
    pub fn overridden_by(self, origin: &'static str, others: Vec<(String, &'static str)>) -> Self {
        let overrides = self.overrides.map(|known| {
            Box::new(Overrides {
                origin,
                others,
                ..*known
            })
        });
        ScenarioErrors { overrides, ..self }
    }

    /// The origin and text of the override that contains `problem`, and the problem's place in it;
    /// `None` if the problem is in the file.
    pub fn in_override(&self, problem: &Problem) -> Option<(&'static str, &str, Span)> {
        let Overrides {
            begin,
            origin,
            others,
        } = self.overrides.as_deref()?;
        if problem.span.start < *begin {
            return None;
        }
        let text = self.text();
        let start = text[..problem.span.start]
            .rfind('\n')
            .map_or(0, |at| at + 1);
        let end = text[problem.span.start..]
            .find('\n')
            .map_or(text.len(), |at| problem.span.start + at);
        let is_of = |(key, _): &&(String, _)| text[start..end].starts_with(&format!("{key} ="));
        let origin = others
            .iter()
            .find(is_of)
            .map_or(*origin, |(_, origin)| origin);
        Some((
            origin,
            &text[start..end],
            problem.span.start - start..problem.span.end.min(end) - start,
        ))
    }

    /// Sets the subject for another kind of file.
    #[must_use]
    pub(super) fn of(self, what: &'static str) -> Self {
        ScenarioErrors { what, ..self }
    }

    /// The problems, in the order of the text; never empty.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// The file's name.
    pub fn name(&self) -> &str {
        self.source.name()
    }

    /// The text that spans refer to: the scenario, followed by one line for each override.
    pub fn text(&self) -> &str {
        self.source.inner()
    }

    /// Line and column of a problem, from 1; columns count characters.
    pub fn place(&self, problem: &Problem) -> (usize, usize) {
        let before = &self.text().as_bytes()[..problem.span.start];
        let line_start = before
            .iter()
            .rposition(|&byte| byte == b'\n')
            .map_or(0, |at| at + 1);
        let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count();
        let column = 1 + String::from_utf8_lossy(&before[line_start..])
            .chars()
            .count();
        (line, column)
    }
}

impl fmt::Display for ScenarioErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = self.problems.len();
        match all {
            1 => write!(f, "{} has a problem", self.what),
            n => write!(f, "{} has {n} problems", self.what),
        }?;
        for problem in self.problems.iter().take(MOST_SHOWN) {
            let (line, column) = self.place(problem);
            match self.in_override(problem) {
                Some((origin, text, span)) => {
                    write!(
                        f,
                        "\n  {origin} {}: {}",
                        around(text, span).0,
                        problem.message
                    )?;
                }
                None => write!(
                    f,
                    "\n  {}:{line}:{column}: {}",
                    self.source.name(),
                    problem.message
                )?,
            }
            if let Some(help) = &problem.help {
                write!(f, "; {help}")?;
            }
        }
        match all.saturating_sub(MOST_SHOWN) {
            0 => Ok(()),
            more => write!(f, "\n  … and {more} more"),
        }
    }
}

impl std::error::Error for ScenarioErrors {}

impl Diagnostic for ScenarioErrors {
    fn source_code(&self) -> Option<&dyn SourceCode> {
        Some(&self.source)
    }

    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn Diagnostic> + 'a>> {
        Some(Box::new(
            self.problems
                .iter()
                .map(|problem| problem as &dyn Diagnostic),
        ))
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Problem {}

impl Diagnostic for Problem {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.help
            .as_ref()
            .map(|help| Box::new(help) as Box<dyn fmt::Display>)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        Some(Box::new(std::iter::once(LabeledSpan::underline(
            self.span.clone(),
        ))))
    }
}

/// Collects problems while a scenario is read.
#[derive(Debug, Default)]
pub(super) struct Problems(Vec<Problem>);

impl Problems {
    /// Notes a problem without a fix.
    pub(super) fn note(&mut self, span: &Span, message: impl Into<String>) {
        self.push(span, &message.into(), None);
    }

    /// Notes a problem and its fix.
    pub(super) fn note_with_help(
        &mut self,
        span: &Span,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.push(span, &message.into(), Some(&help.into()));
    }

    fn push(&mut self, span: &Span, message: &str, help: Option<&str>) {
        let short = |text| brief::message(text).into_owned();
        self.0.push(Problem {
            span: span.clone(),
            message: short(message),
            help: help.map(short),
        });
    }

    /// Notes an error of another module. The text after its semicolon is the fix.
    pub(super) fn note_error(&mut self, span: &Span, error: &dyn std::error::Error) {
        let text = error.to_string();
        match text.split_once("; ") {
            Some((message, help)) => self.note_with_help(span, message, help),
            None => self.note(span, text),
        }
    }

    /// Number of problems.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the value if there are no problems.
    pub(super) fn finish<T>(self, text: String, value: Option<T>) -> Result<T, ScenarioErrors> {
        match value {
            Some(value) if self.0.is_empty() => Ok(value),
            _ => Err(ScenarioErrors::new(text, self.0)),
        }
    }
}

/// Suggests the most similar known name, and lists all.
pub(super) fn suggest<'a>(
    written: &str,
    known: impl IntoIterator<Item = &'a str>,
    plural: &str,
) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    if known.is_empty() {
        return format!("there are no {plural}");
    }
    let list = format!("known {plural}: {}", known.join(", "));
    match names::nearest(written, known.iter().copied()) {
        Some(name) => format!("did you mean `{name}`? {list}"),
        None => list,
    }
}
