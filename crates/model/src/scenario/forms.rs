//! Values that can be written in several forms: rates, losses, managed queues, jitter, workloads,
//! energy models.

use toml::de::{DeTable, DeValue};

use super::declare::named;
use super::error::{Problems, Span};
use super::parts::{
    AqmKind, CrossKind, EnergyKind, Medium, RawBulk, RawBurstLoss, RawBySignal, RawCodel,
    RawDelaySteps, RawDelayTrace, RawDualPi2, RawEnergy, RawFile, RawFqCodel, RawJitter,
    RawMessages, RawPie, RawRequests, RawSignalSteps, RawSignalTrace, RawSteps, RawStream,
    RawTrace, RawVarying, RawWalk, RelayWord, TopologyWord,
};
use super::read::{Node, Read, kind_of};
use super::{Direction, Recovery};
use crate::energy::SunkWhile;
use crate::topology::{Routing, TrafficPattern};
use crate::units::{BitRate, Dbm, Nanos, Probability};

/// A rate.
#[derive(Clone, Debug, schemars::JsonSchema)]
#[schemars(untagged)]
pub(super) enum Rate {
    Constant(BitRate),
    Steps(RawSteps),
    Varying(RawVarying),
    Trace(RawTrace),
    BySignal(RawBySignal),
}

impl Read for Rate {
    const EXAMPLE: &'static str = BitRate::EXAMPLE;

    fn read(node: &Node<'_>, out: &mut Problems) -> Option<Self> {
        match node.get_ref().as_table() {
            None => BitRate::read(node, out).map(Rate::Constant),
            Some(table) if table.contains_key("steps") => {
                RawSteps::read(node, out).map(Rate::Steps)
            }
            Some(table) if table.contains_key("trace") => {
                RawTrace::read(node, out).map(Rate::Trace)
            }
            Some(table) if table.contains_key("by_signal") => {
                RawBySignal::read(node, out).map(Rate::BySignal)
            }
            Some(table) if table.contains_key("mean") => {
                RawVarying::read(node, out).map(Rate::Varying)
            }
            Some(_) => {
                out.note_with_help(
                    &node.span(),
                    "this table is not a rate",
                    "write \"10 Mbit/s\", { steps = [[\"0 s\", \"10 Mbit/s\"], …] }, \
                     { mean = \"4 Mbit/s\", deviation = \"20 %\" }, { trace = \"file.down\" } or \
                     { by_signal = \"5g-sa-2021\" }",
                );
                None
            }
        }
    }
}

/// A signal over time.
#[derive(Clone, Debug, schemars::JsonSchema)]
#[schemars(untagged)]
pub(super) enum Signal {
    Constant(Dbm),
    Steps(RawSignalSteps),
    Trace(RawSignalTrace),
    Walk(RawWalk),
}

impl Read for Signal {
    const EXAMPLE: &'static str = Dbm::EXAMPLE;

    fn read(node: &Node<'_>, out: &mut Problems) -> Option<Self> {
        match node.get_ref().as_table() {
            None => Dbm::read(node, out).map(Signal::Constant),
            Some(table) if table.contains_key("steps") => {
                RawSignalSteps::read(node, out).map(Signal::Steps)
            }
            Some(table) if table.contains_key("trace") => {
                RawSignalTrace::read(node, out).map(Signal::Trace)
            }
            Some(table) if table.contains_key("distance_m") => {
                RawWalk::read(node, out).map(Signal::Walk)
            }
            Some(_) => {
                out.note_with_help(
                    &node.span(),
                    "this table is not a signal",
                    "write \"-95 dBm\", { steps = [[\"0 s\", \"-80 dBm\"], …] }, { trace = \"walk.csv\" } or \
                     { distance_m = 5, speed_mps = 1.4, at_1m = \"-40 dBm\" }",
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

/// A propagation delay.
#[derive(Clone, Debug, schemars::JsonSchema)]
#[schemars(untagged)]
pub(super) enum Delay {
    Constant(Nanos),
    Steps(RawDelaySteps),
    Trace(RawDelayTrace),
}

impl Default for Delay {
    fn default() -> Self {
        Delay::Constant(Nanos::ZERO)
    }
}

impl Read for Delay {
    const EXAMPLE: &'static str = Nanos::EXAMPLE;

    fn read(node: &Node<'_>, out: &mut Problems) -> Option<Self> {
        match node.get_ref().as_table() {
            None => Nanos::read(node, out).map(Delay::Constant),
            Some(table) if table.contains_key("steps") => {
                RawDelaySteps::read(node, out).map(Delay::Steps)
            }
            Some(table) if table.contains_key("trace") => {
                RawDelayTrace::read(node, out).map(Delay::Trace)
            }
            Some(_) => {
                out.note_with_help(
                    &node.span(),
                    "this table is not a delay",
                    "write \"20 ms\", { steps = [[\"0 s\", \"20 ms\"], …] } or { trace = \"leo.csv\" }",
                );
                None
            }
        }
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

/// Queue management: one of the words of [`AqmKind`], or a table of that kind.
#[derive(Clone, Debug)]
pub(super) enum Aqm {
    DropTail,
    Codel(RawCodel),
    FqCodel(RawFqCodel),
    Pie(RawPie),
    DualPi2(RawDualPi2),
}

impl Read for Aqm {
    const EXAMPLE: &'static str = "\"fq-codel\"";

    fn read(node: &Node<'_>, out: &mut Problems) -> Option<Self> {
        let Some(table) = node.get_ref().as_table() else {
            // A word is the same as a table with no other keys.
            let kind = AqmKind::read(node, out)?;
            let empty = Node::new(node.span(), DeValue::Table(DeTable::new()));
            return Self::of_kind(kind, &empty, out);
        };
        let Some(kind) = table.get("kind") else {
            let help =
                "write kind = \"codel\", \"fq-codel\", \"pie\", \"dualpi2\" or \"drop-tail\"";
            out.note_with_help(&node.span(), "a managed queue needs the key `kind`", help);
            return None;
        };
        Self::of_kind(AqmKind::read(kind, out)?, node, out)
    }
}

impl Aqm {
    fn of_kind(kind: AqmKind, node: &Node<'_>, out: &mut Problems) -> Option<Self> {
        match kind {
            AqmKind::DropTail => {
                let parameters = node
                    .get_ref()
                    .as_table()
                    .is_some_and(|table| table.len() > 1);
                if parameters {
                    let help = "write aqm = \"drop-tail\", and its limit as `queue`";
                    out.note_with_help(
                        &node.span(),
                        "a DropTail queue has no parameters here",
                        help,
                    );
                }
                (!parameters).then_some(Aqm::DropTail)
            }
            AqmKind::Codel => RawCodel::read(node, out).map(Aqm::Codel),
            AqmKind::FqCodel => RawFqCodel::read(node, out).map(Aqm::FqCodel),
            AqmKind::Pie => RawPie::read(node, out).map(Aqm::Pie),
            AqmKind::DualPi2 => RawDualPi2::read(node, out).map(Aqm::DualPi2),
        }
    }
}

/// Workload of an application.
#[derive(Clone, Debug, schemars::JsonSchema)]
#[schemars(untagged)]
pub(super) enum Workload {
    Bulk(RawBulk),
    File(RawFile),
    Messages(RawMessages),
    Stream(RawStream),
    Requests(RawRequests),
}

/// Kinds of workload.
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
        let Some(kind) = node
            .get_ref()
            .as_table()
            .and_then(|table| table.get("kind"))
        else {
            let message = match node.get_ref().is_table() {
                true => "the workload has no `kind`".into(),
                false => format!(
                    "a workload is a table with the key `kind`, not {}",
                    kind_of(node)
                ),
            };
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
    /// Direction of the data.
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

    fn fix(key: &str) -> String {
        format!(
            "write {key} = {{ per_mbps = \"137 mW\", active = \"132.9 mW\" }} or name a profile: {}",
            crate::energy::profile_names()
                .collect::<Vec<_>>()
                .join(", ")
        )
    }
}

/// Overrides of a variant: dotted keys, and the positions of their values.
#[derive(Clone, Debug, Default)]
pub(super) struct VariantSet(pub(super) Vec<(String, Span)>);

impl Read for VariantSet {
    const EXAMPLE: &'static str = "{ \"workload.size\" = \"16 kB\" }";

    fn read(node: &Node<'_>, out: &mut Problems) -> Option<Self> {
        let Some(table) = node.get_ref().as_table() else {
            let message = format!("`set` is a table, not {}", kind_of(node));
            out.note_with_help(
                &node.span(),
                message,
                format!("write for example set = {}", Self::EXAMPLE),
            );
            return None;
        };
        let mut set: Vec<_> = table
            .iter()
            .map(|(key, value)| (key.get_ref().to_string(), value.span()))
            .collect();
        // In the order of the text, because a later override may refine an earlier one.
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
    "poisson" => CrossKind::Poisson,
    "pareto" => CrossKind::Pareto,
});
named!(AqmKind, "a way to manage a queue", {
    "drop-tail" => AqmKind::DropTail,
    "codel" => AqmKind::Codel,
    "fq-codel" => AqmKind::FqCodel,
    "pie" => AqmKind::Pie,
    "dualpi2" => AqmKind::DualPi2,
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
