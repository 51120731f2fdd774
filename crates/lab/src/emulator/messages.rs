//! The messages between the emulator and its parent.

use std::path::PathBuf;

use joulepath_model::energy::attribution::PhaseEnergy;
use joulepath_model::energy::meter::EnergyReading;
use joulepath_model::scenario::{LinkIndex, PathIndex};
use joulepath_model::units::Nanos;
use serde::{Deserialize, Serialize};

pub use super::lateness::Lateness;

/// The emulator's first message.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Spec {
    /// The scenario as TOML with all defaults filled in, as `scenario::show` writes it.
    pub scenario: String,
    /// The recorded links that the scenario names.
    pub traces: Vec<Trace>,
    /// Seed of the random numbers.
    pub seed: u64,
    /// The pairs of TUN devices.
    pub tunnels: Vec<TunnelSpec>,
    /// Network namespace of the device's ends.
    pub client: PathBuf,
    /// Network namespace of the server's ends.
    pub server: PathBuf,
    /// True to request real-time priority.
    pub realtime: bool,
    /// True to record time series.
    pub series: bool,
    /// True to count bytes and joules by service.
    pub services: bool,
    /// Folder for the packets as pcapng.
    pub packets: Option<PathBuf>,
}

/// A recorded link.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Trace {
    /// Its name in the scenario.
    pub source: String,
    /// Times of delivery as in `DeliveryTrace`, ms.
    pub opportunities_ms: Vec<u64>,
}

/// One pair of TUN devices.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TunnelSpec {
    /// Name of the device in both namespaces.
    pub name: String,
    /// Length of the longest packet that the kernel may send through it, bytes.
    pub mtu: u32,
    /// The links from the server to the device.
    pub down: Vec<LinkIndex>,
    /// The links from the device to the server.
    pub up: Vec<LinkIndex>,
    /// The path of the device's interface; `None` for traffic that is not the device's.
    pub path: Option<PathIndex>,
}

/// A command to the emulator. It answers each with one event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// Start the scenario's clock at time 0. Earlier packets are lost.
    Start,
    /// End the warm-up: counters and energy start at 0.
    Measure,
    /// Send all counters.
    Read(End),
    /// Send the backlog of each link.
    Queues,
    /// Close a tunnel and drop the packets in it, or open it.
    SetTunnel {
        /// Its index.
        tunnel: usize,
        /// True to let packets pass.
        open: bool,
    },
}

/// How a reading treats energy that is not consumed yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// The traffic continues. Energy that depends on later packets is left to the next reading.
    Running,
    /// The observation ends during the traffic: tails are cut off.
    Cut,
    /// The traffic ends: tails are completed and count.
    Tails,
}

/// An event of the emulator: [`Event::Ready`] first, then one answer per command.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// The devices exist.
    Ready {
        /// Device indices of each tunnel: in the client's namespace, in the server's.
        devices: Vec<[u32; 2]>,
        /// True if it has real-time priority.
        realtime: bool,
    },
    /// The clock has started.
    Started {
        /// Time 0 on `CLOCK_MONOTONIC`, ns.
        monotonic_ns: u64,
    },
    /// The measurement has begun.
    Measuring,
    /// All counters.
    Reading(Box<Reading>),
    /// The backlog of each link of the scenario.
    Queues(Vec<Backlog>),
    /// The tunnel is closed or open.
    TunnelSet,
}

/// The queue of a link.
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
    /// Traffic of each tunnel: down, up.
    pub tunnels: Vec<[Flow; 2]>,
    /// Modelled energy. Its interfaces are in the order of the tunnels with a path.
    pub energy: EnergyReading,
    /// How late packets left the links, relative to when they were due.
    pub lateness: Lateness,
    /// Packets that failed before or after the links.
    pub anomalies: Anomalies,
    /// Time series, if requested.
    pub series: Option<Series>,
    /// Traffic by service, if requested, in the order of their first packets. Their joules are
    /// those of the interfaces and the shared base, without idle power.
    pub services: Vec<Served>,
    /// Why the captures are incomplete.
    pub uncaptured: Option<String>,
}

impl Lateness {
    /// True if the emulator was at most this late.
    pub fn is_within(&self, allowed: Nanos) -> bool {
        self.p99_ns <= allowed.0
    }
}

/// Traffic of one tunnel in one direction. Bytes are counted as in the simulator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flow {
    /// Packets sent.
    pub packets: u64,
    /// Bytes sent.
    pub bytes: u64,
    /// Packets delivered to the other end.
    pub delivered_packets: u64,
    /// Bytes delivered.
    pub delivered_bytes: u64,
    /// Payload delivered, including retransmissions, bytes.
    pub delivered_payload: u64,
    /// Sum of the delivered packets' transit times, ns.
    pub transit_ns: u64,
    /// Packets dropped by a queue or a policer.
    pub queue_drops: u64,
    /// Packets lost on the wire, at random or in an outage.
    pub wire_losses: u64,
    /// Packets lost because the tunnel was closed.
    pub interrupted: u64,
    /// Packets marked by a queue.
    pub marks: u64,
    /// Largest number of packets in a queue of the tunnel, including those of other tunnels.
    pub queue_high_water: u32,
}

/// Packets that did not enter the links, or that the receiving device refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Anomalies {
    /// Packets sent before the clock started.
    pub early: u64,
    /// Packets longer than the MTU, because an offload was on.
    pub oversized: u64,
    /// Packets that are not IP.
    pub malformed: u64,
    /// Packets refused by the receiving device because it was down.
    pub refused: u64,
}

/// A protocol and a port of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Service {
    /// The protocol's number in the IP header.
    pub protocol: u8,
    /// 0 if the protocol has no ports, and for fragments.
    pub port: u16,
}

impl Service {
    /// All services after the first dozens. Number 255 is reserved (RFC 5237).
    pub const OTHER: Service = Service {
        protocol: 255,
        port: 0,
    };
}

/// What has passed between the device and one service.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Served {
    /// The service.
    pub service: Service,
    /// Bytes delivered to the device, counted as in the simulator.
    pub down_bytes: u64,
    /// Bytes delivered to the server.
    pub up_bytes: u64,
    /// Packets delivered.
    pub packets: u64,
    /// Scenario time of the first packet with payload, ns.
    pub first_ns: Option<u64>,
    /// Scenario time of the last packet with payload, ns.
    pub last_ns: Option<u64>,
    /// Longest time between two packets with payload, in any direction, ns.
    pub longest_pause_ns: u64,
    /// Its joules.
    pub energy: PhaseEnergy,
}

/// Samples over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Times of the samples, scenario time, s.
    pub time_s: Vec<f64>,
    /// Power of each interface since the previous sample, W.
    pub power_w: Vec<Vec<f64>>,
    /// Packets in the queue of each tunnel's slowest link, in the data's direction.
    pub queue: Vec<Vec<f64>>,
}
