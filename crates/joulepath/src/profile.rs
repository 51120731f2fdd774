//! `joulepath profile`: judges calibrated profiles.

use std::fmt::Write as _;
use std::path::Path;

use joulepath_model::scenario::{CalibratedProfile, Finding, judge, read_profile_in};
use joulepath_study::files;
use serde::Serialize;

use crate::cli::{ProfileCheckOptions, ProfileCommand};
use crate::failure::{Exit, Failure};
use crate::show::print_json;
use crate::terminal;

/// Version of the JSON: a change that breaks readers increases it.
const SCHEMA: u32 = 1;
/// Largest profile, bytes.
const MAX_BYTES: u64 = 1 << 20;

/// The judgement as JSON.
#[derive(Serialize)]
struct Json<'a> {
    schema: u32,
    file: &'a Path,
    problems: usize,
    findings: &'a [Finding],
}

/// Runs the command.
///
/// # Errors
/// If the file cannot be read, or is no profile.
pub(crate) fn profile(command: &ProfileCommand) -> Result<Exit, Failure> {
    let ProfileCommand::Check(options) = command;
    check(options)
}

fn check(ProfileCheckOptions { file, json }: &ProfileCheckOptions) -> Result<Exit, Failure> {
    let name = file.display().to_string();
    let text = files::read_text(file, MAX_BYTES)
        .map_err(|error| Failure::usage(format!("cannot read the profile {name}: {error}")))?;
    let profile = read_profile_in(&text, &name)
        .map_err(|(why, help)| Failure::usage(format!("this is no profile: {why}")).help(help))?;
    let findings = judge(&profile);
    let problems = findings.iter().filter(|finding| finding.is_problem).count();
    match json {
        true => print_json(&Json { schema: SCHEMA, file, problems, findings: &findings })?,
        false => terminal::print(&said(&name, &profile, &findings, problems))?,
    };
    Ok(if problems == 0 { Exit::Ok } else { Exit::Failed })
}

fn said(name: &str, profile: &CalibratedProfile, findings: &[Finding], problems: usize) -> String {
    let unknown = || "unknown".to_owned();
    let text = |value: &Option<String>| value.clone().unwrap_or_else(unknown);
    let signal = profile.signal.map_or_else(unknown, |[low, high]| format!("{low} to {high}"));
    let mut page = String::new();
    for (key, value) in [
        ("device", text(&profile.device)),
        ("radio", text(&profile.radio)),
        ("firmware", text(&profile.firmware)),
        ("signal", signal),
        ("measured", format!("{} with {}", profile.date, profile.meter)),
    ] {
        let _ = writeln!(page, "{key:10}{value}");
    }
    page.push('\n');
    for Finding { is_problem, what, help } in findings {
        let kind = if *is_problem { "problem" } else { "remark" };
        page += &(terminal::wrapped(&format!("{kind}: {what}; {help}"), "  ") + "\n");
    }
    let verdict = match problems {
        0 => format!("{name} can be used by others at this signal."),
        1 => format!("{name} has 1 problem."),
        count => format!("{name} has {count} problems."),
    };
    page + &(terminal::wrapped(&verdict, "  ") + "\n")
}
