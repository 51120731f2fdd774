//! `joulepath map`: where in a plane of two scenario keys which policy wins.

use joulepath_report::map::{Map, csv, html, json, table};
use joulepath_study::engine::{self, EngineOptions};
use joulepath_study::event::{Event, FailedRun};
use joulepath_study::files;
use joulepath_study::map::{Plan, map as run};
use joulepath_study::source::Source;

use crate::cli::MapOptions;
use crate::failure::{Exit, Failure};
use crate::interrupt;
use crate::outputs::{self, is_stdout};
use crate::progress::Watcher;
use crate::provenance::provenance;
use crate::scenario::announce;
use crate::terminal;

/// Runs the command.
///
/// # Errors
/// If an option is wrong, or the engine cannot run a scenario of the plane. A run that fails later
/// is reported and left out.
pub(crate) fn map(options: &MapOptions) -> Result<Exit, Failure> {
    let request = &options.request;
    let [engine, packet] = request.engines(|name| engine::open(name, &EngineOptions::default()))?;
    let source = Source::open(&options.scenario)?;
    if !options.quiet {
        announce(&source, &options.scenario);
    }
    let plan = Plan::of(&source, request, &*engine, &*packet)?;
    let stem = format!("{}-map", source.stem());
    let page = options
        .report
        .as_deref()
        .map(|place| outputs::page(place, &stem));
    outputs::check_csv(options.csv.as_deref(), options.json)?;
    let csv = options.csv.as_deref().filter(|file| !is_stdout(file));
    page.as_deref()
        .into_iter()
        .chain(csv)
        .try_for_each(files::prepare)?;
    let cancel = interrupt::token();
    let mut watcher = Watcher::silent_on_failures(options.quiet);
    let mut failures: Vec<FailedRun> = vec![];
    let mut hear = |event: Event<'_>| {
        if let Event::Failed(failed) = &event {
            failures.push((*failed).clone());
        }
        watcher.hear(event);
    };
    let map = run(&plan, &provenance(), &mut hear, &cancel);
    watcher.finish();
    tell_failures(&failures);
    tell(options, &map, &stem)?;
    Ok(if map.partial { Exit::Partial } else { Exit::Ok })
}

/// Reports how many runs failed, and why the first did.
fn tell_failures(failures: &[FailedRun]) {
    let Some(FailedRun {
        scenario,
        policy,
        engine,
        error,
        ..
    }) = failures.first()
    else {
        return;
    };
    let more = match failures.len() - 1 {
        0 => String::new(),
        more => format!(" (and {more} more runs)"),
    };
    terminal::tell(&format!(
        "error: `{policy}` at {scenario}, {engine} engine: {error}{more}"
    ));
}

fn tell(options: &MapOptions, map: &Map, stem: &str) -> Result<(), Failure> {
    let (width, color) = terminal::stdout();
    let for_programs = options.json || options.csv.as_deref().is_some_and(is_stdout);
    match options.json {
        true => drop(terminal::data(&json(map)?)?),
        false if for_programs => {}
        false => drop(terminal::print(&table(map, width, color))?),
    }
    if let Some(file) = &options.csv {
        outputs::write_csv(file, &csv(map), options.quiet)?;
    }
    let Some(place) = &options.report else {
        return Ok(());
    };
    outputs::write_page(&outputs::page(place, stem), &html(map)?, options.quiet)
}
