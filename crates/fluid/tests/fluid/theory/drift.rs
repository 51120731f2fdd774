//! The trade-off of so-MPTCP (003, theorems 1 and 2) in its correct form.
//!
//! Time is slotted; the backlog is Q ← (Q + a − Σ x)⁺. Each slot uses the x in the box [0, x̄] that
//! minimises V E(x) − Q Σ x, with E = Σ c_i x_i. For this linear energy the solution is a
//! threshold: path i sends x̄_i if Q > V c_i, otherwise nothing. The slots are those of the
//! allocator, [`SoMptcp`].
//!
//! For any fixed x* in the box, with L = Q²/2 and B_t = (a − Σ x)²/2, every slot has
//!
//! ```text
//!   V E(x) + ΔL  ≤  V E(x*) + Q (a − Σ x*) + B_t
//! ```
//! and so the averages over T slots from an empty backlog are, for *every* sequence of arrivals:
//!
//! ```text
//!   Ē ≤ E(x*) + B̄/V + M̄/V,           Q̄ ≤ (B̄ + V (E(x') − Ē) + M̄')/ε           (theorems 2 and 1)
//!   M̄ = mean of Q (a − Σ x*)           Σ x' = λ + ε,  M̄' = mean of Q (a − λ)
//! ```
//! With independent arrivals of mean λ = Σ x* the expectation of both M̄ is 0: the gap is O(1/V),
//! the backlog O(V).
//!
//! Deviations from 003: Q is projected and is a single queue (003-1, 003-2). Windows stay below the
//! box, so its virtual queues W_i are 0. Its theorem 2 bounds the gap by B + (B + V ΔE)/ε, which
//! does not fall with V, and its text describes the effect of V the wrong way round (003-6, 003-7).

use joulepath_control::allocate::so_mptcp::{self, EnergyShape, SlotPath, SoMptcp, energy_j};

/// The slotted model with linear energy and constant paths.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Slots {
    /// Its paths.
    pub(crate) paths: Vec<SlotPath>,
    /// V.
    pub(crate) v: f64,
}

/// Averages over a sequence of arrivals, from an empty backlog.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Averages {
    /// Ē: mean energy per slot, J.
    pub(crate) energy_j: f64,
    /// Q̄: mean backlog at the start of a slot, packets.
    pub(crate) backlog: f64,
    /// Q at the end, packets.
    pub(crate) left: f64,
    /// B̄ = mean of (a − Σx)²/2.
    pub(crate) drift: f64,
    /// Mean of Q a.
    pub(crate) backlog_arrivals: f64,
}

impl Slots {
    /// E*: the lowest energy per slot for a mean of `rate` packets per slot, J; infinite if the
    /// paths cannot carry it.
    pub(crate) fn least_energy_j(&self, rate: f64) -> f64 {
        so_mptcp::least_energy_j(&self.paths, rate)
    }

    /// The averages over `arrivals` (packets per slot).
    pub(crate) fn run(&self, arrivals: impl IntoIterator<Item = f64>) -> Averages {
        let mut allocator = SoMptcp::new(self.v, EnergyShape::Linear);
        let (mut sum, mut slots) = (Averages::default(), 0.0);
        for arrived in arrivals {
            let sent = allocator.allocate(&self.paths, sum.left, arrived);
            let change = arrived - sent.iter().sum::<f64>();
            let spent_j = |(path, x): (&SlotPath, &f64)| energy_j(path, EnergyShape::Linear, *x);
            sum.energy_j += self.paths.iter().zip(&sent).map(spent_j).sum::<f64>();
            sum.backlog += sum.left;
            sum.drift += change * change / 2.0;
            sum.backlog_arrivals += sum.left * arrived;
            sum.left = (sum.left + change).max(0.0);
            slots += 1.0;
        }
        Averages {
            energy_j: sum.energy_j / slots,
            backlog: sum.backlog / slots,
            left: sum.left,
            drift: sum.drift / slots,
            backlog_arrivals: sum.backlog_arrivals / slots,
        }
    }
}
