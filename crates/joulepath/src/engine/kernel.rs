//! The machine's own MPTCP stack over emulated links, in real time.

use std::num::NonZeroUsize;
use std::time::Duration;

use joulepath_linux::Program;
use joulepath_linux::emulator::messages::Lateness;
use joulepath_linux::engine::{self, RunOptions, Setup};
use joulepath_model::policy::Policy;
use joulepath_model::scenario::Scenario;
use joulepath_model::units::Nanos;

use super::Runner;
use crate::contenders::Contender;
use crate::failure::Failure;
use crate::study::{Outcome, Task};

/// Namespaces, controllers and processes of a run come and go in about this time.
const AROUND: Duration = Duration::from_millis(400);

/// A run takes as long as the scenario says, and needs the machine for itself.
pub(super) struct Kernel {
    /// A run whose links were later than this has failed.
    max_lateness: Nanos,
}

impl Kernel {
    pub(super) fn new(max_lateness: Option<Nanos>) -> Self {
        Kernel { max_lateness: max_lateness.unwrap_or(Lateness::BOUND) }
    }
}

impl Runner for Kernel {
    fn name(&self) -> &'static str {
        "kernel"
    }

    fn most_at_a_time(&self) -> Option<NonZeroUsize> {
        Some(NonZeroUsize::MIN)
    }

    /// A moment's load is enough to spoil a run.
    fn attempts(&self) -> usize {
        3
    }

    fn most_seeds(&self) -> u32 {
        3
    }

    fn takes(&self, scenario: &Scenario) -> Option<Duration> {
        Some(Duration::from_nanos(scenario.duration.0) + AROUND)
    }

    fn check(&self, scenario: &Scenario, contenders: &[Contender]) -> Result<(), Failure> {
        Ok(engine::check(scenario, &setups(scenario, contenders)?)?)
    }

    fn notes(&self, scenario: &Scenario, contenders: &[Contender]) -> Result<Vec<String>, Failure> {
        let mut notes = engine::notes(scenario, &setups(scenario, contenders)?);
        if self.max_lateness > Lateness::BOUND {
            notes.push(format!(
                "The emulated links may have been up to {} late (one packet in a hundred more); {} are the usual bound.",
                self.max_lateness,
                Lateness::BOUND
            ));
        }
        Ok(notes)
    }

    fn run(&self, scenario: &Scenario, contender: &Contender, task: &Task) -> Outcome {
        let options =
            RunOptions { series: task.series, max_lateness: self.max_lateness, ..RunOptions::default() };
        setup(scenario, contender)
            .and_then(|setup| engine::run(scenario, &setup, task.seed, options, &Program::current()))
            .map_err(|error| error.to_string())
    }
}

fn setups(scenario: &Scenario, contenders: &[Contender]) -> Result<Vec<Setup>, Failure> {
    contenders.iter().map(|contender| Ok(setup(scenario, contender)?)).collect()
}

fn setup(scenario: &Scenario, contender: &Contender) -> joulepath_linux::Result<Setup> {
    let policy: Policy = contender.policy.parse().expect("it was a policy before");
    Setup::of(&policy, scenario)
}
