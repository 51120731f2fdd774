//! `joulepath compare`: policies on a scenario, side by side.

use std::ffi::OsString;
use std::path::Path;

use joulepath_model::result::Comparison;
use joulepath_report::{self as report, Playground};
use joulepath_study::commands;
use joulepath_study::compare::{Case, Compared, Plan, Request};
use joulepath_study::engine::{self, EngineOptions};
use joulepath_study::event::{Event, FailedRun};
use joulepath_study::history::{self, Recorder};
use joulepath_study::source::{Source, looks_like_scenario};
use joulepath_study::stored::StoredRuns;

use crate::cli::CompareOptions;
use crate::diagnose;
use crate::failure::{Exit, Failure};
use crate::interrupt;
use crate::outputs::{self, Outputs, Sink};
use crate::own;
use crate::packets;
use crate::progress::Watcher;
use crate::provenance::provenance;
use crate::scenario::announce;
use crate::terminal;

/// Runs the command.
///
/// # Errors
/// If the study cannot start. Later failures are reported on stderr and by the exit code.
pub(crate) fn compare(options: Box<CompareOptions>) -> Result<Exit, Failure> {
    let (options, argument) = settle(*options)?;
    let in_real_time = EngineOptions {
        max_lateness: options.timekeeping.max_lateness,
        ..EngineOptions::default()
    };
    let engine = engine::open(options.request.engine, &in_real_time)?;
    let source = Source::open(&argument)?;
    if !options.quiet {
        announce(&source, &argument);
    }
    let outputs = Outputs::plan(&options, &source.stem())?;
    // First, because --policies may name them.
    let mut request = Request {
        also: own::load(&options.cc, options.request.engine, options.quiet)?,
        series: outputs.report.is_some() || options.record.is_some(),
        ..options.request.clone()
    };
    remember(&options, &source, &mut request)?;
    let by = provenance();
    let plan = Plan::of(&source, &request, engine, &by).map_err(|error| {
        let (error, help) =
            commands::of_compare(error, request.duration.is_some(), !options.cc.is_empty());
        help.into_iter().fold(Failure::from(error), Failure::help)
    })?;
    if let Some(folder) = &options.packets {
        packets::check(&plan, request.engine, folder)?;
    }
    outputs.prepare()?;
    let mut recorder = recorder(&options, &plan)?;
    let cancel = interrupt::token();
    let mut stored = match (&request.runs, outputs.files().next()) {
        (Some(file), _) => Some(StoredRuns::open(file, &by.commit)?),
        (None, Some(output)) => StoredRuns::beside(output, &by.commit)?,
        (None, None) => None,
    };
    if let Some(note) = stored.as_ref().and_then(StoredRuns::note)
        && !options.quiet
    {
        terminal::tell(&format!("note: {note}"));
    }
    let mut session = Session {
        options: &options,
        outputs: &outputs,
        worst: Exit::Ok,
        done: vec![],
    };
    for case in plan.cases() {
        let mut watcher = Watcher::silent_on_failures(options.quiet);
        let mut hear = |event: Event<'_>| {
            if let (Event::Finished(run), Some(recorder)) = (&event, &mut recorder) {
                recorder.hear(run);
            }
            watcher.hear(event);
        };
        let compared = plan.run(case, stored.as_mut(), &mut hear, &cancel);
        watcher.finish();
        session.show(compared, case)?;
        if cancel.is_set() {
            break;
        }
        if let Some(folder) = &options.packets {
            let folder = match case.variant().filter(|_| request.all_variants) {
                Some(variant) => folder.join(variant),
                None => folder.clone(),
            };
            packets::write(case, &folder, options.quiet, &cancel)
                .unwrap_or_else(|failure| session.failed(&failure));
        }
    }
    if let (Some(recorder), Some(file)) = (recorder, &options.record) {
        let runs = recorder.finish(commands::seconds_since_1970())?;
        if !options.quiet {
            terminal::say(&format!(
                "history: {} ({runs} runs recorded)",
                file.display()
            ));
        }
    }
    let runs = stored.as_ref().and_then(StoredRuns::path);
    session.finish(plan.cases().len(), cancel.is_set(), runs)
}

/// Sets what the file of `--history` knows of the networks. `--set` takes precedence.
fn remember(
    options: &CompareOptions,
    source: &Source,
    request: &mut Request,
) -> Result<(), Failure> {
    let Some(file) = &options.history else {
        return Ok(());
    };
    let history = history::read(file)?;
    let set = source.overrides(request.variant.as_deref(), &request.overrides())?;
    let (known, unknown) = history.overrides(&source.load(&set)?);
    if !options.quiet && !unknown.is_empty() {
        terminal::say(&format!(
            "{} knows nothing of {}",
            file.display(),
            unknown.join(", ")
        ));
    }
    request.set.splice(0..0, known);
    Ok(())
}

fn recorder(options: &CompareOptions, plan: &Plan) -> Result<Option<Recorder>, Failure> {
    let (Some(file), [case]) = (&options.record, plan.cases()) else {
        return Ok(None);
    };
    Ok(Some(Recorder::new(
        file,
        case.scenario(),
        case.first_policy(),
    )?))
}

/// The options and the scenario. In `--json SCENARIO`, clap takes SCENARIO for the file to write: a
/// name that looks like a scenario is the scenario.
fn settle(mut options: CompareOptions) -> Result<(CompareOptions, OsString), Failure> {
    if let Some(scenario) = options.scenario.take() {
        return Ok((options, scenario));
    }
    let is_scenario = |path: &Path| path.to_str().is_some_and(looks_like_scenario);
    let taken = options
        .json
        .as_mut()
        .filter(|file| file.as_deref().is_some_and(is_scenario))
        .and_then(Option::take);
    let taken = taken.or_else(|| {
        let report = options.report.as_mut().filter(|place| is_scenario(place))?;
        Some(std::mem::replace(report, "joulepath-report".into()))
    });
    match taken {
        Some(path) => Ok((options, path.into_os_string())),
        None => Err(Failure::usage("no scenario is named").help(
            "joulepath compare SCENARIO …; `joulepath list scenarios` names the shipped ones",
        )),
    }
}

/// The cases that have run, and the worst exit code.
struct Session<'a> {
    options: &'a CompareOptions,
    outputs: &'a Outputs,
    worst: Exit,
    done: Vec<Comparison>,
}

impl Session<'_> {
    /// Shows the table of a case, and writes its page.
    fn show(&mut self, compared: Compared, case: &Case) -> Result<(), Failure> {
        let Compared {
            comparison,
            failures,
        } = compared;
        tell_failures(&failures);
        if comparison.partial {
            self.worst = Exit::Partial;
        }
        if self.outputs.shows_table() {
            let (width, color) = terminal::stdout();
            let width = if self.options.wide { usize::MAX } else { width };
            let gap = if self.done.is_empty() { "" } else { "\n" };
            terminal::print(&format!(
                "{gap}{}",
                report::table(&comparison, width, color)
            ))?;
        }
        if let Some(page) = self
            .outputs
            .report_of(case.variant().filter(|_| self.options.request.all_variants))
        {
            let address = std::env::var("JOULEPATH_PLAYGROUND").ok();
            let playground = address.as_deref().zip(case.question());
            let html = report::html_with(
                &comparison,
                playground.map(|(address, question)| Playground { address, question }),
            )?;
            self.deliver("report", &Sink::File(page), &html)?;
        }
        self.done.push(comparison);
        Ok(())
    }

    /// Reports a file that could not be written. The other outputs are still written.
    fn failed(&mut self, failure: &Failure) {
        diagnose::tell(failure);
        if self.worst == Exit::Ok || self.worst == Exit::Partial {
            self.worst = failure.exit();
        }
    }

    fn deliver(&mut self, name: &str, sink: &Sink, text: &str) -> Result<(), Failure> {
        match sink {
            Sink::Stdout => drop(terminal::data(text)?),
            Sink::File(path) => {
                outputs::write_named(name, path, text, self.options.quiet)
                    .unwrap_or_else(|failure| self.failed(&failure));
            }
        }
        Ok(())
    }

    /// Writes the combined output of all cases; `cases` is how many there should be.
    fn finish(
        mut self,
        cases: usize,
        interrupted: bool,
        runs: Option<&Path>,
    ) -> Result<Exit, Failure> {
        let outputs = self.outputs;
        if let Some(sink) = &outputs.json {
            let text = report::all_to_json(&self.done, self.options.request.all_variants)?;
            self.deliver("json", sink, &text)?;
        }
        if let Some(sink) = &outputs.csv {
            let text = report::all_to_csv(&self.done)?;
            self.deliver("csv", sink, &text)?;
        }
        if let Some(path) = &outputs.runs_csv {
            let text = report::all_runs_to_csv(&self.done)?;
            self.deliver("runs-csv", &Sink::File(path.clone()), &text)?;
        }
        if let Some(runs) = runs.filter(|_| !self.options.quiet) {
            terminal::say(&format!("runs: {}", runs.display()));
        }
        let nothing = self
            .done
            .iter()
            .all(|comparison| comparison.rows.is_empty());
        Ok(match self.worst {
            Exit::Partial if nothing && !interrupted => Exit::Failed,
            Exit::Ok if self.done.len() < cases => Exit::Partial,
            worst => worst,
        })
    }
}

/// Reports failed runs, one sentence for each policy.
fn tell_failures(failures: &[FailedRun]) {
    let mut told: Vec<&str> = vec![];
    for FailedRun {
        policy,
        seed,
        error,
        ..
    } in failures
    {
        if told.contains(&policy.as_str()) {
            continue;
        }
        told.push(policy);
        let more = match failures
            .iter()
            .filter(|other| other.policy == *policy)
            .count()
            - 1
        {
            0 => String::new(),
            more => format!(" (and {more} more runs of this policy)"),
        };
        terminal::tell(&format!("error: `{policy}`, seed {seed}: {error}{more}"));
    }
}
