//! Every run that the experiments ask for, once: planned, kept, done.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use joulepath_model::policy::Policy;
use joulepath_model::result::RunResult;
use joulepath_model::scenario::Scenario;

use super::evidence::Evidence;
use super::experiment::{Experiment, Extent, Study};
use crate::contenders::{self, Contender};
use crate::engine::{self, Runner};
use crate::failure::{Exit, Failure};
use crate::kept::{Kept, Key};
use crate::progress::Progress;
use crate::source::{Overrides, Source};
use crate::study::{self, Task};
use crate::terminal;

/// Which engine a run is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum On {
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
    contenders: Vec<Contender>,
}

/// One run.
#[derive(Clone, Copy, Debug)]
struct Run {
    case: usize,
    /// Index of the contender.
    policy: usize,
    seed: u64,
    series: bool,
    on: On,
}

/// Indices of the runs of a study: by policy, in the order of the seeds.
type Wanted = BTreeMap<String, Vec<usize>>;

/// What all experiments need.
pub(crate) struct Plan {
    extent: Extent,
    cases: Vec<Case>,
    /// By scenario name and overrides.
    known: BTreeMap<(&'static str, Overrides), usize>,
    runs: Vec<Run>,
    /// Index of a run by case, policy, seed and engine.
    places: BTreeMap<(usize, usize, u64, On), usize>,
    /// By experiment, index of its study, and engine.
    wanted: BTreeMap<(&'static str, usize, On), Wanted>,
}

/// What has become of the runs.
pub(crate) struct Done {
    results: Vec<Option<RunResult>>,
    /// Time that they took, together.
    pub(crate) took: Duration,
}

impl Plan {
    /// The runs of `experiments`; with those of the kernel if `kernel` is there.
    ///
    /// # Errors
    /// A scenario, variant, key or policy that does not exist.
    pub(crate) fn of(
        experiments: &[Experiment],
        extent: Extent,
        kernel: Option<&dyn Runner>,
    ) -> Result<Self, Failure> {
        let mut plan = Plan::new(extent);
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

    fn new(extent: Extent) -> Self {
        Plan {
            extent,
            cases: vec![],
            known: BTreeMap::new(),
            runs: vec![],
            places: BTreeMap::new(),
            wanted: BTreeMap::new(),
        }
    }

    fn add(&mut self, case: usize, study: &Study, on: On) -> Result<Wanted, Failure> {
        let mut wanted = Wanted::new();
        for seed in 1..=u64::from(study.seeds_of(self.extent)) {
            for policy in &study.policies {
                let contender = self.contender(case, policy)?;
                let series = seed <= u64::from(study.series);
                let next = self.runs.len();
                let place = *self.places.entry((case, contender, seed, on)).or_insert(next);
                match self.runs.get_mut(place) {
                    Some(run) => run.series |= series,
                    None => self.runs.push(Run { case, policy: contender, seed, series, on }),
                }
                wanted.entry(policy.clone()).or_default().push(place);
            }
        }
        Ok(wanted)
    }

    /// Adds what the kernel shall run, if it can.
    fn add_checked(&mut self, study: &Study, kernel: &dyn Runner) -> Result<Wanted, Failure> {
        let case = self.case(study)?;
        let wanted = self.add(case, study, On::Kernel)?;
        let places: Vec<usize> =
            study.policies.iter().map(|policy| self.contender(case, policy)).collect::<Result<_, _>>()?;
        // The same scenario may have policies that only the simulator runs.
        let case = &self.cases[case];
        let contenders: Vec<Contender> = places.iter().map(|&at| case.contenders[at].clone()).collect();
        kernel.check(&case.scenario, &contenders).map(|()| wanted)
    }

    fn case(&mut self, study: &Study) -> Result<usize, Failure> {
        let source = Source::named(study.scenario)?;
        let identity = (study.scenario, source.overrides(study.variant.as_deref(), &study.set)?);
        if let Some(&case) = self.known.get(&identity) {
            return Ok(case);
        }
        let scenario = source.load(&identity.1)?;
        let sha256 = source.sha256(&scenario);
        self.cases.push(Case { scenario, sha256, overrides: identity.1.clone(), contenders: vec![] });
        self.known.insert(identity, self.cases.len() - 1);
        Ok(self.cases.len() - 1)
    }

    fn contender(&mut self, case: usize, policy: &str) -> Result<usize, Failure> {
        let case = &mut self.cases[case];
        let policy: Policy = policy.parse().map_err(|error| Failure::message(Exit::Failed, error))?;
        let written = policy.to_string();
        if let Some(place) = case.contenders.iter().position(|known| known.policy == written) {
            return Ok(place);
        }
        case.contenders.extend(contenders::prepare(&[policy], &case.scenario, Exit::Failed)?);
        Ok(case.contenders.len() - 1)
    }

    /// How many runs there are.
    pub(crate) fn len(&self) -> usize {
        self.runs.len()
    }

    /// Does what `kept` does not have: the simulator's runs, then the kernel's, on `jobs` cores if the engine can.
    pub(crate) fn execute(
        &self,
        packet: &dyn Runner,
        kernel: Option<&dyn Runner>,
        kept: &mut Kept,
        jobs: NonZeroUsize,
        stop: &AtomicBool,
        quiet: bool,
    ) -> Done {
        let mut done = Done { results: vec![None; self.runs.len()], took: Duration::ZERO };
        let mut progress = Progress::new(self.runs.len(), None, quiet);
        for (runner, on) in [(Some(packet), On::Packet), (kernel, On::Kernel)] {
            let Some(runner) = runner else { continue };
            let mut left = vec![];
            for (place, run) in self.runs.iter().enumerate().filter(|(_, run)| run.on == on) {
                let found = kept.find(&self.key(run, runner));
                match found.filter(|found| found.run.series.is_some() || !run.series) {
                    None => left.push(place),
                    Some(found) => {
                        done.took += found.took;
                        done.results[place] = Some(found.run.clone());
                        progress.advance();
                    }
                }
            }
            let jobs = runner.most_at_a_time().map_or(jobs, |most| most.min(jobs));
            let work = |&place: &usize| {
                let run = &self.runs[place];
                let case = &self.cases[run.case];
                let task = Task { policy: run.policy, seed: run.seed, series: run.series };
                engine::attempt(runner, &case.scenario, &case.contenders[run.policy], &task, stop, |_| {})
            };
            study::run(&left, jobs, stop, work, |&place, outcome| {
                progress.advance();
                match outcome {
                    Ok((run, took)) => {
                        kept.add(&self.key(&self.runs[place], runner), run, *took);
                        done.took += *took;
                        done.results[place] = Some(run.clone());
                    }
                    Err(error) => {
                        let run = &self.runs[place];
                        let case = &self.cases[run.case];
                        terminal::tell(&format!(
                            "error: {}, `{}`, {} engine, seed {}: {error}",
                            case.scenario.title,
                            case.contenders[run.policy].policy,
                            runner.name(),
                            run.seed
                        ));
                    }
                }
            });
        }
        progress.finish();
        done
    }

    fn key(&self, run: &Run, runner: &dyn Runner) -> Key<'_> {
        let case = &self.cases[run.case];
        Key {
            scenario: &case.sha256,
            overrides: &case.overrides,
            engine: runner.name(),
            policy: &case.contenders[run.policy].policy,
            seed: run.seed,
        }
    }

    /// The runs of one experiment on an engine, and how many of them are missing.
    pub(crate) fn evidence<'a>(
        &self,
        experiment: &'a Experiment,
        done: &'a Done,
        on: On,
    ) -> (Evidence<'a>, u64) {
        let mut missing = 0;
        let mut done_of = |places: &[usize]| {
            let runs: Vec<&RunResult> = places.iter().filter_map(|&at| done.results[at].as_ref()).collect();
            missing += (places.len() - runs.len()) as u64;
            runs
        };
        let of_study = |(index, study): (usize, &Study)| {
            let wanted = self.wanted.get(&(experiment.id, index, on));
            let places =
                |policy: &String| wanted.and_then(|wanted| wanted.get(policy)).map_or(&[][..], |p| p);
            study.policies.iter().map(|policy| done_of(places(policy))).collect()
        };
        let runs = experiment.studies.iter().enumerate().map(of_study).collect();
        (Evidence::new(&experiment.studies, runs), missing)
    }
}

/// Asks the kernel engine whether it can run a study here.
///
/// # Errors
/// What is missing.
pub(crate) fn probe(study: &Study, kernel: &dyn Runner) -> Result<(), Failure> {
    Plan::new(Extent::Full).add_checked(study, kernel).map(drop)
}
