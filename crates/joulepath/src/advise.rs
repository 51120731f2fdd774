//! `joulepath advise`: which interfaces for a transfer, without simulating anything.
//!
//! | module | what |
//! |---|---|
//! | `question` | the options as a question |
//! | `table` | the answer for a terminal |
//! | `machine` | the answer as JSON |
//! | `page` | the answer as an HTML page |

mod machine;
mod page;
mod question;
mod table;

use joulepath_control::advise::{Impossible, Question, Within, advise as answer, significant};
use joulepath_report::advice_html;

use crate::cli::AdviseOptions;
use crate::failure::{Exit, Failure};
use crate::outputs;
use crate::show::print_json;
use crate::terminal;

/// Runs the command.
///
/// # Errors
/// If an option is wrong, nothing meets the demand, or the page cannot be written.
pub(crate) fn advise(options: &AdviseOptions) -> Result<Exit, Failure> {
    let question = question::parse(options)?;
    let advice = answer(&question).map_err(|error| impossible(&question, &error))?;
    let exit = match options.json {
        true => print_json(&machine::Answer::of(&question, &advice))?,
        false => terminal::print(&table::text(&question, &advice))?,
    };
    let Some(place) = &options.report else { return Ok(exit) };
    let file = outputs::page(place, "advice");
    outputs::make_folder(&file)?;
    let html = advice_html(&page::of(options, &question, &advice))
        .map_err(|error| Failure::new(Exit::Failed, error))?;
    outputs::write(&file, &html)?;
    match options.json {
        // stdout is for programs.
        true => terminal::say(&format!("report: {}", file.display())),
        false => drop(terminal::print(&format!("report: {}\n", file.display()))?),
    }
    Ok(exit)
}

fn impossible(question: &Question, error: &Impossible) -> Failure {
    match (error, question.within) {
        (Impossible::Deadline { fastest_s }, Within::Deadline(deadline)) => {
            Failure::usage(format!("--deadline {deadline} cannot be met: {error}"))
                .help(format!("give at least --deadline {:.3}s, or a smaller --size", fastest_s + 0.0005))
        }
        (Impossible::Rate { most_bps }, Within::Rate(rate)) => {
            let most = format!("{}Mbit/s", significant(most_bps * 0.995 / 1e6));
            Failure::usage(format!("--rate {rate} is more than the paths carry: {error}"))
                .help(format!("ask for at most --rate {most}, or add a --path"))
        }
        _ => Failure::usage(error),
    }
}
