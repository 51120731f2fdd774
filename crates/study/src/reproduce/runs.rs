//! Plans every run of the experiments once, and does it.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use joulepath_control::Setup;
use joulepath_model::cancel::Cancel;
use joulepath_model::policy::Policy;
use joulepath_model::result::RunResult;
use joulepath_slotted::SlottedResult;

use super::evidence::Evidence;
use super::experiment::Experiment;
use super::metrics::Run;
use super::slotted;
use super::study::{Extent, RunsOn, Study};
use crate::batch::{Batch, Loaded, Row, took};
use crate::engine::Engine;
use crate::error::{Error, Kind, Result};
use crate::event::Watch;
use crate::policies;
use crate::source::{Overrides, Source};
use crate::stored::StoredRuns;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum On {
    /// The simulator.
    Packet,
    /// The machine's own stack.
    Kernel,
}

/// A scenario with its overrides, loaded once.
struct Case {
    loaded: Loaded,
    setups: Vec<Setup>,
}

#[derive(Clone, Copy, Debug)]
struct Planned {
    case: usize,
    /// Index of the setup.
    policy: usize,
    seed: u64,
    series: bool,
    on: On,
}

/// Runs of a study, by policy.
#[derive(Clone, Debug)]
pub(super) enum WantedRuns {
    /// Indices of the runs, in the order of the seeds.
    Engine(Vec<Vec<usize>>),
    /// Index of the slotted system's case.
    Slotted(Vec<usize>),
}

/// Runs of all experiments.
pub(super) struct Plan {
    extent: Extent,
    first_seed: u64,
    cases: Vec<Case>,
    /// Index of a case, by scenario name and overrides.
    known: BTreeMap<(String, Overrides), usize>,
    runs: Vec<Planned>,
    /// Index of a run by case, policy, seed and engine.
    places: BTreeMap<(usize, usize, u64, On), usize>,
    /// Cases of 003's slotted system.
    slotted: Vec<slotted::Case>,
    /// Runs by experiment, index of the study, and engine.
    wanted: BTreeMap<(String, usize, On), WantedRuns>,
}

/// Results of the runs.
pub(super) struct Done {
    results: Vec<Option<RunResult>>,
    /// Results by case; empty for a case with a missing run.
    slotted: Vec<Vec<SlottedResult>>,
    /// Seeds by case.
    seeds: Vec<RangeInclusive<u64>>,
    /// Total time of the runs.
    pub(super) took: Duration,
}

impl Plan {
    /// Plans the runs of `experiments`, and those of the kernel if `kernel` is given.
    ///
    /// # Errors
    /// If a scenario, variant, key or policy does not exist.
    pub(super) fn of(
        experiments: &[Arc<Experiment>],
        extent: Extent,
        kernel: Option<&dyn Engine>,
    ) -> Result<Self> {
        let mut plan = Plan::new(extent, 1);
        for experiment in experiments {
            for (index, study) in experiment.studies.iter().enumerate() {
                let wanted = plan.want(&study.of_extent(extent))?;
                plan.wanted
                    .insert((experiment.id.clone(), index, On::Packet), wanted);
                if let (Some(real), Some(kernel)) = (study.in_kernel(), kernel) {
                    let wanted = plan.add_checked(&real, kernel)?;
                    plan.wanted
                        .insert((experiment.id.clone(), index, On::Kernel), wanted);
                }
            }
        }
        // The kernel's runs come last because they need the whole machine.
        Ok(plan)
    }

    /// A plan without runs. The seeds of each study start at `first_seed`.
    pub(super) fn new(extent: Extent, first_seed: u64) -> Self {
        Plan {
            extent,
            first_seed,
            cases: vec![],
            known: BTreeMap::new(),
            runs: vec![],
            places: BTreeMap::new(),
            slotted: vec![],
            wanted: BTreeMap::new(),
        }
    }

    /// Adds a study on the simulator or the slotted system.
    ///
    /// # Errors
    /// If a scenario, variant, key or policy does not exist.
    pub(super) fn want(&mut self, study: &Study) -> Result<WantedRuns> {
        let RunsOn::Slotted { system, load } = study.runs_on else {
            let case = self.case(study)?;
            return self.add(case, study, On::Packet);
        };
        let last = self.first_seed + u64::from(study.seeds_of(self.extent)) - 1;
        let mut cases = vec![];
        for of in &study.policies {
            let seeds = self.first_seed..=last;
            let case = slotted::Case::new(system, load, &of.policy, &study.set, seeds)
                .map_err(Error::usage)?;
            let known = self.slotted.iter().position(|known| *known == case);
            cases.push(known.unwrap_or(self.slotted.len()));
            if known.is_none() {
                self.slotted.push(case);
            }
        }
        Ok(WantedRuns::Slotted(cases))
    }

    fn add(&mut self, case: usize, study: &Study, on: On) -> Result<WantedRuns> {
        let mut wanted = vec![vec![]; study.policies.len()];
        for seed in (self.first_seed..).take(study.seeds_of(self.extent) as usize) {
            for (of_policy, policy) in wanted.iter_mut().zip(&study.policies) {
                let setup = self.setup(case, &policy.policy)?;
                let series = seed < self.first_seed + u64::from(study.series);
                let next = self.runs.len();
                let place = *self.places.entry((case, setup, seed, on)).or_insert(next);
                match self.runs.get_mut(place) {
                    Some(run) => run.series |= series,
                    None => self.runs.push(Planned {
                        case,
                        policy: setup,
                        seed,
                        series,
                        on,
                    }),
                }
                of_policy.push(place);
            }
        }
        Ok(WantedRuns::Engine(wanted))
    }

    /// Adds the kernel's runs of a study, if the kernel can do them.
    fn add_checked(&mut self, study: &Study, kernel: &dyn Engine) -> Result<WantedRuns> {
        let case = self.case(study)?;
        let wanted = self.add(case, study, On::Kernel)?;
        let places: Vec<usize> = study
            .policies
            .iter()
            .map(|of| self.setup(case, &of.policy))
            .collect::<Result<_, _>>()?;
        // The simulator may run more policies on the same scenario.
        let case = &self.cases[case];
        let setups: Vec<Setup> = places.iter().map(|&at| case.setups[at].clone()).collect();
        kernel
            .check(&case.loaded.scenario, &setups)
            .map(|()| wanted)
    }

    fn case(&mut self, study: &Study) -> Result<usize> {
        let RunsOn::Scenario { name, variant } = &study.runs_on else {
            return Err(Error::usage(format!("`{}` has no scenario", study.name)));
        };
        let source = Source::named(name)?;
        let identity = (
            name.clone(),
            source.overrides(variant.as_deref(), &study.set)?,
        );
        if let Some(&case) = self.known.get(&identity) {
            return Ok(case);
        }
        let mut loaded = Loaded::of(&source, String::new(), identity.1.clone())?;
        loaded.name.clone_from(&loaded.scenario.title);
        self.cases.push(Case {
            loaded,
            setups: vec![],
        });
        self.known.insert(identity, self.cases.len() - 1);
        Ok(self.cases.len() - 1)
    }

    fn setup(&mut self, case: usize, policy: &str) -> Result<usize> {
        let case = &mut self.cases[case];
        let policy: Policy = policy.parse()?;
        let written = policy.to_string();
        if let Some(place) = case
            .setups
            .iter()
            .position(|known| known.policy() == written)
        {
            return Ok(place);
        }
        case.setups.push(policies::setup(
            &policy,
            &case.loaded.scenario,
            Kind::Failed,
        )?);
        Ok(case.setups.len() - 1)
    }

    /// Number of engine runs.
    pub(super) fn len(&self) -> usize {
        self.runs.len()
    }

    /// Does every run that `stored` lacks: the simulator's, then the kernel's, then the slotted
    /// system's, on `jobs` cores if the engine can.
    pub(super) fn execute(
        &self,
        [packet, kernel]: [Option<&dyn Engine>; 2],
        stored: &mut StoredRuns,
        jobs: Option<NonZeroUsize>,
        watch: Watch<'_>,
        cancel: &Cancel,
    ) -> Done {
        let seeds = self.slotted.iter().map(|case| case.seeds.clone()).collect();
        let results = vec![None; self.runs.len()];
        let mut done = Done {
            results,
            slotted: vec![],
            seeds,
            took: Duration::ZERO,
        };
        let runs = self.runs.iter().enumerate().filter_map(|(place, run)| {
            let engine = match run.on {
                On::Packet => packet,
                On::Kernel => kernel,
            };
            let case = &self.cases[run.case];
            let seed = std::slice::from_ref(&run.seed);
            let mut row = case.loaded.row(engine?, &case.setups[run.policy], seed);
            row.series = usize::from(run.series);
            Some((place, row))
        });
        let (places, rows): (Vec<usize>, Vec<Row<'_>>) = runs.unzip();
        let table = Batch { jobs, cancel }.table(&rows, Some(stored), watch);
        done.took = took(&table);
        for (place, outcome) in places.into_iter().zip(table.into_iter().flatten()) {
            done.results[place] = outcome.run();
        }
        done.slotted = slotted::run_all(&self.slotted, jobs, watch, cancel);
        done
    }

    /// Runs of an experiment on an engine, and the number of missing ones.
    pub(super) fn evidence<'a>(
        &self,
        experiment: &'a Experiment,
        done: &'a Done,
        on: On,
    ) -> (Evidence<'a>, u64) {
        let wanted = |index| self.wanted.get(&(experiment.id.clone(), index, on));
        let wanted: Vec<Option<&WantedRuns>> = (0..experiment.studies.len()).map(wanted).collect();
        // The kernel may run only some of the policies.
        let named = |study: &'a Study| match &study.kernel {
            Some(kernel) if on == On::Kernel => kernel.policies.as_slice(),
            _ => study.policies.as_slice(),
        };
        let mut missing = 0;
        let runs = experiment
            .studies
            .iter()
            .zip(&wanted)
            .map(|(study, wanted)| {
                let (runs, lacks) = done.of(*wanted);
                missing += lacks;
                let mut by_name: BTreeMap<&str, Vec<Run<'a>>> = named(study)
                    .iter()
                    .map(|of| of.name.as_str())
                    .zip(runs)
                    .collect();
                study
                    .policies
                    .iter()
                    .map(|of| by_name.remove(of.name.as_str()).unwrap_or_default())
                    .collect()
            });
        let runs = runs.collect();
        (Evidence::new(&experiment.studies, runs), missing)
    }
}

impl Done {
    /// Runs of a study by policy, and the number of missing ones.
    pub(super) fn of(&self, wanted: Option<&WantedRuns>) -> (Vec<Vec<Run<'_>>>, u64) {
        let mut missing = 0;
        let mut engine = |places: &Vec<usize>| {
            let runs: Vec<Run<'_>> = places
                .iter()
                .filter_map(|&at| self.results[at].as_ref())
                .map(Run::Engine)
                .collect();
            missing += (places.len() - runs.len()) as u64;
            runs
        };
        let runs = match wanted {
            None => vec![],
            Some(WantedRuns::Engine(policies)) => policies.iter().map(&mut engine).collect(),
            Some(WantedRuns::Slotted(cases)) => {
                let case = |&at: &usize| {
                    self.slotted[at]
                        .iter()
                        .map(Run::Slotted)
                        .collect::<Vec<_>>()
                };
                let runs: Vec<Vec<Run<'_>>> = cases.iter().map(case).collect();
                let lacks =
                    |(&at, runs): (&usize, &Vec<_>)| self.seeds[at].clone().count() - runs.len();
                missing = cases.iter().zip(&runs).map(lacks).sum::<usize>() as u64;
                runs
            }
        };
        (runs, missing)
    }
}

/// Checks that the kernel engine can run a study here.
///
/// # Errors
/// Names the missing requirement.
pub(super) fn probe(study: &Study, kernel: &dyn Engine) -> Result<()> {
    Plan::new(Extent::Full, 1)
        .add_checked(study, kernel)
        .map(drop)
}
