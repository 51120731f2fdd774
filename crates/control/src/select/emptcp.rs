//! eMPTCP (Lim, Chen, Nahum, Towsley, Gibbens, Cecchet, CoNEXT 2015): WiFi, cellular or both, by
//! forecast rates.
//!
//! ```text
//!                 low(x_c)          high(x_c)
//!     cellular only  │      both       │  WiFi only          a threshold must be passed by 10 % to switch
//!    ────────────────┴─────────────────┴──────────────► x_w, forecast by Holt and Winters
//!
//!   high: x_w (θ_c − (b_w − b_c) x_c) ≥ (P₀ + θ_w) x_c      low: x_w (P₀ + θ_c − (b_w − b_c) x_c) ≤ θ_w x_c
//! ```
//! The cellular subflow opens only after κ bytes over WiFi, or after τ if WiFi is forecast below
//! `high`. An unused path becomes a backup (MP_PRIO) and stays open.
//!
//! Deviations: the energy information base is the formula, not a table; of several cellular paths
//! the cheapest is used and the others stay closed; gains, κ and τ follow the literature (1 MB, 3
//! s); a path is sampled while it has more to send.

use joulepath_controllers::MAX_SUBFLOWS;
use joulepath_model::energy::Confidence;
use joulepath_model::units::Nanos;

use super::selector::PathSelector;
use super::snapshot::{PathState, Snapshot, UNTRIED_BPS};
use super::uses::{Use, Uses};
use crate::energy::PathEnergy;
use crate::options::{self, OptionError, PartInfo};

/// Sampling interval.
const SAMPLING: Nanos = Nanos::from_millis(250);
/// Gains of level and trend.
const LEVEL_GAIN: f64 = 0.25;
const TREND_GAIN: f64 = 0.05;
/// Factor by which a threshold must be passed.
const HYSTERESIS: f64 = 1.1;
/// Minimum forecast, bit/s.
const LEAST_BPS: f64 = 1e3;

/// Holt–Winters without seasons: level and trend.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Forecast {
    level: Option<f64>,
    trend: f64,
}

impl Forecast {
    /// Adds a sample.
    pub fn sample(&mut self, value: f64) {
        let Some(level) = self.level else {
            self.level = Some(value);
            return;
        };
        let next = LEVEL_GAIN * value + (1.0 - LEVEL_GAIN) * (level + self.trend);
        self.trend = TREND_GAIN * (next - level) + (1.0 - TREND_GAIN) * self.trend;
        self.level = Some(next);
    }

    /// The forecast of the next sample; `None` before the first.
    pub fn next(&self) -> Option<f64> {
        self.level.map(|level| level + self.trend)
    }
}

/// WiFi rates at which the most efficient choice changes, bit/s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thresholds {
    /// Below this, cellular alone.
    pub low_bps: f64,
    /// From this on, WiFi alone.
    pub high_bps: f64,
}

impl Thresholds {
    /// Thresholds for a cellular rate, with a constant base power `base_w` (energy.md, section 5).
    /// Infinite if no WiFi rate is enough.
    pub fn at(wifi: &PathEnergy, cellular: &PathEnergy, base_w: f64, cellular_bps: f64) -> Self {
        let saved_w = (wifi.slope_j_per_bit - cellular.slope_j_per_bit) * cellular_bps;
        let over = |numerator_w: f64, bracket_w: f64| {
            if bracket_w > 0.0 {
                numerator_w * cellular_bps / bracket_w
            } else {
                f64::INFINITY
            }
        };
        Thresholds {
            low_bps: over(wifi.sunk_w, base_w + cellular.sunk_w - saved_w),
            high_bps: over(base_w + wifi.sunk_w, cellular.sunk_w - saved_w),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Region {
    Cellular,
    Both,
    Wifi,
}

/// The selector of Lim et al.
#[derive(Clone, Debug, PartialEq)]
pub struct Emptcp {
    /// κ: bytes over WiFi after which the cellular subflow opens.
    pub open_bytes: u64,
    /// τ: time after which it opens if WiFi is slow.
    pub open_after: Nanos,
    /// Whether cellular must also be useful before κ opens it.
    pub check: bool,
    wifi: Forecast,
    cellular: Forecast,
    region: Region,
    started: Option<Nanos>,
    opened: bool,
    /// WiFi and the cheapest cellular path.
    pair: Option<(usize, Option<usize>)>,
}

impl Default for Emptcp {
    fn default() -> Self {
        Emptcp {
            open_bytes: 1_000_000,
            open_after: Nanos::from_secs(3),
            check: false,
            wifi: Forecast::default(),
            cellular: Forecast::default(),
            region: Region::Wifi,
            started: None,
            opened: false,
            pair: None,
        }
    }
}

/// The path with the least sunk power, and the cheapest of the others.
fn pair(snapshot: &Snapshot) -> (usize, Option<usize>) {
    let sunk = |i: usize| snapshot.paths[i].energy.sunk_w;
    let wifi = (0..snapshot.paths.len()).fold(0, |a, b| if sunk(b) < sunk(a) { b } else { a });
    (wifi, snapshot.by_cost().into_iter().find(|&i| i != wifi))
}

impl PathSelector for Emptcp {
    const INFO: PartInfo = PartInfo {
        confidence: Confidence::Literature,
        ..PartInfo::verified(
            "emptcp",
            "WiFi, cellular or both by forecast rates; the cellular subflow opens late",
            &["open_bytes", "open_after", "check"],
            "Lim et al. 2015",
        )
    };

    fn want(&mut self, snapshot: &Snapshot) -> Uses {
        let (wifi, cellular) = *self.pair.get_or_insert_with(|| pair(snapshot));
        let mut uses = [Use::Closed; MAX_SUBFLOWS];
        uses[wifi] = Use::Regular;
        let Some(cellular) = cellular else {
            return uses;
        };
        let (w, c) = (&snapshot.paths[wifi], &snapshot.paths[cellular]);
        w.busy_bps
            .into_iter()
            .for_each(|rate| self.wifi.sample(rate));
        c.busy_bps
            .into_iter()
            .for_each(|rate| self.cellular.sample(rate));
        let x_c = self.cellular.next().unwrap_or(UNTRIED_BPS).max(LEAST_BPS);
        let thresholds = Thresholds::at(&w.energy, &c.energy, snapshot.device.shared_base.0, x_c);
        if let Some(x_w) = self.wifi.next() {
            self.region = self.region.next(x_w.max(LEAST_BPS), thresholds);
        }
        let failed = !w.usable;
        self.opened |= failed || self.may_open(snapshot, wifi, thresholds);
        if !self.opened {
            return uses;
        }
        (uses[wifi], uses[cellular]) = match self.region {
            _ if failed => (Use::Backup, Use::Regular),
            Region::Wifi => (Use::Regular, Use::Backup),
            Region::Both => (Use::Regular, Use::Regular),
            Region::Cellular => (Use::Backup, Use::Regular),
        };
        uses
    }

    fn period(&self, _snapshot: &Snapshot) -> Nanos {
        SAMPLING
    }

    fn set(
        &mut self,
        option: &str,
        value: &str,
        _paths: Option<&[&str]>,
    ) -> Result<(), OptionError> {
        match option {
            "open_bytes" => self.open_bytes = options::bytes("open_bytes", value)?,
            "open_after" => self.open_after = options::time("open_after", value)?,
            "check" => self.check = options::switch("check", value)?,
            _ => {
                return Err(OptionError::unknown_option(
                    Self::INFO.name,
                    option,
                    Self::INFO.options,
                ));
            }
        }
        Ok(())
    }
}

impl Emptcp {
    /// True if the cellular subflow may open.
    fn may_open(&mut self, snapshot: &Snapshot, wifi: usize, thresholds: Thresholds) -> bool {
        let path = &snapshot.paths[wifi];
        if path.state == PathState::Open && self.started.is_none() {
            self.started = Some(snapshot.now);
        }
        let slow = self
            .wifi
            .next()
            .is_some_and(|x_w| x_w < thresholds.high_bps);
        let waited = self
            .started
            .is_some_and(|start| snapshot.now >= start.saturating_add(self.open_after));
        let enough = path.delivered_bytes >= self.open_bytes;
        (enough && (!self.check || self.region != Region::Wifi)) || (waited && slow)
    }
}

impl Region {
    fn next(self, x_w: f64, Thresholds { low_bps, high_bps }: Thresholds) -> Self {
        let to_wifi = if self == Region::Wifi {
            high_bps / HYSTERESIS
        } else {
            high_bps * HYSTERESIS
        };
        let to_cellular = if self == Region::Cellular {
            low_bps * HYSTERESIS
        } else {
            low_bps / HYSTERESIS
        };
        if x_w >= to_wifi {
            Region::Wifi
        } else if x_w <= to_cellular {
            Region::Cellular
        } else {
            Region::Both
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn huang(slope_mw: f64, sunk_mw: f64) -> PathEnergy {
        PathEnergy {
            slope_j_per_bit: slope_mw * 1e-9,
            sunk_w: sunk_mw / 1e3,
            ..PathEnergy::default()
        }
    }

    #[test]
    fn the_thresholds_are_those_of_the_energy_models() {
        // energy.md, section 5: LTE rate, base power, cellular only below, WiFi only above, Mbit/s.
        let (wifi, lte) = (huang(137.01, 132.86), huang(51.97, 1288.04));
        for (rate, base, low, high) in [
            (0.5, 0.0, 0.053, 0.053),
            (0.5, 0.5, 0.038, 0.254),
            (2.0, 0.5, 0.164, 1.132),
            (5.0, 1.0, 0.357, 6.564),
            (10.0, 0.0, 3.034, 3.034),
            (10.0, 0.5, 1.417, 14.45),
        ] {
            let found = Thresholds::at(&wifi, &lte, base, rate * 1e6);
            assert!(
                (found.low_bps / 1e6 - low).abs() < 0.001 * low.max(1.0),
                "{rate} {base}: {found:?}"
            );
            assert!(
                (found.high_bps / 1e6 - high).abs() < 0.001 * high.max(1.0),
                "{rate} {base}: {found:?}"
            );
        }
        // Above 15.1 Mbit/s LTE costs less per bit, whatever WiFi does.
        assert_eq!(
            Thresholds::at(&wifi, &lte, 0.0, 20e6).low_bps,
            f64::INFINITY
        );
    }

    #[test]
    fn a_threshold_must_be_passed_by_ten_percent() {
        let thresholds = Thresholds {
            low_bps: 1e6,
            high_bps: 10e6,
        };
        let mut region = Region::Wifi;
        for (mbps, expected) in [
            (9.2, Region::Wifi),
            (9.0, Region::Both),
            (10.9, Region::Both),
            (11.0, Region::Wifi),
            (5.0, Region::Both),
            (0.95, Region::Both),
            (0.9, Region::Cellular),
            (1.05, Region::Cellular),
            (1.2, Region::Both),
        ] {
            region = region.next(mbps * 1e6, thresholds);
            assert_eq!(region, expected, "{mbps}");
        }
    }

    #[test]
    fn a_steady_climb_is_forecast() {
        // Level 0.25, trend 0.05: 10, then 14: level 11, trend 0.05, forecast 11.05.
        let mut forecast = Forecast::default();
        assert_eq!(forecast.next(), None);
        forecast.sample(10.0);
        forecast.sample(14.0);
        assert!((forecast.next().unwrap() - 11.05).abs() < 1e-12);
        (0..400).for_each(|i| forecast.sample(14.0 + f64::from(i)));
        assert!((forecast.next().unwrap() - 414.0).abs() < 0.1);
    }
}
