//! `joulepath doctor`: what this machine can run, what is missing, and the fix.

use std::path::Path;

use joulepath_console::doctor::text;
use joulepath_kernel::probe::{self, Machine, RAPL_RULE, Report, Verdict};
use joulepath_live::leaks;
use serde::Serialize;

use crate::cli::DoctorOptions;
use crate::cli::live::SOCKET;
use crate::failure::{Exit, Failure};
use crate::show::print_json;
use crate::terminal;

/// Version of the JSON: a change that breaks readers increases it.
const SCHEMA: u32 = 1;

/// Runs the command.
pub(crate) fn doctor(options: &DoctorOptions) -> Result<Exit, Failure> {
    if options.udev_rule {
        return terminal::print(RAPL_RULE);
    }
    let mut report = probe::examine(&Machine::default());
    report
        .facts
        .push(leaks::fact(Path::new(SOCKET), report.root));
    match options.json {
        true => print_json(&Json {
            schema: SCHEMA,
            report: &report,
        })?,
        false => {
            let (width, color) = terminal::stdout();
            terminal::print(&text(&report, width, color))?
        }
    };
    Ok(exit(report.kernel_engine))
}

#[derive(Serialize)]
struct Json<'a> {
    schema: u32,
    #[serde(flatten)]
    report: &'a Report,
}

fn exit(verdict: Verdict) -> Exit {
    match verdict {
        Verdict::Ready => Exit::Ok,
        Verdict::Missing => Exit::Unsupported,
        Verdict::Denied => Exit::Permission,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_are_those_of_every_command() {
        let codes = [Verdict::Ready, Verdict::Missing, Verdict::Denied].map(exit);
        assert_eq!(codes, [Exit::Ok, Exit::Unsupported, Exit::Permission]);
    }
}
