//! Means over scenarios and seeds, and the same means of what is drawn from them again.
//!
//! Families are fixed and weigh alike; within a family scenarios weigh alike. A resample draws as many
//! scenarios of each family as it has, with replacement, and for each of them as many seeds. It is the same
//! one for all policies, so that what a scenario has in store for all of them cancels in their differences
//! (the bootstrap of nested data: Davison and Hinkley, *Bootstrap Methods and their Application*, 1997,
//! section 3.8).

use joulepath_model::result::Estimate;
use rand_pcg::Pcg32;

use super::measure::{Cell, LEAST};
use super::metric::Metric;
use super::tiers::Sizes;
use crate::bootstrap::{RESAMPLES, below, generator, percentile_interval};

/// Scenarios by family, with the seeds that count of each.
pub(super) type Sample = Vec<Vec<(usize, Vec<usize>)>>;

/// Everything that was run, and what is drawn from it.
pub(super) struct Samples {
    /// Each scenario and seed once.
    pub(super) all: Sample,
    /// Drawn with replacement.
    pub(super) drawn: Vec<Sample>,
    /// How many scenarios there are.
    pub(super) sizes: Sizes,
}

impl Samples {
    /// Of `families`, each a list of scenarios, with so many seeds of each scenario.
    pub(super) fn of(families: &[Vec<usize>], seeds: usize) -> Self {
        let every: Vec<usize> = (0..seeds).collect();
        let whole = |family: &Vec<usize>| family.iter().map(|&scenario| (scenario, every.clone())).collect();
        let mut generator = generator();
        let drawn = (0..RESAMPLES).map(|_| draw(families, seeds, &mut generator)).collect();
        let least = families.iter().map(Vec::len).filter(|&n| n > 1).min();
        let sizes = Sizes { least, freedom: families.iter().map(|family| family.len() - 1).sum() };
        Samples { sizes, all: families.iter().map(whole).collect(), drawn }
    }

    /// The mean of a metric of one policy: over everything, and over each resample. None if it is nowhere
    /// measured; a resample in which it is not measured is left out.
    pub(super) fn means(&self, cells: &[Option<&Cell>], metric: Metric) -> Option<Means> {
        Some(Means {
            all: mean(&self.all, cells, metric)?,
            drawn: self.drawn.iter().map(|sample| mean(sample, cells, metric)).collect(),
            metric,
        })
    }
}

fn draw(families: &[Vec<usize>], seeds: usize, generator: &mut Pcg32) -> Sample {
    let mut of_family = |family: &Vec<usize>| -> Vec<(usize, Vec<usize>)> {
        let mut one = |_| {
            let scenario = family[below(generator, family.len())];
            (scenario, (0..seeds).map(|_| below(generator, seeds)).collect())
        };
        (0..family.len()).map(&mut one).collect()
    };
    families.iter().map(&mut of_family).collect()
}

/// A mean over everything, and over each resample, on the scale on which the metric is averaged.
pub(super) struct Means {
    pub(super) all: f64,
    pub(super) drawn: Vec<Option<f64>>,
    metric: Metric,
}

impl Means {
    /// With its 95 % interval, as a ratio again.
    pub(super) fn estimate(&self) -> Estimate {
        let drawn: Vec<f64> =
            self.drawn.iter().flatten().map(|&mean| from_scale(self.metric, mean)).collect();
        let mean = from_scale(self.metric, self.all);
        if drawn.is_empty() {
            Estimate { mean, lo: mean, hi: mean }
        } else {
            percentile_interval(mean, drawn)
        }
    }
}

/// Ratios have geometric means: what one policy has twice of on one scenario and half of on another is
/// balanced, whatever they are normalised by (Fleming and Wallace, CACM 29(3), 1986). Shares of TCPs, which
/// may be nothing, have arithmetic ones.
fn to_scale(metric: Metric, ratio: f64) -> f64 {
    let least = if metric == Metric::Score { LEAST * LEAST } else { LEAST };
    if metric == Metric::Share { ratio } else { libm::log(ratio.max(least)) }
}

fn from_scale(metric: Metric, mean: f64) -> f64 {
    if metric == Metric::Share { mean } else { libm::exp(mean) }
}

/// Over the families in which the metric is measured, of the means within each.
fn mean(sample: &Sample, cells: &[Option<&Cell>], metric: Metric) -> Option<f64> {
    let value = |(scenario, seeds): &(usize, Vec<usize>)| {
        Some(to_scale(metric, cells[*scenario]?.ratio(metric, seeds)?))
    };
    let of_family = |family: &Vec<(usize, Vec<usize>)>| plain_mean(family.iter().filter_map(value));
    plain_mean(sample.iter().filter_map(of_family))
}

fn plain_mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0u32), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

/// The mean of a metric over some scenarios, all seeds, as a ratio; none if it is measured in none of them.
pub(super) fn mean_over(
    scenarios: &[usize],
    seeds: usize,
    cells: &[Option<&Cell>],
    metric: Metric,
) -> Option<f64> {
    let every: Vec<usize> = (0..seeds).collect();
    let sample = vec![scenarios.iter().map(|&scenario| (scenario, every.clone())).collect()];
    Some(from_scale(metric, mean(&sample, cells, metric)?))
}

#[cfg(test)]
mod tests {
    use joulepath_model::result::RunResult;

    use super::*;
    use crate::benchmark::measure::Singles;
    use crate::benchmark::metric::Kind;
    use crate::benchmark::yardstick::{Task, Yardstick};

    /// Shares of the limit by seed.
    fn cell(shares: &[f64]) -> Cell {
        let (kind, limit_kind, task) = (Kind::Ranked, String::new(), Task::Requests);
        let with = Yardstick { kind, limit: 1.0, limit_kind, link_limit: None, task, shared: vec![] };
        let run = |&bits_per_joule: &f64| RunResult { bits_per_joule, ..RunResult::default() };
        Cell::of(&shares.iter().map(run).collect::<Vec<_>>(), &Singles::default(), &with)
    }

    /// A family of three scenarios and one of one weigh alike: ³√(0.5 · 0.5 · 0.4) = 0.4642 and 0.2 have the
    /// geometric mean √(0.4642 · 0.2) = 0.30469.
    #[test]
    fn families_weigh_alike() {
        let cells = [cell(&[0.5]), cell(&[0.5]), cell(&[0.4]), cell(&[0.2])];
        let cells: Vec<Option<&Cell>> = cells.iter().map(Some).collect();
        let samples = Samples::of(&[vec![0, 1, 2], vec![3]], 1);
        let means = samples.means(&cells, Metric::Limit).unwrap();
        assert!((means.estimate().mean - 0.304_69).abs() < 1e-5, "{}", means.estimate().mean);
        // A policy that has run nowhere has no mean.
        assert!(samples.means(&[None, None, None, None], Metric::Limit).is_none());
    }

    /// One seed each: what varies are the scenarios. 200 of them, half at 0.2 and half at 0.8: the mean of
    /// the logarithms has a standard error of ln 2/√200 = 0.049, so the interval is about 0.4 · exp(±1.96 ·
    /// 0.049).
    #[test]
    fn the_interval_is_over_the_scenarios_and_not_only_over_the_seeds() {
        let cells: Vec<Cell> = (0..200).map(|i| cell(&[if i % 2 == 0 { 0.2 } else { 0.8 }])).collect();
        let cells: Vec<Option<&Cell>> = cells.iter().map(Some).collect();
        let samples = Samples::of(&[(0..200).collect()], 1);
        let of = samples.means(&cells, Metric::Limit).unwrap().estimate();
        assert!((of.mean - 0.4).abs() < 1e-12, "{}", of.mean);
        assert!((of.lo - 0.3634).abs() < 0.006 && (of.hi - 0.4403).abs() < 0.006, "{} {}", of.lo, of.hi);
    }
}
