//! A run with a log of its packets, and samples of windows, radios and energy, for pictures.

use std::sync::Arc;

use joulepath_control::Setup;
use joulepath_model::cancel::Cancel;
use joulepath_model::energy::meter::{RadioPhase, RadioState};
use joulepath_model::scenario::{PathIndex, Scenario};
use joulepath_model::units::Nanos;

use super::{Session, Status};
use crate::path::log::{Header, LoggedPacket, PacketClass, PacketFate};
use crate::run::error::RunError;
use crate::run::options::RunOptions;

/// Bounds of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceLimits {
    /// Simulated time, including tails of radios after the end of the run.
    pub time: Nanos,
    /// Packets, counted once on each link.
    pub packets: usize,
    /// Samples; at least 1 ms apart.
    pub samples: usize,
}

/// Why a trace ends before the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceCut {
    /// At [`TraceLimits::time`].
    Time,
    /// At [`TraceLimits::packets`].
    Packets,
}

/// A packet on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TracedPacket {
    /// Index of the link in the scenario.
    pub link: usize,
    /// The path of its subflow; `None` for competitors and cross traffic.
    pub path: Option<PathIndex>,
    /// Class of the packet.
    pub class: PacketClass,
    /// Its header.
    pub header: Header,
    /// What the link does with it.
    pub fate: PacketFate,
    /// When it reaches the queue.
    pub offered: Nanos,
    /// When its last byte leaves the queue for the wire, or when it is dropped. With a managed
    /// queue, jitter counts as time in the queue.
    pub left: Nanos,
    /// When its last byte arrives. A packet that is lost would have arrived then.
    pub arrives: Nanos,
}

/// SACK blocks of an ACK.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sack {
    /// Half-open ranges of subflow sequence numbers, the most recently changed first.
    pub ranges: Vec<(u32, u32)>,
    /// A segment that arrived a second time (RFC 2883).
    pub duplicate: Option<u32>,
}

/// Samples of one path.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TracedPath {
    /// Congestion window, packets.
    pub cwnd: Vec<u32>,
    /// Packets in flight.
    pub in_flight: Vec<u32>,
    /// Payload whose first copy arrived on it, bytes.
    pub delivered_bytes: Vec<u64>,
    /// Energy of its interface since the warm-up, J.
    pub energy_j: Vec<f64>,
    /// Phase of its radio.
    pub radio: Vec<RadioPhase>,
}

/// The packets of a run, with samples over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    /// End of the trace.
    pub until: Nanos,
    /// Why the trace ends before the run; `None`: it is complete.
    pub cut: Option<TraceCut>,
    /// The packets on links of the scenario's paths, in the order of [`TracedPacket::offered`].
    /// Hops over shared channels are left out.
    pub packets: Vec<TracedPacket>,
    /// SACK blocks to which [`Header::sack`] refers.
    pub sacks: Vec<Sack>,
    /// Instants of the samples.
    pub times: Vec<Nanos>,
    /// Energy of the device since the warm-up at each sample, J. At the end of a complete trace it
    /// is the result's.
    pub energy_j: Vec<f64>,
    /// Receive window, segments; empty if the buffer does not grow.
    pub receive_window: Vec<u32>,
    /// Samples of each path, in the scenario's order.
    pub paths: Vec<TracedPath>,
}

/// Runs `scenario` and records its packets until a limit is reached.
///
/// # Errors
/// See [`Session::new`] and [`Session::advance`].
pub fn trace(
    scenario: Arc<Scenario>,
    setup: &Setup,
    seed: u64,
    limits: &TraceLimits,
    cancel: &Cancel,
) -> Result<Trace, RunError> {
    let options = RunOptions {
        cancel: cancel.clone(),
        ..RunOptions::default()
    };
    let mut session = Session::new(scenario, setup, seed, options)?;
    let links: Vec<usize> = session
        .scenario
        .paths
        .iter()
        .flat_map(|path| path.down.iter().chain(&path.up))
        .copied()
        .collect();
    session.engine.net.begin_log(&links, limits.packets);
    let span = session.scenario.duration.min(limits.time);
    let step = Nanos((span.0 / limits.samples.max(1) as u64).max(1_000_000));
    let mut trace = Trace {
        paths: vec![TracedPath::default(); session.scenario.paths.len()],
        ..Trace::default()
    };
    let mut status = Status::default();
    loop {
        session.sample(&mut status, &mut trace);
        if session.is_over() || session.now() >= limits.time {
            break;
        }
        session.advance(session.now().saturating_add(step).min(limits.time))?;
        if session
            .engine
            .net
            .log
            .as_ref()
            .is_some_and(|log| log.is_full())
        {
            trace.cut = Some(TraceCut::Packets);
            break;
        }
    }
    trace.until = trace.times.last().copied().unwrap_or_default();
    if trace.cut.is_none() && !session.is_over() {
        trace.cut = Some(TraceCut::Time);
    }
    if session.is_over() && trace.cut.is_none() {
        session.sample_tails(step, limits.time, &status, &mut trace);
    }
    trace.packets = session.logged(trace.until);
    trace.sacks = session.logged_sacks();
    Ok(trace)
}

impl Session {
    /// Adds a sample of this instant.
    fn sample(&mut self, status: &mut Status, trace: &mut Trace) {
        self.status(status);
        // At the end the status includes the energy of tails; they follow as samples of their own.
        let mut states = vec![];
        if let Some(device) = &mut self.engine.devices[0] {
            if let Some(at_ns) = device.finished_ns {
                let energy;
                (energy, states) = device.meter.clone().finish_until(Nanos(at_ns), status.now);
                status.energy_j = energy.total_j();
                for (&path, split) in device.paths.iter().zip(&energy.interfaces) {
                    status.paths[path].energy_j = split.total_j();
                }
            } else {
                device.meter.snapshot_into(status.now, &mut self.reading);
                states = device.meter.states().collect();
            }
            states = spread(&states, &device.paths, trace.paths.len());
        }
        if let Some(tuning) = &self.engine.connections[0].receiver.tuning {
            trace.receive_window.push(tuning.window());
        }
        trace.add(status, &states);
    }

    /// The SACK blocks of the logged packets.
    fn logged_sacks(&self) -> Vec<Sack> {
        let log = self.engine.net.log.as_ref();
        let blocks = log.map_or(&[][..], |log| log.sacks());
        blocks
            .iter()
            .map(|blocks| Sack {
                ranges: blocks.ranges().to_vec(),
                duplicate: blocks.duplicate,
            })
            .collect()
    }

    /// Adds samples until all radios are idle or the limit is reached.
    fn sample_tails(&mut self, step: Nanos, limit: Nanos, status: &Status, trace: &mut Trace) {
        let Some(device) = &self.engine.devices[0] else {
            return;
        };
        let Some(finished) = device.finished_ns.map(Nanos) else {
            return;
        };
        let mut status = status.clone();
        loop {
            let (_, states) = device.meter.clone().finish_until(finished, status.now);
            if states.iter().all(|state| state.phase == RadioPhase::Idle) {
                return;
            }
            if status.now >= limit {
                trace.cut = Some(TraceCut::Time);
                return;
            }
            status.now = status.now.saturating_add(step).min(limit);
            let (energy, states) = device.meter.clone().finish_until(finished, status.now);
            status.energy_j = energy.total_j();
            for (&path, split) in device.paths.iter().zip(&energy.interfaces) {
                status.paths[path].energy_j = split.total_j();
            }
            trace.add(&status, &spread(&states, &device.paths, trace.paths.len()));
            trace.until = status.now;
        }
    }

    /// The packets that were offered before `until`.
    fn logged(&self, until: Nanos) -> Vec<TracedPacket> {
        let Some(log) = &self.engine.net.log else {
            return vec![];
        };
        let path = |s: u32| {
            self.subflows
                .iter()
                .position(|own| *own == Some(s as usize))
        };
        let traced = |packet: &LoggedPacket| TracedPacket {
            link: packet.link as usize,
            path: packet.subflow.and_then(path),
            class: packet.class,
            header: packet.header,
            fate: packet.fate,
            offered: Nanos(packet.offered_ns),
            left: Nanos(packet.left_ns),
            arrives: Nanos(packet.arrives_ns),
        };
        log.packets()
            .iter()
            .take_while(|packet| packet.offered_ns <= until.0)
            .map(traced)
            .collect()
    }
}

/// The states of interfaces by path; a path without an interface is idle.
fn spread(states: &[RadioState], paths: &[PathIndex], all: usize) -> Vec<RadioState> {
    let mut spread = vec![RadioState::default(); all];
    for (&path, state) in paths.iter().zip(states) {
        spread[path] = *state;
    }
    spread
}

impl Trace {
    fn add(&mut self, status: &Status, radios: &[RadioState]) {
        let first = self.times.len();
        self.times.push(status.now);
        self.energy_j.push(status.energy_j);
        for ((path, at), i) in self.paths.iter_mut().zip(&status.paths).zip(0..) {
            path.cwnd.push(at.cwnd);
            path.in_flight.push(at.in_flight);
            path.delivered_bytes.push(at.delivered_bytes);
            path.energy_j.push(at.energy_j);
            let state = radios.get(i).copied().unwrap_or_default();
            path.radio.push(state.phase);
            // The gap before the meter knew that it is a tail.
            if state.phase == RadioPhase::Tail {
                let since = self.times.partition_point(|time| *time < state.since);
                let gap = path.radio[since.min(first)..first].iter_mut().rev();
                gap.take_while(|phase| **phase == RadioPhase::Active)
                    .for_each(|phase| *phase = state.phase);
            }
        }
    }
}

#[cfg(test)]
mod tests;
