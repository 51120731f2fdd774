//! `joulepath show` and `joulepath schema`.

use joulepath_model::scenario;

use crate::cli::{SchemaOf, SchemaOptions, ShowOptions};
use crate::failure::{Exit, Failure};
use crate::scenario::load;
use crate::terminal;

/// Prints a scenario with every default filled in.
///
/// # Errors
/// The scenario's mistakes.
pub(crate) fn show(options: &ShowOptions) -> Result<Exit, Failure> {
    let scenario = load(&options.scenario, &options.changes)?;
    match options.json {
        true => print_json(&scenario),
        false => terminal::data(&scenario::show(&scenario)),
    }
}

/// Prints a JSON schema.
pub(crate) fn schema(options: &SchemaOptions) -> Result<Exit, Failure> {
    print_json(&match options.of {
        SchemaOf::Scenario => scenario::schema(),
        SchemaOf::Live => scenario::live_schema(),
        SchemaOf::Study => scenario::study_schema(),
    })
}

/// Prints indented JSON.
///
/// # Errors
/// If it is no JSON, or stdout cannot take it.
pub(crate) fn print_json(value: &impl serde::Serialize) -> Result<Exit, Failure> {
    let text =
        serde_json::to_string_pretty(value).map_err(|error| Failure::new(Exit::Failed, error))?;
    terminal::data(&(text + "\n"))
}
