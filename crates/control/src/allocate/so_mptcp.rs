//! so-MPTCP (003): packets of each path in each slot, by drift plus penalty.
//!
//! ```text
//!   g_i = x_i − x̄_i,   x̄_i = (1 − p_i) w_i Δt/τ_i       capacity of the path's windows in a slot
//!   W_i ← (W_i + g_i)⁺      Q ← (Q + a − Σ x_i)⁺
//!
//!   min  V E(x) + Σ W_i g_i + Q (a − Σ x_i)     over  x ∈ X: 0 ≤ x_i ≤ most_i,  Σ x_i ≤ Q + a
//! ```
//! With E linear, h_i = V c_i + W_i − Q is the cost of another packet on path i: paths fill up in
//! ascending order of h while it is negative. A path is used if Q > V c_i + W_i: a larger V means
//! less energy and a longer queue. The paper leaves X open: with most_i = x̄_i, W_i stays 0.
//!
//! Deviations: one Q (003-1), projected (003-2); the exact minimiser instead of step 5's "E⁻¹",
//! which does not exist for linear E (003-5): with `convex`, E_i = c_i x + (c_i/x̄_i) x²/2 has one;
//! c^e is charged in slots without traffic, as printed (003-9). Q, W and x are in packets (003-13),
//! c in joules per packet: the scale of V follows.

use joulepath_controllers::MAX_SUBFLOWS;

use crate::energy::PathEnergy;

/// One path in one slot.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SlotPath {
    /// c^d, J/packet.
    pub cost_j: f64,
    /// c^e Δt, J for a slot without traffic.
    pub idle_j: f64,
    /// x̄, packets.
    pub capacity: f64,
    /// The largest x of the set X, packets: x̄, or more if x ≤ x̄ holds only on average, tracked by
    /// W.
    pub most: f64,
}

/// What a window sends on a path.
#[derive(Clone, Copy, Debug)]
pub struct Sending {
    /// Packets per second.
    pub per_s: f64,
    /// The part of them that is lost.
    pub loss: f64,
    /// Length of a slot, s.
    pub slot_s: f64,
    /// Size of a packet, bits.
    pub packet_bits: f64,
}

impl SlotPath {
    /// A path that a window sends on; `None`: it is unusable, with capacity 0. V weighs joules per
    /// Mbit against packets, like the paper's own numbers.
    pub fn of(energy: &PathEnergy, sending: Option<Sending>) -> Self {
        let Some(Sending {
            per_s,
            loss,
            slot_s,
            packet_bits,
        }) = sending
        else {
            return SlotPath {
                cost_j: f64::INFINITY,
                ..SlotPath::default()
            };
        };
        let cost_j = energy.per_bit(per_s * packet_bits) * 1e6;
        SlotPath::within(cost_j, (1.0 - loss) * per_s * slot_s)
    }

    /// A path without idle cost that carries at most `capacity` packets in any slot.
    pub fn within(cost_j: f64, capacity: f64) -> Self {
        SlotPath {
            cost_j,
            idle_j: 0.0,
            capacity,
            most: capacity,
        }
    }
}

/// Shape of the energy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EnergyShape {
    /// c x, as printed.
    #[default]
    Linear,
    /// c x + (c/x̄) x²/2: the marginal cost doubles up to full use.
    Convex,
}

/// The allocator with its queues.
#[derive(Clone, Debug, PartialEq)]
pub struct SoMptcp {
    /// V.
    pub v: f64,
    /// Shape of E.
    pub shape: EnergyShape,
    /// W_i, packets.
    virtual_queues: [f64; MAX_SUBFLOWS],
}

/// Bisection steps for the multiplier λ.
const BISECTIONS: u32 = 100;

impl SoMptcp {
    /// Starts with empty queues.
    pub fn new(v: f64, shape: EnergyShape) -> Self {
        SoMptcp {
            v,
            shape,
            virtual_queues: [0.0; MAX_SUBFLOWS],
        }
    }

    /// W_i, packets.
    pub fn virtual_queues(&self) -> &[f64; MAX_SUBFLOWS] {
        &self.virtual_queues
    }

    /// x for one slot, packets: the exact minimiser, with `queue` = Q and `arrivals` = a. Updates
    /// W.
    ///
    /// # Panics
    /// With more than [`MAX_SUBFLOWS`] paths.
    pub fn allocate(
        &mut self,
        paths: &[SlotPath],
        queue: f64,
        arrivals: f64,
    ) -> [f64; MAX_SUBFLOWS] {
        assert!(
            paths.len() <= MAX_SUBFLOWS,
            "a connection has at most {MAX_SUBFLOWS} subflows"
        );
        let most = queue + arrivals;
        let x = match self.shape {
            EnergyShape::Linear => self.linear(paths, queue, most),
            EnergyShape::Convex => self.convex(paths, queue, most),
        };
        for ((w, path), x) in self.virtual_queues.iter_mut().zip(paths).zip(x) {
            *w = (*w + x - path.capacity).max(0.0);
        }
        x
    }

    /// x of a sender that always has `backlog` packets; `None` if no path is usable. V c of the
    /// cheapest path is added as a place-holder: without it, a backlog up to that size would never
    /// be sent.
    pub fn allot(&mut self, paths: &[SlotPath], backlog: f64) -> Option<[f64; MAX_SUBFLOWS]> {
        let cheapest_j = paths
            .iter()
            .map(|path| path.cost_j)
            .fold(f64::INFINITY, f64::min);
        cheapest_j
            .is_finite()
            .then(|| self.allocate(paths, backlog + self.v * cheapest_j, 0.0))
    }

    /// h_i for a given queue.
    fn marginal(&self, i: usize, path: &SlotPath, queue: f64) -> f64 {
        self.v * path.cost_j + self.virtual_queues[i] - queue
    }

    fn linear(&self, paths: &[SlotPath], queue: f64, most: f64) -> [f64; MAX_SUBFLOWS] {
        let h = |i: usize| self.marginal(i, &paths[i], queue);
        // If a packet costs less than an idle slot, one is sent although it does not pay by itself.
        let pays = |i: usize| h(i) < 0.0 || h(i) < self.v * paths[i].idle_j;
        let mut order: [usize; MAX_SUBFLOWS] = std::array::from_fn(|i| i);
        let order = &mut order[..paths.len()];
        order.sort_unstable_by(|&i, &j| h(i).total_cmp(&h(j)).then(i.cmp(&j)));
        let mut x = [0.0; MAX_SUBFLOWS];
        let mut left = most;
        for &i in order.iter().filter(|&&i| pays(i)) {
            let wanted = if h(i) < 0.0 {
                paths[i].most
            } else {
                paths[i].most.min(1.0)
            };
            x[i] = wanted.min(left);
            left -= x[i];
        }
        x
    }

    /// x_i = [(Q − W_i − V c_i − λ)/(2 V d_i)] clamped to 0 and most_i, 2 d_i = c_i/x̄_i; λ ≥ 0
    /// limits Σ x to the data.
    fn convex(&self, paths: &[SlotPath], queue: f64, most: f64) -> [f64; MAX_SUBFLOWS] {
        let at = |price: f64| {
            let mut x = [0.0; MAX_SUBFLOWS];
            for (i, path) in paths.iter().enumerate() {
                let gain = -self.marginal(i, path, queue) - price;
                let curvature = self.v * path.cost_j / path.capacity;
                let free = if curvature > 0.0 {
                    gain / curvature
                } else {
                    f64::INFINITY * gain.signum()
                };
                x[i] = if gain > 0.0 && path.capacity > 0.0 {
                    free.min(path.most)
                } else {
                    0.0
                };
            }
            x
        };
        let unpriced = at(0.0);
        if unpriced.iter().sum::<f64>() <= most {
            return unpriced;
        }
        let (mut low, mut high) = (0.0, queue.max(0.0));
        for _ in 0..BISECTIONS {
            let middle = 0.5 * (low + high);
            if at(middle).iter().sum::<f64>() > most {
                low = middle
            } else {
                high = middle
            }
        }
        // A path without curvature jumps at its price: the rest of the data is interpolated between
        // both sides.
        let (under, over) = (at(high), at(low));
        let (sum_under, sum_over): (f64, f64) = (under.iter().sum(), over.iter().sum());
        let part = if sum_over > sum_under {
            (most - sum_under) / (sum_over - sum_under)
        } else {
            0.0
        };
        std::array::from_fn(|i| under[i] + part * (over[i] - under[i]))
    }

    /// V E(x) + Σ W_i g_i + Q (a − Σ x_i) for given x: the objective of [`SoMptcp::allocate`].
    pub fn objective(&self, paths: &[SlotPath], queue: f64, arrivals: f64, x: &[f64]) -> f64 {
        let path = |(i, (path, &x)): (usize, (&SlotPath, &f64))| {
            self.v * energy_j(path, self.shape, x) + self.virtual_queues[i] * (x - path.capacity)
        };
        let total: f64 = x.iter().sum();
        paths.iter().zip(x).enumerate().map(path).sum::<f64>() + queue * (arrivals - total)
    }
}

/// E_i(x) of one slot, J.
pub fn energy_j(path: &SlotPath, shape: EnergyShape, x: f64) -> f64 {
    match shape {
        _ if x <= 0.0 => path.idle_j,
        EnergyShape::Linear => path.cost_j * x,
        EnergyShape::Convex => path.cost_j * (x + 0.5 * x * x / path.capacity),
    }
}

/// The least energy per slot that carries `rate` packets per slot on average, J; infinite if the
/// paths cannot. The cheapest path fills up first: the optimum of the linear programme min Σ c_i
/// x_i, Σ x_i ≥ rate, 0 ≤ x_i ≤ x̄_i, hence of every stationary policy.
pub fn least_energy_j(paths: &[SlotPath], rate: f64) -> f64 {
    let mut paths = paths.to_vec();
    paths.sort_by(|a, b| a.cost_j.total_cmp(&b.cost_j));
    let (mut left, mut energy_j) = (rate, 0.0);
    for path in paths {
        let sent = left.min(path.capacity);
        left -= sent;
        energy_j += path.cost_j * sent;
    }
    if left > 1e-9 * rate {
        f64::INFINITY
    } else {
        energy_j
    }
}

/// Means of a run of the slotted model, per slot.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SlotMeans {
    /// Energy, J.
    pub energy_j: f64,
    /// Backlog Q, packets.
    pub queue: f64,
    /// Carried, packets.
    pub carried: f64,
}

/// The simulation of 003: `allocator` on constant `paths`, with `arrivals` in packets per slot.
pub fn simulate(
    allocator: &mut SoMptcp,
    paths: &[SlotPath],
    arrivals: impl IntoIterator<Item = f64>,
) -> SlotMeans {
    let (mut queue, mut sums, mut slots) = (0.0, SlotMeans::default(), 0.0);
    for a in arrivals {
        let x = allocator.allocate(paths, queue, a);
        let total: f64 = x.iter().sum();
        queue = f64::max(queue + a - total, 0.0);
        let spent = |(path, x): (&SlotPath, &f64)| energy_j(path, allocator.shape, *x);
        sums.energy_j += paths.iter().zip(&x).map(spent).sum::<f64>();
        sums.queue += queue;
        sums.carried += total;
        slots += 1.0;
    }
    let SlotMeans {
        energy_j,
        queue,
        carried,
    } = sums;
    SlotMeans {
        energy_j: energy_j / slots,
        queue: queue / slots,
        carried: carried / slots,
    }
}
