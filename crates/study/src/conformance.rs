//! Test cases for congestion controllers: scenarios and checks as data, judged on the controller's
//! course.
//!
//! | module | content |
//! |---|---|
//! | `suite` | the file: a scenario, cases that change it, checks |
//! | `course` | a run, sampled; changes when the controller enters a state |
//! | `verdict` | a check against a course |
//! | `names` | states, values and instants |
//!
//! Suites that are part of this library are in `cases/`.

mod course;
mod names;
mod suite;
#[cfg(test)]
mod tests;
mod verdict;

use std::path::Path;

use joulepath_controllers::Controller;
use joulepath_files::By;
use joulepath_model::cancel::Cancel;
use joulepath_model::names::suggest;
use joulepath_report::conformance::Judged;

pub use suite::{Case, Suite};

use crate::error::{Error, Kind, Result};
use crate::parallel;
use crate::source::{Text, not_shown};

/// Names and texts of the suites of this library, sorted by name.
static SUITES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/cases.rs"));

/// The suites of this library.
pub fn shipped() -> impl Iterator<Item = Suite> {
    SUITES.iter().map(|(name, text)| {
        Suite::parse(name, text).expect("the suites of this library are tested")
    })
}

/// A suite by its name in this library, or by its file.
///
/// # Errors
/// If there is neither, or it has a mistake, with its line.
pub fn suite(argument: &str) -> Result<Suite> {
    if let Some((name, text)) = SUITES.iter().find(|(name, _)| *name == argument) {
        return Suite::parse(name, text);
    }
    let known: Vec<&str> = SUITES.iter().map(|(name, _)| *name).collect();
    let unknown = || {
        Error::usage(format!("no suite of cases `{argument}`")).with_help(format!(
            "name a file, or a suite: {}",
            suggest(argument, &known)
        ))
    };
    let text =
        Text::read(Path::new(argument), "suite of cases", By::Argument)?.ok_or_else(unknown)?;
    Suite::parse(argument, &text.text).map_err(|error| match text.may_be_quoted {
        true => error,
        false => not_shown(argument),
    })
}

/// Runs the cases of `suite` that apply to `controller`; `only`: those with one of these names.
///
/// # Errors
/// If no case applies, a case cannot run, or it checks a state or a value that the controller does
/// not show.
pub fn run(
    suite: &Suite,
    controller: Controller,
    only: &[String],
    cancel: &Cancel,
) -> Result<Vec<Judged>> {
    let names: Vec<&str> = suite.cases.iter().map(|case| case.name.as_str()).collect();
    if let Some(unknown) = only.iter().find(|wanted| !names.contains(&wanted.as_str())) {
        return Err(
            Error::usage(format!("`{}` has no case `{unknown}`", suite.name))
                .with_help(suggest(unknown, &names)),
        );
    }
    let wanted = |case: &&Case| only.is_empty() || only.contains(&case.name);
    let cases: Vec<&Case> = suite.cases.iter().filter(wanted).collect();
    cases
        .iter()
        .try_for_each(|case| suite.check(case, controller))?;
    let judge = |case: &&Case| {
        let verdicts = verdict::judge(suite, case, controller, cancel)?;
        Ok(Judged {
            suite: suite.name.clone(),
            case: case.name.clone(),
            title: case.title.clone(),
            source: suite.source_of(case),
            verdicts,
        })
    };
    let done = parallel::run(
        &cases,
        parallel::cores(None),
        cancel,
        |case, _: &dyn Fn(())| judge(case),
        |_, _| {},
    );
    if cancel.is_set() {
        return Err(Error::Unsupported {
            message: "the cases were stopped".to_owned(),
            help: "run the command again".to_owned(),
        });
    }
    let failed = |why| Error::Refused {
        doing: "a case could not run".to_owned(),
        why,
        help: "report it".to_owned(),
        kind: Kind::Failed,
    };
    done.into_iter()
        .map(|(_, judged)| judged.map_err(failed)?)
        .collect()
}
