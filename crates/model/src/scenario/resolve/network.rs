//! All links and paths of a scenario.

use super::super::beside::Beside;
use super::super::error::{Problems, suggest};
use super::super::forms::Energy;
use super::super::raw::{RawPath, RawScenario};
use super::super::read::At;
use super::super::{LinkIndex, PathSpec, Transport};
use super::check::unique;
use super::link::{Builder, Written};
use super::{energy, relay, signal};
use crate::energy::InterfaceEnergy;
use crate::history::PathHistory;
use crate::network::{ChannelSpec, LinkSpec};
use crate::signal::{PathSignal, SignalSpec, rate_at};
use crate::topology::TopologySpec;
use crate::units::Nanos;

/// All links and paths of a scenario.
pub(super) struct Network {
    pub(super) links: Vec<LinkSpec>,
    pub(super) paths: Vec<PathSpec>,
    pub(super) channels: Vec<ChannelSpec>,
    /// Name of each shared link and its two directions (down, up), in the order written.
    pub(super) shared: Vec<(String, (LinkIndex, LinkIndex))>,
    /// The topology, if there is one; `paths` are then the interfaces of a host.
    pub(super) topology: Option<TopologySpec>,
}

impl Network {
    /// The two directions of a shared link. Notes an unknown name.
    pub(super) fn shared_link(
        &self,
        name: &At<String>,
        out: &mut Problems,
    ) -> Option<(LinkIndex, LinkIndex)> {
        let found = self
            .shared
            .iter()
            .find(|(known, _)| *known == name.value)
            .map(|(_, pair)| *pair);
        if found.is_none() {
            let known = self.shared.iter().map(|(known, _)| known.as_str());
            let message = format!("there is no link `{}`", name.value);
            out.note_with_help(&name.span, message, suggest(&name.value, known, "links"));
        }
        found
    }

    /// The index of a path. Notes an unknown name.
    pub(super) fn path(&self, name: &At<String>, out: &mut Problems) -> Option<usize> {
        let found = self.paths.iter().position(|path| path.name == name.value);
        if found.is_none() {
            let known = self.paths.iter().map(|path| path.name.as_str());
            let message = format!("there is no path `{}`", name.value);
            out.note_with_help(&name.span, message, suggest(&name.value, known, "paths"));
        }
        found
    }

    /// The links of a route over shared links, in both directions. Notes unknown and repeated
    /// names.
    pub(super) fn route(
        &self,
        via: &[At<String>],
        out: &mut Problems,
    ) -> Option<(Vec<LinkIndex>, Vec<LinkIndex>)> {
        let twice =
            (0..via.len()).find(|&at| via[..at].iter().any(|name| name.value == via[at].value));
        if let Some(at) = twice {
            out.note(
                &via[at].span,
                format!("the link `{}` is listed twice", via[at].value),
            );
            return None;
        }
        let pairs: Vec<_> = via.iter().map(|name| self.shared_link(name, out)).collect();
        let pairs: Vec<_> = pairs.into_iter().collect::<Option<_>>()?;
        let down = pairs.iter().map(|pair| pair.0).collect();
        let up = pairs.iter().rev().map(|pair| pair.1).collect();
        Some((down, up))
    }
}

/// Builds all links and paths of a scenario without topology.
pub(super) fn network(
    raw: &RawScenario,
    transport: Option<&Transport>,
    beside: Beside<'_>,
    out: &mut Problems,
) -> Option<Network> {
    let before = out.len();
    let names = raw.link.iter().map(|link| &link.value.name);
    let names = names.chain(raw.path.iter().map(|path| &path.value.name));
    unique(
        names.chain(raw.channel.iter().map(|channel| &channel.value.name)),
        "paths, links or channels",
        out,
    );
    let mut builder = Builder::new(transport, beside);
    let channels = raw
        .channel
        .iter()
        .filter_map(|channel| relay::channel(&channel.value, out))
        .collect();
    let names: Vec<At<String>> = raw
        .channel
        .iter()
        .map(|channel| channel.value.name.clone())
        .collect();
    let mut network = Network {
        links: Vec::new(),
        paths: Vec::new(),
        channels,
        shared: Vec::new(),
        topology: None,
    };
    for link in &raw.link {
        let pair = builder.pair(&link.value.name.value, &Written::link(&link.value), out);
        let pair = pair.map(|pair| network.add(pair));
        // A link with errors keeps its name, so that only its own problems are reported.
        network
            .shared
            .push((link.value.name.value.clone(), pair.unwrap_or((0, 0))));
    }
    for path in &raw.path {
        add_path(
            &mut network,
            &mut builder,
            path,
            (&names, raw.duration.value),
            beside,
            out,
        );
    }
    if raw.path.is_empty() {
        out.note_with_help(
            &(0..0),
            "the scenario has no path",
            "write [[path]] and below it name, rate, delay and energy; or [topology] for a data centre",
        );
    }
    (out.len() == before).then_some(network)
}

impl Network {
    pub(super) fn add(&mut self, (down, up): (LinkSpec, LinkSpec)) -> (LinkIndex, LinkIndex) {
        let first = self.links.len();
        self.links.extend([down, up]);
        (first, first + 1)
    }
}

fn add_path(
    network: &mut Network,
    builder: &mut Builder<'_>,
    path: &At<RawPath>,
    (channels, duration): (&[At<String>], Nanos),
    beside: Beside<'_>,
    out: &mut Problems,
) {
    let raw = &path.value;
    let has_via = !raw.via.is_empty();
    for (key, example, missing) in [
        ("rate", "\"10 Mbit/s\"", raw.rate.is_none()),
        ("delay", "\"20 ms\"", raw.delay.is_none()),
    ] {
        if missing && !has_via {
            out.note_with_help(
                &path.span,
                format!("[[path]] needs the key `{key}`"),
                format!("write for example {key} = {example}, or name shared links in `via`"),
            );
        }
    }
    if has_via && raw.rate.is_none() && raw.up.rate.is_none() {
        refuse_queues(raw, out);
    }
    let energy = energy::interface(&raw.energy, beside, out);
    let before = out.len();
    let spec = raw
        .signal
        .as_ref()
        .and_then(|written| signal::spec(written, duration, beside, out));
    if out.len() > before {
        return;
    }
    builder.signal = spec.as_ref().map(|spec| spec.expected(duration));
    builder.rates = Default::default();
    let pair = builder.pair(&raw.name.value, &Written::path(raw), out);
    let route = network.route(&raw.via, out);
    let relay = energy
        .as_ref()
        .and_then(|energy| relay::relay(raw, &energy.model, channels, out));
    let history = raw
        .history
        .as_ref()
        .map_or(Some(PathHistory::default()), |history| history.resolve(out));
    let (Some(energy), Some(pair), Some((mut down, up)), Some(relay), Some(history)) =
        (energy, pair, route, relay, history)
    else {
        return;
    };
    let signal = spec.map(|spec| PathSignal {
        spec,
        rates: std::mem::take(&mut builder.rates),
    });
    builder.signal = None;
    let energy = match &signal {
        Some(signal) => energy_at(
            energy,
            &signal.spec,
            (&pair.0, &pair.1),
            &raw.energy,
            duration,
            out,
        ),
        None => energy,
    };
    let radio = network.add(pair);
    down.push(radio.0);
    let up = std::iter::once(radio.1).chain(up).collect();
    network.paths.push(PathSpec {
        name: raw.name.value.clone(),
        down,
        up,
        radio,
        energy,
        signal,
        start: raw.start.value,
        backup: raw.backup,
        network: raw.network.clone(),
        history,
        relay,
    });
}

/// The energy model of a radio at its mean signal and the mean rates of its links. Notes numbers
/// that a profile by signal would replace.
fn energy_at(
    energy: InterfaceEnergy,
    signal: &SignalSpec,
    links: (&LinkSpec, &LinkSpec),
    written: &At<Energy>,
    duration: Nanos,
    out: &mut Problems,
) -> InterfaceEnergy {
    let Some(radio) = energy.radio() else {
        return energy;
    };
    if let Energy::Table(table) = &written.value {
        let fixed = [
            table.per_mbps.as_ref().map(|at| &at.span),
            table.up_per_mbps.as_ref().map(|at| &at.span),
        ];
        for span in fixed
            .into_iter()
            .flatten()
            .chain(table.active.as_ref().map(|at| &at.span))
        {
            let help = "leave the key out, or leave `signal` out";
            out.note_with_help(
                span,
                "on a path with `signal`, this profile's power follows from the signal",
                help,
            );
        }
    }
    let mean = signal.mean(duration);
    let bps = |link: &LinkSpec, up: bool| {
        let mean_bps = link.rate.mean_bps(duration);
        if mean_bps.is_finite() {
            mean_bps
        } else {
            rate_at(&radio.fastest(up), mean).bps() as f64
        }
    };
    let model = radio.model_at(mean, &energy.model, bps(links.0, false), bps(links.1, true));
    InterfaceEnergy { model, ..energy }
}

/// Notes every queue of a path that has no rate in either direction.
fn refuse_queues(raw: &RawPath, out: &mut Problems) {
    let (down, up) = (&raw.keys, &raw.up.keys);
    let queues = [
        &down.queue,
        &down.ecn_threshold,
        &up.queue,
        &up.ecn_threshold,
    ];
    let aqms = [&down.aqm, &up.aqm]
        .into_iter()
        .flatten()
        .map(|aqm| &aqm.span);
    for span in queues
        .into_iter()
        .flatten()
        .map(|queue| &queue.span)
        .chain(aqms)
    {
        let help = "give the path a `rate`, or leave the queue to the links in `via`";
        out.note_with_help(span, "without a rate there is no queue", help);
    }
}
