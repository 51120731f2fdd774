//! One link in each direction, from the keys of a path or a shared link.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::super::Transport;
use super::super::error::Problems;
use super::super::forms::{Aqm, Jitter, Loss, Rate};
use super::super::lengths::Queue;
use super::super::parts::{RawAggregate, RawPolicer, RawReorder, RawSteps};
use super::super::raw::{RawLink, RawPath, RawUp};
use super::super::read::At;
use super::check::{moving, positive, usable_queue};
use super::discipline::{self, Managed};
use super::signal;
use crate::network::{DeliveryTrace, JitterSpec, LinkSpec, LossSpec, Outage, QueueLimit, RateSpec};
use crate::units::{BitRate, Dbm, Nanos};

/// Looks up traces.
type Traces<'f> = &'f dyn Fn(&str) -> Result<DeliveryTrace, String>;

/// The queue of a link if its scenario sets none.
const DEFAULT_QUEUE: QueueLimit = QueueLimit::Packets(100);

/// Keys common to paths and shared links.
pub(super) struct Written<'r> {
    rate: Option<&'r At<Rate>>,
    delay: Nanos,
    jitter: Option<&'r Jitter>,
    queue: Option<&'r At<Queue>>,
    aqm: Option<&'r At<Aqm>>,
    ecn_threshold: Option<&'r At<Queue>>,
    loss: Option<&'r At<Loss>>,
    outages: &'r Periods,
    policer: Option<&'r RawPolicer>,
    reorder: Option<&'r RawReorder>,
    aggregate: Option<&'r RawAggregate>,
    up: &'r RawUp,
}

/// Periods, each with its position.
type Periods = At<Vec<At<(Nanos, Nanos)>>>;

impl<'r> Written<'r> {
    pub(super) fn path(raw: &'r RawPath) -> Self {
        Written {
            rate: raw.rate.as_ref(),
            delay: raw.delay.unwrap_or_default(),
            jitter: raw.jitter.as_ref(),
            queue: raw.queue.as_ref(),
            aqm: raw.aqm.as_ref(),
            ecn_threshold: raw.ecn_threshold.as_ref(),
            loss: raw.loss.as_ref(),
            outages: &raw.outages,
            policer: raw.policer.as_ref(),
            reorder: raw.reorder.as_ref(),
            aggregate: raw.aggregate.as_ref(),
            up: &raw.up,
        }
    }

    pub(super) fn link(raw: &'r RawLink) -> Self {
        Written {
            rate: Some(&raw.rate),
            delay: raw.delay,
            jitter: raw.jitter.as_ref(),
            queue: raw.queue.as_ref(),
            aqm: raw.aqm.as_ref(),
            ecn_threshold: raw.ecn_threshold.as_ref(),
            loss: raw.loss.as_ref(),
            outages: &raw.outages,
            policer: raw.policer.as_ref(),
            reorder: raw.reorder.as_ref(),
            aggregate: raw.aggregate.as_ref(),
            up: &raw.up,
        }
    }

    /// The other direction: absent keys have the same value, except that there is no random loss,
    /// policing, reordering or aggregation. If its queue is managed differently, the limit and the
    /// threshold are not copied, either.
    fn reverse(&self) -> Written<'r> {
        let same = self.up.aqm.is_none();
        Written {
            rate: self.up.rate.as_ref().or(self.rate),
            delay: self.up.delay.unwrap_or(self.delay),
            jitter: self.up.jitter.as_ref().or(self.jitter),
            queue: self.up.queue.as_ref().or(self.queue.filter(|_| same)),
            aqm: self.up.aqm.as_ref().or(self.aqm),
            ecn_threshold: self
                .up
                .ecn_threshold
                .as_ref()
                .or(self.ecn_threshold.filter(|_| same)),
            loss: self.up.loss.as_ref(),
            outages: self.up.outages.as_ref().unwrap_or(self.outages),
            policer: self.up.policer.as_ref(),
            reorder: self.up.reorder.as_ref(),
            aggregate: self.up.aggregate.as_ref(),
            up: self.up,
        }
    }
}

/// Builds links one by one and reads each trace once.
pub(super) struct Builder<'f> {
    transport: Option<&'f Transport>,
    traces: Traces<'f>,
    known: BTreeMap<String, Result<Arc<DeliveryTrace>, String>>,
    /// The signal of the path whose links are built, without shadowing.
    pub(super) signal: Option<Vec<(Nanos, Dbm)>>,
    /// The rates by signal of its links, down and up.
    pub(super) rates: [Option<Vec<(Dbm, BitRate)>>; 2],
    /// True while the link from the device is built.
    upward: bool,
}

impl<'f> Builder<'f> {
    pub(super) fn new(transport: Option<&'f Transport>, traces: Traces<'f>) -> Self {
        let (signal, rates) = Default::default();
        Builder {
            transport,
            traces,
            known: BTreeMap::new(),
            signal,
            rates,
            upward: false,
        }
    }

    /// Both directions of a link.
    pub(super) fn pair(
        &mut self,
        name: &str,
        written: &Written<'_>,
        out: &mut Problems,
    ) -> Option<(LinkSpec, LinkSpec)> {
        self.upward = false;
        let down = self.link(format!("{name}.down"), written, out);
        self.upward = true;
        let up = self.link(format!("{name}.up"), &written.reverse(), out);
        Some((down?, up?))
    }

    fn link(
        &mut self,
        name: String,
        written: &Written<'_>,
        out: &mut Problems,
    ) -> Option<LinkSpec> {
        let delay = written.delay;
        let jitter = written.jitter.and_then(jitter);
        let loss = written
            .loss
            .map_or(Some(LossSpec::None), |loss| self::loss(loss, out));
        let outages = outages(written.outages, out);
        let transport = self.transport;
        let policer = discipline::each(written.policer, |raw| {
            discipline::policer(raw, transport, out)
        });
        let reorder = discipline::each(written.reorder, |raw| discipline::reorder(raw, out));
        let aggregate = discipline::each(written.aggregate, |raw| {
            discipline::aggregate(raw, transport, out)
        });
        // Without a rate, the keys of the queue apply to the other direction only.
        let (rate, managed) = match written.rate {
            None => (
                Some(RateSpec::Unlimited),
                Some(Managed::drop_tail(DEFAULT_QUEUE)),
            ),
            Some(rate) => (self.rate(rate, out), self.managed(written, out)),
        };
        let Managed {
            queue,
            aqm,
            ecn_threshold,
        } = managed?;
        Some(LinkSpec {
            name,
            rate: rate?,
            delay,
            jitter,
            policer: policer?,
            queue,
            aqm,
            ecn_threshold,
            loss: loss?,
            outages: outages?,
            reorder: reorder?.flatten(),
            aggregate: aggregate?,
        })
    }

    /// The queue of a link with a rate.
    fn managed(&self, written: &Written<'_>, out: &mut Problems) -> Option<Managed> {
        let aqm = discipline::each(written.aqm, |aqm| discipline::aqm(&aqm.value, out));
        let queue = written.queue.map(|queue| self.queue(queue, out));
        let aqm = aqm?.flatten();
        let Some(aqm) = aqm else {
            let queue = queue.unwrap_or(Some(DEFAULT_QUEUE));
            if let (Some(threshold), Some(queue)) = (written.ecn_threshold, queue) {
                never_reached(threshold, queue, out);
            }
            let ecn_threshold = written.ecn_threshold.map(|threshold| threshold.value.0);
            return Some(Managed {
                queue: queue?,
                aqm: None,
                ecn_threshold,
            });
        };
        if let Some(threshold) = written.ecn_threshold {
            let message = format!("a queue under `{}` has marks of its own", aqm.name());
            let help = "leave `ecn_threshold` out, or write aqm = { kind = \"codel\", ce_threshold = \"1 ms\" }";
            out.note_with_help(&threshold.span, message, help);
        }
        let queue = queue.unwrap_or(Some(QueueLimit::Packets(aqm.default_limit_packets())))?;
        if let (QueueLimit::Bytes(_), Some(written)) = (queue, written.queue) {
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
        Some(Managed {
            queue,
            aqm: Some(aqm),
            ecn_threshold: None,
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
            Rate::BySignal(written) => {
                let table = signal::rates(&written.by_signal, self.upward, out)?;
                let Some(series) = &self.signal else {
                    let message = "a rate `by_signal` follows from the signal of its path";
                    let help = "write for example signal = \"-95 dBm\" in the same [[path]]";
                    out.note_with_help(&rate.span, message, help);
                    return None;
                };
                let steps = crate::signal::rates(&table, series);
                self.rates[usize::from(self.upward)] = Some(table);
                Some(RateSpec::Steps(steps))
            }
            Rate::Trace(written) => self.trace(&written.trace, out).map(RateSpec::Trace),
        }
    }

    fn trace(&mut self, file: &At<String>, out: &mut Problems) -> Option<Arc<DeliveryTrace>> {
        let traces = self.traces;
        let found = self.known.entry(file.value.clone()).or_insert_with(|| {
            let trace = traces(&file.value)?;
            usable(&trace)?;
            Ok(Arc::new(DeliveryTrace {
                source: file.value.clone(),
                ..trace
            }))
        });
        match found {
            Ok(trace) => Some(Arc::clone(trace)),
            Err(why) => {
                out.note(
                    &file.span,
                    format!("the trace `{}` cannot be used: {why}", file.value),
                );
                None
            }
        }
    }
}

/// Checks what the type of a trace guarantees.
fn usable(trace: &DeliveryTrace) -> Result<(), String> {
    let instants = &trace.opportunities_ms;
    match instants.last() {
        None => Err("it is empty".into()),
        Some(0) => Err("it lasts no time: the last line must be greater than 0".into()),
        Some(_) if !instants.is_sorted() => Err("its lines do not ascend".into()),
        Some(_) => Ok(()),
    }
}

fn steps(written: &RawSteps, out: &mut Problems) -> Option<Vec<(Nanos, BitRate)>> {
    let steps = &written.steps.value;
    let problem = if steps
        .first()
        .is_none_or(|first| first.value.0 != Nanos::ZERO)
    {
        Some((&written.steps.span, "the first step must be at \"0 s\""))
    } else if steps.iter().all(|step| step.value.1.bps() == 0) {
        Some((
            &written.steps.span,
            "every step is a pause: nothing is ever delivered",
        ))
    } else {
        let late = steps
            .windows(2)
            .find(|pair| pair[0].value.0 >= pair[1].value.0);
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
        let help = "write less than \"100 %\"; for a time without delivery use outages = [[\"10 s\", \"15 s\"]]";
        out.note_with_help(&loss.span, "in the long run every packet is lost", help);
        return None;
    }
    Some(spec)
}

fn jitter(jitter: &Jitter) -> Option<JitterSpec> {
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

fn outages(periods: &Periods, out: &mut Problems) -> Option<Vec<Outage>> {
    let before = out.len();
    let mut end = Nanos::ZERO;
    for period in &periods.value {
        let (from, until) = period.value;
        if from >= until {
            out.note(
                &period.span,
                format!("this outage ends at {until}, before it begins"),
            );
        } else if from < end {
            out.note(&period.span, "outages must ascend and not overlap");
        }
        end = until;
    }
    let outage = |period: &At<(Nanos, Nanos)>| Outage {
        from: period.value.0,
        until: period.value.1,
    };
    (out.len() == before).then(|| periods.value.iter().map(outage).collect())
}

/// Notes an ECN threshold that is longer than the queue.
pub(super) fn never_reached(threshold: &At<Queue>, queue: QueueLimit, out: &mut Problems) {
    let beyond = match (threshold.value.0, queue) {
        (QueueLimit::Packets(threshold), QueueLimit::Packets(queue)) => threshold > queue,
        (QueueLimit::Bytes(threshold), QueueLimit::Bytes(queue)) => threshold > queue,
        _ => false,
    };
    if beyond {
        out.note(
            &threshold.span,
            "`ecn_threshold` is longer than the queue: no packet is ever marked",
        );
    }
}
