//! One run: the trajectory of a scenario, period by period, until its end or until all files have
//! arrived.

use joulepath_control::Setup;
use joulepath_model::scenario::Scenario;

use crate::dynamics::{Dynamics, Flow};
use crate::error::{RunError, Unsupported};
use crate::network::Network;
use crate::options::RunOptions;
use crate::represent::Represented;
use crate::split::is_the_schedulers;
use crate::trajectory::MOST_STEPS;
use crate::transit::{Carried, LastPacket, Sample, delivered};

/// Number of samples of a run, evenly spaced. Each period ends with an additional sample.
const SAMPLES: f64 = 1000.0;
/// A file is complete if less than this is missing: the error of the solver, packets.
const WHOLE: f64 = 1e-6;
/// Window of a route after an outage, packets.
const WINDOW_AFTER_OUTAGE: f64 = 1.0;

/// Largest part of the measured time for which the packet scheduler may decide a split.
const MOST_SPLIT: f64 = 0.1;

/// History of a scenario.
pub(crate) struct History<'a> {
    pub(crate) what: Represented<'a>,
    pub(crate) samples: Vec<Sample>,
    /// Completion time of each user's file, s.
    pub(crate) completed_s: Vec<Option<f64>>,
    /// Number of steps of the solver.
    pub(crate) steps: usize,
    /// Measured time for which the scheduler decides how each user splits its data, and all
    /// measured time, s.
    split_s: Vec<[f64; 2]>,
}

/// The state passed from one period to the next.
struct Progress {
    windows: Vec<f64>,
    /// Expected losses of each route since its slow start.
    losses: Vec<f64>,
    /// Losses of each route before that.
    lost_before: Vec<f64>,
    queues: Vec<f64>,
    served: Vec<f64>,
    carried: Vec<Carried>,
    /// For each user: true if it has sent its file.
    done: Vec<bool>,
    /// Last packet of the file on each route, for users that have sent a file that has not arrived.
    under_way: Vec<Vec<LastPacket>>,
}

/// Integrates `scenario` under the policy of `setup`, unless cancelled before the end.
pub(crate) fn history<'a>(
    scenario: &'a Scenario,
    setup: &Setup,
    seed: u64,
    options: &RunOptions,
) -> Result<History<'a>, RunError> {
    let what = Represented::new(scenario, setup, seed)?;
    let users = what.members.len();
    let routes = what.network(0.0, &vec![false; users]).routes();
    let mut progress = Progress {
        windows: vec![f64::from(scenario.transport.initial_window); routes],
        losses: vec![0.0; routes],
        lost_before: vec![0.0; routes],
        queues: vec![0.0; what.links.len()],
        served: vec![0.0; what.links.len()],
        carried: vec![Carried::default(); routes],
        done: vec![false; users],
        under_way: vec![vec![]; users],
    };
    let mut history = History {
        completed_s: vec![None; users],
        what,
        samples: vec![],
        steps: 0,
        split_s: vec![[0.0; 2]; users],
    };
    let changes = history.what.changes_s();
    for period in changes.windows(2) {
        let mut from_s = period[0];
        while from_s < period[1] && !history.is_over() {
            from_s = history.advance(&mut progress, from_s, period[1], options)?;
        }
    }
    history.refuse_split()?;
    Ok(history)
}

impl History<'_> {
    /// True if all connections under test carried files and all files have arrived.
    fn is_over(&self) -> bool {
        let mut tested = self
            .what
            .members
            .iter()
            .zip(&self.completed_s)
            .filter(|(m, _)| m.group.is_some());
        tested.all(|(_, completed)| completed.is_some())
    }

    /// Refuses a connection whose packet scheduler decides the split for more than [`MOST_SPLIT`]
    /// of the time.
    fn refuse_split(&self) -> Result<(), Unsupported> {
        for (member, [split_s, all_s]) in self.what.members.iter().zip(&self.split_s) {
            if let Some(group) = member.group.filter(|_| *split_s > MOST_SPLIT * all_s) {
                let buffers = [
                    (group.receive_buffer, "receiver"),
                    (group.send_buffer, "sender"),
                ];
                let (buffer, end) = buffers[0].min(buffers[1]);
                return Err(Unsupported::Split {
                    connection: group.name.clone(),
                    end,
                    buffer,
                });
            }
        }
        Ok(())
    }

    /// Counts `seconds` until `time_s` for each user in `flows`.
    fn count_split(&mut self, network: &Network, flows: &[Flow], (time_s, seconds): (f64, f64)) {
        if time_s <= self.what.scenario.warm_up.as_secs_f64() {
            return;
        }
        let fastest_first = self.what.fastest_first;
        let users = network
            .users
            .iter()
            .zip(self.what.ranges())
            .zip(&mut self.split_s);
        for ((user, own), [split_s, all_s]) in users {
            *all_s += seconds;
            if is_the_schedulers(network, user, &flows[own], fastest_first) {
                *split_s += seconds;
            }
        }
    }

    /// Continues from `from_s` to `until_s`, or until a file is sent or its last packet leaves a
    /// link. Returns the time reached, s.
    fn advance(
        &mut self,
        progress: &mut Progress,
        from_s: f64,
        until_s: f64,
        options: &RunOptions,
    ) -> Result<f64, RunError> {
        self.strand(progress, from_s);
        let network = self.what.network(from_s, &progress.done);
        let mut dynamics = Dynamics::with_slow_start(&network);
        let mut start = dynamics.state(&progress.windows);
        let (queues, losses) = (dynamics.queues(), dynamics.losses());
        let (sent, served) = (dynamics.sent(), dynamics.served());
        start[queues.clone()].copy_from_slice(&progress.queues);
        start[losses.clone()].copy_from_slice(&progress.losses);
        start[served.clone()].copy_from_slice(&progress.served);
        for (state, carried) in start[sent.clone()].iter_mut().zip(&progress.carried) {
            *state = carried.sent;
        }
        let instants = self.instants(from_s, until_s);
        let ends = |state: &[f64]| {
            let route =
                |r: usize| progress.carried_at(r, state[sent.start + r], state[losses.start + r]);
            self.file_is_sent(progress, route) || progress.a_packet_moves(&state[served.clone()])
        };
        let trajectory = dynamics.trajectory_until(
            &ends,
            options.settles,
            &options.cancel,
            MOST_STEPS.saturating_sub(self.steps).max(1),
            &start,
            &instants,
        )?;
        let trajectory = trajectory.ok_or(RunError::Cancelled)?;
        self.steps += trajectory.steps;
        let mut before_s = from_s;
        for (state, &time_s) in trajectory.states.iter().zip(&trajectory.times_s) {
            progress.windows = state[dynamics.windows()]
                .iter()
                .map(|log| libm::exp(*log))
                .collect();
            progress.queues = state[queues.clone()]
                .iter()
                .map(|queue| queue.max(0.0))
                .collect();
            progress.losses = state[losses.clone()].to_vec();
            progress.served = state[served.clone()].to_vec();
            let route =
                |r: usize| progress.carried_at(r, state[sent.start + r], state[losses.start + r]);
            progress.carried = (0..progress.carried.len()).map(route).collect();
            let flows = dynamics.flows_at(state).to_vec();
            self.count_split(&network, &flows, (time_s, time_s - before_s));
            before_s = time_s;
            self.record(progress, &network, time_s, flows);
        }
        let reached_s = trajectory.times_s.last().copied().unwrap_or(until_s);
        self.settle(progress, &network, reached_s);
        Ok(reached_s)
    }

    /// Drops the packets that wait for a link that is down, and resets the windows of its routes as
    /// after a timeout.
    fn strand(&self, progress: &mut Progress, from_s: f64) {
        for (r, _) in self
            .what
            .broken(from_s)
            .iter()
            .enumerate()
            .filter(|(_, broken)| **broken)
        {
            let carried = &mut progress.carried[r];
            if carried.sent == 0.0 {
                continue;
            }
            carried.stranded += (carried.kept() - carried.delivered).max(0.0);
            progress.lost_before[r] += progress.losses[r];
            (progress.windows[r], progress.losses[r]) = (WINDOW_AFTER_OUTAGE, 0.0);
        }
        for (l, &link) in self.what.links.iter().enumerate() {
            if self.what.is_down(link, from_s) {
                progress.served[l] += std::mem::take(&mut progress.queues[l]);
            }
        }
        for (u, own) in self.what.ranges().into_iter().enumerate() {
            let Some(size) = self.what.members[u].file_packets else {
                continue;
            };
            let kept: f64 = progress.carried[own].iter().map(Carried::kept).sum();
            if self.completed_s[u].is_none() && kept + WHOLE < size {
                progress.done[u] = false;
                progress.under_way[u].clear();
            }
        }
    }

    /// True if an active user has sent its file; `route` returns what a route has carried.
    fn file_is_sent(&self, progress: &Progress, route: impl Fn(usize) -> Carried) -> bool {
        let mut users = self
            .what
            .members
            .iter()
            .zip(self.what.ranges())
            .zip(&progress.done);
        users.any(|((member, own), done)| {
            let size = member.file_packets.filter(|_| !done);
            size.is_some_and(|size| own.map(|r| route(r).kept()).sum::<f64>() >= size)
        })
    }

    fn record(
        &mut self,
        progress: &mut Progress,
        network: &Network,
        time_s: f64,
        flows: Vec<Flow>,
    ) {
        let (queues, served) = (progress.queues.clone(), progress.served.clone());
        self.samples.push(Sample {
            time_s,
            flows,
            queues,
            served,
            carried: progress.carried.clone(),
        });
        let routes = network.users.iter().flat_map(|user| &user.routes);
        for (r, route) in routes.enumerate() {
            progress.carried[r].delivered = delivered(&self.samples, r, &route.links);
        }
        self.samples
            .last_mut()
            .expect("just pushed")
            .carried
            .clone_from(&progress.carried);
    }

    /// Stops users that have sent their files, and tracks the last packets of those files.
    fn settle(&mut self, progress: &mut Progress, network: &Network, now_s: f64) {
        let Progress { queues, served, .. } = &*progress;
        let (queues, served) = (queues.clone(), served.clone());
        for (u, own) in self.what.ranges().into_iter().enumerate() {
            let Some(size) = self.what.members[u].file_packets else {
                continue;
            };
            let carried = &progress.carried[own];
            if !progress.done[u] && carried.iter().map(Carried::kept).sum::<f64>() + WHOLE >= size {
                progress.done[u] = true;
                let waits = |carried: &Carried| carried.kept() - carried.delivered > WHOLE;
                let routes = network.users[u]
                    .routes
                    .iter()
                    .zip(carried)
                    .filter(|(_, c)| waits(c));
                let last = routes.map(|(route, _)| LastPacket::new(&route.links, &served, &queues));
                progress.under_way[u] = last.collect();
            }
            progress.under_way[u].retain_mut(|packet| !packet.follow(&served, &queues));
            if progress.done[u] && progress.under_way[u].is_empty() && self.completed_s[u].is_none()
            {
                self.completed_s[u] = Some(now_s);
            }
        }
    }

    /// Evenly spaced times from `from_s` to `until_s`, both included.
    fn instants(&self, from_s: f64, until_s: f64) -> Vec<f64> {
        let step_s = self.what.scenario.duration.as_secs_f64() / SAMPLES;
        let steps = ((until_s - from_s) / step_s).ceil().max(1.0);
        let at = |i: u32| from_s + (until_s - from_s) * f64::from(i) / steps;
        (0..steps as u32).map(at).chain([until_s]).collect()
    }
}

impl Progress {
    /// Packets that route `r` has carried after sending `sent` and losing `losses` packets since
    /// its slow start.
    fn carried_at(&self, r: usize, sent: f64, losses: f64) -> Carried {
        Carried {
            sent,
            lost: self.lost_before[r] + losses,
            ..self.carried[r]
        }
    }

    /// True if the last packet of a file has left a link.
    fn a_packet_moves(&self, served: &[f64]) -> bool {
        self.under_way
            .iter()
            .flatten()
            .any(|packet| packet.moves(served))
    }
}
