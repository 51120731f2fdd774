//! What runs a scenario. An engine is a type that implements [`Runner`]; [`open`] finds it by its name.
//!
//! `compare` knows no engine: a further one is a type here (or in a module of its own), and an arm of [`open`].

#[cfg(feature = "kernel")]
mod kernel;

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use joulepath_control::schedule::Scheduler;
use joulepath_model::result::RunResult;
use joulepath_model::scenario::Scenario;
use joulepath_model::units::Nanos;
use joulepath_packet::RunOptions;

use crate::cli::Engine;
use crate::contenders::Contender;
use crate::failure::{Exit, Failure};
use crate::study::{Outcome, Task};

/// Something that can run a scenario under a policy.
pub(crate) trait Runner: Sync {
    /// Its name, in results and reports.
    fn name(&self) -> &'static str;

    /// Whether two seeds differ. If not, one run of each policy says all.
    fn draws(&self) -> bool {
        true
    }

    /// Most runs at a time; none if only the cores set a bound.
    fn most_at_a_time(&self) -> Option<NonZeroUsize> {
        None
    }

    /// How often [`attempt`] tries a run.
    fn attempts(&self) -> usize {
        1
    }

    /// Most seeds, unless more are asked for.
    fn most_seeds(&self) -> u32 {
        u32::MAX
    }

    /// How long a run takes; none if nobody knows before.
    fn takes(&self, _scenario: &Scenario) -> Option<Duration> {
        None
    }

    /// What whoever reads the results has to know.
    ///
    /// # Errors
    /// As [`Runner::check`].
    fn notes(&self, _scenario: &Scenario, _contenders: &[Contender]) -> Result<Vec<String>, Failure> {
        Ok(vec![])
    }

    /// Refuses what it cannot run, before anything runs.
    ///
    /// # Errors
    /// What of the scenario or of a policy it cannot represent, by name.
    fn check(&self, _scenario: &Scenario, _contenders: &[Contender]) -> Result<(), Failure> {
        Ok(())
    }

    /// Does one run.
    fn run(&self, scenario: &Scenario, contender: &Contender, task: &Task) -> Outcome;
}

/// The engine called `engine`; `max_lateness` is how late its emulated links may be, if not its own bound.
///
/// # Errors
/// If this version or this machine has no such engine, or if an engine without a clock is to keep time.
pub(crate) fn open(engine: Engine, max_lateness: Option<Nanos>) -> Result<Box<dyn Runner>, Failure> {
    if max_lateness.is_some() && engine != Engine::Kernel {
        return Err(Failure::usage("--max-lateness is for emulated links, which other engines do not have")
            .help("leave it out, or add `--engine kernel`"));
    }
    let missing = |name: &str| {
        Err(Failure::message(Exit::Unsupported, format!("this version has no {name} engine"))
            .help("use `--engine packet`"))
    };
    match engine {
        Engine::Packet => Ok(Box::new(Packet)),
        Engine::Fluid => Ok(Box::new(Fluid)),
        #[cfg(feature = "kernel")]
        Engine::Kernel => Ok(Box::new(kernel::Kernel::new(max_lateness))),
        #[cfg(not(feature = "kernel"))]
        Engine::Kernel => Err(Failure::without_kernel_engine()),
        Engine::Live => missing("live"),
    }
}

/// One run and the time that it took. If it fails it is tried again, as often as the engine may be asked, unless `stop` is set; `failed`
/// hears of all failures but the last.
///
/// # Errors
/// Why it failed the last time.
pub(crate) fn attempt(
    engine: &dyn Runner,
    scenario: &Scenario,
    contender: &Contender,
    task: &Task,
    stop: &AtomicBool,
    failed: impl Fn(&str),
) -> Result<(RunResult, Duration), String> {
    let mut left = engine.attempts();
    loop {
        let since = Instant::now();
        let outcome = engine.run(scenario, contender, task);
        left -= 1;
        match outcome {
            Err(error) if left > 0 && !stop.load(Ordering::SeqCst) => failed(&error),
            outcome => return outcome.map(|run| (run, since.elapsed())),
        }
    }
}

/// Every segment, ACK, queue and timer, simulated.
struct Packet;

impl Runner for Packet {
    fn name(&self) -> &'static str {
        "packet"
    }

    fn run(&self, scenario: &Scenario, contender: &Contender, task: &Task) -> Outcome {
        let options = RunOptions { series: task.series };
        joulepath_packet::run(scenario, &contender.setup, task.seed, options)
            .map_err(|error| error.to_string())
    }
}

/// The differential equations.
struct Fluid;

impl Fluid {
    /// The parts of a policy that have a place in the equations.
    fn setup(contender: &Contender) -> joulepath_fluid::Setup {
        let setup = &contender.setup;
        joulepath_fluid::Setup {
            policy: setup.policy.clone(),
            controller: setup.controller,
            controller_params: setup.controller_params.clone(),
            allocator: setup.allocator,
            only_path: setup.only_path,
        }
    }
}

impl Runner for Fluid {
    fn name(&self) -> &'static str {
        "fluid"
    }

    fn draws(&self) -> bool {
        false
    }

    fn check(&self, scenario: &Scenario, contenders: &[Contender]) -> Result<(), Failure> {
        let refuse =
            |what: String| Failure::message(Exit::Unsupported, what).help("use `--engine packet`, which can");
        for contender in contenders {
            if let Some(part) = not_in_the_fluid(contender) {
                let policy = &contender.policy;
                return Err(refuse(format!("`{policy}` uses {part}, which the fluid engine does not know")));
            }
            joulepath_fluid::check(scenario, &Self::setup(contender))
                .map_err(|error| refuse(error.to_string()))?;
        }
        Ok(())
    }

    fn run(&self, scenario: &Scenario, contender: &Contender, task: &Task) -> Outcome {
        let options = joulepath_fluid::RunOptions { series: task.series };
        joulepath_fluid::run(scenario, &Self::setup(contender), task.seed, options)
            .map_err(|error| error.to_string())
    }
}

/// A part of the policy that decides what arrives, and that the equations leave out.
fn not_in_the_fluid(contender: &Contender) -> Option<&'static str> {
    let setup = &contender.setup;
    match setup.scheduler {
        _ if setup.selector.is_some() => Some("a selector that opens and closes subflows"),
        _ if setup.slots.is_some() => Some("an allocator of slots"),
        Scheduler::Redundant(_) => Some("the redundant scheduler"),
        _ => None,
    }
}
