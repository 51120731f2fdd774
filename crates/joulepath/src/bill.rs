//! `joulepath bill`: the joules of recorded traffic.

use std::path::Path;

use joulepath_report::bill::{Machine, html, table, to_csv};
use joulepath_study::bill::bill as answer;
use joulepath_study::files;

use crate::cli::BillOptions;
use crate::failure::{Exit, Failure};
use crate::outputs;
use crate::provenance::provenance;
use crate::show::print_json;
use crate::terminal;

/// Runs the command.
///
/// # Errors
/// If the file cannot be read, an option is wrong, or an output cannot be written.
pub(crate) fn bill(options: &BillOptions) -> Result<Exit, Failure> {
    let statement = answer(&options.words)?;
    let csv = options.csv.as_deref();
    let exit = match (options.json, csv) {
        (true, _) => print_json(&Machine::of(&statement))?,
        (false, Some(place)) if place == Path::new("-") => terminal::print(&to_csv(&statement)?)?,
        (false, _) => terminal::print(&table(&statement, terminal::stdout().0))?,
    };
    if let Some(file) = csv.filter(|place| *place != Path::new("-")) {
        files::prepare(file)?;
        files::write(file, &to_csv(&statement)?)?;
    }
    let Some(place) = &options.report else {
        return Ok(exit);
    };
    let file = outputs::page(place, "bill");
    files::prepare(&file)?;
    outputs::write_page(&file, &html(&statement, &provenance())?, false)?;
    Ok(exit)
}
