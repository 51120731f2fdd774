//! `joulepath why`: what holds connections back.

use std::path::Path;
use std::time::Duration;

use joulepath_console::why::{daemon, text};
use joulepath_study::{files, remedy};
use joulepath_why::gather;
use joulepath_why::observation::{Observation, SCHEMA};
use joulepath_why::report::{Report, examine};
use joulepath_why::wanted::{NotWanted, Wanted};
use serde::Serialize;

use crate::cli::WhyOptions;
use crate::cli::live::SOCKET;
use crate::failure::{Exit, Failure};
use crate::show::print_json;
use crate::terminal;

/// Largest record: it holds all sockets of a machine some twenty times.
const MOST_BYTES: u64 = 1 << 30;

/// Runs the command.
///
/// # Errors
/// If the kernel cannot list connections, or the file is no record.
pub(crate) fn why(options: &WhyOptions) -> Result<Exit, Failure> {
    let wanted = wanted(options)?;
    loop {
        let seen = match &options.read {
            Some(file) => read(file)?,
            None => {
                let mut seen = gather::watch(Duration::from_secs(options.seconds))?;
                seen.host.daemon = daemon(Path::new(SOCKET));
                seen
            }
        };
        if let Some(file) = &options.record {
            files::write_own(file, &line(&seen)?)?;
        }
        let report = examine(&seen, |subject| wanted.has(subject), &mut remedy::predict);
        print(&report, options)?;
        if !options.watch {
            return Ok(if report.has_found() {
                Exit::Found
            } else {
                Exit::Ok
            });
        }
    }
}

fn print(report: &Report, options: &WhyOptions) -> Result<(), Failure> {
    match (options.json, options.watch) {
        (true, false) => print_json(report)?,
        (true, true) => terminal::data(&line(report)?)?,
        (false, _) => terminal::print(&text(report, terminal::stdout().0, options.all))?,
    };
    Ok(())
}

fn line(value: &impl Serialize) -> Result<String, Failure> {
    let line = serde_json::to_string(value).map_err(|error| Failure::new(Exit::Failed, error))?;
    Ok(line + "\n")
}

fn read(file: &Path) -> Result<Observation<'static>, Failure> {
    let text = files::read_text(file, MOST_BYTES);
    let text =
        text.map_err(|error| Failure::io(format!("cannot read {}", file.display()), error))?;
    let wrong = |why: String| {
        Failure::usage(format!(
            "{} is not what `joulepath why --record` writes: {why}",
            file.display()
        ))
        .help(format!(
            "write it anew: sudo joulepath why --record {}",
            file.display()
        ))
    };
    let seen: Observation<'_> =
        serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    match (seen.schema, seen.samples.len()) {
        (SCHEMA, 2..) => Ok(seen),
        (SCHEMA, _) => Err(wrong("it has fewer than two samples".into())),
        (other, _) => Err(wrong(format!(
            "its schema is {other}, this version reads {SCHEMA}"
        ))),
    }
}

fn wanted(options: &WhyOptions) -> Result<Wanted, Failure> {
    let Some(what) = &options.what else {
        return Ok(if options.all {
            Wanted::All
        } else {
            Wanted::Busy
        });
    };
    Wanted::of(what).map_err(|why_not| match why_not {
        NotWanted::Malformed => Failure::usage(format!("`{what}` is neither a process id nor an address"))
            .help(
                "for example: joulepath why 1234, joulepath why 192.0.2.7, joulepath why '[2001:db8::1]:443'",
            ),
        NotWanted::NoSocket => {
            Failure::message(Exit::Permission, format!("no socket of process {what} is visible"))
                .help("it has none, or it belongs to another user: use sudo")
        }
        NotWanted::NoProcess => Failure::usage(format!("there is no process {what}"))
            .help("`pidof NAME` prints the process ids of a program"),
    })
}
