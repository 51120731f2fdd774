//! Managed queues, policers, reordering and aggregation of a link.

use super::super::Transport;
use super::super::error::Problems;
use super::super::forms::Aqm;
use super::super::lengths::Depth;
use super::super::parts::{RawAggregate, RawPolicer, RawReorder};
use super::super::read::At;
use super::check::{at_least, moving, positive, usable_queue};
use crate::aqm::{AqmSpec, CodelSpec, DualPi2Spec, FqCodelSpec, PieSpec};
use crate::network::{AggregateSpec, PolicerSpec, ReorderDepth, ReorderSpec};
use crate::units::Nanos;

/// Resolves an optional key. The outer `None` stands for a problem, the inner `None` for an absent
/// key.
pub(in crate::scenario) fn each<R, T>(
    raw: Option<R>,
    resolve: impl FnOnce(R) -> Option<T>,
) -> Option<Option<T>> {
    raw.map_or(Some(None), |raw| resolve(raw).map(Some))
}

/// Queue management; the inner `None` is DropTail.
pub(in crate::scenario) fn aqm(raw: &Aqm, out: &mut Problems) -> Option<Option<AqmSpec>> {
    let before = out.len();
    let spec = match raw {
        Aqm::DropTail => None,
        Aqm::Codel(raw) => {
            let ce_threshold = raw.ce_threshold.as_ref().map(|at| at.value);
            codel(&raw.target, &raw.interval, raw.ecn, ce_threshold, out).map(AqmSpec::Codel)
        }
        Aqm::FqCodel(raw) => {
            let ce_threshold = raw.ce_threshold.as_ref().map(|at| at.value);
            let codel = codel(&raw.target, &raw.interval, raw.ecn, ce_threshold, out);
            at_least(
                raw.flows.value.into(),
                1,
                &raw.flows.span,
                "the number of queues",
                "1",
                out,
            );
            at_least(
                raw.quantum.value.0,
                1,
                &raw.quantum.span,
                "the quantum",
                "\"1 B\"",
                out,
            );
            at_least(
                raw.drop_batch.value.into(),
                1,
                &raw.drop_batch.span,
                "a batch of drops",
                "1",
                out,
            );
            let memory = &raw.memory_limit;
            at_least(
                memory.value.0,
                1500,
                &memory.span,
                "the memory of the queues",
                "\"1500 B\"",
                out,
            );
            codel.map(|codel| {
                AqmSpec::FqCodel(FqCodelSpec {
                    codel,
                    flows: raw.flows.value,
                    quantum: raw.quantum.value,
                    memory_limit: raw.memory_limit.value,
                    drop_batch: raw.drop_batch.value,
                })
            })
        }
        Aqm::Pie(raw) => {
            for weight in [&raw.alpha, &raw.beta] {
                if weight.value > 32 {
                    let help = "RFC 8033 recommends alpha = 2 (0.125 Hz) and beta = 20 (1.25 Hz)";
                    out.note_with_help(&weight.span, "a weight of PIE is at most 32 (2 Hz)", help);
                }
            }
            let (target, tupdate) = (
                positive(&raw.target, "`target`", out),
                positive(&raw.tupdate, "`tupdate`", out),
            );
            let (alpha, beta) = (raw.alpha.value, raw.beta.value);
            target.zip(tupdate).map(|(target, tupdate)| {
                AqmSpec::Pie(PieSpec {
                    target,
                    tupdate,
                    alpha,
                    beta,
                    bytemode: raw.bytemode,
                    ecn: raw.ecn,
                })
            })
        }
        Aqm::DualPi2(raw) => {
            for (weight, most, help) in [
                (&raw.alpha, 100.0, "RFC 9332 recommends 0.16 Hz"),
                (&raw.beta, 100.0, "RFC 9332 recommends 3.2 Hz"),
                (&raw.coupling, 16.0, "RFC 9332 recommends 2"),
            ] {
                if !(0.0..=most).contains(&weight.value) {
                    let message = format!("this parameter of DualPI2 is from 0 to {most}");
                    out.note_with_help(&weight.span, message, help);
                }
            }
            let (target, tupdate) = (
                positive(&raw.target, "`target`", out),
                positive(&raw.tupdate, "`tupdate`", out),
            );
            target.zip(tupdate).map(|(target, tupdate)| {
                AqmSpec::DualPi2(DualPi2Spec {
                    target,
                    tupdate,
                    alpha: raw.alpha.value,
                    beta: raw.beta.value,
                    coupling: raw.coupling.value,
                    step_threshold: raw.step_threshold,
                    classic_protection: raw.classic_protection,
                })
            })
        }
    };
    (out.len() == before).then_some(spec)
}

fn codel(
    target: &At<Nanos>,
    interval: &At<Nanos>,
    ecn: bool,
    ce_threshold: Option<Nanos>,
    out: &mut Problems,
) -> Option<CodelSpec> {
    let (longer, target) = (
        interval.value > target.value,
        positive(target, "`target`", out)?,
    );
    let spec = CodelSpec {
        target,
        interval: positive(interval, "`interval`", out)?,
        ecn,
        ce_threshold,
    };
    if !longer {
        let help = "RFC 8289 takes a target of 5 % of the interval, which is about the largest RTT";
        out.note_with_help(
            &interval.span,
            "the interval is not longer than the target",
            help,
        );
    }
    Some(spec)
}

/// A token bucket that can hold one segment.
pub(in crate::scenario) fn policer(
    raw: &RawPolicer,
    transport: Option<&Transport>,
    out: &mut Problems,
) -> Option<PolicerSpec> {
    let segment = transport.map_or(1, |t| t.mss.0 + t.header.0);
    let rate = moving(raw.rate.value, &raw.rate.span, out);
    if raw.burst.value.0 < segment {
        let message = format!(
            "a burst of {} B never lets a segment of {segment} B pass",
            raw.burst.value.0
        );
        let help = "write for example \"64 kB\"; usual is what the rate carries in an RTT";
        out.note_with_help(&raw.burst.span, message, help);
        return None;
    }
    Some(PolicerSpec {
        rate: rate?,
        burst: raw.burst.value,
    })
}

/// Reordering; the inner `None` if no packets are held back.
pub(in crate::scenario) fn reorder(
    raw: &RawReorder,
    out: &mut Problems,
) -> Option<Option<ReorderSpec>> {
    let (depth, empty) = match raw.depth.value {
        Depth::Time(time) => (ReorderDepth::Time(time), time == Nanos::ZERO),
        Depth::Packets(packets) => {
            let at_most = positive(&raw.at_most, "`at_most`", out)?;
            (
                ReorderDepth::Packets {
                    packets: packets.0,
                    at_most,
                },
                packets.0 == 0,
            )
        }
    };
    if empty {
        let help =
            "write for example \"3 packets\" or \"5 ms\"; for no reordering leave `reorder` out";
        out.note_with_help(&raw.depth.span, "a depth of zero reorders nothing", help);
        return None;
    }
    let share = raw.share.value;
    if share.get() >= 1.0 {
        let help = "write less than \"100 %\": what all packets have in common is `delay`";
        out.note_with_help(
            &raw.share.span,
            "packets that are all held back keep their order",
            help,
        );
        return None;
    }
    Some((share.get() > 0.0).then_some(ReorderSpec { share, depth }))
}

/// Aggregation of packets into bursts.
pub(in crate::scenario) fn aggregate(
    raw: &RawAggregate,
    transport: Option<&Transport>,
    out: &mut Problems,
) -> Option<AggregateSpec> {
    let (period, size) = (
        positive(&raw.period, "`period`", out),
        usable_queue(&raw.size, transport, out),
    );
    Some(AggregateSpec {
        period: period?,
        size: size?,
    })
}
