//! The best that one device can do with given capacities: sets of interfaces by enumeration, rates by linear programming.
//!
//! ```text
//!   (a) bulk        max Σx / (P_S + Σ b x)                      Charnes–Cooper: y = t x, t > 0
//!   (b) requests    min N (P_S + Σ b x) / Σx + waiting          same rates as (a)
//!   (c) rate R      min Σ_M τ_M P_M + Σ b y                     Σ τ = 1, Σ y = R: modes M share the time
//! ```
//! One set suffices in (a) and (b): energy and bits are sums over modes, so the ratio of a mixture lies between its parts'.
//! Files, and capacities that vary: `varying`.

use joulepath_model::energy::DeviceEnergy;
use microlp::{ComparisonOp, OptimizationDirection, Problem as Lp, SolveOutcome, Variable};

use super::cost::{Besides, InterfaceCost, besides};
use super::slots::Slot;

/// Linear programs are in Mbit/s and W, so that all numbers are near 1.
pub(super) const MEGA: f64 = 1e6;
/// A set must be better by this much to replace one found earlier; rates below this part of the total are 0.
pub(super) const TOLERANCE: f64 = 1e-9;

/// One device with the paths of one connection.
#[derive(Clone, Debug)]
pub struct DeviceProblem<'a> {
    /// Cost of each path, at most 8.
    pub costs: Vec<InterfaceCost>,
    /// Most payload on each path alone, bit/s; infinite: no limit of its own.
    pub capacities_bps: Vec<f64>,
    /// Propagation RTT of each path, s.
    pub rtts_s: Vec<f64>,
    /// What several paths share.
    pub shared: Vec<Shared>,
    /// The run in slots with capacities of their own, besides the above; at least one.
    pub slots: Vec<Slot>,
    /// Base, sharing factor, host.
    pub device: &'a DeviceEnergy,
}

/// A linear constraint: Σ weight_r x_r ≤ most.
#[derive(Clone, Debug, PartialEq)]
pub struct Shared {
    /// One per path, not negative.
    pub weights: Vec<f64>,
    /// In the unit of weight × bit/s.
    pub most: f64,
}

/// What the device is to do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Goal {
    /// As many bits per joule as possible.
    Bulk,
    /// A transfer with the least energy, together with what follows it.
    Transfer {
        /// Payload.
        bits: f64,
        /// Time without data between it and the next one, s.
        waiting_s: f64,
        /// Time in which it is repeated as often as fits, s; 0: once.
        repeated_s: f64,
        /// Whether it is a file: once, with promotions and tails.
        whole_use: bool,
    },
    /// A mean rate, or as much of it as fits, at the least power.
    Rate {
        /// bit/s.
        bps: f64,
    },
}

/// The best way to reach a [`Goal`].
#[derive(Clone, Debug, PartialEq)]
pub struct Optimum {
    /// Payload on each path while data flows (rate goals: on average), bit/s.
    pub rates_bps: Vec<f64>,
    /// Payload per second over the whole time, bit/s.
    pub goodput_bps: f64,
    /// Mean power, W.
    pub power_w: f64,
    /// Energy of the transfer, J.
    pub energy_j: Option<f64>,
}

impl Optimum {
    /// bit/J.
    pub fn bits_per_joule(&self) -> f64 {
        self.goodput_bps / self.power_w
    }
}

/// Power of one set of used interfaces: P_S and b_r.
pub(super) struct Mode {
    pub(super) power_w: f64,
    pub(super) slopes: Vec<f64>,
    /// κ, if it applies.
    pub(super) sharing: f64,
    /// Whether any interface is active.
    pub(super) active: bool,
}

impl DeviceProblem<'_> {
    /// The optimum; none if nothing can be carried, or if energy or rates have no bound.
    pub fn solve(&self, goal: Goal) -> Option<Optimum> {
        match goal {
            Goal::Bulk if self.is_even() => self.best(|mask| self.steady(mask)),
            Goal::Bulk => self.bulk_over_slots(),
            Goal::Transfer { bits, whole_use: true, .. } => self.file(bits),
            Goal::Transfer { bits, waiting_s, repeated_s, .. } => self.best(|mask| {
                let steady = self.steady(mask)?;
                let seconds = bits / steady.goodput_bps;
                // n transfers take n seconds and n − 1 waits.
                let n = ((repeated_s + waiting_s) / (seconds + waiting_s)).max(1.0);
                Some(self.transfer(mask, steady, bits, waiting_s * (n - 1.0) / n))
            }),
            Goal::Rate { bps } if !self.is_even() => self.rate_over_slots(bps),
            Goal::Rate { bps } => {
                let rests = |r: usize| self.costs[r].sleeps || self.costs[r].closes;
                let fixed = self.members(self.all()).filter(|&r| !rests(r));
                let fixed = fixed.fold(0, |mask, r| mask | 1 << r);
                let bps = bps.min(self.most_bps() * (1.0 - TOLERANCE));
                self.best(|mask| {
                    if mask & !fixed == 0 { self.at_rate(mask, self.all() & !fixed, bps) } else { None }
                })
            }
        }
    }

    /// Whether capacities are the same throughout.
    fn is_even(&self) -> bool {
        self.slots.len() == 1 && self.slots[0].mean.is_empty()
    }

    /// The most efficient of all sets; the first of equals. None if one carries data for nothing: then there is no bound.
    pub(super) fn best(&self, solve: impl Fn(u32) -> Option<Optimum>) -> Option<Optimum> {
        let better = |best: Option<Optimum>, next: Optimum| match best {
            Some(best) if next.bits_per_joule() <= best.bits_per_joule() * (1.0 + TOLERANCE) => Some(best),
            _ => Some(next),
        };
        (0..=self.all()).filter_map(solve).fold(None, better).filter(|best| best.bits_per_joule().is_finite())
    }

    pub(super) fn all(&self) -> u32 {
        (1 << self.costs.len()) - 1
    }

    pub(super) fn members(&self, mask: u32) -> impl Iterator<Item = usize> + use<> {
        (0..self.costs.len()).filter(move |r| mask & (1 << r) != 0)
    }

    /// Power and slopes when exactly the interfaces in `mask` are used.
    pub(super) fn mode(&self, mask: u32) -> Mode {
        let used = |r: usize| mask & (1 << r) != 0;
        let is_active =
            |(r, c): &(usize, &InterfaceCost)| c.active_when_unused || (used(*r) && c.active_when_used);
        let active = self.costs.iter().enumerate().filter(is_active).count() as u32;
        let sharing = if active >= 2 { self.device.sharing_factor } else { 1.0 };
        let interfaces: f64 =
            self.costs.iter().enumerate().map(|(r, c)| if used(r) { c.used_w } else { c.unused_w }).sum();
        let rtt_s = self.members(mask).map(|r| self.rtts_s[r]).fold(f64::INFINITY, f64::min);
        let rtt_s = if rtt_s.is_finite() { rtt_s } else { 0.0 };
        let most = if self.device.host.is_some() { self.most_bps() } else { 0.0 };
        let Besides { power_w, slope_j_per_bit } =
            besides(self.device, active, mask.count_ones(), rtt_s, most);
        Mode {
            power_w: sharing * interfaces + power_w,
            slopes: self.costs.iter().map(|c| sharing * c.slope_j_per_bit + slope_j_per_bit).collect(),
            sharing,
            active: active > 0,
        }
    }

    /// Adds y_r ≤ C_r t and all bounds of a problem of one slot; `y` has the paths' indices.
    fn constrain(&self, lp: &mut Lp, t: Variable, y: &[(usize, Variable)]) {
        let peak = self.slots.iter().flat_map(|slot| &slot.peak);
        self.constrain_by(lp, t, y, self.shared.iter().chain(peak));
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
                lp.add_constraint([(y, 1.0), (t, -self.capacities_bps[r] / MEGA)], ComparisonOp::Le, 0.0);
            }
        }
        for shared in shared.filter(|shared| shared.most.is_finite()) {
            let mut terms: Vec<_> = y.iter().map(|&(r, y)| (y, shared.weights[r])).collect();
            terms.push((t, -shared.most / MEGA));
            lp.add_constraint(terms.as_slice(), ComparisonOp::Le, 0.0);
        }
    }

    /// The largest total rate of any slot, bit/s; infinite if it has no bound.
    fn most_bps(&self) -> f64 {
        let of_slot = |slot: &Slot| {
            let mut lp = Lp::new(OptimizationDirection::Maximize);
            let t = lp.add_var(0.0, (1.0, 1.0));
            let y: Vec<_> =
                self.members(self.all()).map(|r| (r, lp.add_var(1.0, (0.0, f64::INFINITY)))).collect();
            self.constrain_by(&mut lp, t, &y, self.shared.iter().chain(&slot.peak));
            solution(&lp).map_or(f64::INFINITY, |solution| solution.objective() * MEGA)
        };
        self.slots.iter().map(of_slot).fold(0.0, f64::max)
    }

    /// (a) for the set `mask`.
    fn steady(&self, mask: u32) -> Option<Optimum> {
        let mode = self.mode(mask);
        let is_free =
            |&r: &usize| mode.power_w == 0.0 && mode.slopes[r] == 0.0 && self.capacities_bps[r] > 0.0;
        if let Some(free) = self.members(mask).find(is_free) {
            // The ratio has no bound, and the programme no solution.
            let mut rates_bps = vec![0.0; self.costs.len()];
            rates_bps[free] = self.capacities_bps[free].min(MEGA);
            return self.optimum(rates_bps, |_| 0.0);
        }
        let mut lp = Lp::new(OptimizationDirection::Maximize);
        let t = lp.add_var(0.0, (0.0, f64::INFINITY));
        let y: Vec<_> = self.members(mask).map(|r| (r, lp.add_var(1.0, (0.0, f64::INFINITY)))).collect();
        self.constrain(&mut lp, t, &y);
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

    /// (b) for the set `mask`, whose most efficient rates are `steady`.
    fn transfer(&self, mask: u32, steady: Optimum, bits: f64, waiting_s: f64) -> Optimum {
        let seconds = bits / steady.goodput_bps;
        let awake = self.members(mask).filter(|&r| !self.costs[r].sleeps).fold(0, |awake, r| awake | 1 << r);
        let energy_j = seconds * steady.power_w + waiting_s * self.mode(awake).power_w;
        let whole_s = seconds + waiting_s;
        Optimum {
            rates_bps: steady.rates_bps,
            goodput_bps: bits / whole_s,
            power_w: energy_j / whole_s,
            energy_j: Some(energy_j),
        }
    }

    /// (c): `fixed` interfaces used all the time, those in `sleeping` in any mixture of modes.
    fn at_rate(&self, fixed: u32, sleeping: u32, bps: f64) -> Option<Optimum> {
        let mut lp = Lp::new(OptimizationDirection::Minimize);
        let (mut time, mut total) = (vec![], vec![]);
        // Where all interfaces burn while open, one of them is.
        let rests = self.costs.iter().any(|cost| !cost.closes);
        let masks = (0..=self.all()).filter(|mask| mask & !sleeping == fixed && (rests || *mask != 0));
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

    /// Drops rounding errors from the rates; none unless there is traffic at a finite rate.
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
        sound.then_some(Optimum { rates_bps, goodput_bps, power_w, energy_j: None })
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The optimum of `lp`; none if it is infeasible or unbounded.
pub(super) fn solution(lp: &Lp) -> Option<microlp::Solution> {
    match lp.solve() {
        Ok(SolveOutcome::Solution(solution)) => Some(solution),
        Ok(SolveOutcome::Interrupted(_)) => unreachable!("no limit of time was set"),
        Err(_) => None,
    }
}
