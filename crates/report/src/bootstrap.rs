//! Confidence intervals by the percentile bootstrap (Efron and Tibshirani, *An Introduction to the
//! Bootstrap*, 1993, chapter 13).
//!
//! No normality is assumed: completion times and shares of a bistable system are anything but normal. With
//! fewer than about ten seeds the interval is too narrow, which the reports say.

use joulepath_model::result::Estimate;
use rand_core::Rng;
use rand_pcg::Pcg32;

/// Resamples for an interval. The Monte-Carlo error of its ends is then below a tenth of a standard error.
pub const RESAMPLES: usize = 2000;
/// Probability that an interval covers the mean.
pub const CONFIDENCE: f64 = 0.95;

/// State and stream of the generator (those of PCG's own demonstration): every estimate draws the same
/// indices, so that the same runs yield the same bytes, in whichever order metrics are computed.
const GENERATOR: (u64, u64) = (42, 54);

/// Mean of `samples` with its 95 % interval, in the samples' unit; none without samples. One sample is its
/// own interval.
pub fn estimate(samples: &[f64]) -> Option<Estimate> {
    let mean_of = |indices: &[usize]| indices.iter().map(|&i| samples[i]).sum::<f64>() / indices.len() as f64;
    resample(samples.len(), mean_of)
}

/// Ratio of the means of `pairs` (numerator, denominator), resampled pair by pair; none without pairs.
///
/// Two policies that ran with the same seed saw the same losses and the same cross traffic: what they have in
/// common cancels in the ratio.
pub fn ratio_estimate(pairs: &[(f64, f64)]) -> Option<Estimate> {
    let ratio_of = |indices: &[usize]| {
        let (above, below) = indices.iter().fold((0.0, 0.0), |(above, below), &i| {
            let (numerator, denominator) = pairs[i];
            (above + numerator, below + denominator)
        });
        above / below
    };
    resample(pairs.len(), ratio_of)
}

/// `statistic` of the indices 0..n, and the percentiles of the same statistic of indices drawn with
/// replacement; none if `n` is 0.
pub fn resample(n: usize, statistic: impl Fn(&[usize]) -> f64) -> Option<Estimate> {
    if n == 0 {
        return None;
    }
    let mut indices: Vec<usize> = (0..n).collect();
    let mean = statistic(&indices);
    if n == 1 {
        return Some(Estimate { mean, lo: mean, hi: mean });
    }
    let mut generator = generator();
    let mut statistics = Vec::with_capacity(RESAMPLES);
    for _ in 0..RESAMPLES {
        indices.fill_with(|| below(&mut generator, n));
        statistics.push(statistic(&indices));
    }
    Some(percentile_interval(mean, statistics))
}

/// The 95 % interval of what the resamples yielded, of which there is at least one.
pub(crate) fn percentile_interval(mean: f64, mut statistics: Vec<f64>) -> Estimate {
    statistics.sort_by(f64::total_cmp);
    let tail = (1.0 - CONFIDENCE) / 2.0;
    Estimate { mean, lo: quantile(&statistics, tail), hi: quantile(&statistics, 1.0 - tail) }
}

/// The generator of every estimate, at its start.
pub(crate) fn generator() -> Pcg32 {
    Pcg32::new(GENERATOR.0, GENERATOR.1)
}

/// A number in 0..n by multiply-shift; its bias of n / 2³² is far below the Monte-Carlo error.
pub(crate) fn below(generator: &mut Pcg32, n: usize) -> usize {
    ((u64::from(generator.next_u32()) * n as u64) >> u32::BITS) as usize
}

/// Median; none without values.
pub fn median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    let last = values.len().checked_sub(1)?;
    Some((values[last / 2] + values[last.div_ceil(2)]) / 2.0)
}

/// Quantile of a sorted, non-empty sample, linear between order statistics (type 7 of Hyndman and Fan, 1996).
pub(crate) fn quantile(sorted: &[f64], p: f64) -> f64 {
    let position = p * (sorted.len() - 1) as f64;
    let below = position as usize;
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + (sorted[above] - sorted[below]) * (position - below as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_lies_between_its_neighbours() {
        // Position 0.25 * 4 = 1.0 is the second value; 0.625 * 4 = 2.5 is halfway between the third and the
        // fourth.
        let sorted = [0.0, 10.0, 20.0, 40.0, 80.0];
        assert_eq!(quantile(&sorted, 0.25), 10.0);
        assert_eq!(quantile(&sorted, 0.625), 30.0);
        assert_eq!(quantile(&sorted, 1.0), 80.0);
    }

    #[test]
    fn every_index_is_drawn_about_equally_often() {
        let mut generator = generator();
        let mut drawn = [0u32; 7];
        for _ in 0..70_000 {
            drawn[below(&mut generator, 7)] += 1;
        }
        // Standard deviation of each count: sqrt(70000 * 1/7 * 6/7) = 93; five of them are 463.
        assert!(drawn.iter().all(|&count| count.abs_diff(10_000) < 463), "{drawn:?}");
    }

    #[test]
    fn one_sample_is_its_own_interval_and_none_has_none() {
        assert_eq!(estimate(&[3.5]), Some(Estimate { mean: 3.5, lo: 3.5, hi: 3.5 }));
        assert_eq!(estimate(&[]), None);
    }

    #[test]
    fn a_common_factor_cancels_in_a_paired_ratio() {
        // The second of each pair varies tenfold, yet the first is always twice as large.
        let pairs: Vec<_> = (1..=10).map(|i| (2.0 * f64::from(i), f64::from(i))).collect();
        let ratio = ratio_estimate(&pairs).unwrap();
        assert_eq!((ratio.mean, ratio.lo, ratio.hi), (2.0, 2.0, 2.0));
    }
}
