//! Runs at the points of boxes, and what they say of each claim there.

use std::num::NonZeroUsize;

use joulepath_model::cancel::Cancel;
use joulepath_model::policy::Policy;
use joulepath_model::random::Stream;

use super::super::experiment::Experiment;
use super::super::runs::{self, WantedRuns};
use super::super::slotted::{Batch, SlottedRuns, System};
use super::super::study::{Extent, Study};
use super::boxes::ClaimBox;
use super::space::{Change, Point};
use super::state::{Judgement, State};
use crate::engine::Engine;
use crate::error::Result;
use crate::event::Watch;
use crate::stored::StoredRuns;

/// A box with its experiments, its points, and what is known of them.
pub(super) struct Searched {
    pub(super) claim_box: ClaimBox,
    pub(super) experiments: Vec<Experiment>,
    /// The usual point first, then the hypercube, then what refined it.
    pub(super) points: Vec<Point>,
    /// By point and claim; as long as those that have run.
    pub(super) judged: Vec<Vec<Judgement>>,
    /// Points of the hypercube.
    pub(super) hypercube: usize,
    pub(super) seeds: u32,
    pub(super) random: Stream,
}

/// What the rounds have in common.
pub(super) struct Round<'a> {
    pub(super) engine: &'a dyn Engine,
    pub(super) jobs: Option<NonZeroUsize>,
    pub(super) first_seed: u64,
    pub(super) stored: &'a mut StoredRuns,
    pub(super) cancel: &'a Cancel,
    /// Runs, and the time that they took, s.
    pub(super) tally: (u64, f64),
    /// Runs that are missing.
    pub(super) lacks: u64,
}

/// The studies of a claim at a point, and their runs.
type AtPoint = Vec<(Study, WantedRuns)>;

impl Round<'_> {
    /// Runs the points that have not run, and judges every claim at each.
    ///
    /// # Errors
    /// A scenario, key or policy that does not exist.
    pub(super) fn run(&mut self, all: &mut [Searched], watch: Watch<'_>) -> Result<()> {
        let mut plan = runs::Plan::new(Extent::Full, self.first_seed);
        let mut wanted: Vec<Vec<AtPoint>> = vec![];
        let mut systems: Vec<System> = vec![];
        for of in &*all {
            for point in of.judged.len()..of.points.len() {
                let of_claim = |claim: usize| -> Result<AtPoint> {
                    let studies = of.studies(claim, point).into_iter();
                    studies.map(|study| Ok((study.clone(), plan.want(&study)?))).collect()
                };
                wanted.push((0..of.experiments.len()).map(of_claim).collect::<Result<_>>()?);
                systems.push(of.system(point, self.first_seed));
            }
        }
        let done = plan.execute([Some(self.engine), None], self.stored, self.jobs, watch, self.cancel);
        let slotted = SlottedRuns::many(&systems, self.jobs, watch, self.cancel);
        self.tally.0 += plan.len() as u64;
        self.tally.1 += done.took.as_secs_f64();
        let mut at_points = wanted.iter().zip(&slotted);
        for of in all {
            for point in of.judged.len()..of.points.len() {
                let (claims, slotted) = at_points.next().expect("one for each point");
                let readings = of.points[point].readings(of.claim_box.parameters);
                let mut judge = |(experiment, studies): (&Experiment, &AtPoint)| {
                    let (studies, wanted): (Vec<Study>, Vec<Option<&WantedRuns>>) =
                        studies.iter().map(|(study, wanted)| (study.clone(), Some(wanted))).unzip();
                    let (evidence, missing) = runs::evidence(&studies, &wanted, &done, slotted);
                    self.lacks += missing;
                    let evidence = evidence.under(&readings).in_part();
                    Judgement::of(experiment, (experiment.examine)(&evidence).findings)
                };
                let judged = of.experiments.iter().zip(claims).map(&mut judge).collect();
                of.judged.push(judged);
            }
        }
        Ok(())
    }
}

impl Searched {
    /// What runs of a claim at a point.
    pub(super) fn studies(&self, claim: usize, point: usize) -> Vec<Study> {
        let changes = self.points[point].changes(self.claim_box.parameters);
        let studies = (self.claim_box.studies)(self.experiments[claim].studies.clone());
        let at_point = |study: Study| {
            let study = Study { seeds: self.seeds, kernel: None, ..study };
            changes.iter().fold(study, changed)
        };
        studies.into_iter().map(at_point).collect()
    }

    fn system(&self, point: usize, first_seed: u64) -> System {
        let changes = self.points[point].changes(self.claim_box.parameters);
        let slotted = |change| if let Change::Slotted(change) = change { Some(change) } else { None };
        System {
            // The lossy loads are one point of the box, which other rows show.
            batches: self
                .experiments
                .iter()
                .flat_map(|experiment| experiment.slots.clone())
                .filter(|batch| *batch != Batch::LossyLoads)
                .collect(),
            changes: changes.into_iter().filter_map(slotted).collect(),
            seeds: Some(first_seed..=first_seed + u64::from(self.seeds) - 1),
        }
    }

    /// By claim and point.
    pub(super) fn states(&self) -> Vec<Vec<State>> {
        let of_claim = |claim: usize| self.judged.iter().map(|of| of[claim].state).collect();
        (0..self.experiments.len()).map(of_claim).collect()
    }

    /// The points at which a claim holds, the nearest to the usual one first.
    pub(super) fn holding(&self, claim: usize) -> Vec<usize> {
        let mut holding: Vec<usize> =
            (0..self.judged.len()).filter(|&at| self.judged[at][claim].state == State::Holds).collect();
        let far = |at: &usize| self.points[*at].distance(&self.points[0], self.claim_box.parameters);
        holding.sort_by(|a, b| far(a).total_cmp(&far(b)));
        holding
    }

    /// One claim at one point, to be run with more seeds.
    pub(super) fn again(&self, claim: usize, point: usize, times: u32) -> Searched {
        Searched {
            claim_box: self.claim_box,
            experiments: vec![self.experiments[claim].clone()],
            points: vec![self.points[point].clone()],
            judged: vec![],
            hypercube: 0,
            seeds: self.seeds * times,
            random: self.random.clone(),
        }
    }

    /// What differs from the usual at a point, in words; none if nothing does.
    pub(super) fn where_to(&self, point: usize) -> Option<String> {
        let changed = self.points[point].changed(self.claim_box.parameters);
        let words: Vec<String> = changed.map(|(p, value)| format!("{} = {}", p.key, value.text)).collect();
        (!words.is_empty()).then(|| words.join(", "))
    }

    /// Commands that run a claim's studies at a point, without a verdict.
    pub(super) fn commands(&self, claim: usize, point: usize) -> Vec<String> {
        self.studies(claim, point).iter().map(|study| study.describe(Extent::Full)).collect()
    }
}

/// The study with one more change.
fn changed(mut study: Study, change: &Change) -> Study {
    match change {
        Change::Set(key, value) => study.set.push(((*key).to_owned(), value.clone())),
        Change::Option(policies, key, value) => {
            for named in study.policies.clone() {
                if !policies.contains(&named.as_str()) {
                    continue;
                }
                let run = with_option(study.runs(&named), key, value);
                study.instead.retain(|(known, _)| *known != named);
                study.instead.push((named, run));
            }
        }
        Change::Slotted(_) => {}
    }
    study
}

/// `mptcp[cc=olia]` with `scheduler=first-free` is `mptcp[cc=olia,scheduler=first-free]`.
fn with_option(policy: &str, key: &str, value: &str) -> String {
    let mut policy: Policy = policy.parse().expect("the policies of experiments are well formed");
    match policy.overrides.iter_mut().find(|(known, _)| known == key) {
        Some((_, known)) => value.clone_into(known),
        None => policy.overrides.push((key.to_owned(), value.to_owned())),
    }
    policy.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_is_added_or_replaced() {
        assert_eq!(with_option("mptcp", "scheduler", "minrtt"), "mptcp[scheduler=minrtt]");
        assert_eq!(
            with_option("mptcp[scheduler=first-free]", "scheduler", "minrtt"),
            "mptcp[scheduler=minrtt]"
        );
        let study = Study::of("quick", &["mptcp", "dts"]);
        let change = |key, value: &str| Change::Option(&["mptcp"], key, value.to_owned());
        let study = changed(changed(study, &change("cc", "olia")), &change("scheduler", "first-free"));
        assert_eq!(study.runs("mptcp"), "mptcp[cc=olia,scheduler=first-free]");
        assert_eq!(study.runs("dts"), "dts", "only the policies that are named");
    }
}
