//! A device's goal and resources: the optimiser's view of one connection.

use joulepath_model::energy::DeviceEnergy;

use super::cost::InterfaceCost;
use super::in_order::InOrder;
use super::start::Start;

/// Bound on the rates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capacity {
    /// TCP's rate.
    TcpFriendly,
    /// The links' rate.
    Link,
}

impl Capacity {
    /// Its name, as in [`Reference::kind`](joulepath_model::result::Reference::kind).
    pub const fn name(self) -> &'static str {
        match self {
            Capacity::TcpFriendly => "tcp-reference",
            Capacity::Link => "link-bound",
        }
    }
}

/// One device with the paths of one connection.
#[derive(Clone, Debug)]
pub struct DeviceProblem<'a> {
    /// Cost of each path, at most 8.
    pub costs: Vec<InterfaceCost>,
    /// Maximum payload rate on each path alone, bit/s; infinite: no limit of its own.
    pub capacities_bps: Vec<f64>,
    /// Propagation RTT of each path, s.
    pub rtts_s: Vec<f64>,
    /// Bounds on several paths together.
    pub shared: Vec<Shared>,
    /// In-order throughput of a full window; `None` if it does not count.
    pub in_order: Option<InOrder>,
    /// Start of the subflows; `None` if they carry the links' rate from the first instant.
    pub start: Option<Start>,
    /// The run in slots with their own capacities, in addition to the bounds above; at least one
    /// slot.
    pub slots: Vec<Slot>,
    /// Bounds on what each radio can carry of the application's data.
    pub written: Vec<Shared>,
    /// Base, sharing factor, host.
    pub device: &'a DeviceEnergy,
}

/// A linear constraint: Σ weight_r x_r ≤ most.
#[derive(Clone, Debug, PartialEq)]
pub struct Shared {
    /// One weight per path, not negative.
    pub weights: Vec<f64>,
    /// In the unit of weight × bit/s.
    pub most: f64,
    /// Time that each use of a radio adds, s (see `uses`); 0: the bound holds at any instant.
    pub use_s: f64,
    /// Part of the whole time that is added.
    pub slack: f64,
}

/// Part of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Slot {
    /// Length, s.
    pub seconds: f64,
    /// Bounds at any instant of the slot.
    pub peak: Vec<Shared>,
    /// Bounds on the slot's mean, if lower.
    pub mean: Vec<Shared>,
    /// What each path costs in the slot more than its [`InterfaceCost`]; empty if all cost the same
    /// in every slot.
    pub excess: Vec<Excess>,
}

/// Additional cost of an interface in one slot.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Excess {
    /// Power while used, W.
    pub used_w: f64,
    /// Energy per bit, J/bit.
    pub slope_j_per_bit: f64,
}

/// The device's goal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Goal {
    /// The most bits per joule.
    Bulk,
    /// One file with the least energy, including promotion and tail of each used radio.
    File {
        /// Payload.
        bits: f64,
    },
    /// Answers to successive requests, each with the least energy of its transfer and of the wait
    /// after it.
    Requests {
        /// Payload of one answer.
        bits: f64,
        /// Time without data between two answers, s.
        waiting_s: f64,
        /// Part of it before the request, s.
        think_s: f64,
        /// Time that is filled with as many answers as fit, s.
        repeated_s: f64,
    },
    /// A mean rate, or as much of it as fits, at the least power.
    Rate {
        /// bit/s.
        bps: f64,
    },
}

/// The optimum for a [`Goal`].
#[derive(Clone, Debug, PartialEq)]
pub struct Optimum {
    /// Payload rate on each path while data flows (rate goals: on average), bit/s.
    pub rates_bps: Vec<f64>,
    /// Payload rate over the whole time, bit/s.
    pub goodput_bps: f64,
    /// Mean power, W.
    pub power_w: f64,
    /// Energy of the transfer, J.
    pub energy_j: Option<f64>,
}

impl Optimum {
    /// Efficiency of the optimum, bit/J.
    pub fn bits_per_joule(&self) -> f64 {
        self.goodput_bps / self.power_w
    }
}

impl Shared {
    /// A bound that holds at any instant.
    pub fn always(weights: Vec<f64>, most: f64) -> Self {
        Shared {
            weights,
            most,
            use_s: 0.0,
            slack: 0.0,
        }
    }

    /// Maximum rate of path `i` alone.
    pub(super) fn alone(&self, i: usize) -> f64 {
        if self.weights[i] > 0.0 {
            self.most / self.weights[i]
        } else {
            f64::INFINITY
        }
    }
}

impl DeviceProblem<'_> {
    /// Maximum mean rate of path `i` with nothing on the other paths, bit/s.
    pub fn alone_bps(&self, i: usize) -> f64 {
        let least = |bounds: &[Shared]| {
            bounds
                .iter()
                .map(|b| b.alone(i))
                .fold(f64::INFINITY, f64::min)
        };
        let own = least(&self.shared).min(self.capacities_bps[i]);
        let of_slot =
            |slot: &Slot| slot.seconds * least(&slot.peak).min(least(&slot.mean)).min(own);
        let seconds: f64 = self.slots.iter().map(|slot| slot.seconds).sum();
        self.slots.iter().map(of_slot).sum::<f64>() / seconds
    }

    /// Mean rate that the links of path `i` carry, bit/s, regardless of buffers and of a fair
    /// share.
    pub(super) fn undivided_bps(&self, i: usize) -> f64 {
        let least = |slot: &Slot| {
            slot.peak
                .iter()
                .map(|b| b.alone(i))
                .fold(f64::INFINITY, f64::min)
        };
        let seconds: f64 = self.slots.iter().map(|slot| slot.seconds).sum();
        self.slots
            .iter()
            .map(|slot| slot.seconds * least(slot))
            .sum::<f64>()
            / seconds
    }
}
