//! What a link is, as data: rate, delay, queue, loss. The state machine that acts on it is the `link` crate.

use std::sync::Arc;

use serde::Serialize;

use crate::units::{BitRate, Bytes, Nanos, Probability};

/// One unidirectional link: a queue with a wire behind it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LinkSpec {
    /// Unique within a scenario.
    pub name: String,
    /// Service rate of the queue over time.
    pub rate: RateSpec,
    /// Propagation delay behind the queue.
    pub delay: Nanos,
    /// Variation of the propagation delay; never reorders.
    pub jitter: Option<JitterSpec>,
    /// Capacity of the DropTail queue. The packet in transmission does not count.
    pub queue: QueueLimit,
    /// Mark ECN-capable packets when the queue found on arrival is at least this long (RFC 8257, section 3.1).
    pub ecn_threshold: Option<QueueLimit>,
    /// Loss on the wire: a lost packet has used queue and rate.
    pub loss: LossSpec,
    /// Periods in which every packet is lost.
    pub outages: Vec<Outage>,
}

impl LinkSpec {
    /// Whether packets come out at once and unchanged.
    pub fn is_transparent(&self) -> bool {
        self.rate == RateSpec::Unlimited
            && self.delay == Nanos::ZERO
            && self.jitter.is_none()
            && self.loss.mean() == 0.0
            && self.outages.is_empty()
    }
}

/// Length of a queue, in one of the two units in which queues are built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum QueueLimit {
    /// Waiting packets.
    Packets(u32),
    /// Waiting bytes, headers included.
    Bytes(Bytes),
}

/// The service rate of a link over time.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RateSpec {
    /// No serialisation time and no queue.
    Unlimited,
    /// Constant.
    Constant(BitRate),
    /// Piecewise constant: from each instant on, that rate. The first entry is at time 0; rate 0 is a pause.
    Steps(Vec<(Nanos, BitRate)>),
    /// exp of a Gaussian AR(1) sampled every `interval`, with the given mean and standard deviation of the rate itself
    /// and autocorrelation exp(-interval/correlation).
    LogNormal {
        /// Mean rate.
        mean: BitRate,
        /// Standard deviation divided by the mean.
        deviation: f64,
        /// Time after which the autocorrelation of the logarithm has fallen to 1/e.
        correlation: Nanos,
        /// Time between two values.
        interval: Nanos,
    },
    /// Packet-delivery opportunities as recorded by Mahimahi.
    Trace(Arc<DeliveryTrace>),
}

/// Packet-delivery opportunities in Mahimahi's format: at each listed millisecond up to 1500 bytes may leave the queue;
/// an opportunity that finds no packet is wasted; after the last line the trace starts again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DeliveryTrace {
    /// Where it came from, as written in the scenario.
    pub source: String,
    /// Milliseconds since the start, ascending, repeats allowed, the last one greater than zero.
    #[serde(skip)]
    pub opportunities_ms: Vec<u64>,
}

/// Variation of the propagation delay: a Gaussian AR(1), truncated so that the total delay is never negative.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct JitterSpec {
    /// Standard deviation of the delay.
    pub deviation: Nanos,
    /// Autocorrelation time; zero means that each packet is independent.
    pub correlation: Nanos,
}

/// Random loss of a link.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LossSpec {
    /// Only queues lose packets.
    None,
    /// Each packet independently.
    Bernoulli(Probability),
    /// Two-state Markov chain that advances once per packet (Gilbert 1960, Elliott 1963).
    GilbertElliott {
        /// Good to bad, per packet.
        enter_bad: Probability,
        /// Bad to good, per packet.
        leave_bad: Probability,
        /// Loss in the good state.
        loss_good: Probability,
        /// Loss in the bad state.
        loss_bad: Probability,
    },
}

impl LossSpec {
    /// Long-run loss probability.
    pub fn mean(&self) -> f64 {
        match *self {
            LossSpec::None => 0.0,
            LossSpec::Bernoulli(p) => p.get(),
            LossSpec::GilbertElliott { enter_bad, leave_bad, loss_good, loss_bad } => {
                let (enter, leave) = (enter_bad.get(), leave_bad.get());
                let bad = if enter + leave > 0.0 { enter / (enter + leave) } else { 0.0 };
                (1.0 - bad) * loss_good.get() + bad * loss_bad.get()
            }
        }
    }
}

/// A period in which a link delivers nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Outage {
    /// First instant of it.
    pub from: Nanos,
    /// First instant after it.
    pub until: Nanos,
}

impl RateSpec {
    /// Mean rate over `horizon`, in bit/s; infinite for [`RateSpec::Unlimited`].
    pub fn mean_bps(&self, horizon: Nanos) -> f64 {
        match self {
            RateSpec::Unlimited => f64::INFINITY,
            RateSpec::Constant(rate) => rate.bps() as f64,
            RateSpec::LogNormal { mean, .. } => mean.bps() as f64,
            RateSpec::Steps(steps) => {
                let ends = steps.iter().skip(1).map(|(at, _)| *at).chain([horizon]);
                let bits: f64 = steps
                    .iter()
                    .zip(ends)
                    .map(|(&(from, rate), until)| {
                        let until = until.min(horizon);
                        until.saturating_sub(from).as_secs_f64() * rate.bps() as f64
                    })
                    .sum();
                bits / horizon.as_secs_f64()
            }
            RateSpec::Trace(trace) => trace.mean_bps(),
        }
    }
}

impl DeliveryTrace {
    /// Bytes that one opportunity lets through.
    pub const OPPORTUNITY_BYTES: u32 = 1500;

    /// Mean rate of one pass, in bit/s.
    pub fn mean_bps(&self) -> f64 {
        let period_ms = *self.opportunities_ms.last().expect("a trace has at least one line") as f64;
        self.opportunities_ms.len() as f64 * f64::from(Self::OPPORTUNITY_BYTES) * 8.0 / (period_ms / 1e3)
    }
}
