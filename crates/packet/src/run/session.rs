//! A run in steps: it pauses where the caller wants, reports its status, and takes commands.
//!
//! ```text
//!   Session::new ──► status ──► steer / use_paths ──► advance(until) ──┐
//!                      ▲                                               │
//!                      └───────────────────────────────────────────────┴──► finish: the result
//! ```
//! A session keeps its whole state between steps, without a thread: nothing is simulated twice.
//! Without commands, a run in steps gives the same bytes of result as a run at once, wherever it
//! pauses.

use std::borrow::Cow;
use std::sync::Arc;

use joulepath_control::Setup;
use joulepath_control::schedule::MAX_SUBFLOWS;
use joulepath_control::select::{Counters, PathSnapshot, Use, differences};
use joulepath_controllers::{Command, Controller, Shown, Subflow as Window};
use joulepath_model::energy::meter::EnergyReading;
use joulepath_model::result::RunResult;
use joulepath_model::scenario::{PathIndex, Scenario};
use joulepath_model::units::Nanos;

use crate::build::build;
use crate::connection::endpoints::Endpoints;
use crate::connection::subflow::Phase;
use crate::run::engine::Engine;
use crate::run::error::RunError;
use crate::run::options::RunOptions;

/// A run in progress, of one connection.
pub struct Session {
    engine: Engine,
    scenario: Arc<Scenario>,
    policy: String,
    seed: u64,
    options: RunOptions,
    /// The subflow on each path of the scenario, if the policy has one there.
    subflows: Vec<Option<usize>>,
    /// Buffer for the meter's readings.
    reading: EnergyReading,
    /// Whether each subflow should carry data, after [`Session::use_paths`].
    used: Option<Vec<bool>>,
}

/// Status of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Status {
    /// Simulated time.
    pub now: Nanos,
    /// Whether the run is over: the workload is complete, or the scenario's duration has passed.
    pub over: bool,
    /// Whether the workload is complete. An endless workload never is.
    pub done: bool,
    /// Payload delivered in order since the warm-up, bytes.
    pub delivered_bytes: u64,
    /// Segments sent and not acknowledged at the data level, without copies.
    pub data_in_flight: u32,
    /// Segments written and not sent. Endless for bulk data.
    pub unsent: u32,
    /// Energy of the device since the warm-up, J. Before the end it excludes what depends on the
    /// future (`DeviceMeter::snapshot`); at the end it is the result's `energy_j`, including tails.
    pub energy_j: f64,
    /// The paths, in the scenario's order.
    pub paths: Vec<PathStatus>,
}

/// Status of a path, as `TCP_INFO` and the interface's meter report it. Counters never fall.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PathStatus {
    /// Whether its subflow may carry data.
    pub open: bool,
    /// Payload whose first copy arrived on it, bytes.
    pub delivered_bytes: u64,
    /// Segments sent on it, including copies.
    pub segments: u64,
    /// Segments retransmitted on it.
    pub retransmissions: u64,
    /// Smoothed RTT; `None` without a sample.
    pub srtt: Option<Nanos>,
    /// Minimum RTT; `None` without a sample.
    pub min_rtt: Option<Nanos>,
    /// Packets in flight.
    pub in_flight: u32,
    /// Congestion window, packets.
    pub cwnd: u32,
    /// Energy of its interface since the warm-up, J.
    pub energy_j: f64,
}

/// Congestion control of a path's subflow.
#[derive(Clone, Debug, PartialEq)]
pub struct Inside {
    /// Phase of the sender.
    pub phase: SenderPhase,
    /// Slow start threshold, packets.
    pub ssthresh: u32,
    /// Send rate that the controller permits, bytes of payload per second; `None` if it does not
    /// pace.
    pub pacing_bytes_per_s: Option<u64>,
    /// The controller's private state; `None` if it shows none.
    pub shown: Option<Shown>,
}

/// Phase of a sender, the same for all controllers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SenderPhase {
    /// The window is below the slow start threshold.
    SlowStart,
    /// Congestion avoidance.
    Avoidance,
    /// Fast recovery.
    Recovery,
    /// Recovery from a timeout.
    Timeout,
}

impl Session {
    /// A run of `scenario` before its start. It ignores `options.cores`: a session has one thread.
    ///
    /// # Errors
    /// The errors of [`run`](crate::run), and [`RunError::NotOne`] unless there is exactly one
    /// connection under test, on the scenario's own paths.
    pub fn new(
        scenario: Arc<Scenario>,
        setup: &Setup,
        seed: u64,
        options: RunOptions,
    ) -> Result<Self, RunError> {
        let scenario = match scenario.drawn(seed) {
            Cow::Borrowed(_) => scenario,
            Cow::Owned(drawn) => Arc::new(drawn),
        };
        let engine = build(&scenario, setup, seed, &options, 1)?;
        if engine.unfinished != 1 || scenario.topology.is_some() {
            return Err(RunError::NotOne {
                connections: engine.unfinished,
            });
        }
        let mut subflows = vec![None; scenario.paths.len()];
        for s in engine.connections.subflows(0) {
            if let Some(path) = engine.subflows[s].path {
                subflows[usize::from(path)] = Some(s);
            }
        }
        let policy = setup.policy().to_owned();
        Ok(Session {
            engine,
            scenario,
            policy,
            seed,
            options,
            subflows,
            reading: EnergyReading::default(),
            used: None,
        })
    }

    /// Simulated time.
    pub fn now(&self) -> Nanos {
        Nanos(self.engine.now_ns)
    }

    /// Whether the run is over: no event follows.
    pub fn is_over(&self) -> bool {
        self.engine.unfinished == 0 || self.engine.now_ns >= self.engine.end_ns
    }

    /// The greatest smoothed RTT of an open path; `None` before the first sample.
    pub fn longest_rtt(&self) -> Option<Nanos> {
        let rtt = |&s: &usize| {
            let is_open = self.engine.senders[s].phase == Phase::Established;
            let srtt_us = self.engine.senders[s].rtt.srtt_us();
            (is_open && srtt_us > 0).then(|| Nanos::from_micros(srtt_us.into()))
        };
        self.subflows.iter().flatten().filter_map(rtt).max()
    }

    /// Runs until this instant, or to the end if that is earlier. Time never goes back.
    ///
    /// # Errors
    /// [`RunError::Cancelled`] soon after the token of the options is set.
    pub fn advance(&mut self, until: Nanos) -> Result<(), RunError> {
        if self.is_over() {
            return Ok(());
        }
        if self.used.is_some() {
            self.carry_out();
        }
        let until_ns = until.0.clamp(self.engine.now_ns, self.engine.end_ns);
        self.engine.run_until(until_ns, &self.options.cancel)?;
        // The end moves to the completion of the last connection.
        self.engine.now_ns = until_ns.min(self.engine.end_ns);
        Ok(())
    }

    /// Writes the status of the run into `status`, reusing its memory.
    pub fn status(&mut self, status: &mut Status) {
        let over = self.is_over();
        self.engine.settle();
        let now = self.now();
        let connection = &self.engine.connections[0];
        let (receiver, windows) = (&connection.receiver, &connection.sender.cc.subflows);
        let warm = now >= self.scenario.warm_up;
        status.now = now;
        status.over = over;
        status.done = receiver.done;
        status.delivered_bytes = if warm {
            receiver.data.delivered_bytes - receiver.before_bytes
        } else {
            0
        };
        let (data, written) = (&connection.sender.data, connection.sender.writer.written());
        status.data_in_flight = data.next() - data.una();
        status.unsent = written.saturating_sub(data.next());
        status.paths.clear();
        status
            .paths
            .resize(self.subflows.len(), PathStatus::default());
        for (path, s) in status.paths.iter_mut().zip(&self.subflows) {
            let Some(s) = *s else { continue };
            let (sender, window) = (
                &self.engine.senders[s],
                &windows[self.engine.senders[s].id.index()],
            );
            let known = |rtt_us: u32| (rtt_us > 0).then(|| Nanos::from_micros(rtt_us.into()));
            *path = PathStatus {
                open: sender.phase == Phase::Established,
                delivered_bytes: self.engine.receivers[s].first_copy_bytes,
                segments: sender.stats.segments,
                retransmissions: sender.stats.retransmissions,
                srtt: known(window.srtt_us),
                min_rtt: known(window.own.base_rtt_us),
                in_flight: sender.board.in_flight(),
                cwnd: window.cwnd,
                energy_j: 0.0,
            };
        }
        let Some(device) = &mut self.engine.devices[0] else {
            return;
        };
        match device.finished_ns {
            _ if !warm => return,
            Some(at_ns) => self.reading = device.meter.clone().finish_with_tails(Nanos(at_ns)),
            None if over => self.reading = device.meter.clone().finish(now),
            None => device.meter.snapshot_into(now, &mut self.reading),
        }
        status.energy_j = self.reading.total_j();
        for (&path, split) in device.paths.iter().zip(&self.reading.interfaces) {
            status.paths[path].energy_j = split.total_j();
        }
    }

    /// Congestion control of the subflow on a path; `None` without such a subflow.
    pub fn inside(&self, path: PathIndex) -> Option<Inside> {
        let s = (*self.subflows.get(path)?)?;
        let sender = &self.engine.senders[s];
        let end = &self.engine.connections[0].sender;
        let i = sender.id.index();
        let window = &end.cc.subflows[i];
        let phase = match window.flags {
            flags if flags & Window::LOSS != 0 => SenderPhase::Timeout,
            flags if flags & Window::RECOVERY != 0 => SenderPhase::Recovery,
            _ if window.cwnd < window.ssthresh => SenderPhase::SlowStart,
            _ => SenderPhase::Avoidance,
        };
        Some(Inside {
            phase,
            ssthresh: window.ssthresh,
            pacing_bytes_per_s: end.controller.pacing_rate_bytes_per_s(&end.cc, i),
            shown: end.controller.show(&end.cc, i, sender.area()),
        })
    }

    /// From now on, bulk data arrives only as this many segments more than have been sent or
    /// supplied; `None`: without end again. Returns false for other workloads.
    pub fn supply(&mut self, segments: Option<u32>) -> bool {
        let end = &mut self.engine.connections[0].sender;
        let next = end.data.next();
        let supplied = end.writer.supply(segments, next);
        if supplied && !self.is_over() {
            self.engine.endpoints(0).sender().push();
        }
        supplied
    }

    /// Commands the subflow on a path to keep a window or a rate from now on. Returns false without
    /// such a subflow or with a controller that takes no commands (see [`Controller::commanded`]).
    pub fn steer(&mut self, path: PathIndex, command: Command) -> bool {
        let Some(&Some(s)) = self.subflows.get(path) else {
            return false;
        };
        let i = self.engine.senders[s].id.index();
        let told = self.engine.endpoints(0).command(i, command);
        debug_assert_eq!(
            told,
            self.engine.connections[0].sender.controller == Controller::commanded()
        );
        told
    }

    /// Chooses the paths that carry data, by the scenario's index. The subflows open or close at
    /// the next step, and again at each step if a packet is lost. No subflow closes before another
    /// chosen one is open. If all are false, nothing changes. The policy must have no selector.
    pub fn use_paths(&mut self, used: &[bool]) {
        let mut wanted = vec![false; self.engine.connections[0].n];
        for (&s, &used) in self.subflows.iter().zip(used) {
            if let Some(s) = s {
                wanted[self.engine.senders[s].id.index()] = used;
            }
        }
        if wanted.contains(&true) {
            self.used = Some(wanted);
        }
    }

    fn carry_out(&mut self) {
        let Some(used) = &self.used else { return };
        self.engine.endpoints(0).use_subflows(used);
    }

    /// Runs to the end.
    ///
    /// # Errors
    /// See [`Session::advance`].
    pub fn finish(mut self) -> Result<RunResult, RunError> {
        self.advance(Nanos(self.engine.end_ns))?;
        Ok(self.engine.result(&self.scenario, &self.policy, self.seed))
    }
}

impl Endpoints<'_> {
    /// Commands subflow `i`; returns whether its controller takes commands.
    fn command(&mut self, i: usize, command: Command) -> bool {
        let is_open = self.senders[i].phase == Phase::Established;
        let end = &mut self.connection.sender;
        let told = end.controller.command(&mut end.cc, i, command);
        if told && is_open && !self.connection.receiver.done {
            self.sender().obey(i);
        }
        told
    }

    /// Opens the subflows in `used` and closes the others.
    fn use_subflows(&mut self, used: &[bool]) {
        if self.connection.receiver.done {
            return;
        }
        if !self.connection.joined {
            self.choose_opener(used);
        }
        let mut uses = [Use::Closed; MAX_SUBFLOWS];
        for (i, &used) in used.iter().enumerate() {
            if used {
                uses[i] = Use::Regular;
            } else if self.senders[i].phase == Phase::Closed && self.subflows[i].wanted {
                // It would open at the server's answer.
                self.subflows[i].wanted = false;
                self.senders[i].timer.clear();
            }
        }
        let snapshot = |counters: &Counters| PathSnapshot {
            state: counters.state,
            backup: counters.backup,
            usable: !counters.stalled,
            ..PathSnapshot::default()
        };
        let paths: Vec<PathSnapshot> = self.counters().iter().map(snapshot).collect();
        for action in differences(&paths, &uses) {
            self.carry_out(action);
        }
    }

    /// Before the connection opens: lets the first used subflow carry MP_CAPABLE.
    fn choose_opener(&mut self, used: &[bool]) {
        let Some(opener) = self.connection.opener else {
            return;
        };
        let has_begun =
            self.senders[opener].phase != Phase::Closed || self.senders[opener].id.epoch > 0;
        let Some(first) = used.iter().position(|&used| used) else {
            return;
        };
        if has_begun || used[opener] {
            return;
        }
        self.senders[opener].timer.clear();
        self.connection.opener = Some(first);
        let at_ns = self
            .connection
            .starts_at_ns
            .max(self.subflows[first].opens_at_ns);
        let source = self.cx.config.sources.rto(self.cx.global(first));
        self.senders[first]
            .timer
            .set(at_ns.max(self.cx.now_ns), source, &mut self.cx.net.queue);
    }
}

pub(crate) mod trace;

#[cfg(test)]
mod tests;
