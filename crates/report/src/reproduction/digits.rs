//! Formats numbers with a few significant digits.

use crate::scale::rounded;

/// Maximum number of decimals, more than any result has.
pub(super) const MOST_DECIMALS: usize = 9;
/// Stated numbers with at most this many significant digits are shown as printed.
const PRINTED: usize = 5;

/// A stated number: as printed in the paper. Computed ones have three significant digits, and
/// effects at least two digits of the difference from 1.
pub(super) fn stated(value: f64, is_effect: bool) -> String {
    if rounded(value, PRINTED) == value {
        return without_idle_zeros(format!("{value}"));
    }
    let short = number(value);
    let of_effect = digits_after_point(value - 1.0, 2);
    if is_effect && of_effect > digits_of(&short) {
        format!("{value:.of_effect$}")
    } else {
        short
    }
}

/// Number of decimals for this many significant digits of `value`.
pub(super) fn digits_after_point(value: f64, digits: i32) -> usize {
    let size = value.abs();
    if size == 0.0 || !size.is_finite() {
        return 0;
    }
    (f64::from(digits - 1) - libm::floor(libm::log10(size))).clamp(0.0, MOST_DECIMALS as f64)
        as usize
}

fn digits_of(text: &str) -> usize {
    text.split_once('.')
        .map_or(0, |(_, decimals)| decimals.len())
}

pub(super) fn without_idle_zeros(text: String) -> String {
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// Three significant digits, and all digits before the point.
pub(super) fn number(value: f64) -> String {
    without_idle_zeros(format!("{value:.*}", digits_after_point(value, 3)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    pub(super) fn numbers_have_three_digits_and_no_trailing_zeros() {
        let shown = [415.66, 20.0, 2.2781, 0.81, 0.0123, 0.0].map(number);
        assert_eq!(shown, ["416", "20", "2.28", "0.81", "0.0123", "0"]);
    }

    #[test]
    fn stated_numbers_keep_the_papers_digits() {
        assert_eq!(stated(415.66, false), "415.66");
        assert_eq!(stated(0.9999, true), "0.9999");
        assert_eq!(stated(30.0, false), "30");
        // Computed: 415.66/205.57, and 2.279/2.26.
        assert_eq!(stated(415.66 / 205.57, true), "2.02");
        assert_eq!(stated(2.279 / 2.26, true), "1.0084");
        assert_eq!(stated(2.279 / 2.26, false), "1.01");
    }
}
