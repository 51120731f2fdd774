//! Confidence intervals by the percentile bootstrap (Efron and Tibshirani, *An Introduction to the
//! Bootstrap*, 1993, chapter 13).
//!
//! Normality is not assumed: completion times and shares of a bistable system are far from normal.
//! With fewer than about ten seeds the interval is too narrow; the reports say so.

use std::cell::RefCell;
use std::rc::Rc;

use joulepath_model::quantile::linear_unsorted;
use joulepath_model::result::Estimate;
use rand_core::Rng;
use rand_pcg::Pcg32;

/// Number of resamples. The Monte-Carlo error of an interval's ends is below a tenth of a standard
/// error.
pub const RESAMPLES: usize = 2000;
/// Probability that an interval covers the mean.
pub const CONFIDENCE: f64 = 0.95;

/// State and stream of the generator (from PCG's own demonstration). Every estimate draws the same
/// indices, so that results do not depend on the order in which metrics are computed.
const GENERATOR: (u64, u64) = (42, 54);

/// Resamples that are summed in parallel, because the additions of one depend on each other.
const ABREAST: usize = 4;
/// Maximum number of samples whose indices are cached, to save memory: 8 MB.
const MOST_REMEMBERED: usize = 1000;

thread_local! {
    /// Indices for the latest number of samples, one resample after another. Most estimates of a
    /// report have as many samples as the previous one.
    static DRAWN: RefCell<(usize, Rc<[u32]>)> = RefCell::new((0, Rc::from([])));
}

/// Mean of `samples` with its 95 % interval, in the samples' unit; `None` without samples. The
/// interval of a single sample is the sample.
pub fn estimate(samples: &[f64]) -> Option<Estimate> {
    let (rows, _) = samples.as_chunks::<1>();
    estimate_of_sums(rows, |[sum]| sum / samples.len() as f64)
}

/// Ratio of the means of `pairs` (numerator, denominator), resampled by pair; `None` without pairs.
///
/// Policies that ran with the same seed had the same losses and cross traffic, so that common
/// effects cancel in the ratio.
pub fn ratio_estimate(pairs: &[(f64, f64)]) -> Option<Estimate> {
    let rows: Vec<[f64; 2]> = pairs.iter().map(|&(above, below)| [above, below]).collect();
    estimate_of_sums(&rows, |[above, below]| above / below)
}

/// Like [`resample`], for a statistic of the column sums of `rows`.
fn estimate_of_sums<const COLUMNS: usize>(
    rows: &[[f64; COLUMNS]],
    statistic: impl Fn([f64; COLUMNS]) -> f64,
) -> Option<Estimate> {
    let n = rows.len();
    if !(2..=MOST_REMEMBERED).contains(&n) {
        let sum = |indices: &[usize]| {
            indices
                .iter()
                .fold([0.0; COLUMNS], |sum, &i| plus(sum, &rows[i]))
        };
        return resample(n, |indices| statistic(sum(indices)));
    }
    let mean = statistic(rows.iter().fold([0.0; COLUMNS], plus));
    if rows.windows(2).all(|pair| pair[0] == pair[1]) {
        return Some(Estimate {
            mean,
            lo: mean,
            hi: mean,
        });
    }
    let mut statistics = Vec::with_capacity(RESAMPLES);
    for resamples in drawn(n).chunks_exact(ABREAST * n) {
        let mut sums = [[0.0; COLUMNS]; ABREAST];
        for draw in 0..n {
            for (lane, sum) in sums.iter_mut().enumerate() {
                *sum = plus(*sum, &rows[resamples[lane * n + draw] as usize]);
            }
        }
        statistics.extend(sums.map(&statistic));
    }
    Some(percentile_interval(mean, statistics))
}

#[inline(always)]
fn plus<const COLUMNS: usize>(mut sum: [f64; COLUMNS], row: &[f64; COLUMNS]) -> [f64; COLUMNS] {
    for (sum, value) in sum.iter_mut().zip(row) {
        *sum += value;
    }
    sum
}

/// Indices of all resamples of `n` samples, one resample after another.
fn drawn(n: usize) -> Rc<[u32]> {
    DRAWN.with_borrow_mut(|(of, indices)| {
        if *of != n {
            let mut generator = generator();
            *indices = (0..RESAMPLES * n)
                .map(|_| below(&mut generator, n) as u32)
                .collect();
            *of = n;
        }
        Rc::clone(indices)
    })
}

/// `statistic` of the indices 0..n, with the percentiles of the statistic over indices drawn with
/// replacement; `None` if `n` is 0.
pub fn resample(n: usize, statistic: impl Fn(&[usize]) -> f64) -> Option<Estimate> {
    if n == 0 {
        return None;
    }
    let mut indices: Vec<usize> = (0..n).collect();
    let mean = statistic(&indices);
    if n == 1 {
        return Some(Estimate {
            mean,
            lo: mean,
            hi: mean,
        });
    }
    let mut generator = generator();
    let mut statistics = Vec::with_capacity(RESAMPLES);
    for _ in 0..RESAMPLES {
        indices.fill_with(|| below(&mut generator, n));
        statistics.push(statistic(&indices));
    }
    Some(percentile_interval(mean, statistics))
}

/// The 95 % interval of the resamples' statistics, of which there must be at least one.
pub(crate) fn percentile_interval(mean: f64, mut statistics: Vec<f64>) -> Estimate {
    let tail = (1.0 - CONFIDENCE) / 2.0;
    let hi = linear_unsorted(&mut statistics, 1.0 - tail);
    Estimate {
        mean,
        lo: linear_unsorted(&mut statistics, tail),
        hi,
    }
}

/// A new generator; every estimate uses the same one.
pub(crate) fn generator() -> Pcg32 {
    Pcg32::new(GENERATOR.0, GENERATOR.1)
}

/// A number in 0..n by multiply-shift; its bias of n / 2³² is far below the Monte-Carlo error.
pub(crate) fn below(generator: &mut Pcg32, n: usize) -> usize {
    ((u64::from(generator.next_u32()) * n as u64) >> u32::BITS) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cached indices equal the plain loop's, whatever was estimated before.
    #[test]
    fn estimates_equal_those_of_plain_resampling() {
        for n in [2, 3, 30, 30, 7, 1000, 1001] {
            let samples: Vec<f64> = (0..n).map(|i| f64::from(i * i % 17).sqrt()).collect();
            let pairs: Vec<(f64, f64)> = samples.iter().map(|x| (x + 1.0, 3.0 - x / 5.0)).collect();
            let mean = |indices: &[usize]| {
                indices.iter().map(|&i| samples[i]).sum::<f64>() / indices.len() as f64
            };
            assert_eq!(estimate(&samples), resample(samples.len(), mean));
            let ratio = |indices: &[usize]| {
                let above: f64 = indices.iter().map(|&i| pairs[i].0).sum();
                above / indices.iter().map(|&i| pairs[i].1).sum::<f64>()
            };
            assert_eq!(ratio_estimate(&pairs), resample(pairs.len(), ratio));
        }
        let constant = [0.1; 7];
        assert_eq!(
            estimate(&constant),
            resample(7, |indices| {
                indices.iter().map(|&i| constant[i]).sum::<f64>() / indices.len() as f64
            })
        );
    }

    #[test]
    fn every_index_is_drawn_about_equally_often() {
        let mut generator = generator();
        let mut drawn = [0u32; 7];
        for _ in 0..70_000 {
            drawn[below(&mut generator, 7)] += 1;
        }
        // Standard deviation of each count: sqrt(70000 * 1/7 * 6/7) = 93; five of them are 463.
        assert!(
            drawn.iter().all(|&count| count.abs_diff(10_000) < 463),
            "{drawn:?}"
        );
    }

    #[test]
    fn one_sample_is_its_own_interval_and_no_sample_has_none() {
        assert_eq!(
            estimate(&[3.5]),
            Some(Estimate {
                mean: 3.5,
                lo: 3.5,
                hi: 3.5
            })
        );
        assert_eq!(estimate(&[]), None);
    }

    #[test]
    fn a_common_factor_cancels_in_a_paired_ratio() {
        // The denominator varies tenfold, yet the numerator is always twice as large.
        let pairs: Vec<_> = (1..=10)
            .map(|i| (2.0 * f64::from(i), f64::from(i)))
            .collect();
        let ratio = ratio_estimate(&pairs).unwrap();
        assert_eq!((ratio.mean, ratio.lo, ratio.hi), (2.0, 2.0, 2.0));
    }
}
