//! The kernel engine: one run of a scenario in the machine's own MPTCP stack, over emulated radios, in real time.
//!
//! ```text
//!   Scenario, Setup, seed
//!        │
//!        ├─► lab: two namespaces, emulator            clock ──┐
//!        ├─► controllers: struct_ops under a name of the run  │ control plane: shares, costs, prices
//!        ├─► traffic: server, client ── warm-up ── measurement┘
//!        ▼
//!   RunResult, in the packet engine's terms; everything undone
//! ```
//!
//! | module | what |
//! |---|---|
//! | `setup` | a policy, as far as this kernel can do it |
//! | `check` | what is refused before anything runs, what is only said |
//! | `controllers` | congestion controllers by the names of one run |
//! | `plan` | from the scenario's connections to the traffic's |
//! | `control` | what the controllers are told while the run goes |
//! | `view` | what both ends see of a connection |
//! | `steer` | what a selector wants, done by the path manager |
//! | `resolve` | an allocator's shares, solved again |
//! | `merge` | from what traffic and emulator saw to a result |
//!
//! What is exact and what is not: `docs/models/kernel-engine.md`.

mod check;
mod control;
mod controllers;
mod merge;
mod plan;
mod resolve;
mod setup;
mod steer;
mod steering;
mod view;

use std::thread;
use std::time::{Duration, Instant};

use joulepath_model::result::RunResult;
use joulepath_model::scenario::Scenario;
use joulepath_model::units::Nanos;

pub use check::{check, notes};
pub use setup::Setup;

use crate::emulator::messages::{End, Lateness, Reading};
use crate::error::{Error, Result};
use crate::lab::{Lab, LabSpec};
use crate::traffic::{Outcome, Pair, Spec, clock_ns};
use crate::worker::Program;

use self::control::ControlPlane;
use self::controllers::Controllers;
use self::steering::Steering;

/// Time between the start of the emulator's clock and that of the traffic: the workers have to hear of it.
const LEAD: Duration = Duration::from_millis(10);
/// Longest time between two looks at emulator and control plane.
const LOOK: Duration = Duration::from_millis(50);
/// What a run records besides its result, and how it is done.
#[derive(Clone, Copy, Debug)]
pub struct RunOptions {
    /// Time series.
    pub series: bool,
    /// IPv6 instead of IPv4.
    pub ipv6: bool,
    /// One packet in a hundred may leave the emulated links later than this; beyond, the run has failed.
    pub max_lateness: Nanos,
}

impl Default for RunOptions {
    fn default() -> Self {
        RunOptions { series: false, ipv6: false, max_lateness: Lateness::BOUND }
    }
}

/// Runs `scenario` under one policy with one seed; takes as long as the scenario says. `program` becomes emulator and traffic.
///
/// # Errors
/// What makes the run worthless, first of all a fallback to plain TCP; what this machine cannot do; missing rights.
pub fn run(
    scenario: &Scenario,
    setup: &Setup,
    seed: u64,
    options: RunOptions,
    program: &Program,
) -> Result<RunResult> {
    run_watched(scenario, setup, seed, options, program, &mut |_| Ok(()))
}

/// A run under way, for whoever watches it or interferes.
pub struct Moment<'a> {
    /// Since the traffic's time 0.
    pub time: Duration,
    /// Links can be taken down, and the emulator asked.
    pub lab: &'a mut Lab,
    /// Processes of the traffic: server and client.
    pub workers: [u32; 2],
}

/// As [`run`]; `watch` is called some twenty times a second, and ends the run by an error.
///
/// # Errors
/// As [`run`], and those of `watch`.
pub fn run_watched(
    scenario: &Scenario,
    setup: &Setup,
    seed: u64,
    options: RunOptions,
    program: &Program,
    watch: &mut dyn FnMut(Moment<'_>) -> Result<()>,
) -> Result<RunResult> {
    let mut run = Run::start(scenario, setup, seed, options, program)?;
    let (outcome, ended) = run.until_the_end(scenario, watch)?;
    check_lateness(&ended.reading, options.max_lateness)?;
    Ok(merge::result(scenario, setup.policy(), seed, run.lab.lines(), &outcome, &ended))
}

/// What the emulator said when the traffic ended.
struct Ended {
    reading: Reading,
    how: End,
}

/// A run under way. The fields go in their order: controllers last, when nobody uses them.
struct Run {
    traffic: Spec,
    pair: Option<Pair>,
    control: ControlPlane,
    steering: Steering,
    lab: Lab,
    controllers: Controllers,
}

impl Run {
    fn start(
        scenario: &Scenario,
        setup: &Setup,
        seed: u64,
        options: RunOptions,
        program: &Program,
    ) -> Result<Self> {
        let controllers = Controllers::register(scenario, setup)?;
        let mut spec = LabSpec::of(scenario, seed);
        spec.ipv6 = options.ipv6;
        // Sockets choose theirs. As a namespace's default the kernel takes ours, and of its own not all.
        if let Some(registered) = controllers.registered() {
            registered.name().clone_into(&mut spec.default_cc);
        }
        spec.series = options.series;
        let lab = Lab::start(&spec, program)?;
        let control = ControlPlane::new(scenario, setup, seed, &lab, &controllers)?;
        let (traffic, steered) = plan::traffic(scenario, setup, seed, options.series, &lab, &controllers)?;
        let pair = Pair::start(traffic.clone(), lab.server(), lab.client(), program)?;
        let steering = Steering::new(scenario, setup, seed, &lab, &traffic, steered)?;
        Ok(Run { traffic, pair: Some(pair), control, steering, lab, controllers })
    }

    fn until_the_end(
        &mut self,
        scenario: &Scenario,
        watch: &mut dyn FnMut(Moment<'_>) -> Result<()>,
    ) -> Result<(Outcome, Ended)> {
        let mut pair = self.pair.take().expect("a run is done once");
        let began = Instant::now() + LEAD;
        let began_ns = self.lab.start_clock()? + LEAD.as_nanos() as u64;
        pair.begin(began_ns)?;
        let at = |offset_ns: u64| began + Duration::from_nanos(offset_ns);
        let deadline = at(scenario.duration.0) + PATIENCE;
        let mut warm_up = Some(at(scenario.warm_up.0));
        let mut ended = None;
        while pair.reports() < 2 {
            let look = self.steering.due().map(|due| at(due.0));
            let wakes = [warm_up, self.control.due(), look].into_iter().flatten();
            let until = wakes.fold(Instant::now() + LOOK, Instant::min);
            pair.listen_until(until)?;
            if let Some(due) = warm_up.filter(|due| Instant::now() >= *due) {
                self.begin_measurement(due)?;
                warm_up = None;
            }
            if pair.reports() > 0 && ended.is_none() {
                ended = Some(self.read(clock_ns() >= began_ns + scenario.duration.0)?);
            } else if ended.is_none() {
                self.control.act(&mut self.lab, &self.controllers)?;
                let now = Nanos(clock_ns().saturating_sub(began_ns));
                self.steering.act(now, &mut pair, &self.traffic, &self.control, &self.controllers)?;
                self.check_emulator()?;
                let time = Instant::now().saturating_duration_since(began);
                watch(Moment { time, lab: &mut self.lab, workers: [pair.server.pid(), pair.client.pid()] })?;
            }
            if Instant::now() > deadline {
                return Err(Error::Run("the traffic does not end".into()));
            }
        }
        let ended = ended.map_or_else(|| self.read(true), Ok)?;
        let outcome = pair.close()?;
        check_subflows(&self.traffic, &outcome)?;
        Ok((outcome, ended))
    }

    /// A warm-up of no length has the measurement begin with the traffic.
    fn begin_measurement(&mut self, due: Instant) -> Result<()> {
        thread::sleep(due.saturating_duration_since(Instant::now()));
        self.lab.begin_measurement()
    }

    fn read(&mut self, cut: bool) -> Result<Ended> {
        let how = if cut { End::Cut } else { End::Tails };
        Ok(Ended { reading: self.lab.read(how)?, how })
    }

    /// The workers would only see that nothing arrives any more.
    fn check_emulator(&mut self) -> Result<()> {
        // Asked for anything, a worker that is gone tells how it ended.
        if self.lab.is_alive() { Ok(()) } else { self.lab.snapshot().map(drop) }
    }
}

/// How long the reports may take after the end, on a machine that is busy beyond use.
const PATIENCE: Duration = Duration::from_secs(20);

fn check_lateness(reading: &Reading, bound: Nanos) -> Result<()> {
    if reading.lateness.is_within(bound) {
        return Ok(());
    }
    Err(Error::Run(format!(
        "the emulated links were {:.1} ms late (99th percentile; {bound} are allowed): this machine was too busy",
        reading.lateness.p99_ns as f64 / 1e6
    )))
}

/// Under MPTCP a path that carries nothing is no path: its subflow must at least have come up.
fn check_subflows(pair: &Spec, outcome: &Outcome) -> Result<()> {
    let used = |place: &usize| pair.connections.iter().any(|c| c.under_test && c.paths.contains(place));
    let missing = (0..pair.paths.len()).filter(used).find(|place| outcome.paths[*place].opened_s.is_none());
    match missing.filter(|_| pair.join_within_ns.is_some()) {
        None => Ok(()),
        Some(place) => Err(Error::Run(format!("the subflow over {} never came up", pair.paths[place].name))),
    }
}
