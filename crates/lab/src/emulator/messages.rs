//! The messages between the emulator and its parent.

use std::path::PathBuf;

use joulepath_model::energy::meter::EnergyReading;
use joulepath_model::scenario::{LinkIndex, PathIndex};
use joulepath_model::units::Nanos;
use serde::{Deserialize, Serialize};

pub use super::lateness::Lateness;

/// The emulator's first message: what it shall emulate.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Spec {
    /// The scenario as TOML with every default filled in, as `scenario::show` writes it.
    pub scenario: String,
    /// The recorded links that it names.
    pub traces: Vec<Trace>,
    /// Chooses the random numbers.
    pub seed: u64,
    /// The pairs of TUN devices.
    pub tunnels: Vec<TunnelSpec>,
    /// The network namespace of the device's ends.
    pub client: PathBuf,
    /// The network namespace of the server's ends.
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
    /// Instants of delivery, as in `DeliveryTrace`, ms.
    pub opportunities_ms: Vec<u64>,
}

/// One pair of TUN devices.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TunnelSpec {
    /// Name of the device in both namespaces.
    pub name: String,
    /// Length of the longest packet that the kernel may send, bytes.
    pub mtu: u32,
    /// The links from the server to the device.
    pub down: Vec<LinkIndex>,
    /// The links from the device to the server.
    pub up: Vec<LinkIndex>,
    /// The path whose interface this is; none for traffic that is not the device's.
    pub path: Option<PathIndex>,
}

/// A command to the emulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// Start the scenario's clock: it is time 0 now. What was sent before is lost.
    Start,
    /// End the warm-up: counters and joules count from now on.
    Measure,
    /// Send all counters.
    Read(End),
    /// Send what waits in the queue of each link.
    Queues,
    /// Take a tunnel down, with the packets in it, or up.
    SetTunnel {
        /// Its index.
        tunnel: usize,
        /// Whether packets pass.
        open: bool,
    },
}

/// How a reading treats energy that is not spent yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// The traffic goes on. Energy that depends on what comes is left to the next reading.
    Running,
    /// The observation ends while there is traffic: tails are cut off.
    Cut,
    /// The traffic ends: tails run out and count.
    Tails,
}

/// An answer of the emulator: one for each command, and [`Event::Ready`] before them.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// The devices are there.
    Ready {
        /// Indices of the devices of each tunnel: in the client's namespace, in the server's.
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
    /// What waits in the queue of each link of the scenario.
    Queues(Vec<Backlog>),
    /// The tunnel is down or up.
    TunnelSet,
}

/// What waits in the queue of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Backlog {
    /// Number of packets, without the one in transmission.
    pub packets: u32,
    /// Their bytes.
    pub bytes: u64,
}

/// All counters since the start, or since the measurement began.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Reading {
    /// Scenario time, s.
    pub time_s: f64,
    /// Length of the measurement, s.
    pub measured_s: f64,
    /// By tunnel: what went down, what went up.
    pub tunnels: Vec<[Flow; 2]>,
    /// Modelled energy. Its interfaces are in the order of the tunnels that are paths.
    pub energy: EnergyReading,
    /// How late packets left the links, measured from the instant at which they were due.
    pub lateness: Lateness,
    /// What went wrong with packets before or after the links.
    pub anomalies: Anomalies,
    /// Time series, if they were asked for.
    pub series: Option<Series>,
}

impl Lateness {
    /// Whether the emulator kept time, if this much lateness is allowed.
    pub fn is_within(&self, allowed: Nanos) -> bool {
        self.p99_ns <= allowed.0
    }
}

/// What went in one direction through one tunnel. Bytes are those that the simulator would count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flow {
    /// Packets sent.
    pub packets: u64,
    /// Bytes sent.
    pub bytes: u64,
    /// Packets that have reached the other end.
    pub delivered_packets: u64,
    /// Their bytes.
    pub delivered_bytes: u64,
    /// Their TCP payload, retransmissions included, bytes.
    pub delivered_payload: u64,
    /// Sum of the times that they took, ns.
    pub transit_ns: u64,
    /// Packets that a queue or a policer dropped.
    pub queue_drops: u64,
    /// Packets lost on the wire, by chance or in an outage.
    pub wire_losses: u64,
    /// Packets lost because the tunnel was down.
    pub interrupted: u64,
    /// Packets marked by a queue.
    pub marks: u64,
    /// Most packets that waited in one queue of the tunnel, those of other tunnels included.
    pub queue_high_water: u32,
}

/// Packets that did not come to the links, or that the receiving device did not take from them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Anomalies {
    /// Packets that were sent before the clock was started.
    pub early: u64,
    /// Packets that were longer than the MTU, because an offload was on.
    pub oversized: u64,
    /// What was no IP packet.
    pub malformed: u64,
    /// Packets that the receiving device refused, because it was down.
    pub refused: u64,
}

/// Samples over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Instants of the samples, scenario time, s.
    pub time_s: Vec<f64>,
    /// Power of each interface since the sample before, W.
    pub power_w: Vec<Vec<f64>>,
    /// Packets in the queue of the slowest link of each tunnel, in the data's direction.
    pub queue: Vec<Vec<f64>>,
}
