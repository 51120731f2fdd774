//! `joulepath reproduce`: which claims of the papers hold.
//!
//! | module | what |
//! |---|---|
//! | `experiment` | what an experiment is |
//! | `paper000` … `paper004`, `claims` | the experiments |
//! | `runs` | what has to run: planned, kept, done |
//! | `slots` | what has to run for 003, apart from scenarios |
//! | `evidence`, `metrics` | what ran, as an examination sees it |

mod claims;
mod evidence;
mod experiment;
mod metrics;
mod paper000;
mod paper001;
mod paper002;
mod paper002_data_centre;
mod paper003;
mod paper004;
mod runs;
mod slots;

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use joulepath_report::{
    Report, Reproduction, SecondMeasurement, Verdict, reproduction_html, reproduction_markdown,
    reproduction_summary, reproduction_table, rounded,
};
use serde::Serialize;

use self::experiment::{Experiment, Extent, Study};
use self::runs::{Done, On, Plan};
use crate::cli::{Engine, ReproduceOptions};
use crate::compare::command_line;
use crate::engine::{self, Runner};
use crate::failure::{Exit, Failure};
use crate::interrupt;
use crate::kept::Kept;
use crate::marks;
use crate::nearest::suggest;
use crate::outputs;
use crate::show::print_json;
use crate::study;
use crate::terminal;

/// Name of the marks between which the results stand in the papers' pages.
const MARKS: &str = "results";
/// How the ids of a page's experiments begin, and the page.
const PAGES: [(&str, &str); 6] = [
    ("000", "000.md"),
    ("001", "001.md"),
    ("002", "002.md"),
    ("003", "003.md"),
    ("004", "004.md"),
    ("claim", "claims.md"),
];
/// Where all of them stand in one table.
const SUMMARY: &str = "README.md";

/// All experiments, in the order of the papers.
fn experiments() -> Vec<Experiment> {
    let papers = [
        paper000::experiments(),
        paper001::experiments(),
        paper002::experiments(),
        paper002_data_centre::experiments(),
        paper003::experiments(),
        paper004::experiments(),
        claims::experiments(),
    ];
    papers.into_iter().flatten().collect()
}

/// Runs the command.
///
/// # Errors
/// Whatever keeps it from starting, or from writing what came out.
pub(crate) fn reproduce(options: &ReproduceOptions) -> Result<Exit, Failure> {
    let chosen = choose(experiments(), &options.ids)?;
    if options.list {
        return list(&chosen, options.json);
    }
    let extent = if options.full { Extent::Full } else { Extent::Quick };
    let chosen: Vec<Experiment> =
        chosen.into_iter().filter(|experiment| extent == Extent::Full || experiment.is_quick()).collect();
    if chosen.is_empty() {
        return Err(Failure::usage("none of these experiments is part of --quick").help("write --full"));
    }
    let packet = engine::open(Engine::Packet, None)?;
    let kernel = kernel(options, extent, &chosen);
    let plan = Plan::of(&chosen, extent, kernel.as_deref())?;
    let place = |name: &str| options.out.join(name);
    outputs::make_folder(&place("x"))?;
    let mut kept = Kept::open(&place(&format!("{}.runs.jsonl", extent.name())))?;
    let stop = interrupt::flag();
    let cores = study::cores(options.jobs);
    if !options.quiet {
        terminal::say(&format!("{} runs for {} experiments", plan.len(), chosen.len()));
    }
    let done = plan.execute(&*packet, kernel.as_deref(), &mut kept, cores, stop, options.quiet);
    chosen.iter().flat_map(|experiment| &experiment.slots).for_each(|batch| batch.execute(cores, stop));
    let reproduction = examine(&chosen, &plan, &done, extent, kernel.is_some());
    write(options, &reproduction, &place)?;
    let interrupted = stop.load(Ordering::SeqCst);
    match &options.docs {
        Some(_) if interrupted => terminal::tell("the papers' pages are left as they are until all has run"),
        Some(folder) => fill_pages(folder, &reproduction)?,
        None => {}
    }
    Ok(if interrupted || reproduction.partial { Exit::Partial } else { Exit::Ok })
}

/// Those whose id begins with one of `ids`; all if there are none.
fn choose(all: Vec<Experiment>, ids: &[String]) -> Result<Vec<Experiment>, Failure> {
    for id in ids {
        if !all.iter().any(|experiment| experiment.id.starts_with(id.as_str())) {
            let known: Vec<&str> = all.iter().map(|experiment| experiment.id).collect();
            return Err(Failure::usage(format!("there is no experiment `{id}`")).help(suggest(id, &known)));
        }
    }
    let wanted = |experiment: &Experiment| {
        ids.is_empty() || ids.iter().any(|id| experiment.id.starts_with(id.as_str()))
    };
    Ok(all.into_iter().filter(wanted).collect())
}

fn list(experiments: &[Experiment], json: bool) -> Result<Exit, Failure> {
    #[derive(Serialize)]
    struct Entry<'a> {
        id: &'a str,
        title: &'a str,
        claim: &'a str,
        source: &'a str,
        scenarios: Vec<&'a str>,
        quick: bool,
        kernel: bool,
    }
    #[derive(Serialize)]
    struct List<'a> {
        experiments: Vec<Entry<'a>>,
    }
    let entry = |experiment: &'_ Experiment| {
        let mut scenarios: Vec<&str> = experiment.studies.iter().map(|study| study.scenario).collect();
        scenarios.dedup();
        Entry {
            id: experiment.id,
            title: experiment.title,
            claim: experiment.claim,
            source: experiment.source,
            scenarios,
            quick: experiment.is_quick(),
            kernel: experiment.studies.iter().any(|study| study.kernel.is_some()),
        }
    };
    if json {
        return print_json(&List { experiments: experiments.iter().map(entry).collect() });
    }
    let widest = experiments.iter().map(|experiment| experiment.id.len()).max().unwrap_or(0);
    let indent = " ".repeat(widest + 2);
    let line = |experiment: &Experiment| {
        let text = format!("{:widest$}  {} ({})", experiment.id, experiment.claim, experiment.source);
        terminal::wrapped(&text, &indent) + "\n"
    };
    terminal::print(&experiments.iter().map(line).collect::<String>())
}

/// The kernel engine, where the second measurement is wanted and possible; says so if it is only wanted.
fn kernel(options: &ReproduceOptions, extent: Extent, chosen: &[Experiment]) -> Option<Box<dyn Runner>> {
    let mut studies = chosen.iter().flat_map(|experiment| &experiment.studies);
    // Whether it can run is asked with the first study that it shall run.
    let first =
        studies.find_map(Study::in_kernel).filter(|_| extent == Extent::Full && !options.no_kernel)?;
    let opened = engine::open(Engine::Kernel, None);
    match opened.and_then(|kernel| runs::probe(&first, &*kernel).map(|()| kernel)) {
        Ok(kernel) => Some(kernel),
        Err(failure) => {
            failure.print();
            terminal::tell("note: the second measurement, in the kernel's own stack, is left out");
            None
        }
    }
}

fn examine(
    chosen: &[Experiment],
    plan: &Plan,
    done: &Done,
    extent: Extent,
    with_kernel: bool,
) -> Reproduction {
    let reports: Vec<Report> =
        chosen.iter().map(|experiment| report(experiment, plan, done, extent, with_kernel)).collect();
    Reproduction {
        extent: extent.name().to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        commit: env!("JOULEPATH_COMMIT").to_owned(),
        command: command_line(),
        run_s: done.took.as_secs_f64(),
        runs: plan.len() as u64,
        cores: study::cores(None).get() as u32,
        partial: reports.iter().any(|report| report.missing > 0),
        experiments: reports,
    }
}

fn report(experiment: &Experiment, plan: &Plan, done: &Done, extent: Extent, with_kernel: bool) -> Report {
    let (evidence, mut missing) = plan.evidence(experiment, done, On::Packet);
    missing += experiment.slots.iter().map(|batch| batch.missing()).sum::<u64>();
    let examined = (experiment.examine)(&evidence);
    let judged = || examined.findings.iter().filter_map(|finding| finding.verdict);
    let verdict = if experiment.is_open { Verdict::CannotBe } else { Verdict::weakest(judged()) };
    let mut kernel = None;
    if with_kernel && experiment.studies.iter().any(|study| study.kernel.is_some()) {
        let (evidence, lacking) = plan.evidence(experiment, done, On::Kernel);
        missing += lacking;
        kernel = second(&(experiment.examine)(&evidence).findings, &examined.findings);
    }
    Report {
        id: experiment.id.to_owned(),
        title: experiment.title.to_owned(),
        source: experiment.source.to_owned(),
        claim: experiment.claim.to_owned(),
        verdict,
        reason: experiment.reason.to_owned(),
        set_up: experiment.studies.iter().map(|study| study.describe(extent)).collect(),
        findings: examined.findings,
        kernel,
        figures: examined.figures,
        missing,
    }
}

/// What the real stack says of those findings that it could measure. It agrees if on these the simulator's weakest verdict is the same.
fn second(
    measured: &[joulepath_report::Finding],
    simulated: &[joulepath_report::Finding],
) -> Option<SecondMeasurement> {
    let pairs: Vec<_> =
        measured.iter().zip(simulated).filter(|(real, _)| real.measured.is_some() && real.n > 1).collect();
    if pairs.iter().all(|(real, _)| real.verdict.is_none()) {
        return None;
    }
    let verdict = Verdict::weakest(pairs.iter().filter_map(|(real, _)| real.verdict));
    let of_simulator = Verdict::weakest(pairs.iter().filter_map(|(_, simulated)| simulated.verdict));
    let findings = pairs.iter().map(|(real, _)| (*real).clone()).collect();
    Some(SecondMeasurement { findings, verdict, agrees: verdict == of_simulator })
}

fn write(
    options: &ReproduceOptions,
    reproduction: &Reproduction,
    place: &dyn Fn(&str) -> PathBuf,
) -> Result<(), Failure> {
    let mut json = serde_json::to_value(reproduction).map_err(|error| Failure::new(Exit::Failed, error))?;
    round(&mut json);
    let (json_at, page_at) =
        (place(&format!("{}.json", reproduction.extent)), place(&format!("{}.html", reproduction.extent)));
    outputs::write(&json_at, &format!("{json}\n"))?;
    let html = reproduction_html(reproduction).map_err(|error| Failure::new(Exit::Failed, error))?;
    outputs::write(&page_at, &html)?;
    if options.json {
        return print_json(reproduction).map(drop);
    }
    let (width, color) = terminal::stdout();
    terminal::print(&reproduction_table(reproduction, width, color))?;
    terminal::print(&format!("report: {}\nresults: {}\n", page_at.display(), json_at.display()))?;
    Ok(())
}

/// Leaves six significant digits of every number: more than any interval supports, and a file that a repository can hold.
fn round(json: &mut serde_json::Value) {
    use serde_json::Value;
    match json {
        Value::Number(number) if number.is_f64() => {
            let exact = number.as_f64().unwrap_or_default();
            if let Some(short) = serde_json::Number::from_f64(rounded(exact, 6)) {
                *number = short;
            }
        }
        Value::Array(values) => values.iter_mut().for_each(round),
        Value::Object(members) => members.values_mut().for_each(round),
        _ => {}
    }
}

/// Puts each paper's results between the marks of its page; the table of all of them only if all have run.
fn fill_pages(folder: &Path, reproduction: &Reproduction) -> Result<(), Failure> {
    for (paper, page) in PAGES {
        let tables = reproduction_markdown(reproduction, paper);
        if !tables.is_empty() {
            marks::write(&folder.join(page), MARKS, &tables)?;
        }
    }
    if reproduction.experiments.len() == experiments().len() {
        marks::write(&folder.join(SUMMARY), MARKS, &reproduction_summary(reproduction))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
