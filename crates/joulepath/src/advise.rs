//! `joulepath advise`: which interfaces for a transfer, without simulating anything.

use joulepath_report::advice::{html, table};
use joulepath_study::advise::{Machine, answer, question, scenario, waiting};
use joulepath_study::files;

use crate::cli::AdviseOptions;
use crate::failure::{Exit, Failure};
use crate::outputs;
use crate::provenance::provenance;
use crate::show::print_json;
use crate::terminal;

/// Runs the command.
///
/// # Errors
/// If an option is wrong, nothing meets the demand, or the page cannot be written.
pub(crate) fn advise(options: &AdviseOptions) -> Result<Exit, Failure> {
    let question = question(&options.words)?;
    let waiting = waiting(&options.words, &question)?;
    let advice = answer(&question)?;
    let as_scenario = match &options.write {
        Some(file) => Some((file, scenario(&question, &advice)?)),
        None => None,
    };
    let exit = match options.json {
        true => print_json(&Machine::of(&question, &advice).with(&question, waiting))?,
        false => terminal::print(&table(&question, &advice, waiting, terminal::stdout().0))?,
    };
    if let Some((file, text)) = as_scenario {
        files::prepare(file)?;
        files::write(file, &text)?;
        terminal::tell(&format!("scenario: joulepath compare {}", file.display()));
    }
    let Some(place) = &options.report else {
        return Ok(exit);
    };
    let file = outputs::page(place, "advice");
    files::prepare(&file)?;
    outputs::write_page(
        &file,
        &html(&question, &advice, waiting, &provenance())?,
        false,
    )?;
    Ok(exit)
}
