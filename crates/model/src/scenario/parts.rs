//! The smaller tables and the words of a scenario as they are written: workloads, rates, losses,
//! jitter, energy models.

use super::Direction;
use super::declare::table;
use super::error::Problems;
use super::lengths::{Depth, Queue, RatesBySignal};
use super::read::At;
use crate::energy::SunkWhile;
use crate::history::{Estimate, PathHistory};
use crate::units::{BitRate, Bytes, Dbm, JoulesPerBit, Nanos, Probability, Watts};

table! {
    /// Bulk: the sender always has data.
    struct RawBulk in "a bulk workload" of kind "bulk" {
        /// Direction of the data.
        direction: Direction = "download",
    }
}

table! {
    /// One file, then close.
    struct RawFile in "a file workload" of kind "file" {
        /// Direction of the data.
        direction: Direction = "download",
        /// Size of the file.
        size: At<Bytes>,
    }
}

table! {
    /// Messages at the instants of a Poisson process.
    struct RawMessages in "a messages workload" of kind "messages" {
        /// Direction of the data.
        direction: Direction = "download",
        /// Mean time between two messages.
        mean_gap: At<Nanos>,
        /// Size of each message.
        size: At<Bytes>,
        /// The longest time that the application lets a message wait. When it has passed for the
        /// oldest, all waiting messages are sent together.
        tolerance: At<Nanos> = "0 s",
    }
}

table! {
    /// Constant bit rate while on, silent while off.
    struct RawStream in "a stream workload" of kind "stream" {
        /// Direction of the data.
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
    /// The device sends a request, receives the answer, thinks, and repeats.
    struct RawRequests in "a requests workload" of kind "requests" {
        /// Direction of the answers.
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
        /// Pairs of an instant and the rate from that instant on; the first instant is "0 s".
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
        /// File of packet-delivery opportunities in Mahimahi's format. The path is relative to the
        /// scenario.
        trace: At<String>,
    }
}

table! {
    /// Rate that follows from the path's `signal`.
    struct RawBySignal in "a rate by signal" {
        /// Pairs of a signal and the rate at it, ascending; linear between two,
        /// constant outside. Or a profile: its fastest measured rates.
        by_signal: At<RatesBySignal>,
    }
}

table! {
    /// Delay that changes at instants.
    struct RawDelaySteps in "a delay with steps" {
        /// Pairs of an instant and the delay from that instant on; the first instant is "0 s".
        steps: At<Vec<At<(Nanos, Nanos)>>>,
    }
}

table! {
    /// Recorded delay.
    struct RawDelayTrace in "a delay from a trace" {
        /// File with a time in s and a one-way delay in ms per line; the last one holds on. The path
        /// is relative to the scenario.
        trace: At<String>,
    }
}

table! {
    /// Piecewise constant signal.
    struct RawSignalSteps in "a signal with steps" {
        /// Pairs of an instant and the signal from that instant on; the first instant is "0 s".
        steps: At<Vec<At<(Nanos, Dbm)>>>,
    }
}

table! {
    /// Recorded signal.
    struct RawSignalTrace in "a signal from a trace" {
        /// File with a time in s and a signal in dBm per line; the last one holds on. The path is
        /// relative to the scenario.
        trace: At<String>,
    }
}

table! {
    /// Signal of a device that moves past stations: log-distance path loss with shadowing.
    struct RawWalk in "a walk" {
        /// Distance from the station along the way at the start, m.
        distance_m: At<f64>,
        /// Speed, m/s; negative: back towards the station.
        speed_mps: At<f64>,
        /// Signal at 1 m.
        at_1m: Dbm,
        /// Path loss exponent.
        exponent: At<f64> = 3.0,
        /// Distance between the station and the way, m.
        aside_m: At<f64> = 0.0,
        /// Distance between two stations along the way, m; absent: there is one.
        spacing_m: Option<At<f64>>,
        /// Standard deviation of the shadowing, dB.
        sigma_db: At<f64> = 0.0,
        /// Distance after which the autocorrelation of the shadowing has fallen to 1/e, m.
        correlation_m: At<f64> = 20.0,
        /// Time between two values.
        interval: At<Nanos> = "500 ms",
    }
}

table! {
    /// Loss in bursts: a Markov chain of two states that advances once per packet.
    struct RawBurstLoss in "a loss in bursts" {
        /// Probability per packet of changing from the good to the bad state.
        enter_bad: Probability,
        /// Probability per packet of changing from the bad to the good state.
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
        /// Autocorrelation time; zero: each packet's delay is independent.
        correlation: Nanos = "0 s",
    }
}

table! {
    /// Estimates from earlier use of a network. They are log-normal: a spread is the factor of one
    /// standard deviation.
    struct RawHistory in "a history" {
        /// Median rate while more data was waiting.
        rate: Option<BitRate>,
        /// Spread of the rate.
        rate_spread: At<f64> = 1.5,
        /// Median smoothed RTT.
        rtt: Option<At<Nanos>>,
        /// Spread of the RTT.
        rtt_spread: At<f64> = 1.5,
        /// Median number of loss events per packet.
        loss: Option<At<Probability>>,
        /// Spread of the loss.
        loss_spread: At<f64> = 1.5,
        /// Age of the estimates, days.
        age_days: At<f64> = 0.0,
    }
}

impl RawHistory {
    /// The estimates, or `None` after noting a problem.
    pub(super) fn resolve(&self, out: &mut Problems) -> Option<PathHistory> {
        let mut spread = |spread: &At<f64>| {
            let is_factor = spread.value >= 1.0;
            if !is_factor {
                let help =
                    "1 says that it never varies, 2 that it is mostly within half and double";
                out.note_with_help(&spread.span, "a spread is a factor of at least 1", help);
            }
            is_factor.then_some(spread.value)
        };
        let spreads = [
            spread(&self.rate_spread),
            spread(&self.rtt_spread),
            spread(&self.loss_spread),
        ];
        let (mut fits, mut above) = (
            true,
            |holds: bool, span: &super::error::Span, what: &str| {
                if !holds {
                    out.note(
                        span,
                        format!("{what} in a history is above 0: leave it out if it is not known"),
                    );
                }
                holds
            },
        );
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
        let [Some(rate_spread), Some(rtt_spread), Some(loss_spread)] = spreads else {
            return None;
        };
        let estimate = |median: f64, spread: f64| Estimate { median, spread };
        fits.then(|| PathHistory {
            rate_bps: self
                .rate
                .map(|rate| estimate(rate.bps() as f64, rate_spread)),
            rtt_s: self
                .rtt
                .as_ref()
                .map(|rtt| estimate(rtt.value.as_secs_f64(), rtt_spread)),
            loss: self
                .loss
                .as_ref()
                .map(|loss| estimate(loss.value.get(), loss_spread)),
            age_days: self.age_days.value,
        })
    }
}

table! {
    /// One FIFO under CoDel (RFC 8289).
    struct RawCodel in "an AQM" of kind "codel" {
        /// Acceptable sojourn time of a standing queue.
        target: At<Nanos> = "5 ms",
        /// Time above the target before the first drop.
        interval: At<Nanos> = "100 ms",
        /// Mark ECN-capable packets instead of dropping them.
        ecn: bool = false,
        /// Mark ECN-capable packets that waited longer than this; absent: never.
        ce_threshold: Option<At<Nanos>>,
    }
}

table! {
    /// A queue per flow, each under CoDel (RFC 8290).
    struct RawFqCodel in "an AQM" of kind "fq-codel" {
        /// Acceptable sojourn time of a standing queue.
        target: At<Nanos> = "5 ms",
        /// Time above the target before the first drop.
        interval: At<Nanos> = "100 ms",
        /// Mark ECN-capable packets instead of dropping them.
        ecn: bool = true,
        /// Mark ECN-capable packets that waited longer than this; absent: never.
        ce_threshold: Option<At<Nanos>>,
        /// Number of queues that flows are hashed to.
        flows: At<u32> = 1024,
        /// Bytes that a queue may send per round.
        quantum: At<Bytes> = "1514 B",
        /// Limit on the bytes in all queues, in addition to `queue`.
        memory_limit: At<Bytes> = "32 MiB",
        /// Largest number of packets dropped at once from the longest queue on overflow.
        drop_batch: At<u32> = 64,
    }
}

table! {
    /// One FIFO under PIE (RFC 8033).
    struct RawPie in "an AQM" of kind "pie" {
        /// Target queueing delay.
        target: At<Nanos> = "15 ms",
        /// Time between two updates of the drop probability.
        tupdate: At<Nanos> = "15 ms",
        /// Weight of the delay's deviation from the target, in sixteenths of a hertz.
        alpha: At<u32> = 2,
        /// Weight of the delay's growth, in sixteenths of a hertz.
        beta: At<u32> = 20,
        /// Scale the drop probability with the size of the packet.
        bytemode: bool = false,
        /// Mark ECN-capable packets instead of dropping them while the probability is at most 10 %.
        ecn: bool = false,
    }
}

table! {
    /// A queue for L4S packets, ECT(1), beside one for all others, coupled (RFC 9332).
    struct RawDualPi2 in "an AQM" of kind "dualpi2" {
        /// Target queueing delay of the classic queue.
        target: At<Nanos> = "15 ms",
        /// Time between two updates of the base probability p'.
        tupdate: At<Nanos> = "16 ms",
        /// Weight of the delay's deviation from the target, Hz.
        alpha: At<f64> = 0.16,
        /// Weight of the delay's growth, Hz.
        beta: At<f64> = 3.2,
        /// k: L4S packets are marked with probability k p', the others dropped or marked with p'².
        coupling: At<f64> = 2.0,
        /// Mark L4S packets that waited longer than this.
        step_threshold: Nanos = "1 ms",
        /// Share of the link that the classic queue keeps while both queues are full.
        classic_protection: Probability = "10 %",
    }
}

table! {
    /// A token bucket that drops excess packets.
    struct RawPolicer in "a policer" {
        /// Rate of the tokens.
        rate: At<BitRate>,
        /// Capacity of the bucket.
        burst: At<Bytes>,
    }
}

table! {
    /// Reordering: some packets are held back, and later packets overtake them.
    struct RawReorder in "a reordering" {
        /// Share of the packets that are held back.
        share: At<Probability>,
        /// How far they are held back: a number of packets, or a time.
        depth: At<Depth>,
        /// Longest time for which a packet is held back, if `depth` is a number of packets.
        at_most: At<Nanos> = "100 ms",
    }
}

table! {
    /// Aggregation: packets leave in bursts.
    struct RawAggregate in "an aggregation" {
        /// Waiting packets leave once per period.
        period: At<Nanos>,
        /// A burst of this size leaves before its period is over.
        size: At<Queue> = "64 packets",
    }
}

table! {
    /// A constant power for a fixed time.
    struct RawStage in "a stage" {
        /// Mean power.
        power: Watts,
        /// Duration of the stage.
        duration: Nanos,
    }
}

table! {
    /// Energy model of an interface: a profile, a changed profile, or all numbers.
    struct RawEnergy in "an energy model" {
        /// Profile to start from; the other keys change it.
        profile: Option<At<String>>,
        /// Source of the numbers, for readers; not together with `profile`.
        origin: Option<At<String>>,
        /// Kind of model; absent: that of the profile, or linear.
        model: Option<At<EnergyKind>>,
        /// Energy of received traffic.
        per_mbps: Option<At<JoulesPerBit>>,
        /// Energy of sent traffic; absent in a linear model: none.
        up_per_mbps: Option<At<JoulesPerBit>>,
        /// Power that does not depend on the rate: θ of a linear model, β of an RRC machine.
        active: Option<At<Watts>>,
        /// Linear: when `active` is drawn; absent: always.
        sunk_while: Option<At<SunkWhile>>,
        /// RRC: time without a packet until the tail begins.
        inactivity: Option<At<Nanos>>,
        /// RRC: promotion from idle to active.
        promotion: Option<At<RawStage>>,
        /// RRC: stages of the tail, in order.
        tail: Option<At<Vec<RawStage>>>,
        /// RRC: mean power when idle. Slotted: power in slots without traffic.
        idle: Option<At<Watts>>,
        /// Slotted: length of a slot.
        slot: Option<At<Nanos>>,
    }
}

/// Kind of energy model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EnergyKind {
    /// P = b x + θ.
    Linear,
    /// Radio resource control machine.
    Rrc,
    /// Cost per slot (paper 003).
    Slotted,
}

/// Kind of relay, by what it forwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RelayWord {
    /// Packets.
    Ip,
    /// Segments of a subflow that ends at the relay.
    Tcp,
}

/// How a queue is managed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AqmKind {
    DropTail,
    Codel,
    FqCodel,
    Pie,
    DualPi2,
}

/// The kinds of topology.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TopologyWord {
    FatTree,
    Vl2,
    Bcube,
    Vpc,
}

/// How a host is attached to its network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Medium {
    /// By cable.
    Wired,
    /// By radio.
    Wifi,
}

/// Pattern of cross traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CrossKind {
    /// Evenly spaced packets.
    Constant,
    /// Packets at random instants.
    Poisson,
    /// Bursts.
    Pareto,
}
