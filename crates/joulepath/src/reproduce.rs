//! `joulepath reproduce`: which claims of the papers hold.

mod claims;
mod pages;

use std::path::{Path, PathBuf};

use joulepath_report::{
    Reproduction, StoredResults, reproduction_html, reproduction_json, reproduction_markdown,
    reproduction_summary, reproduction_table, values_markdown,
};
use joulepath_study::engine::{self, EngineName, EngineOptions};
use joulepath_study::event::Event;
use joulepath_study::files;
use joulepath_study::reproduce::{
    Description, Extent, Plan, Request, describe, merge_experiments, read_stored, reproduce as run,
};
use joulepath_study::stored::StoredRuns;
use serde::Serialize;

use crate::cli::ReproduceOptions;
use crate::diagnose;
use crate::failure::{Exit, Failure};
use crate::interrupt;
use crate::progress::Watcher;
use crate::provenance::provenance;
use crate::show::print_json;
use crate::terminal;

/// Runs the command.
///
/// # Errors
/// If it cannot start, or the results cannot be written.
pub(crate) fn reproduce(options: &ReproduceOptions) -> Result<Exit, Failure> {
    if options.list {
        return list(&describe(&options.ids)?, options.json);
    }
    if let Some(stored) = &options.from {
        return page(stored, options);
    }
    if options.search {
        return claims::search(options);
    }
    if !options.at.is_empty() {
        return claims::at(options);
    }
    let extent = if options.full {
        Extent::Full
    } else {
        Extent::Quick
    };
    let request = Request {
        ids: options.ids.clone(),
        extent,
        jobs: options.jobs,
    };
    let packet = engine::open(EngineName::Packet, &EngineOptions::default())?;
    let (kernel, unavailable) = match options.no_kernel || extent == Extent::Quick {
        true => (None, None),
        false => match engine::open(EngineName::Kernel, &EngineOptions::default()) {
            Ok(kernel) => (Some(kernel), None),
            Err(error) => (None, Some(Failure::from(error))),
        },
    };
    let (plan, refused) = Plan::of(&request, packet, kernel)?;
    let by = provenance();
    let place = |name: &str| options.out.join(name);
    files::prepare(&place(&format!("{}.json", extent.name())))?;
    files::prepare(&pages::of(options, extent.name()))?;
    let mut stored =
        StoredRuns::open(&place(&format!("{}.runs.jsonl", extent.name())), &by.commit)?;
    if let Some(failure) = refused.map(Failure::from).or(unavailable) {
        diagnose::tell(&failure);
        terminal::tell("note: the second measurement, in the kernel's own stack, is left out");
    }
    let cancel = interrupt::token();
    if !options.quiet {
        let experiments = plan.experiments();
        let ending = if experiments == 1 { "" } else { "s" };
        terminal::say(&format!(
            "{} runs for {experiments} experiment{ending}",
            plan.runs()
        ));
    }
    let mut watcher = Watcher::new(options.quiet);
    let mut hear = |event: Event<'_>| watcher.hear(event);
    let mut reproduction = run(&plan, &mut stored, &by, &mut hear, &cancel);
    watcher.finish();
    let file = place(&format!("{}.json", extent.name()));
    if options.merge && !merge_experiments(&mut reproduction, &file)? {
        terminal::tell(&format!(
            "{} is left as it is until all has run",
            file.display()
        ));
        return Ok(Exit::Partial);
    }
    write(options, &reproduction, &place)?;
    match &options.docs {
        Some(_) if cancel.is_set() => {
            terminal::tell("the papers' pages are left as they are until all has run");
        }
        Some(folder) => fill(folder, &reproduction, plan.is_whole())?,
        None => {}
    }
    Ok(if cancel.is_set() || reproduction.partial {
        Exit::Partial
    } else {
        Exit::Ok
    })
}

/// Writes the results and the set-ups' values between the marks of the papers' pages, the summary
/// too if `is_whole`.
fn fill(folder: &Path, found: &Reproduction, is_whole: bool) -> Result<(), Failure> {
    pages::fill(
        folder,
        "values",
        |paper| values_markdown(found, paper),
        None,
    )?;
    let tables = |paper: &str| reproduction_markdown(found, paper);
    pages::fill(
        folder,
        "results",
        tables,
        is_whole.then(|| reproduction_summary(found)),
    )
}

/// Writes the pages of stored results.
fn page(file: &Path, options: &ReproduceOptions) -> Result<Exit, Failure> {
    let stored = read_stored(file)?;
    let has_summary = |folder: &Path| folder.join(pages::SUMMARY).exists();
    match (&stored, &options.docs, &options.markdown) {
        (StoredResults::Reproduction(_), _, Some(_)) => {
            let text = format!("{} has no claims for --markdown", file.display());
            return Err(Failure::usage(text).help("name a claims.json, or leave --markdown out"));
        }
        (StoredResults::Reproduction(found), Some(folder), None) => {
            fill(folder, found, has_summary(folder))?
        }
        (StoredResults::Search(found), folder, _) => {
            claims::write_pages(options, found, folder.as_deref().is_some_and(has_summary))?;
        }
        _ => {}
    }
    let page = pages::of(options, stored.name());
    files::prepare(&page)?;
    files::write(&page, &stored.html()?)?;
    let mut said = format!("report: {}\n", page.display());
    if let StoredResults::Reproduction(found) = &stored {
        said += &pages::of_papers(options, found)?;
    }
    terminal::print(&said)
}

fn list(experiments: &[Description], json: bool) -> Result<Exit, Failure> {
    #[derive(Serialize)]
    struct List<'a> {
        experiments: &'a [Description],
    }
    if json {
        return print_json(&List { experiments });
    }
    let widest = experiments
        .iter()
        .map(|experiment| experiment.id.len())
        .max()
        .unwrap_or(0);
    let indent = " ".repeat(widest + 2);
    let line = |experiment: &Description| {
        let text = format!(
            "{:widest$}  {} ({})",
            experiment.id, experiment.claim, experiment.source
        );
        terminal::wrapped(&text, &indent) + "\n"
    };
    terminal::print(&experiments.iter().map(line).collect::<String>())
}

fn write(
    options: &ReproduceOptions,
    reproduction: &Reproduction,
    place: &dyn Fn(&str) -> PathBuf,
) -> Result<(), Failure> {
    let json_at = place(&format!("{}.json", reproduction.extent));
    let page_at = pages::of(options, &reproduction.extent);
    files::write(&json_at, &reproduction_json(reproduction)?)?;
    files::write(&page_at, &reproduction_html(reproduction)?)?;
    let papers = pages::of_papers(options, reproduction)?;
    if options.json {
        return print_json(reproduction).map(drop);
    }
    let (width, color) = terminal::stdout();
    terminal::print(&reproduction_table(reproduction, width, color))?;
    terminal::print(&format!(
        "report: {}\n{papers}results: {}\n",
        page_at.display(),
        json_at.display()
    ))?;
    Ok(())
}
