//! `joulepath gap`: how far simulator and kernel are apart, on the same scenarios under the same
//! policies.

use joulepath_report::gap::{Gap, markdown, table};
use joulepath_study::engine::{self, EngineName, EngineOptions};
use joulepath_study::gap::{Plan, Request, gap as run};
use joulepath_study::marks;
use joulepath_study::policies;
use joulepath_study::stored::StoredRuns;

use crate::cli::GapOptions;
use crate::failure::{Exit, Failure};
use crate::interrupt;
use crate::progress::Watcher;
use crate::provenance::provenance;
use crate::show::print_json;
use crate::terminal;

/// Name of the marks between which a page has the tables.
const MARK: &str = "gap";

/// Runs the command.
///
/// # Errors
/// If it cannot start. A run that fails later is reported and left out.
pub(crate) fn gap(options: &GapOptions) -> Result<Exit, Failure> {
    let packet = engine::open(EngineName::Packet, &EngineOptions::default())?;
    let max_lateness = options.timekeeping.max_lateness;
    let in_real_time = EngineOptions {
        max_lateness,
        at_a_time: options.kernel_jobs,
        ..EngineOptions::default()
    };
    let kernel = engine::open(EngineName::Kernel, &in_real_time)?;
    let request = Request {
        scenarios: options.scenarios.clone(),
        policies: options
            .policies
            .as_deref()
            .map(policies::parse)
            .transpose()?,
        seeds: options.seeds,
        first_seed: options.seed,
        max_lateness,
        quick: options.quick,
        jobs: options.jobs,
        kernel_jobs: options.kernel_jobs,
    };
    let plan = Plan::of(&request, &*kernel)?;
    let commit = provenance().commit;
    let mut stored = options
        .runs
        .as_deref()
        .map(|path| StoredRuns::open(path, &commit))
        .transpose()?;
    let cancel = interrupt::token();
    let mut watcher = Watcher::new(options.quiet);
    let mut hear = |event: joulepath_study::event::Event<'_>| watcher.hear(event);
    let measured = run(
        &plan,
        &*packet,
        &*kernel,
        stored.as_mut(),
        &mut hear,
        &cancel,
    );
    watcher.finish();
    tell(options, &measured.gap)?;
    Ok(match () {
        () if measured.gap.cases.is_empty() => Exit::Failed,
        () if measured.partial => Exit::Partial,
        () => Exit::Ok,
    })
}

fn tell(options: &GapOptions, gap: &Gap) -> Result<(), Failure> {
    if let Some(page) = &options.markdown {
        marks::write(page, MARK, &markdown(gap))?;
    }
    if options.json {
        return print_json(gap).map(drop);
    }
    terminal::print(&table(gap, terminal::view())).map(drop)
}
