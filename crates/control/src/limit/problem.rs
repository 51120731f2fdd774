//! What a device is to do and with what: the optimiser's view of one connection.

use joulepath_model::energy::DeviceEnergy;

use super::cost::InterfaceCost;
use super::in_order::InOrder;
use super::start::Start;

/// What bounds the rates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capacity {
    /// What TCP would take.
    TcpFriendly,
    /// What the links carry.
    Link,
}

impl Capacity {
    /// As in [`Limit::kind`](joulepath_model::result::Limit::kind).
    pub const fn name(self) -> &'static str {
        match self {
            Capacity::TcpFriendly => "tcp-friendly",
            Capacity::Link => "link",
        }
    }
}

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
    /// What in-order delivery leaves of a full window; none if it is not asked for.
    pub in_order: Option<InOrder>,
    /// How subflows start; none if they carry what the links do from the first instant on.
    pub start: Option<Start>,
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

/// Part of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Slot {
    /// Length, s.
    pub seconds: f64,
    /// Bounds at any instant of it.
    pub peak: Vec<Shared>,
    /// Bounds of the mean over it, where they are lower.
    pub mean: Vec<Shared>,
}

/// What the device is to do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Goal {
    /// As many bits per joule as possible.
    Bulk,
    /// One file with the least energy, the promotion and the tail of every radio that it uses included.
    File {
        /// Payload.
        bits: f64,
    },
    /// Answers to requests, one after the other, each with the least energy of its transfer and of the wait
    /// after it.
    Requests {
        /// Payload of one answer.
        bits: f64,
        /// Time without data between one answer and the next, s.
        waiting_s: f64,
        /// Time into which as many answers go as fit, s.
        repeated_s: f64,
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

impl Shared {
    /// Most that path `i` could have alone.
    pub(super) fn alone(&self, i: usize) -> f64 {
        if self.weights[i] > 0.0 { self.most / self.weights[i] } else { f64::INFINITY }
    }
}

impl DeviceProblem<'_> {
    /// Most that path `i` could carry on average with nothing on the others, bit/s.
    pub fn alone_bps(&self, i: usize) -> f64 {
        let least = |bounds: &[Shared]| bounds.iter().map(|b| b.alone(i)).fold(f64::INFINITY, f64::min);
        let own = least(&self.shared).min(self.capacities_bps[i]);
        let of_slot = |slot: &Slot| slot.seconds * least(&slot.peak).min(least(&slot.mean)).min(own);
        let seconds: f64 = self.slots.iter().map(|slot| slot.seconds).sum();
        self.slots.iter().map(of_slot).sum::<f64>() / seconds
    }
}
