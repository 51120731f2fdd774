//! Runs the points of boxes and judges each claim there.

use std::num::NonZeroUsize;
use std::sync::Arc;

use joulepath_model::cancel::Cancel;
use joulepath_model::policy::Policy;
use joulepath_model::random::Stream;

use super::super::boxes::ClaimBox;
use super::super::evidence::Evidence;
use super::super::experiment::Experiment;
use super::super::runs::{self, WantedRuns};
use super::super::space::{Change, Point};
use super::super::study::{Extent, Study};
use super::state::{Judgement, State};
use crate::engine::Engine;
use crate::error::Result;
use crate::event::Watch;
use crate::stored::StoredRuns;

/// A box with its experiments, points and results.
pub(super) struct Searched {
    pub(super) claim_box: Arc<ClaimBox>,
    pub(super) experiments: Vec<Arc<Experiment>>,
    /// The usual point, then the hypercube, then printed numbers, then the refinement.
    pub(super) points: Vec<Point>,
    /// Judgements by point and claim, for the points that have run.
    pub(super) judged: Vec<Vec<Judgement>>,
    /// Number of points of the hypercube.
    pub(super) hypercube: usize,
    pub(super) seeds: u32,
    pub(super) random: Stream,
}

/// Settings that the rounds share.
pub(super) struct Round<'a> {
    pub(super) engine: &'a dyn Engine,
    pub(super) jobs: Option<NonZeroUsize>,
    pub(super) first_seed: u64,
    pub(super) stored: &'a mut StoredRuns,
    pub(super) cancel: &'a Cancel,
    /// Number of runs, and their total time, s.
    pub(super) tally: (u64, f64),
    /// Number of missing runs.
    pub(super) lacks: u64,
}

/// Studies of a claim at a point, and their runs.
type AtPoint = Vec<(Study, WantedRuns)>;

impl Round<'_> {
    /// Runs the points that have not run yet, and judges every claim at each.
    ///
    /// # Errors
    /// If a scenario, key or policy does not exist.
    pub(super) fn run(&mut self, all: &mut [Searched], watch: Watch<'_>) -> Result<()> {
        let mut plan = runs::Plan::new(Extent::Full, self.first_seed);
        let mut wanted: Vec<Vec<AtPoint>> = vec![];
        for of in &*all {
            for point in of.judged.len()..of.points.len() {
                let of_claim = |claim: usize| -> Result<AtPoint> {
                    let studies = of.studies(claim, point).into_iter();
                    studies
                        .map(|study| Ok((study.clone(), plan.want(&study)?)))
                        .collect()
                };
                wanted.push(
                    (0..of.experiments.len())
                        .map(of_claim)
                        .collect::<Result<_>>()?,
                );
            }
        }
        let done = plan.execute(
            [Some(self.engine), None],
            self.stored,
            self.jobs,
            watch,
            self.cancel,
        );
        self.tally.0 += plan.len() as u64;
        self.tally.1 += done.took.as_secs_f64();
        let mut at_points = wanted.iter();
        for of in all {
            for point in of.judged.len()..of.points.len() {
                let claims = at_points.next().expect("one for each point");
                let readings = of.points[point].readings(&of.claim_box.parameters);
                let mut judge = |(experiment, studies): (&Arc<Experiment>, &AtPoint)| {
                    let (studies, wanted): (Vec<Study>, Vec<&WantedRuns>) = studies
                        .iter()
                        .map(|(study, wanted)| (study.clone(), wanted))
                        .unzip();
                    let of_study = |wanted: &WantedRuns| {
                        let (runs, missing) = done.of(Some(wanted));
                        self.lacks += missing;
                        runs
                    };
                    let evidence =
                        Evidence::new(&studies, wanted.into_iter().map(of_study).collect());
                    Judgement::of(experiment, experiment.findings(&evidence.under(&readings)))
                };
                let judged = of.experiments.iter().zip(claims).map(&mut judge).collect();
                of.judged.push(judged);
            }
        }
        Ok(())
    }
}

impl Searched {
    /// Studies of a claim at a point.
    pub(super) fn studies(&self, claim: usize, point: usize) -> Vec<Study> {
        let changes = self.points[point].changes(&self.claim_box.parameters);
        let studies = self
            .claim_box
            .studies(&self.experiments[claim].studies)
            .into_iter();
        studies
            .map(|study| {
                changes.iter().fold(
                    Study {
                        seeds: self.seeds,
                        ..study
                    },
                    changed,
                )
            })
            .collect()
    }

    /// States by claim and point.
    pub(super) fn states(&self) -> Vec<Vec<State>> {
        let of_claim = |claim: usize| self.judged.iter().map(|of| of[claim].state).collect();
        (0..self.experiments.len()).map(of_claim).collect()
    }

    /// Points where a claim holds, the nearest to the usual one first.
    pub(super) fn holding(&self, claim: usize) -> Vec<usize> {
        let mut holding: Vec<usize> = (0..self.judged.len())
            .filter(|&at| self.judged[at][claim].state == State::Holds)
            .collect();
        let far =
            |at: &usize| self.points[*at].distance(&self.points[0], &self.claim_box.parameters);
        holding.sort_by(|a, b| far(a).total_cmp(&far(b)));
        holding
    }

    /// A claim at a point, for a run with more seeds.
    pub(super) fn again(&self, claim: usize, point: usize, times: u32) -> Searched {
        Searched {
            claim_box: Arc::clone(&self.claim_box),
            experiments: vec![Arc::clone(&self.experiments[claim])],
            points: vec![self.points[point].clone()],
            judged: vec![],
            hypercube: 0,
            seeds: self.seeds * times,
            random: self.random.clone(),
        }
    }

    /// Differences of a point from the usual one, in words; `None` if there are none.
    pub(super) fn where_to(&self, point: usize) -> Option<String> {
        let changed = self.points[point].changed(&self.claim_box.parameters);
        let words: Vec<String> = changed
            .map(|(p, value)| format!("{} = {}", p.key, value.text))
            .collect();
        (!words.is_empty()).then(|| words.join(", "))
    }

    /// Commands that run a claim's studies at a point, without a verdict.
    pub(super) fn commands(&self, claim: usize, point: usize) -> Vec<String> {
        self.studies(claim, point)
            .iter()
            .filter_map(|study| study.describe(Extent::Full))
            .collect()
    }
}

/// The study with one more change.
fn changed(mut study: Study, change: &Change) -> Study {
    match change {
        Change::Set(key, value) => study.set.push((key.clone(), value.clone())),
        Change::Option(names, key, value) => {
            let is_named = |name: &String| names.as_ref().is_none_or(|names| names.contains(name));
            for of in study.policies.iter_mut().filter(|of| is_named(&of.name)) {
                of.policy = with_option(&of.policy, key, value);
            }
        }
    }
    study
}

/// Adds `scheduler=first-free` to `mptcp[cc=olia]`: `mptcp[cc=olia,scheduler=first-free]`.
fn with_option(policy: &str, key: &str, value: &str) -> String {
    let mut policy: Policy = policy
        .parse()
        .expect("the policies of experiments are well formed");
    match policy.overrides.iter_mut().find(|(known, _)| known == key) {
        Some((_, known)) => value.clone_into(known),
        None => policy.overrides.push((key.to_owned(), value.to_owned())),
    }
    policy.to_string()
}

#[cfg(test)]
mod tests {
    use super::super::super::study::{Named, RunsOn};
    use super::*;

    #[test]
    fn an_option_is_added_or_replaced() {
        assert_eq!(
            with_option("mptcp", "scheduler", "minrtt"),
            "mptcp[scheduler=minrtt]"
        );
        assert_eq!(
            with_option("mptcp[scheduler=first-free]", "scheduler", "minrtt"),
            "mptcp[scheduler=minrtt]"
        );
        let runs_on = RunsOn::Scenario {
            name: "quick".to_owned(),
            variant: None,
        };
        let policies = ["mptcp", "dts"].map(|policy| Named {
            name: policy.to_owned(),
            policy: policy.to_owned(),
        });
        let (name, policies) = (String::new(), policies.to_vec());
        let study = Study {
            name,
            x: None,
            runs_on,
            set: vec![],
            quick_set: vec![],
            policies,
            seeds: 1,
            quick: 0,
            series: 0,
            kernel: None,
        };
        let change = |key: &str, value: &str| {
            Change::Option(
                Some(vec!["mptcp".to_owned()]),
                key.to_owned(),
                value.to_owned(),
            )
        };
        let study = changed(
            changed(study, &change("cc", "olia")),
            &change("scheduler", "first-free"),
        );
        assert_eq!(
            study.policies[0].policy,
            "mptcp[cc=olia,scheduler=first-free]"
        );
        assert_eq!(
            study.policies[1].policy, "dts",
            "only the named policies change"
        );
    }
}
