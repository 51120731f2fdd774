//! Users' own controllers: `compare --cc`, `cc new`, `cc check`, `cc load FILE`.

use std::path::{Path, PathBuf};

#[cfg(feature = "kernel")]
use joulepath_controllers::Controller;
use joulepath_model::policy::Policy;
use joulepath_study::engine::EngineName;
use joulepath_study::files;
use joulepath_study::own::{self, kernel::Verdict};
use serde_json::json;

use crate::cli::cc::{CcCheckOptions, CcNewOptions};
use crate::failure::{Exit, Failure};
use crate::show::print_json;
use crate::terminal;

/// The verifier's check, worded as the other properties.
const VERIFIER: &str = "the kernel's verifier takes it";

/// Compiles and loads the headers. Each becomes a policy with its name.
///
/// Under `sudo`, gives up root's rights if this process runs their code.
///
/// # Errors
/// If one does not compile or breaks the contract.
pub(crate) fn load(
    headers: &[PathBuf],
    engine: EngineName,
    quiet: bool,
) -> Result<Vec<Policy>, Failure> {
    // The kernel engine needs root and runs none of their native code.
    if !headers.is_empty() && engine != EngineName::Kernel && own::acts_for_another()? {
        own::give_up_root()?;
    }
    let mut policies = vec![];
    for header in headers {
        let own = own::load(header)?;
        if !quiet {
            own.warnings
                .iter()
                .for_each(|warning| terminal::say(warning));
        }
        let policy = own
            .controller
            .name()
            .parse()
            .expect("the name of a controller is a policy");
        if !policies.contains(&policy) {
            policies.push(policy);
        }
    }
    Ok(policies)
}

/// True for a header (`./mine.h`), false for a name.
#[cfg(feature = "kernel")]
pub(crate) fn is_header(argument: &str) -> bool {
    argument.contains('/') || argument.ends_with(".h")
}

/// The name of the controller in a header.
///
/// # Errors
/// If the file's name is no valid name.
#[cfg(feature = "kernel")]
pub(crate) fn name_of(header: &Path) -> Result<String, Failure> {
    Ok(own::name_of(header)?)
}

/// Compiles a header for this process and for the kernel.
///
/// # Errors
/// If it does not compile, breaks the contract, or has the name of a shipped controller.
#[cfg(feature = "kernel")]
pub(crate) fn load_for_kernel(header: &Path) -> Result<Controller, Failure> {
    let own = own::kernel::load(header)?;
    own.warnings
        .iter()
        .for_each(|warning| terminal::say(warning));
    Ok(own.controller)
}

/// Writes a new header.
///
/// # Errors
/// If the file exists, or the name is not valid.
pub(crate) fn new(options: &CcNewOptions) -> Result<Exit, Failure> {
    let text = own::template(&options.name)?;
    let file = PathBuf::from(format!("{}.h", options.name));
    if file.exists() {
        return Err(Failure::usage(format!("{} exists", file.display()))
            .help("give it another name, or move the file away"));
    }
    files::write(&file, &text)?;
    terminal::print(&format!(
        "{0}\n\njoulepath cc check {0}\njoulepath compare home-wifi-lte --cc {0}\n\
         sudo joulepath cc load ./{0}\n",
        file.display()
    ))
}

/// Checks a header's properties, and asks the kernel's verifier.
///
/// # Errors
/// If the header cannot be compiled.
pub(crate) fn check(options: &CcCheckOptions) -> Result<Exit, Failure> {
    let check = own::check::Check::of(&options.header)?;
    // The verifier needs root; the header's hooks must not have it.
    let verdict = own::kernel::verdict(&options.header)?;
    own::give_up_root()?;
    let checked = check.run();
    let passes = checked.passes() && !matches!(verdict, Verdict::Refused(_));
    let exit = if passes { Exit::Ok } else { Exit::Failed };
    if options.json {
        let finding = |finding: &own::check::Finding| {
            let own::check::Finding { property, trouble } = finding;
            json!({ "property": property, "holds": trouble.is_none(), "trouble": trouble })
        };
        let findings: Vec<_> = checked.findings.iter().map(finding).collect();
        print_json(&json!({
            "controller": checked.name,
            "passes": passes,
            "findings": findings,
            "verifier": match &verdict {
                Verdict::Taken => json!({ "takes_it": true, "why": null }),
                Verdict::Refused(why) => json!({ "takes_it": false, "why": why }),
                Verdict::NotAsked(why) => json!({ "takes_it": null, "why": why }),
            },
            "warnings": checked.warnings,
        }))?;
        return Ok(exit);
    }
    let line = |finding: &own::check::Finding| match &finding.trouble {
        None => format!("ok    {}\n", finding.property),
        Some(trouble) => format!("WRONG {}\n      {trouble}\n", finding.property),
    };
    let lines: String = checked.findings.iter().map(line).collect();
    let verdict = match verdict {
        Verdict::Taken => format!("ok    {VERIFIER}\n"),
        Verdict::Refused(why) => format!("WRONG {VERIFIER}\n      {why}\n"),
        Verdict::NotAsked(why) => format!("–     {VERIFIER}: not asked\n      {why}\n"),
    };
    let warnings: String = checked
        .warnings
        .iter()
        .map(|warning| format!("{warning}\n"))
        .collect();
    terminal::print(&format!(
        "{}\n{lines}{verdict}{warnings}",
        name(&options.header)
    ))?;
    Ok(exit)
}

fn name(header: &Path) -> String {
    header.display().to_string()
}
