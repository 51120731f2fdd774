//! `joulepath gap`: how far simulator and kernel are apart, on the same scenarios under the same policies.
//!
//! | module | what |
//! |---|---|
//! | `measure` | differences of one case, and of all together |
//! | `table` | text, Markdown, JSON |

mod measure;
mod table;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use joulepath_model::policy::Policy;
use joulepath_model::result::RunResult;
use joulepath_model::scenario::Scenario;
use joulepath_model::units::Nanos;

use self::measure::{Case, Gap};
use crate::cli::{Engine, GapOptions};
use crate::contenders::{self, Contender};
use crate::engine::{self, Runner};
use crate::failure::{Exit, Failure};
use crate::interrupt;
use crate::kept::{Kept, Key};
use crate::marks;
use crate::progress::Progress;
use crate::shipped;
use crate::show::print_json;
use crate::source::Source;
use crate::study::{self, Task};
use crate::terminal;

/// Scenarios of this folder are compared if none is named.
const FOLDER: &str = "fidelity/";
/// What `--quick` leaves of them.
const QUICK_SCENARIOS: [&str; 3] = ["fidelity/twins", "fidelity/loss", "fidelity/file"];
const QUICK_POLICIES: usize = 2;

/// Runs the command.
///
/// # Errors
/// Whatever keeps it from starting. A run that fails later is said and left out.
pub(crate) fn gap(options: &GapOptions) -> Result<Exit, Failure> {
    let packet = engine::open(Engine::Packet, None)?;
    let kernel = engine::open(Engine::Kernel, options.timekeeping.max_lateness)?;
    let plans = plans(options, &*kernel)?;
    let mut kept = options.runs.as_deref().map(Kept::open).transpose()?.unwrap_or_default();
    let stop = interrupt::flag();
    let seeds: Vec<u64> = (options.first_seed..).take(options.seeds as usize).collect();
    let simulated = simulate(&plans, &seeds, &*packet, stop);
    let all = seeds.len() * plans.iter().map(|plan| plan.policies.len()).sum::<usize>();
    let mut progress =
        Progress::new(all, plans.first().and_then(|p| kernel.takes(&p.scenario)), options.quiet);
    let mut session = Session {
        kernel: &*kernel,
        max_lateness: options.timekeeping.max_lateness,
        kept: &mut kept,
        progress: &mut progress,
        stop,
        failed: 0,
    };
    let mut cases = vec![];
    for (plan, simulated) in plans.iter().zip(simulated) {
        for (place, packet_runs) in simulated.into_iter().enumerate() {
            let kernel_runs = session.real(plan, place, &seeds);
            let pair = &plan.policies[place];
            cases.extend(Case::of(&plan.name, &pair.policy, &packet_runs, &kernel_runs));
        }
    }
    let failed = session.failed;
    progress.finish();
    let gap = Gap::of(cases, options.seeds, options.timekeeping.max_lateness);
    tell(options, &gap)?;
    Ok(match () {
        () if gap.cases.is_empty() => Exit::Failed,
        () if failed > 0 || stop.load(Ordering::SeqCst) => Exit::Partial,
        () => Exit::Ok,
    })
}

/// One scenario and what runs on it.
struct Plan {
    name: String,
    sha256: String,
    scenario: Scenario,
    policies: Vec<Pair>,
}

/// One policy for both engines.
struct Pair {
    policy: Policy,
    kernel: Contender,
    /// With the kernel's scheduler.
    packet: Contender,
}

fn plans(options: &GapOptions, kernel: &dyn Runner) -> Result<Vec<Plan>, Failure> {
    let asked = options.policies.as_deref().map(contenders::parse).transpose()?;
    let plan = |source: &Source| plan(source, asked.as_deref(), options.quick, kernel);
    sources(options)?.iter().map(plan).collect()
}

/// What is named, a file before a shipped scenario; if nothing is, shipped ones whatever files there are.
fn sources(options: &GapOptions) -> Result<Vec<Source>, Failure> {
    match options.scenarios.as_slice() {
        [] if options.quick => QUICK_SCENARIOS.iter().map(|name| Source::named(name)).collect(),
        [] => {
            let all = shipped::SCENARIOS.iter().filter(|(name, _)| name.starts_with(FOLDER));
            Ok(all.map(|&shipped| Source::shipped(shipped)).collect())
        }
        named => named.iter().map(|name| Source::open(name)).collect(),
    }
}

fn plan(
    source: &Source,
    asked: Option<&[Policy]>,
    quick: bool,
    kernel: &dyn Runner,
) -> Result<Plan, Failure> {
    let scenario = source.load(&[])?;
    let all = asked.unwrap_or(&scenario.compare.policies);
    let most = if quick && asked.is_none() { QUICK_POLICIES } else { all.len() };
    let chosen = &all[..most.min(all.len())];
    let as_asked = contenders::prepare(chosen, &scenario, Exit::Usage)?;
    kernel.check(&scenario, &as_asked)?;
    let simulated: Vec<Policy> = chosen.iter().map(with_mainline).collect();
    let simulated = contenders::prepare(&simulated, &scenario, Exit::Usage)?;
    let pairs = chosen.iter().zip(as_asked).zip(simulated);
    let policies =
        pairs.map(|((policy, kernel), packet)| Pair { policy: policy.clone(), kernel, packet }).collect();
    let name = source.name.rsplit('/').next().unwrap_or(&source.name).trim_end_matches(".toml").to_owned();
    Ok(Plan { name, sha256: source.sha256(&scenario), scenario, policies })
}

/// The same policy with the only scheduler that the kernel has.
fn with_mainline(policy: &Policy) -> Policy {
    let mut policy = policy.clone();
    if policy.overrides.iter().all(|(key, _)| key != "scheduler") {
        policy.overrides.push(("scheduler".to_owned(), "mainline".to_owned()));
    }
    policy
}

/// Every simulated run, by scenario and policy, on all cores.
fn simulate(
    plans: &[Plan],
    seeds: &[u64],
    packet: &dyn Runner,
    stop: &AtomicBool,
) -> Vec<Vec<Vec<RunResult>>> {
    let of_plan = |plan: &Plan| {
        let tasks = study::tasks(plan.policies.len(), seeds, false);
        let work = |task: &Task| packet.run(&plan.scenario, &plan.policies[task.policy].packet, task);
        let mut runs = vec![vec![]; plan.policies.len()];
        for (task, outcome) in study::run(&tasks, study::cores(None), stop, work, |_, _| {}) {
            match outcome {
                Ok(run) => runs[task.policy].push(run),
                Err(error) => told_failure(plan, task.policy, "packet", task.seed, &error),
            }
        }
        runs
    };
    plans.iter().map(of_plan).collect()
}

fn told_failure(plan: &Plan, place: usize, engine: &str, seed: u64, error: &str) {
    let policy = &plan.policies[place].policy;
    terminal::tell(&format!("error: {}, `{policy}`, {engine} engine, seed {seed}: {error}", plan.name));
}

/// Runs in real time, one after the other.
struct Session<'a> {
    kernel: &'a dyn Runner,
    max_lateness: Option<Nanos>,
    kept: &'a mut Kept,
    progress: &'a mut Progress,
    stop: &'a AtomicBool,
    failed: usize,
}

impl Session<'_> {
    /// The runs of one policy on one scenario; those that are kept are not done again.
    fn real(&mut self, plan: &Plan, place: usize, seeds: &[u64]) -> Vec<RunResult> {
        let pair = &plan.policies[place];
        // What was allowed to be late does not pass for what was not.
        let allowed = self.max_lateness.map(|bound| ("--max-lateness".to_owned(), bound.to_string()));
        let mut runs = vec![];
        for &seed in seeds {
            let key = Key {
                scenario: &plan.sha256,
                overrides: allowed.as_slice(),
                engine: self.kernel.name(),
                policy: &pair.kernel.policy,
                seed,
            };
            let run = self.kept.find(&key).map(|finished| finished.run.clone()).or_else(|| {
                let (run, took) = self.attempt(plan, place, seed)?;
                self.kept.add(&key, &run, took);
                Some(run)
            });
            runs.extend(run);
            self.progress.advance();
        }
        runs
    }

    /// One run and the time that it took, unless it fails.
    fn attempt(&mut self, plan: &Plan, place: usize, seed: u64) -> Option<(RunResult, Duration)> {
        if self.stop.load(Ordering::SeqCst) {
            return None;
        }
        let task = Task { policy: place, seed, series: false };
        let told = |error: &str| told_failure(plan, place, "kernel", seed, error);
        let contender = &plan.policies[place].kernel;
        match engine::attempt(self.kernel, &plan.scenario, contender, &task, self.stop, told) {
            Ok(done) => Some(done),
            Err(error) => {
                told(&error);
                self.failed += 1;
                None
            }
        }
    }
}

fn tell(options: &GapOptions, gap: &Gap) -> Result<(), Failure> {
    if let Some(page) = &options.markdown {
        marks::write(page, table::MARK, &table::markdown(gap))?;
    }
    if options.json {
        return print_json(gap).map(drop);
    }
    terminal::print(&table::text(gap)).map(drop)
}
