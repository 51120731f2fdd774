//! The tables of a scenario as they are written, before anything is resolved: the single source of the
//! reader, of the defaults and of the JSON schema.

use super::declare::table;
use super::forms::{Aqm, Energy, Jitter, Loss, Rate, VariantSet, Workload};
use super::lengths::{Packets, Queue};
use super::parts::{
    CrossKind, Medium, RawAggregate, RawHistory, RawPolicer, RawReorder, RelayWord, TopologyWord,
};
use super::read::At;
use super::{Direction, ProcessingDelay, Recovery};
use crate::topology::{Routing, TrafficPattern};
use crate::units::{BitRate, Bytes, Nanos, Probability, Watts};

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
        /// One-way propagation delay of the path's own link; may be absent where `via` gives the path other
        /// links.
        delay: Option<Nanos>,
        /// Variation of the delay.
        jitter: Option<Jitter>,
        /// Capacity of the queue; absent: 100 packets, or the limit that is usual for its `aqm`.
        queue: Option<At<Queue>>,
        /// How the queue is managed; absent: DropTail.
        aqm: Option<At<Aqm>>,
        /// Mark ECN-capable packets when the queue found on arrival is at least this long.
        ecn_threshold: Option<At<Queue>>,
        /// Random loss towards the device.
        loss: Option<At<Loss>>,
        /// Periods in which every packet is lost.
        outages: At<Vec<At<(Nanos, Nanos)>>> = [],
        /// Drops what exceeds a rate and a burst before it comes to the queue; only towards the device.
        policer: Option<RawPolicer>,
        /// Packets that others overtake; only towards the device.
        reorder: Option<RawReorder>,
        /// Packets that come in bursts; only towards the device.
        aggregate: Option<RawAggregate>,
        /// The way to the server; what is absent is as towards the device, except that nothing is lost,
        /// reordered, aggregated or policed.
        up: RawUp = {},
        /// Named links between the server and the path's own link, the one next to the server first.
        via: Vec<At<String>> = [],
        /// Energy model of the interface.
        energy: At<Energy>,
        /// The subflow is opened this long after its connection starts.
        start: At<Nanos> = "0 s",
        /// Used only while no other subflow is usable (RFC 8684).
        backup: bool = false,
        /// Which network the interface is attached to, as a history calls it.
        network: Option<String>,
        /// What the device knows of that network from earlier; absent: nothing.
        history: Option<RawHistory>,
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

table! {
    /// A short-range channel that relays and the device share by CSMA/CA.
    struct RawChannel in "[[channel]]" {
        /// Unique among paths, links and channels.
        name: At<String>,
        /// Rate at which frames are sent after their PHY header.
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
        /// Capacity of the queue; absent: 100 packets, or the limit that is usual for its `aqm`.
        queue: Option<At<Queue>>,
        /// How the queue is managed; absent: DropTail.
        aqm: Option<At<Aqm>>,
        /// Mark ECN-capable packets when the queue found on arrival is at least this long.
        ecn_threshold: Option<At<Queue>>,
        /// Random loss towards the devices.
        loss: Option<At<Loss>>,
        /// Periods in which every packet is lost.
        outages: At<Vec<At<(Nanos, Nanos)>>> = [],
        /// Drops what exceeds a rate and a burst before it comes to the queue; only towards the devices.
        policer: Option<RawPolicer>,
        /// Packets that others overtake; only towards the devices.
        reorder: Option<RawReorder>,
        /// Packets that come in bursts; only towards the devices.
        aggregate: Option<RawAggregate>,
        /// The way to the server; what is absent is as towards the devices, except that nothing is lost,
        /// reordered, aggregated or policed.
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
        /// VL2: hosts below each top-of-rack switch.
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
        /// Capacity of the queue; absent: 100 packets, or the limit that is usual for its `aqm`.
        queue: Option<At<Queue>>,
        /// How the queue is managed; absent: DropTail.
        aqm: Option<At<Aqm>>,
        /// Mark ECN-capable packets when the queue found on arrival is at least this long.
        ecn_threshold: Option<At<Queue>>,
        /// Random loss.
        loss: Option<At<Loss>>,
        /// Periods in which every packet is lost.
        outages: Option<At<Vec<At<(Nanos, Nanos)>>>>,
        /// Drops what exceeds a rate and a burst before it comes to the queue.
        policer: Option<RawPolicer>,
        /// Packets that others overtake.
        reorder: Option<RawReorder>,
        /// Packets that come in bursts.
        aggregate: Option<RawAggregate>,
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
        /// Packet engine: the most that a host takes for a packet that has reached it, drawn anew for each
        /// from [0, this], in order; a time, or the time of so many packets on the flow's slowest link.
        /// Hosts of the kernel engine are real and take their own time; the fluid engine has no packets.
        processing_delay: At<ProcessingDelay> = "1 packet",
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

table! {
    /// What `compare` does unless told otherwise.
    struct RawCompare in "[compare]" {
        /// Policies in the order of the table; ratios refer to the first.
        policies: At<Vec<At<String>>> =
            ["uncoupled", "mptcp", "mptcp[cc=olia]", "mptcp[cc=balia]", "dts", "eemptcp", "joule"],
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
