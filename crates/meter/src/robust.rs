//! Statistics that a few wild values do not move.

/// 1 / Φ⁻¹(3/4): the standard deviation of a normal distribution over its median absolute deviation.
const NORMAL_OVER_MAD: f64 = 1.482_602_218_505_602;

/// The median; 0 of nothing.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => 0.0,
        n if n % 2 == 1 => sorted[n / 2],
        n => 0.5 * (sorted[n / 2 - 1] + sorted[n / 2]),
    }
}

/// Standard deviation from the median absolute deviation about the median.
pub(crate) fn spread(values: &[f64]) -> f64 {
    let middle = median(values);
    let distances: Vec<f64> = values.iter().map(|value| (value - middle).abs()).collect();
    NORMAL_OVER_MAD * median(&distances)
}

/// The value below which the share `p` of the values is.
pub(crate) fn quantile(values: &mut [f64], p: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let at = (p * (values.len() as f64 - 1.0)).clamp(0.0, values.len() as f64 - 1.0);
    let (low, part) = (at.floor() as usize, at.fract());
    let high = (low + 1).min(values.len() - 1);
    values[low] * (1.0 - part) + values[high] * part
}
