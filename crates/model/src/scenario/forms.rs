//! Values that can be written in more than one way: rates, losses, queues, jitter, workloads, energy models.

use super::declare::named;
use super::error::{Problems, Span};
use super::parts::{
    CrossKind, EnergyKind, Medium, RawBulk, RawBurstLoss, RawEnergy, RawFile, RawJitter, RawMessages,
    RawRequests, RawSteps, RawStream, RawTrace, RawVarying, RelayWord, TopologyWord,
};
use super::read::{Node, Read, kind_of, quantity_text};
use super::{Direction, ProcessingDelay, Recovery};
use crate::energy::SunkWhile;
use crate::network::QueueLimit;
use crate::topology::{Routing, TrafficPattern};
use crate::units::{BitRate, Nanos, Probability};

/// A rate.
#[derive(Clone, Debug, schemars::JsonSchema)]
#[schemars(untagged)]
pub(super) enum Rate {
    Constant(BitRate),
    Steps(RawSteps),
    Varying(RawVarying),
    Trace(RawTrace),
}

impl Read for Rate {
    const EXAMPLE: &'static str = BitRate::EXAMPLE;

    fn read(node: &Node<'_>, out: &mut Problems) -> Option<Self> {
        match node.get_ref().as_table() {
            None => BitRate::read(node, out).map(Rate::Constant),
            Some(table) if table.contains_key("steps") => RawSteps::read(node, out).map(Rate::Steps),
            Some(table) if table.contains_key("trace") => RawTrace::read(node, out).map(Rate::Trace),
            Some(table) if table.contains_key("mean") => RawVarying::read(node, out).map(Rate::Varying),
            Some(_) => {
                out.note_with_help(
                    &node.span(),
                    "this table is not a rate",
                    "write \"10 Mbit/s\", { steps = [[\"0 s\", \"10 Mbit/s\"], …] }, \
                     { mean = \"4 Mbit/s\", deviation = \"20 %\" } or { trace = \"file.down\" }",
                );
                None
            }
        }
    }
}

/// A loss.
#[derive(Clone, Debug, schemars::JsonSchema)]
#[schemars(untagged)]
pub(super) enum Loss {
    Bernoulli(Probability),
    Bursts(RawBurstLoss),
}

impl Read for Loss {
    const EXAMPLE: &'static str = Probability::EXAMPLE;

    fn read(node: &Node<'_>, out: &mut Problems) -> Option<Self> {
        if node.get_ref().is_table() {
            return RawBurstLoss::read(node, out).map(Loss::Bursts);
        }
        Probability::read(node, out).map(Loss::Bernoulli)
    }
}

/// A variation of the delay.
#[derive(Clone, Debug, schemars::JsonSchema)]
#[schemars(untagged)]
pub(super) enum Jitter {
    Independent(Nanos),
    Correlated(RawJitter),
}

impl Read for Jitter {
    const EXAMPLE: &'static str = "\"2 ms\"";

    fn read(node: &Node<'_>, out: &mut Problems) -> Option<Self> {
        if node.get_ref().is_table() {
            return RawJitter::read(node, out).map(Jitter::Correlated);
        }
        Nanos::read(node, out).map(Jitter::Independent)
    }
}

/// A number of packets with its unit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packets(pub(super) u32);

impl Packets {
    /// From a text that ends with `packets`; `None` for any other text.
    fn parse(text: &str) -> Option<Self> {
        let number = text.trim().strip_suffix("packets").or_else(|| text.trim().strip_suffix("packet"))?;
        number.trim().replace('_', "").parse().ok().map(Packets)
    }
}

impl Read for Packets {
    const EXAMPLE: &'static str = "\"10 packets\"";

    fn read(node: &Node<'_>, out: &mut Problems) -> Option<Self> {
        let text = quantity_text(node, "10 packets", out)?;
        let packets = Packets::parse(&text);
        if packets.is_none() {
            let message = format!("`{text}` is not a number of packets");
            out.note_with_help(&node.span(), message, "write for example \"10 packets\"");
        }
        packets
    }
}

/// The length of a queue, in packets or bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Queue(pub(super) QueueLimit);

impl Read for Queue {
    const EXAMPLE: &'static str = "\"50 packets\"";

    fn read(node: &Node<'_>, out: &mut Problems) -> Option<Self> {
        let text = quantity_text(node, "50 packets", out)?;
        let limit = Packets::parse(&text)
            .map(|packets| QueueLimit::Packets(packets.0))
            .or_else(|| text.parse().ok().map(QueueLimit::Bytes));
        if limit.is_none() {
            let message = format!("`{text}` is not the length of a queue");
            out.note_with_help(&node.span(), message, "write for example \"50 packets\" or \"64 KiB\"");
        }
        limit.map(Queue)
    }
}

impl Read for ProcessingDelay {
    const EXAMPLE: &'static str = "\"1 packet\"";

    fn read(node: &Node<'_>, out: &mut Problems) -> Option<Self> {
        let text = quantity_text(node, "1 packet", out)?;
        let delay = Packets::parse(&text)
            .map(|packets| ProcessingDelay::Packets(packets.0))
            .or_else(|| text.parse().ok().map(ProcessingDelay::Time));
        if delay.is_none() {
            let message = format!("`{text}` is neither a time nor a number of packets");
            let help = "write for example \"1 packet\" or \"50 us\", or \"0 s\" for hosts that take no time";
            out.note_with_help(&node.span(), message, help);
        }
        delay
    }
}

/// What an application does.
#[derive(Clone, Debug, schemars::JsonSchema)]
#[schemars(untagged)]
pub(super) enum Workload {
    Bulk(RawBulk),
    File(RawFile),
    Messages(RawMessages),
    Stream(RawStream),
    Requests(RawRequests),
}

/// The kinds of workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WorkloadKind {
    Bulk,
    File,
    Messages,
    Stream,
    Requests,
}

impl Read for Workload {
    const EXAMPLE: &'static str = "{ kind = \"bulk\" }";

    fn read(node: &Node<'_>, out: &mut Problems) -> Option<Self> {
        let Some(kind) = node.get_ref().as_table().and_then(|table| table.get("kind")) else {
            let message = format!("a workload is a table with the key `kind`, not {}", kind_of(node));
            out.note_with_help(
                &node.span(),
                message,
                "write kind = \"bulk\", \"file\", \"messages\", \"stream\" or \"requests\"",
            );
            return None;
        };
        match WorkloadKind::read(kind, out)? {
            WorkloadKind::Bulk => RawBulk::read(node, out).map(Workload::Bulk),
            WorkloadKind::File => RawFile::read(node, out).map(Workload::File),
            WorkloadKind::Messages => RawMessages::read(node, out).map(Workload::Messages),
            WorkloadKind::Stream => RawStream::read(node, out).map(Workload::Stream),
            WorkloadKind::Requests => RawRequests::read(node, out).map(Workload::Requests),
        }
    }
}

impl Workload {
    /// Which way the data goes.
    pub(super) fn direction(&self) -> Direction {
        match self {
            Workload::Bulk(bulk) => bulk.direction,
            Workload::File(file) => file.direction,
            Workload::Messages(messages) => messages.direction,
            Workload::Stream(stream) => stream.direction,
            Workload::Requests(requests) => requests.direction,
        }
    }
}

/// An energy model: a profile by name, or a table.
#[derive(Clone, Debug, schemars::JsonSchema)]
#[schemars(untagged)]
pub(super) enum Energy {
    Profile(String),
    Table(Box<RawEnergy>),
}

impl Read for Energy {
    const EXAMPLE: &'static str = "\"wifi-huang2012\"";

    fn read(node: &Node<'_>, out: &mut Problems) -> Option<Self> {
        if node.get_ref().is_table() {
            return RawEnergy::read(node, out).map(|table| Energy::Table(Box::new(table)));
        }
        String::read(node, out).map(Energy::Profile)
    }

    fn mend(key: &str) -> String {
        format!(
            "write {key} = {{ per_mbps = \"137 mW\", active = \"132.9 mW\" }} or name a profile: {}",
            crate::energy::profile_names().collect::<Vec<_>>().join(", ")
        )
    }
}

/// The overrides of a variant: dotted keys, and where their values stand.
#[derive(Clone, Debug, Default)]
pub(super) struct VariantSet(pub(super) Vec<(String, Span)>);

impl Read for VariantSet {
    const EXAMPLE: &'static str = "{ \"workload.size\" = \"16 kB\" }";

    fn read(node: &Node<'_>, out: &mut Problems) -> Option<Self> {
        let Some(table) = node.get_ref().as_table() else {
            let message = format!("`set` is a table, not {}", kind_of(node));
            out.note_with_help(&node.span(), message, format!("write for example set = {}", Self::EXAMPLE));
            return None;
        };
        let mut set: Vec<_> =
            table.iter().map(|(key, value)| (key.get_ref().to_string(), value.span())).collect();
        // In the order in which they are written, since a later one may refine an earlier one.
        set.sort_by_key(|(_, span)| span.start);
        Some(VariantSet(set))
    }
}

named!(WorkloadKind, "a kind of workload", {
    "bulk" => WorkloadKind::Bulk,
    "file" => WorkloadKind::File,
    "messages" => WorkloadKind::Messages,
    "stream" => WorkloadKind::Stream,
    "requests" => WorkloadKind::Requests,
});
named!(Direction, "a direction", {
    "download" => Direction::Download,
    "upload" => Direction::Upload,
});
named!(Recovery, "a loss recovery", {
    "rack" => Recovery::Rack,
    "sack" => Recovery::Sack,
    "newreno" => Recovery::NewReno,
});
named!(SunkWhile, "a time when sunk power burns", {
    "always" => SunkWhile::Always,
    "open" => SunkWhile::Open,
});
named!(Medium, "a medium", {
    "wired" => Medium::Wired,
    "wifi" => Medium::Wifi,
});
named!(CrossKind, "a kind of cross traffic", {
    "constant" => CrossKind::Constant,
    "pareto" => CrossKind::Pareto,
});
named!(RelayWord, "a kind of relay", {
    "ip" => RelayWord::Ip,
    "tcp" => RelayWord::Tcp,
});
named!(EnergyKind, "an energy model", {
    "linear" => EnergyKind::Linear,
    "rrc" => EnergyKind::Rrc,
    "slotted" => EnergyKind::Slotted,
});
named!(TopologyWord, "a kind of topology", {
    "fat-tree" => TopologyWord::FatTree,
    "vl2" => TopologyWord::Vl2,
    "bcube" => TopologyWord::Bcube,
    "vpc" => TopologyWord::Vpc,
});
named!(Routing, "a routing", {
    "distinct" => Routing::Distinct,
    "ecmp" => Routing::Ecmp,
});
named!(TrafficPattern, "a traffic pattern", {
    "permutation" => TrafficPattern::Permutation,
    "random" => TrafficPattern::Random,
});
