//! The optimum of one device with given capacities: sets of interfaces by enumeration, rates by
//! linear programming. `steady` has the programmes for constant capacities; `varying` those for
//! files and for varying capacities.

use super::problem::{DeviceProblem, Goal, Optimum};
use super::programme::TOLERANCE;

impl DeviceProblem<'_> {
    /// The optimum; `None` if nothing can be carried, or if energy or rates are unbounded.
    pub fn solve(&self, goal: Goal) -> Option<Optimum> {
        match goal {
            Goal::Bulk if self.is_even() && !self.has_uses() => self.best(|mask| self.steady(mask)),
            Goal::Bulk => self.bulk_over_slots(),
            Goal::File { bits } => self.file(bits),
            Goal::Requests {
                bits,
                waiting_s,
                think_s,
                repeated_s,
            } => self.best(|mask| {
                let steady = self.steady(mask)?;
                let seconds = bits / steady.goodput_bps;
                // n answers take n · `seconds` plus n − 1 waits.
                let n = ((repeated_s + waiting_s) / (seconds + waiting_s)).max(1.0);
                Some(self.transfer(mask, steady, bits, [waiting_s, think_s], (n - 1.0) / n))
            }),
            Goal::Rate { bps } => self
                .at_any_rate(bps)
                .and_then(|optimum| self.without_late(optimum)),
        }
    }

    /// The least power for a mean rate, or for as much of it as fits.
    fn at_any_rate(&self, bps: f64) -> Option<Optimum> {
        if !self.is_even() || self.has_uses() {
            return self.rate_over_slots(bps);
        }
        let rests = |r: usize| self.costs[r].sleeps || self.costs[r].closes;
        let fixed = self.members(self.all()).filter(|&r| !rests(r));
        let fixed = fixed.fold(0, |mask, r| mask | 1 << r);
        let bps = bps.min(self.most_bps() * (1.0 - TOLERANCE));
        self.best(|mask| {
            if mask & !fixed == 0 {
                self.at_rate(mask, self.all() & !fixed, bps)
            } else {
                None
            }
        })
    }

    /// `optimum` without the energy that the end of the run may spare; `None` if nothing remains.
    fn without_late(&self, optimum: Optimum) -> Option<Optimum> {
        let seconds: f64 = self.slots.iter().map(|slot| slot.seconds).sum();
        let late_w = self.late_j(self.all()) / seconds;
        (optimum.power_w > late_w).then_some(Optimum {
            power_w: optimum.power_w - late_w,
            ..optimum
        })
    }

    /// What the end may spare over the paths of `mask`, J.
    pub(super) fn late_j(&self, mask: u32) -> f64 {
        let late_j: f64 = self.members(mask).map(|r| self.costs[r].late_j).sum();
        self.device.sharing_factor.max(1.0) * late_j
    }
}
