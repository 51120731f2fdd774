//! The result of a calibration.

use joulepath_model::energy::{InterfaceModel, RrcModel, Stage};
use joulepath_model::units::{JoulesPerBit, Nanos, Watts};
use serde::Serialize;

use super::timeline::{SHORTEST_TAIL, inactivity, tail_stages};
use crate::survey::Survey;

/// A value with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// Point estimate.
    pub value: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

impl Estimate {
    /// An estimate with a symmetric interval.
    pub fn symmetric(value: f64, half: f64) -> Self {
        Estimate {
            value,
            low: value - half,
            high: value + half,
        }
    }

    /// True if the interval contains `value`.
    pub fn covers(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }

    /// Half of the interval's width.
    pub fn margin(&self) -> f64 {
        0.5 * (self.high - self.low)
    }
}

/// The result of a calibration. Powers of the radio in W, relative to the device with the radio
/// off; or to the idle device if the radio could not be switched off.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Calibration {
    /// Mean power when idle, W; `None` if the radio could not be switched off.
    pub idle: Option<Estimate>,
    /// β, W.
    pub active: Estimate,
    /// Power of the tail, W; `None` if the tail is too short to distinguish from a transfer.
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
    /// Energy of a packet in addition to its bits, J.
    pub packet: Estimate,
    /// Power of a busy processor, W.
    pub core: Estimate,
    /// Power of both interfaces together divided by the sum of each alone; `None` without a second
    /// interface.
    pub sharing: Option<Estimate>,
    /// Weakest and strongest signal, dBm, without the weakest and the strongest twentieth of the
    /// readings; `None` without readings.
    pub signal_dbm: Option<[f64; 2]>,
    /// Relative error on the hold-out.
    pub hold_out_error: f64,
    /// Properties of the meter.
    pub survey: Survey,
    /// Number of blocks used.
    pub blocks: usize,
    /// Duration, s.
    pub seconds: f64,
}

impl Calibration {
    /// The energy model. Negative estimates, which cannot be distinguished from 0, become 0.
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
            tail: self
                .tail
                .as_ref()
                .map_or(Vec::new(), |estimate| tail_stages(power(estimate), tail)),
            idle: self.idle.as_ref().map_or(Watts(0.0), power),
        })
    }

    /// Every value with its interval, as a table for a terminal.
    pub fn table(&self) -> String {
        let row = |name: &str, estimate: &Estimate, scale: f64, unit: &str| {
            let [value, low, high] =
                [estimate.value, estimate.low, estimate.high].map(|number| number * scale);
            format!("{name:20} {value:10.3}  {low:10.3} … {high:<10.3} {unit}\n")
        };
        let mut text = format!("{:20} {:>10}  95 % interval\n", "", "estimate");
        text += &row("received traffic", &self.down, 1e9, "mW/Mbps");
        text += &row("sent traffic", &self.up, 1e9, "mW/Mbps");
        text += &row("active", &self.active, 1e3, "mW");
        if let Some(tail) = &self.tail {
            text += &row("tail, power", tail, 1e3, "mW");
        }
        text += &row("tail, length", &self.tail_s, 1e3, "ms");
        text += &row("promotion, power", &self.promotion, 1e3, "mW");
        text += &row("promotion, length", &self.promotion_s, 1e3, "ms");
        if let Some(idle) = &self.idle {
            text += &row("idle", idle, 1e3, "mW");
        }
        text += &row("a packet, beyond", &self.packet, 1e6, "µJ");
        text += &row("a busy processor", &self.core, 1e3, "mW");
        if let Some(sharing) = &self.sharing {
            text += &row("both over the sum", sharing, 1.0, "");
        }
        text
    }
}
