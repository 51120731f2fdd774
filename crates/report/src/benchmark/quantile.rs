//! Median and worst 10 % of a metric over the scenarios of a random family, each with its interval.

use joulepath_model::quantile::linear;
use serde::{Deserialize, Serialize};

use super::measure::{Rounded, rounded};
use crate::bootstrap::{RESAMPLES, below, generator, percentile_interval};

/// Fraction of the scenarios in the worst 10 %.
const WORST: f64 = 0.1;

/// A metric over the scenarios of a random family.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Quantiles {
    /// Number of scenarios where it is measured.
    pub n: usize,
    /// Median.
    pub median: Rounded,
    /// The value that nine tenths of the scenarios reach; if higher is worse, that they do not
    /// exceed.
    pub worst_10: Rounded,
    /// Value of the worst scenario.
    pub worst: f64,
    /// Name of the worst scenario.
    pub worst_in: String,
}

/// Quantiles of values with the names of their scenarios; `None` without values. Resamples
/// scenarios with replacement (2000 times). With one scenario, both ends of the interval are its
/// value.
pub(super) fn quantiles(values: Vec<(f64, &str)>, low_is_bad: bool) -> Option<Quantiles> {
    let is_worse = |a: f64, b: f64| if low_is_bad { a < b } else { a > b };
    let worst = values
        .iter()
        .copied()
        .reduce(|a, b| if is_worse(b.0, a.0) { b } else { a })?;
    let mut sample: Vec<f64> = values.iter().map(|(value, _)| *value).collect();
    sample.sort_by(f64::total_cmp);
    let places = [0.5, if low_is_bad { WORST } else { 1.0 - WORST }];
    let mut drawn = [vec![], vec![]];
    let mut generator = generator();
    let mut resample = vec![0.0; sample.len()];
    for _ in 0..RESAMPLES {
        resample
            .iter_mut()
            .for_each(|value| *value = sample[below(&mut generator, sample.len())]);
        resample.sort_by(f64::total_cmp);
        for (drawn, place) in drawn.iter_mut().zip(places) {
            drawn.push(linear(&resample, place));
        }
    }
    let [median, worst_10] = [0, 1].map(|index| {
        let drawn = std::mem::take(&mut drawn[index]);
        Rounded::from(percentile_interval(linear(&sample, places[index]), drawn))
    });
    let worst_in = worst.1.to_owned();
    Some(Quantiles {
        n: values.len(),
        median,
        worst_10,
        worst: rounded(worst.0),
        worst_in,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 11 values 0 to 10: the median is 5, a tenth of the range is 1, nine tenths are 9.
    #[test]
    fn the_worst_ten_percent_are_at_the_bad_end() {
        let values = || {
            (0..11)
                .rev()
                .map(|i| (f64::from(i), if i == 0 { "low" } else { "x" }))
                .collect()
        };
        let low = quantiles(values(), true).unwrap();
        assert_eq!(
            (low.n, low.median.mean, low.worst_10.mean, low.worst),
            (11, 5.0, 1.0, 0.0)
        );
        assert_eq!(low.worst_in, "low");
        let high = quantiles(values(), false).unwrap();
        assert_eq!(
            (high.median.mean, high.worst_10.mean, high.worst),
            (5.0, 9.0, 10.0)
        );
        assert!(low.median.lo < 5.0 && 5.0 < low.median.hi && low.median.lo >= 0.0);
        assert!(quantiles(vec![], true).is_none());
    }

    /// The median of n draws lies between the order statistics n/2 ± 1.96·√n/2 with probability 95
    /// %: for 400 values 0 to 399, about 180 and 219.
    #[test]
    fn the_interval_of_the_median_matches_order_statistics() {
        let values = (0..400).map(|i| (f64::from(i), "")).collect();
        let found = quantiles(values, true).unwrap();
        assert!((found.median.lo - 180.0).abs() < 4.0, "{:?}", found.median);
        assert!((found.median.hi - 219.0).abs() < 4.0, "{:?}", found.median);
    }
}
