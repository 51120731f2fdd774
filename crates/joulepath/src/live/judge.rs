//! `joulepath live judge`: what the daemon's choice of paths costs on emulated radios.

use std::path::{Path, PathBuf};

use joulepath_report::live::{Judged, markdown, table};
use joulepath_study::engine::EngineOptions;
use joulepath_study::files;
use joulepath_study::judge::{Plan, Request, judge as run};
use joulepath_study::marks;
use joulepath_study::stored::StoredRuns;

use crate::cli::live::JudgeOptions;
use crate::failure::{Exit, Failure};
use crate::interrupt;
use crate::progress::Watcher;
use crate::provenance::provenance;
use crate::show::print_json;
use crate::terminal;

/// Name of the marks between which a page has the tables.
const MARK: &str = "live";

/// Runs the command.
///
/// # Errors
/// If it cannot start. A run that fails later is reported and left out.
pub(super) fn judge(options: &JudgeOptions) -> Result<Exit, Failure> {
    if let Some(page) = &options.markdown {
        marks::check(page, &[MARK])?;
    }
    if let Some(folder) = &options.logs {
        std::fs::create_dir_all(folder).map_err(|error| {
            Failure::io(
                format!("cannot make the folder {}", folder.display()),
                error,
            )
        })?;
    }
    let max_lateness = options.timekeeping.max_lateness;
    let request = Request {
        scenarios: options.scenarios.clone(),
        seeds: options.seeds,
        first_seed: options.seed,
        engine: EngineOptions {
            max_lateness,
            ..EngineOptions::default()
        },
        // This program, even if its file has been replaced.
        program: PathBuf::from("/proc/self/exe"),
        logs: options.logs.clone(),
    };
    let plan = Plan::of(&request)?;
    let commit = provenance().commit;
    let mut stored = options
        .runs
        .as_deref()
        .map(|path| StoredRuns::open(path, &commit))
        .transpose()?;
    let cancel = interrupt::token();
    let mut watcher = Watcher::new(options.quiet);
    let mut hear = |event: joulepath_study::event::Event<'_>| watcher.hear(event);
    let done = run(&plan, stored.as_mut(), &mut hear, &cancel);
    watcher.finish();
    tell(options, &done.judged)?;
    Ok(match () {
        () if done
            .judged
            .cases
            .iter()
            .all(|case| case.contenders.is_empty()) =>
        {
            Exit::Failed
        }
        () if done.partial => Exit::Partial,
        () => Exit::Ok,
    })
}

fn tell(options: &JudgeOptions, judged: &Judged) -> Result<(), Failure> {
    if let Some(page) = &options.markdown {
        marks::write(page, MARK, &markdown(judged))?;
    }
    match options.json.as_deref() {
        Some(file) if file == Path::new("-") => print_json(judged).map(drop),
        Some(file) => {
            let text = serde_json::to_string_pretty(judged)
                .expect("numbers and texts can be written as JSON");
            Ok(files::write(file, &(text + "\n"))?)
        }
        None => terminal::print(&table(judged, terminal::view())).map(drop),
    }
}
