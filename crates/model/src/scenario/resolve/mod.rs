//! From the tables as written to a [`Scenario`]: resolves names, checks values, fills in defaults.

pub(super) mod check;
pub(super) mod discipline;
mod energy;
mod link;
mod network;
mod relay;
mod signal;
mod topology;
mod traffic;

use super::beside::Beside;
use super::error::Problems;
use super::raw::{RawCompare, RawScenario, RawTransport};
use super::{CompareDefaults, MAX_DURATION, MAX_SEEDS, Scenario, Transport};
use crate::policy::Policy;
use crate::units::Nanos;

use check::{at_least, ordered, positive, unique};

pub(super) use energy::{
    CHANGED, device as device_energy, interface as interface_energy, model, sharing_factor,
};

/// The scenario, or `None` after noting problems.
pub(super) fn scenario(
    raw: RawScenario,
    beside: Beside<'_>,
    out: &mut Problems,
) -> Option<Scenario> {
    let duration = clock(&raw, out);
    let transport = transport(&raw.transport, out);
    let device = energy::device(&raw.device, beside, out);
    let network = match &raw.topology {
        Some(written) => topology::network(&raw, written, transport.as_ref(), beside, out),
        None => network::network(&raw, transport.as_ref(), beside, out),
    };
    let compare = compare(&raw.compare, out);
    unique(
        raw.variant.iter().map(|variant| &variant.name),
        "variants",
        out,
    );
    if raw.title.value.trim().is_empty() {
        out.note(&raw.title.span, "the title is empty");
    }
    let (duration, transport, network) = (duration?, transport?, network?);
    let traffic = traffic::traffic(&raw, duration, &transport, &network, out)?;
    Some(Scenario {
        title: raw.title.value,
        source: raw.source,
        duration,
        warm_up: raw.warm_up.value,
        transport,
        links: network.links,
        paths: network.paths,
        channels: network.channels,
        topology: network.topology,
        device: device?,
        connections: traffic.connections,
        competitors: traffic.competitors,
        cross: traffic.cross,
        compare: compare?,
    })
}

/// The duration, if it is longer than the warm-up.
fn clock(raw: &RawScenario, out: &mut Problems) -> Option<Nanos> {
    let duration = raw.duration.value;
    positive(&raw.duration, "the duration", out)?;
    if raw.warm_up.value >= duration {
        let message = format!(
            "a warm-up of {} leaves nothing of {duration}",
            raw.warm_up.value
        );
        out.note_with_help(
            &raw.warm_up.span,
            message,
            "make `warm_up` shorter than `duration`",
        );
        return None;
    }
    debug_assert!(
        duration <= MAX_DURATION,
        "durations are bounded when they are read"
    );
    Some(duration)
}

fn transport(raw: &RawTransport, out: &mut Problems) -> Option<Transport> {
    /// Largest length in the headers of IPv4 and IPv6.
    const LARGEST_PACKET: u64 = 65_535;
    let before = out.len();
    at_least(raw.mss.value.0, 1, &raw.mss.span, "the MSS", "1 B", out);
    at_least(
        raw.ack_size.value.0,
        1,
        &raw.ack_size.span,
        "the size of an ACK",
        "1 B",
        out,
    );
    for size in [
        raw.mss.value.0.saturating_add(raw.header.value.0),
        raw.ack_size.value.0,
    ] {
        if size > LARGEST_PACKET {
            let message =
                format!("a packet of {size} B is larger than IP allows ({LARGEST_PACKET} B)");
            out.note(&raw.mss.span, message);
        }
    }
    let window = &raw.initial_window;
    at_least(
        window.value.0.into(),
        1,
        &window.span,
        "the initial window",
        "1 packet",
        out,
    );
    at_least(
        raw.max_retries.value.into(),
        1,
        &raw.max_retries.span,
        "`max_retries`",
        "1",
        out,
    );
    at_least(
        raw.dup_threshold.value.into(),
        1,
        &raw.dup_threshold.span,
        "`dup_threshold`",
        "1",
        out,
    );
    positive(&raw.rto_min, "`rto_min`", out);
    if let Some(delay) = &raw.delayed_ack {
        positive(delay, "`delayed_ack`", out);
    }
    ordered(
        &raw.rto_min,
        "rto_min",
        &raw.rto_initial,
        "rto_initial",
        out,
    );
    ordered(
        &raw.rto_initial,
        "rto_initial",
        &raw.rto_max,
        "rto_max",
        out,
    );
    (out.len() == before).then(|| Transport {
        mss: raw.mss.value,
        header: raw.header.value,
        ack_size: raw.ack_size.value,
        initial_window: window.value.0,
        rto_min: raw.rto_min.value,
        rto_initial: raw.rto_initial.value,
        rto_max: raw.rto_max.value,
        max_retries: raw.max_retries.value,
        delayed_ack: raw.delayed_ack.as_ref().map(|delay| delay.value),
        recovery: raw.recovery,
        ecn: raw.ecn,
        dup_threshold: raw.dup_threshold.value,
        processing_delay: raw.processing_delay.value,
    })
}

/// Largest part of a link's rate that a background may take.
const MOST_BACKGROUND: f64 = 0.2;

fn compare(raw: &RawCompare, out: &mut Problems) -> Option<CompareDefaults> {
    let before = out.len();
    if raw.policies.value.is_empty() {
        out.note_with_help(
            &raw.policies.span,
            "there are no policies to compare",
            "write for example policies = [\"mptcp\", \"eemptcp\"], or leave the key out",
        );
    }
    let mut policies: Vec<Policy> = Vec::new();
    for text in &raw.policies.value {
        match text.value.parse() {
            Ok(policy) if policies.contains(&policy) => {
                out.note(&text.span, format!("the policy `{policy}` is listed twice"));
            }
            Ok(policy) => policies.push(policy),
            Err(error) => out.note_error(&text.span, &error),
        }
    }
    at_least(
        raw.seeds.value.into(),
        1,
        &raw.seeds.span,
        "the number of seeds",
        "1",
        out,
    );
    if raw.seeds.value > MAX_SEEDS {
        out.note(
            &raw.seeds.span,
            format!("{} seeds are more than {MAX_SEEDS}", raw.seeds.value),
        );
    }
    let background = raw.background.value;
    if background.get() > MOST_BACKGROUND {
        let message = format!("a background of {background} is not light");
        out.note_with_help(&raw.background.span, message, "write at most 20 %");
    }
    (out.len() == before).then_some(CompareDefaults {
        policies,
        seeds: raw.seeds.value,
        background,
    })
}
