//! Scenarios as the command line names them.

use std::ffi::OsStr;

use joulepath_model::scenario::Scenario;
use joulepath_study::source::Source;

use crate::cli::Changes;
use crate::failure::Failure;
use crate::terminal;

/// The scenario `argument` with a variant and keys set, for commands that need no more.
///
/// # Errors
/// If it cannot be opened or loaded.
pub(crate) fn load(argument: &OsStr, changes: &Changes) -> Result<Scenario, Failure> {
    let source = Source::open(argument)?;
    Ok(source.load(&source.overrides(changes.variant.as_deref(), &changes.set)?)?)
}

/// Prints which shipped scenario is used if the argument looks like a file.
pub(crate) fn announce(source: &Source, argument: &OsStr) {
    if source.is_shipped() && argument != source.name() {
        terminal::say(&format!(
            "note: {} is not a file here; using the shipped scenario {}",
            argument.display(),
            source.name()
        ));
    }
}
