//! A data-centre network: checks its size, and turns its interfaces into paths.

use super::super::beside::Beside;
use super::super::error::{Problems, Span};
use super::super::parts::TopologyWord;
use super::super::raw::{RawScenario, RawTopology};
use super::super::read::{At, Named};
use super::super::{MAX_CONNECTIONS, MAX_SUBFLOWS, PathSpec, Transport};
use super::check::{moving, never_reached, usable_queue};
use super::energy;
use super::network::Network;
use crate::energy::InterfaceModel;
use crate::history::PathHistory;
use crate::network::{LinkSpec, RateSpec};
use crate::topology::{SwitchPower, TopologyKind, TopologySpec};
use crate::units::{BitRate, Nanos};

/// Fewest hosts: a sender and a receiver.
const FEWEST_HOSTS: u32 = 2;

/// The topology, and the interfaces of a host as paths.
pub(super) fn network(
    raw: &RawScenario,
    written: &At<RawTopology>,
    transport: Option<&Transport>,
    beside: Beside<'_>,
    out: &mut Problems,
) -> Option<Network> {
    let before = out.len();
    refuse_others(raw, out);
    let topology = &written.value;
    let kind = kind(topology, &written.span, out);
    let rate = moving(topology.rate.value, &topology.rate.span, out);
    let switch_rate = switch_rate(topology, out);
    let queue = usable_queue(&topology.queue, transport, out);
    if let (Some(threshold), Some(queue)) = (&topology.ecn_threshold, queue) {
        never_reached(threshold, queue, out);
    }
    let subflows = &topology.subflows;
    if subflows.value == 0 || subflows.value > MAX_SUBFLOWS as u32 {
        let message = format!(
            "a connection has 1 to {MAX_SUBFLOWS} subflows, not {}",
            subflows.value
        );
        out.note_with_help(&subflows.span, message, "write for example subflows = 8");
    }
    let model = energy::interface(&topology.energy, beside, out);
    if model
        .as_ref()
        .is_some_and(|energy| !matches!(energy.model, InterfaceModel::Linear { .. }))
    {
        let help = "write for example energy = { per_mbps = \"5 mW\", up_per_mbps = \"5 mW\", \
            active = \"1 W\" }";
        out.note_with_help(
            &topology.energy.span,
            "an interface of a topology has a linear energy model",
            help,
        );
    }
    let (kind, rate, switch_rate, queue, model) = (kind?, rate?, switch_rate?, queue?, model?);
    if out.len() > before {
        return None;
    }
    let spec = TopologySpec {
        kind,
        rate,
        switch_rate,
        delay: topology.delay,
        queue,
        ecn_threshold: topology
            .ecn_threshold
            .as_ref()
            .map(|threshold| threshold.value.0),
        subflows: subflows.value,
        routing: topology.routing,
        traffic: topology.traffic,
        switch: SwitchPower {
            port: topology.switch.port,
            idle: topology.switch.idle,
        },
    };
    let mut network = Network {
        links: Vec::new(),
        paths: Vec::new(),
        channels: Vec::new(),
        shared: Vec::new(),
        topology: None,
    };
    for name in names(kind.interfaces()) {
        let link = |direction: &str| host_link(format!("{name}.{direction}"), &spec);
        let radio = network.add((link("down"), link("up")));
        let (down, up, start) = (vec![radio.0], vec![radio.1], Nanos::ZERO);
        network.paths.push(PathSpec {
            network: None,
            signal: None,
            history: PathHistory::default(),
            name,
            down,
            up,
            radio,
            energy: model.clone(),
            start,
            backup: false,
            relay: None,
        });
    }
    network.topology = Some(spec);
    Some(network)
}

/// `nic`, or `nic0`, `nic1`, … if a host has several interfaces.
fn names(interfaces: u32) -> Vec<String> {
    match interfaces {
        1 => vec!["nic".into()],
        _ => (0..interfaces).map(|index| format!("nic{index}")).collect(),
    }
}

fn host_link(name: String, spec: &TopologySpec) -> LinkSpec {
    let rate = RateSpec::Constant(spec.rate);
    LinkSpec {
        ecn_threshold: spec.ecn_threshold,
        ..LinkSpec::new(name, rate, spec.delay, spec.queue)
    }
}

/// Notes sections that a topology excludes.
fn refuse_others(raw: &RawScenario, out: &mut Problems) {
    let sections: [(&str, Option<&Span>); 6] = [
        ("[[path]]", raw.path.first().map(|at| &at.span)),
        ("[[link]]", raw.link.first().map(|at| &at.span)),
        ("[[channel]]", raw.channel.first().map(|at| &at.span)),
        ("[[connection]]", raw.connection.first().map(|at| &at.span)),
        ("[[competitor]]", raw.competitor.first().map(|at| &at.span)),
        ("[[cross]]", raw.cross.first().map(|at| &at.span)),
    ];
    for (section, span) in sections {
        if let Some(span) = span {
            let message = format!("{section} and [topology] exclude each other");
            let help = "a topology has its own links, and one connection for each host; leave \
                one of the two out";
            out.note_with_help(span, message, help);
        }
    }
}

fn switch_rate(raw: &RawTopology, out: &mut Problems) -> Option<BitRate> {
    let Some(written) = &raw.switch_rate else {
        return Some(raw.rate.value);
    };
    if matches!(raw.kind.value, TopologyWord::Bcube | TopologyWord::Vpc) {
        let message = format!("`{}` has no links between switches", raw.kind.value.word());
        out.note_with_help(&written.span, message, "leave `switch_rate` out");
        return None;
    }
    moving(written.value, &written.span, out)
}

/// A key of a size, its value, and the kinds of network that it applies to.
type Size<'r> = (&'static str, &'r Option<At<u32>>, &'static [TopologyWord]);

/// Kind and size. Notes sizes that are missing, misplaced or impossible.
fn kind(raw: &RawTopology, span: &Span, out: &mut Problems) -> Option<TopologyKind> {
    let word = raw.kind.value;
    let keys: [Size<'_>; 7] = [
        ("k", &raw.k, &[TopologyWord::FatTree, TopologyWord::Bcube]),
        ("n", &raw.n, &[TopologyWord::Bcube]),
        ("d_a", &raw.d_a, &[TopologyWord::Vl2]),
        ("d_i", &raw.d_i, &[TopologyWord::Vl2]),
        ("hosts_per_tor", &raw.hosts_per_tor, &[TopologyWord::Vl2]),
        ("hosts", &raw.hosts, &[TopologyWord::Vpc]),
        ("interfaces", &raw.interfaces, &[TopologyWord::Vpc]),
    ];
    let before = out.len();
    for (key, value, kinds) in keys {
        match value {
            None if kinds.contains(&word) => {
                let help = format!("write for example {key} = {}", example(word, key));
                out.note_with_help(
                    span,
                    format!("`{}` needs the key `{key}`", word.word()),
                    help,
                );
            }
            Some(value) if !kinds.contains(&word) => {
                let help = format!("leave `{key}` out");
                out.note_with_help(
                    &value.span,
                    format!("`{key}` is not a size of `{}`", word.word()),
                    help,
                );
            }
            _ => {}
        }
    }
    if out.len() > before {
        return None;
    }
    let read =
        |value: &Option<At<u32>>, even: bool, least: u32, out: &mut Problems| -> Option<u32> {
            let value = value.as_ref()?;
            if value.value < least || (even && value.value % 2 != 0) {
                let what = if even {
                    "an even number of at least"
                } else {
                    "a number of at least"
                };
                out.note(&value.span, format!("this must be {what} {least}"));
                return None;
            }
            Some(value.value)
        };
    let kind = match word {
        TopologyWord::FatTree => TopologyKind::FatTree {
            k: read(&raw.k, true, 2, out)?,
        },
        TopologyWord::Vl2 => TopologyKind::Vl2 {
            d_a: read(&raw.d_a, true, 2, out)?,
            d_i: read(&raw.d_i, true, 2, out)?,
            hosts_per_tor: read(&raw.hosts_per_tor, false, 1, out)?,
        },
        TopologyWord::Bcube => TopologyKind::Bcube {
            n: read(&raw.n, false, 2, out)?,
            k: read(&raw.k, false, 0, out)?,
        },
        TopologyWord::Vpc => TopologyKind::Vpc {
            hosts: read(&raw.hosts, false, FEWEST_HOSTS, out)?,
            interfaces: read(&raw.interfaces, false, 1, out)?,
        },
    };
    within_bounds(kind, span, out).then_some(kind)
}

/// A valid size, for messages.
fn example(word: TopologyWord, key: &str) -> u32 {
    match (word, key) {
        (TopologyWord::Bcube, "k") => 2,
        (TopologyWord::Bcube, _) => 5,
        (TopologyWord::Vpc, "hosts") => 40,
        (TopologyWord::Vpc, _) => 4,
        _ => 8,
    }
}

fn within_bounds(kind: TopologyKind, span: &Span, out: &mut Problems) -> bool {
    let interfaces = kind.interfaces();
    let problem = match kind.hosts() {
        None => Some("this topology has more than 2^32 hosts".to_owned()),
        Some(hosts) if hosts > MAX_CONNECTIONS => Some(format!(
            "this topology has {hosts} hosts, more than {MAX_CONNECTIONS}"
        )),
        Some(hosts) if hosts < FEWEST_HOSTS => {
            Some(format!("a topology of {hosts} hosts has no traffic"))
        }
        Some(_) if interfaces > MAX_SUBFLOWS as u32 => Some(format!(
            "{interfaces} interfaces are more than the {MAX_SUBFLOWS} subflows of a connection"
        )),
        Some(_) => None,
    };
    if let Some(problem) = &problem {
        out.note(span, problem.clone());
    }
    problem.is_none()
}
