//! The best loads of a given set of paths, by linear programming.
//!
//! ```text
//!   min  w_E E + w_T T
//!   E = K + Σ (b + β/C) n  [+ θ T]  + P_unused T + Σ idle I + P₀ A     (Radio::until_end: θ T, not β n/C)
//!   T ≥ wake + n/C            the end
//!   A ≥ wake + n/C + tail     on-time of the shared base;  A ≥ T for what burns until the end
//!   I ≥ T − (wake + n/C + tail)                                sleep before the end
//!   Σ n = N
//! ```
//! Waking later than at 0, or sending slower than at full rate, saves nothing: it only lengthens T
//! and A.

use microlp::{ComparisonOp, OptimizationDirection, Problem as Lp, SolveOutcome, Variable};

use super::device::{Device, Load, Point, members};

/// Units of the programmes: Mbit, s and J.
const MEGA: f64 = 1e6;

/// Weights of the objective.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Weights {
    pub(super) energy: f64,
    pub(super) time: f64,
}

/// Bounds of the solution.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// Payload.
    pub(super) bits: f64,
    pub(super) most_s: f64,
    pub(super) most_j: f64,
}

/// Linear programme under construction: each variable has a cost in J per unit.
struct Programme {
    lp: Lp,
    weights: Weights,
    energy: Vec<(Variable, f64)>,
}

impl Programme {
    fn var(&mut self, joules: f64, other: f64, bounds: (f64, f64)) -> Variable {
        let var = self
            .lp
            .add_var(self.weights.energy * joules + other, bounds);
        self.energy.push((var, joules));
        var
    }

    fn at_least(&mut self, terms: &[(Variable, f64)], least: f64) {
        self.lp.add_constraint(terms, ComparisonOp::Ge, least);
    }
}

impl Device {
    /// The best loads of exactly the paths in `set`; `None` if the bounds admit none.
    pub(super) fn solve(&self, set: u32, weights: Weights, bounds: Bounds) -> Option<Point> {
        let lp = Lp::new(OptimizationDirection::Minimize);
        let mut programme = Programme {
            lp,
            weights,
            energy: vec![],
        };
        let members: Vec<usize> = members(set).collect();
        let t = programme.var(
            self.power_until_end(set),
            weights.time,
            (0.0, bounds.most_s),
        );
        let a = (self.base.0 > 0.0).then(|| programme.var(self.base.0, 0.0, (0.0, f64::INFINITY)));
        let always = self.radios.iter().any(|radio| radio.active_when_unused);
        if let Some(a) = a.filter(|_| always) {
            programme.at_least(&[(a, 1.0), (t, -1.0)], 0.0);
        }
        let loads: Vec<Variable> = members
            .iter()
            .map(|&r| self.add(&mut programme, r, t, a))
            .collect();
        let sum: Vec<_> = loads.iter().map(|&load| (load, 1.0)).collect();
        programme
            .lp
            .add_constraint(sum.as_slice(), ComparisonOp::Eq, bounds.bits / MEGA);
        if bounds.most_j.is_finite() {
            let fixed: f64 = members.iter().map(|&r| self.radios[r].use_j).sum();
            let energy = programme.energy.as_slice();
            programme
                .lp
                .add_constraint(energy, ComparisonOp::Le, bounds.most_j - fixed);
        }
        let solution = match programme.lp.solve() {
            Ok(SolveOutcome::Solution(solution)) => solution,
            Ok(SolveOutcome::Interrupted(_)) => unreachable!("no time limit was set"),
            Err(_) => return None,
        };
        let mut found = vec![Load::default(); self.radios.len()];
        for (&r, &load) in members.iter().zip(&loads) {
            let bits = MEGA * solution.var_value(load).max(0.0);
            found[r] = Load {
                bits,
                busy_s: bits / self.radios[r].rate_bps,
            };
        }
        Some(Point::of(self, set, found))
    }

    /// Adds path `r`, which ends before `t` and keeps the base burning until `a`.
    fn add(
        &self,
        programme: &mut Programme,
        r: usize,
        t: Variable,
        a: Option<Variable>,
    ) -> Variable {
        let radio = &self.radios[r];
        let s_per_mbit = MEGA / radio.rate_bps;
        let sunk = if radio.until_end {
            0.0
        } else {
            radio.used_w * s_per_mbit
        };
        let n = programme.var(
            radio.slope_j_per_bit * MEGA + sunk,
            0.0,
            (0.0, f64::INFINITY),
        );
        programme.at_least(&[(t, 1.0), (n, -s_per_mbit)], radio.wake_s);
        let asleep_s = radio.wake_s + radio.tail_s;
        if let Some(a) = a.filter(|_| radio.active_when_used) {
            match radio.until_end {
                true => programme.at_least(&[(a, 1.0), (t, -1.0)], 0.0),
                false => programme.at_least(&[(a, 1.0), (n, -s_per_mbit)], asleep_s),
            }
        }
        if !radio.until_end && radio.unused_w > 0.0 {
            let idle = programme.var(radio.unused_w, 0.0, (0.0, f64::INFINITY));
            programme.at_least(&[(idle, 1.0), (t, -1.0), (n, s_per_mbit)], -asleep_s);
        }
        n
    }
}
