//! A scenario: paths, workload, receiver, energy, duration. It is checked once and then immutable.
//!
//! Engines run a [`Scenario`]. The submodules define its TOML form.

mod beside;
mod book;
mod calibrated;
mod declare;
mod document;
mod energy_notes;
mod error;
mod exact;
mod forms;
mod judge;
mod known;
mod lengths;
mod link_keys;
mod live;
mod live_controllers;
mod live_interfaces;
mod live_programs;
mod live_rules;
mod load;
mod parts;
mod phase;
mod raw;
mod read;
mod resolve;
mod schema;
mod show;
mod show_live;
mod study;
mod written;

use std::borrow::Cow;

use serde::Serialize;

pub use beside::{Beside, CalibratedProfile};
pub use book::path_history;
pub use calibrated::{read_profile, read_profile_in, write_profile};
pub use error::{MOST_SHOWN, Problem, ScenarioErrors, Span};
pub use judge::{BORNE_DB, Finding, WORST_ERROR, judge};
pub use known::{KnownConnection, KnownPath};
pub use live::{live_schema, read_live, read_live_beside};
pub use load::{Variant, load, load_beside, load_with, set_twice, variants};
pub use schema::schema;
pub use show::show;
pub use show_live::show_live;
pub use study::{read_study, study_schema};

use crate::energy::meter::DeviceMeter;
use crate::energy::{DeviceEnergy, InterfaceEnergy};
use crate::history::PathHistory;
use crate::network::{ChannelSpec, LinkSpec, RateSpec};
use crate::policy::Policy;
use crate::receive::GrowingMemory;
use crate::signal::{PathSignal, SignalSpec, rates};
use crate::topology::TopologySpec;
use crate::units::{BitRate, Bytes, Nanos, Probability};

/// Index into [`Scenario::links`].
pub type LinkIndex = usize;
/// Index into [`Scenario::paths`].
pub type PathIndex = usize;

/// Index into [`Scenario::channels`].
pub type ChannelIndex = usize;

/// Longest duration of a scenario, and latest time in it.
pub const MAX_DURATION: Nanos = Nanos::from_secs(18 * 3600);
/// Most subflows of a connection, which is the kernel's limit.
pub const MAX_SUBFLOWS: usize = 8;
/// Most connections of a group.
pub const MAX_CONNECTIONS: u32 = 10_000;
/// Most seeds of a comparison.
pub const MAX_SEEDS: u32 = 100_000;

/// A checked scenario: all defaults filled in, all names resolved.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Scenario {
    /// One-line title.
    pub title: String,
    /// Source: paper, section, table.
    pub source: Option<String>,
    /// Simulated time.
    pub duration: Nanos,
    /// Rates, power and shares are measured from this instant to the end. Files and messages are
    /// measured whole.
    pub warm_up: Nanos,
    /// Parameters of all TCP senders and receivers.
    pub transport: Transport,
    /// All links: shared links and those of single paths.
    pub links: Vec<LinkSpec>,
    /// Paths for subflows. In a topology: the interfaces of a host, each with its own link.
    pub paths: Vec<PathSpec>,
    /// Short-range channels between relays and the devices.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub channels: Vec<ChannelSpec>,
    /// The data-centre network between the hosts, instead of paths. It gives each connection its
    /// routes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub topology: Option<TopologySpec>,
    /// Power of the device besides its interfaces.
    pub device: DeviceEnergy,
    /// The connections under test, which run the policies. Each connection has its own device.
    pub connections: Vec<ConnectionGroup>,
    /// Single-path TCP connections that compete with the connections under test.
    pub competitors: Vec<Competitor>,
    /// Cross traffic, which does not react to congestion.
    pub cross: Vec<CrossTraffic>,
    /// Defaults of `compare`.
    pub compare: CompareDefaults,
}

impl Scenario {
    /// The memory of the receive buffers that grow, which is the same for all; `None` if none
    /// grows.
    pub fn receive_memory(&self) -> Option<GrowingMemory> {
        self.connections
            .iter()
            .find_map(|group| group.receive_memory)
    }

    /// The scenario as a run with `seed` meets it: each walk with its shadowing, and the rates that
    /// follow.
    pub fn drawn(&self, seed: u64) -> Cow<'_, Scenario> {
        let walks = |path: &PathSpec| {
            path.signal
                .as_ref()
                .is_some_and(|signal| matches!(signal.spec, SignalSpec::Walk(_)))
        };
        if !self.paths.iter().any(walks) {
            return Cow::Borrowed(self);
        }
        let mut drawn = self.clone();
        for (index, path) in drawn.paths.iter_mut().enumerate() {
            let Some(signal) = &mut path.signal else {
                continue;
            };
            let series = signal.spec.drawn(self.duration, seed, index as u64);
            for (link, table) in [path.radio.0, path.radio.1].into_iter().zip(&signal.rates) {
                if let Some(table) = table {
                    drawn.links[link].rate = RateSpec::Steps(rates(table, &series));
                }
            }
            signal.spec = SignalSpec::Steps(series);
        }
        Cow::Owned(drawn)
    }

    /// Lets the meter of a device with the interfaces of `paths` follow their signals.
    pub fn follow_signals(&self, meter: &mut DeviceMeter, paths: &[PathIndex]) {
        for (interface, &path) in paths.iter().enumerate() {
            let spec = &self.paths[path];
            if let (Some(signal), Some(radio)) = (&spec.signal, spec.energy.radio()) {
                meter.follow(interface, radio, signal.spec.expected(self.duration));
            }
        }
    }

    /// Number of long-lived TCP connections that compete at a bottleneck that all connections
    /// share: each uses a link of every path of the connections under test. 0 if any competitor
    /// sends a limited amount or misses one of the paths, because the competitors' total goodput
    /// then gives no fair share.
    pub fn rivals(&self) -> u32 {
        let meets = |competitor: &Competitor, group: &ConnectionGroup, path: &PathIndex| {
            let data = match group.direction {
                Direction::Download => &self.paths[*path].down,
                Direction::Upload => &self.paths[*path].up,
            };
            data.iter().any(|link| competitor.down.contains(link))
        };
        let is_rival = |competitor: &Competitor| {
            let meets_all = |group: &ConnectionGroup| {
                group
                    .paths
                    .iter()
                    .all(|path| meets(competitor, group, path))
            };
            competitor.size.is_none() && self.connections.iter().all(meets_all)
        };
        let all_are = self.topology.is_none() && self.competitors.iter().all(is_rival);
        if all_are {
            self.competitors
                .iter()
                .map(|competitor| competitor.count)
                .sum()
        } else {
            0
        }
    }
}

/// One path from the device to the server.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PathSpec {
    /// Name of the path and of its interface; unique within the scenario.
    pub name: String,
    /// Links from the server to the device, in order.
    pub down: Vec<LinkIndex>,
    /// Links from the device to the server, in order.
    pub up: Vec<LinkIndex>,
    /// The link next to the device in each direction (down, up). It waits for the radio's
    /// promotion.
    pub radio: (LinkIndex, LinkIndex),
    /// Energy model of the device's interface.
    pub energy: InterfaceEnergy,
    /// Signal at the device over time. `energy` is then the model at its mean.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<PathSignal>,
    /// The subflow opens this long after the start of its connection, and not before MP_JOIN is
    /// possible.
    pub start: Nanos,
    /// Backup subflow (RFC 8684, section 3.3.8): used only while no other subflow is usable.
    pub backup: bool,
    /// Name of the network that the interface is attached to, as in the history file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<String>,
    /// Estimates of that network from earlier use.
    #[serde(skip_serializing_if = "PathHistory::is_empty")]
    pub history: PathHistory,
    /// Relay at the end of the path; its links are then those between server and relay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub relay: Option<RelaySpec>,
}

/// A neighbour that forwards the device's traffic over a shared channel (004, section IV-A).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct RelaySpec {
    /// Between relay and device.
    pub channel: ChannelIndex,
    /// Kind of relay.
    pub kind: RelayKind,
}

/// Kind of relay, by what it forwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RelayKind {
    /// Packets: the channel is an additional hop.
    Ip,
    /// Segments of a subflow that ends at the relay.
    Tcp {
        /// Segments that the relay can hold.
        buffer: u32,
    },
}

impl RelayKind {
    /// Buffer of a TCP relay, segments.
    pub fn buffer(self) -> Option<u32> {
        match self {
            RelayKind::Ip => None,
            RelayKind::Tcp { buffer } => Some(buffer),
        }
    }
}

/// Parameters of TCP and MPTCP.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Transport {
    /// Payload of a full segment.
    pub mss: Bytes,
    /// Headers of a data segment on the wire (IP, TCP, options).
    pub header: Bytes,
    /// Size on the wire of a segment without payload.
    pub ack_size: Bytes,
    /// Initial window, packets (RFC 6928: 10).
    pub initial_window: u32,
    /// Lower bound of the RTO (RFC 6298: 1 s; Linux: 200 ms).
    pub rto_min: Nanos,
    /// RTO before the first sample (RFC 6298: 1 s).
    pub rto_initial: Nanos,
    /// Upper bound of the RTO after backoff.
    pub rto_max: Nanos,
    /// Consecutive timeouts after which a subflow is dead (Linux tcp_retries2: 15).
    pub max_retries: u32,
    /// Delay of the ACK for a lone in-order segment; none: every segment is acknowledged at once.
    pub delayed_ack: Option<Nanos>,
    /// Loss recovery.
    pub recovery: Recovery,
    /// Use ECN: senders set ECT and receivers echo marks.
    pub ecn: bool,
    /// Number of duplicate ACKs that signal a loss (RFC 5681: 3).
    pub dup_threshold: u32,
    /// Longest time that a host takes to process a packet. Only the packet engine uses it.
    pub processing_delay: ProcessingDelay,
}

/// Longest time that a host takes to process a packet. Each packet takes a random time between 0
/// and this.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ProcessingDelay {
    /// The time that this many of the flow's packets take on the slowest link of its route.
    Packets(u32),
    /// A fixed time.
    Time(Nanos),
}

/// Loss recovery of a subflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Recovery {
    /// As in Linux: RACK and tail loss probes (RFC 8985) detect losses, PRR (RFC 9937) reduces the
    /// window. Three SACK blocks per ACK.
    Rack,
    /// RFC 6675 with three SACK blocks per ACK.
    Sack,
    /// RFC 6582.
    NewReno,
}

impl Recovery {
    /// True if ACKs carry SACK blocks.
    #[inline]
    pub fn has_sack(self) -> bool {
        self != Recovery::NewReno
    }
}

/// A group of identical connections under test.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ConnectionGroup {
    /// Name in reports.
    pub name: String,
    /// Number of connections.
    pub count: u32,
    /// Paths of the subflows, the initial subflow first.
    pub paths: Vec<PathIndex>,
    /// Workload of each connection.
    pub workload: Workload,
    /// Direction of the data.
    pub direction: Direction,
    /// Start of the first connection.
    pub start: Nanos,
    /// Each connection starts at a random instant within this time after `start`.
    pub spread: Nanos,
    /// Data-level receive buffer, shared by the subflows: payload. If it grows, the most.
    pub receive_buffer: Bytes,
    /// The memory of a receive buffer that grows; `None`: the buffer has its size from the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive_memory: Option<GrowingMemory>,
    /// Data-level send buffer.
    pub send_buffer: Bytes,
}

/// Direction of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// From the server to the device.
    Download,
    /// From the device to the server.
    Upload,
}

/// Workload of an application.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Workload {
    /// The sender always has data.
    Bulk,
    /// One file, then close.
    File {
        /// Its size.
        size: Bytes,
    },
    /// Messages at the instants of a Poisson process.
    Messages {
        /// Mean time between two messages.
        mean_gap: Nanos,
        /// Size of each message.
        size: Bytes,
        /// The longest time that a message waits. All waiting messages are sent together.
        #[serde(skip_serializing_if = "is_zero")]
        tolerance: Nanos,
    },
    /// Constant bit rate while on, silent while off, starting on.
    Stream {
        /// Rate while on.
        rate: BitRate,
        /// Time between two writes.
        interval: Nanos,
        /// Length of an on-period.
        on: Nanos,
        /// Length of an off-period; zero means always on.
        off: Nanos,
    },
    /// The device sends a request, receives the answer, thinks, and repeats.
    Requests {
        /// Size of an answer.
        size: Bytes,
        /// Time from the end of an answer to the next request.
        think: Nanos,
    },
}

fn is_zero(time: &Nanos) -> bool {
    *time == Nanos::ZERO
}

/// Single-path TCP connections that compete with the connections under test. They carry bulk data
/// from the server to the device.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Competitor {
    /// Name in reports.
    pub name: String,
    /// Number of connections.
    pub count: u32,
    /// Links from sender to receiver.
    pub down: Vec<LinkIndex>,
    /// Links of the ACKs.
    pub up: Vec<LinkIndex>,
    /// Congestion controller, by its registry name.
    pub cc: String,
    /// Start of the first connection.
    pub start: Nanos,
    /// Each connection starts at a random instant within this time after `start`.
    pub spread: Nanos,
    /// Data that each connection sends; none: unlimited.
    pub size: Option<Bytes>,
}

/// Packets across one link that do not react to congestion.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CrossTraffic {
    /// The link that carries them.
    pub link: LinkIndex,
    /// Pattern of the packets.
    pub pattern: CrossPattern,
    /// Size on the wire of each packet.
    pub packet: Bytes,
    /// No packet is sent before this instant.
    pub start: Nanos,
    /// No packet is sent from this instant on.
    pub stop: Nanos,
}

/// Pattern of cross traffic.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CrossPattern {
    /// Evenly spaced packets.
    Constant {
        /// Rate on the wire.
        rate: BitRate,
    },
    /// Packets at the instants of a Poisson process.
    Poisson {
        /// Mean rate on the wire.
        rate: BitRate,
    },
    /// Bursts at a constant rate. Lengths and gaps have Pareto distributions.
    Pareto {
        /// Rate on the wire within a burst.
        rate: BitRate,
        /// Mean length of a burst.
        mean_burst: Nanos,
        /// Mean gap between bursts.
        mean_gap: Nanos,
        /// Shape of both distributions, greater than 1.
        shape: f64,
    },
}

impl CrossPattern {
    /// Mean rate on the wire, bit/s.
    pub fn mean_bps(&self) -> f64 {
        match *self {
            CrossPattern::Constant { rate } | CrossPattern::Poisson { rate } => rate.bps() as f64,
            CrossPattern::Pareto {
                rate,
                mean_burst,
                mean_gap,
                ..
            } => rate.bps() as f64 * mean_burst.0 as f64 / (mean_burst.0 + mean_gap.0) as f64,
        }
    }
}

/// Defaults of `compare`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CompareDefaults {
    /// The policies, in the order of the table; ratios are relative to the first.
    pub policies: Vec<Policy>,
    /// Number of seeds per policy.
    pub seeds: u32,
    /// Random cross traffic of the repeated runs where shares rest on phase, as a part of the
    /// link's rate: see [`Scenario::with_background`].
    pub background: Probability,
}
