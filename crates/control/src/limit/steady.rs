//! The best rates for constant capacities.
//!
//! ```text
//!   (a) bulk        max Σx / (P_S + Σ b x)                      Charnes–Cooper: y = t x, t > 0
//!   (b) requests    min N (P_S + Σ b x) / Σx + waiting          same rates as (a)
//!   (c) rate R      min Σ_M τ_M P_M + Σ b y                     Σ τ = 1, Σ y = R: modes M share the time
//! ```
//! One set suffices in (a) and (b): energy and bits are sums over modes, so the ratio of a mixture
//! lies between the ratios of its parts.

use microlp::{ComparisonOp, OptimizationDirection, Problem as Lp, Variable};

use super::problem::{DeviceProblem, Optimum};
use super::programme::{MEGA, solution};

impl DeviceProblem<'_> {
    /// True if capacities are constant.
    pub(super) fn is_even(&self) -> bool {
        self.slots.len() == 1 && self.slots[0].mean.is_empty()
    }

    /// Adds y_r ≤ C_r t and all bounds of a one-slot problem; `y` has the paths' indices.
    fn constrain(&self, lp: &mut Lp, t: Variable, y: &[(usize, Variable)]) {
        let peak = self.slots.iter().flat_map(|slot| &slot.peak);
        let all = self.shared.iter().chain(peak);
        self.constrain_by(lp, t, y, all.filter(|shared| !self.may_nap(shared)));
    }

    /// (a) for the set `mask`.
    pub(super) fn steady(&self, mask: u32) -> Option<Optimum> {
        let mode = self.mode(mask);
        let is_free = |&r: &usize| {
            mode.power_w == 0.0 && mode.slopes[r] == 0.0 && self.capacities_bps[r] > 0.0
        };
        if let Some(free) = self.members(mask).find(is_free) {
            // The ratio is unbounded, and the programme has no solution.
            let mut rates_bps = vec![0.0; self.costs.len()];
            rates_bps[free] = self.capacities_bps[free].min(MEGA);
            return self.optimum(rates_bps, |_| 0.0);
        }
        let mut lp = Lp::new(OptimizationDirection::Maximize);
        let t = lp.add_var(0.0, (0.0, f64::INFINITY));
        let y: Vec<_> = self
            .members(mask)
            .map(|r| (r, lp.add_var(1.0, (0.0, f64::INFINITY))))
            .collect();
        self.constrain(&mut lp, t, &y);
        self.constrain_in_order(&mut lp, mask, t, &y);
        let mut power: Vec<_> = y.iter().map(|&(r, y)| (y, mode.slopes[r] * MEGA)).collect();
        power.push((t, mode.power_w));
        lp.add_constraint(power.as_slice(), ComparisonOp::Eq, 1.0);
        let solution = solution(&lp)?;
        let t = solution.var_value(t);
        let mut rates_bps = vec![0.0; self.costs.len()];
        for (r, y) in y {
            rates_bps[r] = MEGA * solution.var_value(y) / t;
        }
        self.optimum(rates_bps, |rates| mode.power_w + dot(&mode.slopes, rates))
    }

    /// (b) for the set `mask` with its most efficient rates `steady`.
    ///
    /// Between two answers each radio that carried data stays awake, or has a tail and another
    /// promotion, if the tail is over in time. It may begin late: ACKs and repeated answers follow.
    pub(super) fn transfer(
        &self,
        mask: u32,
        steady: Optimum,
        bits: f64,
        [waiting_s, think_s]: [f64; 2],
        waits: f64,
    ) -> Optimum {
        let waiting_s = waiting_s * waits;
        let gap_j = |r: usize| {
            let cost = &self.costs[r];
            if !cost.sleeps || cost.use_j == 0.0 {
                return 0.0;
            }
            let awake_w = (cost.used_w - cost.unused_w).max(0.0);
            let awake_j = self.device.sharing_factor.min(1.0) * awake_w * think_s;
            if think_s >= cost.tail_s {
                awake_j.min(self.another_use_j(r))
            } else {
                awake_j
            }
        };
        let gaps_j: f64 = waits * self.members(mask).map(gap_j).sum::<f64>();
        let seconds = bits / steady.goodput_bps;
        let awake = self
            .members(mask)
            .filter(|&r| !self.costs[r].sleeps)
            .fold(0, |awake, r| awake | 1 << r);
        let energy_j = seconds * steady.power_w + waiting_s * self.mode(awake).power_w + gaps_j;
        let whole_s = seconds + waiting_s;
        Optimum {
            rates_bps: steady.rates_bps,
            goodput_bps: bits / whole_s,
            power_w: energy_j / whole_s,
            energy_j: Some(energy_j),
        }
    }

    /// (c): interfaces in `fixed` are used all the time, interfaces in `sleeping` in any mixture of
    /// modes.
    pub(super) fn at_rate(&self, fixed: u32, sleeping: u32, bps: f64) -> Option<Optimum> {
        let mut lp = Lp::new(OptimizationDirection::Minimize);
        let (mut time, mut total) = (vec![], vec![]);
        // If all interfaces burn while open, one of them is open.
        let rests = self.costs.iter().any(|cost| !cost.closes);
        let masks =
            (0..=self.all()).filter(|mask| mask & !sleeping == fixed && (rests || *mask != 0));
        for mask in masks {
            let mode = self.mode(mask);
            let t = lp.add_var(mode.power_w, (0.0, 1.0));
            let y: Vec<_> = self
                .members(mask)
                .map(|r| (r, lp.add_var(mode.slopes[r] * MEGA, (0.0, f64::INFINITY))))
                .collect();
            self.constrain(&mut lp, t, &y);
            time.push((t, 1.0));
            total.extend(y);
        }
        lp.add_constraint(time.as_slice(), ComparisonOp::Eq, 1.0);
        let sum: Vec<_> = total.iter().map(|&(_, y)| (y, 1.0)).collect();
        lp.add_constraint(sum.as_slice(), ComparisonOp::Eq, bps / MEGA);
        let solution = solution(&lp)?;
        let mut rates_bps = vec![0.0; self.costs.len()];
        for (r, y) in total {
            rates_bps[r] += MEGA * solution.var_value(y);
        }
        self.optimum(rates_bps, |_| solution.objective())
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
