//! Common parts of all linear programmes of a device: sets of interfaces, their power, and the
//! bounds on rates.

use microlp::{ComparisonOp, OptimizationDirection, Problem as Lp, SolveOutcome, Variable};

use super::cost::{Besides, InterfaceCost, besides};
use super::problem::{DeviceProblem, Optimum, Shared, Slot};

/// Unit of rates in the programmes: Mbit/s, with power in W, so all numbers are near 1.
pub(super) const MEGA: f64 = 1e6;
/// A set must be better by this relative amount to replace an earlier one; a rate below this part
/// of the total is 0.
pub(super) const TOLERANCE: f64 = 1e-9;

/// Power of one set of used interfaces: P_S and b_r.
pub(super) struct Mode {
    pub(super) power_w: f64,
    pub(super) slopes: Vec<f64>,
    /// κ if it applies, otherwise 1.
    pub(super) sharing: f64,
    /// Whether any interface is active.
    pub(super) active: bool,
}

impl Mode {
    /// Slope of path `r` in `slot`, J/bit.
    pub(super) fn slope_in(&self, slot: &Slot, r: usize) -> f64 {
        let excess = slot
            .excess
            .get(r)
            .map_or(0.0, |excess| excess.slope_j_per_bit);
        self.slopes[r] + self.sharing * excess
    }
}

/// Modes of one slot.
pub(super) struct Part {
    /// Mode and its time, s.
    pub(super) times: Vec<(usize, Variable)>,
    /// Path and Mbit.
    pub(super) bits: Vec<(usize, Variable)>,
}

impl Part {
    /// Each mode's bits with their cost in `slot`, J/Mbit.
    pub(super) fn priced<'a>(
        &'a self,
        modes: &'a [(u32, Mode)],
        slot: &'a Slot,
    ) -> impl Iterator<Item = (Variable, f64)> + 'a {
        let masks = modes.iter().flat_map(move |(mask, mode)| {
            let used = (0..mode.slopes.len()).filter(move |r| mask >> r & 1 == 1);
            used.map(move |r| mode.slope_in(slot, r) * MEGA)
        });
        self.bits.iter().map(|&(_, y)| y).zip(masks)
    }
}

impl DeviceProblem<'_> {
    /// The most efficient set; the first on a tie. `None` if a set carries data for free: then
    /// there is no bound.
    pub(super) fn best(&self, solve: impl Fn(u32) -> Option<Optimum>) -> Option<Optimum> {
        let better = |best: Option<Optimum>, next: Optimum| match best {
            Some(best) if next.bits_per_joule() <= best.bits_per_joule() * (1.0 + TOLERANCE) => {
                Some(best)
            }
            _ => Some(next),
        };
        (0..=self.all())
            .filter_map(solve)
            .fold(None, better)
            .filter(|best| best.bits_per_joule().is_finite())
    }

    pub(super) fn all(&self) -> u32 {
        (1 << self.costs.len()) - 1
    }

    pub(super) fn members(&self, mask: u32) -> impl Iterator<Item = usize> + use<> {
        (0..self.costs.len()).filter(move |r| mask & (1 << r) != 0)
    }

    /// Power and slopes if exactly the interfaces in `mask` are used.
    pub(super) fn mode(&self, mask: u32) -> Mode {
        let used = |r: usize| mask & (1 << r) != 0;
        let is_active = |(r, c): &(usize, &InterfaceCost)| {
            c.active_when_unused || (used(*r) && c.active_when_used)
        };
        let active = self.costs.iter().enumerate().filter(is_active).count() as u32;
        let sharing = if active >= 2 {
            self.device.sharing_factor
        } else {
            1.0
        };
        let interfaces: f64 = self
            .costs
            .iter()
            .enumerate()
            .map(|(r, c)| if used(r) { c.used_w } else { c.unused_w })
            .sum();
        let rtt_s = self
            .members(mask)
            .map(|r| self.rtts_s[r])
            .fold(f64::INFINITY, f64::min);
        let rtt_s = if rtt_s.is_finite() { rtt_s } else { 0.0 };
        let most = if self.device.host.is_some() {
            self.most_bps()
        } else {
            0.0
        };
        let Besides {
            power_w,
            slope_j_per_bit,
        } = besides(self.device, active, mask.count_ones(), rtt_s, most);
        Mode {
            power_w: sharing * interfaces + power_w,
            slopes: self
                .costs
                .iter()
                .map(|c| sharing * c.slope_j_per_bit + slope_j_per_bit)
                .collect(),
            sharing,
            active: active > 0,
        }
    }

    /// Power of the used interfaces in `slot` above that of `mode`, W.
    pub(super) fn excess_w(&self, slot: &Slot, mask: u32, mode: &Mode) -> f64 {
        if slot.excess.is_empty() {
            return 0.0;
        }
        mode.sharing
            * self
                .members(mask)
                .map(|r| slot.excess[r].used_w)
                .sum::<f64>()
    }

    /// Adds y_r ≤ C_r t and `shared`.
    pub(super) fn constrain_by<'s>(
        &self,
        lp: &mut Lp,
        t: Variable,
        y: &[(usize, Variable)],
        shared: impl Iterator<Item = &'s Shared>,
    ) {
        for &(r, y) in y {
            if self.capacities_bps[r].is_finite() {
                lp.add_constraint(
                    [(y, 1.0), (t, -self.capacities_bps[r] / MEGA)],
                    ComparisonOp::Le,
                    0.0,
                );
            }
        }
        for shared in shared.filter(|shared| shared.most.is_finite()) {
            let mut terms: Vec<_> = y.iter().map(|&(r, y)| (y, shared.weights[r])).collect();
            terms.push((t, -shared.most / MEGA));
            lp.add_constraint(terms.as_slice(), ComparisonOp::Le, 0.0);
        }
    }

    /// Adds Σ y ≤ g t: the in-order throughput of a full window over the paths of `mask`.
    pub(super) fn constrain_in_order(
        &self,
        lp: &mut Lp,
        mask: u32,
        t: Variable,
        y: &[(usize, Variable)],
    ) {
        let most = self
            .in_order
            .as_ref()
            .map_or(f64::INFINITY, |bound| bound.most_bps(self.members(mask)));
        if most.is_finite() && !y.is_empty() {
            let mut terms: Vec<_> = y.iter().map(|&(_, y)| (y, 1.0)).collect();
            terms.push((t, -most / MEGA));
            lp.add_constraint(terms.as_slice(), ComparisonOp::Le, 0.0);
        }
    }

    /// The largest total rate of any slot, bit/s; may be infinite.
    pub(super) fn most_bps(&self) -> f64 {
        let of_slot = |slot: &Slot| {
            let mut lp = Lp::new(OptimizationDirection::Maximize);
            let t = lp.add_var(0.0, (1.0, 1.0));
            let y: Vec<_> = self
                .members(self.all())
                .map(|r| (r, lp.add_var(1.0, (0.0, f64::INFINITY))))
                .collect();
            self.constrain_by(&mut lp, t, &y, self.shared.iter().chain(&slot.peak));
            solution(&lp).map_or(f64::INFINITY, |solution| solution.objective() * MEGA)
        };
        self.slots.iter().map(of_slot).fold(0.0, f64::max)
    }

    /// Drops rounding errors from the rates; `None` unless there is traffic at a finite rate.
    pub(super) fn optimum(
        &self,
        mut rates_bps: Vec<f64>,
        power_w: impl Fn(&[f64]) -> f64,
    ) -> Option<Optimum> {
        let floor = TOLERANCE * rates_bps.iter().sum::<f64>();
        for rate in rates_bps.iter_mut().filter(|rate| **rate < floor) {
            *rate = 0.0;
        }
        let (goodput_bps, power_w) = (rates_bps.iter().sum::<f64>(), power_w(&rates_bps).max(0.0));
        let sound = goodput_bps.is_finite() && goodput_bps > 0.0 && power_w.is_finite();
        sound.then_some(Optimum {
            rates_bps,
            goodput_bps,
            power_w,
            energy_j: None,
        })
    }
}

/// The optimum of `lp`; `None` if it is infeasible or unbounded.
pub(super) fn solution(lp: &Lp) -> Option<microlp::Solution> {
    match lp.solve() {
        Ok(SolveOutcome::Solution(solution)) => Some(solution),
        Ok(SolveOutcome::Interrupted(_)) => unreachable!("no time limit was set"),
        Err(_) => None,
    }
}
