//! The keys of a link besides its rate and delay: reader, documentation, the other direction,
//! checks, and the TOML of the result.
//!
//! A key is one field of [`LinkKeys`], one field of [`LinkSpec`] with its value in
//! [`LinkSpec::new`], and a line each in [`LinkKeys::spec`] and [`written`]. It has a line in
//! [`LinkKeys::upward`] if it applies to both directions.

use super::Transport;
use super::declare::table;
use super::error::Problems;
use super::exact::Exact;
use super::forms::{Aqm, Jitter, Loss};
use super::lengths::Queue;
use super::parts::{RawAggregate, RawPolicer, RawReorder};
use super::read::At;
use super::resolve::check::{never_reached, usable_queue};
use super::resolve::discipline::{self, each};
use super::written::{aqm, delay, jitter, list, loss, reorder};
use crate::network::{
    AggregateSpec, JitterSpec, LinkSpec, LossSpec, Outage, PolicerSpec, QueueLimit,
};
use crate::units::{Nanos, Probability};

/// The queue of a link if its scenario sets none.
pub(super) const DEFAULT_QUEUE: QueueLimit = QueueLimit::Packets(100);

table! {
    /// A link in one direction.
    struct LinkKeys in "a link" {
        /// Variation of the delay.
        jitter: Option<Jitter>,
        /// Capacity of the queue; absent: 100 packets, or the default limit of its `aqm`.
        queue: Option<At<Queue>>,
        /// Queue management; absent: DropTail.
        aqm: Option<At<Aqm>>,
        /// An ECN-capable packet is marked if it finds a queue of at least this length.
        ecn_threshold: Option<At<Queue>>,
        /// Probability with which an ECN-capable packet is marked at random; only in this
        /// direction; absent: 0 %.
        mark: Option<Probability>,
        /// Random loss; only in this direction.
        loss: Option<At<Loss>>,
        /// Periods in which every packet is lost; absent: none.
        outages: Option<At<Vec<At<(Nanos, Nanos)>>>>,
        /// Token bucket in front of the queue; only in this direction.
        policer: Option<RawPolicer>,
        /// Reordering of packets; only in this direction.
        reorder: Option<RawReorder>,
        /// Release of packets in bursts; only in this direction.
        aggregate: Option<RawAggregate>,
    }
}

impl LinkKeys {
    /// The keys of the direction to the server, given those in `up`. If its queue is managed
    /// differently, the limit and the threshold are not copied, either.
    pub(super) fn upward(&self, up: &LinkKeys) -> LinkKeys {
        let both = self.clone();
        let (queue, ecn_threshold) = match up.aqm {
            None => (both.queue, both.ecn_threshold),
            Some(_) => (None, None),
        };
        let up = up.clone();
        LinkKeys {
            jitter: up.jitter.or(both.jitter),
            queue: up.queue.or(queue),
            aqm: up.aqm.or(both.aqm),
            ecn_threshold: up.ecn_threshold.or(ecn_threshold),
            outages: up.outages.or(both.outages),
            // These are of one direction only.
            ..up
        }
    }

    /// The link `plain` with these keys, or `None` after noting problems. The keys of the queue
    /// apply only if it has a rate: otherwise they are meant for the other direction.
    pub(super) fn spec(
        &self,
        plain: LinkSpec,
        has_rate: bool,
        transport: Option<&Transport>,
        out: &mut Problems,
    ) -> Option<LinkSpec> {
        let loss = match &self.loss {
            None => Some(LossSpec::None),
            Some(loss) => loss_spec(loss, out),
        };
        let periods = self.outages.as_ref();
        let outages = outages(periods.map_or(&[][..], |periods| &periods.value), out);
        let policer = each(self.policer.as_ref(), |raw| {
            discipline::policer(raw, transport, out)
        });
        let reorder = each(self.reorder.as_ref(), |raw| discipline::reorder(raw, out));
        let aggregate = each(self.aggregate.as_ref(), |raw| {
            discipline::aggregate(raw, transport, out)
        });
        let plain = if has_rate {
            self.with_queue(plain, transport, out)?
        } else {
            plain
        };
        Some(LinkSpec {
            jitter: self.jitter.as_ref().and_then(jitter_spec),
            policer: policer?,
            mark: self.mark.unwrap_or_default(),
            loss: loss?,
            outages: outages?,
            reorder: reorder?.flatten(),
            aggregate: aggregate?,
            ..plain
        })
    }

    /// The link `plain` with its queue.
    fn with_queue(
        &self,
        plain: LinkSpec,
        transport: Option<&Transport>,
        out: &mut Problems,
    ) -> Option<LinkSpec> {
        let aqm = each(self.aqm.as_ref(), |aqm| discipline::aqm(&aqm.value, out));
        let queue = self
            .queue
            .as_ref()
            .map(|queue| usable_queue(queue, transport, out));
        let Some(aqm) = aqm?.flatten() else {
            let queue = queue.unwrap_or(Some(DEFAULT_QUEUE));
            if let (Some(threshold), Some(queue)) = (&self.ecn_threshold, queue) {
                never_reached(threshold, queue, out);
            }
            return Some(LinkSpec {
                queue: queue?,
                ecn_threshold: self.ecn_threshold.as_ref().map(|at| at.value.0),
                ..plain
            });
        };
        if let Some(threshold) = &self.ecn_threshold {
            let message = format!("a queue under `{}` has marks of its own", aqm.name());
            let help = "leave `ecn_threshold` out, or write aqm = { kind = \"codel\", \
                ce_threshold = \"1 ms\" }";
            out.note_with_help(&threshold.span, message, help);
        }
        let queue = queue.unwrap_or(Some(QueueLimit::Packets(aqm.default_limit_packets())))?;
        if let (QueueLimit::Bytes(_), Some(written)) = (queue, &self.queue) {
            let message = format!(
                "the limit of a queue under `{}` is in packets, as in Linux",
                aqm.name()
            );
            let help = format!(
                "write for example \"{} packets\"",
                aqm.default_limit_packets()
            );
            out.note_with_help(&written.span, message, help);
        }
        Some(LinkSpec {
            queue,
            aqm: Some(aqm),
            ..plain
        })
    }
}

/// The keys of a link as TOML, all defaults filled in. `rate` is its rate as TOML.
pub(super) fn written(link: &LinkSpec, rate: Option<String>) -> Vec<(&'static str, String)> {
    let policer = |PolicerSpec { rate, burst }: PolicerSpec| {
        format!("{{ rate = {}, burst = {} }}", rate.exact(), burst.exact())
    };
    let aggregate = |AggregateSpec { period, size }: AggregateSpec| {
        format!("{{ period = {}, size = {} }}", period.exact(), size.exact())
    };
    let outage = |outage: &Outage| format!("[{}, {}]", outage.from.exact(), outage.until.exact());
    // An unlimited link has no queue, and a scenario with one would be refused.
    let has_queue = rate.is_some();
    let keys = [
        ("rate", rate),
        ("queue", has_queue.then(|| link.queue.exact())),
        ("aqm", has_queue.then(|| aqm(link.aqm.as_ref()))),
        (
            "ecn_threshold",
            link.ecn_threshold.map(|limit| limit.exact()),
        ),
        ("delay", Some(delay(link))),
        ("jitter", Some(jitter(link.jitter))),
        ("mark", (link.mark.get() > 0.0).then(|| link.mark.exact())),
        ("loss", Some(loss(&link.loss))),
        ("outages", Some(list(link.outages.iter().map(outage)))),
        ("policer", link.policer.map(policer)),
        ("reorder", link.reorder.map(reorder)),
        ("aggregate", link.aggregate.map(aggregate)),
    ];
    keys.into_iter()
        .filter_map(|(key, value)| Some((key, value?)))
        .collect()
}

fn loss_spec(loss: &At<Loss>, out: &mut Problems) -> Option<LossSpec> {
    let spec = match &loss.value {
        Loss::Bernoulli(probability) => LossSpec::from(*probability),
        Loss::Bursts(bursts) => LossSpec::GilbertElliott {
            enter_bad: bursts.enter_bad,
            leave_bad: bursts.leave_bad,
            loss_good: bursts.loss_good,
            loss_bad: bursts.loss_bad,
        },
    };
    if spec.mean() >= 1.0 {
        let help = "write less than \"100 %\"; for a time without delivery use outages = [[\"10 \
            s\", \"15 s\"]]";
        out.note_with_help(&loss.span, "in the long run every packet is lost", help);
        return None;
    }
    Some(spec)
}

fn jitter_spec(jitter: &Jitter) -> Option<JitterSpec> {
    let spec = match jitter {
        Jitter::Independent(deviation) => JitterSpec {
            deviation: *deviation,
            correlation: Nanos::ZERO,
        },
        Jitter::Correlated(raw) => JitterSpec {
            deviation: raw.deviation,
            correlation: raw.correlation,
        },
    };
    (spec.deviation > Nanos::ZERO).then_some(spec)
}

fn outages(periods: &[At<(Nanos, Nanos)>], out: &mut Problems) -> Option<Vec<Outage>> {
    let before = out.len();
    let mut outages: Vec<Outage> = Vec::new();
    for period in periods {
        let (from, until) = period.value;
        if from >= until {
            out.note(
                &period.span,
                format!("this outage ends at {until}, before it begins"),
            );
        } else if outages.last().is_some_and(|last| from < last.until) {
            out.note(&period.span, "outages must ascend and not overlap");
        }
        outages.push(Outage { from, until });
    }
    (out.len() == before).then_some(outages)
}
