//! Difference between simulator and kernel: data, and texts.

mod table;

use joulepath_model::metric::{ENERGY, GOODPUT, Metric};
use joulepath_model::quantile::median;
use joulepath_model::result::{self, RunResult};
use joulepath_model::units::Nanos;
use serde::{Serialize, Serializer};

pub use table::{markdown, table};

use crate::summary::differ_in_nothing;

/// A case is `full` if both engines carry at least this fraction of the throughput that links and
/// application allow.
pub const FULL: f64 = 0.97;

/// A compared quantity. A difference is the kernel's value divided by the simulator's, minus one;
/// for shares, percentage points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// A metric of the runs.
    Metric(&'static Metric),
    /// Fraction of the data by path: the largest difference of a path, with its sign.
    Share,
    /// Mean RTT of the paths, weighted by their data.
    Rtt,
}

impl Quantity {
    /// All quantities.
    pub const ALL: [Quantity; 4] = [
        Quantity::Metric(&GOODPUT),
        Quantity::Share,
        Quantity::Rtt,
        Quantity::Metric(&ENERGY),
    ];

    /// Name for readers.
    pub fn name(self) -> &'static str {
        match self {
            Quantity::Metric(metric) => metric.title,
            Quantity::Share => "share",
            Quantity::Rtt => "mean RTT",
        }
    }
}

/// A metric's title, or `share` or `rtt`.
impl Serialize for Quantity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(match self {
            Quantity::Rtt => "rtt",
            other => other.name(),
        })
    }
}

/// Measurements of one engine: means over its runs.
#[derive(Clone, Debug, Serialize)]
pub struct Means {
    /// Number of runs.
    pub runs: usize,
    /// Whether there are several runs and all equal each other except for the seed.
    pub deterministic: bool,
    /// Standard deviation of the goodput over the runs, relative to the mean.
    pub goodput_spread: f64,
    /// Share of each path, 0 to 1.
    pub shares: Vec<f64>,
    /// RTT of each path, s.
    pub rtt_s: Vec<Option<f64>>,
    /// Metrics.
    #[serde(flatten)]
    pub metrics: result::Means,
}

/// A policy on a scenario.
#[derive(Clone, Debug, Serialize)]
pub struct Case {
    /// Name of the scenario.
    pub scenario: String,
    /// The policy as the user wrote it.
    pub policy: String,
    /// Measurements of the simulator.
    pub packet: Means,
    /// Measurements of the kernel.
    pub kernel: Means,
    /// Throughput that links and application allow, bit/s; `None` with competitors and for
    /// transfers with an end.
    pub most_bps: Option<f64>,
    /// Whether both engines carry at least [`FULL`] of it, so that they can hardly differ.
    pub full: bool,
    /// Differences in the order of [`Quantity::ALL`].
    #[serde(serialize_with = "by_name")]
    pub differences: [f64; 4],
}

/// The whole measurement.
#[derive(Clone, Debug, Serialize)]
pub struct Gap {
    /// Release of the kernel.
    pub release: String,
    /// Seeds of a case without random loss, the same for both engines; four times as many for
    /// others. Each case has its number of runs.
    pub seeds: u32,
    /// Lateness allowed for one packet in a hundred, if the user set it, s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_lateness_s: Option<f64>,
    /// Cases in the order of their runs.
    pub cases: Vec<Case>,
    /// Number of cases that are not `full`.
    pub hard: usize,
    /// Summaries by quantity.
    pub summary: Vec<Summary>,
}

/// A quantity over all cases.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// The quantity.
    pub quantity: Quantity,
    /// Median of the absolute differences.
    pub median: f64,
    /// The median over the cases that are not `full`, if there are any.
    pub median_hard: Option<f64>,
    /// The largest difference, with its sign.
    pub worst: f64,
    /// Scenario of the largest difference.
    pub scenario: String,
    /// Policy of the largest difference.
    pub policy: String,
}

impl Means {
    fn of(runs: &[RunResult]) -> Option<Self> {
        let first = runs.first()?;
        let paths = 0..first.paths.len();
        let share = |path: usize| mean(runs.iter().map(|run| run.paths[path].share));
        let rtt = |path: usize| mean(runs.iter().filter_map(|run| run.paths[path].mean_rtt_s));
        Some(Means {
            runs: runs.len(),
            deterministic: differ_in_nothing(runs),
            goodput_spread: spread(runs),
            shares: paths.clone().filter_map(share).collect(),
            rtt_s: paths.map(rtt).collect(),
            metrics: result::Means::over(runs),
        })
    }

    /// bit/s.
    fn goodput_bps(&self) -> f64 {
        self.metrics.of(&GOODPUT).unwrap_or(0.0)
    }
}

/// Mean; `None` without values.
fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let values: Vec<f64> = values.collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Standard deviation of the goodput, relative to its mean; 0 without goodput.
fn spread(runs: &[RunResult]) -> f64 {
    let goodput = || runs.iter().map(|run| run.goodput_bps);
    let Some(mean) = mean(goodput()).filter(|mean| *mean > 0.0) else {
        return 0.0;
    };
    let squares: f64 = goodput().map(|own| (own - mean) * (own - mean)).sum();
    (squares / (runs.len() as f64 - 1.0).max(1.0)).sqrt() / mean
}

impl Case {
    /// Compares the seeds that both engines have: a seed fixes the lost packets of a link, so
    /// chance is equal on both sides. `None` if they share no seed. `most_bps` is the throughput
    /// that links and application allow, where it serves as a measure.
    pub fn of(
        scenario: &str,
        policy: &str,
        packet: &[RunResult],
        kernel: &[RunResult],
        most_bps: Option<f64>,
    ) -> Option<Self> {
        let having = |runs: &[RunResult], others: &[RunResult]| -> Vec<RunResult> {
            let both = runs
                .iter()
                .filter(|run| others.iter().any(|other| other.seed == run.seed));
            both.cloned().collect()
        };
        let (packet, kernel) = (
            Means::of(&having(packet, kernel))?,
            Means::of(&having(kernel, packet))?,
        );
        let differences = Quantity::ALL.map(|quantity| difference(quantity, &packet, &kernel));
        let full = is_full(most_bps, &packet, &kernel);
        let (scenario, policy) = (scenario.to_owned(), policy.to_owned());
        Some(Case {
            scenario,
            policy,
            packet,
            kernel,
            most_bps,
            full,
            differences,
        })
    }
}

/// Whether both engines carry nearly all possible data.
fn is_full(most_bps: Option<f64>, packet: &Means, kernel: &Means) -> bool {
    most_bps.is_some_and(|most| packet.goodput_bps().min(kernel.goodput_bps()) >= FULL * most)
}

fn difference(quantity: Quantity, packet: &Means, kernel: &Means) -> f64 {
    match quantity {
        Quantity::Metric(metric) => {
            let [kernel, packet] = [kernel, packet].map(|means| means.metrics.of(metric));
            relative(kernel.unwrap_or(0.0), packet.unwrap_or(0.0))
        }
        Quantity::Share => {
            let points = kernel
                .shares
                .iter()
                .zip(&packet.shares)
                .map(|(kernel, packet)| kernel - packet);
            points.fold(0.0, |most: f64, points| {
                if points.abs() > most.abs() {
                    points
                } else {
                    most
                }
            })
        }
        Quantity::Rtt => {
            let both = kernel.rtt_s.iter().zip(&packet.rtt_s).zip(&packet.shares);
            let known =
                both.filter_map(|((kernel, packet), share)| Some(((*kernel)?, (*packet)?, *share)));
            let (weighted, weights) =
                known.fold((0.0, 0.0), |(sum, weights), (kernel, packet, share)| {
                    (sum + share * relative(kernel, packet), weights + share)
                });
            if weights > 0.0 {
                weighted / weights
            } else {
                0.0
            }
        }
    }
}

/// Values that cannot be compared differ by 100 %.
fn relative(kernel: f64, packet: f64) -> f64 {
    match packet {
        0.0 if kernel == 0.0 => 0.0,
        0.0 => 1.0,
        packet => kernel / packet - 1.0,
    }
}

impl Gap {
    /// Summarises all cases and their settings.
    pub fn of(release: String, cases: Vec<Case>, seeds: u32, max_lateness: Option<Nanos>) -> Self {
        let summary = Quantity::ALL
            .into_iter()
            .enumerate()
            .filter_map(|(i, quantity)| {
                let size = |case: &&Case| case.differences[i].abs();
                let worst = cases.iter().max_by(|a, b| size(a).total_cmp(&size(b)))?;
                Some(Summary {
                    quantity,
                    median: median(cases.iter().map(|case| size(&case)))?,
                    median_hard: median(
                        cases
                            .iter()
                            .filter(|case| !case.full)
                            .map(|case| size(&case)),
                    ),
                    worst: worst.differences[i],
                    scenario: worst.scenario.clone(),
                    policy: worst.policy.clone(),
                })
            });
        let summary = summary.collect();
        let max_lateness_s = max_lateness.map(Nanos::as_secs_f64);
        let hard = cases.iter().filter(|case| !case.full).count();
        Gap {
            release,
            seeds,
            max_lateness_s,
            cases,
            hard,
            summary,
        }
    }
}

fn by_name<S: Serializer>(differences: &[f64; 4], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(Quantity::ALL.iter().zip(differences))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn means(goodput_bps: f64, shares: [f64; 2], rtt_s: [f64; 2], energy_j: f64) -> Means {
        Means {
            runs: 1,
            deterministic: false,
            goodput_spread: 0.0,
            shares: shares.to_vec(),
            rtt_s: rtt_s.map(Some).to_vec(),
            metrics: [(&GOODPUT, Some(goodput_bps)), (&ENERGY, Some(energy_j))]
                .into_iter()
                .collect(),
        }
    }

    #[test]
    fn differences_divide_the_kernels_values_by_the_simulators() {
        let packet = means(10e6, [0.75, 0.25], [0.1, 0.2], 50.0);
        let kernel = means(9e6, [0.8, 0.2], [0.11, 0.2], 55.0);
        let is = |quantity, expected: f64| {
            let found = difference(quantity, &packet, &kernel);
            assert!((found - expected).abs() < 1e-12, "{quantity:?}: {found}");
        };
        is(Quantity::Metric(&GOODPUT), -0.1);
        is(Quantity::Metric(&ENERGY), 0.1);
        // Both paths differ by five points: the first one counts.
        is(Quantity::Share, 0.05);
        // 0.75 · 10 % + 0.25 · 0 %
        is(Quantity::Rtt, 0.075);
    }

    #[test]
    fn a_deterministic_simulator_has_no_spread() {
        let means = |deterministic| Means {
            runs: 3,
            deterministic,
            ..means(9e6, [1.0, 0.0], [0.1; 2], 1.0)
        };
        let case = Case {
            scenario: "s".into(),
            policy: "p".into(),
            packet: means(true),
            kernel: means(false),
            most_bps: None,
            full: false,
            differences: [0.0; 4],
        };
        let text = markdown(&Gap::of("6.12".into(), vec![case], 3, None));
        assert!(
            text.contains("| 9.00, deterministic | 9.00 ± 0.00 |"),
            "{text}"
        );
    }

    #[test]
    fn data_that_one_engine_does_not_deliver_counts_as_a_full_difference() {
        assert_eq!(
            (relative(0.0, 0.0), relative(5.0, 0.0), relative(0.0, 5.0)),
            (0.0, 1.0, -1.0)
        );
    }

    #[test]
    fn the_median_is_of_absolute_values() {
        let gap = Gap::of(
            "6.12".into(),
            vec![case(0.9, None), case(1.02, None), case(1.04, None)],
            1,
            None,
        );
        assert!((gap.summary[0].median - 0.04).abs() < 1e-12);
        assert!((gap.summary[0].worst + 0.1).abs() < 1e-12);
    }

    fn case(goodput_bps: f64, most_bps: Option<f64>) -> Case {
        let (packet, kernel) = (
            means(1.0, [1.0, 0.0], [0.1; 2], 1.0),
            means(goodput_bps, [1.0, 0.0], [0.1; 2], 1.0),
        );
        let differences = Quantity::ALL.map(|quantity| difference(quantity, &packet, &kernel));
        let full = is_full(most_bps, &packet, &kernel);
        Case {
            scenario: "s".into(),
            policy: "p".into(),
            packet,
            kernel,
            most_bps,
            full,
            differences,
        }
    }

    #[test]
    fn full_cases_do_not_count_in_the_median_of_hard_ones() {
        // 97 % of 1.03 are 0.9991: the first case is full. In the second the kernel carries too
        // little; in the third the maximum is unknown.
        let cases = vec![
            case(1.0, Some(1.03)),
            case(0.98, Some(1.03)),
            case(1.04, None),
        ];
        assert_eq!(
            cases.iter().map(|case| case.full).collect::<Vec<_>>(),
            [true, false, false]
        );
        let gap = Gap::of("6.12".into(), cases, 1, None);
        assert_eq!(gap.hard, 2);
        assert!((gap.summary[0].median - 0.02).abs() < 1e-12);
        assert!((gap.summary[0].median_hard.unwrap() - 0.03).abs() < 1e-12);
        let full = Gap::of("6.12".into(), vec![case(1.0, Some(1.0))], 1, None);
        assert_eq!((full.hard, full.summary[0].median_hard), (0, None));
    }
}
