//! Energy of traffic, modelled from an interface's counters. Meters of the machine are in `gauge`.

use joulepath_model::energy::meter::DeviceMeter;
use joulepath_model::energy::radios::REFERENCE;
use joulepath_model::energy::{DeviceEnergy, InterfaceEnergy, Traffic};
use joulepath_model::units::{Dbm, Nanos};
use serde::Serialize;

use crate::placing::Placed;

/// Most packets into which an interval is split.
const MOST_PACKETS: u64 = 1000;
/// Time constant of the smoothed power, s: the power between two close polls is noisy.
const POWER_SMOOTHED_S: f64 = 5.0;

/// Source of an energy value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Quality {
    /// From traffic, by a published energy model.
    Modelled,
    /// From traffic, by a model fitted on this device.
    Calibrated,
    /// From a meter.
    Measured,
}

impl Quality {
    /// The word in reports and labels.
    pub fn word(self) -> &'static str {
        match self {
            Quality::Modelled => "modelled",
            Quality::Calibrated => "calibrated",
            Quality::Measured => "measured",
        }
    }
}

/// Power, smoothed over a few seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Smoothed {
    /// `None` before the first interval.
    power_w: Option<f64>,
}

impl Smoothed {
    /// Adds an interval of length `length_s` with mean power `mean_w`.
    pub fn add(&mut self, mean_w: f64, length_s: f64) {
        let weight = 1.0 - (-length_s / POWER_SMOOTHED_S).exp();
        let before = self.power_w.unwrap_or(mean_w);
        self.power_w = Some(before + weight * (mean_w - before));
    }

    /// Smoothed power, W.
    pub fn power_w(self) -> Option<f64> {
        self.power_w
    }
}

/// Energy by the model of one interface. The packets of an interval are spread evenly between the
/// first and the last.
#[derive(Clone, Debug)]
pub struct Modelled {
    meter: DeviceMeter,
    quality: Quality,
    at: Nanos,
    spent_j: f64,
    /// Of a radio whose power follows its signal.
    signal: Option<Dbm>,
}

impl Modelled {
    /// An interface that is idle at `now`. Without a signal, a radio whose power follows its signal
    /// counts at [`REFERENCE`].
    pub fn new(energy: &InterfaceEnergy, quality: Quality, now: Nanos) -> Self {
        let model = std::slice::from_ref(&energy.model);
        let mut meter = DeviceMeter::new(model, &DeviceEnergy::ADDITIVE, now);
        let signal = energy.radio().map(|radio| {
            meter.follow(0, radio, vec![(Nanos::ZERO, REFERENCE)]);
            REFERENCE
        });
        // Endpoints exist as long as the daemon runs, with or without connections.
        meter.open(0, now);
        Modelled {
            meter,
            quality,
            at: now,
            spent_j: 0.0,
            signal,
        }
    }

    /// How reliable the values are.
    pub fn quality(&self) -> Quality {
        self.quality
    }

    /// The signal for which it computes; `None` if the model does not depend on the signal.
    pub fn signal(&self) -> Option<Dbm> {
        self.signal
    }

    /// Energy of the interval that follows that of the last call, J; `signal` is that of the path.
    pub fn advance(&mut self, interval: Placed, signal: Option<Dbm>) -> f64 {
        let Placed {
            first,
            last,
            passed,
            until,
            ..
        } = interval;
        let now = until.max(self.at);
        let signal = self.signal.map(|_| signal.unwrap_or(REFERENCE));
        if let Some(signal) = signal.filter(|_| signal != self.signal) {
            // The reading is of the end of the interval, and stands for all of it.
            self.meter.set_signal(0, self.at, signal);
            self.signal = Some(signal);
        }
        let bytes = [passed.received_bytes, passed.sent_bytes];
        if bytes != [0, 0] {
            let least = bytes.iter().sum::<u64>().div_ceil(u64::from(u32::MAX));
            let packets = passed.packets.clamp(1, MOST_PACKETS).max(least);
            let length = last.saturating_sub(first).0;
            for k in 0..packets {
                let at = Nanos(
                    first.0 + (u128::from(length) * u128::from(k) / u128::from(packets)) as u64,
                );
                for (total, direction) in bytes.into_iter().zip([Traffic::Down, Traffic::Up]) {
                    let part = part_of(total, k, packets);
                    if part > 0 {
                        self.meter.on_counted(0, at, part, direction);
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

/// Bytes in packet `k` of `packets`; all packets add up to `total`.
fn part_of(total: u64, k: u64, packets: u64) -> u32 {
    let before = |k: u64| (u128::from(total) * u128::from(k) / u128::from(packets)) as u64;
    u32::try_from(before(k + 1) - before(k)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use joulepath_model::energy::profile;

    use super::*;
    use crate::placing::Passed;

    fn energy(name: &str) -> InterfaceEnergy {
        InterfaceEnergy {
            profile: name.into(),
            model: profile(name).unwrap().model,
        }
    }

    /// Energy until `now` with packets spread over the whole time.
    fn advance(joules: &mut Modelled, now: Nanos, passed: Passed, signal: Option<Dbm>) -> f64 {
        let from = joules.at;
        joules.advance(Placed::evenly(from, now, passed), signal)
    }

    #[test]
    fn a_radio_costs_the_power_of_its_signal_and_without_one_that_of_the_reference() {
        let radio = joulepath_model::energy::radios::radio("5g-mmwave-2021").unwrap();
        let mut joules = Modelled::new(&energy("5g-mmwave-2021"), Quality::Modelled, Nanos::ZERO);
        // 100 Mbit/s down. The first 20 s contain the promotion.
        let passed = |s: u64| Passed {
            received_bytes: 12_500_000 * s,
            sent_bytes: 0,
            packets: 10_000 * s,
        };
        advance(&mut joules, Nanos::from_secs(20), passed(20), None);
        for (s, signal, dbm) in [
            (30, None, -80.0),
            (40, Some(-110.0), -110.0),
            (50, None, -80.0),
        ] {
            let spent = advance(
                &mut joules,
                Nanos::from_secs(s),
                passed(10),
                signal.map(Dbm),
            );
            let expected = 10.0 * radio.power(Dbm(dbm), 100e6, 0.0).0;
            assert!(
                (spent / expected - 1.0).abs() < 0.15,
                "{s}: {spent} J, {expected} J"
            );
            assert_eq!(joules.signal(), Some(Dbm(dbm)));
        }
        // A model without signal ignores it.
        let mut wifi = Modelled::new(&energy("wifi-seed000"), Quality::Modelled, Nanos::ZERO);
        advance(&mut wifi, Nanos::from_secs(2), passed(1), Some(Dbm(-60.0)));
        assert_eq!(wifi.signal(), None);
    }

    #[test]
    fn a_linear_interface_costs_its_slope_and_its_base_power() {
        // Paper 000, table 1: WiFi 137 mW per Mbit/s and 132.9 mW. 1 MB in 2 s: 8 Mbit · 0.137 J +
        // 2 s · 0.1329 W = 1.3618 J.
        let mut joules = Modelled::new(&energy("wifi-seed000"), Quality::Modelled, Nanos::ZERO);
        let passed = Passed {
            received_bytes: 1_000_000,
            sent_bytes: 0,
            packets: 700,
        };
        let spent = advance(&mut joules, Nanos::from_secs(2), passed, None);
        assert!((spent - 1.3618).abs() < 1e-6, "{spent}");
        assert!(
            (advance(&mut joules, Nanos::from_secs(3), Passed::default(), None) - 0.1329).abs()
                < 1e-9
        );
    }

    #[test]
    fn a_radio_with_traffic_costs_more_than_a_sleeping_one() {
        let new = || Modelled::new(&energy("lte-huang2012"), Quality::Modelled, Nanos::ZERO);
        let (mut used, mut idle) = (new(), new());
        let passed = Passed {
            received_bytes: 100,
            sent_bytes: 60,
            packets: 2,
        };
        let after = Nanos::from_secs(60);
        advance(&mut used, Nanos::from_secs(1), passed, None);
        let used = advance(&mut used, after, Passed::default(), None);
        let slept = advance(&mut idle, after, Passed::default(), None);
        // The tail of LTE: 1060.04 mW for 11.576 s, 12.3 J (Huang et al., table 3).
        assert!(used - slept > 11.0 && used - slept < 14.0, "{used} {slept}");
    }

    #[test]
    fn a_promotion_precedes_the_first_received_packet() {
        // LTE (Huang et al., table 3): 260.1 ms at 1210.7 mW, then 2 s at 1288.04 mW without the
        // last of 200 packets, then the tail of 11.576 s at 1060 mW. 2 MB down at 51.97 nJ/bit.
        let energy_of = |passed: Passed| {
            let mut joules =
                Modelled::new(&energy("lte-huang2012"), Quality::Modelled, Nanos::ZERO);
            let all = advance(&mut joules, Nanos::from_secs(2), passed, None)
                + advance(&mut joules, Nanos::from_secs(14), Passed::default(), None);
            let bits = 8.0
                * (passed.received_bytes as f64 * 51.97e-9 + passed.sent_bytes as f64 * 438.39e-9);
            all - bits
        };
        let received = energy_of(Passed {
            received_bytes: 2_000_000,
            sent_bytes: 0,
            packets: 200,
        });
        let promoted_j = 0.2601 * 1.2107;
        let expected = promoted_j + 1.99 * 1.28804 + 11.576 * 1.06004;
        assert!((received - expected).abs() < 0.01, "{received} {expected}");
        // A packet that is only sent waits for the promotion.
        let sent = energy_of(Passed {
            received_bytes: 0,
            sent_bytes: 2_000_000,
            packets: 200,
        });
        let expected = expected - 0.2601 * 1.28804;
        assert!((sent - expected).abs() < 0.01, "{sent} {expected}");
    }

    #[test]
    fn splitting_bytes_over_packets_loses_none() {
        for total in [0, 1, 999, 1001, u64::from(u32::MAX) * 3] {
            let sum: u64 = (0..1000).map(|k| u64::from(part_of(total, k, 1000))).sum();
            assert_eq!(sum, total);
        }
    }
}
