//! The optimum over slots, by one linear programme (files: one for each set of woken radios).
//!
//! ```text
//!   τ_kM      time of slot k in which exactly the interfaces M are used;  Σ_M τ_kM = length of the slot
//!   y_kMr     bits over path r meanwhile;  Σ_r a_lr y_kMr ≤ peak_l τ_kM,  Σ_Mr a_lr y_kMr ≤ mean_l · length
//!
//!   bulk      max Σy / (Σ P_M τ + Σ b y)                       Charnes–Cooper
//!   rate      min Σ P_M τ + Σ b y      Σy = R
//!   file      min Σ P_M τ + Σ b y + K_S + P₀ A   M ⊆ S, Σy = N; slots before the end whole, later ones 0
//! ```

use microlp::{ComparisonOp, OptimizationDirection, Problem as Lp, Variable};

use super::problem::{DeviceProblem, Goal, Optimum, Shared, Slot};
use super::programme::{MEGA, Mode, Part, TOLERANCE, solution};
use super::start::Carrier;
use super::uses::Term;

impl DeviceProblem<'_> {
    /// Bits per joule over all slots, in any mixture of modes.
    pub(super) fn bulk_over_slots(&self) -> Option<Optimum> {
        self.bulk_in_modes(&self.modes(self.all(), |mask| self.mode(mask)), 0.0)
    }

    /// The most bits per joule among schedules that carry at least as much as the best fixed set of
    /// interfaces that is always on: the optimum without sleeping through bad times. For constant
    /// capacities it is the optimum.
    pub(super) fn always_on(&self) -> Option<Optimum> {
        if self.is_even() {
            return self.solve(Goal::Bulk);
        }
        let fixed = self.best(|mask| match mask {
            0 => None,
            mask => self.bulk_in_modes(&[(mask, self.mode(mask))], 0.0),
        })?;
        // The fixed set is a schedule too: apart from rounding there is a solution.
        let modes = self.modes(self.all(), |mask| self.mode(mask));
        let least_bps = fixed.goodput_bps * (1.0 - TOLERANCE);
        let found = self.bulk_in_modes(&modes, least_bps);
        found
            .filter(|found| found.bits_per_joule() >= fixed.bits_per_joule())
            .or(Some(fixed))
    }

    /// Bits per joule over all slots in any mixture of `modes`, with at least this goodput.
    fn bulk_in_modes(&self, modes: &[(u32, Mode)], least_bps: f64) -> Option<Optimum> {
        let seconds: f64 = self.slots.iter().map(|slot| slot.seconds).sum();
        let mut lp = Lp::new(OptimizationDirection::Maximize);
        let t = lp.add_var(0.0, (0.0, f64::INFINITY));
        let parts: Vec<Part> = self
            .slots
            .iter()
            .map(|slot| self.add(&mut lp, slot, modes, |_, _| [0.0, 1.0]))
            .collect();
        let mut cost = vec![];
        for (slot, part) in self.slots.iter().zip(&parts) {
            self.bound(&mut lp, slot, part, (t, slot.seconds / seconds));
            let uses = self.add_uses(&mut lp, 0.0);
            let lasts = ((t, slot.seconds / seconds), Term::Of(t, 1.0 / seconds));
            self.bound_uses(&mut lp, slot, (part, modes), &uses, lasts);
            cost.extend(uses.iter().map(|&(r, n)| (n, self.another_use_j(r))));
            let power_w =
                |m: usize| modes[m].1.power_w + self.excess_w(slot, modes[m].0, &modes[m].1);
            cost.extend(part.times.iter().map(|&(m, time)| (time, power_w(m))));
            cost.extend(part.priced(modes, slot));
        }
        lp.add_constraint(cost.as_slice(), ComparisonOp::Eq, 1.0);
        let bits: Vec<_> = parts
            .iter()
            .flat_map(|part| part.bits.iter().copied())
            .collect();
        let used = modes.iter().fold(0, |used, (mask, _)| used | mask);
        self.constrain_in_order(&mut lp, used, t, &bits);
        if least_bps > 0.0 {
            let mut terms: Vec<_> = bits.iter().map(|&(_, y)| (y, 1.0)).collect();
            terms.push((t, -least_bps / MEGA));
            lp.add_constraint(terms.as_slice(), ComparisonOp::Ge, 0.0);
        }
        let solution = solution(&lp)?;
        let t = solution.var_value(t);
        let rates = self.sums(&parts, |y| MEGA * solution.var_value(y) / t);
        let power_w = 1.0 / t;
        self.optimum(rates, |_| power_w)
    }

    /// The least power for a mean rate over all slots, or for as much of it as fits.
    pub(super) fn rate_over_slots(&self, bps: f64) -> Option<Optimum> {
        let seconds: f64 = self.slots.iter().map(|slot| slot.seconds).sum();
        let modes = self.modes(self.all(), |mask| self.mode(mask));
        let solve = |least_power: bool, rate: f64| {
            let direction = if least_power {
                OptimizationDirection::Minimize
            } else {
                OptimizationDirection::Maximize
            };
            let mut lp = Lp::new(direction);
            let t = lp.add_var(0.0, (1.0, 1.0));
            let price = |mode: &Mode, excess_w: f64| match least_power {
                true => [mode.power_w + excess_w, 0.0],
                false => [0.0, 1.0],
            };
            let parts: Vec<Part> = self
                .slots
                .iter()
                .map(|slot| self.add(&mut lp, slot, &modes, price))
                .collect();
            let (mut all, mut in_slots) = (vec![], vec![]);
            let first = Term::Of(t, 1.0 / seconds);
            for (slot, part) in self.slots.iter().zip(&parts) {
                let length = (t, slot.seconds / seconds);
                self.bound(&mut lp, slot, part, length);
                let uses = self.add_uses(&mut lp, if least_power { 1.0 } else { 0.0 });
                self.bound_uses(&mut lp, slot, (part, &modes), &uses, (length, first));
                all.extend(part.bits.iter().map(|&(_, y)| (y, 1.0)));
                in_slots.push((part, uses));
            }
            let in_slots: Vec<_> = in_slots
                .iter()
                .map(|(part, uses)| (*part, uses.as_slice()))
                .collect();
            self.bound_written(&mut lp, &in_slots, &modes, ((t, 1.0), first));
            if least_power {
                lp.add_constraint(all.as_slice(), ComparisonOp::Eq, rate / MEGA);
            }
            let solution = solution(&lp)?;
            let rates = self.sums(&parts, |y| MEGA * solution.var_value(y));
            Some((rates, solution.objective()))
        };
        let (most, _) = solve(false, 0.0)?;
        let most: f64 = most.iter().sum();
        let (rates, power_w) = solve(true, bps.min(most * (1.0 - TOLERANCE)))?;
        self.optimum(rates, |_| power_w)
    }

    /// A file of `bits`: the best set of used interfaces.
    pub(super) fn file(&self, bits: f64) -> Option<Optimum> {
        self.best(|set| {
            if set == 0 {
                None
            } else {
                self.file_over(set, bits)
            }
        })
    }

    /// A file over `set`; each interface of the set has one promotion and one tail.
    fn file_over(&self, set: u32, bits: f64) -> Option<Optimum> {
        let base_w = self.device.shared_base.0;
        let modes = self.modes(set, |mask| self.mode_within(mask, set));
        let least =
            |of: &dyn Fn(usize) -> f64| self.members(set).map(of).fold(f64::INFINITY, f64::min);
        let wake_s = least(&|r| self.costs[r].wake_s);
        let mut lp = Lp::new(OptimizationDirection::Minimize);
        let all_active = self.members(set).all(|r| self.costs[r].active_when_used);
        // On-time of the shared base: while anything is used, and from the first promotion to the
        // last tail.
        let awake = lp.add_var(base_w, (0.0, f64::INFINITY));
        let mut burns = vec![(awake, 1.0)];
        let price = |mode: &Mode, excess_w: f64| [mode.power_w + excess_w, 0.0];
        let parts: Vec<Part> = self
            .slots
            .iter()
            .map(|slot| self.add(&mut lp, slot, &modes, price))
            .collect();
        let endless = self.slots.len() == 1;
        let mut before: Option<(Variable, f64)> = None;
        let mut elapsed = vec![];
        for (slot, part) in self.slots.iter().zip(&parts) {
            let length = if endless { f64::INFINITY } else { slot.seconds };
            let s = lp.add_var(0.0, (0.0, length));
            self.bound(&mut lp, slot, part, (s, 1.0));
            if let Some((before, length)) = before {
                // Before the end each slot is used whole, so the part of a later slot is at most
                // the part of an earlier one.
                lp.add_constraint(
                    [(s, length), (before, -slot.seconds)],
                    ComparisonOp::Le,
                    0.0,
                );
            }
            let uses = self.add_uses(&mut lp, 1.0);
            self.bound_uses(
                &mut lp,
                slot,
                (part, &modes),
                &uses,
                ((s, 1.0), Term::Fixed(1.0)),
            );
            before = Some((s, slot.seconds));
            elapsed.push(s);
            burns.extend(
                part.times
                    .iter()
                    .filter(|(m, _)| modes[*m].1.active)
                    .map(|&(_, t)| (t, -1.0)),
            );
        }
        let around_s = if all_active {
            wake_s + least(&|r| self.costs[r].tail_s)
        } else {
            0.0
        };
        lp.add_constraint(burns.as_slice(), ComparisonOp::Ge, around_s);
        let on = |r: usize| {
            parts
                .iter()
                .flat_map(move |part| part.bits.iter().filter(move |(p, _)| *p == r))
        };
        for r in self
            .members(set)
            .filter(|&r| self.costs[r].active_when_used)
        {
            let (peak_bps, cost) = (self.peak_bps(r), &self.costs[r]);
            let is_busy = peak_bps.is_finite() && !self.naps(r);
            let busy = on(r)
                .map(|&(_, y)| (y, -MEGA / peak_bps))
                .filter(|_| is_busy);
            let terms: Vec<_> = busy.chain([(awake, 1.0)]).collect();
            lp.add_constraint(
                terms.as_slice(),
                ComparisonOp::Ge,
                cost.wake_s + cost.tail_s,
            );
        }
        self.constrain_start(&mut lp, set, bits, &modes, &parts, &elapsed);
        let total: Vec<_> = parts
            .iter()
            .flat_map(|part| &part.bits)
            .map(|&(_, y)| (y, 1.0))
            .collect();
        lp.add_constraint(total.as_slice(), ComparisonOp::Eq, bits / MEGA);
        let solution = solution(&lp)?;
        let uses: f64 = self.members(set).map(|r| self.costs[r].use_j).sum();
        let sharing = if set.count_ones() >= 2 {
            self.device.sharing_factor.min(1.0)
        } else {
            1.0
        };
        let waiting_w: f64 = self
            .members(self.all() & !set)
            .map(|r| self.costs[r].unused_w)
            .sum();
        let energy_j =
            solution.objective() + sharing * (uses + waiting_w * wake_s) - self.late_j(set);
        let seconds = wake_s + elapsed.iter().map(|&s| solution.var_value(s)).sum::<f64>();
        let rates = self.sums(&parts, |y| MEGA * solution.var_value(y) / seconds);
        let found = self.optimum(rates, |_| energy_j / seconds)?;
        Some(Optimum {
            energy_j: Some(energy_j),
            goodput_bps: bits / seconds,
            ..found
        })
    }

    /// Adds the restrictions of the start: Σ y_r ≤ v_r Σ τ for the paths of `set`, and Σ s ≥ T.
    fn constrain_start(
        &self,
        lp: &mut Lp,
        set: u32,
        bits: f64,
        modes: &[(u32, Mode)],
        parts: &[Part],
        elapsed: &[Variable],
    ) {
        let Some(start) = self.start else { return };
        let carrier = |r: usize| Carrier {
            rtt_s: self.rtts_s[r],
            links_bps: self.links_bps(r),
        };
        // A radio that sleeps between two windows is not in use meanwhile.
        let stays = |&r: &usize| !self.costs[r].sleeps || self.costs[r].tail_s >= self.rtts_s[r];
        for r in self.members(set).filter(stays) {
            let most_bps = start.most_bps(bits, &carrier(r));
            if most_bps.is_finite() {
                let bits = parts
                    .iter()
                    .flat_map(|part| &part.bits)
                    .filter(|(path, _)| *path == r);
                let times = parts.iter().flat_map(|part| &part.times);
                let used = times.filter(|(mode, _)| modes[*mode].0 >> r & 1 == 1);
                let terms: Vec<_> = bits
                    .map(|&(_, y)| (y, 1.0))
                    .chain(used.map(|&(_, t)| (t, -most_bps / MEGA)))
                    .collect();
                lp.add_constraint(terms.as_slice(), ComparisonOp::Le, 0.0);
            }
        }
        let carriers: Vec<_> = self.members(set).map(carrier).collect();
        let whole: Vec<_> = elapsed.iter().map(|&s| (s, 1.0)).collect();
        lp.add_constraint(
            whole.as_slice(),
            ComparisonOp::Ge,
            start.least_s(bits, &carriers),
        );
    }

    /// The modes within `set`. A connection needs an open subflow: if all interfaces burn while
    /// open, the empty mode is excluded.
    fn modes(&self, set: u32, mode: impl Fn(u32) -> Mode) -> Vec<(u32, Mode)> {
        let rests = self.costs.iter().any(|cost| !cost.closes);
        let masks = (0..=self.all()).filter(|mask| mask & !set == 0 && (rests || *mask != 0));
        masks.map(|mask| (mask, mode(mask))).collect()
    }

    /// As [`Self::mode`], but an unused interface of `set` costs nothing (its tail is paid for),
    /// and without the base.
    fn mode_within(&self, mask: u32, set: u32) -> Mode {
        let mut mode = self.mode(mask);
        let paid = self.members(set & !mask).filter(|&r| self.costs[r].sleeps);
        let paid_w: f64 = paid.map(|r| self.costs[r].unused_w).sum();
        mode.power_w -= mode.sharing * paid_w;
        if mode.active {
            mode.power_w -= self.device.shared_base.0;
        }
        mode
    }

    /// Adds the variables of a slot. `price` gives, for a mode and its excess of power in the slot,
    /// the cost of its time, and of bits in addition to their slopes (when maximising: of bits
    /// alone).
    fn add(
        &self,
        lp: &mut Lp,
        slot: &Slot,
        modes: &[(u32, Mode)],
        price: impl Fn(&Mode, f64) -> [f64; 2],
    ) -> Part {
        let mut part = Part {
            times: vec![],
            bits: vec![],
        };
        for (index, (mask, mode)) in modes.iter().enumerate() {
            let [of_time, of_bits] = price(mode, self.excess_w(slot, *mask, mode));
            let time = lp.add_var(of_time, (0.0, f64::INFINITY));
            part.times.push((index, time));
            let of_bits = |r: usize| {
                if of_bits == 0.0 {
                    mode.slope_in(slot, r) * MEGA
                } else {
                    of_bits
                }
            };
            let y: Vec<_> = self
                .members(*mask)
                .map(|r| (r, lp.add_var(of_bits(r), (0.0, f64::INFINITY))))
                .collect();
            let at_once = self
                .shared
                .iter()
                .chain(&slot.peak)
                .filter(|shared| !self.may_nap(shared));
            self.constrain_by(lp, time, &y, at_once);
            part.bits.extend(y);
        }
        part
    }

    /// Limits the times of a slot's modes, and its bits, to the part of the slot that `whole`
    /// gives.
    fn bound(&self, lp: &mut Lp, slot: &Slot, part: &Part, (whole, of_it): (Variable, f64)) {
        let mut time: Vec<_> = part.times.iter().map(|&(_, t)| (t, 1.0)).collect();
        time.push((whole, -of_it));
        lp.add_constraint(time.as_slice(), ComparisonOp::Eq, 0.0);
        for Shared { weights, most, .. } in &slot.mean {
            let mut terms: Vec<_> = part.bits.iter().map(|&(r, y)| (y, weights[r])).collect();
            terms.push((whole, -most * of_it / MEGA));
            lp.add_constraint(terms.as_slice(), ComparisonOp::Le, 0.0);
        }
    }

    /// Total bits of each path.
    fn sums(&self, parts: &[Part], value: impl Fn(Variable) -> f64) -> Vec<f64> {
        let mut sums = vec![0.0; self.costs.len()];
        for &(r, y) in parts.iter().flat_map(|part| &part.bits) {
            sums[r] += value(y).max(0.0);
        }
        sums
    }

    /// The highest rate of path `r` in any slot, bit/s.
    fn peak_bps(&self, r: usize) -> f64 {
        self.links_bps(r).min(self.capacities_bps[r])
    }

    /// As [`Self::peak_bps`], but limited by the links and the buffers only.
    fn links_bps(&self, r: usize) -> f64 {
        let own = self
            .shared
            .iter()
            .map(|shared| shared.alone(r))
            .fold(f64::INFINITY, f64::min);
        let of_slot = |slot: &Slot| {
            slot.peak
                .iter()
                .map(|shared| shared.alone(r))
                .fold(own, f64::min)
        };
        self.slots.iter().map(of_slot).fold(0.0, f64::max)
    }
}
