//! Which claims of the papers hold.
//!
//! | module | what |
//! |---|---|
//! | `study`, `experiment` | what has to run, and what an experiment is |
//! | `paper000` … `paper004`, `claims` | the experiments |
//! | `runs`, `slotted` | runs of the engines and of 003's slotted system |
//! | `evidence`, `metrics`, `slot_metrics` | what ran, as an examination sees it |
//! | [`search`] | where the claims hold |

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
pub mod search;
mod slot_metrics;
mod slotted;
mod study;

use std::collections::BTreeSet;
use std::num::NonZeroUsize;

use joulepath_model::cancel::Cancel;
use joulepath_model::names::suggest;
use joulepath_model::result::Provenance;
use joulepath_report::{Judged, Report, Reproduction, SecondMeasurement};
use serde::Serialize;

use self::experiment::{Experiment, Standing};
use self::runs::{Done, On};
use self::slotted::SlottedRuns;
use self::study::Study;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::event::{Event, Watch};
use crate::parallel;
use crate::stored::StoredRuns;

pub use study::Extent;

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

/// An experiment, described.
#[derive(Clone, Debug, Serialize)]
pub struct Description {
    /// `000-fig4`.
    pub id: &'static str,
    /// A few words.
    pub title: &'static str,
    /// What the paper says.
    pub claim: &'static str,
    /// Paper, section, figure, table.
    pub source: &'static str,
    /// Shipped scenarios that it runs.
    pub scenarios: Vec<&'static str>,
    /// Whether it is part of [`Extent::Quick`].
    pub quick: bool,
    /// Whether it is measured a second time in the kernel's own stack.
    pub kernel: bool,
}

/// The experiments whose id begins with one of `ids`; all of them if there are none.
///
/// # Errors
/// If none begins with one of them.
pub fn describe(ids: &[String]) -> Result<Vec<Description>> {
    Ok(choose(experiments(), ids)?.iter().map(Description::of).collect())
}

impl Description {
    fn of(experiment: &Experiment) -> Self {
        let mut scenarios: Vec<&str> = experiment.studies.iter().map(|study| study.scenario).collect();
        scenarios.dedup();
        Description {
            id: experiment.id,
            title: experiment.title,
            claim: experiment.claim,
            source: experiment.source,
            scenarios,
            quick: experiment.is_quick(),
            kernel: experiment.studies.iter().any(|study| study.kernel.is_some()),
        }
    }
}

/// Those whose id begins with one of `ids`; all if there are none.
fn choose(all: Vec<Experiment>, ids: &[String]) -> Result<Vec<Experiment>> {
    for id in ids {
        if !all.iter().any(|experiment| experiment.id.starts_with(id.as_str())) {
            let known: Vec<&str> = all.iter().map(|experiment| experiment.id).collect();
            return Err(Error::usage(format!("there is no experiment `{id}`")).with_help(suggest(id, &known)));
        }
    }
    let wanted = |experiment: &Experiment| {
        ids.is_empty() || ids.iter().any(|id| experiment.id.starts_with(id.as_str()))
    };
    Ok(all.into_iter().filter(wanted).collect())
}

/// What is run, and how.
#[derive(Clone, Debug)]
pub struct Request {
    /// Experiments, by name or by how the name begins; all of them if there are none.
    pub ids: Vec<String>,
    /// How much of them.
    pub extent: Extent,
    /// Simulated runs at a time; as many as there are cores if none.
    pub jobs: Option<NonZeroUsize>,
}

/// Experiments that are ready to run.
pub struct Plan {
    chosen: Vec<Experiment>,
    /// Whether these are all that there are.
    is_whole: bool,
    extent: Extent,
    jobs: Option<NonZeroUsize>,
    packet: Box<dyn Engine>,
    /// For the second measurement.
    kernel: Option<Box<dyn Engine>>,
    runs: runs::Plan,
}

impl Plan {
    /// Loads and checks everything. `packet` does the simulations; `kernel`, if it is there and can, the
    /// second measurement of the full extent. Returned besides is why `kernel` cannot, if it is asked for.
    ///
    /// # Errors
    /// If there is no such experiment, or none of them is part of the quick extent.
    pub fn of(
        request: &Request,
        packet: Box<dyn Engine>,
        kernel: Option<Box<dyn Engine>>,
    ) -> Result<(Self, Option<Error>)> {
        let extent = request.extent;
        let mut chosen = choose(experiments(), &request.ids)?;
        chosen.retain(|experiment| extent == Extent::Full || experiment.is_quick());
        if chosen.is_empty() {
            return Err(
                Error::usage("none of these experiments is part of --quick").with_help("write --full")
            );
        }
        let (kernel, refused) = match kernel.filter(|_| extent == Extent::Full) {
            Some(kernel) => second_engine(&chosen, kernel),
            None => (None, None),
        };
        let runs = runs::Plan::of(&chosen, extent, kernel.as_deref())?;
        let is_whole = chosen.len() == experiments().len();
        let jobs = request.jobs;
        Ok((Plan { chosen, is_whole, extent, jobs, packet, kernel, runs }, refused))
    }

    /// Whether all experiments are part of it.
    pub fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// How many runs there are, without those of the slotted system.
    pub fn runs(&self) -> usize {
        self.runs.len()
    }

    /// How many experiments there are.
    pub fn experiments(&self) -> usize {
        self.chosen.len()
    }
}

/// The engine of the second measurement, if any experiment asks for one and it can run the first of them; or
/// why it cannot.
fn second_engine(chosen: &[Experiment], kernel: Box<dyn Engine>) -> (Option<Box<dyn Engine>>, Option<Error>) {
    let first = chosen.iter().flat_map(|experiment| &experiment.studies).find_map(Study::in_kernel);
    match first.map(|study| runs::probe(&study, &*kernel)) {
        None => (None, None),
        Some(Ok(())) => (Some(kernel), None),
        Some(Err(refused)) => (None, Some(refused)),
    }
}

/// A search of the experiments whose id begins with one of `ids`; of all of them if there are none. `packet`
/// does the runs.
///
/// # Errors
/// If there is no such experiment, or none is a paper's.
pub fn search_plan(
    ids: &[String],
    request: &search::Request,
    packet: Box<dyn Engine>,
) -> Result<search::Plan> {
    search::Plan::of(request, choose(experiments(), ids)?, packet)
}

/// The experiments whose id begins with one of `ids` at one point of their box, with the seeds that confirm
/// it. A run that fails is told, and counted as missing.
///
/// # Errors
/// If there is no such experiment, or they share no box, or the box has no such key or value.
pub fn reproduce_at(
    ids: &[String],
    request: &search::Request,
    at: &[(String, String)],
    packet: Box<dyn Engine>,
    by: &Provenance,
    watch: Watch<'_>,
    cancel: &Cancel,
) -> Result<Reproduction> {
    search::at(request, choose(experiments(), ids)?, at, packet, by, watch, cancel)
}

/// Does every run that `stored` does not have, and examines what there is. A run that fails is told, and
/// counted as missing.
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
    let batches: BTreeSet<_> = plan.chosen.iter().flat_map(|experiment| experiment.slots.clone()).collect();
    let slotted = SlottedRuns::of(&batches, plan.jobs, watch, cancel);
    let examined: Vec<Report> =
        plan.chosen.iter().map(|experiment| plan.report(experiment, &done, &slotted)).collect();
    Reproduction {
        extent: plan.extent.name().to_owned(),
        version: by.version.clone(),
        commit: by.commit.clone(),
        command: by.command.clone(),
        run_s: done.took.as_secs_f64(),
        runs: plan.runs.len() as u64,
        cores: parallel::cores(None).get() as u32,
        partial: examined.iter().any(|report| report.missing > 0),
        experiments: examined,
    }
}

impl Plan {
    fn report(&self, experiment: &Experiment, done: &Done, slotted: &SlottedRuns) -> Report {
        let (evidence, mut missing) = self.runs.evidence(experiment, done, slotted, On::Packet);
        missing += experiment.slots.iter().map(|&batch| slotted.missing(batch)).sum::<u64>();
        let examined = (experiment.examine)(&evidence);
        let Judged { verdict, reading, reason } = experiment.judged(&examined.findings);
        let mut kernel = None;
        if self.kernel.is_some() && experiment.studies.iter().any(|study| study.kernel.is_some()) {
            let (evidence, lacking) = self.runs.evidence(experiment, done, slotted, On::Kernel);
            missing += lacking;
            let measured = (experiment.examine)(&evidence).findings;
            kernel = SecondMeasurement::of(&measured, &examined.findings);
        }
        Report {
            id: experiment.id.to_owned(),
            title: experiment.title.to_owned(),
            source: experiment.source.to_owned(),
            claim: experiment.claim.to_owned(),
            verdict,
            reading,
            reason,
            cause: experiment.cause.to_owned(),
            is_ours: experiment.standing == Standing::Ours,
            set_up: experiment.studies.iter().map(|study| study.describe(self.extent)).collect(),
            engines: engines(experiment, !examined.findings.is_empty()),
            findings: examined.findings,
            kernel,
            figures: examined.figures,
            missing,
        }
    }
}

/// What the numbers of an experiment come from, apart from the kernel.
fn engines(experiment: &Experiment, has_findings: bool) -> Vec<String> {
    let runs = [("packet", !experiment.studies.is_empty()), ("slotted", !experiment.slots.is_empty())];
    let mut engines: Vec<String> =
        runs.iter().filter(|(_, is_used)| *is_used).map(|(name, _)| (*name).to_owned()).collect();
    if engines.is_empty() && has_findings {
        engines.push("computed".to_owned());
    }
    engines
}

#[cfg(test)]
mod tests;
