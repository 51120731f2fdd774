//! `joulepath league`: all policies on all of the papers' scenarios, in one order.

use joulepath_report::league::{markdown, table};
use joulepath_study::league::{Request, league as run};
use joulepath_study::stored::StoredRuns;

use crate::cli::{Engine, LeagueOptions};
use crate::engine;
use crate::failure::{Exit, Failure};
use crate::interrupt;
use crate::marks;
use crate::progress::Watcher;
use crate::provenance::provenance;
use crate::terminal;

/// Name of the marks between which a page has the table.
const MARK: &str = "league";

/// Runs the command.
///
/// # Errors
/// Whatever keeps it from starting. A run that fails later is said, and missing.
pub(crate) fn league(options: &LeagueOptions) -> Result<Exit, Failure> {
    let engine = engine::open(Engine::Packet, None)?;
    let by = provenance();
    let mut stored = options.runs.as_deref().map(|path| StoredRuns::open(path, &by.commit)).transpose()?;
    let cancel = interrupt::token();
    let request = Request { quick: options.quick, seeds: options.seeds, jobs: options.jobs };
    let mut watcher = Watcher::new(options.quiet);
    let league = run(&request, &*engine, stored.as_mut(), &by, &mut |event| watcher.hear(event), &cancel)?;
    watcher.finish();
    if let Some(page) = &options.markdown {
        marks::write(page, MARK, &markdown(&league))?;
    }
    match options.json {
        true => terminal::print(&league.json()?)?,
        false => terminal::print(&table(&league, terminal::stdout().0))?,
    };
    Ok(if league.partial { Exit::Partial } else { Exit::Ok })
}
