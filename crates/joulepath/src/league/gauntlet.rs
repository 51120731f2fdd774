//! `joulepath league --family gauntlet`: policies on drawn scenarios, by median, worst tenth and worst draw.

use std::path::Path;
use std::time::SystemTime;

use joulepath_report::gauntlet::{Gauntlet, html, mark, markdown, table};
use joulepath_study::league::gauntlet::{DRAWS_CHECK, Request, gauntlet as run};
use joulepath_study::league::{Family, Range, SealedLog, day_and_time, drawn_of_gauntlet};
use joulepath_study::marks;
use joulepath_study::stored::StoredRuns;
use joulepath_study::{files, policies};

use super::drawn;
use crate::cli::{Engine, LeagueOptions};
use crate::engine;
use crate::failure::{Exit, Failure};
use crate::interrupt;
use crate::outputs;
use crate::progress::Watcher;
use crate::provenance::provenance;
use crate::terminal;

/// Name of the page.
const STEM: &str = "gauntlet";

/// Runs the command on `families` of the gauntlet.
///
/// # Errors
/// Whatever keeps it from starting. A run that fails later is said, and missing.
pub(super) fn gauntlet(options: &LeagueOptions, families: Vec<Family>) -> Result<Exit, Failure> {
    refuse_of_league(options)?;
    let range = options.range.as_deref().map_or(Ok(Range::Train), str::parse)?;
    let request = Request {
        families,
        range,
        first: options.first.unwrap_or(1),
        draws: options.draws.unwrap_or(DRAWS_CHECK),
        policies: options.policies.as_deref().map_or(Ok(vec![]), policies::parse)?,
        warm: options.warm.as_deref().map_or(Ok(vec![]), policies::parse)?,
        seeds: options.seeds,
        jobs: options.jobs,
    };
    if let Some(folder) = &options.write {
        return write(&request, folder);
    }
    check(options, &request)?;
    let engine = engine::open(Engine::Packet, None)?;
    let by = provenance();
    let mut stored = options.runs.as_deref().map(|path| StoredRuns::open(path, &by.commit)).transpose()?;
    let log = options.sealed_log.as_deref().map(|path| {
        SealedLog::begin(path, &request, &by.commit, &day_and_time(SystemTime::now()), options.again)
    });
    let log = log.transpose()?;
    let cancel = interrupt::token();
    let mut watcher = Watcher::new(options.quiet);
    if let Some(note) = stored.as_ref().and_then(StoredRuns::note).filter(|_| !options.quiet) {
        terminal::tell(&format!("note: {note}"));
    }
    let seal = log.as_ref().map(SealedLog::seal);
    let found =
        run(&request, seal, &*engine, stored.as_mut(), &by, &mut |event| watcher.hear(event), &cancel)?;
    watcher.finish();
    if let Some(log) = log.filter(|_| !found.partial) {
        log.end(&found.json()?, &day_and_time(SystemTime::now()))?;
    }
    tell(options, &found)?;
    Ok(if found.partial { Exit::Partial } else { Exit::Ok })
}

/// Options that say nothing to the gauntlet.
fn refuse_of_league(options: &LeagueOptions) -> Result<(), Failure> {
    let given = [
        ("--quick", options.quick, "--draws 2 is quick"),
        ("--seed", options.seed.is_some(), "its draws come in ranges: --range train, check or sealed"),
        ("--front", options.front.is_some(), "--report writes a page with its tables"),
    ];
    match given.into_iter().find(|(_, given, _)| *given) {
        None => Ok(()),
        Some((option, _, help)) => {
            Err(Failure::usage(format!("{option} is not for the families of the gauntlet")).help(help))
        }
    }
}

/// Writes the drawn scenarios, but for the sealed ones.
fn write(request: &Request, folder: &Path) -> Result<Exit, Failure> {
    if request.range == Range::Sealed {
        return Err(Failure::usage("sealed draws are not for reading")
            .help("nothing can be tuned on what nobody has seen; write those of --range check"));
    }
    drawn::write(drawn_of_gauntlet(request), folder)
}

/// What is to be written can be written, and what is sealed has a log: errors come before the runs.
fn check(options: &LeagueOptions, request: &Request) -> Result<(), Failure> {
    match (request.range, &options.sealed_log) {
        (Range::Sealed, None) => {
            return Err(Failure::usage("sealed draws are run with a log that says when and at which commit")
                .help("name it: --sealed-log results/gauntlet-sealed.jsonl; else there is --range check"));
        }
        (Range::Train | Range::Check, Some(_)) => {
            return Err(Failure::usage("--sealed-log is for sealed draws")
                .help("add --range sealed, or leave it out"));
        }
        _ => {}
    }
    for page in &options.markdown {
        marks::check(page, &[&mark(request.range.name(), request.first)])?;
    }
    let page = options.report.as_deref().map(|place| outputs::page(place, STEM));
    Ok([options.csv.as_deref(), page.as_deref()].into_iter().flatten().try_for_each(files::prepare)?)
}

fn tell(options: &LeagueOptions, found: &Gauntlet) -> Result<(), Failure> {
    for page in &options.markdown {
        marks::write_known(page, &[(&mark(&found.range, found.first_draw), &markdown(found))])?;
    }
    if let Some(file) = &options.csv {
        files::write(file, &found.csv()?)?;
    }
    match options.json {
        true => terminal::data(&found.json()?)?,
        false => terminal::print(&table(found, terminal::stdout().0))?,
    };
    if let Some(place) = &options.report {
        outputs::write_page(&outputs::page(place, STEM), &html(found)?, options.json, options.quiet)?;
    }
    Ok(())
}
