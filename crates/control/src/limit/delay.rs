//! A stream with a deadline keeps radios awake.
//!
//! Data written while the stream is on must be carried within `d`. With a write every `g`, two
//! successive uses of radios are at most L = g + d apart. After a use radio r is in its tail until
//! the tail or the gap ends: in a gap of length ℓ it burns at least T_r(ℓ), the tail's energy of
//! the first ℓ above idle. Gaps are disjoint, so
//!
//! ```text
//!   mean power  ≥  Σ idle_r  +  on · min_r min_{ℓ ≤ L} T_r(ℓ)/ℓ  +  R · min_r b_r
//! ```
//! with `on` the part of the time covered by gaps within on-periods, and b_r the energy of the
//! traffic alone. T_r is piecewise linear: the minimum of T_r(ℓ)/ℓ is at the end of a stage, or at
//! L.
//!
//! Messages come at random, λ per second. Let e(ℓ) = min_r min_{x ≤ ℓ} T_r(x)/x: a gap of length ℓ
//! burns at least ℓ e(ℓ), and e does not grow. In a gap of length ℓ > d no message may come for ℓ −
//! d, so the gap is at most d plus one interval y between two messages. Merging two such gaps
//! within one interval burns no more. So the best gaps are one of length y + d for each interval y,
//! the longest first, until all time is covered: the intervals y ≥ x, where
//! ```text
//!   λ ∫_x^∞ (y + d) λ e^{−λy} dy  =  e^{−λx} (1 + λ (x + d))  =  1
//!   mean power  ≥  Σ idle_r  +  λ ∫_x^∞ (y + d) e(y + d) λ e^{−λy} dy  +  R · min_r b_r
//! ```
//! on average over the arrivals. Before the first use there is no tail: at most 2/λ + d of the time
//! is not covered.

use joulepath_model::energy::{InterfaceModel, RrcModel};

use super::problem::{DeviceProblem, Optimum};

/// Number of equally probable gaps in the sum for random gaps.
const GAPS: u32 = 1000;
/// Bisection steps for the length of the shortest gap.
const BISECTIONS: u32 = 60;

/// Offered data, and the deadline of each piece.
#[derive(Clone, Copy, Debug)]
pub(super) struct Offered {
    /// Mean rate of the data, bit/s.
    pub(super) bps: f64,
    /// Arrival of the data.
    pub(super) instants: Instants,
    /// Time within which it must be carried, s.
    pub(super) deadline_s: f64,
}

/// Arrival process of the data.
#[derive(Clone, Copy, Debug)]
pub(super) enum Instants {
    /// Regular writes while a stream is on.
    Even(Stream),
    /// Random writes, `per_s` per second, during `seconds`, which are `on_part` of the run.
    Random {
        per_s: f64,
        seconds: f64,
        on_part: f64,
    },
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Stream {
    /// Part of the time during which it is on.
    pub(super) on_part: f64,
    /// Length of an on-period, s.
    pub(super) on_s: f64,
    /// Time between two writes, s.
    pub(super) interval_s: f64,
}

/// `optimum` of a connection with these interfaces, raised to the power that the deadline requires.
pub(super) fn bounded(
    offered: Offered,
    interfaces: &[&InterfaceModel],
    problem: &DeviceProblem<'_>,
    optimum: Optimum,
) -> Optimum {
    let base_w = problem.device.shared_base.0;
    let least = |values: &mut dyn Iterator<Item = f64>| values.fold(f64::INFINITY, f64::min);
    // e(ℓ) over all radios.
    let awake_w = |longest_s: f64| {
        least(&mut interfaces.iter().map(|model| match model {
            InterfaceModel::Rrc(rrc) => least_awake_w(rrc, base_w, longest_s),
            InterfaceModel::Linear { .. } | InterfaceModel::Slotted { .. } => 0.0,
        }))
    };
    let gaps_w = match offered.instants {
        Instants::Even(stream) => {
            let longest_s = stream.interval_s + offered.deadline_s;
            stream.on_part * (1.0 - longest_s / stream.on_s).max(0.0) * awake_w(longest_s)
        }
        Instants::Random {
            per_s,
            seconds,
            on_part,
        } => {
            let covered = 1.0 - (2.0 / per_s + offered.deadline_s) / seconds;
            on_part * covered.max(0.0) * least_random_w(per_s, offered.deadline_s, awake_w)
        }
    };
    let slope = least(&mut problem.costs.iter().map(|cost| cost.slope_j_per_bit));
    let idle_w: f64 = problem.costs.iter().map(|cost| cost.unused_w).sum();
    // Data beyond the optimum's goodput is not carried.
    let carried_bps = offered.bps.min(optimum.goodput_bps);
    let sharing = problem.device.sharing_factor.min(1.0);
    let least_w = sharing * (idle_w + gaps_w + carried_bps * slope);
    Optimum {
        power_w: optimum.power_w.max(least_w),
        ..optimum
    }
}

/// λ ∫_x^∞ (y + d) e(y + d) λ e^{−λy} dy, W, from below: the shortest gap of each of `GAPS` equally
/// probable pieces.
fn least_random_w(per_s: f64, deadline_s: f64, awake_w: impl Fn(f64) -> f64) -> f64 {
    let covered = |x: f64| libm::exp(-per_s * x) * (1.0 + per_s * (x + deadline_s));
    // `covered` falls from 1 + λ d at 0 and is below 1 at 2 d + 20/λ.
    let (mut low_s, mut high_s) = (0.0, 2.0 * deadline_s + 20.0 / per_s);
    for _ in 0..BISECTIONS {
        let middle_s = 0.5 * (low_s + high_s);
        if covered(middle_s) > 1.0 {
            low_s = middle_s
        } else {
            high_s = middle_s
        }
    }
    let burnt_j = |piece: u32| {
        let gap_s =
            high_s - libm::log(1.0 - f64::from(piece) / f64::from(GAPS)) / per_s + deadline_s;
        gap_s * awake_w(gap_s)
    };
    let mean_j = (0..GAPS).map(burnt_j).sum::<f64>() / f64::from(GAPS);
    per_s * libm::exp(-per_s * high_s) * mean_j
}

/// Minimum mean power above idle between two uses at most `longest_s` apart, W.
fn least_awake_w(rrc: &RrcModel, base_w: f64, longest_s: f64) -> f64 {
    let (mut at_s, mut energy_j, mut least_w) = (0.0, 0.0, f64::INFINITY);
    for stage in &rrc.tail {
        let length_s = stage.duration.as_secs_f64().min(longest_s - at_s);
        if length_s <= 0.0 {
            break;
        }
        at_s += length_s;
        energy_j += length_s * (stage.power.0 + base_w - rrc.idle.0).max(0.0);
        least_w = least_w.min(energy_j / at_s);
    }
    // The power above idle is 0 after the tail.
    least_w = least_w.min(energy_j / longest_s);
    if least_w.is_finite() { least_w } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use joulepath_model::energy::profile;

    use super::*;

    fn rrc(name: &str) -> RrcModel {
        match profile(name).unwrap().model {
            InterfaceModel::Rrc(rrc) => rrc,
            other => panic!("{other:?}"),
        }
    }

    /// LTE of Huang et al.: 1.060 W for 11.576 s, idle at 31.1 mW (DRX). With uses at most 1 s
    /// apart it never sleeps: 1.060 W less idle. At most 100 s apart: 11.576 s of that per 100 s.
    #[test]
    fn a_tail_longer_than_the_gaps_never_ends() {
        let lte = rrc("lte-huang2012");
        let extra = lte.tail[0].power.0 - lte.idle.0;
        assert!((least_awake_w(&lte, 0.0, 1.0) - extra).abs() < 1e-12);
        let tail_s = lte.tail[0].duration.as_secs_f64();
        assert!((least_awake_w(&lte, 0.0, 100.0) - extra * tail_s / 100.0).abs() < 1e-12);
        // A shared base burns for the same time.
        assert!((least_awake_w(&lte, 0.5, 1.0) - extra - 0.5).abs() < 1e-12);
    }

    /// λ = 2, d = 0.5: e^{−2x} (2 + 2x) = 1 at x = 0.57310. A tail of 0.1 s at 1 W is shorter than
    /// any gap: λ e^{−λx} = 0.63569 gaps per second, 0.1 J each. An endless tail: 1 W all the time.
    #[test]
    fn random_messages_leave_the_longest_gaps() {
        let short = least_random_w(2.0, 0.5, |gap_s| 0.1 / gap_s);
        assert!((short - 0.063_569).abs() < 2e-5, "{short}");
        let long = least_random_w(2.0, 0.5, |_| 1.0);
        assert!(long <= 1.0 && long > 0.99, "{long}");
    }

    /// Any bundling that carries random messages in time burns at least the bound. Here each
    /// message waits for a random part of the deadline, and all waiting messages go together.
    #[test]
    fn no_bundling_of_random_messages_is_cheaper() {
        use joulepath_model::random::{Domain, Stream};
        let mut draws = Stream::new(6, Domain::Workload, 0);
        for name in [
            "lte-huang2012",
            "wifi-huang2012",
            "3g-huang2012",
            "5g-lowband-2021",
        ] {
            let radio = rrc(name);
            for bundles in 0..40 {
                let per_s = libm::exp(6.0 * draws.uniform() - 3.0);
                let deadline_s = 0.05 + 2.0 * draws.uniform();
                let least_w =
                    least_random_w(per_s, deadline_s, |gap_s| least_awake_w(&radio, 0.0, gap_s));
                let patience = if bundles % 2 == 0 {
                    1.0
                } else {
                    draws.uniform()
                };
                let (mut now_s, mut used_s, mut burnt_j) = (0.0, 0.0, 0.0);
                while now_s * per_s < 20_000.0 {
                    now_s = f64::max(now_s - libm::log(1.0 - draws.uniform()) / per_s, used_s);
                    // All messages up to this instant go together. The next interval is memoryless.
                    now_s += patience * deadline_s;
                    let gap_s = now_s - used_s;
                    let mut left_s = gap_s;
                    for stage in &radio.tail {
                        let in_it = left_s.min(stage.duration.as_secs_f64());
                        burnt_j += in_it * (stage.power.0 - radio.idle.0);
                        left_s -= in_it;
                    }
                    used_s = now_s;
                }
                let mean_w = burnt_j / now_s;
                // 20 000 messages: their mean rate is accurate within 3 %.
                assert!(
                    mean_w >= 0.97 * least_w,
                    "{name} {per_s} {deadline_s} {patience}: {mean_w} < {least_w}"
                );
            }
        }
    }

    /// No sequence of gaps up to L burns less than the bound, for any tail.
    #[test]
    fn no_sequence_of_gaps_is_cheaper() {
        use joulepath_model::random::{Domain, Stream};
        let mut draws = Stream::new(5, Domain::Workload, 0);
        for name in [
            "lte-huang2012",
            "wifi-huang2012",
            "3g-huang2012",
            "5g-lowband-2021",
        ] {
            let radio = rrc(name);
            for _ in 0..200 {
                let longest_s = 0.05 + 20.0 * draws.uniform();
                let least_w = least_awake_w(&radio, 0.0, longest_s);
                let (mut burnt_j, mut passed_s) = (0.0, 0.0);
                for _ in 0..50 {
                    let mut left_s = longest_s * draws.uniform();
                    passed_s += left_s;
                    for stage in &radio.tail {
                        let in_it = left_s.min(stage.duration.as_secs_f64());
                        burnt_j += in_it * (stage.power.0 - radio.idle.0);
                        left_s -= in_it;
                    }
                }
                assert!(
                    burnt_j >= least_w * passed_s * (1.0 - 1e-12),
                    "{name} {longest_s}"
                );
            }
        }
    }
}
