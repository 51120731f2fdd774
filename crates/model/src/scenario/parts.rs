//! The smaller tables and the words of a scenario as they are written: workloads, rates, losses, jitter,
//! energy models.

use super::Direction;
use super::declare::table;
use super::error::Problems;
use super::lengths::{Depth, Queue};
use super::read::At;
use crate::energy::SunkWhile;
use crate::history::{Estimate, PathHistory};
use crate::units::{BitRate, Bytes, JoulesPerBit, Nanos, Probability, Watts};

table! {
    /// Bulk: always more data.
    struct RawBulk in "a bulk workload" of kind "bulk" {
        /// Which way the data goes.
        direction: Direction = "download",
    }
}

table! {
    /// One file, then close.
    struct RawFile in "a file workload" of kind "file" {
        /// Which way the data goes.
        direction: Direction = "download",
        /// Size of the file.
        size: At<Bytes>,
    }
}

table! {
    /// Messages at the instants of a Poisson process.
    struct RawMessages in "a messages workload" of kind "messages" {
        /// Which way the data goes.
        direction: Direction = "download",
        /// Mean time between two messages.
        mean_gap: At<Nanos>,
        /// Size of each message.
        size: At<Bytes>,
    }
}

table! {
    /// Constant bit rate while on, silent while off.
    struct RawStream in "a stream workload" of kind "stream" {
        /// Which way the data goes.
        direction: Direction = "download",
        /// Rate while on.
        rate: At<BitRate>,
        /// Time between two writes.
        interval: At<Nanos> = "100 ms",
        /// Length of an on-period; absent: always on.
        on: Option<At<Nanos>>,
        /// Length of an off-period.
        off: Nanos = "0 s",
    }
}

table! {
    /// The device asks, the server answers, the device thinks, and asks again.
    struct RawRequests in "a requests workload" of kind "requests" {
        /// Which way the answers go.
        direction: Direction = "download",
        /// Size of an answer.
        size: At<Bytes>,
        /// Time from the end of an answer to the next request.
        think: Nanos = "0 s",
    }
}

table! {
    /// Piecewise constant rate.
    struct RawSteps in "a rate with steps" {
        /// Pairs of an instant and the rate from then on; the first instant is "0 s".
        steps: At<Vec<At<(Nanos, BitRate)>>>,
    }
}

table! {
    /// Log-normally varying rate.
    struct RawVarying in "a varying rate" {
        /// Mean rate.
        mean: At<BitRate>,
        /// Standard deviation relative to the mean.
        deviation: Probability,
        /// Time after which the autocorrelation has fallen to 1/e.
        correlation: Nanos = "1 s",
        /// Time between two values.
        interval: At<Nanos> = "100 ms",
    }
}

table! {
    /// Rate from a recorded trace.
    struct RawTrace in "a rate from a trace" {
        /// File of packet-delivery opportunities in Mahimahi's format, relative to the scenario.
        trace: At<String>,
    }
}

table! {
    /// Loss in bursts: a chain of two states that advances once per packet.
    struct RawBurstLoss in "a loss in bursts" {
        /// Good to bad, per packet.
        enter_bad: Probability,
        /// Bad to good, per packet.
        leave_bad: Probability,
        /// Loss in the good state.
        loss_good: Probability = "0 %",
        /// Loss in the bad state.
        loss_bad: Probability,
    }
}

table! {
    /// Correlated variation of the delay.
    struct RawJitter in "jitter" {
        /// Standard deviation of the delay.
        deviation: Nanos,
        /// Autocorrelation time; zero: each packet is independent.
        correlation: Nanos = "0 s",
    }
}

table! {
    /// Estimates from earlier use of a network. They are log-normal: a spread is the factor of one standard
    /// deviation.
    struct RawHistory in "a history" {
        /// Rate while more waited.
        rate: Option<BitRate>,
        /// Of the rate.
        rate_spread: At<f64> = 1.5,
        /// Smoothed RTT.
        rtt: Option<At<Nanos>>,
        /// Of the RTT.
        rtt_spread: At<f64> = 1.5,
        /// Loss events per packet.
        loss: Option<At<Probability>>,
        /// Of the loss.
        loss_spread: At<f64> = 1.5,
        /// Time since then, days.
        age_days: At<f64> = 0.0,
    }
}

impl RawHistory {
    /// The estimates; `None` after noting what keeps them from being any.
    pub(super) fn resolve(&self, out: &mut Problems) -> Option<PathHistory> {
        let mut spread = |spread: &At<f64>| {
            let is_factor = spread.value >= 1.0;
            if !is_factor {
                let help = "1 says that it never varies, 2 that it is mostly within half and double";
                out.note_with_help(&spread.span, "a spread is a factor of at least 1", help);
            }
            is_factor.then_some(spread.value)
        };
        let spreads = [spread(&self.rate_spread), spread(&self.rtt_spread), spread(&self.loss_spread)];
        let (mut fits, mut above) = (true, |holds: bool, span: &super::error::Span, what: &str| {
            if !holds {
                out.note(span, format!("{what} in a history is above 0: leave it out if it is not known"));
            }
            holds
        });
        if let Some(rtt) = &self.rtt {
            fits &= above(rtt.value > Nanos::ZERO, &rtt.span, "an RTT");
        }
        if let Some(loss) = &self.loss {
            fits &= above(loss.value.get() > 0.0, &loss.span, "a loss");
        }
        if self.age_days.value < 0.0 {
            out.note(&self.age_days.span, "an age is not negative");
            fits = false;
        }
        let [Some(rate_spread), Some(rtt_spread), Some(loss_spread)] = spreads else { return None };
        let estimate = |median: f64, spread: f64| Estimate { median, spread };
        fits.then(|| PathHistory {
            rate_bps: self.rate.map(|rate| estimate(rate.bps() as f64, rate_spread)),
            rtt_s: self.rtt.as_ref().map(|rtt| estimate(rtt.value.as_secs_f64(), rtt_spread)),
            loss: self.loss.as_ref().map(|loss| estimate(loss.value.get(), loss_spread)),
            age_days: self.age_days.value,
        })
    }
}

table! {
    /// One FIFO under CoDel (RFC 8289).
    struct RawCodel in "an AQM" of kind "codel" {
        /// Acceptable standing queue, as a sojourn time.
        target: At<Nanos> = "5 ms",
        /// Time above the target before the first drop.
        interval: At<Nanos> = "100 ms",
        /// Mark ECN-capable packets in place of dropping them.
        ecn: bool = false,
        /// Mark ECN-capable packets that waited longer than this; absent: never.
        ce_threshold: Option<At<Nanos>>,
    }
}

table! {
    /// A queue per flow, each under CoDel (RFC 8290).
    struct RawFqCodel in "an AQM" of kind "fq-codel" {
        /// Acceptable standing queue, as a sojourn time.
        target: At<Nanos> = "5 ms",
        /// Time above the target before the first drop.
        interval: At<Nanos> = "100 ms",
        /// Mark ECN-capable packets in place of dropping them.
        ecn: bool = true,
        /// Mark ECN-capable packets that waited longer than this; absent: never.
        ce_threshold: Option<At<Nanos>>,
        /// Queues that flows are hashed to.
        flows: At<u32> = 1024,
        /// What a queue may send in its turn.
        quantum: At<Bytes> = "1514 B",
        /// What may wait in all queues, besides `queue`.
        memory_limit: At<Bytes> = "32 MiB",
        /// Most packets that are dropped at once from the longest queue when there is no room.
        drop_batch: At<u32> = 64,
    }
}

table! {
    /// One FIFO under PIE (RFC 8033).
    struct RawPie in "an AQM" of kind "pie" {
        /// Queueing delay that is aimed at.
        target: At<Nanos> = "15 ms",
        /// Time between two updates of the drop probability.
        tupdate: At<Nanos> = "15 ms",
        /// Weight of the delay's distance from the target, in sixteenths of a hertz.
        alpha: At<u32> = 2,
        /// Weight of the delay's growth, in sixteenths of a hertz.
        beta: At<u32> = 20,
        /// Drop small packets with a probability in proportion to their size.
        bytemode: bool = false,
        /// Mark ECN-capable packets while the probability is at most 10 %.
        ecn: bool = false,
    }
}

table! {
    /// A token bucket that drops what exceeds it.
    struct RawPolicer in "a policer" {
        /// Rate of the tokens.
        rate: At<BitRate>,
        /// What the bucket holds.
        burst: At<Bytes>,
    }
}

table! {
    /// Packets that others overtake.
    struct RawReorder in "a reordering" {
        /// Part of the packets that are held back.
        share: At<Probability>,
        /// By how many packets or by how much time.
        depth: At<Depth>,
        /// A depth in packets ends after this time, if fewer follow.
        at_most: At<Nanos> = "100 ms",
    }
}

table! {
    /// Packets that come in bursts.
    struct RawAggregate in "an aggregation" {
        /// What has come is released once in this time.
        period: At<Nanos>,
        /// So much is released at once.
        size: At<Queue> = "64 packets",
    }
}

table! {
    /// A constant power for a fixed time.
    struct RawStage in "a stage" {
        /// Mean power.
        power: Watts,
        /// How long.
        duration: Nanos,
    }
}

table! {
    /// An interface's energy model: a profile, changed or not, or all its numbers.
    struct RawEnergy in "an energy model" {
        /// The profile that the other keys change.
        profile: Option<At<String>>,
        /// Where the numbers come from, for people; without a profile.
        origin: Option<At<String>>,
        /// Which model; absent: the profile's, or linear.
        model: Option<At<EnergyKind>>,
        /// Energy of received traffic.
        per_mbps: Option<At<JoulesPerBit>>,
        /// Energy of sent traffic; absent in a linear model: none.
        up_per_mbps: Option<At<JoulesPerBit>>,
        /// Power besides: θ of a linear model, β of an RRC machine.
        active: Option<At<Watts>>,
        /// Linear: when `active` burns; absent: always.
        sunk_while: Option<At<SunkWhile>>,
        /// RRC: time without a packet until the tail begins.
        inactivity: Option<At<Nanos>>,
        /// RRC: from idle to active.
        promotion: Option<At<RawStage>>,
        /// RRC: the tail, stage by stage.
        tail: Option<At<Vec<RawStage>>>,
        /// RRC: mean power when idle. Slotted: power in slots without traffic.
        idle: Option<At<Watts>>,
        /// Slotted: length of a slot.
        slot: Option<At<Nanos>>,
    }
}

/// Which energy model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EnergyKind {
    /// P = b x + θ.
    Linear,
    /// Radio resource control machine.
    Rrc,
    /// Cost per slot (003).
    Slotted,
}

/// What a relay passes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RelayWord {
    /// Packets.
    Ip,
    /// What arrives on a subflow that ends there.
    Tcp,
}

/// How a queue is managed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AqmKind {
    DropTail,
    Codel,
    FqCodel,
    Pie,
}

/// The kinds of topology.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TopologyWord {
    FatTree,
    Vl2,
    Bcube,
    Vpc,
}

/// How a host's network is attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Medium {
    /// By cable.
    Wired,
    /// By radio.
    Wifi,
}

/// When cross traffic sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CrossKind {
    /// Evenly spaced packets.
    Constant,
    /// Bursts.
    Pareto,
}
