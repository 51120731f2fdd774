//! A scenario: paths, workload, receiver, energy, duration. Validated once, immutable afterwards.
//!
//! [`Scenario`] is what engines run. How it is written in TOML is the business of the submodules.

mod beside;
mod book;
mod calibrated;
mod declare;
mod document;
mod error;
mod exact;
mod forms;
mod known;
mod lengths;
mod live;
mod load;
mod parts;
mod raw;
mod read;
mod resolve;
mod schema;
mod show;
mod show_live;
mod study;
mod written;

use serde::Serialize;

pub use beside::{Beside, CalibratedProfile};
pub use book::{path_history, read_history, write_history};
pub use calibrated::{read_profile, read_profile_in, write_profile};
pub use error::{Problem, ScenarioErrors, Span};
pub use known::{KnownConnection, KnownPath};
pub use live::{live_schema, read_live, read_live_beside};
pub use load::{Variant, load, load_beside, load_with, variants};
pub use schema::schema;
pub use show::show;
pub use show_live::show_live;
pub use study::{read_study, study_schema};

use crate::energy::{DeviceEnergy, InterfaceEnergy};
use crate::history::PathHistory;
use crate::network::{ChannelSpec, LinkSpec};
use crate::policy::Policy;
use crate::topology::TopologySpec;
use crate::units::{BitRate, Bytes, Nanos};

/// Index into [`Scenario::links`].
pub type LinkIndex = usize;
/// Index into [`Scenario::paths`].
pub type PathIndex = usize;

/// Index into [`Scenario::channels`].
pub type ChannelIndex = usize;

/// Longest duration, and latest instant, of a scenario.
pub const MAX_DURATION: Nanos = Nanos::from_secs(18 * 3600);
/// Most subflows of a connection: the kernel's limit.
pub const MAX_SUBFLOWS: usize = 8;
/// Most connections of one group.
pub const MAX_CONNECTIONS: u32 = 10_000;
/// Most seeds of a comparison.
pub const MAX_SEEDS: u32 = 100_000;

/// A validated scenario: every default filled in, every name resolved.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Scenario {
    /// One line for humans.
    pub title: String,
    /// Where it comes from (paper, section, table).
    pub source: Option<String>,
    /// Simulated time.
    pub duration: Nanos,
    /// Rates, power and shares are measured from here to the end. Files and messages are measured whole.
    pub warm_up: Nanos,
    /// What all TCP senders and receivers have in common.
    pub transport: Transport,
    /// Every link, named ones and those that belong to one path.
    pub links: Vec<LinkSpec>,
    /// What a subflow can travel on; in a topology the interfaces of a host, each with the link
    /// that it is on alone.
    pub paths: Vec<PathSpec>,
    /// Short-range channels that relays share with the devices.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub channels: Vec<ChannelSpec>,
    /// The data-centre network between the hosts, in place of paths. It gives each connection its routes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub topology: Option<TopologySpec>,
    /// What the device burns besides its interfaces.
    pub device: DeviceEnergy,
    /// The connections under test: they run the policies that are compared, each on a device of its own.
    pub connections: Vec<ConnectionGroup>,
    /// Single-path TCP connections that compete with them.
    pub competitors: Vec<Competitor>,
    /// Traffic that does not react.
    pub cross: Vec<CrossTraffic>,
    /// What `compare` does unless told otherwise.
    pub compare: CompareDefaults,
}

impl Scenario {
    /// How many TCP connections without end compete with the connections under test at a bottleneck that all
    /// have in common: each on a link of every path that these use. 0 as soon as one of the competitors has
    /// an end or is not on every path: the goodput of all competitors together then says nothing of a fair
    /// share.
    pub fn rivals(&self) -> u32 {
        let meets = |competitor: &Competitor, group: &ConnectionGroup, path: &PathIndex| {
            let data = match group.direction {
                Direction::Download => &self.paths[*path].down,
                Direction::Upload => &self.paths[*path].up,
            };
            data.iter().any(|link| competitor.down.contains(link))
        };
        let is_rival = |competitor: &Competitor| {
            let meets_all =
                |group: &ConnectionGroup| group.paths.iter().all(|path| meets(competitor, group, path));
            competitor.size.is_none() && self.connections.iter().all(meets_all)
        };
        let all_are = self.topology.is_none() && self.competitors.iter().all(is_rival);
        if all_are { self.competitors.iter().map(|competitor| competitor.count).sum() } else { 0 }
    }
}

/// One path from the device to the server.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PathSpec {
    /// Unique within the scenario; names the interface, too.
    pub name: String,
    /// Links from the server to the device, in order.
    pub down: Vec<LinkIndex>,
    /// Links from the device to the server, in order.
    pub up: Vec<LinkIndex>,
    /// The link next to the device in each direction (down, up), which waits for the radio's promotion.
    pub radio: (LinkIndex, LinkIndex),
    /// Energy model of the device's interface.
    pub energy: InterfaceEnergy,
    /// The subflow is opened this long after the connection starts (and not before MP_JOIN allows).
    pub start: Nanos,
    /// Established as backup (RFC 8684, section 3.3.8): used only while no other subflow is usable.
    pub backup: bool,
    /// Which network the interface is attached to, as a history calls it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<String>,
    /// What the device knows of that network from earlier.
    #[serde(skip_serializing_if = "PathHistory::is_empty")]
    pub history: PathHistory,
    /// Where the path ends before the device: the links are those between server and relay then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub relay: Option<RelaySpec>,
}

/// A neighbour that receives for the device and passes on over a shared channel (004, section IV-A).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct RelaySpec {
    /// Between relay and device.
    pub channel: ChannelIndex,
    /// What it passes on.
    pub kind: RelayKind,
}

/// What a relay passes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RelayKind {
    /// Packets: the channel is one more hop.
    Ip,
    /// Segments of a subflow that ends at the relay.
    Tcp {
        /// Segments that it holds.
        buffer: u32,
    },
}

impl RelayKind {
    /// The buffer of a TCP relay, segments.
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
    /// Headers on the wire of a data segment (IP, TCP, options).
    pub header: Bytes,
    /// Size on the wire of a segment without payload.
    pub ack_size: Bytes,
    /// Initial window in packets (RFC 6928: 10).
    pub initial_window: u32,
    /// Lower bound of the RTO (RFC 6298: 1 s; Linux: 200 ms).
    pub rto_min: Nanos,
    /// RTO before the first sample (RFC 6298: 1 s).
    pub rto_initial: Nanos,
    /// Upper bound of the RTO after backoff.
    pub rto_max: Nanos,
    /// A subflow is dead after this many timeouts in a row (Linux tcp_retries2: 15).
    pub max_retries: u32,
    /// Delay of an ACK for a lone in-order segment; none means that every segment is acknowledged at once.
    pub delayed_ack: Option<Nanos>,
    /// Loss recovery.
    pub recovery: Recovery,
    /// Whether senders set ECT and receivers echo.
    pub ecn: bool,
    /// TCP-level duplicate ACK threshold (RFC 5681: 3).
    pub dup_threshold: u32,
    /// The most that a host takes for a packet that has reached it. Only the packet engine reads it.
    pub processing_delay: ProcessingDelay,
}

/// The longest time that a host takes for a packet. Each packet takes a random time between 0 and that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ProcessingDelay {
    /// As long as so many of a flow's packets take on the slowest link of the flow's route.
    Packets(u32),
    /// So long.
    Time(Nanos),
}

/// Loss recovery of a subflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Recovery {
    /// As Linux: RACK and tail loss probes (RFC 8985) find losses, PRR (RFC 9937) reduces the window; three
    /// SACK blocks per ACK.
    Rack,
    /// RFC 6675 with three SACK blocks per ACK.
    Sack,
    /// RFC 6582.
    NewReno,
}

impl Recovery {
    /// Whether ACKs carry SACK blocks.
    #[inline]
    pub fn has_sack(self) -> bool {
        self != Recovery::NewReno
    }
}

/// Equal connections under test.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ConnectionGroup {
    /// For reports.
    pub name: String,
    /// How many.
    pub count: u32,
    /// The paths over which each opens a subflow, the first one first.
    pub paths: Vec<PathIndex>,
    /// What the application does.
    pub workload: Workload,
    /// Which way the data goes.
    pub direction: Direction,
    /// Start of the first connection.
    pub start: Nanos,
    /// Each connection starts at a random instant of this period.
    pub spread: Nanos,
    /// Data-level receive buffer, shared by the subflows.
    pub receive_buffer: Bytes,
    /// Data-level send buffer.
    pub send_buffer: Bytes,
}

/// Which way data goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// From the server to the device.
    Download,
    /// From the device to the server.
    Upload,
}

/// What an application does.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Workload {
    /// Always more data.
    Bulk,
    /// One file, then close.
    File {
        /// Its size.
        size: Bytes,
    },
    /// Messages at the instants of a Poisson process.
    Messages {
        /// Mean time between two.
        mean_gap: Nanos,
        /// Size of each.
        size: Bytes,
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
    /// The device asks, the server answers, the device thinks, and asks again.
    Requests {
        /// Size of an answer.
        size: Bytes,
        /// Time from the end of an answer to the next request.
        think: Nanos,
    },
}

/// Single-path TCP connections outside the policies, with bulk data from the server to the device.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Competitor {
    /// For reports.
    pub name: String,
    /// How many.
    pub count: u32,
    /// Links from sender to receiver.
    pub down: Vec<LinkIndex>,
    /// Links of the ACKs.
    pub up: Vec<LinkIndex>,
    /// Congestion controller, by its registry name.
    pub cc: String,
    /// Start of the first one.
    pub start: Nanos,
    /// Each starts at a random instant of this period.
    pub spread: Nanos,
    /// Amount of data; none means bulk.
    pub size: Option<Bytes>,
}

/// Unresponsive packets across one link.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CrossTraffic {
    /// The link that carries them.
    pub link: LinkIndex,
    /// When they are sent.
    pub pattern: CrossPattern,
    /// Size on the wire of each packet.
    pub packet: Bytes,
    /// First packet not before.
    pub start: Nanos,
    /// No packet from here on.
    pub stop: Nanos,
}

/// When cross traffic sends.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CrossPattern {
    /// Evenly spaced packets.
    Constant {
        /// Rate on the wire.
        rate: BitRate,
    },
    /// Bursts at a constant rate; lengths and gaps are Pareto distributed.
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

/// What `compare` does unless told otherwise.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CompareDefaults {
    /// The policies, in the order of the table; ratios refer to the first.
    pub policies: Vec<Policy>,
    /// Number of seeds per policy.
    pub seeds: u32,
}
