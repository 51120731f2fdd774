//! What a link is, as data: rate, delay, queue, loss. The state machine that acts on it is the `link` crate.

use std::sync::Arc;

use serde::Serialize;

use crate::aqm::AqmSpec;
use crate::units::{BitRate, Bytes, Nanos, Probability};

/// One unidirectional link: a queue and the wire after it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LinkSpec {
    /// Unique within a scenario.
    pub name: String,
    /// Service rate of the queue over time.
    pub rate: RateSpec,
    /// Propagation delay after the queue.
    pub delay: Nanos,
    /// Variation of the propagation delay; never reorders.
    pub jitter: Option<JitterSpec>,
    /// Drops what exceeds a rate and a burst before it comes to the queue.
    pub policer: Option<PolicerSpec>,
    /// Capacity of the queue. The packet in transmission does not count.
    pub queue: QueueLimit,
    /// How the queue is managed; none: DropTail.
    pub aqm: Option<AqmSpec>,
    /// Mark ECN-capable packets when the queue found on arrival is at least this long (RFC 8257, section
    /// 3.1).
    pub ecn_threshold: Option<QueueLimit>,
    /// Loss on the wire: a lost packet has used queue and rate.
    pub loss: LossSpec,
    /// Periods in which every packet is lost.
    pub outages: Vec<Outage>,
    /// Packets that others overtake on the wire.
    pub reorder: Option<ReorderSpec>,
    /// Packets come out in bursts.
    pub aggregate: Option<AggregateSpec>,
}

impl LinkSpec {
    /// Whether packets come out at once and unchanged.
    pub fn is_transparent(&self) -> bool {
        self.rate == RateSpec::Unlimited
            && self.delay == Nanos::ZERO
            && self.jitter.is_none()
            && self.loss.mean() == 0.0
            && self.outages.is_empty()
            && self.policer.is_none()
            && self.reorder.is_none()
            && self.aggregate.is_none()
    }

    /// What the link lets through in the long run at `rate_bps` of its transmitter, bit/s: no more than its
    /// policer does.
    pub fn policed_bps(&self, rate_bps: f64) -> f64 {
        self.policer.map_or(rate_bps, |policer| rate_bps.min(policer.rate.bps() as f64))
    }
}

/// A short-range channel that stations share by CSMA/CA (IEEE 802.11, distributed coordination function).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChannelSpec {
    /// Unique among paths, links and channels.
    pub name: String,
    /// Rate at which frames are sent after their PHY header.
    pub rate: BitRate,
    /// Intervals, windows and headers.
    pub timing: ChannelTiming,
    /// Frames that a station holds, the one it sends included.
    pub queue: u32,
    /// Transmissions of a frame before it is given up.
    pub retry_limit: u32,
    /// Loss of a frame that did not collide.
    pub frame_error: Probability,
}

/// Intervals, contention windows and headers of a CSMA/CA channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ChannelTiming {
    /// Backoff counters count slots of this length.
    pub slot: Nanos,
    /// Between a frame and its ACK.
    pub sifs: Nanos,
    /// Idle time before counters run.
    pub difs: Nanos,
    /// Idle time before that, after a frame that nobody could read: EIFS − DIFS.
    pub unread: Nanos,
    /// Counters are drawn from 0 to this at first.
    pub cw_min: u32,
    /// And from 0 to this after many collisions.
    pub cw_max: u32,
    /// Preamble and PHY header of a frame.
    pub phy_header: Nanos,
    /// MAC header and checksum of a frame.
    pub mac_header: Bytes,
    /// An ACK, its PHY header included.
    pub ack: Nanos,
    /// From one station to another.
    pub propagation: Nanos,
}

impl ChannelTiming {
    /// The presets: name and timing.
    pub const PRESETS: [(&str, ChannelTiming); 3] =
        [("802.11b", Self::DSSS), ("802.11g", Self::ERP_OFDM), ("bianchi2000-fhss", Self::BIANCHI_FHSS)];

    /// IEEE 802.11b with long preamble, ACKs at 1 Mbit/s: DSSS PHY characteristics (slot, SIFS, CWmin,
    /// CWmax), preamble and PLCP header of 144 + 48 µs, MAC header, FCS and LLC/SNAP of 24 + 4 + 8 B, ACK of
    /// 14 B, EIFS = SIFS + DIFS + ACK.
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

    /// IEEE 802.11g without 802.11b stations: ERP-OFDM, short slot, preamble and SIGNAL of 20 µs and signal
    /// extension of 6 µs, ACK of 14 B at 24 Mbit/s (28 + 6 µs), in EIFS at 6 Mbit/s (44 + 6 µs). That a frame
    /// ends with a symbol of 4 µs is left out.
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

    /// Bianchi, IEEE JSAC 18(3), 2000, table II, with W = 32 and m = 3; after a collision only DIFS (eq.
    /// 14).
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

    /// The preset of that name.
    pub fn preset(name: &str) -> Option<Self> {
        Self::PRESETS.iter().find(|(known, _)| *known == name).map(|&(_, timing)| timing)
    }
}

impl ChannelSpec {
    /// How long a frame of `size` bytes, the headers of IP and TCP included, is under way, its PHY and MAC
    /// headers included.
    pub fn airtime(&self, size: u32) -> Nanos {
        let bits = (u64::from(size) + self.timing.mac_header.0) * 8;
        let sent_ns = (u128::from(bits) * 1_000_000_000).div_ceil(u128::from(self.rate.bps())) as u64;
        Nanos(self.timing.phy_header.0 + sent_ns + self.timing.propagation.0)
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
    /// exp of a Gaussian AR(1) sampled every `interval`, with the given mean and standard deviation of the
    /// rate itself and autocorrelation exp(-interval/correlation).
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

/// Packet-delivery opportunities in Mahimahi's format: at each listed millisecond up to 1500 bytes may leave
/// the queue; an opportunity that finds no packet is wasted; after the last line the trace starts again.
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

/// A token bucket that drops what does not conform: a packet passes if the bucket holds as many bytes as it
/// has, and takes them out (RFC 2697 without its yellow).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PolicerSpec {
    /// Rate at which tokens come.
    pub rate: BitRate,
    /// What the bucket holds at most, and at time 0.
    pub burst: Bytes,
}

/// Packets that others overtake on their way.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ReorderSpec {
    /// Part of the packets that are held back.
    pub share: Probability,
    /// How far they are held back.
    pub depth: ReorderDepth,
}

/// How far a packet is held back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ReorderDepth {
    /// By this time.
    Time(Nanos),
    /// Until this many later packets have arrived (the reordering extent of RFC 4737, section 4.2), and no
    /// longer than `at_most`, because fewer may follow.
    Packets {
        /// How many.
        packets: u32,
        /// Longest time.
        at_most: Nanos,
    },
}

/// Packets that arrive in bursts, as those of an A-MPDU on a wireless LAN do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct AggregateSpec {
    /// What has come is released once in this time.
    pub period: Nanos,
    /// So much is released at once, before the period is over.
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
