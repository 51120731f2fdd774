//! `joulepath cc test`: test cases for congestion controllers.

use std::path::Path;

use joulepath_controllers::Controller;
use joulepath_study::conformance::{self, Judged, Suite};
use serde_json::json;

use crate::cli::Engine;
use crate::cli::cc::CcTestOptions;
use crate::failure::{Exit, Failure};
use crate::interrupt;
use crate::own;
use crate::show::print_json;
use crate::terminal;

/// Width of a table.
const WIDTH: usize = 80;
/// Width of the column of names, and of the text behind it.
const NAME: usize = 8;

/// Runs the command.
///
/// # Errors
/// If the controller or a suite is unknown or wrong, or a case cannot run.
pub(crate) fn test(options: &CcTestOptions) -> Result<Exit, Failure> {
    let controller = controller(options)?;
    let suites = match options.cases.as_slice() {
        [] => conformance::shipped().filter(|suite| suite.is_for(controller)).collect(),
        named => {
            named.iter().map(|name| Ok(conformance::suite(name)?)).collect::<Result<Vec<_>, Failure>>()?
        }
    };
    let cancel = interrupt::token();
    let mut all: Vec<(Suite, Vec<Judged>)> = vec![];
    for suite in suites {
        let judged = conformance::run(&suite, controller, &options.only, &cancel)?;
        all.push((suite, judged));
    }
    let judged = || all.iter().flat_map(|(_, judged)| judged);
    let exit = if judged().all(Judged::holds) { Exit::Ok } else { Exit::Failed };
    if options.json {
        print_json(&json!({
            "controller": controller.name(),
            "holds": exit == Exit::Ok,
            "cases": judged().map(as_json).collect::<Vec<_>>(),
        }))?;
        return Ok(exit);
    }
    let mut text = String::new();
    for (suite, judged) in &all {
        text += &format!("{}: {}\n{}\n", controller.name(), suite.title, "─".repeat(WIDTH));
        judged.iter().for_each(|judged| text += &rows(judged));
        text.push('\n');
    }
    let failed = judged().filter(|judged| !judged.holds()).count();
    text += &match failed {
        0 => format!("{}: all hold\n", cases(judged().count())),
        failed => format!("{}: {failed} did not hold\n", cases(judged().count())),
    };
    terminal::print(&text)?;
    Ok(exit)
}

/// For example `7 cases`.
fn cases(n: usize) -> String {
    if n == 1 { "1 case".to_owned() } else { format!("{n} cases") }
}

/// The controller of this name or file. Under `sudo`, code of a file runs without root's rights.
fn controller(options: &CcTestOptions) -> Result<Controller, Failure> {
    let name = &options.controller;
    if !name.contains('/') && Path::new(name).extension().is_none() {
        return Controller::by_name(name).map_err(|error| {
            Failure::new(Exit::Usage, error).help("name a controller, or a file: `mine.h`, `mine.rules`")
        });
    }
    let policies = own::load(&[name.into()], Engine::Packet, options.json)?;
    let policy = policies.first().map(ToString::to_string).unwrap_or_default();
    Controller::by_name(&policy).map_err(|error| Failure::new(Exit::Usage, error))
}

fn as_json(judged: &Judged) -> serde_json::Value {
    let check = |verdict: &conformance::Verdict| {
        json!({"says": verdict.says, "holds": verdict.holds, "measured": verdict.measured,
            "limit": verdict.limit})
    };
    json!({"suite": judged.suite, "case": judged.case, "title": judged.title, "source": judged.source,
        "holds": judged.holds(), "checks": judged.verdicts.iter().map(check).collect::<Vec<_>>()})
}

/// A case and its checks, each within [`WIDTH`].
fn rows(judged: &Judged) -> String {
    let word = if judged.holds() { "held" } else { "DID NOT HOLD" };
    let title = textwrap::wrap(&judged.title, WIDTH - NAME - 1 - word.len());
    let mut text = String::new();
    for (k, line) in title.iter().enumerate() {
        let name = if k == 0 { judged.case.as_str() } else { "" };
        let word = if k == 0 { word } else { "" };
        let gap = WIDTH.saturating_sub(NAME + line.chars().count() + word.len());
        text += format!("{name:<NAME$}{line}{}{word}", " ".repeat(gap)).trim_end();
        text.push('\n');
    }
    for verdict in &judged.verdicts {
        let mark = if verdict.holds { "ok" } else { "WRONG" };
        let line = format!("{mark:<5} {}: {} ({})", verdict.says, verdict.measured, verdict.limit);
        let indent = " ".repeat(NAME);
        let further = " ".repeat(NAME + 6);
        text += &textwrap::fill(
            &line,
            textwrap::Options::new(WIDTH).initial_indent(&indent).subsequent_indent(&further),
        );
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_of_the_table_is_wider_than_80_columns() {
        let verdict = conformance::Verdict {
            says: "the greatest window in the interval from enter PROBE_RTT until leave PROBE_RTT".to_owned(),
            holds: false,
            measured: "STARTUP DRAIN DOWN CRUISE REFILL UP DOWN CRUISE REFILL UP DOWN".to_owned(),
            limit: "STARTUP DRAIN DOWN|CRUISE".to_owned(),
        };
        let judged = Judged {
            suite: "bbr3".to_owned(),
            case: "A.10".to_owned(),
            title: "a title that is so long that it does not fit into the line with the word at its end"
                .to_owned(),
            source: String::new(),
            verdicts: vec![verdict],
        };
        let text = rows(&judged);
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        assert!(text.contains("DID NOT HOLD") && text.contains("WRONG"), "{text}");
    }
}
