//! What a calibration yields.

use joulepath_model::energy::{InterfaceModel, RrcModel, Stage};
use joulepath_model::units::{JoulesPerBit, Nanos, Watts};
use serde::Serialize;

use super::timeline::{SHORTEST_TAIL, inactivity, tail_stages};
use crate::survey::Survey;

/// A number with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The estimate.
    pub value: f64,
    /// Low end.
    pub low: f64,
    /// High end.
    pub high: f64,
}

impl Estimate {
    /// With a symmetric interval.
    pub fn symmetric(value: f64, half: f64) -> Self {
        Estimate { value, low: value - half, high: value + half }
    }

    /// Whether a value is within the interval.
    pub fn covers(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }

    /// Half of the interval's width.
    pub fn margin(&self) -> f64 {
        0.5 * (self.high - self.low)
    }
}

/// What a calibration found. Powers of the radio in W above that of the device with the radio off, or idle
/// where it could not be switched off.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Calibration {
    /// Mean power when idle, W; none if the radio could not be switched off.
    pub idle: Option<Estimate>,
    /// β, W.
    pub active: Estimate,
    /// Power of the tail, W; none if it is too short to be told from a transfer.
    pub tail: Option<Estimate>,
    /// Length of the tail, s.
    pub tail_s: Estimate,
    /// Power of the promotion, W.
    pub promotion: Estimate,
    /// Length of the promotion, s.
    pub promotion_s: Estimate,
    /// α_d at full packets, J/bit.
    pub down: Estimate,
    /// α_u at full packets, J/bit.
    pub up: Estimate,
    /// What a packet costs beyond its bits, J.
    pub packet: Estimate,
    /// A busy processor, W.
    pub core: Estimate,
    /// Power of both interfaces together over the sum of each alone; none without a second one.
    pub sharing: Option<Estimate>,
    /// Relative error on what was not used for the fit.
    pub hold_out_error: f64,
    /// What the meter was like.
    pub survey: Survey,
    /// Blocks that were used.
    pub blocks: usize,
    /// How long it took, s.
    pub seconds: f64,
}

impl Calibration {
    /// The energy model that it stands for. What could not be told from 0 may have come out below: it is 0
    /// there.
    pub fn model(&self) -> InterfaceModel {
        let power = |estimate: &Estimate| Watts(estimate.value.max(0.0));
        let slope = |estimate: &Estimate| JoulesPerBit(estimate.value.max(0.0));
        let tail = Nanos::from_secs_f64(self.tail_s.value);
        debug_assert_eq!(
            self.tail.is_none(),
            tail < SHORTEST_TAIL,
            "a tail has a power if it is long enough"
        );
        InterfaceModel::Rrc(RrcModel {
            down: slope(&self.down),
            up: slope(&self.up),
            active: power(&self.active),
            inactivity: inactivity(tail),
            promotion: Stage {
                power: power(&self.promotion),
                duration: Nanos::from_secs_f64(self.promotion_s.value.max(0.0)),
            },
            tail: self.tail.as_ref().map_or(Vec::new(), |estimate| tail_stages(power(estimate), tail)),
            idle: self.idle.as_ref().map_or(Watts(0.0), power),
        })
    }
}
