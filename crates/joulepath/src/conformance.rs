//! `joulepath cc test`: test cases for congestion controllers.

use std::path::Path;

use joulepath_controllers::Controller;
use joulepath_report::conformance::{Judged, Verdict, table};
use joulepath_study::conformance::{self, Suite};
use joulepath_study::engine::EngineName;
use serde_json::json;

use crate::cli::cc::CcTestOptions;
use crate::failure::{Exit, Failure};
use crate::interrupt;
use crate::own;
use crate::show::print_json;
use crate::terminal;

/// Runs the command.
///
/// # Errors
/// If the controller or a suite is unknown or wrong, or a case cannot run.
pub(crate) fn test(options: &CcTestOptions) -> Result<Exit, Failure> {
    let controller = controller(options)?;
    let suites = match options.cases.as_slice() {
        [] => conformance::shipped()
            .filter(|suite| suite.is_for(controller))
            .collect(),
        named => named
            .iter()
            .map(|name| Ok(conformance::suite(name)?))
            .collect::<Result<Vec<_>, Failure>>()?,
    };
    let cancel = interrupt::token();
    let mut all: Vec<(Suite, Vec<Judged>)> = vec![];
    for suite in suites {
        let judged = conformance::run(&suite, controller, &options.only, &cancel)?;
        all.push((suite, judged));
    }
    let judged = || all.iter().flat_map(|(_, judged)| judged);
    let exit = if judged().all(Judged::holds) {
        Exit::Ok
    } else {
        Exit::Failed
    };
    if options.json {
        print_json(&json!({
            "controller": controller.name(),
            "holds": exit == Exit::Ok,
            "cases": judged().map(as_json).collect::<Vec<_>>(),
        }))?;
        return Ok(exit);
    }
    let suites: Vec<(&str, &[Judged])> = all
        .iter()
        .map(|(suite, judged)| (suite.title.as_str(), judged.as_slice()))
        .collect();
    let text = table(controller.name(), &suites);
    terminal::print(&text)?;
    Ok(exit)
}

/// The controller of this name or file. Under `sudo`, code of a file runs without root's rights.
fn controller(options: &CcTestOptions) -> Result<Controller, Failure> {
    let name = &options.controller;
    if !name.contains('/') && Path::new(name).extension().is_none() {
        return Controller::by_name(name).map_err(|error| {
            Failure::new(Exit::Usage, error)
                .help("name a controller, or a file: `mine.h`, `mine.rules`")
        });
    }
    let policies = own::load(&[name.into()], EngineName::Packet, options.json)?;
    let policy = policies
        .first()
        .map(ToString::to_string)
        .unwrap_or_default();
    Controller::by_name(&policy).map_err(|error| Failure::new(Exit::Usage, error))
}

fn as_json(judged: &Judged) -> serde_json::Value {
    let check = |verdict: &Verdict| {
        json!({"says": verdict.says, "holds": verdict.holds, "measured": verdict.measured,
            "limit": verdict.limit})
    };
    json!({"suite": judged.suite, "case": judged.case, "title": judged.title, "source": judged.source,
        "holds": judged.holds(), "checks": judged.verdicts.iter().map(check).collect::<Vec<_>>()})
}
