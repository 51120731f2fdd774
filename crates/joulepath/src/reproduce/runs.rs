//! Every run that the experiments ask for, once: planned, kept, done.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use joulepath_model::policy::Policy;
use joulepath_model::result::RunResult;
use joulepath_model::scenario::Scenario;

use super::evidence::Evidence;
use super::experiment::{Experiment, Extent, Study};
use crate::contenders::{self, Contender};
use crate::engine::Runner;
use crate::failure::{Exit, Failure};
use crate::kept::{Kept, Key};
use crate::progress::Progress;
use crate::source::{Overrides, Source};
use crate::study::{self, Outcome, Task};
use crate::terminal;

/// How often a run of the kernel is tried: a moment's load is enough to spoil one.
const ATTEMPTS: usize = 3;

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
        let source = Source::open(study.scenario)?;
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

    /// Does what `kept` does not have: the simulator's on `jobs` cores, then the kernel's one by one.
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
        for (place, run) in self.runs.iter().enumerate() {
            let found = kept.find(&self.key(run)).filter(|found| found.run.series.is_some() || !run.series);
            if let Some(found) = found {
                done.took += found.took;
                done.results[place] = Some(found.run.clone());
                progress.advance();
            }
        }
        for (runner, on, jobs) in [(Some(packet), On::Packet, jobs), (kernel, On::Kernel, NonZeroUsize::MIN)]
        {
            let Some(runner) = runner else { continue };
            let left: Vec<usize> = (0..self.runs.len())
                .filter(|&i| done.results[i].is_none() && self.runs[i].on == on)
                .collect();
            let work = |&place: &usize| self.attempt(runner, &self.runs[place], stop);
            study::run(&left, jobs, stop, work, |&place, outcome| {
                progress.advance();
                match outcome {
                    Ok((run, took)) => {
                        kept.add(&self.key(&self.runs[place]), run, *took);
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

    fn attempt(
        &self,
        runner: &dyn Runner,
        run: &Run,
        stop: &AtomicBool,
    ) -> Result<(RunResult, Duration), String> {
        let case = &self.cases[run.case];
        let task = Task { policy: run.policy, seed: run.seed, series: run.series };
        let attempts = if run.on == On::Kernel { ATTEMPTS } else { 1 };
        let mut last = Err("it was not tried".to_owned());
        for _ in 0..attempts {
            if last.is_ok() || (stop.load(Ordering::SeqCst) && run.on == On::Kernel) {
                break;
            }
            let since = Instant::now();
            let outcome: Outcome = runner.run(&case.scenario, &case.contenders[run.policy], &task);
            last = outcome.map(|run| (run, since.elapsed()));
        }
        last
    }

    fn key(&self, run: &Run) -> Key<'_> {
        let case = &self.cases[run.case];
        Key {
            scenario: &case.sha256,
            overrides: &case.overrides,
            engine: if run.on == On::Kernel { "kernel" } else { "packet" },
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
