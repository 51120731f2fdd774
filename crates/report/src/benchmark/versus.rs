//! Compares policies with the realisable baseline that has the best mean over the same scenarios.

use super::measure::{LEAST, rounded};
use super::measured::Measured;
use super::metric::Metric;
use super::sample::{Means, Samples};
use super::schema::Versus;
use crate::bootstrap::{percentile_interval, resample};

/// Ratio below which a policy is worse than the baseline.
pub(super) const WORSE: f64 = 0.95;

/// Values of a metric by scenario; `None` where it is not measured.
fn values(
    measured: &Measured<'_>,
    column: usize,
    scenarios: &[usize],
    metric: Metric,
) -> Vec<Option<f64>> {
    let cells = measured.cells(column);
    scenarios.iter().map(|&i| cells[i]?.value(metric)).collect()
}

/// Columns of the realisable baselines.
fn baselines(measured: &Measured<'_>) -> impl Iterator<Item = usize> {
    let entries = measured.entries;
    (0..entries.len()).filter(|&column| entries[column].is_realisable())
}

fn mean_of_logs(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, n) = values.fold((0.0, 0u32), |(sum, n), value| {
        (sum + libm::log(value.max(LEAST)), n + 1)
    });
    (n > 0).then(|| sum / f64::from(n))
}

/// A policy in a random family; `None` if no baseline is measured there.
pub(super) fn of_family(
    measured: &Measured<'_>,
    column: usize,
    scenarios: &[usize],
) -> Option<Versus> {
    let of = |column: usize| values(measured, column, scenarios, Metric::TcpReference);
    let mean = |column: usize| Some((mean_of_logs(of(column).into_iter().flatten())?, column));
    let (_, baseline) = baselines(measured)
        .filter_map(mean)
        .reduce(|a, b| if b.0 > a.0 { b } else { a })?;
    let pairs = of(column).into_iter().zip(of(baseline));
    let ratios: Vec<f64> = pairs
        .filter_map(|(own, base)| Some(own?.max(LEAST) / base?.max(LEAST)))
        .collect();
    let mean = |indices: &[usize]| {
        let sum: f64 = indices.iter().map(|&i| libm::log(ratios[i])).sum();
        libm::exp(sum / indices.len() as f64)
    };
    Some(Versus {
        baseline: measured.entries[baseline].policy.clone(),
        n: ratios.len(),
        mean: resample(ratios.len(), mean)?.into(),
        worse: worse(&ratios),
    })
}

fn worse(ratios: &[f64]) -> f64 {
    rounded(ratios.iter().filter(|&&ratio| ratio < WORSE).count() as f64 / ratios.len() as f64)
}

/// The realisable baseline of ranked families with the best mean score.
pub(super) struct Ranked {
    column: usize,
    score: Means,
}

impl Ranked {
    /// `None` if no baseline has run everywhere.
    pub(super) fn of(measured: &Measured<'_>, samples: &Samples) -> Option<Self> {
        let everywhere = |&column: &usize| measured.cells(column).iter().all(Option::is_some);
        let of = |column| {
            Some(Ranked {
                column,
                score: samples.means(&measured.cells(column), Metric::Score)?,
            })
        };
        let found = baselines(measured).filter(everywhere).filter_map(of);
        found.reduce(|a, b| if b.score.all > a.score.all { b } else { a })
    }

    /// A policy with the means of its score.
    pub(super) fn of_policy(
        &self,
        measured: &Measured<'_>,
        column: usize,
        score: &Means,
    ) -> Option<Versus> {
        let all: Vec<usize> = (0..measured.results.len()).collect();
        let of = |column| values(measured, column, &all, Metric::Score);
        let pairs = of(column).into_iter().zip(of(self.column));
        let ratios: Vec<f64> = pairs.filter_map(|(own, base)| Some(own? / base?)).collect();
        // Means of scores are means of logarithms.
        let drawn = score.drawn.iter().zip(&self.score.drawn);
        let drawn: Vec<f64> = drawn
            .filter_map(|(own, base)| Some(libm::exp((*own)? - (*base)?)))
            .collect();
        let mean = libm::exp(score.all - self.score.all);
        let is_known = !ratios.is_empty() && !drawn.is_empty();
        is_known.then(|| Versus {
            baseline: measured.entries[self.column].policy.clone(),
            n: ratios.len(),
            mean: percentile_interval(mean, drawn).into(),
            worse: worse(&ratios),
        })
    }
}
