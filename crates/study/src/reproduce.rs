//! Checks the claims of the papers.
//!
//! | module | contents |
//! |---|---|
//! | `paper`, `set_up`, `boxes` | the files under `papers/`: rows, set-ups, what a paper leaves open |
//! | `names`, `wrong` | names that a file may use, and errors about other ones |
//! | `study`, `experiment`, `space` | runs, experiments, points of a box |
//! | `finding`, `figure`, `number` | results as the files state them |
//! | `metrics`, `computed` | numbers that the files name: of a run, of arithmetic |
//! | `runs`, `slotted`, `evidence` | runs of the engines and of 003's slotted system |
//! | `inputs`, `made` | what made a stored row, compared with the present |
//! | [`search`] | finds where in a box the claims hold |

mod boxes;
mod computed;
mod evidence;
mod experiment;
mod figure;
mod finding;
mod inputs;
mod made;
mod metrics;
mod names;
mod number;
mod paper;
mod runs;
pub mod search;
mod set_up;
mod slotted;
mod space;
mod study;
mod values;
mod wrong;

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;

use joulepath_model::cancel::Cancel;
use joulepath_model::names::suggest;
use joulepath_model::result::Provenance;
use joulepath_report::search::Search;
use joulepath_report::{
    Finding, Judged, Paper, Report, Reproduction, SecondMeasurement, SetUp, StoredResults, Verdict,
};
use serde::Serialize;

use self::experiment::{Experiment, Standing};
use self::runs::{Done, On};
use self::study::Study;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::event::{Event, Watch};
use crate::files;
use crate::parallel;
use crate::stored::StoredRuns;

use self::made::{compare_with_present, drop_outdated};
pub use study::Extent;

/// Description of an experiment.
#[derive(Clone, Debug, Serialize)]
pub struct Description {
    /// For example `000-fig4`.
    pub id: String,
    /// Title in a few words.
    pub title: String,
    /// Statement of the paper.
    pub claim: String,
    /// Paper, section, figure or table.
    pub source: String,
    /// Names of the shipped scenarios.
    pub scenarios: Vec<String>,
    /// Whether it is part of [`Extent::Quick`] without being named.
    pub quick: bool,
    /// Whether the kernel's own stack repeats the measurement.
    pub kernel: bool,
}

/// The experiments called one of `ids`, or whose id starts with it if none is called so; default:
/// all.
///
/// # Errors
/// If no experiment starts with one of them.
pub fn describe(ids: &[String]) -> Result<Vec<Description>> {
    Ok(choose(ids)?
        .iter()
        .map(|experiment| Description::of(experiment))
        .collect())
}

impl Description {
    fn of(experiment: &Experiment) -> Self {
        let mut scenarios: Vec<String> = experiment
            .studies
            .iter()
            .filter_map(|study| study.scenario().map(str::to_owned))
            .collect();
        scenarios.dedup();
        Description {
            id: experiment.id.clone(),
            title: experiment.title.clone(),
            claim: experiment.claim.clone(),
            source: experiment.source.clone(),
            scenarios,
            quick: experiment.is_quick(),
            kernel: experiment
                .studies
                .iter()
                .any(|study| study.kernel.is_some()),
        }
    }
}

/// Experiments whose id starts with one of `ids`; default: all.
fn choose(ids: &[String]) -> Result<Vec<Arc<Experiment>>> {
    let all = &paper::papers()?.experiments;
    for id in ids {
        if !all
            .iter()
            .any(|experiment| experiment.id.starts_with(id.as_str()))
        {
            let known: Vec<&str> = all
                .iter()
                .map(|experiment| experiment.id.as_str())
                .collect();
            return Err(Error::usage(format!("there is no experiment `{id}`"))
                .with_help(suggest(id, &known)));
        }
    }
    // `002-fig1` is an experiment, not `002-fig10` to `002-fig17`.
    let is_name = |id: &str| all.iter().any(|experiment| experiment.id == id);
    let is_of = |experiment: &Experiment, id: &str| match is_name(id) {
        true => experiment.id == id,
        false => experiment.id.starts_with(id),
    };
    let wanted = |experiment: &&Arc<Experiment>| {
        ids.is_empty() || ids.iter().any(|id| is_of(experiment, id))
    };
    Ok(all.iter().filter(wanted).cloned().collect())
}

/// Experiments to run, and options.
#[derive(Clone, Debug)]
pub struct Request {
    /// Names of experiments or prefixes of names; default: all.
    pub ids: Vec<String>,
    /// How much to run.
    pub extent: Extent,
    /// Simulated runs at a time; default: the number of cores.
    pub jobs: Option<NonZeroUsize>,
}

/// Facts about the chosen experiments that need no run.
#[derive(Clone)]
struct About {
    papers: Vec<Paper>,
    set_ups: Vec<SetUp>,
    /// Ids of the experiments that are too expensive to run without being named.
    left_out: Vec<String>,
}

/// Experiments, ready to run.
pub struct Plan {
    chosen: Vec<Arc<Experiment>>,
    about: About,
    /// Whether these are all experiments.
    is_whole: bool,
    extent: Extent,
    jobs: Option<NonZeroUsize>,
    packet: Box<dyn Engine>,
    /// Engine of the second measurement.
    kernel: Option<Box<dyn Engine>>,
    runs: runs::Plan,
}

impl Plan {
    /// Loads and checks everything. `packet` simulates; `kernel`, if available and able, repeats
    /// the measurement of the full extent. Also returns the reason if `kernel` is needed and
    /// unable.
    ///
    /// # Errors
    /// If there is no such experiment.
    pub fn of(
        request: &Request,
        packet: Box<dyn Engine>,
        kernel: Option<Box<dyn Engine>>,
    ) -> Result<(Self, Option<Error>)> {
        let extent = request.extent;
        let runs_all = extent == Extent::Full || !request.ids.is_empty();
        let (chosen, left_out): (Vec<_>, Vec<_>) = choose(&request.ids)?
            .into_iter()
            .partition(|one| runs_all || one.is_quick());
        let left_out = left_out.iter().map(|one| one.id.clone()).collect();
        let (kernel, refused) = match kernel.filter(|_| extent == Extent::Full) {
            Some(kernel) => second_engine(&chosen, kernel),
            None => (None, None),
        };
        let runs = runs::Plan::of(&chosen, extent, kernel.as_deref())?;
        let is_whole = chosen.len() == paper::papers()?.experiments.len();
        let jobs = request.jobs;
        let (papers, set_ups) = papers_and_set_ups(&chosen)?;
        let about = About {
            papers,
            set_ups,
            left_out,
        };
        Ok((
            Plan {
                chosen,
                about,
                is_whole,
                extent,
                jobs,
                packet,
                kernel,
                runs,
            },
            refused,
        ))
    }

    /// Whether the plan has all experiments.
    pub fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// Number of engine runs, without those of the slotted system.
    pub fn runs(&self) -> usize {
        self.runs.len()
    }

    /// Number of the papers' experiments, without this project's own statements.
    pub fn experiments(&self) -> usize {
        self.chosen
            .iter()
            .filter(|of| of.standing != Standing::Ours)
            .count()
    }
}

/// Engine of the second measurement if an experiment needs one and it can run the first of them;
/// else the reason why it cannot.
fn second_engine(
    chosen: &[Arc<Experiment>],
    kernel: Box<dyn Engine>,
) -> (Option<Box<dyn Engine>>, Option<Error>) {
    let first = chosen
        .iter()
        .flat_map(|experiment| &experiment.studies)
        .find_map(Study::in_kernel);
    match first.map(|study| runs::probe(&study, &*kernel)) {
        None => (None, None),
        Some(Ok(())) => (Some(kernel), None),
        Some(Err(refused)) => (None, Some(refused)),
    }
}

/// The papers and the set-ups of `experiments`, the latter with the values that all their
/// experiments use.
///
/// # Errors
/// If a value has no origin, or a different value.
fn papers_and_set_ups(experiments: &[Arc<Experiment>]) -> Result<(Vec<Paper>, Vec<SetUp>)> {
    let all = paper::papers()?;
    let is_of = |paper: &&Paper| experiments.iter().any(|of| of.id.starts_with(&paper.id));
    let uses = |name: &str| {
        experiments
            .iter()
            .any(|of| of.set_up_of_its_paper() == Some(name))
    };
    let mut set_ups = vec![];
    for (name, values) in all.values.iter().filter(|(name, _)| uses(name)) {
        set_ups.push(values.of_set_up(name, &all.experiments, &all.boxes)?);
    }
    Ok((all.papers.iter().filter(is_of).cloned().collect(), set_ups))
}

/// Plans a search of the experiments whose id starts with one of `ids`; default: all. `packet` does
/// the runs.
///
/// # Errors
/// If there is no such experiment, or none is a paper's.
pub fn search_plan(
    ids: &[String],
    request: &search::Request,
    packet: Box<dyn Engine>,
) -> Result<search::Plan> {
    search::Plan::of(request, choose(ids)?, packet)
}

/// Runs the experiments whose id starts with one of `ids` at one point of their box, with the seeds
/// of the confirmation. Reports failed runs and counts them as missing.
///
/// # Errors
/// If there is no such experiment, they share no box, or the box has no such key or value.
pub fn reproduce_at(
    ids: &[String],
    request: &search::Request,
    at: &[(String, String)],
    packet: Box<dyn Engine>,
    by: &Provenance,
    watch: Watch<'_>,
    cancel: &Cancel,
) -> Result<Reproduction> {
    search::at(request, choose(ids)?, at, packet, by, watch, cancel)
}

/// Results of all experiments and all claims, as stored in `results/` when this library was built,
/// without figures, points and boxes.
///
/// # Errors
/// If they are of another version of the schema.
pub fn stored_results() -> Result<(Reproduction, Search)> {
    let full = StoredResults::parse(include_str!(concat!(env!("OUT_DIR"), "/full.json")))?;
    let claims = StoredResults::parse(include_str!(concat!(env!("OUT_DIR"), "/claims.json")))?;
    match (full, claims) {
        (StoredResults::Reproduction(mut full), StoredResults::Search(mut claims)) => {
            compare_with_present(&mut full)?;
            drop_outdated(&mut claims)?;
            Ok((full, claims))
        }
        _ => unreachable!("`parse` tells them apart by their keys"),
    }
}

/// Maximum size of a file of stored results.
const MAX_STORED_BYTES: u64 = 256 << 20;

/// Reads a full.json, quick.json or claims.json, compares its rows with the present set-ups and
/// engines, and drops claims whose set-up or box has changed.
///
/// # Errors
/// If the file cannot be read, or is something else.
pub fn read_stored(file: &Path) -> Result<StoredResults> {
    let name = file.display();
    let text = files::read_text(file, MAX_STORED_BYTES)
        .map_err(|error| Error::file(format!("cannot read {name}"), error))?;
    let mut stored = StoredResults::parse(&text).map_err(|error| {
        let text = format!("{name}: no results of `joulepath reproduce`: {error}");
        Error::usage(text).with_help("name a full.json, quick.json or claims.json")
    })?;
    match &mut stored {
        StoredResults::Reproduction(found) => {
            with_values(found)?;
            compare_with_present(found)?;
        }
        StoredResults::Search(found) => drop_outdated(found)?,
    }
    Ok(stored)
}

/// Adds the rows of `file`, if there is one, that `new` lacks, and the kernel's measurement of
/// those that `new` measured without the kernel. False if `new` is partial, so that `file` should
/// stay as it is.
///
/// # Errors
/// If the file cannot be read, or is something else.
pub fn merge_experiments(new: &mut Reproduction, file: &Path) -> Result<bool> {
    if file.exists()
        && !new.partial
        && let StoredResults::Reproduction(old) = read_stored(file)?
    {
        made::merge(new, old)?;
        with_values(new)?;
    }
    Ok(!file.exists() || !new.partial)
}

/// Adds the claims of `file`, if there is one, that `new` lacks. False if `new` is partial, so that
/// `file` should stay as it is.
///
/// # Errors
/// If the file cannot be read, or is something else.
pub fn merge_claims(new: &mut Search, file: &Path) -> Result<bool> {
    if file.exists()
        && !new.partial
        && let StoredResults::Search(old) = read_stored(file)?
    {
        made::merge_search(new, old)?;
    }
    Ok(!file.exists() || !new.partial)
}

/// Gives the results the papers and the values of the set-ups as this library has them: a row names
/// what has changed since it ran.
///
/// # Errors
/// If a value has no origin.
fn with_values(all: &mut Reproduction) -> Result<()> {
    let is_in = |of: &&Arc<Experiment>| all.experiments.iter().any(|report| report.id == of.id);
    let experiments: Vec<_> = paper::papers()?
        .experiments
        .iter()
        .filter(is_in)
        .cloned()
        .collect();
    (all.papers, all.set_ups) = papers_and_set_ups(&experiments)?;
    for report in &mut all.experiments {
        let of = experiments.iter().find(|of| of.id == report.id);
        report.values_of = of
            .and_then(|of| of.set_up_of_its_paper())
            .map(str::to_owned);
    }
    Ok(())
}

/// Does every run that `stored` lacks, and evaluates the results. Reports failed runs and counts
/// them as missing.
pub fn reproduce(
    plan: &Plan,
    stored: &mut StoredRuns,
    by: &Provenance,
    watch: Watch<'_>,
    cancel: &Cancel,
) -> Reproduction {
    if let Some(note) = stored.note() {
        watch(Event::Note(note));
    }
    let engines = [Some(&*plan.packet), plan.kernel.as_deref()];
    let done = plan.runs.execute(engines, stored, plan.jobs, watch, cancel);
    let examined: Vec<Report> = plan
        .chosen
        .iter()
        .map(|experiment| plan.report(experiment, &done, by))
        .collect();
    Reproduction {
        extent: plan.extent.name().to_owned(),
        version: by.version.clone(),
        commit: by.commit.clone(),
        command: by.command.clone(),
        run_s: done.took.as_secs_f64(),
        runs: plan.runs.len() as u64,
        cores: parallel::cores(None).get() as u32,
        partial: examined.iter().any(|report| report.missing > 0),
        merged: false,
        left_out: plan.about.left_out.clone(),
        experiments: examined,
        papers: plan.about.papers.clone(),
        set_ups: plan.about.set_ups.clone(),
    }
}

impl Plan {
    fn report(&self, experiment: &Experiment, done: &Done, by: &Provenance) -> Report {
        let (evidence, mut missing) = self.runs.evidence(experiment, done, On::Packet);
        let findings = experiment.findings(&evidence);
        let figures = experiment.figures(&evidence);
        let Judged {
            mut verdict,
            reading,
            mut reason,
        } = experiment.judged(&findings);
        let mut kernel = None;
        if self.kernel.is_some()
            && experiment
                .studies
                .iter()
                .any(|study| study.kernel.is_some())
        {
            let (evidence, lacking) = self.runs.evidence(experiment, done, On::Kernel);
            missing += lacking;
            kernel = SecondMeasurement::of(
                &experiment.findings(&evidence),
                &findings,
                reading.as_deref(),
            )
            .map(|kernel| SecondMeasurement {
                is_part: experiment.runs_in_part_in_kernel(),
                ..kernel
            });
        }
        let is_unmeasured =
            |finding: &Finding| finding.verdict.is_some() && finding.measured.is_none();
        let is_open = matches!(experiment.standing, Standing::Open(_));
        if !is_open && missing > 0 && findings.iter().any(is_unmeasured) {
            verdict = Verdict::NotRun;
            reason = format!("{missing} of its runs are missing");
        }
        let report = Report {
            id: experiment.id.clone(),
            title: experiment.title.clone(),
            source: experiment.source.clone(),
            claim: experiment.claim.clone(),
            verdict,
            reading,
            reason,
            cause: experiment.cause.clone(),
            is_ours: experiment.standing == Standing::Ours,
            values_of: experiment.set_up_of_its_paper().map(str::to_owned),
            set_up: experiment
                .studies
                .iter()
                .filter_map(|study| study.describe(self.extent))
                .collect(),
            engines: engines(experiment, !findings.is_empty()),
            findings,
            kernel,
            figures,
            missing,
            not_in_kernel: experiment.not_in_kernel.clone(),
            made: Some(experiment.made(by)),
        };
        report.confirmed()
    }
}

/// Sources of an experiment's numbers, except the kernel.
fn engines(experiment: &Experiment, has_findings: bool) -> Vec<String> {
    let uses = |is_slotted: bool| {
        experiment
            .studies
            .iter()
            .any(|study| study.scenario().is_none() == is_slotted)
    };
    let runs = [("packet", uses(false)), ("slotted", uses(true))];
    let mut engines: Vec<String> = runs
        .iter()
        .filter(|(_, is_used)| *is_used)
        .map(|(name, _)| (*name).to_owned())
        .collect();
    if engines.is_empty() && has_findings {
        engines.push("computed".to_owned());
    }
    engines
}

#[cfg(test)]
mod tests;
