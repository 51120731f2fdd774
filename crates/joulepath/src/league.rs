//! `joulepath league`: all policies on families of scenarios, at equal work, in tiers. Families of the
//! gauntlet are judged in `gauntlet`.

mod drawn;
mod gauntlet;

use std::path::Path;

use joulepath_report::league::{League, front, full_markdown, html, short_markdown, table};
use joulepath_study::files;
use joulepath_study::league::{DRAW_SEED, Family, Request, drawn, league as run};
use joulepath_study::marks;
use joulepath_study::stored::StoredRuns;

use crate::cli::{Engine, LeagueOptions};
use crate::engine;
use crate::failure::{Exit, Failure};
use crate::interrupt;
use crate::outputs;
use crate::progress::Watcher;
use crate::provenance::provenance;
use crate::terminal;

/// Names of the marks between which a page has the tiers, and everything.
const MARK: &str = "league";
const MARK_FULL: &str = "league-full";
/// All families of the gauntlet.
const GAUNTLET: &str = "gauntlet";
/// Name of the page.
const STEM: &str = "league";

/// Runs the command.
///
/// # Errors
/// Whatever keeps it from starting. A run that fails later is said, and missing.
pub(crate) fn league(options: &LeagueOptions) -> Result<Exit, Failure> {
    let families = families(&options.family)?;
    if families.iter().any(|family| family.is_of_gauntlet()) {
        return gauntlet::gauntlet(options, families);
    }
    refuse_of_gauntlet(options)?;
    let request = Request {
        quick: options.quick,
        families,
        draw_seed: options.seed.unwrap_or(DRAW_SEED),
        seeds: options.seeds,
        jobs: options.jobs,
    };
    if let Some(folder) = &options.write {
        return write(&request, folder);
    }
    check(options)?;
    let engine = engine::open(Engine::Packet, None)?;
    let by = provenance();
    let mut stored = options.runs.as_deref().map(|path| StoredRuns::open(path, &by.commit)).transpose()?;
    let cancel = interrupt::token();
    let mut watcher = Watcher::new(options.quiet);
    if let Some(note) = stored.as_ref().and_then(StoredRuns::note).filter(|_| !options.quiet) {
        terminal::tell(&format!("note: {note}"));
    }
    let league = run(&request, &*engine, stored.as_mut(), &by, &mut |event| watcher.hear(event), &cancel)?;
    watcher.finish();
    tell(options, &league)?;
    Ok(if league.partial { Exit::Partial } else { Exit::Ok })
}

/// The families of these names: all of the league or all of the gauntlet.
fn families(names: &[String]) -> Result<Vec<Family>, Failure> {
    let mut families: Vec<Family> = vec![];
    for name in names {
        match name.as_str() {
            GAUNTLET => families.extend(Family::GAUNTLET),
            name => families.push(name.parse()?),
        }
    }
    let of_gauntlet = families.iter().filter(|family| family.is_of_gauntlet()).count();
    if of_gauntlet > 0 && of_gauntlet < families.len() {
        return Err(Failure::usage(
            "families of the league and of the gauntlet are judged in different ways",
        )
        .help("ask for them one after the other"));
    }
    Ok(families)
}

/// Options that say nothing to the league.
fn refuse_of_gauntlet(options: &LeagueOptions) -> Result<(), Failure> {
    let given = [
        ("--range", options.range.is_some()),
        ("--first", options.first.is_some()),
        ("--draws", options.draws.is_some()),
        ("--policies", options.policies.is_some()),
        ("--warm", options.warm.is_some()),
        ("--sealed-log", options.sealed_log.is_some()),
        ("--csv", options.csv.is_some()),
    ];
    match given.into_iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((option, _)) => Err(Failure::usage(format!("{option} is for the families of the gauntlet"))
            .help("add --family gauntlet, or one of its families, such as f1-bulk")),
    }
}

/// Writes the drawn scenarios.
fn write(request: &Request, folder: &Path) -> Result<Exit, Failure> {
    let all = drawn(request);
    if all.is_empty() {
        return Err(Failure::usage("the papers' scenarios are not drawn: they are part of this program")
            .help("run one with `joulepath compare papers/000-table1`, or name another family"));
    }
    drawn::write(all.into_iter().map(|(name, text)| (name + ".toml", text)).collect(), folder)
}

/// What is to be written can be written: an error comes before the runs, not after.
fn check(options: &LeagueOptions) -> Result<(), Failure> {
    for page in &options.markdown {
        marks::check(page, &[MARK, MARK_FULL])?;
    }
    let page = options.report.as_deref().map(|place| outputs::page(place, STEM));
    Ok([options.front.as_deref(), page.as_deref()].into_iter().flatten().try_for_each(files::prepare)?)
}

fn tell(options: &LeagueOptions, league: &League) -> Result<(), Failure> {
    for page in &options.markdown {
        marks::write_known(page, &[(MARK, &short_markdown(league)), (MARK_FULL, &full_markdown(league))])?;
    }
    if let Some(file) = &options.front {
        let svg = front(league).ok_or_else(|| {
            Failure::usage("no policy has run where goodput depends on it, so that there is no front to draw")
                .help("leave --front out, or take another family, such as bulk")
        })?;
        files::write(file, &svg)?;
    }
    match options.json {
        true => terminal::data(&league.json()?)?,
        false => terminal::print(&table(league, terminal::stdout().0))?,
    };
    if let Some(place) = &options.report {
        outputs::write_page(&outputs::page(place, STEM), &html(league)?, options.json, options.quiet)?;
    }
    Ok(())
}
