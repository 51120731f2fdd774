//! Means over scenarios and seeds, and the same means of resamples.
//!
//! Families are fixed and have equal weights; within a family, scenarios have equal weights. A
//! resample draws, with replacement, as many scenarios of each family as it has, and as many seeds
//! for each of them. All policies share the resample, so that effects common to all cancel in their
//! differences (bootstrap of nested data: Davison and Hinkley, *Bootstrap Methods and their
//! Application*, 1997, section 3.8).

use joulepath_model::result::Estimate;
use rand_pcg::Pcg32;

use super::measure::{Cell, LEAST};
use super::metric::Metric;
use super::tiers::Sizes;
use crate::bootstrap::{RESAMPLES, below, generator, percentile_interval};

/// Scenarios by family, each with its seeds.
pub(super) type Sample = Vec<Vec<(usize, Vec<usize>)>>;

/// All runs, and the resamples.
pub(super) struct Samples {
    /// Each scenario and seed once.
    pub(super) all: Sample,
    /// Drawn with replacement.
    pub(super) drawn: Vec<Sample>,
    /// Numbers of scenarios.
    pub(super) sizes: Sizes,
}

impl Samples {
    /// Samples of `families`, each a list of scenarios, with this number of seeds of each scenario.
    pub(super) fn of(families: &[Vec<usize>], seeds: usize) -> Self {
        let every: Vec<usize> = (0..seeds).collect();
        let whole = |family: &Vec<usize>| {
            family
                .iter()
                .map(|&scenario| (scenario, every.clone()))
                .collect()
        };
        let mut generator = generator();
        let drawn = (0..RESAMPLES)
            .map(|_| draw(families, seeds, &mut generator))
            .collect();
        let least = families.iter().map(Vec::len).filter(|&n| n > 1).min();
        let sizes = Sizes {
            least,
            freedom: families.iter().map(|family| family.len() - 1).sum(),
        };
        Samples {
            sizes,
            all: families.iter().map(whole).collect(),
            drawn,
        }
    }

    /// Mean of a metric of a policy, over everything and over each resample. `None` if it is
    /// measured nowhere; resamples where it is not measured are left out.
    pub(super) fn means(&self, cells: &[Option<&Cell>], metric: Metric) -> Option<Means> {
        Some(Means {
            all: mean(&self.all, cells, metric)?,
            drawn: self
                .drawn
                .iter()
                .map(|sample| mean(sample, cells, metric))
                .collect(),
            metric,
        })
    }
}

fn draw(families: &[Vec<usize>], seeds: usize, generator: &mut Pcg32) -> Sample {
    let mut of_family = |family: &Vec<usize>| -> Vec<(usize, Vec<usize>)> {
        let mut one = |_| {
            let scenario = family[below(generator, family.len())];
            (
                scenario,
                (0..seeds).map(|_| below(generator, seeds)).collect(),
            )
        };
        (0..family.len()).map(&mut one).collect()
    };
    families.iter().map(&mut of_family).collect()
}

/// A mean over everything and over each resample, on the scale of the averaging.
pub(super) struct Means {
    pub(super) all: f64,
    pub(super) drawn: Vec<Option<f64>>,
    metric: Metric,
}

impl Means {
    /// The mean with its 95 % interval, converted back to a ratio.
    pub(super) fn estimate(&self) -> Estimate {
        let drawn: Vec<f64> = self
            .drawn
            .iter()
            .flatten()
            .map(|&mean| from_scale(self.metric, mean))
            .collect();
        let mean = from_scale(self.metric, self.all);
        if drawn.is_empty() {
            Estimate {
                mean,
                lo: mean,
                hi: mean,
            }
        } else {
            percentile_interval(mean, drawn)
        }
    }
}

/// Ratios have geometric means: double on one scenario and half on another balance, whatever the
/// normalisation (Fleming and Wallace, CACM 29(3), 1986). Shares of TCP flows, which may be 0, have
/// arithmetic means.
fn to_scale(metric: Metric, ratio: f64) -> f64 {
    let least = if metric == Metric::Score {
        LEAST * LEAST
    } else {
        LEAST
    };
    if metric == Metric::Share {
        ratio
    } else {
        libm::log(ratio.max(least))
    }
}

fn from_scale(metric: Metric, mean: f64) -> f64 {
    if metric == Metric::Share {
        mean
    } else {
        libm::exp(mean)
    }
}

/// Mean of the families' means, over the families where the metric is measured.
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

/// Mean of a metric over some scenarios with all seeds, as a ratio; `None` if it is measured in
/// none of them.
pub(super) fn mean_over(
    scenarios: &[usize],
    seeds: usize,
    cells: &[Option<&Cell>],
    metric: Metric,
) -> Option<f64> {
    let every: Vec<usize> = (0..seeds).collect();
    let sample = vec![
        scenarios
            .iter()
            .map(|&scenario| (scenario, every.clone()))
            .collect(),
    ];
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
        let (kind, reference_kind, task) = (Kind::Ranked, String::new(), Task::Requests);
        let with = Yardstick {
            kind,
            limit: 1.0,
            reference_kind,
            link_bound: None,
            task,
            shared: vec![],
        };
        let run = |&bits_per_joule: &f64| RunResult {
            bits_per_joule,
            ..RunResult::default()
        };
        Cell::of(
            &shares.iter().map(run).collect::<Vec<_>>(),
            &Singles::default(),
            &with,
        )
    }

    /// A family of three scenarios and a family of one have equal weights: ³√(0.5 · 0.5 · 0.4) =
    /// 0.4642 and 0.2 have the geometric mean √(0.4642 · 0.2) = 0.30469.
    #[test]
    fn families_have_equal_weights() {
        let cells = [cell(&[0.5]), cell(&[0.5]), cell(&[0.4]), cell(&[0.2])];
        let cells: Vec<Option<&Cell>> = cells.iter().map(Some).collect();
        let samples = Samples::of(&[vec![0, 1, 2], vec![3]], 1);
        let means = samples.means(&cells, Metric::TcpReference).unwrap();
        assert!(
            (means.estimate().mean - 0.304_69).abs() < 1e-5,
            "{}",
            means.estimate().mean
        );
        // A policy that ran nowhere has no mean.
        assert!(
            samples
                .means(&[None, None, None, None], Metric::TcpReference)
                .is_none()
        );
    }

    /// One seed each, so that only scenarios vary. 200 scenarios, half at 0.2 and half at 0.8: the
    /// mean of the logarithms has a standard error of ln 2/√200 = 0.049, so the interval is about
    /// 0.4 · exp(±1.96 · 0.049).
    #[test]
    fn the_interval_covers_scenarios_as_well_as_seeds() {
        let cells: Vec<Cell> = (0..200)
            .map(|i| cell(&[if i % 2 == 0 { 0.2 } else { 0.8 }]))
            .collect();
        let cells: Vec<Option<&Cell>> = cells.iter().map(Some).collect();
        let samples = Samples::of(&[(0..200).collect()], 1);
        let of = samples
            .means(&cells, Metric::TcpReference)
            .unwrap()
            .estimate();
        assert!((of.mean - 0.4).abs() < 1e-12, "{}", of.mean);
        assert!(
            (of.lo - 0.3634).abs() < 0.006 && (of.hi - 0.4403).abs() < 0.006,
            "{} {}",
            of.lo,
            of.hi
        );
    }
}
