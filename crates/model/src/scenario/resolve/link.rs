//! One link in each direction, from what is written of a path or a shared link.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::super::Transport;
use super::super::error::Problems;
use super::super::forms::{Jitter, Loss, Queue, Rate};
use super::super::parts::RawSteps;
use super::super::raw::{RawLink, RawPath, RawUp};
use super::super::read::At;
use super::check::positive;
use crate::network::{DeliveryTrace, JitterSpec, LinkSpec, LossSpec, Outage, QueueLimit, RateSpec};
use crate::units::{BitRate, Nanos};

/// Where traces come from.
pub(in super::super) type Traces<'f> = &'f dyn Fn(&str) -> Result<DeliveryTrace, String>;

/// The queue of a link whose scenario gives none.
const DEFAULT_QUEUE: QueueLimit = QueueLimit::Packets(100);

/// What paths and shared links have in common.
pub(super) struct Written<'r> {
    rate: Option<&'r At<Rate>>,
    delay: Nanos,
    jitter: Option<&'r Jitter>,
    queue: Option<&'r At<Queue>>,
    ecn_threshold: Option<&'r At<Queue>>,
    loss: Option<&'r At<Loss>>,
    outages: &'r Periods,
    up: &'r RawUp,
}

/// Periods as written, with the place of each.
type Periods = At<Vec<At<(Nanos, Nanos)>>>;

impl<'r> Written<'r> {
    pub(super) fn path(raw: &'r RawPath) -> Self {
        Written {
            rate: raw.rate.as_ref(),
            delay: raw.delay.unwrap_or_default(),
            jitter: raw.jitter.as_ref(),
            queue: raw.queue.as_ref(),
            ecn_threshold: raw.ecn_threshold.as_ref(),
            loss: raw.loss.as_ref(),
            outages: &raw.outages,
            up: &raw.up,
        }
    }

    pub(super) fn link(raw: &'r RawLink) -> Self {
        Written {
            rate: Some(&raw.rate),
            delay: raw.delay,
            jitter: raw.jitter.as_ref(),
            queue: raw.queue.as_ref(),
            ecn_threshold: raw.ecn_threshold.as_ref(),
            loss: raw.loss.as_ref(),
            outages: &raw.outages,
            up: &raw.up,
        }
    }

    /// The other direction: what it does not say is the same, except that nothing is lost at random.
    fn reverse(&self) -> Written<'r> {
        Written {
            rate: self.up.rate.as_ref().or(self.rate),
            delay: self.up.delay.unwrap_or(self.delay),
            jitter: self.up.jitter.as_ref().or(self.jitter),
            queue: self.up.queue.as_ref().or(self.queue),
            ecn_threshold: self.up.ecn_threshold.as_ref().or(self.ecn_threshold),
            loss: self.up.loss.as_ref(),
            outages: self.up.outages.as_ref().unwrap_or(self.outages),
            up: self.up,
        }
    }
}

/// Builds links one after the other and reads each trace once.
pub(super) struct Builder<'f> {
    transport: Option<&'f Transport>,
    traces: Traces<'f>,
    known: BTreeMap<String, Result<Arc<DeliveryTrace>, String>>,
}

impl<'f> Builder<'f> {
    pub(super) fn new(transport: Option<&'f Transport>, traces: Traces<'f>) -> Self {
        Builder { transport, traces, known: BTreeMap::new() }
    }

    /// Both directions of a link.
    pub(super) fn pair(
        &mut self,
        name: &str,
        written: &Written<'_>,
        out: &mut Problems,
    ) -> Option<(LinkSpec, LinkSpec)> {
        let down = self.link(format!("{name}.down"), written, out);
        let up = self.link(format!("{name}.up"), &written.reverse(), out);
        Some((down?, up?))
    }

    fn link(&mut self, name: String, written: &Written<'_>, out: &mut Problems) -> Option<LinkSpec> {
        let delay = written.delay;
        let jitter = written.jitter.and_then(jitter);
        let loss = written.loss.map_or(Some(LossSpec::None), |loss| self::loss(loss, out));
        let outages = outages(written.outages, out);
        let Some(rate) = written.rate else {
            // What is written of a queue belongs to the other direction.
            let (rate, queue) = (RateSpec::Unlimited, DEFAULT_QUEUE);
            return Some(LinkSpec {
                name,
                rate,
                delay,
                jitter,
                queue,
                ecn_threshold: None,
                loss: loss?,
                outages: outages?,
            });
        };
        let rate = self.rate(rate, out);
        let queue = written.queue.map_or(Some(DEFAULT_QUEUE), |queue| self.queue(queue, out));
        let ecn_threshold = written.ecn_threshold.map(|threshold| threshold.value.0);
        if let (Some(threshold), Some(queue)) = (written.ecn_threshold, queue) {
            never_reached(threshold, queue, out);
        }
        Some(LinkSpec {
            name,
            rate: rate?,
            delay,
            jitter,
            queue: queue?,
            ecn_threshold,
            loss: loss?,
            outages: outages?,
        })
    }

    fn queue(&self, queue: &At<Queue>, out: &mut Problems) -> Option<QueueLimit> {
        usable_queue(queue, self.transport, out)
    }

    fn rate(&mut self, rate: &At<Rate>, out: &mut Problems) -> Option<RateSpec> {
        match &rate.value {
            Rate::Constant(rate_bps) => moving(*rate_bps, &rate.span, out).map(RateSpec::Constant),
            Rate::Steps(written) => steps(written, out).map(RateSpec::Steps),
            Rate::Varying(written) => {
                positive(&written.interval, "`interval`", out)?;
                Some(RateSpec::LogNormal {
                    mean: moving(written.mean.value, &written.mean.span, out)?,
                    deviation: written.deviation.get(),
                    correlation: written.correlation,
                    interval: written.interval.value,
                })
            }
            Rate::Trace(written) => self.trace(&written.trace, out).map(RateSpec::Trace),
        }
    }

    fn trace(&mut self, file: &At<String>, out: &mut Problems) -> Option<Arc<DeliveryTrace>> {
        let traces = self.traces;
        let found = self.known.entry(file.value.clone()).or_insert_with(|| {
            let trace = traces(&file.value)?;
            usable(&trace)?;
            Ok(Arc::new(DeliveryTrace { source: file.value.clone(), ..trace }))
        });
        match found {
            Ok(trace) => Some(Arc::clone(trace)),
            Err(why) => {
                out.note(&file.span, format!("the trace `{}` cannot be used: {why}", file.value));
                None
            }
        }
    }
}

/// The limit of a queue, if a segment fits it.
pub(super) fn usable_queue(
    queue: &At<Queue>,
    transport: Option<&Transport>,
    out: &mut Problems,
) -> Option<QueueLimit> {
    let segment = transport.map_or(1, |t| t.mss.0 + t.header.0);
    match queue.value.0 {
        QueueLimit::Packets(0) => {
            out.note_with_help(
                &queue.span,
                "a queue of no packets drops every burst",
                "write at least \"1 packets\"",
            );
            None
        }
        QueueLimit::Bytes(bytes) if bytes.0 < segment => {
            let message = format!("a queue of {} B cannot hold one segment of {segment} B", bytes.0);
            out.note_with_help(&queue.span, message, "write for example \"64 KiB\"");
            None
        }
        limit => Some(limit),
    }
}

/// Whether a trace keeps what its type promises.
fn usable(trace: &DeliveryTrace) -> Result<(), String> {
    let instants = &trace.opportunities_ms;
    match instants.last() {
        None => Err("it is empty".into()),
        Some(0) => Err("it lasts no time: the last line must be greater than 0".into()),
        Some(_) if !instants.is_sorted() => Err("its lines do not ascend".into()),
        Some(_) => Ok(()),
    }
}

/// Notes a rate of zero.
pub(super) fn moving(rate: BitRate, span: &std::ops::Range<usize>, out: &mut Problems) -> Option<BitRate> {
    if rate.bps() == 0 {
        out.note_with_help(
            span,
            "a rate of zero never delivers anything",
            "write for example \"10 Mbit/s\"; for a pause use `outages` or a step",
        );
        return None;
    }
    Some(rate)
}

fn steps(written: &RawSteps, out: &mut Problems) -> Option<Vec<(Nanos, BitRate)>> {
    let steps = &written.steps.value;
    let problem = if steps.first().is_none_or(|first| first.value.0 != Nanos::ZERO) {
        Some((&written.steps.span, "the first step must be at \"0 s\""))
    } else if steps.iter().all(|step| step.value.1.bps() == 0) {
        Some((&written.steps.span, "every step is a pause: nothing is ever delivered"))
    } else {
        let late = steps.windows(2).find(|pair| pair[0].value.0 >= pair[1].value.0);
        late.map(|pair| (&pair[1].span, "steps must ascend in time"))
    };
    if let Some((span, message)) = problem {
        let help = "write for example steps = [[\"0 s\", \"10 Mbit/s\"], [\"20 s\", \"1 Mbit/s\"]]";
        out.note_with_help(span, message, help);
        return None;
    }
    Some(steps.iter().map(|step| step.value).collect())
}

fn loss(loss: &At<Loss>, out: &mut Problems) -> Option<LossSpec> {
    let spec = match &loss.value {
        Loss::Bernoulli(p) if p.get() == 0.0 => LossSpec::None,
        Loss::Bernoulli(p) => LossSpec::Bernoulli(*p),
        Loss::Bursts(bursts) => LossSpec::GilbertElliott {
            enter_bad: bursts.enter_bad,
            leave_bad: bursts.leave_bad,
            loss_good: bursts.loss_good,
            loss_bad: bursts.loss_bad,
        },
    };
    if spec.mean() >= 1.0 {
        let help =
            "write less than \"100 %\"; for a time without delivery use outages = [[\"10 s\", \"15 s\"]]";
        out.note_with_help(&loss.span, "in the long run every packet is lost", help);
        return None;
    }
    Some(spec)
}

fn jitter(jitter: &Jitter) -> Option<JitterSpec> {
    let spec = match jitter {
        Jitter::Independent(deviation) => JitterSpec { deviation: *deviation, correlation: Nanos::ZERO },
        Jitter::Correlated(raw) => JitterSpec { deviation: raw.deviation, correlation: raw.correlation },
    };
    (spec.deviation > Nanos::ZERO).then_some(spec)
}

fn outages(periods: &Periods, out: &mut Problems) -> Option<Vec<Outage>> {
    let before = out.len();
    let mut end = Nanos::ZERO;
    for period in &periods.value {
        let (from, until) = period.value;
        if from >= until {
            out.note(&period.span, format!("this outage ends at {until}, before it begins"));
        } else if from < end {
            out.note(&period.span, "outages must ascend and not overlap");
        }
        end = until;
    }
    let outage = |period: &At<(Nanos, Nanos)>| Outage { from: period.value.0, until: period.value.1 };
    (out.len() == before).then(|| periods.value.iter().map(outage).collect())
}

/// Notes an ECN threshold that the queue is too short to reach.
pub(super) fn never_reached(threshold: &At<Queue>, queue: QueueLimit, out: &mut Problems) {
    let beyond = match (threshold.value.0, queue) {
        (QueueLimit::Packets(threshold), QueueLimit::Packets(queue)) => threshold > queue,
        (QueueLimit::Bytes(threshold), QueueLimit::Bytes(queue)) => threshold > queue,
        _ => false,
    };
    if beyond {
        out.note(&threshold.span, "`ecn_threshold` is longer than the queue: no packet is ever marked");
    }
}
