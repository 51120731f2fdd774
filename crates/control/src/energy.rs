//! What the interface of a path costs, as schedulers, selectors and allocators see it.

use joulepath_model::energy::{InterfaceModel, Traffic};

/// What a path's interface costs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PathEnergy {
    /// b, J/bit.
    pub slope_j_per_bit: f64,
    /// θ, W.
    pub sunk_w: f64,
    /// Energy of a promotion from idle, J.
    pub wake_j: f64,
    /// Mean power of the tail, W.
    pub tail_w: f64,
    /// Length of the tail, s.
    pub tail_s: f64,
}

impl PathEnergy {
    /// From the model of an interface, for data in one direction.
    pub fn of(model: &InterfaceModel, traffic: Traffic) -> Self {
        let linear = PathEnergy {
            slope_j_per_bit: model.slope(traffic).0,
            sunk_w: model.sunk_power().0,
            ..Self::default()
        };
        let InterfaceModel::Rrc(rrc) = model else { return linear };
        let tail_s: f64 = rrc.tail.iter().map(|stage| stage.duration.as_secs_f64()).sum();
        let tail_j: f64 = rrc.tail.iter().map(|stage| stage.power.0 * stage.duration.as_secs_f64()).sum();
        PathEnergy {
            wake_j: rrc.promotion.power.0 * rrc.promotion.duration.as_secs_f64(),
            tail_w: if tail_s > 0.0 { tail_j / tail_s } else { 0.0 },
            tail_s,
            ..linear
        }
    }

    /// b + θ/x at a rate in bit/s, J/bit.
    pub fn per_bit(&self, rate_bps: f64) -> f64 {
        self.slope_j_per_bit + self.sunk_w / rate_bps
    }

    /// b x + θ, W.
    pub fn power_w(&self, rate_bps: f64) -> f64 {
        self.slope_j_per_bit * rate_bps + self.sunk_w
    }
}
