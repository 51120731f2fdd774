//! Uses of a radio: it may sleep between windows, between the packets of a slow link, and between
//! writes.
//!
//! A use lasts from a promotion to the end of the tail after it. It costs K, promotion and tail
//! above idle. Between them, in d seconds, at most
//!
//! ```text
//!   w y  ≤  most (d + e)
//! ```
//! pass. For a window e is the RTT: each bit is in the window for an RTT. For a link that is not
//! next to the device, e covers what gathers before the radio is ready. For the application's data
//! see [`written`]. Over the n_r uses of radio r in a time T, with one that began before it,
//!
//! ```text
//!   w y_r  ≤  most (Σ_{M ∋ r} τ_M + e (n_r + 1) + slack T)          cost: K_r n_r
//! ```
//! If K ≥ e times the power of staying awake, sleeping saves nothing, and the bound holds for each
//! mode.

use joulepath_model::network::LinkSpec;
use joulepath_model::scenario::{ConnectionGroup, Scenario, Workload};
use microlp::{ComparisonOp, Problem as Lp, Variable};

use super::problem::{DeviceProblem, Shared, Slot};
use super::programme::{MEGA, Mode, Part};
use crate::path::Window;

/// Standard deviations by which the number of random messages may exceed its mean.
const LUCK: f64 = 4.0;
/// Each of these times gives a bound; in parts of the mean wait, see [`written`].
const TIMES: [f64; 4] = [1.0, 4.0, 16.0, 64.0];
/// Shortest of these times, s.
const LEAST_TIME_S: f64 = 0.02;

/// The variables of a slot: modes and bits, and n_r of each radio.
type InSlot<'a> = (&'a Part, &'a [(usize, Variable)]);

/// A time of the programme: a variable and its factor, or a number.
#[derive(Clone, Copy)]
pub(super) enum Term {
    Of(Variable, f64),
    Fixed(f64),
}

/// Bounds on what an application's data lets a radio carry, if the data waits for `wait_s` on
/// average.
///
/// With writes every g at rate R, a use of d seconds carries at most R (d + g + v), where v is how
/// long the oldest of the data that waits at its start has waited. All data that waits then adds R
/// v²/2 to the sum of all waits, which is W times the data. As v ≤ c/2 + v²/(2c) for any c, the
/// uses in a time T carry at most
///
/// ```text
///   R (d + n (g + c/2) + T W/c)
/// ```
/// A stream that pauses for z also carries at most its mean rate times d + z. Random messages come,
/// on average, as often while the radio is awake as otherwise: its use begins with one, and ends
/// after a tail without any.
pub(super) fn written(
    scenario: &Scenario,
    group: &ConnectionGroup,
    window: Window,
    wait_s: f64,
) -> Vec<Shared> {
    let paths = group.paths.len();
    let times = TIMES.map(|part| (part * wait_s).max(LEAST_TIME_S));
    let bound = |bps: f64, each_s: f64, waits: f64| Shared {
        weights: vec![1.0; paths],
        most: bps,
        use_s: each_s,
        slack: waits,
    };
    match group.workload {
        Workload::Stream {
            rate,
            interval,
            on,
            off,
        } => {
            let (on_s, off_s, every_s) =
                (on.as_secs_f64(), off.as_secs_f64(), interval.as_secs_f64());
            let times_mean = if off_s > 0.0 {
                (on_s + off_s) / on_s
            } else {
                1.0
            };
            let bps = rate.bps() as f64;
            let within = |c: f64| {
                let (each_s, waits) = (every_s + 0.5 * c, wait_s / c);
                let mean = bound(
                    bps / times_mean,
                    off_s + times_mean * each_s,
                    times_mean * waits,
                );
                [bound(bps, each_s, waits), mean]
            };
            times.into_iter().flat_map(within).collect()
        }
        Workload::Messages { size, mean_gap, .. } => {
            let gap_s = mean_gap.as_secs_f64();
            let luck = 1.0 + LUCK / (window.seconds() / gap_s).sqrt();
            let bps = 8.0 * size.0 as f64 / gap_s * luck;
            let models = group
                .paths
                .iter()
                .map(|&path| &scenario.paths[path].energy.model);
            let around_s = models.map(super::cost::around_s).fold(0.0, f64::max);
            times
                .into_iter()
                .map(|c| bound(bps, gap_s + around_s + 0.5 * c, wait_s / c))
                .collect()
        }
        Workload::Bulk | Workload::File { .. } | Workload::Requests { .. } => vec![],
    }
}

/// Seconds of transmission that may gather in front of a radio with this promotion behind `link`.
pub(super) fn gathered_s(link: &LinkSpec, wake_s: f64, segment_bits: f64, peak_bps: f64) -> f64 {
    let segments_s = if peak_bps > 0.0 {
        2.0 * segment_bits / peak_bps
    } else {
        0.0
    };
    wake_s + spread_s(link) + segments_s
}

/// By how much the delay of packets on `link` varies besides its queue, s.
pub(super) fn spread_s(link: &LinkSpec) -> f64 {
    let greatest_s = link.greatest_delay().as_secs_f64();
    if link.jitter.is_some() || link.aggregate.is_some() {
        greatest_s
    } else {
        greatest_s - link.delay.as_secs_f64()
    }
}

impl DeviceProblem<'_> {
    /// K of interface `r`, J.
    pub(super) fn another_use_j(&self, r: usize) -> f64 {
        // Another radio may keep the base on.
        let base_w = if self.costs.len() == 1 {
            self.device.shared_base.0
        } else {
            0.0
        };
        self.use_with_base_j(r, base_w)
    }

    fn use_with_base_j(&self, r: usize, base_w: f64) -> f64 {
        let cost = &self.costs[r];
        let sharing = if self.costs.len() == 1 {
            1.0
        } else {
            self.device.sharing_factor.min(1.0)
        };
        (sharing * (cost.use_j + (base_w - cost.unused_w) * (cost.wake_s + cost.tail_s))).max(0.0)
    }

    /// Whether radio `r` may save energy if it sleeps while `shared` holds it up, with the base on
    /// or off.
    fn gains(&self, r: usize, shared: &Shared) -> bool {
        let (cost, base_w) = (&self.costs[r], self.device.shared_base.0);
        let is_less = |base_w: f64| {
            self.use_with_base_j(r, base_w) < shared.use_s * (cost.used_w - cost.unused_w + base_w)
        };
        let is_held = shared.use_s > 0.0 && shared.most.is_finite();
        cost.sleeps && is_held && shared.weights[r] > 0.0 && (is_less(0.0) || is_less(base_w))
    }

    /// Whether some radio may save energy if it sleeps while `shared` holds it up.
    pub(super) fn may_nap(&self, shared: &Shared) -> bool {
        (0..self.costs.len()).any(|r| self.gains(r, shared))
    }

    /// Whether radio `r` may save energy if it sleeps while anything holds it up.
    pub(super) fn naps(&self, r: usize) -> bool {
        let peaks = self.slots.iter().flat_map(|slot| &slot.peak);
        self.shared
            .iter()
            .chain(peaks)
            .any(|shared| self.gains(r, shared))
    }

    /// Whether uses count: a radio may nap, or the application's data limits it.
    pub(super) fn has_uses(&self) -> bool {
        !self.written.is_empty() || (0..self.costs.len()).any(|r| self.naps(r))
    }

    /// Adds n_r of each radio, with its cost in the objective times `price`.
    pub(super) fn add_uses(&self, lp: &mut Lp, price: f64) -> Vec<(usize, Variable)> {
        if !self.has_uses() {
            return vec![];
        }
        let radios = self.members(self.all()).filter(|&r| self.costs[r].sleeps);
        radios
            .map(|r| {
                (
                    r,
                    lp.add_var(price * self.another_use_j(r), (0.0, f64::INFINITY)),
                )
            })
            .collect()
    }

    /// Bounds what passes in the uses `uses` of a slot that lasts `length`, in which one use is
    /// free: `first`.
    pub(super) fn bound_uses(
        &self,
        lp: &mut Lp,
        slot: &Slot,
        (part, modes): (&Part, &[(u32, Mode)]),
        uses: &[(usize, Variable)],
        (length, first): ((Variable, f64), Term),
    ) {
        for shared in self
            .shared
            .iter()
            .chain(&slot.peak)
            .filter(|shared| self.may_nap(shared))
        {
            self.bound_radios(
                lp,
                shared,
                self.all(),
                (&[(part, uses)], modes),
                (length, first),
            );
            let mut terms: Vec<_> = part
                .bits
                .iter()
                .map(|&(r, y)| (y, shared.weights[r]))
                .collect();
            terms.push((length.0, -shared.most * length.1 / MEGA));
            let free = scaled(&mut terms, first, shared.most * shared.use_s / MEGA);
            lp.add_constraint(terms.as_slice(), ComparisonOp::Le, free);
        }
    }

    /// The application's data bounds the uses of radios that sleep; an interface without promotion
    /// and tail may close for nothing.
    pub(super) fn bound_written(
        &self,
        lp: &mut Lp,
        parts: &[InSlot<'_>],
        modes: &[(u32, Mode)],
        whole: ((Variable, f64), Term),
    ) {
        let radios = self.members(self.all()).filter(|&r| self.costs[r].sleeps);
        let radios = radios.fold(0, |mask, r| mask | 1 << r);
        for written in &self.written {
            self.bound_radios(lp, written, radios, (parts, modes), whole);
        }
    }

    /// The bound `shared` for the uses of each of the `radios` over `parts`, which together last
    /// `length`.
    fn bound_radios(
        &self,
        lp: &mut Lp,
        shared: &Shared,
        radios: u32,
        (parts, modes): (&[InSlot<'_>], &[(u32, Mode)]),
        (length, first): ((Variable, f64), Term),
    ) {
        let most = shared.most / MEGA;
        let counts = |&r: &usize| shared.weights[r] > 0.0 && self.costs[r].used_w > 0.0;
        for r in self.members(radios).filter(counts) {
            let mut terms = vec![];
            for (part, uses) in parts {
                terms.extend(
                    part.bits
                        .iter()
                        .filter(|(p, _)| *p == r)
                        .map(|&(_, y)| (y, shared.weights[r])),
                );
                let used = part.times.iter().filter(|(m, _)| modes[*m].0 >> r & 1 == 1);
                terms.extend(used.map(|&(_, time)| (time, -most)));
                let own = uses.iter().filter(|(p, _)| *p == r);
                terms.extend(own.map(|&(_, n)| (n, -most * shared.use_s)));
            }
            if shared.slack > 0.0 {
                terms.push((length.0, -most * shared.slack * length.1));
            }
            let free = scaled(&mut terms, first, most * shared.use_s);
            lp.add_constraint(terms.as_slice(), ComparisonOp::Le, free);
        }
    }
}

/// Moves `factor` times `term` to the left of a constraint, or returns it for the right.
fn scaled(terms: &mut Vec<(Variable, f64)>, term: Term, factor: f64) -> f64 {
    match term {
        Term::Fixed(number) => number * factor,
        Term::Of(variable, of_it) => {
            match terms.iter_mut().find(|(known, _)| *known == variable) {
                Some((_, sum)) => *sum -= factor * of_it,
                None => terms.push((variable, -factor * of_it)),
            }
            0.0
        }
    }
}
