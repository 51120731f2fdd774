//! Intervals from few values by Student's t. The percentile bootstrap of fewer than ten values is
//! too narrow.
//!
//! The values are assumed normal, which few values can neither prove nor disprove; a ratio is
//! linearised at its mean (the delta method; Cochran, *Sampling Techniques*, 1977, section 6.3).

use joulepath_model::result::Estimate;

use crate::bootstrap::{estimate, ratio_estimate};

/// Number of values from which the bootstrap is used.
const ENOUGH: usize = 10;

/// 97.5 % quantile of Student's t for 1 to 30 degrees of freedom.
const QUANTILE: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
    2.052, 2.048, 2.045, 2.042,
];
/// 97.5 % quantile of the normal distribution.
const NORMAL: f64 = 1.959_964;

/// 97.5 % quantile of Student's t. Beyond the table: the first two terms of its expansion
/// (Abramowitz and Stegun, 26.7.5), with an error below 0.0003.
fn quantile(degrees: usize) -> f64 {
    let Some(place) = degrees.checked_sub(1) else {
        return f64::INFINITY;
    };
    QUANTILE.get(place).copied().unwrap_or_else(|| {
        let (n, z) = (degrees as f64, NORMAL);
        let (z3, z5) = (z * z * z, z * z * z * z * z);
        z + (z3 + z) / (4.0 * n) + (5.0 * z5 + 16.0 * z3 + 3.0 * z) / (96.0 * n * n)
    })
}

/// Sample variance: squared deviations from the mean over n − 1.
fn variance(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (values.len() - 1) as f64
}

/// Mean of `values` with its 95 % interval: by the bootstrap from ten values on, else by Student's
/// t. The interval of a single value is the value, which may be deterministic; `None` without
/// values.
pub fn interval(values: &[f64]) -> Option<Estimate> {
    if (2..ENOUGH).contains(&values.len()) {
        student(values)
    } else {
        estimate(values)
    }
}

/// Mean of two or more `values` with its 95 % interval by Student's t; like [`estimate`] for fewer.
pub fn student(values: &[f64]) -> Option<Estimate> {
    let n = values.len();
    if n < 2 {
        return estimate(values);
    }
    let mean = values.iter().sum::<f64>() / n as f64;
    let half = quantile(n - 1) * (variance(values) / n as f64).sqrt();
    Some(Estimate {
        mean,
        lo: mean - half,
        hi: mean + half,
    })
}

/// Ratio of the means of `pairs` (numerator, denominator) with its 95 % interval, like
/// [`interval`].
pub fn ratio_interval(pairs: &[(f64, f64)]) -> Option<Estimate> {
    if (2..ENOUGH).contains(&pairs.len()) {
        student_ratio(pairs)
    } else {
        ratio_estimate(pairs)
    }
}

/// Ratio of the means of two or more `pairs` with its 95 % interval by Student's t; like
/// [`ratio_estimate`] for fewer.
pub fn student_ratio(pairs: &[(f64, f64)]) -> Option<Estimate> {
    let n = pairs.len();
    if n < 2 {
        return ratio_estimate(pairs);
    }
    let (above, below) = pairs
        .iter()
        .fold((0.0, 0.0), |sum, pair| (sum.0 + pair.0, sum.1 + pair.1));
    let mean = above / below;
    let left: Vec<f64> = pairs
        .iter()
        .map(|(a, b)| (a - mean * b) / (below / n as f64))
        .collect();
    let half = quantile(n - 1) * (variance(&left) / n as f64).sqrt();
    Some(Estimate {
        mean,
        lo: mean - half,
        hi: mean + half,
    })
}

/// Range of one further value with 95 % probability: mean ± t s √(1 + 1/n). `None` for fewer than
/// two values.
pub fn prediction(values: &[f64]) -> Option<(f64, f64)> {
    let n = values.len();
    if n < 2 {
        return None;
    }
    let mean = values.iter().sum::<f64>() / n as f64;
    let half = quantile(n - 1) * (variance(values) * (1.0 + 1.0 / n as f64)).sqrt();
    Some((mean - half, mean + half))
}

/// Wilson's 95 % interval of a probability, from `hits` in `n` independent draws; 0 to 1 without
/// draws (Wilson, *Probable inference*, 1927).
pub fn wilson(hits: usize, n: usize) -> (f64, f64) {
    if n == 0 {
        return (0.0, 1.0);
    }
    let (n, z2) = (n as f64, NORMAL * NORMAL);
    let part = hits as f64 / n;
    let centre = (part + z2 / (2.0 * n)) / (1.0 + z2 / n);
    let half = NORMAL / (1.0 + z2 / n) * (part * (1.0 - part) / n + z2 / (4.0 * n * n)).sqrt();
    ((centre - half).max(0.0), (centre + half).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_values_have_the_interval_of_students_t() {
        // Mean 2, s = 1: 4.303 · 1/√3 = 2.484; one more value: 4.303 · √(4/3) = 4.969.
        let ours = interval(&[1.0, 2.0, 3.0]).unwrap();
        assert!(
            (ours.mean - 2.0).abs() < 1e-12 && (ours.hi - 4.484).abs() < 1e-3,
            "{ours:?}"
        );
        let (low, high) = prediction(&[1.0, 2.0, 3.0]).unwrap();
        assert!(
            (low + 2.969).abs() < 1e-3 && (high - 6.969).abs() < 1e-3,
            "{low} {high}"
        );
        assert_eq!(prediction(&[1.0]), None);
    }

    #[test]
    fn a_common_factor_cancels_in_a_ratio_of_few_pairs() {
        let ours = ratio_interval(&[(2.0, 1.0), (20.0, 10.0), (6.0, 3.0)]).unwrap();
        assert_eq!((ours.mean, ours.lo, ours.hi), (2.0, 2.0, 2.0));
        // Independent variation widens it.
        let noisy = ratio_interval(&[(2.0, 1.0), (1.0, 1.0), (3.0, 1.0)]).unwrap();
        assert!((noisy.hi - noisy.lo) > 4.0, "{noisy:?}");
    }

    #[test]
    fn the_quantile_continues_smoothly_beyond_the_table() {
        // Tables: 31 degrees 2.0395, 60 degrees 2.0003, 1000 degrees 1.9623.
        for (degrees, value) in [(31, 2.0395), (60, 2.0003), (1000, 1.9623)] {
            assert!(
                (quantile(degrees) - value).abs() < 0.0003,
                "{degrees}: {}",
                quantile(degrees)
            );
        }
    }

    #[test]
    fn wilsons_interval_equals_the_textbooks() {
        // 2 of 10: (0.0567, 0.5098), Newcombe 1998.
        let (low, high) = wilson(2, 10);
        assert!(
            (low - 0.0567).abs() < 1e-3 && (high - 0.5098).abs() < 1e-3,
            "{low} {high}"
        );
        assert_eq!((wilson(0, 0), wilson(0, 10).0), ((0.0, 1.0), 0.0));
    }
}
