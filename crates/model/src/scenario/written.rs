//! Parts of a link as TOML that reads back to the same value.

use super::document::quoted;
use super::exact::Exact;
use super::parts::AqmKind;
use super::read::Named;
use crate::aqm::{AqmSpec, CodelSpec};
use crate::network::{JitterSpec, LinkSpec, LossSpec, RateSpec, ReorderDepth, ReorderSpec};
use crate::signal::SignalSpec;
use crate::units::{BitRate, Dbm, Nanos, Probability};

pub(super) fn list(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(", "))
}

/// Values from each instant on.
fn steps<T: Exact>(steps: &[(Nanos, T)]) -> String {
    let steps = steps.iter();
    let steps = steps.map(|(from, value)| format!("[{}, {}]", from.exact(), value.exact()));
    format!("{{ steps = {} }}", list(steps))
}

pub(super) fn rate(rate: &RateSpec) -> String {
    match rate {
        RateSpec::Unlimited => unreachable!("an unlimited rate is written by leaving the key out"),
        RateSpec::Constant(rate) => rate.exact(),
        RateSpec::Steps(found) => steps(found),
        RateSpec::LogNormal {
            mean,
            deviation,
            correlation,
            interval,
        } => format!(
            "{{ mean = {}, deviation = {}, correlation = {}, interval = {} }}",
            mean.exact(),
            Probability::new(*deviation).unwrap_or_default().exact(),
            correlation.exact(),
            interval.exact()
        ),
        RateSpec::Trace(trace) => format!("{{ trace = {} }}", quoted(&trace.source)),
    }
}

/// A rate that follows from the signal.
pub(super) fn rate_by_signal(table: &[(Dbm, BitRate)]) -> String {
    let points = table
        .iter()
        .map(|(signal, rate)| format!("[{}, {}]", signal.exact(), rate.exact()));
    format!("{{ by_signal = {} }}", list(points))
}

/// A signal over time.
pub(super) fn signal(spec: &SignalSpec) -> String {
    let walk = match spec {
        SignalSpec::Steps(found) => return steps(found),
        SignalSpec::Trace(trace) => return format!("{{ trace = {} }}", quoted(&trace.source)),
        SignalSpec::Walk(walk) => walk,
    };
    let spacing = walk
        .spacing_m
        .map(|spacing| format!("spacing_m = {spacing:?}, "))
        .unwrap_or_default();
    format!(
        "{{ distance_m = {:?}, speed_mps = {:?}, at_1m = {}, exponent = {:?}, aside_m = {:?}, {spacing}\
         sigma_db = {:?}, correlation_m = {:?}, interval = {} }}",
        walk.distance_m,
        walk.speed_mps,
        walk.at_1m.exact(),
        walk.exponent,
        walk.aside_m,
        walk.sigma_db,
        walk.correlation_m,
        walk.interval.exact()
    )
}

pub(super) fn delay(link: &LinkSpec) -> String {
    let Some(delays) = &link.delays else {
        return link.delay.exact();
    };
    if let Some(source) = &delays.source {
        return format!("{{ trace = {} }}", quoted(source));
    }
    steps(&delays.steps)
}

pub(super) fn jitter(jitter: Option<JitterSpec>) -> String {
    match jitter {
        None => "\"0 s\"".into(),
        Some(JitterSpec {
            deviation,
            correlation,
        }) => {
            format!(
                "{{ deviation = {}, correlation = {} }}",
                deviation.exact(),
                correlation.exact()
            )
        }
    }
}

pub(super) fn aqm(aqm: Option<&AqmSpec>) -> String {
    let Some(aqm) = aqm else {
        return quoted(AqmKind::DropTail.word());
    };
    let codel = |codel: &CodelSpec| {
        let ce_threshold = codel
            .ce_threshold
            .map(|t| format!(", ce_threshold = {}", t.exact()));
        let (target, interval) = (codel.target.exact(), codel.interval.exact());
        let rest = ce_threshold.unwrap_or_default();
        format!(
            "target = {target}, interval = {interval}, ecn = {}{rest}",
            codel.ecn
        )
    };
    let numbers = match aqm {
        AqmSpec::Codel(spec) => codel(spec),
        AqmSpec::FqCodel(spec) => format!(
            "{}, flows = {}, quantum = {}, memory_limit = {}, drop_batch = {}",
            codel(&spec.codel),
            spec.flows,
            spec.quantum.exact(),
            spec.memory_limit.exact(),
            spec.drop_batch
        ),
        AqmSpec::Pie(spec) => format!(
            "target = {}, tupdate = {}, alpha = {}, beta = {}, bytemode = {}, ecn = {}",
            spec.target.exact(),
            spec.tupdate.exact(),
            spec.alpha,
            spec.beta,
            spec.bytemode,
            spec.ecn
        ),
        AqmSpec::DualPi2(spec) => format!(
            "target = {}, tupdate = {}, alpha = {:?}, beta = {:?}, coupling = {:?}, step_threshold = {}, \
             classic_protection = {}",
            spec.target.exact(),
            spec.tupdate.exact(),
            spec.alpha,
            spec.beta,
            spec.coupling,
            spec.step_threshold.exact(),
            spec.classic_protection.exact()
        ),
    };
    format!("{{ kind = {}, {numbers} }}", quoted(aqm.name()))
}

pub(super) fn reorder(spec: ReorderSpec) -> String {
    let share = spec.share.exact();
    match spec.depth {
        ReorderDepth::Time(depth) => format!("{{ share = {share}, depth = {} }}", depth.exact()),
        ReorderDepth::Packets { packets, at_most } => {
            format!(
                "{{ share = {share}, depth = \"{packets} packets\", at_most = {} }}",
                at_most.exact()
            )
        }
    }
}

pub(super) fn loss(loss: &LossSpec) -> String {
    match loss {
        LossSpec::None => "\"0 %\"".into(),
        LossSpec::Bernoulli(p) => p.exact(),
        LossSpec::GilbertElliott {
            enter_bad,
            leave_bad,
            loss_good,
            loss_bad,
        } => format!(
            "{{ enter_bad = {}, leave_bad = {}, loss_good = {}, loss_bad = {} }}",
            enter_bad.exact(),
            leave_bad.exact(),
            loss_good.exact(),
            loss_bad.exact()
        ),
    }
}
