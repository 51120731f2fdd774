//! `joulepath compare`: policies on a scenario, side by side.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use joulepath_control::limit::{limits, mean_limits};
use joulepath_model::result::{Comparison, Limit, Manifest, RunResult, ScenarioRef};
use joulepath_model::scenario::{Scenario, Workload};
use joulepath_report::{self as report, PolicyRuns};

use crate::cli::CompareOptions;
use crate::contenders::{self, Contender};
use crate::engine::{self, Runner};
use crate::failure::{Exit, Failure};
use crate::interrupt;
use crate::journal::Journal;
use crate::outputs::{self, Outputs, Sink};
use crate::progress::Progress;
use crate::source::{self, Overrides, Source};
use crate::study::{self, Outcome, Task};
use crate::terminal;

/// Runs the command.
///
/// # Errors
/// Whatever keeps the study from starting. What goes wrong later is said, and told by the exit code.
pub(crate) fn compare(options: Box<CompareOptions>) -> Result<Exit, Failure> {
    let (options, argument) = settle(*options)?;
    let engine = engine::open(options.engine, options.timekeeping.max_lateness)?;
    let source = Source::open(&argument)?;
    if !options.quiet {
        source::announce(&source, &argument);
    }
    let outputs = Outputs::plan(&options, &source.stem())?;
    let cases = cases(&source, &options, &*engine)?;
    outputs.make_folders()?;
    let stop = interrupt::flag();
    let journal = outputs.files().next().map(Journal::beside).transpose()?.flatten();
    let mut session = Session {
        options: &options,
        engine: &*engine,
        outputs: &outputs,
        stop,
        journal,
        worst: Exit::Ok,
        done: vec![],
    };
    for (index, case) in cases.iter().enumerate() {
        session.case(index, case)?;
        if stop.load(Ordering::SeqCst) {
            break;
        }
    }
    session.finish(cases.len())
}

/// The options, and the scenario that they are about. `--json SCENARIO` reads as if SCENARIO were the file to write; what
/// looks like a scenario is taken for one.
fn settle(mut options: CompareOptions) -> Result<(CompareOptions, String), Failure> {
    if let Some(scenario) = options.scenario.take() {
        return Ok((options, scenario));
    }
    let is_scenario = |path: &Path| path.to_str().is_some_and(source::looks_like_scenario);
    let taken = [&mut options.json, &mut options.csv]
        .into_iter()
        .flatten()
        .find(|file| file.as_deref().is_some_and(is_scenario))
        .and_then(Option::take);
    let taken = taken.or_else(|| {
        let report = options.report.as_mut().filter(|place| is_scenario(place))?;
        Some(std::mem::replace(report, "joulepath-report".into()))
    });
    match taken {
        Some(path) => Ok((options, path.to_string_lossy().into_owned())),
        None => Err(Failure::usage("no scenario is named")
            .help("joulepath compare SCENARIO …; `joulepath list scenarios` names the shipped ones")),
    }
}

/// One scenario that is compared: the scenario itself, or a variant of it.
struct Case {
    variant: Option<String>,
    scenario: Scenario,
    contenders: Vec<Contender>,
    reference: ScenarioRef,
    seeds: Vec<u64>,
    manifest: Manifest,
    notes: Vec<String>,
}

/// Every case, loaded and checked: nothing runs before all are right.
fn cases(source: &Source, options: &CompareOptions, engine: &dyn Runner) -> Result<Vec<Case>, Failure> {
    let variants: Vec<Option<String>> = match options.all_variants {
        true => source.variants()?.into_iter().map(|variant| Some(variant.name)).collect(),
        false => vec![options.changes.variant.clone()],
    };
    if variants.is_empty() {
        return Err(
            Failure::usage(format!("`{}` has no variants", source.name)).help("leave --all-variants out")
        );
    }
    variants.into_iter().map(|variant| case(source, options, engine, variant)).collect()
}

fn case(
    source: &Source,
    options: &CompareOptions,
    engine: &dyn Runner,
    variant: Option<String>,
) -> Result<Case, Failure> {
    let duration = options.duration.iter().map(|duration| ("duration".to_owned(), quoted(duration)));
    let set: Overrides = duration.chain(options.changes.set.iter().cloned()).collect();
    let scenario = source.load(&source.overrides(variant.as_deref(), &set)?)?;
    let contenders = match &options.policies {
        Some(list) => contenders::prepare(&contenders::parse(list)?, &scenario, Exit::Usage)?,
        None => contenders::prepare(&scenario.compare.policies, &scenario, Exit::Failed)?,
    };
    engine.check(&scenario, &contenders)?;
    let seeds = if engine.draws() {
        seeds(options, scenario.compare.seeds.min(engine.most_seeds()))?
    } else {
        vec![options.first_seed]
    };
    let manifest = Manifest {
        scenario_sha256: source.sha256(&scenario),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        commit: env!("JOULEPATH_COMMIT").to_owned(),
        seeds: seeds.clone(),
        command: command_line(),
    };
    let reference = reference(source, variant.as_deref(), &scenario);
    let notes = engine.notes(&scenario, &contenders)?;
    Ok(Case { variant, scenario, contenders, reference, seeds, manifest, notes })
}

/// A time from the command line as TOML text.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn seeds(options: &CompareOptions, default: u32) -> Result<Vec<u64>, Failure> {
    let count = u64::from(options.seeds.unwrap_or(default));
    match options.first_seed.checked_add(count) {
        Some(end) => Ok((options.first_seed..end).collect()),
        None => Err(Failure::usage(format!("seed {} and {count} more are beyond 2^64", options.first_seed))
            .help("choose a smaller --first-seed")),
    }
}

/// The command line, quoted for a shell.
pub(crate) fn command_line() -> String {
    let arguments = std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned());
    let words: Vec<String> = std::iter::once("joulepath".to_owned()).chain(arguments).collect();
    // Arguments of a process hold no NUL, the only thing that cannot be quoted.
    shlex::try_join(words.iter().map(String::as_str)).unwrap_or_else(|_| words.join(" "))
}

fn reference(source: &Source, variant: Option<&str>, scenario: &Scenario) -> ScenarioRef {
    let (mut title, mut file) = (scenario.title.clone(), source.name.clone());
    if let Some(variant) = variant {
        title = format!("{title} · {variant}");
        file = format!("{file}#{variant}");
    }
    ScenarioRef {
        title,
        file,
        source: scenario.source.clone(),
        duration_s: scenario.duration.as_secs_f64(),
        paths: scenario.paths.iter().map(|path| path.name.clone()).collect(),
        workload: workload(scenario).to_owned(),
    }
}

fn workload(scenario: &Scenario) -> &'static str {
    let name = |workload: &Workload| match workload {
        Workload::Bulk => "bulk",
        Workload::File { .. } => "file",
        Workload::Messages { .. } => "messages",
        Workload::Stream { .. } => "stream",
        Workload::Requests { .. } => "requests",
    };
    let mut names = scenario.connections.iter().map(|group| name(&group.workload));
    let first = names.next().unwrap_or("mixed");
    if names.all(|other| other == first) { first } else { "mixed" }
}

/// What is being compared, and what has become of it so far.
struct Session<'a> {
    options: &'a CompareOptions,
    engine: &'a dyn Runner,
    outputs: &'a Outputs,
    stop: &'a AtomicBool,
    journal: Option<Journal>,
    worst: Exit,
    done: Vec<Comparison>,
}

impl Session<'_> {
    /// Runs one case; shows its table and writes its page.
    fn case(&mut self, index: usize, case: &Case) -> Result<(), Failure> {
        let page = self.outputs.report_of(case.variant.as_deref().filter(|_| self.options.all_variants));
        let comparison = self.study(case, page.is_some());
        if comparison.partial {
            self.worst = Exit::Partial;
        }
        if self.outputs.shows_table() {
            let (width, color) = terminal::stdout();
            let width = if self.options.wide { usize::MAX } else { width };
            let gap = if index > 0 { "\n" } else { "" };
            terminal::print(&format!("{gap}{}", report::table(&comparison, width, color)))?;
        }
        if let Some(page) = page {
            self.write_page(&comparison, &page)?;
        }
        self.done.push(comparison);
        Ok(())
    }

    /// Does every run of a case. Time series are recorded if there will be a page.
    fn study(&mut self, case: &Case, series: bool) -> Comparison {
        let tasks = study::tasks(case.contenders.len(), &case.seeds, series);
        if let Some(journal) = &mut self.journal {
            journal.begin(&case.reference, &case.manifest);
        }
        let takes = self.engine.takes(&case.scenario);
        let mut progress = Progress::new(tasks.len(), takes, self.options.quiet);
        let cores = study::cores(self.options.jobs);
        let threads = self.engine.most_at_a_time().map_or(cores, |most| most.min(cores));
        let work = |task: &Task| self.engine.run(&case.scenario, &case.contenders[task.policy], task);
        let on_done = |_: &Task, outcome: &Outcome| {
            progress.advance();
            if let (Some(journal), Ok(run)) = (&mut self.journal, outcome) {
                journal.add(run);
            }
        };
        let done = study::run(&tasks, threads, self.stop, work, on_done);
        progress.finish();
        let partial = done.iter().filter(|(_, outcome)| outcome.is_ok()).count() < tasks.len();
        comparison(case, self.engine, collect(case, done), partial)
    }

    fn write_page(&mut self, comparison: &Comparison, page: &Path) -> Result<(), Failure> {
        let html = report::html(comparison).map_err(|error| Failure::new(Exit::Failed, error))?;
        match outputs::write(page, &html) {
            Err(failure) => self.failed(&failure),
            Ok(()) => {
                let line = format!("report: {}\n", page.display());
                match self.outputs.shows_table() {
                    true => drop(terminal::print(&line)?),
                    false if !self.options.quiet => terminal::say(line.trim_end()),
                    false => {}
                }
            }
        }
        Ok(())
    }

    /// Something could not be written: what else there is, is still written.
    fn failed(&mut self, failure: &Failure) {
        failure.print();
        if self.worst == Exit::Ok || self.worst == Exit::Partial {
            self.worst = failure.exit();
        }
    }

    /// Writes what covers all cases.
    fn finish(mut self, cases: usize) -> Result<Exit, Failure> {
        let text = |result: Result<String, _>| {
            result.map_err(|error: report::ReportError| Failure::new(Exit::Failed, error))
        };
        let deliver = |session: &mut Self, sink: &Sink, text: &str| match sink {
            Sink::Stdout => terminal::print(text).map(drop),
            Sink::File(path) => {
                outputs::write(path, text).unwrap_or_else(|failure| session.failed(&failure));
                Ok(())
            }
        };
        let is_list = self.options.all_variants;
        if let Some(sink) = &self.outputs.json {
            let json = text(json(&self.done, is_list))?;
            deliver(&mut self, sink, &json)?;
        }
        if let Some(sink) = &self.outputs.csv {
            let csv = text(csv(&self.done, report::to_csv))?;
            deliver(&mut self, sink, &csv)?;
        }
        if let Some(path) = &self.outputs.runs_csv {
            let csv = text(csv(&self.done, report::runs_to_csv))?;
            deliver(&mut self, &Sink::File(path.clone()), &csv)?;
        }
        if let Some(journal) = self.journal.as_ref().filter(|_| !self.options.quiet) {
            terminal::say(&format!("runs: {}", journal.path().display()));
        }
        let nothing = self.done.iter().all(|comparison| comparison.rows.is_empty());
        let interrupted = self.stop.load(Ordering::SeqCst);
        Ok(match self.worst {
            Exit::Partial if nothing && !interrupted => Exit::Failed,
            Exit::Ok if self.done.len() < cases => Exit::Partial,
            worst => worst,
        })
    }
}

/// The runs of each policy; says which ones failed, and why.
fn collect(case: &Case, done: Vec<(Task, Outcome)>) -> Vec<Vec<RunResult>> {
    let mut runs = vec![vec![]; case.contenders.len()];
    let mut failures: Vec<Vec<(u64, String)>> = vec![vec![]; case.contenders.len()];
    for (task, outcome) in done {
        match outcome {
            Ok(run) => runs[task.policy].push(run),
            Err(error) => failures[task.policy].push((task.seed, error)),
        }
    }
    for (contender, failures) in case.contenders.iter().zip(failures) {
        let Some((seed, error)) = failures.first() else { continue };
        let more = match failures.len() - 1 {
            0 => String::new(),
            more => format!(" (and {more} more runs of this policy)"),
        };
        terminal::tell(&format!("error: `{}`, seed {seed}: {error}{more}", contender.policy));
    }
    runs
}

/// What would be possible; with random rates, those that the runs with these seeds met.
pub(crate) fn limits_of(scenario: &Scenario, seeds: &[u64], engine: &dyn Runner) -> Vec<Limit> {
    let met = |&seed: &u64| joulepath_link::realised(scenario, seed);
    let met: Option<Vec<Scenario>> = seeds.iter().map(met).collect();
    match met.filter(|_| engine.draws()) {
        Some(met) => mean_limits(&met),
        None => limits(scenario),
    }
}

fn comparison(case: &Case, engine: &dyn Runner, runs: Vec<Vec<RunResult>>, partial: bool) -> Comparison {
    let limits = limits_of(&case.scenario, &case.seeds, engine);
    let of_policy = |(contender, runs): (&Contender, Vec<RunResult>)| PolicyRuns {
        policy: contender.policy.clone(),
        label: contender.label.clone(),
        parts: contender.parts.clone(),
        runs,
    };
    let policies = case.contenders.iter().zip(runs).map(of_policy).collect();
    Comparison {
        rows: report::summarise(&case.reference, &limits, policies),
        scenario: case.reference.clone(),
        engine: engine.name().to_owned(),
        // At most MAX_SEEDS.
        seeds: case.seeds.len() as u32,
        manifest: case.manifest.clone(),
        limits,
        notes: case.notes.clone(),
        partial,
    }
}

/// One comparison as an object, those of all variants as a list.
fn json(done: &[Comparison], is_list: bool) -> Result<String, report::ReportError> {
    let objects: Vec<String> = done.iter().map(report::to_json).collect::<Result<_, _>>()?;
    let objects: Vec<&str> = objects.iter().map(|object| object.trim_end()).collect();
    Ok(if is_list { format!("[\n{}\n]\n", objects.join(",\n")) } else { objects.concat() + "\n" })
}

/// The lines of all comparisons under one header; under a new one after a blank line where the columns differ.
fn csv(
    done: &[Comparison],
    format: impl Fn(&Comparison) -> Result<String, report::ReportError>,
) -> Result<String, report::ReportError> {
    let mut all = String::new();
    let mut header = String::new();
    for comparison in done {
        let text = format(comparison)?;
        let Some((first, rest)) = text.split_once('\n') else { continue };
        if header != first {
            if !all.is_empty() {
                all.push('\n');
            }
            all += &format!("{first}\n");
            first.clone_into(&mut header);
        }
        all += rest;
    }
    Ok(all)
}
