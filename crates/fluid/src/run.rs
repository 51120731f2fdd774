//! One run: the trajectory of a scenario, period by period, until its end or until its files have arrived.

use joulepath_control::Setup;
use joulepath_model::cancel::Cancel;
use joulepath_model::scenario::Scenario;

use crate::dynamics::{Dynamics, Flow};
use crate::error::RunError;
use crate::represent::Represented;

/// Number of samples of a run, evenly spaced. Each period ends with a sample besides.
const SAMPLES: f64 = 1000.0;
/// Window of a route after an outage, packets.
const WINDOW_AFTER_OUTAGE: f64 = 1.0;

/// All routes of all users at one instant.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    pub(crate) time_s: f64,
    /// User by user.
    pub(crate) flows: Vec<Flow>,
    /// Packets in each link of the network.
    pub(crate) queues: Vec<f64>,
}

/// What happened in a scenario.
pub(crate) struct History<'a> {
    pub(crate) what: Represented<'a>,
    pub(crate) samples: Vec<Sample>,
    /// When each user's file was complete, s.
    pub(crate) completed_s: Vec<Option<f64>>,
    /// Number of steps of the solver.
    pub(crate) steps: usize,
}

/// The state that one period hands to the next.
struct Progress {
    windows: Vec<f64>,
    /// Expected losses of each route so far.
    losses: Vec<f64>,
    queues: Vec<f64>,
    was_active: Vec<bool>,
    /// Bits that each user has received.
    delivered_bits: Vec<f64>,
    done: Vec<bool>,
}

/// Integrates `scenario` under the policy of `setup`, unless `cancel` is set before the end.
pub(crate) fn history<'a>(
    scenario: &'a Scenario,
    setup: &Setup,
    seed: u64,
    cancel: &Cancel,
) -> Result<History<'a>, RunError> {
    let what = Represented::new(scenario, setup, seed)?;
    let users = what.members.len();
    let routes = what.network(0.0, &vec![false; users]).routes();
    let mut progress = Progress {
        windows: vec![f64::from(scenario.transport.initial_window); routes],
        losses: vec![0.0; routes],
        queues: vec![0.0; what.links.len()],
        was_active: vec![false; routes],
        delivered_bits: vec![0.0; users],
        done: vec![false; users],
    };
    let mut history = History { completed_s: vec![None; users], what, samples: vec![], steps: 0 };
    let changes = history.what.changes_s();
    for period in changes.windows(2) {
        let mut from_s = period[0];
        while from_s < period[1] {
            from_s = history.advance(&mut progress, from_s, period[1], cancel)?;
            if history.is_over() {
                return Ok(history);
            }
        }
    }
    Ok(history)
}

impl History<'_> {
    /// Whether every connection under test carried a file and all files have arrived.
    fn is_over(&self) -> bool {
        let mut tested = self.what.members.iter().zip(&self.completed_s).filter(|(m, _)| m.group.is_some());
        tested.all(|(_, completed)| completed.is_some())
    }

    /// Goes on from `from_s` to `until_s`, or until a file is complete; returns the instant that it reached,
    /// s.
    fn advance(
        &mut self,
        progress: &mut Progress,
        from_s: f64,
        until_s: f64,
        cancel: &Cancel,
    ) -> Result<f64, RunError> {
        let network = self.what.network(from_s, &progress.done);
        let mut dynamics = Dynamics::with_slow_start(&network);
        let routes: Vec<bool> =
            network.users.iter().flat_map(|user| user.routes.iter().map(|route| route.active)).collect();
        for (r, &active) in routes.iter().enumerate() {
            // The route had carried data and comes back after an outage.
            if active && !progress.was_active[r] && progress.losses[r] > 0.0 {
                (progress.windows[r], progress.losses[r]) = (WINDOW_AFTER_OUTAGE, 0.0);
            }
        }
        progress.was_active.clone_from(&routes);
        let mut start = dynamics.state(&progress.windows);
        let (queues, losses) = (dynamics.queues(), dynamics.losses());
        start[queues.clone()].copy_from_slice(&progress.queues);
        start[losses.clone()].copy_from_slice(&progress.losses);
        let instants = self.instants(from_s, until_s);
        let trajectory = dynamics.trajectory_unless(cancel, &start, &instants)?.ok_or(RunError::Cancelled)?;
        self.steps += trajectory.steps;
        for (state, &time_s) in trajectory.states.iter().zip(&trajectory.times_s) {
            let sample = Sample {
                time_s,
                flows: dynamics.flows_at(state).to_vec(),
                queues: state[queues.clone()].iter().map(|queue| queue.max(0.0)).collect(),
            };
            let finished = self.deliver(progress, &sample, from_s);
            progress.windows = state[dynamics.windows()].iter().map(|log| libm::exp(*log)).collect();
            progress.queues.clone_from(&sample.queues);
            progress.losses = state[losses.clone()].to_vec();
            self.samples.push(sample);
            if let Some(at_s) = finished {
                return Ok(at_s);
            }
        }
        Ok(until_s)
    }

    /// Evenly spaced instants from `from_s` to `until_s`, both included.
    fn instants(&self, from_s: f64, until_s: f64) -> Vec<f64> {
        let step_s = self.what.scenario.duration.as_secs_f64() / SAMPLES;
        let steps = ((until_s - from_s) / step_s).ceil().max(1.0);
        let at = |i: u32| from_s + (until_s - from_s) * f64::from(i) / steps;
        (0..steps as u32).map(at).chain([until_s]).collect()
    }

    /// Adds what has arrived since the last sample. Returns the instant if that completed a file.
    fn deliver(&mut self, progress: &mut Progress, sample: &Sample, from_s: f64) -> Option<f64> {
        let last = self.samples.last().filter(|last| last.time_s >= from_s)?;
        let seconds = sample.time_s - last.time_s;
        let packet_bits = self.what.scenario.transport.mss.0 as f64 * 8.0;
        let mut finished = None;
        let mut first = 0;
        for (u, member) in self.what.members.iter().enumerate() {
            let own = first..first + member.opens_s.len();
            first = own.end;
            let rate = |sample: &Sample| -> f64 {
                sample.flows[own.clone()].iter().map(|flow| flow.delivered_pps() * packet_bits).sum()
            };
            let bits = (rate(last) + rate(sample)) / 2.0 * seconds;
            progress.delivered_bits[u] += bits;
            let Some(size) = member.file_bits.filter(|_| !progress.done[u]) else { continue };
            let excess = progress.delivered_bits[u] - size;
            if excess >= 0.0 && bits > 0.0 {
                progress.done[u] = true;
                self.completed_s[u] = Some(sample.time_s - seconds * (excess / bits).min(1.0));
                finished = Some(sample.time_s);
            }
        }
        finished
    }
}
