//! The tables of a scenario as they are written, before anything is resolved: the single source of the reader, of the
//! defaults and of the JSON schema.

use super::forms::{Energy, Jitter, Loss, Packets, Queue, Rate, VariantSet, Workload};
use super::read::{At, table};
use super::{Direction, Recovery};
use crate::energy::SunkWhile;
use crate::topology::{Routing, TrafficPattern};
use crate::units::{BitRate, Bytes, JoulesPerBit, Nanos, Probability, Watts};

table! {
    /// A scenario for Joulepath: what is compared, over which paths, doing what.
    struct RawScenario in "a scenario" {
        /// One line for humans.
        title: At<String>,
        /// Where it comes from: paper, section, table.
        source: Option<String>,
        /// Simulated time.
        duration: At<Nanos>,
        /// Rates, power and shares are measured from here to the end; files and messages are measured whole.
        warm_up: At<Nanos> = "0 s",
        /// What a subflow can travel on.
        path: Vec<At<RawPath>> = [],
        /// A data-centre network in place of paths.
        topology: Option<At<RawTopology>>,
        /// Links that several paths share, by name.
        link: Vec<At<RawLink>> = [],
        /// Short-range channels that relays share with the device, by name.
        channel: Vec<At<RawChannel>> = [],
        /// What the application of every connection does that does not say otherwise.
        workload: Option<Workload>,
        /// The receiving end.
        receiver: RawReceiver = {},
        /// The sending end.
        sender: RawSender = {},
        /// TCP and MPTCP parameters.
        transport: RawTransport = {},
        /// What the device burns besides its interfaces.
        device: At<RawDevice> = {},
        /// The connections under test; none means one connection over all paths.
        connection: Vec<At<RawConnection>> = [],
        /// Single-path TCP connections that compete with them.
        competitor: Vec<At<RawCompetitor>> = [],
        /// Traffic that does not react.
        cross: Vec<At<RawCross>> = [],
        /// What `compare` does unless told otherwise.
        compare: RawCompare = {},
        /// Named sets of overrides.
        variant: Vec<RawVariant> = [],
    }
}

table! {
    /// One path between the server and the device. Keys without direction describe the way to the device.
    struct RawPath in "[[path]]" {
        /// Unique among paths and links; names the interface, too.
        name: At<String>,
        /// Rate of the path's own link; may be absent where `via` gives the path other links.
        rate: Option<At<Rate>>,
        /// One-way propagation delay of the path's own link; may be absent where `via` gives the path other links.
        delay: Option<Nanos>,
        /// Variation of the delay.
        jitter: Option<Jitter>,
        /// Capacity of the DropTail queue.
        queue: Option<At<Queue>>,
        /// Mark ECN-capable packets when the queue found on arrival is at least this long.
        ecn_threshold: Option<At<Queue>>,
        /// Random loss towards the device.
        loss: Option<At<Loss>>,
        /// Periods in which every packet is lost.
        outages: At<Vec<At<(Nanos, Nanos)>>> = [],
        /// The way to the server; what is absent is as towards the device, except that nothing is lost at random.
        up: RawUp = {},
        /// Named links between the server and the path's own link, the one next to the server first.
        via: Vec<At<String>> = [],
        /// Energy model of the interface.
        energy: At<Energy>,
        /// The subflow is opened this long after its connection starts.
        start: At<Nanos> = "0 s",
        /// Used only while no other subflow is usable (RFC 8684).
        backup: bool = false,
        /// The path ends at a relay, and a shared channel is its last hop; absent: at the device.
        relay: Option<At<RawRelay>>,
    }
}

table! {
    /// A neighbour that receives for the device and passes on over a shared channel.
    struct RawRelay in "a relay" {
        /// What it passes on.
        kind: RelayWord,
        /// The channel between relay and device.
        channel: At<String>,
        /// Segments that a TCP relay holds.
        buffer: Option<At<Packets>>,
    }
}

/// What a relay passes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RelayWord {
    /// Packets.
    Ip,
    /// What arrives on a subflow that ends there.
    Tcp,
}

table! {
    /// A short-range channel that relays and the device share by CSMA/CA.
    struct RawChannel in "[[channel]]" {
        /// Unique among paths, links and channels.
        name: At<String>,
        /// Rate at which frames are sent behind their PHY header.
        rate: At<BitRate>,
        /// Intervals, contention windows and headers: a preset by name.
        timing: At<String> = "802.11b",
        /// Frames that a station holds, the one it sends included.
        queue: At<Packets> = "50 packets",
        /// Transmissions of a frame before it is given up.
        retry_limit: At<u32> = 7,
        /// Loss of a frame that did not collide.
        frame_error: At<Probability> = "0 %",
    }
}

table! {
    /// A link that several paths share.
    struct RawLink in "[[link]]" {
        /// Unique among paths and links.
        name: At<String>,
        /// Rate.
        rate: At<Rate>,
        /// One-way propagation delay.
        delay: Nanos,
        /// Variation of the delay.
        jitter: Option<Jitter>,
        /// Capacity of the DropTail queue.
        queue: Option<At<Queue>>,
        /// Mark ECN-capable packets when the queue found on arrival is at least this long.
        ecn_threshold: Option<At<Queue>>,
        /// Random loss towards the devices.
        loss: Option<At<Loss>>,
        /// Periods in which every packet is lost.
        outages: At<Vec<At<(Nanos, Nanos)>>> = [],
        /// The way to the server; what is absent is as towards the devices, except that nothing is lost at random.
        up: RawUp = {},
    }
}

table! {
    /// A data-centre network in place of paths. Every host has one connection under test.
    struct RawTopology in "[topology]" {
        /// Which network.
        kind: At<TopologyWord>,
        /// Fat-tree: ports of a switch, even. BCube: the highest level.
        k: Option<At<u32>>,
        /// BCube: ports of a switch.
        n: Option<At<u32>>,
        /// VL2: ports of an aggregation switch, even.
        d_a: Option<At<u32>>,
        /// VL2: ports of an intermediate switch, even.
        d_i: Option<At<u32>>,
        /// VL2: hosts behind each top-of-rack switch.
        hosts_per_tor: Option<At<u32>>,
        /// Virtual private cloud: hosts.
        hosts: Option<At<u32>>,
        /// Virtual private cloud: interfaces of each host, and subnets.
        interfaces: Option<At<u32>>,
        /// Rate of links that end at a host.
        rate: At<BitRate>,
        /// Rate of links between switches; absent: as `rate`.
        switch_rate: Option<At<BitRate>>,
        /// One-way propagation delay of each link.
        delay: Nanos = "100 us",
        /// DropTail queue of each link.
        queue: At<Queue> = "100 packets",
        /// Mark ECN-capable packets when the queue found on arrival is at least this long.
        ecn_threshold: Option<At<Queue>>,
        /// Subflows of each connection, unless the policy says otherwise.
        subflows: At<u32> = 8,
        /// How subflows get their routes.
        routing: Routing = "distinct",
        /// Who talks to whom.
        traffic: TrafficPattern = "permutation",
        /// Each connection starts at a random instant of this period.
        spread: At<Nanos> = "0 s",
        /// Energy model of each interface of a host; linear.
        energy: At<Energy> = "free",
        /// What the switches burn.
        switch: RawSwitch = {},
    }
}

/// The kinds of topology.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TopologyWord {
    FatTree,
    Vl2,
    Bcube,
    Vpc,
}

table! {
    /// Power of the switches, which grows with what their ports carry.
    struct RawSwitch in "[topology.switch]" {
        /// Power of one port at full load.
        port: Watts = "1 W",
        /// Part of it that burns without traffic.
        idle: Probability = "10 %",
    }
}

table! {
    /// The way from the device to the server, where it differs.
    struct RawUp in "`up`" {
        /// Rate.
        rate: Option<At<Rate>>,
        /// One-way propagation delay.
        delay: Option<Nanos>,
        /// Variation of the delay.
        jitter: Option<Jitter>,
        /// Capacity of the DropTail queue.
        queue: Option<At<Queue>>,
        /// Mark ECN-capable packets when the queue found on arrival is at least this long.
        ecn_threshold: Option<At<Queue>>,
        /// Random loss.
        loss: Option<At<Loss>>,
        /// Periods in which every packet is lost.
        outages: Option<At<Vec<At<(Nanos, Nanos)>>>>,
    }
}

table! {
    /// The receiving end of a connection.
    struct RawReceiver in "[receiver]" {
        /// Data-level receive buffer, shared by the subflows.
        buffer: At<Bytes> = "4 MiB",
    }
}

table! {
    /// The sending end of a connection.
    struct RawSender in "[sender]" {
        /// Data-level send buffer.
        buffer: At<Bytes> = "4 MiB",
    }
}

table! {
    /// Parameters of TCP and MPTCP.
    struct RawTransport in "[transport]" {
        /// Payload of a full segment.
        mss: At<Bytes> = "1460 B",
        /// Headers on the wire of a data segment.
        header: At<Bytes> = "40 B",
        /// Size on the wire of a segment without payload.
        ack_size: At<Bytes> = "40 B",
        /// Initial window (RFC 6928).
        initial_window: At<Packets> = "10 packets",
        /// Lower bound of the retransmission timeout.
        rto_min: At<Nanos> = "200 ms",
        /// Retransmission timeout before the first RTT sample (RFC 6298).
        rto_initial: At<Nanos> = "1 s",
        /// Upper bound of the retransmission timeout after backoff.
        rto_max: At<Nanos> = "120 s",
        /// A subflow is dead after this many timeouts in a row.
        max_retries: At<u32> = 15,
        /// Delay of the ACK for a lone in-order segment; absent: every segment is acknowledged at once.
        delayed_ack: Option<At<Nanos>>,
        /// Loss recovery.
        recovery: Recovery = "rack",
        /// Whether senders set ECT and receivers echo marks.
        ecn: bool = false,
        /// Duplicate ACKs that signal a loss.
        dup_threshold: At<u32> = 3,
    }
}

table! {
    /// What the device burns besides the sum of its interfaces.
    struct RawDevice in "[device]" {
        /// A named device; the other keys override it.
        preset: Option<At<String>>,
        /// Burns while at least one interface is active.
        shared_base: Option<Watts>,
        /// Interfaces' power is multiplied by this while two or more are active.
        sharing_factor: Option<At<f64>>,
        /// Power of the host itself.
        host: Option<RawHost>,
    }
}

table! {
    /// Power of the host relative to one calibration point (002, figs 1, 3 and 4).
    struct RawHost in "host" {
        /// How its network is attached.
        medium: Medium,
        /// Exponent of the curve of a wired host.
        exponent: Option<At<f64>>,
        /// Relative growth of the power with the mean RTT.
        delay_weight: At<f64> = 0.01,
        /// Relative growth of the power with each further subflow.
        subflow_weight: At<f64> = 0.03,
        /// Power at the calibration point.
        unit: Watts,
    }
}

/// How a host's network is attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Medium {
    /// By cable.
    Wired,
    /// By radio.
    Wifi,
}

table! {
    /// Equal connections under test.
    struct RawConnection in "[[connection]]" {
        /// For reports.
        name: At<String>,
        /// How many.
        count: At<u32> = 1,
        /// The paths over which each opens a subflow, the first one first; none means all.
        paths: At<Vec<At<String>>> = [],
        /// What the application does; absent: as in [workload].
        workload: Option<Workload>,
        /// Start of the first connection.
        start: At<Nanos> = "0 s",
        /// Each connection starts at a random instant of this period.
        spread: At<Nanos> = "0 s",
        /// Data-level receive buffer; absent: as in [receiver].
        receive_buffer: Option<At<Bytes>>,
        /// Data-level send buffer; absent: as in [sender].
        send_buffer: Option<At<Bytes>>,
    }
}

table! {
    /// Single-path TCP connections outside the policies.
    struct RawCompetitor in "[[competitor]]" {
        /// For reports.
        name: At<String>,
        /// How many.
        count: At<u32> = 1,
        /// The path they travel on.
        path: Option<At<String>>,
        /// Or the named links they travel on, the one next to the sender first.
        via: At<Vec<At<String>>> = [],
        /// Congestion controller, by its registry name.
        cc: At<String> = "reno",
        /// Start of the first one.
        start: At<Nanos> = "0 s",
        /// Each starts at a random instant of this period.
        spread: At<Nanos> = "0 s",
        /// Amount of data of each; absent: without end.
        size: Option<At<Bytes>>,
    }
}

table! {
    /// Packets across one link that react to nothing.
    struct RawCross in "[[cross]]" {
        /// The path whose own link carries them.
        path: Option<At<String>>,
        /// Or the named link that carries them.
        link: Option<At<String>>,
        /// Towards the device or towards the server.
        direction: Direction = "download",
        /// When they are sent.
        kind: At<CrossKind>,
        /// Rate on the wire; of bursts, within a burst.
        rate: At<BitRate>,
        /// Mean length of a burst.
        mean_burst: Option<At<Nanos>>,
        /// Mean gap between bursts.
        mean_gap: Option<At<Nanos>>,
        /// Shape of the distributions of bursts and gaps, greater than 1; absent: 1.5.
        shape: Option<At<f64>>,
        /// Size on the wire of each packet.
        packet: At<Bytes> = "1500 B",
        /// First packet not before.
        start: At<Nanos> = "0 s",
        /// No packet from here on; absent: until the end.
        stop: Option<At<Nanos>>,
    }
}

/// When cross traffic sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CrossKind {
    /// Evenly spaced packets.
    Constant,
    /// Bursts.
    Pareto,
}

table! {
    /// What `compare` does unless told otherwise.
    struct RawCompare in "[compare]" {
        /// Policies in the order of the table; ratios refer to the first.
        policies: At<Vec<At<String>>> =
            ["uncoupled", "mptcp", "mptcp[cc=olia]", "mptcp[cc=balia]", "dts", "eemptcp"],
        /// Number of seeds per policy.
        seeds: At<u32> = 10,
    }
}

table! {
    /// A named set of overrides.
    struct RawVariant in "[[variant]]" {
        /// Unique among variants.
        name: At<String>,
        /// Dotted keys, in quotes, and their values.
        set: VariantSet,
    }
}

table! {
    /// Bulk: always more data.
    struct RawBulk in "a bulk workload" of kind "bulk" {
        /// Which way the data goes.
        direction: Direction = "download",
    }
}

table! {
    /// One file, then close.
    struct RawFile in "a file workload" of kind "file" {
        /// Which way the data goes.
        direction: Direction = "download",
        /// Size of the file.
        size: At<Bytes>,
    }
}

table! {
    /// Messages at the instants of a Poisson process.
    struct RawMessages in "a messages workload" of kind "messages" {
        /// Which way the data goes.
        direction: Direction = "download",
        /// Mean time between two messages.
        mean_gap: At<Nanos>,
        /// Size of each message.
        size: At<Bytes>,
    }
}

table! {
    /// Constant bit rate while on, silent while off.
    struct RawStream in "a stream workload" of kind "stream" {
        /// Which way the data goes.
        direction: Direction = "download",
        /// Rate while on.
        rate: At<BitRate>,
        /// Time between two writes.
        interval: At<Nanos> = "100 ms",
        /// Length of an on-period; absent: always on.
        on: Option<At<Nanos>>,
        /// Length of an off-period.
        off: Nanos = "0 s",
    }
}

table! {
    /// The device asks, the server answers, the device thinks, and asks again.
    struct RawRequests in "a requests workload" of kind "requests" {
        /// Which way the answers go.
        direction: Direction = "download",
        /// Size of an answer.
        size: At<Bytes>,
        /// Time from the end of an answer to the next request.
        think: Nanos = "0 s",
    }
}

table! {
    /// Piecewise constant rate.
    struct RawSteps in "a rate with steps" {
        /// Pairs of an instant and the rate from then on; the first instant is "0 s".
        steps: At<Vec<At<(Nanos, BitRate)>>>,
    }
}

table! {
    /// Log-normally varying rate.
    struct RawVarying in "a varying rate" {
        /// Mean rate.
        mean: At<BitRate>,
        /// Standard deviation relative to the mean.
        deviation: Probability,
        /// Time after which the autocorrelation has fallen to 1/e.
        correlation: Nanos = "1 s",
        /// Time between two values.
        interval: At<Nanos> = "100 ms",
    }
}

table! {
    /// Rate from a recorded trace.
    struct RawTrace in "a rate from a trace" {
        /// File of packet-delivery opportunities in Mahimahi's format, relative to the scenario.
        trace: At<String>,
    }
}

table! {
    /// Loss in bursts: a chain of two states that advances once per packet.
    struct RawBurstLoss in "a loss in bursts" {
        /// Good to bad, per packet.
        enter_bad: Probability,
        /// Bad to good, per packet.
        leave_bad: Probability,
        /// Loss in the good state.
        loss_good: Probability = "0 %",
        /// Loss in the bad state.
        loss_bad: Probability,
    }
}

table! {
    /// Correlated variation of the delay.
    struct RawJitter in "jitter" {
        /// Standard deviation of the delay.
        deviation: Nanos,
        /// Autocorrelation time; zero: each packet is independent.
        correlation: Nanos = "0 s",
    }
}

table! {
    /// A constant power for a fixed time.
    struct RawStage in "a stage" {
        /// Mean power.
        power: Watts,
        /// How long.
        duration: Nanos,
    }
}

table! {
    /// An interface's energy model: a profile, changed or not, or all its numbers.
    struct RawEnergy in "an energy model" {
        /// The profile that the other keys change.
        profile: Option<At<String>>,
        /// Which model; absent: the profile's, or linear.
        model: Option<At<EnergyKind>>,
        /// Energy of received traffic.
        per_mbps: Option<At<JoulesPerBit>>,
        /// Energy of sent traffic; absent in a linear model: none.
        up_per_mbps: Option<At<JoulesPerBit>>,
        /// Power besides: θ of a linear model, β of an RRC machine.
        active: Option<At<Watts>>,
        /// Linear: when `active` burns; absent: always.
        sunk_while: Option<At<SunkWhile>>,
        /// RRC: time without a packet until the tail begins.
        inactivity: Option<At<Nanos>>,
        /// RRC: from idle to active.
        promotion: Option<At<RawStage>>,
        /// RRC: the tail, stage by stage.
        tail: Option<At<Vec<RawStage>>>,
        /// RRC: mean power when idle. Slotted: power in slots without traffic.
        idle: Option<At<Watts>>,
        /// Slotted: length of a slot.
        slot: Option<At<Nanos>>,
    }
}

/// Which energy model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EnergyKind {
    /// P = b x + θ.
    Linear,
    /// Radio resource control machine.
    Rrc,
    /// Cost per slot (003).
    Slotted,
}
