//! Energy cost of a path's interface, for schedulers, selectors and allocators.

use joulepath_model::energy::{InterfaceModel, SunkWhile, Traffic};

/// Energy cost of a path's interface.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PathEnergy {
    /// b, J/bit.
    pub slope_j_per_bit: f64,
    /// θ, W.
    pub sunk_w: f64,
    /// Energy of a promotion from idle, J.
    pub wake_j: f64,
    /// Length of a promotion, s.
    pub wake_s: f64,
    /// Mean power of the tail, W.
    pub tail_w: f64,
    /// Length of the tail, s.
    pub tail_s: f64,
    /// Power while the interface is unused, W: θ if it always burns, an idle radio's paging, the
    /// idle slots of 003.
    pub idle_w: f64,
    /// Whether the interface sleeps between packets of an open subflow: a radio with promotion and
    /// tail, or the slots of 003.
    pub sleeps: bool,
}

impl PathEnergy {
    /// Computes it from an interface's model, for data in one direction.
    pub fn of(model: &InterfaceModel, traffic: Traffic) -> Self {
        let idle_w = match model {
            InterfaceModel::Linear {
                sunk,
                sunk_while: SunkWhile::Always,
                ..
            } => sunk.0,
            InterfaceModel::Linear {
                sunk_while: SunkWhile::Open,
                ..
            } => 0.0,
            InterfaceModel::Rrc(rrc) => rrc.idle.0,
            InterfaceModel::Slotted { idle, .. } => idle.0,
        };
        let linear = PathEnergy {
            slope_j_per_bit: model.slope(traffic).0,
            sunk_w: model.sunk_power().0,
            idle_w,
            sleeps: !matches!(model, InterfaceModel::Linear { .. }),
            ..Self::default()
        };
        let InterfaceModel::Rrc(rrc) = model else {
            return linear;
        };
        let tail_s: f64 = rrc
            .tail
            .iter()
            .map(|stage| stage.duration.as_secs_f64())
            .sum();
        let tail_j: f64 = rrc
            .tail
            .iter()
            .map(|stage| stage.power.0 * stage.duration.as_secs_f64())
            .sum();
        PathEnergy {
            wake_j: rrc.promotion.power.0 * rrc.promotion.duration.as_secs_f64(),
            wake_s: rrc.promotion.duration.as_secs_f64(),
            tail_w: if tail_s > 0.0 { tail_j / tail_s } else { 0.0 },
            tail_s,
            ..linear
        }
    }

    /// Energy of the whole tail, J.
    pub fn tail_j(&self) -> f64 {
        self.tail_w * self.tail_s
    }

    /// Fixed cost of one more use: promotion and tail, J.
    pub fn switch_j(&self) -> f64 {
        self.wake_j + self.tail_j()
    }

    /// True if θ burns even while the interface is unused.
    pub fn burns_always(&self) -> bool {
        self.sunk_w > 0.0 && self.idle_w >= self.sunk_w
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
