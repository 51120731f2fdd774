//! Controllers of users: `compare --cc`, `cc new`, `cc check`.

use std::path::{Path, PathBuf};

use joulepath_model::policy::Policy;
use joulepath_study::files;
use joulepath_study::own;
use serde_json::json;

use crate::cli::cc::{CcCheckOptions, CcNewOptions};
use crate::failure::{Exit, Failure};
use crate::show::print_json;
use crate::terminal;

/// Compiles and loads the headers; each is a policy under its name from then on.
///
/// # Errors
/// If one of them cannot be compiled, or does not keep to the contract.
pub(crate) fn load(headers: &[PathBuf], quiet: bool) -> Result<Vec<Policy>, Failure> {
    let mut policies = vec![];
    for header in headers {
        let own = own::load(header)?;
        if !quiet {
            own.warnings.iter().for_each(|warning| terminal::say(warning));
        }
        let policy = own.controller.name().parse().expect("the name of a controller is a policy");
        if !policies.contains(&policy) {
            policies.push(policy);
        }
    }
    Ok(policies)
}

/// Writes a new header.
///
/// # Errors
/// If there is such a file, or a controller cannot have this name.
pub(crate) fn new(options: &CcNewOptions) -> Result<Exit, Failure> {
    let text = own::template(&options.name)?;
    let file = PathBuf::from(format!("{}.h", options.name));
    if file.exists() {
        return Err(Failure::message(Exit::Failed, format!("{} is there already", file.display()))
            .help("give it another name, or move the file away"));
    }
    files::write(&file, &text)?;
    terminal::print(&format!(
        "{0}\n\njoulepath cc check {0}\njoulepath compare home-wifi-lte --cc {0}\n",
        file.display()
    ))
}

/// Tries the properties that our own controllers have.
///
/// # Errors
/// If the header cannot be compiled.
pub(crate) fn check(options: &CcCheckOptions) -> Result<Exit, Failure> {
    let checked = own::check::check(&options.header)?;
    let exit = if checked.passes() { Exit::Ok } else { Exit::Failed };
    if options.json {
        let finding = |finding: &own::check::Finding| {
            let own::check::Finding { property, trouble } = finding;
            json!({ "property": property, "holds": trouble.is_none(), "trouble": trouble })
        };
        let findings: Vec<_> = checked.findings.iter().map(finding).collect();
        print_json(&json!({
            "controller": checked.name,
            "passes": checked.passes(),
            "findings": findings,
            "warnings": checked.warnings,
        }))?;
        return Ok(exit);
    }
    let line = |finding: &own::check::Finding| match &finding.trouble {
        None => format!("ok    {}\n", finding.property),
        Some(trouble) => format!("WRONG {}\n      {trouble}\n", finding.property),
    };
    let lines: String = checked.findings.iter().map(line).collect();
    let warnings: String = checked.warnings.iter().map(|warning| format!("{warning}\n")).collect();
    terminal::print(&format!("{}\n{lines}{warnings}", name(&options.header)))?;
    Ok(exit)
}

fn name(header: &Path) -> String {
    header.display().to_string()
}
