//! The tables of a scenario as written, before names are resolved. The reader, the defaults and the
//! JSON schema all derive from them.

use super::declare::table;
use super::forms::{Delay, Energy, Rate, Signal, VariantSet, Workload};
use super::lengths::{Packets, Queue, ReceiveBuffer};
use super::link_keys::LinkKeys;
use super::parts::{CrossKind, Medium, RawHistory, RelayWord, TopologyWord};
use super::read::At;
use super::{Direction, ProcessingDelay, Recovery};
use crate::topology::{Routing, TrafficPattern};
use crate::units::{BitRate, Bytes, Nanos, Probability, Watts};

table! {
    /// A scenario: paths, workload, energy models, and the policies to compare.
    struct RawScenario in "a scenario" {
        /// One-line title.
        title: At<String>,
        /// Source: paper, section, table.
        source: Option<String>,
        /// Simulated time.
        duration: At<Nanos>,
        /// Rates, power and shares are measured from this instant to the end; files and messages
        /// are measured whole.
        warm_up: At<Nanos> = "0 s",
        /// Paths that subflows can take.
        path: Vec<At<RawPath>> = [],
        /// A data-centre network instead of paths.
        topology: Option<At<RawTopology>>,
        /// Links that several paths can share; paths name them in `via`.
        link: Vec<At<RawLink>> = [],
        /// Short-range channels between relays and the device; relays name them in `channel`.
        channel: Vec<At<RawChannel>> = [],
        /// Workload of every connection that has none of its own; absent: a bulk download.
        workload: Option<At<Workload>>,
        /// The receiving end of each connection.
        receiver: At<RawReceiver> = {},
        /// The sending end of each connection.
        sender: At<RawSender> = {},
        /// TCP and MPTCP parameters.
        transport: RawTransport = {},
        /// Power of the device besides its interfaces.
        device: At<RawDevice> = {},
        /// The connections under test; absent: one connection over all paths.
        connection: Vec<At<RawConnection>> = [],
        /// Single-path TCP connections that compete with the connections under test.
        competitor: Vec<At<RawCompetitor>> = [],
        /// Cross traffic, which does not react to congestion.
        cross: Vec<At<RawCross>> = [],
        /// Defaults of `compare`.
        compare: RawCompare = {},
        /// Named sets of overrides.
        variant: Vec<RawVariant> = [],
    }
}

table! {
    /// One path between the server and the device. Keys outside `up` describe the direction to the
    /// device.
    struct RawPath in "[[path]]" {
        /// Name of the path and of its interface; unique among paths and links.
        name: At<String>,
        /// Rate of the path's own link; may be absent if `via` names shared links.
        rate: Option<At<Rate>>,
        /// One-way propagation delay of the path's own link; may be absent if `via` names shared
        /// links.
        delay: Option<Delay>,
        ..keys: LinkKeys,
        /// The direction to the server. Absent keys are as towards the device, except that there is
        /// no random loss, reordering, aggregation or policing.
        up: RawUp = {},
        /// Shared links between the server and the path's own link, by name, starting at the
        /// server.
        via: Vec<At<String>> = [],
        /// Energy model of the interface.
        energy: At<Energy>,
        /// Signal at the device: the power of a profile by signal and a rate `by_signal` follow it.
        signal: Option<At<Signal>>,
        /// The subflow opens this long after the start of its connection.
        start: At<Nanos> = "0 s",
        /// Backup path: used only while no other subflow is usable (RFC 8684).
        backup: bool = false,
        /// Name of the network that the interface is attached to, as in the history file.
        network: Option<String>,
        /// Estimates of that network from earlier use; absent: none.
        history: Option<RawHistory>,
        /// Relay at the end of the path, with a shared channel as the last hop; absent: the path
        /// ends at the device.
        relay: Option<At<RawRelay>>,
    }
}

table! {
    /// A neighbour that forwards the device's traffic over a shared channel.
    struct RawRelay in "a relay" {
        /// Kind: `ip` forwards packets, `tcp` forwards the segments of a subflow that ends at the
        /// relay.
        kind: RelayWord,
        /// The channel between relay and device.
        channel: At<String>,
        /// Segments that a TCP relay can hold.
        buffer: Option<At<Packets>>,
    }
}

table! {
    /// A short-range channel that relays and the device share by CSMA/CA.
    struct RawChannel in "[[channel]]" {
        /// Name; unique among paths, links and channels.
        name: At<String>,
        /// Rate of a frame after its PHY header.
        rate: At<BitRate>,
        /// Preset of intervals, contention windows and headers.
        timing: At<String> = "802.11b",
        /// Frames that a station can hold, including the frame in transmission.
        queue: At<Packets> = "50 packets",
        /// Transmissions of a frame before the station gives it up.
        retry_limit: At<u32> = 7,
        /// Loss of a frame that does not collide.
        frame_error: At<Probability> = "0 %",
    }
}

table! {
    /// A link that several paths share.
    struct RawLink in "[[link]]" {
        /// Name; unique among paths and links.
        name: At<String>,
        /// Rate of the link.
        rate: At<Rate>,
        /// One-way propagation delay.
        delay: Delay,
        ..keys: LinkKeys,
        /// The direction to the server. Absent keys are as towards the devices, except that there
        /// is no random loss, reordering, aggregation or policing.
        up: RawUp = {},
    }
}

table! {
    /// A data-centre network instead of paths. Every host has one connection under test.
    struct RawTopology in "[topology]" {
        /// Kind of network.
        kind: At<TopologyWord>,
        /// Fat-tree: ports of each switch, an even number. BCube: the highest level.
        k: Option<At<u32>>,
        /// BCube: ports of each switch.
        n: Option<At<u32>>,
        /// VL2: ports of each aggregation switch, an even number.
        d_a: Option<At<u32>>,
        /// VL2: ports of each intermediate switch, an even number.
        d_i: Option<At<u32>>,
        /// VL2: hosts below each top-of-rack switch.
        hosts_per_tor: Option<At<u32>>,
        /// Virtual private cloud: number of hosts.
        hosts: Option<At<u32>>,
        /// Virtual private cloud: interfaces of each host, which is also the number of subnets.
        interfaces: Option<At<u32>>,
        /// Rate of links that end at a host.
        rate: At<BitRate>,
        /// Rate of links between switches; absent: `rate`.
        switch_rate: Option<At<BitRate>>,
        /// One-way propagation delay of each link.
        delay: Nanos = "100 us",
        /// DropTail queue of each link.
        queue: At<Queue> = "100 packets",
        /// An ECN-capable packet is marked if it finds a queue of at least this length.
        ecn_threshold: Option<At<Queue>>,
        /// Subflows of each connection, unless the policy sets their number.
        subflows: At<u32> = 8,
        /// How routes are assigned to subflows.
        routing: Routing = "distinct",
        /// Which hosts talk to each other.
        traffic: TrafficPattern = "permutation",
        /// Each connection starts at a random instant within this time.
        spread: At<Nanos> = "0 s",
        /// Energy model of each interface of a host; it must be linear.
        energy: At<Energy> = "free",
        /// Power of the switches.
        switch: RawSwitch = {},
    }
}

table! {
    /// Power of the switches. It grows with the load of their ports.
    struct RawSwitch in "[topology.switch]" {
        /// Power of one port at full load.
        port: Watts = "1 W",
        /// Share of that power that a port draws without traffic.
        idle: Probability = "10 %",
    }
}

table! {
    /// The direction from the device to the server. Absent keys are as in the other direction.
    struct RawUp in "`up`" {
        /// Rate of the link.
        rate: Option<At<Rate>>,
        /// One-way propagation delay.
        delay: Option<Delay>,
        ..keys: LinkKeys,
    }
}

table! {
    /// The receiving end of a connection.
    struct RawReceiver in "[receiver]" {
        /// Data-level receive buffer, shared by the subflows; `auto`: memory that grows, as in
        /// Linux.
        buffer: At<ReceiveBuffer> = "4 MiB",
        /// `auto`: memory at the start, the second value of `net.ipv4.tcp_rmem`; absent: 128 KiB.
        memory: Option<At<Bytes>>,
        /// `auto`: most memory, the third value of `net.ipv4.tcp_rmem`; absent: 6 MiB.
        max_memory: Option<At<Bytes>>,
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
        /// Headers of a data segment on the wire.
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
        /// Consecutive timeouts after which a subflow is dead.
        max_retries: At<u32> = 15,
        /// Delay of the ACK for a lone in-order segment; absent: every segment is acknowledged at
        /// once.
        delayed_ack: Option<At<Nanos>>,
        /// Loss recovery.
        recovery: Recovery = "rack",
        /// Use ECN: senders set ECT and receivers echo marks.
        ecn: bool = false,
        /// Duplicate ACKs that signal a loss.
        dup_threshold: At<u32> = 3,
        /// Packet engine: the longest time that a host takes to process a packet. Each packet takes
        /// a random time between 0 and this, and packets stay in order. A number of packets means
        /// the time that they take on the flow's slowest link. The fluid engine has no packets, and
        /// the kernel engine's hosts take their own time.
        processing_delay: At<ProcessingDelay> = "1 packet",
    }
}

table! {
    /// Power of the device besides the sum of its interfaces.
    struct RawDevice in "[device]" {
        /// Preset of a device; the other keys override it.
        preset: Option<At<String>>,
        /// Power while at least one interface is active.
        shared_base: Option<Watts>,
        /// Factor on the power of all interfaces while two or more are active.
        sharing_factor: Option<At<f64>>,
        /// Power of the host itself.
        host: Option<RawHost>,
    }
}

table! {
    /// Power of the host relative to one calibration point (002, figs 1, 3 and 4).
    struct RawHost in "host" {
        /// How the host is attached to its network.
        medium: Medium,
        /// Wired host: exponent of the power curve.
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
    /// A group of identical connections under test.
    struct RawConnection in "[[connection]]" {
        /// Name in reports.
        name: At<String>,
        /// Number of connections.
        count: At<u32> = 1,
        /// Paths of the subflows, the initial subflow first; empty: all paths.
        paths: At<Vec<At<String>>> = [],
        /// Workload of each connection; absent: as in [workload].
        workload: Option<Workload>,
        /// Start of the first connection.
        start: At<Nanos> = "0 s",
        /// Each connection starts at a random instant within this time after `start`.
        spread: At<Nanos> = "0 s",
        /// Data-level receive buffer; absent: as in [receiver].
        receive_buffer: Option<At<ReceiveBuffer>>,
        /// Data-level send buffer; absent: as in [sender].
        send_buffer: Option<At<Bytes>>,
    }
}

table! {
    /// Single-path TCP connections that compete with the connections under test.
    struct RawCompetitor in "[[competitor]]" {
        /// Name in reports.
        name: At<String>,
        /// Number of connections.
        count: At<u32> = 1,
        /// The path that they use.
        path: Option<At<String>>,
        /// The shared links that they use, instead of `path`, starting at the sender.
        via: At<Vec<At<String>>> = [],
        /// Congestion controller, by its registry name.
        cc: At<String> = "reno",
        /// Start of the first connection.
        start: At<Nanos> = "0 s",
        /// Each connection starts at a random instant within this time after `start`.
        spread: At<Nanos> = "0 s",
        /// Data that each connection sends; absent: unlimited.
        size: Option<At<Bytes>>,
    }
}

table! {
    /// Packets across one link that do not react to congestion.
    struct RawCross in "[[cross]]" {
        /// The path whose own link carries the packets.
        path: Option<At<String>>,
        /// The shared link that carries the packets, instead of `path`.
        link: Option<At<String>>,
        /// Towards the device or towards the server.
        direction: Direction = "download",
        /// Pattern of the packets: evenly spaced, at random instants, or in bursts.
        kind: At<CrossKind>,
        /// Rate on the wire; for bursts, the rate within a burst.
        rate: At<BitRate>,
        /// Pareto: mean length of a burst.
        mean_burst: Option<At<Nanos>>,
        /// Pareto: mean gap between bursts.
        mean_gap: Option<At<Nanos>>,
        /// Pareto: shape of the distributions of bursts and gaps, greater than 1; absent: 1.5.
        shape: Option<At<f64>>,
        /// Size on the wire of each packet.
        packet: At<Bytes> = "1500 B",
        /// No packet is sent before this instant.
        start: At<Nanos> = "0 s",
        /// No packet is sent from this instant on; absent: the end of the run.
        stop: Option<At<Nanos>>,
    }
}

table! {
    /// Defaults of `compare`.
    struct RawCompare in "[compare]" {
        /// Policies in the order of the table; ratios are relative to the first.
        policies: At<Vec<At<String>>> =
            ["uncoupled", "mptcp", "mptcp[cc=olia]", "mptcp[cc=balia]", "dts", "eemptcp", "joule"],
        /// Number of seeds per policy.
        seeds: At<u32> = 10,
        /// Where shares of competitors rest on phase, `compare` repeats the runs with random cross
        /// traffic of this part of the shared links' rates; 0 %: it does not.
        background: At<Probability> = "5 %",
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
