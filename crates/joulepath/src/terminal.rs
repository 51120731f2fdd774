//! stdout is data, stderr is progress and diagnostics.

use std::io::{self, IsTerminal, Write};

use anstream::{AutoStream, ColorChoice};
use terminal_size::terminal_size_of;

use crate::failure::{Exit, Failure};

/// Width of what is not a terminal, characters.
const DEFAULT_WIDTH: usize = 80;
/// Narrowest width that texts are wrapped to, characters.
const LEAST_WIDTH: usize = 40;

/// Width of stdout in characters, and whether it takes colours (NO_COLOR, CLICOLOR_FORCE, terminal).
pub(crate) fn stdout() -> (usize, bool) {
    (width(terminal_size_of(io::stdout())), colored(AutoStream::choice(&io::stdout())))
}

/// Width of stderr in characters, and whether it takes colours.
pub(crate) fn stderr() -> (usize, bool) {
    (width(terminal_size_of(io::stderr())), colored(AutoStream::choice(&io::stderr())))
}

fn width(size: Option<(terminal_size::Width, terminal_size::Height)>) -> usize {
    size.map_or(DEFAULT_WIDTH, |(width, _)| usize::from(width.0).max(LEAST_WIDTH))
}

fn colored(choice: ColorChoice) -> bool {
    choice != ColorChoice::Never
}

/// Writes data to stdout. A reader that has seen enough (`| head`) is no error.
///
/// # Errors
/// If stdout cannot take it.
pub(crate) fn print(data: &str) -> Result<Exit, Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(data.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::io("cannot write to stdout", error))
        }
        _ => Ok(Exit::Ok),
    }
}

/// Writes a line to stderr. An error is ignored: there is no other place to report it.
pub(crate) fn say(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// Writes a sentence to stderr: wrapped on a terminal, in one line elsewhere, where programs search it.
pub(crate) fn tell(sentence: &str) {
    match io::stderr().is_terminal() {
        true => say(&textwrap::fill(sentence, textwrap::Options::new(stderr().0).subsequent_indent("  "))),
        false => say(sentence),
    }
}

/// Text as paragraphs for stdout: wrapped to its width, each line after the first indented.
pub(crate) fn wrapped(text: &str, indent: &str) -> String {
    let options = textwrap::Options::new(stdout().0).subsequent_indent(indent);
    textwrap::fill(text, options)
}
