//! A run from start to end.

use std::collections::BTreeSet;
use std::thread;
use std::time::{Duration, Instant};

use joulepath_control::Setup;
use joulepath_model::cancel::Cancel;
use joulepath_model::result::RunResult;
use joulepath_model::scenario::Scenario;
use joulepath_model::units::Nanos;

use super::control::ControlPlane;
use super::controllers::Controllers;
use super::merge::{self, Ended};
use super::plan::{self, Planned};
use super::setup;
use super::steering::Steering;
use crate::emulator::allowed_lateness;
use crate::emulator::messages::{End, Reading};
use crate::error::{Error, Result};
use crate::hosts::{Lab, LabSpec};
use crate::traffic::{Outcome, Pair, Spec, clock_ns};
use crate::worker::Program;

/// Time between the start of the emulator's clock and the start of the traffic, in which the start
/// time must reach the workers.
const LEAD: Duration = Duration::from_millis(10);
/// Longest time between two checks of the emulator and the control plane.
const LOOK: Duration = Duration::from_millis(50);
/// A radio's promotion, and the first two SYNs of a subflow.
const BRIEF: Duration = Duration::from_secs(5);
/// How long the reports may take on a very busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// Options of a run.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// True to record time series.
    pub series: bool,
    /// IPv6 instead of IPv4.
    pub ipv6: bool,
    /// The run fails if one packet in a hundred leaves the emulated links later than this. `None`:
    /// [`allowed_lateness`] of the scenario.
    pub max_lateness: Option<Nanos>,
    /// Setting it ends the run within a second with [`Error::Cancelled`].
    pub cancel: Cancel,
}

/// Runs `scenario` under one policy with one seed, in real time. Starts `program` as emulator and
/// as traffic.
///
/// # Errors
/// [`Error::Run`] if the result is invalid, for example after a fallback to plain TCP;
/// [`Error::Late`] if this machine was too busy; [`Error::Cancelled`]; [`Error::Kernel`] for a
/// feature that this machine lacks and for missing permissions.
pub fn run(
    scenario: &Scenario,
    setup: &Setup,
    seed: u64,
    options: &RunOptions,
    program: &Program,
) -> Result<RunResult> {
    run_watched(scenario, setup, seed, options, program, &mut |_| Ok(()))
}

/// A run in progress, for callers that watch it or interfere with it.
pub struct Progress<'a> {
    /// Time since the traffic started.
    pub time: Duration,
    /// The lab, to close its links or to query its emulator.
    pub lab: &'a mut Lab,
    /// Process ids of the traffic: server and client.
    pub workers: [u32; 2],
}

/// As [`run`]. Calls `watch` some twenty times a second; an error from it ends the run.
///
/// # Errors
/// As [`run`], and any error of `watch`.
pub fn run_watched(
    scenario: &Scenario,
    setup: &Setup,
    seed: u64,
    options: &RunOptions,
    program: &Program,
    watch: &mut dyn FnMut(Progress<'_>) -> Result<()>,
) -> Result<RunResult> {
    let scenario = &*scenario.drawn(seed);
    let run = Run::start(scenario, setup, seed, options, program)?;
    result(run, scenario, setup, seed, options, |run| {
        run.until_the_end(scenario, watch)
    })
}

/// A program that sets the device's endpoints during a run, in place of the policy's path
/// selection.
pub trait PathManagement {
    /// Sets the initial endpoints. The lab is ready, and nothing is sent yet.
    ///
    /// # Errors
    /// Errors that invalidate the run.
    fn begin(&mut self, lab: &mut Lab) -> Result<()>;

    /// Ends what [`Self::begin`] started. The traffic is over or the run has failed.
    ///
    /// # Errors
    /// Errors that invalidate the run.
    fn end(&mut self, lab: &mut Lab) -> Result<()>;
}

/// As [`run`], with `management` setting the endpoints: connections begin on their first path
/// according to the routing table, and the in-kernel path manager does the rest. A path without a
/// subflow is no error.
///
/// # Errors
/// As [`run`], errors of `management`, and [`Error::Run`] for a policy that manages paths itself.
pub fn run_managed(
    scenario: &Scenario,
    setup: &Setup,
    seed: u64,
    options: &RunOptions,
    program: &Program,
    management: &mut dyn PathManagement,
) -> Result<RunResult> {
    let scenario = &*scenario.drawn(seed);
    let mut run = Run::build(scenario, setup, seed, options, program, plan::managed)?;
    let begun = management.begin(&mut run.lab);
    result(run, scenario, setup, seed, options, |run| {
        let ended = begun.and_then(|()| run.until_the_end(scenario, &mut |_| Ok(())));
        let stopped = management.end(&mut run.lab);
        let ended = ended?;
        stopped.map(|()| ended)
    })
}

/// The result of a run that `until_the_end` completes.
fn result(
    mut run: Run,
    scenario: &Scenario,
    setup: &Setup,
    seed: u64,
    options: &RunOptions,
    until_the_end: impl FnOnce(&mut Run) -> Result<(Outcome, Ended)>,
) -> Result<RunResult> {
    let (outcome, ended) = until_the_end(&mut run)?;
    check_lateness(
        &ended.reading,
        options
            .max_lateness
            .unwrap_or_else(|| allowed_lateness(scenario)),
    )?;
    Ok(merge::result(
        scenario,
        setup.policy(),
        seed,
        run.lab.tunnels(),
        &outcome,
        &ended,
    ))
}

/// A run in progress. Its fields are dropped in order: the controllers last, when no socket uses
/// them.
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
        options: &RunOptions,
        program: &Program,
    ) -> Result<Self> {
        Self::build(scenario, setup, seed, options, program, Ok)
    }

    /// Prepares a run. `arrange` may change its traffic.
    fn build(
        scenario: &Scenario,
        setup: &Setup,
        seed: u64,
        options: &RunOptions,
        program: &Program,
        arrange: impl FnOnce(Planned) -> Result<Planned>,
    ) -> Result<Self> {
        setup::check(setup)?;
        let controllers = Controllers::register(scenario, setup)?;
        let mut spec = LabSpec::of(scenario, seed);
        spec.ipv6 = options.ipv6;
        spec.cancel = options.cancel.clone();
        // Sockets choose their controller. A namespace's default can be one of ours, but not every
        // one of the kernel's.
        if let Some(registered) = controllers.registered() {
            registered.name().clone_into(&mut spec.default_cc);
        }
        spec.series = options.series;
        let lab = Lab::start(&spec, program)?;
        let control = ControlPlane::new(scenario, setup, seed, &lab, &controllers)?;
        let (traffic, steered) = arrange(plan::traffic(
            scenario,
            setup,
            seed,
            options.series,
            &lab,
            &controllers,
        )?)?;
        let pair = Pair::start(
            traffic.clone(),
            lab.server(),
            lab.client(),
            program,
            &options.cancel,
        )?;
        let steering = Steering::new(scenario, setup, seed, &lab, &traffic, steered)?;
        Ok(Run {
            traffic,
            pair: Some(pair),
            control,
            steering,
            lab,
            controllers,
        })
    }

    fn until_the_end(
        &mut self,
        scenario: &Scenario,
        watch: &mut dyn FnMut(Progress<'_>) -> Result<()>,
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
                self.steering.act(
                    now,
                    &mut pair,
                    &self.traffic,
                    &self.control,
                    &self.controllers,
                )?;
                self.check_emulator()?;
                let time = Instant::now().saturating_duration_since(began);
                watch(Progress {
                    time,
                    lab: &mut self.lab,
                    workers: [pair.server.pid(), pair.client.pid()],
                })?;
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

    /// Ends the warm-up. Without a warm-up the measurement begins with the traffic.
    fn begin_measurement(&mut self, due: Instant) -> Result<()> {
        thread::sleep(due.saturating_duration_since(Instant::now()));
        self.lab.begin_measurement()
    }

    fn read(&mut self, cut: bool) -> Result<Ended> {
        let how = if cut { End::Cut } else { End::Tails };
        Ok(Ended {
            reading: self.lab.read(how)?,
            how,
        })
    }

    /// Fails if the emulator has died. The workers only see that packets stop arriving.
    fn check_emulator(&mut self) -> Result<()> {
        // Any query returns how it ended.
        if self.lab.is_alive() {
            Ok(())
        } else {
            self.lab.snapshot().map(drop)
        }
    }
}

fn check_lateness(reading: &Reading, allowed: Nanos) -> Result<()> {
    match Nanos(reading.lateness.p99_ns) {
        late if late > allowed => Err(Error::Late { late, allowed }),
        _ => Ok(()),
    }
}

/// Fails if the subflow of a path never opened, as the run would be about other paths. A connection
/// that finished within [`BRIEF`] may have had no time for it.
fn check_subflows(pair: &Spec, outcome: &Outcome) -> Result<()> {
    if pair.join_within_ns.is_none() {
        return Ok(());
    }
    let under_test = pair
        .connections
        .iter()
        .filter(|connection| connection.under_test);
    let lasted = under_test
        .zip(&outcome.finished_s)
        .filter(|(connection, finished_s)| {
            let brief_until_s = connection.start_ns as f64 / 1e9 + BRIEF.as_secs_f64();
            finished_s.is_none_or(|finished_s| finished_s > brief_until_s)
        });
    let used: BTreeSet<usize> = lasted
        .flat_map(|(connection, _)| connection.paths.iter().copied())
        .collect();
    match used
        .into_iter()
        .find(|place| outcome.paths[*place].opened_s.is_none())
    {
        None => Ok(()),
        Some(place) => Err(Error::Run(format!(
            "the subflow over {} never opened",
            pair.paths[place].name
        ))),
    }
}
