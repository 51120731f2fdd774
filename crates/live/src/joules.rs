//! What traffic costs, and how sure that is.
//!
//! Here joules of interfaces are modelled from counters; what a meter of the machine says is in `gauge`.

use joulepath_model::energy::meter::DeviceMeter;
use joulepath_model::energy::{DeviceEnergy, InterfaceModel, Traffic};
use joulepath_model::units::Nanos;
use serde::Serialize;

/// Most packets that one interval is cut into.
const MOST_PACKETS: u64 = 1000;
/// Power is smoothed with this time constant, s: a look that comes soon after another one tells little.
const POWER_SMOOTHED_S: f64 = 5.0;

/// Where joules come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Quality {
    /// From traffic by a published energy model.
    Modelled,
    /// From traffic by a model that was fitted on this device.
    Calibrated,
    /// By a meter.
    Measured,
}

impl Quality {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Quality::Modelled => "modelled",
            Quality::Calibrated => "calibrated",
            Quality::Measured => "measured",
        }
    }
}

/// Power, smoothed over some seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Smoothed {
    /// None before the first interval.
    power_w: Option<f64>,
}

impl Smoothed {
    /// Takes in an interval of this mean power.
    pub fn add(&mut self, mean_w: f64, length_s: f64) {
        let weight = 1.0 - (-length_s / POWER_SMOOTHED_S).exp();
        let before = self.power_w.unwrap_or(mean_w);
        self.power_w = Some(before + weight * (mean_w - before));
    }

    /// What it is, W.
    pub fn power_w(self) -> Option<f64> {
        self.power_w
    }
}

/// What passed an interface in an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passed {
    /// Bytes received.
    pub received_bytes: u64,
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Packets in both directions.
    pub packets: u64,
}

/// Something that knows what an interface has spent.
pub trait Joules {
    /// How sure it is.
    fn quality(&self) -> Quality;

    /// What was spent since the last call, J; `passed` is the traffic of that time.
    fn advance(&mut self, now: Nanos, passed: Passed) -> f64;
}

/// By the energy model of one interface. The packets of an interval are taken to be evenly spaced in it,
/// since counters do not tell when they passed: bursts between two looks seem longer than they were, and a
/// radio seems awake for longer.
#[derive(Clone, Debug)]
pub struct Modelled {
    meter: DeviceMeter,
    quality: Quality,
    at: Nanos,
    spent_j: f64,
}

impl Modelled {
    /// An interface that is idle at `now`, by a model of some quality.
    pub fn new(model: &InterfaceModel, quality: Quality, now: Nanos) -> Self {
        let mut meter = DeviceMeter::new(std::slice::from_ref(model), &DeviceEnergy::ADDITIVE, now);
        // Endpoints are there as long as the daemon is, connections or not.
        meter.open(0, now);
        Modelled { meter, quality, at: now, spent_j: 0.0 }
    }
}

impl Joules for Modelled {
    fn quality(&self) -> Quality {
        self.quality
    }

    fn advance(&mut self, now: Nanos, passed: Passed) -> f64 {
        let now = now.max(self.at);
        let bytes = [passed.received_bytes, passed.sent_bytes];
        if bytes != [0, 0] {
            let least = bytes.iter().sum::<u64>().div_ceil(u64::from(u32::MAX));
            let packets = passed.packets.clamp(1, MOST_PACKETS).max(least);
            let length = (now - self.at).0;
            for k in 0..packets {
                let at = Nanos(self.at.0 + (u128::from(length) * u128::from(k) / u128::from(packets)) as u64);
                for (total, direction) in bytes.into_iter().zip([Traffic::Down, Traffic::Up]) {
                    let part = part_of(total, k, packets);
                    if part > 0 {
                        self.meter.on_packet(0, at, part, direction);
                    }
                }
            }
        }
        self.at = now;
        let spent_j = self.meter.snapshot(now).total_j();
        let new_j = (spent_j - self.spent_j).max(0.0);
        self.spent_j = spent_j.max(self.spent_j);
        new_j
    }
}

/// The part of `total` that the packet `k` of `packets` carries; all parts together are `total`.
fn part_of(total: u64, k: u64, packets: u64) -> u32 {
    let before = |k: u64| (u128::from(total) * u128::from(k) / u128::from(packets)) as u64;
    u32::try_from(before(k + 1) - before(k)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use joulepath_model::energy::profile;

    use super::*;

    #[test]
    fn a_linear_interface_costs_its_slope_and_its_sunk_power() {
        // Paper 000, table 1: WiFi 137 mW per Mbit/s and 132.9 mW. 1 MB in 2 s: 8 Mbit · 0.137 J + 2 s ·
        // 0.1329 W = 1.3618 J.
        let model = profile("wifi-seed000").unwrap().model;
        let mut joules = Modelled::new(&model, Quality::Modelled, Nanos::ZERO);
        let passed = Passed { received_bytes: 1_000_000, sent_bytes: 0, packets: 700 };
        let spent = joules.advance(Nanos::from_secs(2), passed);
        assert!((spent - 1.3618).abs() < 1e-6, "{spent}");
        assert!((joules.advance(Nanos::from_secs(3), Passed::default()) - 0.1329).abs() < 1e-9);
    }

    #[test]
    fn a_radio_that_carries_something_costs_more_than_one_that_sleeps() {
        let model = profile("lte-huang2012").unwrap().model;
        let new = || Modelled::new(&model, Quality::Modelled, Nanos::ZERO);
        let (mut used, mut idle) = (new(), new());
        let passed = Passed { received_bytes: 100, sent_bytes: 60, packets: 2 };
        let after = Nanos::from_secs(60);
        used.advance(Nanos::from_secs(1), passed);
        let used = used.advance(after, Passed::default());
        let slept = idle.advance(after, Passed::default());
        // The tail of LTE: 1060.04 mW for 11.576 s, 12.3 J (Huang et al., table 3).
        assert!(used - slept > 11.0 && used - slept < 14.0, "{used} {slept}");
    }

    #[test]
    fn all_bytes_are_counted_however_many_they_are() {
        for total in [0, 1, 999, 1001, u64::from(u32::MAX) * 3] {
            let sum: u64 = (0..1000).map(|k| u64::from(part_of(total, k, 1000))).sum();
            assert_eq!(sum, total);
        }
    }
}
