//! What the emulator is told, and what it tells.

use std::path::PathBuf;

use joulepath_model::energy::meter::EnergyReading;
use joulepath_model::scenario::{LinkIndex, PathIndex};
use joulepath_model::units::Nanos;
use serde::{Deserialize, Serialize};

pub use super::lateness::Lateness;

/// What the emulator is, sent once.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Spec {
    /// The scenario as TOML with every default filled in, as `scenario::show` writes it.
    pub scenario: String,
    /// The recorded links that it names.
    pub traces: Vec<Trace>,
    /// Which random numbers.
    pub seed: u64,
    /// The TUN pairs.
    pub lines: Vec<LineSpec>,
    /// Where the device's ends are.
    pub client: PathBuf,
    /// Where the server's ends are.
    pub server: PathBuf,
    /// Whether to ask for real-time priority.
    pub realtime: bool,
    /// Whether to keep time series.
    pub series: bool,
}

/// A recorded link.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Trace {
    /// Its name in the scenario.
    pub source: String,
    /// As in `DeliveryTrace`.
    pub opportunities_ms: Vec<u64>,
}

/// One TUN pair.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LineSpec {
    /// Name of the device in both namespaces.
    pub name: String,
    /// Longest packet that the kernel may send, bytes.
    pub mtu: u32,
    /// Links from the server to the device.
    pub down: Vec<LinkIndex>,
    /// Links from the device to the server.
    pub up: Vec<LinkIndex>,
    /// The path whose interface this is; none for traffic that is not the device's.
    pub path: Option<PathIndex>,
}

/// What the emulator can be asked to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// Now is time 0 of the scenario. What was sent before is lost.
    Start,
    /// The warm-up is over: counters and joules count from now.
    Measure,
    /// Tell all counters.
    Read(End),
    /// Tell what waits in front of each link.
    Queues,
    /// Take a line down, with what is on it, or up.
    SetLine {
        /// Its index.
        line: usize,
        /// Whether packets pass.
        open: bool,
    },
}

/// How a reading treats energy that is not spent yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// Nothing ends: what only the future can tell is left to the next reading.
    Running,
    /// The observation ends amid traffic; tails are cut.
    Cut,
    /// The traffic ends; tails run out and count.
    Tails,
}

/// What the emulator answers: one event for each command, and one first of all.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// The devices are there.
    Ready {
        /// Indices of the devices of each line: in the client's namespace, in the server's.
        devices: Vec<[u32; 2]>,
        /// Whether it has real-time priority.
        realtime: bool,
    },
    /// The clock runs.
    Started {
        /// Time 0 on `CLOCK_MONOTONIC`, ns.
        monotonic_ns: u64,
    },
    /// The measurement has begun.
    Measuring,
    /// All counters.
    Reading(Box<Reading>),
    /// What waits in front of each link of the scenario.
    Queues(Vec<Backlog>),
    /// The line is down or up.
    LineSet,
}

/// What waits in front of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Backlog {
    /// Packets, without the one in transmission.
    pub packets: u32,
    /// Their bytes.
    pub bytes: u64,
}

/// All counters since the start, or since the measurement began.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Reading {
    /// Scenario time, s.
    pub time_s: f64,
    /// What was measured, s.
    pub measured_s: f64,
    /// Of each line: down, up.
    pub lines: Vec<[Flow; 2]>,
    /// Joules, modelled: interfaces in the order of the lines that are paths.
    pub energy: EnergyReading,
    /// How late packets left, against the instant that their links said.
    pub lateness: Lateness,
    /// What went wrong with packets before or behind the links.
    pub anomalies: Anomalies,
    /// Time series, if they were asked for.
    pub series: Option<Series>,
}

impl Lateness {
    /// Up to here one packet in a hundred may be later, unless somebody allows more. RTTs are milliseconds and more: above, the
    /// emulator adds to them what no link has, and a run should not be counted.
    pub const BOUND: Nanos = Nanos::from_millis(1);

    /// Whether the emulator kept up, if so much is allowed.
    pub fn is_within(&self, bound: Nanos) -> bool {
        self.p99_ns <= bound.0
    }
}

/// What went one way on one line. Bytes are those that the simulator would count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flow {
    /// Packets sent.
    pub packets: u64,
    /// Bytes sent.
    pub bytes: u64,
    /// Packets that reached the other end.
    pub delivered_packets: u64,
    /// Their bytes.
    pub delivered_bytes: u64,
    /// Their TCP payload, retransmissions included, bytes.
    pub delivered_payload: u64,
    /// Sum of the times that they were on the way, ns.
    pub transit_ns: u64,
    /// Packets that found a queue full.
    pub queue_drops: u64,
    /// Packets lost on the wire, by chance or in an outage.
    pub wire_losses: u64,
    /// Packets lost because the line was down.
    pub interrupted: u64,
    /// Packets marked by a queue.
    pub marks: u64,
    /// Most packets that waited in one queue of the line, whosever they were.
    pub queue_high_water: u32,
}

/// Packets that the links never saw, or that nobody took from them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Anomalies {
    /// Sent before the clock ran.
    pub early: u64,
    /// Longer than the MTU: an offload was on.
    pub oversized: u64,
    /// No IP packets.
    pub malformed: u64,
    /// Refused by the receiving device, which was down.
    pub refused: u64,
}

/// Samples over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Instants of the samples, scenario time, s.
    pub time_s: Vec<f64>,
    /// Power of each interface since the sample before, W.
    pub power_w: Vec<Vec<f64>>,
    /// Packets that wait in front of the slowest link of each line, in the data's direction.
    pub queue: Vec<Vec<f64>>,
}
