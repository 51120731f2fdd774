//! Robust statistics.

use joulepath_model::quantile;

/// 1 / Φ⁻¹(3/4): the standard deviation of a normal distribution over its median absolute
/// deviation.
const NORMAL_OVER_MAD: f64 = 1.482_602_218_505_602;

/// The median; 0 if there are no values.
pub(crate) fn median(values: &[f64]) -> f64 {
    quantile::median(values.iter().copied()).unwrap_or(0.0)
}

/// Robust standard deviation: from the median absolute deviation.
pub(crate) fn spread(values: &[f64]) -> f64 {
    let middle = median(values);
    let distances: Vec<f64> = values.iter().map(|value| (value - middle).abs()).collect();
    NORMAL_OVER_MAD * median(&distances)
}
