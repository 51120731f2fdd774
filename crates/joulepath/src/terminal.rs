//! stdout is data, stderr is progress and diagnostics.

use std::io::{self, IsTerminal, Write};

use anstream::{AutoStream, ColorChoice};
use joulepath_model::brief;
use joulepath_model::visible::{Colors, visible};
#[cfg(feature = "kernel")]
use joulepath_report::table::View;
use terminal_size::terminal_size_of;

use crate::failure::{Exit, Failure};

/// Width of what is not a terminal, characters.
const DEFAULT_WIDTH: usize = 80;
/// Narrowest width that texts are wrapped to, characters.
const LEAST_WIDTH: usize = 40;

/// Width of stdout in characters, and whether it takes colours (NO_COLOR, CLICOLOR_FORCE,
/// terminal).
pub(crate) fn stdout() -> (usize, bool) {
    (
        width(terminal_size_of(io::stdout())),
        colored(AutoStream::choice(&io::stdout())),
    )
}

/// The same for tables.
#[cfg(feature = "kernel")]
pub(crate) fn view() -> View {
    let (width, color) = stdout();
    View { width, color }
}

/// Width of stderr in characters, and whether it takes colours.
pub(crate) fn stderr() -> (usize, bool) {
    (
        width(terminal_size_of(io::stderr())),
        colored(AutoStream::choice(&io::stderr())),
    )
}

fn width(size: Option<(terminal_size::Width, terminal_size::Height)>) -> usize {
    size.map_or(DEFAULT_WIDTH, |(width, _)| {
        usize::from(width.0).max(LEAST_WIDTH)
    })
}

fn colored(choice: ColorChoice) -> bool {
    choice != ColorChoice::Never
}

/// Writes text to stdout, with [control characters](visible) shown. A closed pipe (`| head`) is no
/// error.
pub(crate) fn print(text: &str) -> Result<Exit, Failure> {
    write(&visible(text, colors(stdout().1)))
}

/// Writes JSON, CSV or TOML to stdout, unchanged unless stdout is a terminal.
pub(crate) fn data(text: &str) -> Result<Exit, Failure> {
    match io::stdout().is_terminal() {
        true => write(&visible(text, Colors::Shown)),
        false => write(text),
    }
}

fn colors(are_used: bool) -> Colors {
    if are_used {
        Colors::Stay
    } else {
        Colors::Shown
    }
}

fn write(text: &str) -> Result<Exit, Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::io("cannot write to stdout", error))
        }
        _ => Ok(Exit::Ok),
    }
}

/// Writes a line to stderr, with [control characters](visible) shown. An error is ignored: there is
/// no other place to report it.
pub(crate) fn say(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", visible(line, colors(stderr().1)));
}

/// Writes a sentence to stderr: wrapped on a terminal, else on one line, which programs can search.
/// The middle of a very long one is left out.
pub(crate) fn tell(sentence: &str) {
    let sentence = &*brief::message(sentence);
    match io::stderr().is_terminal() {
        true => say(&textwrap::fill(
            sentence,
            textwrap::Options::new(stderr().0).subsequent_indent("  "),
        )),
        false => say(sentence),
    }
}

/// Text as paragraphs for stdout: wrapped to its width, each line after the first indented.
pub(crate) fn wrapped(text: &str, indent: &str) -> String {
    let options = textwrap::Options::new(stdout().0).subsequent_indent(indent);
    textwrap::fill(text, options)
}
