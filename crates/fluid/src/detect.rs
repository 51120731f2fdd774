//! How often DWC's detection couples subflows that share no link.
//!
//! A loss of i couples j if j has lost within the longer RTT T before it, which events at Poisson
//! instants of rate ν_j do with the probability 1 − e^(−ν_j T), or if j's queueing delay exceeds
//! half of its maximum, in the part h_j of the time. Three losses in a row of either subflow
//! without one of these signs separate the pair. So with s, the probability of a sign at a loss of
//! the pair, it is coupled for 1 − (1 − s)³ of the time.

use joulepath_controllers::formula::{Law, Path};
use libm::exp;

use crate::network::Price;

/// What the detection sees of one subflow.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Seen {
    pub(crate) rtt_s: f64,
    /// ν: loss events per second.
    pub(crate) losses_per_s: f64,
    /// h: part of the time in which over half of the buffer waits.
    pub(crate) queued: f64,
}

/// Part of the time in which the detection couples `one` and `other`.
pub(crate) fn coupled(one: &Seen, other: &Seen) -> f64 {
    let within_s = one.rtt_s.max(other.rtt_s);
    let all = one.losses_per_s + other.losses_per_s;
    if all <= 0.0 {
        return 0.0;
    }
    // The part of the losses that is `of`'s, without a sign of the other.
    let unseen = |of: &Seen, other: &Seen| {
        of.losses_per_s / all * exp(-other.losses_per_s * within_s) * (1.0 - other.queued)
    };
    let miss = unseen(one, other) + unseen(other, one);
    // `DWC_MISS_LIMIT` of `cc/dwc.h` is 3.
    1.0 - miss * miss * miss
}

/// Part of the time in which over half of a link's buffer waits, while `queue` packets wait on
/// average. A full sawtooth takes B/2 of the range W/(2n), four times the part of B above its mean.
pub(crate) fn queued(price: &Price, queue: f64) -> f64 {
    match *price {
        Price::DropTail { knee, ramp } if knee > 0.0 => {
            let at_knee = (ramp / (4.0 * (ramp - knee).max(f64::MIN_POSITIVE))).min(1.0);
            at_knee * (queue / knee).clamp(0.0, 1.0)
        }
        _ => 0.0,
    }
}

/// δ_r of `law`, averaged over what the detection says of the subflows from `next` on. They share no
/// link with r unless their group is r's.
pub(crate) fn growth(law: Law, paths: &mut [Path], seen: &[Seen], r: usize, next: usize) -> f64 {
    let (own, n) = (paths[r].group, paths.len());
    let Some(k) = (next..n).find(|&k| paths[k].group != own) else {
        return law.growth(paths, r);
    };
    let apart = growth(law, paths, seen, r, k + 1);
    let group = std::mem::replace(&mut paths[k].group, own);
    let together = growth(law, paths, seen, r, k + 1);
    paths[k].group = group;
    let part = coupled(&seen[r], &seen[k]);
    (1.0 - part) * apart + part * together
}
