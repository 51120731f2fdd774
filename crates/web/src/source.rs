//! The scenario of a question, and the provenance of its answer.

use std::collections::BTreeMap;

use joulepath_model::result::Provenance;
use joulepath_study::error::{Error, Result};
use joulepath_study::shipped;
use joulepath_study::source::Source;

use crate::library;

/// Maximum size of a scenario's text, bytes.
const MAX_TEXT: usize = 256 << 10;
/// Maximum size of a scenario's traces, bytes: an hour at 10 Mbit/s.
const MAX_TRACES: usize = 32 << 20;

/// The scenario of a question.
///
/// # Errors
/// If it is too large for a page.
pub(crate) fn source(
    name: &str,
    toml: &str,
    traces: &BTreeMap<String, String>,
    original: Option<&str>,
) -> Result<Source> {
    let too_large = |what: &str, most: usize| {
        let message = format!("{what} more than {} kB", most >> 10);
        Err(Error::usage(message).with_help("run it on the command line"))
    };
    if toml.len() > MAX_TEXT {
        return too_large("the scenario has", MAX_TEXT);
    }
    if traces.values().map(String::len).sum::<usize>() > MAX_TRACES {
        return too_large("the traces have together", MAX_TRACES);
    }
    Ok(match shipped::find(name) {
        Some((name, text)) if text == toml => Source::shipped((name, text)),
        _ => Source::given(name, toml, traces.clone(), original),
    })
}

/// This build, and the command that gives the same numbers.
pub(crate) fn provenance(command: &str) -> Provenance {
    Provenance {
        version: library::VERSION.to_owned(),
        commit: library::COMMIT.to_owned(),
        command: command.to_owned(),
    }
}
