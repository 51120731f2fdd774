//! State of the control plane of a connection.

use joulepath_control::allocate::{Sharer, SoMptcp};
use joulepath_control::price::{Needs, PathCost, TICK};
use joulepath_control::select::{Observer, PathEnergy};
use joulepath_model::scenario::Scenario;
use joulepath_model::units::Nanos;

/// One subflow, for the control plane.
pub(crate) struct CostedSubflow {
    pub(crate) cost: PathCost,
    /// x_r, smoothed, bit/s.
    pub(crate) rate_bps: f64,
    pub(crate) seen_bytes: u64,
}

/// The control plane of one connection.
pub(crate) struct ControlPlane {
    pub(crate) needs: Needs,
    /// Whether the device has a host model, which needs rate and RTT.
    pub(crate) samples_host: bool,
    pub(crate) subflows: Vec<CostedSubflow>,
    /// Bytes delivered by the last tick.
    pub(crate) delivered_bytes: u64,
    /// The sharer that changes the target shares, with its observer.
    pub(crate) sharer: Option<(Sharer, Observer)>,
    /// The slots of so-MPTCP.
    pub(crate) slots: Option<Slots>,
}

/// The allocator of so-MPTCP in a connection.
pub(crate) struct Slots {
    pub(crate) allocator: SoMptcp,
    /// Δt, the length of a slot.
    pub(crate) slot: Nanos,
    /// b and θ of each path.
    pub(crate) energies: Vec<PathEnergy>,
}

impl ControlPlane {
    /// A control plane that does nothing.
    pub(crate) fn idle() -> Self {
        ControlPlane {
            needs: Needs::default(),
            samples_host: false,
            subflows: vec![],
            delivered_bytes: 0,
            sharer: None,
            slots: None,
        }
    }

    /// The control plane of a connection with these path costs.
    pub(crate) fn new(needs: Needs, scenario: &Scenario, costs: Vec<PathCost>) -> Self {
        let costed = |cost| CostedSubflow {
            cost,
            rate_bps: 0.0,
            seen_bytes: 0,
        };
        ControlPlane {
            needs,
            samples_host: scenario.device.host.is_some(),
            subflows: costs.into_iter().map(costed).collect(),
            ..Self::idle()
        }
    }

    /// Time between two ticks; `None` if no tick is needed.
    pub(crate) fn period(&self) -> Option<Nanos> {
        (self.needs.any() || self.samples_host || self.sharer.is_some()).then_some(TICK)
    }
}
