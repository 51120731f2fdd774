//! Quantiles and medians of samples.

/// The value nearest to quantile `part` of a sorted, non-empty sample.
#[inline]
pub fn nearest(sorted: &[f64], part: f64) -> f64 {
    sorted[((sorted.len() - 1) as f64 * part).round() as usize]
}

/// [`nearest`] of a sample in any order. It reorders only as much of the sample as necessary.
#[inline]
pub fn nearest_unsorted(sample: &mut [f64], part: f64) -> f64 {
    let at = ((sample.len() - 1) as f64 * part).round() as usize;
    *sample.select_nth_unstable_by(at, f64::total_cmp).1
}

/// Quantile `part` of a sorted, non-empty sample, linear between order statistics (type 7 of
/// Hyndman and Fan, 1996).
#[inline]
pub fn linear(sorted: &[f64], part: f64) -> f64 {
    let (below, way) = place(part, sorted.len());
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + (sorted[above] - sorted[below]) * way
}

/// [`linear`] of a sample in any order. It reorders only as much of the sample as necessary.
#[inline]
pub fn linear_unsorted(sample: &mut [f64], part: f64) -> f64 {
    let (below, way) = place(part, sample.len());
    let (_, &mut value, greater) = sample.select_nth_unstable_by(below, f64::total_cmp);
    let next = greater
        .iter()
        .copied()
        .min_by(f64::total_cmp)
        .unwrap_or(value);
    value + (next - value) * way
}

/// Median; none without values.
#[inline]
pub fn median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    let last = values.len().checked_sub(1)?;
    Some((values[last / 2] + values[last.div_ceil(2)]) / 2.0)
}

/// Position of quantile `part` among `n` sorted values: the index of the value below it, and the
/// fraction of the distance from there to the next value.
#[inline]
fn place(part: f64, n: usize) -> (usize, f64) {
    let position = part * (n - 1) as f64;
    let below = position as usize;
    (below, position - below as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_interpolates_between_its_neighbours() {
        // Position 0.25 * 4 = 1.0 is the second value; 0.625 * 4 = 2.5 is halfway between the third
        // and the fourth.
        let sorted = [0.0, 10.0, 20.0, 40.0, 80.0];
        assert_eq!(linear(&sorted, 0.25), 10.0);
        assert_eq!(linear(&sorted, 0.625), 30.0);
        assert_eq!(linear(&sorted, 1.0), 80.0);
    }

    #[test]
    fn an_unsorted_sample_has_the_same_quantiles() {
        let mut sample: Vec<f64> = (0..2000)
            .map(|i| f64::from(i * 7919 % 2003).sqrt())
            .collect();
        sample[5] = f64::NAN;
        let mut sorted = sample.clone();
        sorted.sort_by(f64::total_cmp);
        for p in [0.0, 0.025, 0.5, 0.975] {
            assert_eq!(linear_unsorted(&mut sample, p), linear(&sorted, p), "{p}");
            assert_eq!(nearest_unsorted(&mut sample, p), nearest(&sorted, p), "{p}");
        }
        assert_eq!(linear_unsorted(&mut [4.0], 1.0), 4.0);
    }

    #[test]
    fn the_nearest_value_is_one_of_the_sample() {
        let sorted = [0.0, 10.0, 20.0, 40.0, 80.0];
        // Positions 1.2, 2.8 and 4.
        assert_eq!(
            [0.3, 0.7, 1.0].map(|part| nearest(&sorted, part)),
            [10.0, 40.0, 80.0]
        );
    }

    #[test]
    fn the_median_of_an_even_number_is_the_mean_of_the_middle_two() {
        assert_eq!(median([3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median([4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median([]), None);
    }
}
