//! `joulepath reproduce --search` and `--at`: where the claims hold, and a claim at one point.

use std::path::Path;

use joulepath_report::search::{
    Search, region_svg, search_json, search_markdown, search_short_markdown, search_summary,
    search_table,
};
use joulepath_report::{reproduction_table, search_html};
use joulepath_study::engine::{self, EngineName, EngineOptions};
use joulepath_study::event::Event;
use joulepath_study::files;
use joulepath_study::marks;
use joulepath_study::reproduce::search::{Request, search as run};
use joulepath_study::reproduce::{merge_claims, reproduce_at, search_plan};
use joulepath_study::stored::StoredRuns;

use super::pages;
use crate::cli::ReproduceOptions;
use crate::failure::{Exit, Failure};
use crate::interrupt;
use crate::progress::Watcher;
use crate::provenance::provenance;
use crate::show::print_json;
use crate::terminal;

/// Name of the marks between which a page has the number of each verdict.
const VERDICTS: &str = "verdicts";
/// Folder of the pictures beside the pages.
const PICTURES: &str = "where";

fn request(options: &ReproduceOptions) -> Request {
    let (points, seed) = (options.points, options.seed);
    Request {
        points,
        seed,
        is_quick: options.quick,
        jobs: options.jobs,
    }
}

/// Searches, and writes the results.
///
/// # Errors
/// If it cannot start, or the results cannot be written.
pub(super) fn search(options: &ReproduceOptions) -> Result<Exit, Failure> {
    let plan = search_plan(
        &options.ids,
        &request(options),
        engine::open(EngineName::Packet, &EngineOptions::default())?,
    )?;
    let by = provenance();
    let place = |name: &str| options.out.join(name);
    if let Some(page) = &options.markdown {
        marks::check(page, &[VERDICTS])?;
    }
    files::prepare(&place("claims.json"))?;
    files::prepare(&pages::of(options, "claims"))?;
    let mut stored = StoredRuns::open(&place("search.runs.jsonl"), &by.commit)?;
    let cancel = interrupt::token();
    if !options.quiet {
        terminal::say(&format!(
            "{} claims in {} boxes",
            plan.claims(),
            plan.boxes()
        ));
    }
    let mut watcher = Watcher::new(options.quiet);
    let mut hear = |event: Event<'_>| watcher.hear(event);
    let mut found = run(plan, &mut stored, &by, &mut hear, &cancel)?;
    watcher.finish();
    if options.merge && !merge_claims(&mut found, &place("claims.json"))? {
        terminal::tell("claims.json is left as it is until all has run");
        return Ok(Exit::Partial);
    }
    let json = search_json(&found)?;
    files::write(&place("claims.json"), &json)?;
    let page = pages::of(options, "claims");
    files::write(&page, &search_html(&found)?)?;
    match options.json {
        true => terminal::data(&json)?,
        false => {
            let (width, color) = terminal::stdout();
            terminal::print(&search_table(&found, width, color))?;
            let results = place("claims.json");
            terminal::print(&format!(
                "report: {}\nresults: {}\n",
                page.display(),
                results.display()
            ))?
        }
    };
    if found.partial {
        if options.docs.is_some() || options.markdown.is_some() {
            terminal::tell("the pages are left as they are until all has run");
        }
        return Ok(Exit::Partial);
    }
    write_pages(options, &found, options.ids.is_empty() || found.merged)?;
    Ok(Exit::Ok)
}

/// Writes the claims between the marks of the pages that `options` name, their summary too if
/// `is_whole`.
///
/// # Errors
/// If a page or its marks are missing, or it cannot be written.
pub(super) fn write_pages(
    options: &ReproduceOptions,
    found: &Search,
    is_whole: bool,
) -> Result<(), Failure> {
    if let Some(folder) = &options.docs {
        draw_regions(&folder.join(PICTURES), found)?;
        let claims = |paper: &str| search_markdown(found, paper, PICTURES);
        pages::fill(
            folder,
            "claims",
            claims,
            is_whole.then(|| search_summary(found)),
        )?;
    }
    if let Some(page) = &options.markdown {
        marks::write(page, VERDICTS, &search_short_markdown(found))?;
    }
    Ok(())
}

/// Puts the picture of each claim's region into a folder.
fn draw_regions(folder: &Path, found: &Search) -> Result<(), Failure> {
    for claim in &found.claims {
        if let Some(picture) = region_svg(found, claim) {
            let file = folder.join(format!("{}.svg", claim.id.replace('/', "-")));
            files::prepare(&file)?;
            files::write(&file, &picture)?;
        }
    }
    Ok(())
}

/// Shows experiments at one point of their box.
///
/// # Errors
/// If they share no box, or it has no such point, or stdout cannot take it.
pub(super) fn at(options: &ReproduceOptions) -> Result<Exit, Failure> {
    let point: Vec<(String, String)> = options.at.iter().flatten().cloned().collect();
    let cancel = interrupt::token();
    let mut watcher = Watcher::new(options.quiet);
    let mut hear = |event: Event<'_>| watcher.hear(event);
    let packet = engine::open(EngineName::Packet, &EngineOptions::default())?;
    let by = provenance();
    let shown = reproduce_at(
        &options.ids,
        &request(options),
        &point,
        packet,
        &by,
        &mut hear,
        &cancel,
    )?;
    watcher.finish();
    let exit = if shown.partial {
        Exit::Partial
    } else {
        Exit::Ok
    };
    if options.json {
        return print_json(&shown).map(|_| exit);
    }
    let (width, color) = terminal::stdout();
    let mut text = reproduction_table(&shown, width, color);
    for report in &shown.experiments {
        let place = report
            .reading
            .as_deref()
            .unwrap_or("at the default setting");
        text += &format!("{}, {place}: {}\n", report.id, report.reason);
    }
    terminal::print(&text).map(|_| exit)
}
