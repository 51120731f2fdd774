//! `joulepath profile`: judges calibrated profiles.

use std::path::Path;

use joulepath_model::scenario::{Finding, judge, read_profile_in};
use joulepath_report::judgement;
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
        true => print_json(&Json {
            schema: SCHEMA,
            file,
            problems,
            findings: &findings,
        })?,
        false => terminal::print(&judgement(&name, &profile, &findings, &|text| {
            terminal::wrapped(text, "  ")
        }))?,
    };
    Ok(if problems == 0 {
        Exit::Ok
    } else {
        Exit::Failed
    })
}
