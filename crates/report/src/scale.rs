//! One prefix and number of decimals per column, so that its numbers are easy to compare.

pub(crate) use joulepath_model::metric::Quantity;
use joulepath_model::metric::{COMPLETION, Metric};
use joulepath_model::result::{Estimate, Row};
pub use joulepath_model::units::rounded;

use crate::table::{Cell, Column, Decimals};

/// A value that may have an interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Value {
    pub(crate) mean: f64,
    /// Lower and upper end of the interval.
    pub(crate) interval: Option<(f64, f64)>,
}

impl Value {
    /// A value without an interval.
    pub(crate) fn exact(mean: f64) -> Self {
        Value {
            mean,
            interval: None,
        }
    }

    /// Value of a row, with its interval if it is the mean of several random `runs`.
    pub(crate) fn of(estimate: Estimate, row: &Row, runs: u32) -> Self {
        let varies = runs > 1 && !row.deterministic;
        Value {
            mean: estimate.mean,
            interval: varies.then_some((estimate.lo, estimate.hi)),
        }
    }

    /// Value of a metric in a row. Completion is the mean over the runs with all files complete.
    pub(crate) fn of_row(metric: &Metric, row: &Row) -> Option<Self> {
        let runs = row
            .completed
            .filter(|_| *metric == COMPLETION)
            .unwrap_or(row.n);
        Some(Value::of(row.estimate(metric)?, row, runs))
    }

    pub(crate) fn cell(self) -> Cell {
        match self.interval {
            Some((lo, hi)) => Cell::number(self.mean).with_interval(lo, hi),
            None => Cell::number(self.mean),
        }
    }

    fn half_width(self) -> Option<f64> {
        self.interval.map(|(lo, hi)| (hi - lo) / 2.0)
    }
}

/// Format of the numbers of a column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scale {
    pub(crate) unit: &'static str,
    /// Size of the unit in SI base units.
    pub(crate) factor: f64,
    decimals: usize,
}

/// Maximum number of digits that decimals can add up to.
const MAX_DIGITS: i32 = 5;

impl Scale {
    /// Uses the largest prefix with which the largest value is at least 1. Shows three significant
    /// digits of the largest value, two of the smallest and one of the median interval, up to five
    /// digits.
    ///
    /// The widest interval has no influence: one policy with large variation would reduce all
    /// others to ±0.00.
    pub(crate) fn of(quantity: Quantity, values: &[Value]) -> Scale {
        let magnitudes = || {
            values
                .iter()
                .map(|value| value.mean.abs())
                .filter(|v| v.is_finite() && *v > 0.0)
        };
        let largest = magnitudes().fold(0.0, f64::max);
        let smallest = magnitudes().fold(f64::INFINITY, f64::min);
        let units = quantity.units();
        if largest == 0.0 {
            let &(factor, unit) = units
                .iter()
                .find(|(factor, _)| *factor == 1.0)
                .unwrap_or(&units[0]);
            return Scale {
                unit,
                factor,
                decimals: if quantity == Quantity::Ratio { 2 } else { 0 },
            };
        }
        let &(factor, unit) = units
            .iter()
            .rev()
            .find(|(factor, _)| largest >= *factor)
            .unwrap_or(&units[0]);
        if quantity == Quantity::Ratio {
            return Scale {
                unit,
                factor,
                decimals: 2,
            };
        }
        let (whole, least) = (
            digits_before_point(largest / factor),
            digits_before_point(smallest / factor),
        );
        let halves = values.iter().filter_map(|value| value.half_width());
        let mut halves: Vec<f64> = halves
            .filter(|half| half.is_finite() && *half > 0.0)
            .collect();
        halves.sort_by(f64::total_cmp);
        let of_interval = halves
            .get(halves.len() / 2)
            .map_or(0, |half| 1 - digits_before_point(half / factor));
        let wanted = (3 - whole).max(2 - least).max(of_interval);
        let decimals = wanted.min(MAX_DIGITS - whole.max(1)).max(0) as usize;
        Scale {
            unit,
            factor,
            decimals,
        }
    }

    /// For differences in percent: three digits of the largest and one of the smallest, at most two
    /// decimals. Differences of several policies vary widely, so intervals have no influence.
    pub(crate) fn of_differences(values: &[Value]) -> Scale {
        let digits = || {
            let sizes = values.iter().map(|value| value.mean.abs());
            sizes
                .filter(|size| size.is_finite() && *size > 0.0)
                .map(digits_before_point)
        };
        let (largest, smallest) = (digits().max().unwrap_or(1), digits().min().unwrap_or(1));
        let decimals = (3 - largest).max(1 - smallest).clamp(0, 2) as usize;
        Scale {
            unit: "%",
            factor: 1.0,
            decimals,
        }
    }

    /// A column of numbers in this format.
    pub(crate) fn column(&self, name: &str, unit: &str) -> Column {
        Column::numbers(name, unit)
            .factor(self.factor)
            .decimals(Decimals::Fixed(self.decimals))
    }

    /// The number without its unit.
    pub(crate) fn number(&self, value: f64) -> String {
        let scaled = value / self.factor;
        if scaled.is_finite() {
            format!("{scaled:.*}", self.decimals)
        } else {
            "–".into()
        }
    }

    /// Half of the interval's width, without sign and unit.
    pub(crate) fn half_width(&self, value: Value) -> Option<String> {
        value
            .half_width()
            .filter(|half| half.is_finite())
            .map(|half| self.number(half))
    }
}

/// The lowest of …, 0.1, 0.2, 0.5, 1, 2, 5, 10, … that is at least `least`; `None` if `least` is
/// not finite or out of range.
pub(crate) fn round_step(least: f64) -> Option<f64> {
    let steps = (-12..=12).flat_map(|power| [1, 2, 5].map(|digit| format!("{digit}e{power}")));
    let mut steps = steps.map(|text| text.parse::<f64>().expect("it is a decimal number"));
    steps.find(|&step| step >= least)
}

/// 3 for 123.4, 1 for 1.234, 0 for 0.1234, -1 for 0.01234; of a positive, finite number.
fn digits_before_point(value: f64) -> i32 {
    // The exponent of the decimal notation is exact; a logarithm near a power of ten is not.
    let scientific = format!("{value:e}");
    let exponent = scientific
        .split_once('e')
        .and_then(|(_, exponent)| exponent.parse::<i32>().ok());
    exponent.expect("the notation of a finite number has an exponent") + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(quantity: Quantity, values: &[f64]) -> (Vec<String>, &'static str) {
        let values: Vec<_> = values.iter().copied().map(Value::exact).collect();
        let scale = Scale::of(quantity, &values);
        (
            values
                .iter()
                .map(|value| scale.number(value.mean))
                .collect(),
            scale.unit,
        )
    }

    #[test]
    fn a_column_has_one_unit_and_one_number_of_decimals() {
        assert_eq!(
            written(Quantity::Rate, &[4_213_400.0, 812_000.0]),
            (vec!["4.21".into(), "0.81".into()], "Mbit/s")
        );
        assert_eq!(
            written(Quantity::Efficiency, &[999_400.0, 120_000.0]),
            (vec!["999".into(), "120".into()], "kbit/J")
        );
        assert_eq!(
            written(Quantity::Ratio, &[12.345, 1.0]).0,
            ["12.35", "1.00"]
        );
        assert_eq!(
            written(Quantity::Share, &[0.9876, 0.0123]),
            (vec!["98.8".into(), "1.2".into()], "%")
        );
    }

    #[test]
    fn a_small_value_next_to_a_large_one_keeps_up_to_five_digits() {
        // 120.0 has three digits before the point, which leaves two decimals: 0.05, not 0.050.
        assert_eq!(
            written(Quantity::Power, &[120.0, 0.05]).0,
            ["120.00", "0.05"]
        );
    }

    #[test]
    fn an_interval_shows_at_least_one_digit() {
        let value = Value {
            mean: 2.587,
            interval: Some((2.583, 2.591)),
        };
        let scale = Scale::of(Quantity::Power, &[value]);
        assert_eq!(
            (scale.number(2.587), scale.half_width(value)),
            ("2.587".into(), Some("0.004".into()))
        );
    }

    #[test]
    fn one_wide_interval_does_not_hide_the_others() {
        let value = |mean: f64, half: f64| Value {
            mean,
            interval: Some((mean - half, mean + half)),
        };
        let column = [
            value(0.354e6, 5e3),
            value(0.268e6, 7e3),
            value(1.87e6, 70e3),
        ];
        let scale = Scale::of(Quantity::Rate, &column);
        let written =
            column.map(|value| (scale.number(value.mean), scale.half_width(value).unwrap()));
        let expected = [("0.354", "0.005"), ("0.268", "0.007"), ("1.870", "0.070")];
        assert_eq!(
            written,
            expected.map(|(mean, half)| (mean.into(), half.into()))
        );
    }

    #[test]
    fn differences_have_as_many_digits_as_the_smallest_needs() {
        let written = |values: &[f64]| {
            let values: Vec<_> = values.iter().copied().map(Value::exact).collect();
            let scale = Scale::of_differences(&values);
            values
                .iter()
                .map(|value| scale.number(value.mean))
                .collect::<Vec<_>>()
        };
        assert_eq!(written(&[84.23, 0.0, 189.4]), ["84", "0", "189"]);
        assert_eq!(written(&[-30.161, 0.641]), ["-30.2", "0.6"]);
        assert_eq!(written(&[3.772, 0.004]), ["3.77", "0.00"]);
    }

    #[test]
    fn missing_numbers_are_dashes() {
        assert_eq!(
            written(Quantity::Energy, &[f64::INFINITY, 2.0]).0,
            ["–", "2.00"]
        );
        assert_eq!(written(Quantity::Plain, &[0.0]).0, ["0"]);
        assert_eq!(written(Quantity::Power, &[0.0]), (vec!["0".into()], "W"));
    }

    #[test]
    fn steps_are_round_numbers() {
        let steps = [0.0125, 0.02, 1.5, 3.75, 80.0].map(|least| round_step(least).unwrap());
        assert_eq!(steps, [0.02, 0.02, 2.0, 5.0, 100.0]);
        assert_eq!(
            (round_step(f64::NAN), round_step(f64::INFINITY)),
            (None, None)
        );
    }

    #[test]
    fn digits_are_counted_exactly_at_powers_of_ten() {
        for (value, digits) in [(1000.0, 4), (999.999, 3), (1.0, 1), (0.1, 0), (0.01, -1)] {
            assert_eq!(digits_before_point(value), digits, "{value}");
        }
    }
}
