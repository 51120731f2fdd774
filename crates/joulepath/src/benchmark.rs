//! `joulepath benchmark`: policies on families of scenarios.

use std::path::Path;
use std::time::SystemTime;

use joulepath_report::benchmark::{
    Benchmark, Kind, front, html, markdown, marks, short_markdown, table,
};
use joulepath_study::benchmark::{Plan, SealedLog, benchmark as run, day_and_time, scenario_files};
use joulepath_study::engine::{self, EngineName, EngineOptions};
use joulepath_study::stored::StoredRuns;
use joulepath_study::{files, marks as pages};

use crate::cli::BenchmarkOptions;
use crate::failure::{Exit, Failure};
use crate::interrupt;
use crate::outputs::{self, is_stdout};
use crate::progress::Watcher;
use crate::provenance::provenance;
use crate::terminal;

/// Name of the page.
const STEM: &str = "benchmark";

/// Runs the command.
///
/// # Errors
/// If it cannot start. A run that fails later is reported and left out.
pub(crate) fn benchmark(options: &BenchmarkOptions) -> Result<Exit, Failure> {
    let plan = Plan::of(&options.request)?;
    if let Some(folder) = &options.write {
        return write(&plan, folder);
    }
    check(options, &plan)?;
    let engine = engine::open(EngineName::Packet, &EngineOptions::default())?;
    let by = provenance();
    let mut stored = options
        .runs
        .as_deref()
        .map(|path| StoredRuns::open(path, &by.commit))
        .transpose()?;
    let now = || day_and_time(SystemTime::now());
    let begin = |path| SealedLog::begin(path, &plan, &by.commit, &now(), options.again.as_deref());
    let log = options.sealed_log.as_deref().map(begin).transpose()?;
    let cancel = interrupt::token();
    let mut watcher = Watcher::new(options.quiet);
    if let Some(note) = stored
        .as_ref()
        .and_then(StoredRuns::note)
        .filter(|_| !options.quiet)
    {
        terminal::tell(&format!("note: {note}"));
    }
    let sealed = log.as_ref().map(SealedLog::sealed);
    let found = run(
        &plan,
        sealed,
        &*engine,
        stored.as_mut(),
        &by,
        &mut |event| watcher.hear(event),
        &cancel,
    )?;
    watcher.finish();
    if let Some(log) = log.filter(|_| !found.extent.partial) {
        log.end(&found.json()?, &now())?;
    }
    tell(options, &found)?;
    Ok(if found.extent.partial {
        Exit::Partial
    } else {
        Exit::Ok
    })
}

/// Writes the random scenarios, and prints the names of their files.
fn write(plan: &Plan, folder: &Path) -> Result<Exit, Failure> {
    let mut said = String::new();
    for (name, text) in scenario_files(plan)? {
        let file = folder.join(name);
        files::prepare(&file)?;
        files::write(&file, &text)?;
        if file
            .extension()
            .is_some_and(|extension| extension == "toml")
        {
            said += &format!("{}\n", file.display());
        }
    }
    terminal::print(&said)?;
    Ok(Exit::Ok)
}

/// Checks before the runs that all files can be written and that sealed scenarios have a log.
fn check(options: &BenchmarkOptions, plan: &Plan) -> Result<(), Failure> {
    match (plan.is_sealed(), &options.sealed_log) {
        (true, None) => {
            return Err(Failure::usage("sealed scenarios are run with a log: when, and at which commit")
                .help("name it: --sealed-log results/benchmark-sealed.jsonl; else there is --random check"));
        }
        (false, Some(_)) => {
            return Err(Failure::usage("--sealed-log is for sealed scenarios")
                .help("add --random sealed, or leave it out"));
        }
        _ => {}
    }
    if options.front.is_some() && plan.kind == Kind::Random {
        return Err(Failure::usage("--front is for ranked families")
            .help("--report writes a page with the tables of random families"));
    }
    let names = marks(plan.set.map(|set| set.name()));
    let names: Vec<&str> = names.iter().flatten().map(String::as_str).collect();
    for page in &options.markdown {
        pages::check(page, &names)?;
    }
    let page = options
        .report
        .as_deref()
        .map(|place| outputs::page(place, STEM));
    outputs::check_csv(options.csv.as_deref(), options.json)?;
    let csv = options.csv.as_deref().filter(|file| !is_stdout(file));
    let written = [options.front.as_deref(), csv, page.as_deref()];
    Ok(written.into_iter().flatten().try_for_each(files::prepare)?)
}

fn tell(options: &BenchmarkOptions, found: &Benchmark) -> Result<(), Failure> {
    let [short, full] = marks(found.extent.random_set.as_deref());
    let (short_text, full_text) = (short_markdown(found), markdown(found));
    let tables = [(short, &short_text), (full, &full_text)];
    let tables: Vec<(&str, &str)> = tables
        .iter()
        .filter_map(|(name, text)| Some((name.as_deref()?, text.as_str())))
        .collect();
    for page in &options.markdown {
        pages::write_known(page, &tables)?;
    }
    if let Some(file) = &options.front {
        let svg = front(found).ok_or_else(|| {
            Failure::usage(
                "no policy has run where goodput depends on it, so that there is no front to draw",
            )
            .help("leave --front out, or take another family, such as bulk")
        })?;
        files::write(file, &svg)?;
    }
    let width = if options.wide {
        usize::MAX
    } else {
        terminal::stdout().0
    };
    let for_programs = options.json || options.csv.as_deref().is_some_and(is_stdout);
    match options.json {
        true => drop(terminal::data(&found.json()?)?),
        false if for_programs => {}
        false => drop(terminal::print(&table(
            found,
            width,
            "`--wide` shows them.",
        ))?),
    }
    if let Some(file) = &options.csv {
        outputs::write_csv(file, &found.csv()?, options.quiet)?;
    }
    if let Some(place) = &options.report {
        outputs::write_page(&outputs::page(place, STEM), &html(found)?, options.quiet)?;
    }
    Ok(())
}
