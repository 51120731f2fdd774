//! The equations of the energy models as pure functions. Rates are real numbers in bit/s, so
//! optimisers can use them; b in J/bit times x in bit/s is watts.

use super::constants::host;
use super::{HostCurve, HostModel, InterfaceModel, RrcModel, Traffic};
use crate::result::EnergySplit;
use crate::units::{Bytes, JoulesPerBit, Nanos, Watts};

/// [`energy_per_delivered_bit`] treats lower rates as this rate, bit/s (algorithms.md, 2.12).
pub const LEAST_RATE_BPS: f64 = 0.01e6;

/// P(x) = b x + θ 1{x > 0} (000, section III-B, eq. 2; Huang et al. 2012 with θ = β).
pub fn linear_power(b: JoulesPerBit, sunk: Watts, rate_bps: f64) -> Watts {
    if rate_bps > 0.0 {
        Watts(b.0 * rate_bps + sunk.0)
    } else {
        Watts(0.0)
    }
}

/// e = (b + θ / x) / (1 − p): energy per delivered bit at rate x and loss p; infinite if nothing is
/// delivered.
pub fn energy_per_delivered_bit(
    b: JoulesPerBit,
    sunk: Watts,
    rate_bps: f64,
    loss: f64,
) -> JoulesPerBit {
    let delivered = 1.0 - loss;
    if delivered <= 0.0 {
        return JoulesPerBit(f64::INFINITY);
    }
    JoulesPerBit((b.0 + sunk.0 / rate_bps.max(LEAST_RATE_BPS)) / delivered)
}

/// The rate at which two linear interfaces draw the same power: x = (θ1 − θ2) / (b2 − b1), in
/// bit/s. None if there is no such positive rate.
pub fn crossover_bps(first: (JoulesPerBit, Watts), second: (JoulesPerBit, Watts)) -> Option<f64> {
    let rate = (first.1.0 - second.1.0) / (second.0.0 - first.0.0);
    (rate.is_finite() && rate > 0.0).then_some(rate)
}

/// Mean power of a receiver that draws `on` for `on_time` in every `period` (DRX, beacons).
pub fn duty_cycle_mean(on: Watts, on_time: Nanos, period: Nanos) -> Watts {
    Watts(on.0 * (on_time.0 as f64 / period.0 as f64))
}

/// Energy of one transfer from idle at a constant rate: promotion, transfer, whole tail (Huang et
/// al. 2012).
pub fn isolated_transfer(
    model: &RrcModel,
    size: Bytes,
    rate_bps: f64,
    direction: Traffic,
) -> EnergySplit {
    let bits = size.0 as f64 * 8.0;
    let tail: f64 = model
        .tail
        .iter()
        .map(|stage| stage.power.0 * stage.duration.as_secs_f64())
        .sum();
    let slope = match direction {
        Traffic::Down => model.down,
        Traffic::Up => model.up,
    };
    EnergySplit {
        sunk_j: model.active.0 * bits / rate_bps,
        transfer_j: slope.0 * bits,
        tail_j: model.promotion.power.0 * model.promotion.duration.as_secs_f64() + tail,
    }
}

impl InterfaceModel {
    /// b, α or c^d: marginal energy of traffic.
    pub fn slope(&self, direction: Traffic) -> JoulesPerBit {
        match (self, direction) {
            (InterfaceModel::Linear { down, .. }, Traffic::Down) => *down,
            (InterfaceModel::Linear { up, .. }, Traffic::Up) => *up,
            (InterfaceModel::Rrc(rrc), Traffic::Down) => rrc.down,
            (InterfaceModel::Rrc(rrc), Traffic::Up) => rrc.up,
            (InterfaceModel::Slotted { transfer, .. }, _) => *transfer,
        }
    }

    /// θ or β: power while traffic flows, independent of the rate. Zero in the slotted model.
    pub fn sunk_power(&self) -> Watts {
        match self {
            InterfaceModel::Linear { sunk, .. } => *sunk,
            InterfaceModel::Rrc(rrc) => rrc.active,
            InterfaceModel::Slotted { .. } => Watts(0.0),
        }
    }

    /// P(x) while traffic flows at a steady rate.
    pub fn power(&self, direction: Traffic, rate_bps: f64) -> Watts {
        linear_power(self.slope(direction), self.sunk_power(), rate_bps)
    }
}

/// eMPTCP's energy information base (Lim et al., CoNEXT 2015) for a device with WiFi and one
/// cellular interface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EnergyInformationBase {
    /// P0, drawn whichever interface is used.
    pub base: Watts,
    /// b and θ of WiFi.
    pub wifi: (JoulesPerBit, Watts),
    /// b and θ of the cellular interface.
    pub cellular: (JoulesPerBit, Watts),
}

/// WiFi rates between which both interfaces together cost the least energy per bit, at one cellular
/// rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EibThresholds {
    /// Up to this WiFi rate the cellular interface alone is cheapest, bit/s; infinite: at every
    /// rate.
    pub cellular_only_below_bps: f64,
    /// From this WiFi rate on WiFi alone is cheapest, bit/s; infinite: at no rate.
    pub wifi_only_above_bps: f64,
}

impl EnergyInformationBase {
    /// c_w = (P0 + θ_w + b_w x_w) / x_w.
    pub fn wifi_cost(&self, wifi_bps: f64) -> JoulesPerBit {
        JoulesPerBit((self.base.0 + linear_power(self.wifi.0, self.wifi.1, wifi_bps).0) / wifi_bps)
    }

    /// c_c = (P0 + θ_c + b_c x_c) / x_c.
    pub fn cellular_cost(&self, cellular_bps: f64) -> JoulesPerBit {
        let power = linear_power(self.cellular.0, self.cellular.1, cellular_bps);
        JoulesPerBit((self.base.0 + power.0) / cellular_bps)
    }

    /// c_both = (P0 + θ_w + θ_c + b_w x_w + b_c x_c) / (x_w + x_c).
    pub fn both_cost(&self, wifi_bps: f64, cellular_bps: f64) -> JoulesPerBit {
        let wifi = linear_power(self.wifi.0, self.wifi.1, wifi_bps);
        let cellular = linear_power(self.cellular.0, self.cellular.1, cellular_bps);
        JoulesPerBit((self.base.0 + wifi.0 + cellular.0) / (wifi_bps + cellular_bps))
    }

    /// WiFi only  ⇔  x_w (θ_c − (b_w − b_c) x_c) ≥ (P0 + θ_w) x_c;
    /// cellular only  ⇔  x_w (P0 + θ_c − (b_w − b_c) x_c) ≤ θ_w x_c.
    pub fn thresholds(&self, cellular_bps: f64) -> EibThresholds {
        let ((b_w, theta_w), (b_c, theta_c)) = (self.wifi, self.cellular);
        let worth = theta_c.0 - (b_w.0 - b_c.0) * cellular_bps;
        let bound = |power: f64, bracket: f64| {
            if bracket > 0.0 {
                power * cellular_bps / bracket
            } else {
                f64::INFINITY
            }
        };
        EibThresholds {
            cellular_only_below_bps: bound(theta_w.0, self.base.0 + worth),
            wifi_only_above_bps: bound(self.base.0 + theta_w.0, worth),
        }
    }
}

impl HostCurve {
    /// Power at a total rate, relative to the calibration point.
    pub fn relative_power(self, rate_bps: f64) -> f64 {
        use host::*;
        match self {
            HostCurve::Wired { exponent } => {
                let r = (rate_bps - WIRED_LOW_BPS) / (WIRED_HIGH_BPS - WIRED_LOW_BPS);
                1.0 + WIRED_GROWTH * libm::copysign(libm::pow(r.abs(), exponent), r)
            }
            HostCurve::Wifi => {
                1.0 + WIFI_GROWTH * (rate_bps - WIFI_LOW_BPS) / (WIFI_HIGH_BPS - WIFI_LOW_BPS)
            }
        }
    }
}

impl HostModel {
    /// P(R) (1 + η log2(1 + RTT / 10 ms) + ν (n − 1)); n = 0 counts as 1.
    pub fn power(&self, rate_bps: f64, mean_rtt: Nanos, subflows: u32) -> Watts {
        let delay =
            self.delay_weight * libm::log2(1.0 + mean_rtt.as_secs_f64() / host::DELAY_SCALE_S);
        let further = self.subflow_weight * f64::from(subflows.saturating_sub(1));
        Watts(self.unit.0 * self.curve.relative_power(rate_bps) * (1.0 + delay + further))
    }

    /// Power without traffic.
    pub fn idle_power(&self) -> Watts {
        self.power(0.0, Nanos::ZERO, 1)
    }
}
