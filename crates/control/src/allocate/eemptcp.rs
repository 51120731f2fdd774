//! Problem (4)–(7) of 000, solved exactly.
//!
//! ```text
//!              Σ_S x_r                       Σ x_r ≥ R,   0 ≤ x_r ≤ C_r,
//!   max  ───────────────────    subject to
//!         Θ_S + Σ_S b_r x_r                  Θ_S + Σ b_r x_r ≤ E_max,      Θ_S = Σ_S θ_r
//! ```
//! The cheapest way to carry a total rate X fills the paths in order of b. Its cost is convex and
//! piecewise linear in X, so X/cost(X) is quasi-concave: filling while the marginal cost is below
//! the average cost, then clipping to the feasible interval, is optimal. 000 holds that convex
//! optimization does not apply and uses a genetic algorithm ([`super::ga`]).
//!
//! E_max is stated in words. With the θ of one radio (reading A) the problem is infeasible for the
//! paper's own paths, so C, with the θ of all, is the default.

use joulepath_controllers::MAX_SUBFLOWS;

/// Relative slack of a feasibility test, for rounding errors.
const TOLERANCE: f64 = 1e-12;

/// One path with its cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CostedPath {
    /// b_r, J/bit.
    pub slope_j_per_bit: f64,
    /// θ_r, W.
    pub sunk_w: f64,
    /// C_r, bit/s.
    pub capacity_bps: f64,
}

/// Reading of problem (4)–(7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reading {
    /// Literal: all θ count, E_max = max_r (θ_r + b_r R).
    A,
    /// As A, without the power limit (7).
    B,
    /// All interfaces on, E_max = Σθ + b_max R.
    #[default]
    C,
    /// As A, but θ_r counts only if x_r > 0, as in (2) and (3).
    D,
}

/// An instance of problem (4)–(7).
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// b, θ and C of each path.
    pub paths: Vec<CostedPath>,
    /// R, bit/s.
    pub required_bps: f64,
    /// E_max, W; may be infinite.
    pub max_power_w: f64,
    /// Whether θ_r counts only if x_r > 0.
    pub unused_sleep: bool,
}

/// Rates on the paths of a [`Problem`].
#[derive(Clone, Debug, PartialEq)]
pub struct Solution {
    /// x_r, bit/s.
    pub rates_bps: Vec<f64>,
    /// Θ + Σ b x, W.
    pub power_w: f64,
}

/// No rates reach the required rate within the capacities and the power limit.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error(
    "no split reaches {required_bps:.0} bit/s within {max_power_w:.4} W; \
     raise the limit with reading=C or drop it with reading=B"
)]
pub struct Infeasible {
    /// R, bit/s.
    pub required_bps: f64,
    /// E_max, W.
    pub max_power_w: f64,
}

impl Solution {
    /// Σ x_r, bit/s.
    pub fn total_bps(&self) -> f64 {
        self.rates_bps.iter().sum()
    }

    /// The objective, bit/J; 0 without traffic.
    pub fn bits_per_joule(&self) -> f64 {
        if self.total_bps() > 0.0 {
            self.total_bps() / self.power_w
        } else {
            0.0
        }
    }

    /// α_r = x_r / Σ x; all 0 without traffic.
    pub fn shares(&self) -> Vec<f64> {
        let total = self.total_bps();
        self.rates_bps
            .iter()
            .map(|x| if total > 0.0 { x / total } else { 0.0 })
            .collect()
    }
}

impl Problem {
    /// The problem of 000 for `paths`: R = max_r C_r, E_max by the reading.
    pub fn of_paper(paths: &[CostedPath], reading: Reading) -> Self {
        let max = |f: &dyn Fn(&CostedPath) -> f64| paths.iter().map(f).fold(0.0, f64::max);
        let required_bps = max(&|p| p.capacity_bps);
        let single = max(&|p| p.sunk_w + p.slope_j_per_bit * required_bps);
        let all_sunk: f64 = paths.iter().map(|p| p.sunk_w).sum();
        let max_power_w = match reading {
            Reading::A | Reading::D => single,
            Reading::B => f64::INFINITY,
            Reading::C => all_sunk + max(&|p| p.slope_j_per_bit) * required_bps,
        };
        Problem {
            paths: paths.to_vec(),
            required_bps,
            max_power_w,
            unused_sleep: reading == Reading::D,
        }
    }

    /// The optimum. If unused interfaces sleep, it enumerates the sets of interfaces, at most 2^8.
    ///
    /// # Errors
    /// If there is no feasible point.
    ///
    /// # Panics
    /// With more than [`MAX_SUBFLOWS`] paths.
    pub fn solve(&self) -> Result<Solution, Infeasible> {
        assert!(
            self.paths.len() <= MAX_SUBFLOWS,
            "a connection has at most {MAX_SUBFLOWS} subflows"
        );
        let all = (1u32 << self.paths.len()) - 1;
        let sets = if self.unused_sleep {
            1..=all
        } else {
            all..=all
        };
        sets.filter_map(|set| self.solve_on(set))
            .max_by(|a, b| a.bits_per_joule().total_cmp(&b.bits_per_joule()))
            .ok_or(self.infeasible())
    }

    pub(crate) fn infeasible(&self) -> Infeasible {
        Infeasible {
            required_bps: self.required_bps,
            max_power_w: self.max_power_w,
        }
    }

    /// The optimum with exactly the interfaces of mask `on` switched on: greedy, O(n log n).
    pub fn solve_on(&self, on: u32) -> Option<Solution> {
        let mut order: Vec<usize> = (0..self.paths.len())
            .filter(|i| on & (1 << i) != 0)
            .collect();
        order.sort_by(|&i, &j| {
            self.paths[i]
                .slope_j_per_bit
                .total_cmp(&self.paths[j].slope_j_per_bit)
        });
        let mut rates_bps = vec![0.0; self.paths.len()];
        let mut total = 0.0;
        let mut power_w: f64 = order.iter().map(|&i| self.paths[i].sunk_w).sum();
        for i in order {
            let CostedPath {
                slope_j_per_bit: slope,
                capacity_bps,
                ..
            } = self.paths[i];
            let pays = total == 0.0 || slope * total < power_w;
            let wanted = if pays {
                capacity_bps
            } else {
                (self.required_bps - total).max(0.0)
            };
            let rate = wanted
                .min(capacity_bps)
                .min(affordable_bps(self.max_power_w - power_w, slope));
            rates_bps[i] = rate;
            total += rate;
            power_w += slope * rate;
        }
        let enough = total >= self.required_bps * (1.0 - TOLERANCE);
        let within = power_w <= self.max_power_w * (1.0 + TOLERANCE);
        (enough && within).then_some(Solution { rates_bps, power_w })
    }

    /// Objective of given rates, bit/J; `None` if they are infeasible. θ counts as `unused_sleep`
    /// says.
    pub fn evaluate(&self, rates_bps: &[f64]) -> Option<f64> {
        let total: f64 = rates_bps.iter().sum();
        let power_w = self.power_w(rates_bps);
        let fits = self
            .paths
            .iter()
            .zip(rates_bps)
            .all(|(p, &x)| (0.0..=p.capacity_bps).contains(&x));
        (fits && total >= self.required_bps && power_w <= self.max_power_w).then(|| total / power_w)
    }

    /// Θ + Σ b x of given rates, W.
    pub fn power_w(&self, rates_bps: &[f64]) -> f64 {
        let cost = |(p, &x): (&CostedPath, &f64)| {
            let on = !self.unused_sleep || x > 0.0;
            p.slope_j_per_bit * x + if on { p.sunk_w } else { 0.0 }
        };
        self.paths.iter().zip(rates_bps).map(cost).sum()
    }
}

/// Maximum rate for a power budget, bit/s.
fn affordable_bps(budget_w: f64, slope_j_per_bit: f64) -> f64 {
    match budget_w.max(0.0) {
        _ if slope_j_per_bit == 0.0 => f64::INFINITY,
        budget => budget / slope_j_per_bit,
    }
}
