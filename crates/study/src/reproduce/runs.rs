//! Every run that the experiments ask for, once: planned, and done.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::time::Duration;

use joulepath_control::Setup;
use joulepath_model::cancel::Cancel;
use joulepath_model::policy::Policy;
use joulepath_model::result::RunResult;
use joulepath_model::scenario::Scenario;

use super::evidence::Evidence;
use super::experiment::Experiment;
use super::slotted::SlottedRuns;
use super::study::{Extent, Study};
use crate::batch::{Batch, Wanted, took};
use crate::engine::{Engine, Task};
use crate::error::{Kind, Result};
use crate::event::Watch;
use crate::policies;
use crate::source::{Overrides, Source};
use crate::stored::StoredRuns;

/// Which engine a run is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum On {
    /// The simulator.
    Packet,
    /// The machine's own stack.
    Kernel,
}

/// A scenario with its overrides, loaded once.
struct Case {
    scenario: Scenario,
    sha256: String,
    overrides: Overrides,
    setups: Vec<Setup>,
}

/// One run.
#[derive(Clone, Copy, Debug)]
struct Run {
    case: usize,
    /// Index of the setup.
    policy: usize,
    seed: u64,
    series: bool,
    on: On,
}

/// Indices of the runs of a study: by policy, in the order of the seeds.
pub(super) type WantedRuns = BTreeMap<String, Vec<usize>>;

/// What all experiments need.
pub(super) struct Plan {
    extent: Extent,
    first_seed: u64,
    cases: Vec<Case>,
    /// By scenario name and overrides.
    known: BTreeMap<(&'static str, Overrides), usize>,
    runs: Vec<Run>,
    /// Index of a run by case, policy, seed and engine.
    places: BTreeMap<(usize, usize, u64, On), usize>,
    /// By experiment, index of its study, and engine.
    wanted: BTreeMap<(&'static str, usize, On), WantedRuns>,
}

/// What has become of the runs.
pub(super) struct Done {
    results: Vec<Option<RunResult>>,
    /// Time that they took, together.
    pub(super) took: Duration,
}

impl Plan {
    /// The runs of `experiments`; with those of the kernel if `kernel` is there.
    ///
    /// # Errors
    /// A scenario, variant, key or policy that does not exist.
    pub(super) fn of(
        experiments: &[Experiment],
        extent: Extent,
        kernel: Option<&dyn Engine>,
    ) -> Result<Self> {
        let mut plan = Plan::new(extent, 1);
        for experiment in experiments {
            for (index, study) in experiment.studies.iter().enumerate() {
                let case = plan.case(study)?;
                let wanted = plan.add(case, study, On::Packet)?;
                plan.wanted.insert((experiment.id, index, On::Packet), wanted);
                if let (Some(real), Some(kernel)) = (study.in_kernel(), kernel) {
                    let wanted = plan.add_checked(&real, kernel)?;
                    plan.wanted.insert((experiment.id, index, On::Kernel), wanted);
                }
            }
        }
        // The kernel's runs come last: they want the machine for themselves.
        Ok(plan)
    }

    /// Without a run. The seeds of each study begin with `first_seed`.
    pub(super) fn new(extent: Extent, first_seed: u64) -> Self {
        Plan {
            extent,
            first_seed,
            cases: vec![],
            known: BTreeMap::new(),
            runs: vec![],
            places: BTreeMap::new(),
            wanted: BTreeMap::new(),
        }
    }

    /// Adds a study of no experiment: its runs by policy.
    ///
    /// # Errors
    /// A scenario, variant, key or policy that does not exist.
    pub(super) fn want(&mut self, study: &Study) -> Result<WantedRuns> {
        let case = self.case(study)?;
        self.add(case, study, On::Packet)
    }

    fn add(&mut self, case: usize, study: &Study, on: On) -> Result<WantedRuns> {
        let mut wanted = WantedRuns::new();
        for seed in (self.first_seed..).take(study.seeds_of(self.extent) as usize) {
            for policy in &study.policies {
                let setup = self.setup(case, study.runs(policy))?;
                let series = seed < self.first_seed + u64::from(study.series);
                let next = self.runs.len();
                let place = *self.places.entry((case, setup, seed, on)).or_insert(next);
                match self.runs.get_mut(place) {
                    Some(run) => run.series |= series,
                    None => self.runs.push(Run { case, policy: setup, seed, series, on }),
                }
                wanted.entry(policy.clone()).or_default().push(place);
            }
        }
        Ok(wanted)
    }

    /// Adds what the kernel shall run, if it can.
    fn add_checked(&mut self, study: &Study, kernel: &dyn Engine) -> Result<WantedRuns> {
        let case = self.case(study)?;
        let wanted = self.add(case, study, On::Kernel)?;
        let places: Vec<usize> =
            study.policies.iter().map(|name| self.setup(case, study.runs(name))).collect::<Result<_, _>>()?;
        // The same scenario may have policies that only the simulator runs.
        let case = &self.cases[case];
        let setups: Vec<Setup> = places.iter().map(|&at| case.setups[at].clone()).collect();
        kernel.check(&case.scenario, &setups).map(|()| wanted)
    }

    fn case(&mut self, study: &Study) -> Result<usize> {
        let source = Source::named(study.scenario)?;
        let identity = (study.scenario, source.overrides(study.variant.as_deref(), &study.set)?);
        if let Some(&case) = self.known.get(&identity) {
            return Ok(case);
        }
        let scenario = source.load(&identity.1)?;
        let sha256 = source.sha256(&scenario);
        self.cases.push(Case { scenario, sha256, overrides: identity.1.clone(), setups: vec![] });
        self.known.insert(identity, self.cases.len() - 1);
        Ok(self.cases.len() - 1)
    }

    fn setup(&mut self, case: usize, policy: &str) -> Result<usize> {
        let case = &mut self.cases[case];
        let policy: Policy = policy.parse()?;
        let written = policy.to_string();
        if let Some(place) = case.setups.iter().position(|known| known.policy() == written) {
            return Ok(place);
        }
        case.setups.push(policies::setup(&policy, &case.scenario, Kind::Failed)?);
        Ok(case.setups.len() - 1)
    }

    /// How many runs there are.
    pub(super) fn len(&self) -> usize {
        self.runs.len()
    }

    /// Does what `stored` does not have: the simulator's runs, then the kernel's, on `jobs` cores if the
    /// engine can.
    pub(super) fn execute(
        &self,
        [packet, kernel]: [Option<&dyn Engine>; 2],
        stored: &mut StoredRuns,
        jobs: Option<NonZeroUsize>,
        watch: Watch<'_>,
        cancel: &Cancel,
    ) -> Done {
        let mut done = Done { results: vec![None; self.runs.len()], took: Duration::ZERO };
        for (engine, on) in [(packet, On::Packet), (kernel, On::Kernel)] {
            let Some(engine) = engine else { continue };
            let places: Vec<usize> =
                (0..self.runs.len()).filter(|&place| self.runs[place].on == on).collect();
            let wanted: Vec<Wanted<'_>> =
                places.iter().map(|&place| self.wanted_run(&self.runs[place])).collect();
            let outcomes = Batch { engine, jobs, cancel }.run(&wanted, Some(&mut *stored), watch);
            done.took += took(&outcomes);
            for (place, outcome) in places.into_iter().zip(outcomes) {
                done.results[place] = outcome.run();
            }
        }
        done
    }

    fn wanted_run(&self, run: &Run) -> Wanted<'_> {
        let case = &self.cases[run.case];
        Wanted {
            name: &case.scenario.title,
            scenario: &case.scenario,
            setup: &case.setups[run.policy],
            task: Task { seed: run.seed, series: run.series },
            identity: (&case.sha256, &case.overrides),
        }
    }

    /// The runs of one experiment on an engine, and how many of them are missing.
    pub(super) fn evidence<'a>(
        &self,
        experiment: &'a Experiment,
        done: &'a Done,
        slotted: &'a SlottedRuns,
        on: On,
    ) -> (Evidence<'a>, u64) {
        let wanted = |index| self.wanted.get(&(experiment.id, index, on));
        let wanted: Vec<Option<&WantedRuns>> = (0..experiment.studies.len()).map(wanted).collect();
        evidence(&experiment.studies, &wanted, done, slotted)
    }
}

/// The runs of studies, by what was wanted of each, and how many of them are missing.
pub(super) fn evidence<'a>(
    studies: &'a [Study],
    wanted: &[Option<&WantedRuns>],
    done: &'a Done,
    slotted: &'a SlottedRuns,
) -> (Evidence<'a>, u64) {
    let mut missing = 0;
    let mut done_of = |places: &[usize]| {
        let runs: Vec<&RunResult> = places.iter().filter_map(|&at| done.results[at].as_ref()).collect();
        missing += (places.len() - runs.len()) as u64;
        runs
    };
    let of_study = |(study, wanted): (&Study, &Option<&WantedRuns>)| {
        let places = |policy: &String| wanted.and_then(|wanted| wanted.get(policy)).map_or(&[][..], |p| p);
        study.policies.iter().map(|policy| done_of(places(policy))).collect()
    };
    let runs = studies.iter().zip(wanted).map(of_study).collect();
    (Evidence::new(studies, runs, slotted), missing)
}

/// Asks the kernel engine whether it can run a study here.
///
/// # Errors
/// What is missing.
pub(super) fn probe(study: &Study, kernel: &dyn Engine) -> Result<()> {
    Plan::new(Extent::Full, 1).add_checked(study, kernel).map(drop)
}
