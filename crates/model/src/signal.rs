//! The strength of a path's signal over time.

use serde::Serialize;

use crate::random::{Domain, Stream};
use crate::series::{self, Column};
use crate::units::{BitRate, Dbm, Nanos};

/// The signal of a path, and the rates that follow from it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PathSignal {
    /// The signal over time.
    pub spec: SignalSpec,
    /// Rates by signal to the device and from it, if they follow from the signal. Ascending; linear
    /// between two points, constant outside.
    pub rates: [Option<Vec<(Dbm, BitRate)>>; 2],
}

/// A signal over time.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SignalSpec {
    /// Piecewise constant; the first step is at time 0.
    Steps(Vec<(Nanos, Dbm)>),
    /// A walk or a ride past one or more stations.
    Walk(Walk),
    /// A recording.
    Trace(SignalTrace),
}

/// A recorded signal. Its last value holds on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SignalTrace {
    /// Path of the file, relative to the scenario.
    pub source: String,
    /// Readings, the first at time 0, ascending in time.
    pub readings: Vec<(Nanos, Dbm)>,
}

/// Readings of a signal in a file.
const SIGNAL: Column = Column {
    name: "signal",
    range: [-160.0, 0.0],
    unit: "dBm",
    example: "-97",
};

impl SignalTrace {
    /// Parses lines of a time in s and a signal in dBm, as [`series::parse`].
    ///
    /// # Errors
    /// As [`series::parse`].
    pub fn parse(text: &str, source: &str) -> Result<Self, String> {
        let readings = series::parse(text, SIGNAL)?;
        Ok(SignalTrace {
            source: source.into(),
            readings: readings
                .into_iter()
                .map(|(at, dbm)| (at, Dbm(dbm)))
                .collect(),
        })
    }
}

/// Log-distance path loss with shadowing that is correlated over distance (Gudmundson 1991).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Walk {
    /// Place at time 0, m along the way from a station.
    pub distance_m: f64,
    /// Speed, m/s; negative: towards smaller distances.
    pub speed_mps: f64,
    /// Signal at 1 m.
    pub at_1m: Dbm,
    /// Path loss exponent.
    pub exponent: f64,
    /// Distance between a station and the way, m.
    pub aside_m: f64,
    /// Distance between two stations along the way, m; the nearest one serves. None: there is one
    /// station.
    pub spacing_m: Option<f64>,
    /// Standard deviation of the shadowing, dB.
    pub sigma_db: f64,
    /// Distance after which the autocorrelation of the shadowing has fallen to 1/e, m.
    pub correlation_m: f64,
    /// Time between two values.
    pub interval: Nanos,
}

impl Walk {
    /// Mean signal at a time, without shadowing: the value at 1 m less 10 n log10(distance).
    pub fn mean(&self, at: Nanos) -> Dbm {
        let along = self.distance_m + self.speed_mps * at.as_secs_f64();
        let along = match self.spacing_m {
            Some(spacing) => {
                let within = along.rem_euclid(spacing);
                within.min(spacing - within)
            }
            None => along,
        };
        let distance = libm::hypot(along, self.aside_m).max(1.0);
        within_range(self.at_1m.0 - 10.0 * self.exponent * libm::log10(distance))
    }

    fn series(&self, duration: Nanos, mut shadow: impl FnMut() -> f64) -> Vec<(Nanos, Dbm)> {
        let count = duration.0.div_ceil(self.interval.0);
        let at = |i| Nanos(i * self.interval.0);
        (0..count)
            .map(|i| (at(i), within_range(self.mean(at(i)).0 + shadow())))
            .collect()
    }
}

fn within_range(dbm: f64) -> Dbm {
    // A tenth of a dB is finer than any radio reports, and makes values print short.
    Dbm((dbm.clamp(-160.0, 0.0) * 10.0).round() / 10.0)
}

impl SignalSpec {
    /// The signal without shadowing.
    pub fn expected(&self, duration: Nanos) -> Vec<(Nanos, Dbm)> {
        match self {
            SignalSpec::Steps(steps) => steps.clone(),
            SignalSpec::Walk(walk) => walk.series(duration, || 0.0),
            SignalSpec::Trace(trace) => trace.readings.clone(),
        }
    }

    /// The signal of path number `path` in a run with this seed.
    pub fn drawn(&self, duration: Nanos, seed: u64, path: u64) -> Vec<(Nanos, Dbm)> {
        let SignalSpec::Walk(walk) = self else {
            return self.expected(duration);
        };
        let mut random = Stream::new(seed, Domain::Shadowing, path);
        let moved = walk.speed_mps.abs() * walk.interval.as_secs_f64();
        let keeps = libm::exp(-moved / walk.correlation_m);
        let fresh = walk.sigma_db * libm::sqrt(1.0 - keeps * keeps);
        let mut shadow = walk.sigma_db * random.normal();
        walk.series(duration, || {
            let now = shadow;
            shadow = keeps * shadow + fresh * random.normal();
            now
        })
    }

    /// Mean over `duration`, without shadowing.
    pub fn mean(&self, duration: Nanos) -> Dbm {
        let steps = self.expected(duration);
        let ends = steps.iter().skip(1).map(|(at, _)| *at).chain([duration]);
        let weighted = steps.iter().zip(ends).map(|(&(from, dbm), until)| {
            dbm.0 * until.min(duration).saturating_sub(from).as_secs_f64()
        });
        Dbm(weighted.sum::<f64>() / duration.as_secs_f64())
    }
}

/// Value of a series at `at`.
pub fn signal_at(series: &[(Nanos, Dbm)], at: Nanos) -> Dbm {
    series[series.partition_point(|(from, _)| *from <= at).max(1) - 1].1
}

/// The rate at a signal, linear between the points of an ascending table and constant outside; at
/// least 1 kbit/s, as a link that never delivers would stall.
pub fn rate_at(table: &[(Dbm, BitRate)], signal: Dbm) -> BitRate {
    let after = table.partition_point(|(dbm, _)| *dbm <= signal);
    let bps = match (table[..after].last(), table.get(after)) {
        (Some(&(from, low)), Some(&(to, high))) => {
            let share = (signal.0 - from.0) / (to.0 - from.0);
            low.bps() as f64 + share * (high.bps() as f64 - low.bps() as f64)
        }
        (Some(&(_, rate)), None) | (None, Some(&(_, rate))) => rate.bps() as f64,
        (None, None) => 0.0,
    };
    BitRate::from_bps((bps as u64).max(1_000))
}

/// The rates of a signal's series.
pub fn rates(table: &[(Dbm, BitRate)], series: &[(Nanos, Dbm)]) -> Vec<(Nanos, BitRate)> {
    series
        .iter()
        .map(|&(at, signal)| (at, rate_at(table, signal)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const WALK: Walk = Walk {
        distance_m: 10.0,
        speed_mps: 9.0,
        at_1m: Dbm(-40.0),
        exponent: 3.0,
        aside_m: 0.0,
        spacing_m: None,
        sigma_db: 4.0,
        correlation_m: 20.0,
        interval: Nanos::from_millis(500),
    };

    #[test]
    fn a_walk_loses_30_db_per_decade() {
        assert_eq!(WALK.mean(Nanos::ZERO), Dbm(-70.0)); // 10 m
        assert_eq!(WALK.mean(Nanos::from_secs(10)), Dbm(-100.0)); // 100 m
        // Stations every 100 m: after 90 m more, the next one is at 0 m, which counts as 1 m.
        let train = Walk {
            spacing_m: Some(100.0),
            ..WALK
        };
        assert_eq!(train.mean(Nanos::from_secs(10)), Dbm(-40.0));
    }

    #[test]
    fn shadowing_has_its_deviation_and_correlation() {
        let walk = SignalSpec::Walk(Walk {
            distance_m: 100.0,
            speed_mps: 1e-3,
            correlation_m: 5e-4,
            ..WALK
        });
        let series = walk.drawn(Nanos::from_secs(10_000), 1, 0);
        let off: Vec<f64> = series
            .iter()
            .map(|(at, dbm)| dbm.0 - unshadowed(*at))
            .collect();
        let n = off.len() as f64;
        let deviation = (off.iter().map(|x| x * x).sum::<f64>() / n).sqrt();
        let lag =
            off.windows(2).map(|pair| pair[0] * pair[1]).sum::<f64>() / n / (deviation * deviation);
        // 0.5 mm per value at a correlation distance of 0.5 mm: 1/e = 0.368.
        assert!(
            (deviation - 4.0).abs() < 0.2 && (lag - 0.368).abs() < 0.05,
            "{deviation} {lag}"
        );
        assert_eq!(series, walk.drawn(Nanos::from_secs(10_000), 1, 0));
        assert_ne!(series, walk.drawn(Nanos::from_secs(10_000), 2, 0));
    }

    fn unshadowed(at: Nanos) -> f64 {
        Walk {
            distance_m: 100.0,
            speed_mps: 1e-3,
            ..WALK
        }
        .mean(at)
        .0
    }

    #[test]
    fn a_trace_has_a_time_and_a_signal_per_line() {
        let trace = SignalTrace::parse("# s, dBm\n0, -80\n\n1.5 -97.5 # tunnel\n20\t-110\r\n", "x")
            .unwrap();
        let at = |ms| Nanos::from_millis(ms);
        let readings = [
            (at(0), Dbm(-80.0)),
            (at(1500), Dbm(-97.5)),
            (at(20_000), Dbm(-110.0)),
        ];
        assert_eq!(trace.readings, readings);
        // The last reading holds: 1.5 s, 18.5 s and 20 s of 40 s.
        let spec = SignalSpec::Trace(trace);
        let mean = (1.5 * -80.0 + 18.5 * -97.5 + 20.0 * -110.0) / 40.0;
        assert!((spec.mean(Nanos::from_secs(40)).0 - mean).abs() < 1e-9);
        assert_eq!(spec.drawn(Nanos::from_secs(40), 1, 0), readings);
    }

    #[test]
    fn a_wrong_trace_is_refused_with_its_line_and_without_its_text() {
        for (text, says) in [
            ("", "it is empty"),
            ("# secret\n", "it is empty"),
            ("0 -80\n1\n", "line 2 has not two numbers"),
            ("0 -80 secret", "line 1 has not two numbers"),
            ("secret -80", "line 1 has no time"),
            ("-1 -80", "line 1 has no time"),
            ("0 80", "line 1 has no signal"),
            ("0 NaN", "line 1 has no signal"),
            ("5 -80", "line 1 is after 0 s"),
            ("0 -80\n2 -80\n2 -81", "line 3 is not later"),
        ] {
            let said = SignalTrace::parse(text, "x").unwrap_err();
            assert!(
                said.contains(says) && !said.contains("secret"),
                "{text}: {said}"
            );
        }
    }

    #[test]
    fn rates_are_linear_between_points() {
        let mbps = |mbps: u64| BitRate::from_bps(mbps * 1_000_000);
        let table = [(Dbm(-100.0), mbps(10)), (Dbm(-80.0), mbps(50))];
        assert_eq!(rate_at(&table, Dbm(-90.0)), mbps(30));
        assert_eq!(
            [-120.0, -60.0].map(|dbm| rate_at(&table, Dbm(dbm))),
            [mbps(10), mbps(50)]
        );
    }
}
