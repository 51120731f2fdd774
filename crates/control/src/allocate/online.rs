//! EEMPTCP's problem, solved again when its estimates change.

use joulepath_model::units::Nanos;
use rand_core::Rng;

use super::allocator::Eemptcp;
use super::capacity::CapacityModel;
use super::eemptcp::CostedPath;
use super::rate::{mathis_bps, pftk_pps};
use crate::select::PathSnapshot;

/// Interval between comparisons of the estimates.
const PERIOD: Nanos = Nanos::from_secs(1);
/// Relative change of a capacity that triggers a new solution.
const MOVED: f64 = 0.1;
/// Minimum loss probability.
const LEAST_LOSS: f64 = 1e-5;

/// Solves EEMPTCP's problem again when a capacity C_r has changed by more than 10 %, at most once a
/// second.
#[derive(Clone, Debug, PartialEq)]
pub struct Resolver {
    allocator: Eemptcp,
    solved_bps: Vec<f64>,
    looked: Nanos,
}

impl Resolver {
    /// `solved_bps`: the capacities of the last solution.
    pub fn new(allocator: Eemptcp, solved_bps: Vec<f64>) -> Self {
        Resolver {
            allocator,
            solved_bps,
            looked: Nanos::ZERO,
        }
    }

    /// New shares α_r if there are any. C_r comes from the measured loss and RTT, initially from
    /// the scenario's. A path without a loss so far keeps its capacity.
    pub fn solve(
        &mut self,
        now: Nanos,
        paths: &[PathSnapshot],
        mss_bytes: f64,
        random: &mut impl Rng,
    ) -> Option<Vec<f64>> {
        if now < self.looked.saturating_add(PERIOD) {
            return None;
        }
        self.looked = now;
        let estimates = paths.iter().zip(&self.solved_bps);
        let capacities: Vec<f64> = estimates
            .map(|(path, &known)| self.capacity_bps(path, mss_bytes).unwrap_or(known))
            .collect();
        let moved = |(now, then): (&f64, &f64)| (now - then).abs() > MOVED * then;
        if !capacities.iter().zip(&self.solved_bps).any(moved) {
            return None;
        }
        let costed = |(path, &capacity_bps): (&PathSnapshot, &f64)| CostedPath {
            slope_j_per_bit: path.energy.slope_j_per_bit,
            sunk_w: path.energy.sunk_w,
            capacity_bps,
        };
        let costed: Vec<CostedPath> = paths.iter().zip(&capacities).map(costed).collect();
        self.solved_bps = capacities;
        self.allocator.shares(&costed, random).ok()
    }

    fn capacity_bps(&self, path: &PathSnapshot, mss_bytes: f64) -> Option<f64> {
        if path.loss <= 0.0 || path.srtt_s <= 0.0 {
            return None;
        }
        let loss = path.loss.max(LEAST_LOSS);
        Some(match self.allocator.capacity {
            CapacityModel::Mathis => mathis_bps(mss_bytes, path.srtt_s, loss),
            CapacityModel::Pftk => pftk_pps(path.srtt_s, path.srtt_s, loss, 1.0) * mss_bytes * 8.0,
        })
    }
}
