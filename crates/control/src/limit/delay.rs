//! A stream with a deadline keeps radios awake.
//!
//! Whatever is written while the stream is on has to be carried within `d`. With a write every `g`, between
//! two instants at which any radio is used there is no more than L = g + d. After a use radio r is in its
//! tail for as long as that lasts, or until the next use: of a gap of length ℓ it burns at least T_r(ℓ),
//! the tail's energy of the first ℓ above what it burns when idle. Gaps are disjoint, so that
//!
//! ```text
//!   mean power  ≥  Σ idle_r  +  on · min_r min_{ℓ ≤ L} T_r(ℓ)/ℓ  +  R · min_r b_r
//! ```
//! with `on` the part of the time that gaps within on-periods cover, and b_r the energy of the traffic alone.
//! T_r is piecewise linear: the least of T_r(ℓ)/ℓ is at an end of a stage, or at L.

use joulepath_model::energy::{InterfaceModel, RrcModel};

use super::problem::{DeviceProblem, Optimum};

/// A stream and its deadline.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stream {
    /// What is written on average, bit/s.
    pub(super) bps: f64,
    /// Part of the time in which it is on.
    pub(super) on_part: f64,
    /// Length of an on-period, s.
    pub(super) on_s: f64,
    /// Time between two writes, s.
    pub(super) interval_s: f64,
    /// Time in which a write is carried, s.
    pub(super) deadline_s: f64,
}

/// `optimum` of a connection with these interfaces, with the power that the deadline costs at least.
pub(super) fn bounded(
    stream: Stream,
    interfaces: &[&InterfaceModel],
    problem: &DeviceProblem<'_>,
    optimum: Optimum,
) -> Optimum {
    let longest_s = stream.interval_s + stream.deadline_s;
    let covered = stream.on_part * (1.0 - longest_s / stream.on_s).max(0.0);
    let base_w = problem.device.shared_base.0;
    let awake_w = |model: &&InterfaceModel| match model {
        InterfaceModel::Rrc(rrc) => least_awake_w(rrc, base_w, longest_s),
        InterfaceModel::Linear { .. } | InterfaceModel::Slotted { .. } => 0.0,
    };
    let least = |values: &mut dyn Iterator<Item = f64>| values.fold(f64::INFINITY, f64::min);
    let awake_w = least(&mut interfaces.iter().map(awake_w));
    let slope = least(&mut problem.costs.iter().map(|cost| cost.slope_j_per_bit));
    let idle_w: f64 = problem.costs.iter().map(|cost| cost.unused_w).sum();
    // What does not fit is not carried; rates of the optimum are what fits.
    let carried_bps = stream.bps.min(optimum.goodput_bps);
    let sharing = problem.device.sharing_factor.min(1.0);
    let least_w = sharing * (idle_w + covered * awake_w + carried_bps * slope);
    Optimum { power_w: optimum.power_w.max(least_w), ..optimum }
}

/// The least mean power above idle between two uses that are at most `longest_s` apart, W.
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
    // After the tail nothing more is burnt.
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

    /// LTE of Huang et al.: 1.060 W for 11.576 s, idle at 31.1 mW (DRX). Uses at most 1 s apart find it
    /// awake: 1.060 W less idle. At most 100 s apart: 11.576 s of that in 100 s.
    #[test]
    fn a_tail_that_is_longer_than_the_gaps_never_ends() {
        let lte = rrc("lte-huang2012");
        let extra = lte.tail[0].power.0 - lte.idle.0;
        assert!((least_awake_w(&lte, 0.0, 1.0) - extra).abs() < 1e-12);
        let tail_s = lte.tail[0].duration.as_secs_f64();
        assert!((least_awake_w(&lte, 0.0, 100.0) - extra * tail_s / 100.0).abs() < 1e-12);
        // A shared base burns as long.
        assert!((least_awake_w(&lte, 0.5, 1.0) - extra - 0.5).abs() < 1e-12);
    }

    /// No sequence of gaps up to L burns less than the bound: gaps of any length, any tail.
    #[test]
    fn no_sequence_of_gaps_is_cheaper() {
        use joulepath_model::random::{Domain, Stream};
        let mut draws = Stream::new(5, Domain::Workload, 0);
        for name in ["lte-huang2012", "wifi-huang2012", "3g-huang2012", "5g-lowband-2021"] {
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
                assert!(burnt_j >= least_w * passed_s * (1.0 - 1e-12), "{name} {longest_s}");
            }
        }
    }
}
