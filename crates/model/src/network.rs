//! A link, as data: rate, delay, queue, loss. The `link` crate has the state machine that acts on
//! it.

use std::sync::Arc;

use serde::Serialize;

use crate::aqm::AqmSpec;
use crate::series::{self, Column};
use crate::units::{BitRate, Bytes, Nanos, Probability};

/// One unidirectional link: a queue and the wire after it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LinkSpec {
    /// Unique within a scenario.
    pub name: String,
    /// Service rate of the queue over time.
    pub rate: RateSpec,
    /// Propagation delay after the queue; if it changes, the least.
    pub delay: Nanos,
    /// How the propagation delay changes. Packets do not overtake each other when it falls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delays: Option<Arc<DelaySteps>>,
    /// Variation of the propagation delay; it never reorders packets.
    pub jitter: Option<JitterSpec>,
    /// Token bucket in front of the queue.
    pub policer: Option<PolicerSpec>,
    /// Capacity of the queue. The packet in transmission does not count.
    pub queue: QueueLimit,
    /// Queue management; none: DropTail.
    pub aqm: Option<AqmSpec>,
    /// An ECN-capable packet is marked if it finds a queue of at least this length (RFC 8257,
    /// section 3.1).
    pub ecn_threshold: Option<QueueLimit>,
    /// An ECN-capable packet is marked with this probability.
    pub mark: Probability,
    /// Loss on the wire: a lost packet has used queue and rate.
    pub loss: LossSpec,
    /// Periods in which every packet is lost.
    pub outages: Vec<Outage>,
    /// Packets that are held back on the wire so that later packets overtake them.
    pub reorder: Option<ReorderSpec>,
    /// Release of packets in bursts.
    pub aggregate: Option<AggregateSpec>,
}

impl LinkSpec {
    /// A link with a DropTail queue that loses packets only there.
    pub fn new(name: String, rate: RateSpec, delay: Nanos, queue: QueueLimit) -> Self {
        LinkSpec {
            name,
            rate,
            delay,
            delays: None,
            jitter: None,
            policer: None,
            queue,
            aqm: None,
            ecn_threshold: None,
            mark: Probability::default(),
            loss: LossSpec::None,
            outages: Vec::new(),
            reorder: None,
            aggregate: None,
        }
    }

    /// True if packets come out at once and unchanged.
    pub fn is_transparent(&self) -> bool {
        self.rate == RateSpec::Unlimited
            && self.delay == Nanos::ZERO
            && self.delays.is_none()
            && self.jitter.is_none()
            && self.loss.mean() == 0.0
            && self.outages.is_empty()
            && self.policer.is_none()
            && self.reorder.is_none()
            && self.aggregate.is_none()
    }

    /// Greatest propagation delay, without jitter.
    pub fn greatest_delay(&self) -> Nanos {
        let delays = self.delays.as_ref();
        delays.map_or(self.delay, |delays| delays.greatest)
    }

    /// True if packets are lost or marked by chance, not only at a full queue. PIE and DualPI2 draw, too.
    pub fn draws_fates(&self) -> bool {
        self.loss != LossSpec::None
            || self.mark.get() > 0.0
            || self.aqm.is_some_and(|aqm| aqm.draws())
    }

    /// True if the link may mark packets of flows with ECN, besides what its `aqm` marks.
    pub fn marks(&self) -> bool {
        self.ecn_threshold.is_some() || self.mark.get() > 0.0
    }

    /// Long-run throughput if the transmitter has `rate_bps`, bit/s: at most the policer's rate.
    pub fn policed_bps(&self, rate_bps: f64) -> f64 {
        self.policer
            .map_or(rate_bps, |policer| rate_bps.min(policer.rate.bps() as f64))
    }
}

/// A short-range channel that stations share by CSMA/CA (IEEE 802.11, distributed coordination
/// function).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChannelSpec {
    /// Unique among paths, links and channels.
    pub name: String,
    /// Rate of a frame after its PHY header.
    pub rate: BitRate,
    /// Intervals, windows and headers.
    pub timing: ChannelTiming,
    /// Frames that a station can hold, including the frame in transmission.
    pub queue: u32,
    /// Transmissions of a frame before the station gives it up.
    pub retry_limit: u32,
    /// Loss of a frame that does not collide.
    pub frame_error: Probability,
}

/// Intervals, contention windows and headers of a CSMA/CA channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ChannelTiming {
    /// Length of the slots that backoff counters count.
    pub slot: Nanos,
    /// Time between a frame and its ACK.
    pub sifs: Nanos,
    /// Idle time before counters run.
    pub difs: Nanos,
    /// Additional idle time after a frame that nobody could decode: EIFS − DIFS.
    pub unread: Nanos,
    /// Initial contention window: counters are drawn from 0 to this.
    pub cw_min: u32,
    /// Largest contention window, after many collisions.
    pub cw_max: u32,
    /// Preamble and PHY header of a frame.
    pub phy_header: Nanos,
    /// MAC header and checksum of a frame.
    pub mac_header: Bytes,
    /// Duration of an ACK, including its PHY header.
    pub ack: Nanos,
    /// Propagation delay between stations.
    pub propagation: Nanos,
}

impl ChannelTiming {
    /// Presets by name.
    pub const PRESETS: [(&str, ChannelTiming); 3] = [
        ("802.11b", Self::DSSS),
        ("802.11g", Self::ERP_OFDM),
        ("bianchi2000-fhss", Self::BIANCHI_FHSS),
    ];

    /// IEEE 802.11b with long preamble, ACKs at 1 Mbit/s: DSSS PHY characteristics (slot, SIFS,
    /// CWmin, CWmax), preamble and PLCP header of 144 + 48 µs, MAC header, FCS and LLC/SNAP of 24 +
    /// 4 + 8 B, ACK of 14 B, EIFS = SIFS + DIFS + ACK.
    const DSSS: Self = ChannelTiming {
        slot: Nanos::from_micros(20),
        sifs: Nanos::from_micros(10),
        difs: Nanos::from_micros(50),
        unread: Nanos::from_micros(10 + 192 + 112),
        cw_min: 31,
        cw_max: 1023,
        phy_header: Nanos::from_micros(192),
        mac_header: Bytes(36),
        ack: Nanos::from_micros(192 + 112),
        propagation: Nanos::from_micros(1),
    };

    /// IEEE 802.11g without 802.11b stations: ERP-OFDM, short slot, preamble and SIGNAL of 20 µs
    /// and signal extension of 6 µs, ACK of 14 B at 24 Mbit/s (28 + 6 µs), in EIFS at 6 Mbit/s (44
    /// + 6 µs). The model omits the rounding of frames to symbols of 4 µs.
    const ERP_OFDM: Self = ChannelTiming {
        slot: Nanos::from_micros(9),
        sifs: Nanos::from_micros(10),
        difs: Nanos::from_micros(28),
        unread: Nanos::from_micros(10 + 44 + 6),
        cw_min: 15,
        cw_max: 1023,
        phy_header: Nanos::from_micros(20 + 6),
        mac_header: Bytes(36),
        ack: Nanos::from_micros(28 + 6),
        propagation: Nanos::from_micros(1),
    };

    /// Bianchi, IEEE JSAC 18(3), 2000, table II, with W = 32 and m = 3. After a collision stations
    /// wait only DIFS (eq. 14).
    const BIANCHI_FHSS: Self = ChannelTiming {
        slot: Nanos::from_micros(50),
        sifs: Nanos::from_micros(28),
        difs: Nanos::from_micros(128),
        unread: Nanos::ZERO,
        cw_min: 31,
        cw_max: 255,
        phy_header: Nanos::from_micros(128),
        mac_header: Bytes(34),
        ack: Nanos::from_micros(112 + 128),
        propagation: Nanos::from_micros(1),
    };

    /// The preset `name`.
    pub fn preset(name: &str) -> Option<Self> {
        Self::PRESETS
            .iter()
            .find(|(known, _)| *known == name)
            .map(|&(_, timing)| timing)
    }
}

impl ChannelSpec {
    /// Time on the air of a frame of `size` bytes, including IP, TCP, MAC and PHY headers; `size`
    /// covers IP and TCP.
    pub fn airtime(&self, size: u32) -> Nanos {
        let bits = (u64::from(size) + self.timing.mac_header.0) * 8;
        let sent_ns =
            (u128::from(bits) * 1_000_000_000).div_ceil(u128::from(self.rate.bps())) as u64;
        Nanos(self.timing.phy_header.0 + sent_ns + self.timing.propagation.0)
    }
}

/// Length of a queue, in packets or bytes.
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
    /// Piecewise constant: each rate applies from its instant on. The first entry is at time 0;
    /// rate 0 is a pause.
    Steps(Vec<(Nanos, BitRate)>),
    /// exp of a Gaussian AR(1) sampled every `interval`. The rate has the given mean and standard
    /// deviation, and autocorrelation exp(-interval/correlation).
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

/// Packet-delivery opportunities in Mahimahi's format: at each listed millisecond up to 1500 bytes
/// may leave the queue. An opportunity that finds no packet is wasted. After the last line the
/// trace starts again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DeliveryTrace {
    /// Name in the scenario.
    pub source: String,
    /// Milliseconds since the start, ascending, repeats allowed, the last one greater than zero.
    #[serde(skip)]
    pub opportunities_ms: Vec<u64>,
}

/// A propagation delay that changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DelaySteps {
    /// Path of the recording, relative to the scenario, if the delay was recorded.
    pub source: Option<String>,
    /// Delay from each instant on, the first at time 0, ascending in time. The last one holds on.
    pub steps: Vec<(Nanos, Nanos)>,
    #[serde(skip)]
    greatest: Nanos,
}

/// Readings of a delay in a file.
const DELAY: Column = Column {
    name: "delay",
    range: [0.0, 60_000.0],
    unit: "ms",
    example: "27.5",
};

impl DelaySteps {
    /// `steps` and `source` are as in the fields.
    pub fn new(source: Option<String>, steps: Vec<(Nanos, Nanos)>) -> Self {
        let all = steps.iter().map(|&(_, delay)| delay);
        DelaySteps {
            greatest: all.max().unwrap_or_default(),
            source,
            steps,
        }
    }

    /// Parses lines of a time in s and a delay in ms, as [`series::parse`].
    ///
    /// # Errors
    /// As [`series::parse`].
    pub fn parse(text: &str, source: &str) -> Result<Self, String> {
        let delay = |ms: f64| Nanos::from_secs_f64(ms / 1e3);
        let readings = series::parse(text, DELAY)?.into_iter();
        let steps = readings.map(|(at, ms)| (at, delay(ms))).collect();
        Ok(DelaySteps::new(Some(source.into()), steps))
    }

    /// The least delay.
    pub fn least(&self) -> Nanos {
        let all = self.steps.iter().map(|&(_, delay)| delay);
        all.min().unwrap_or_default()
    }

    /// The delay at an instant.
    pub fn at(&self, at: Nanos) -> Nanos {
        let next = self.steps.partition_point(|&(from, _)| from <= at);
        self.steps[next.saturating_sub(1)].1
    }
}

/// Variation of the propagation delay: a Gaussian AR(1), truncated so that the total delay is never
/// negative.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct JitterSpec {
    /// Standard deviation of the delay.
    pub deviation: Nanos,
    /// Autocorrelation time; zero means that each packet is independent.
    pub correlation: Nanos,
}

/// A token bucket that drops excess packets. A packet passes if the bucket holds as many bytes as
/// it has, and removes them (RFC 2697 without yellow).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PolicerSpec {
    /// Rate of the tokens.
    pub rate: BitRate,
    /// Capacity of the bucket, which is full at time 0.
    pub burst: Bytes,
}

/// Packets that are held back so that later packets overtake them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ReorderSpec {
    /// Share of the packets that are held back.
    pub share: Probability,
    /// How far they are held back.
    pub depth: ReorderDepth,
}

/// How far a packet is held back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ReorderDepth {
    /// For this time.
    Time(Nanos),
    /// Until this many later packets have arrived (the reordering extent of RFC 4737, section 4.2),
    /// at most for `at_most`, because fewer may follow.
    Packets {
        /// Number of packets.
        packets: u32,
        /// Longest time.
        at_most: Nanos,
    },
}

/// Packets that arrive in bursts, as A-MPDUs do on a wireless LAN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct AggregateSpec {
    /// Waiting packets leave once per period.
    pub period: Nanos,
    /// A burst of this size leaves before its period is over.
    pub size: QueueLimit,
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

impl From<Probability> for LossSpec {
    /// Each packet independently.
    fn from(probability: Probability) -> Self {
        if probability.get() == 0.0 {
            LossSpec::None
        } else {
            LossSpec::Bernoulli(probability)
        }
    }
}

impl LossSpec {
    /// Long-run loss probability.
    pub fn mean(&self) -> f64 {
        match *self {
            LossSpec::None => 0.0,
            LossSpec::Bernoulli(p) => p.get(),
            LossSpec::GilbertElliott {
                enter_bad,
                leave_bad,
                loss_good,
                loss_bad,
            } => {
                let (enter, leave) = (enter_bad.get(), leave_bad.get());
                let bad = if enter + leave > 0.0 {
                    enter / (enter + leave)
                } else {
                    0.0
                };
                (1.0 - bad) * loss_good.get() + bad * loss_bad.get()
            }
        }
    }
}

/// A period in which every packet is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Outage {
    /// Start, inclusive.
    pub from: Nanos,
    /// End, exclusive.
    pub until: Nanos,
}

impl RateSpec {
    /// Mean rate over `horizon`, bit/s; infinite for [`RateSpec::Unlimited`].
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

    /// The lowest rate except pauses; `None` if packets take no time or the rate is random.
    pub fn least(&self) -> Option<BitRate> {
        match self {
            RateSpec::Constant(rate) => Some(*rate),
            RateSpec::Steps(steps) => steps
                .iter()
                .map(|(_, rate)| *rate)
                .filter(|rate| rate.bps() > 0)
                .min(),
            RateSpec::Unlimited | RateSpec::LogNormal { .. } | RateSpec::Trace(_) => None,
        }
    }
}

impl DeliveryTrace {
    /// Bytes per opportunity.
    pub const OPPORTUNITY_BYTES: u32 = 1500;

    /// Mean rate of one pass through the trace, bit/s.
    pub fn mean_bps(&self) -> f64 {
        let period_ms = *self
            .opportunities_ms
            .last()
            .expect("a trace has at least one line") as f64;
        self.opportunities_ms.len() as f64 * f64::from(Self::OPPORTUNITY_BYTES) * 8.0
            / (period_ms / 1e3)
    }
}
