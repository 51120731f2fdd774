//! Formats numbers with enough digits to show on which side of a bound they lie.

use joulepath_model::result::Estimate;

use super::Finding;
use super::digits::{MOST_DECIMALS, digits_after_point, without_idle_zeros};
use super::rule::Rule;

/// Numbers of a finding as text.
pub(crate) struct Shown {
    pub(crate) stated: String,
    /// The mean; a dash if nothing could be measured.
    pub(crate) mean: String,
    /// Such as `[1.0006, 1.0007]`; `None` for a deterministic number.
    pub(crate) interval: Option<String>,
}

impl Shown {
    /// Such as `1.0006 [1.0006, 1.0007]`, with `apart` between mean and interval.
    pub(crate) fn measured(&self, apart: &str) -> String {
        match &self.interval {
            Some(interval) => format!("{}{apart}{interval}", self.mean),
            None => self.mean.clone(),
        }
    }
}

impl Finding {
    /// Formats its numbers with as many digits as needed.
    pub(crate) fn shown(&self) -> Shown {
        let stated = self.rule.stated();
        let Some(ours) = self.measured.filter(|ours| ours.mean.is_finite()) else {
            return Shown {
                stated,
                mean: "–".to_owned(),
                interval: None,
            };
        };
        let decimals = decimals(&self.rule, &ours, self.run);
        let fixed = |value: f64| format!("{value:.decimals$}");
        if ours.lo == ours.hi {
            return Shown {
                stated,
                mean: without_idle_zeros(fixed(ours.mean)),
                interval: None,
            };
        }
        let interval = Some(format!("[{}, {}]", fixed(ours.lo), fixed(ours.hi)));
        Shown {
            stated,
            mean: fixed(ours.mean),
            interval,
        }
    }
}

/// The fewest decimals that leave every comparison of the rule unchanged, starting with three
/// significant digits and one of the interval's width.
fn decimals(rule: &Rule, ours: &Estimate, run: Option<(f64, f64)>) -> usize {
    let largest = [ours.mean, ours.lo, ours.hi]
        .into_iter()
        .map(f64::abs)
        .fold(0.0, f64::max);
    let bounds = rule.bounds();
    let is_faithful = |decimals: &usize| {
        let round = |value: f64| -> f64 {
            format!("{value:.decimals$}")
                .parse()
                .expect("a printed number is a number")
        };
        let same_side =
            |value: f64, bound: f64| round(value).partial_cmp(&bound) == value.partial_cmp(&bound);
        let all_sides = bounds.iter().all(|&bound| {
            [ours.mean, ours.lo, ours.hi]
                .into_iter()
                .all(|v| same_side(v, bound))
        });
        let round = Estimate {
            mean: round(ours.mean),
            lo: round(ours.lo),
            hi: round(ours.hi),
        };
        all_sides && rule.judge_one_run(Some(round), run) == rule.judge_one_run(Some(*ours), run)
    };
    let first = digits_after_point(largest, 3).max(digits_after_point(ours.hi - ours.lo, 1));
    (first..=MOST_DECIMALS)
        .find(is_faithful)
        .unwrap_or(MOST_DECIMALS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(rule: Rule, mean: f64, lo: f64, hi: f64) -> String {
        Finding::new("x", "", rule, Some(Estimate { mean, lo, hi }), 5)
            .shown()
            .measured(" ")
    }

    #[test]
    fn three_digits_are_enough_where_nothing_is_close() {
        let rule = Rule::Value {
            stated: 415.66,
            tolerance: 0.1,
        };
        assert_eq!(shown(rule, 206.31, 202.44, 210.18), "206 [202, 210]");
        assert_eq!(
            shown(Rule::Below { than: 1.0 }, 0.666_4, 0.641_9, 0.685_2),
            "0.666 [0.642, 0.685]"
        );
        assert_eq!(shown(Rule::Shown, 20.0, 20.0, 20.0), "20");
    }

    #[test]
    fn an_interval_near_a_bound_has_enough_digits_to_show_its_side() {
        let rule = Rule::Ratio {
            stated: 1.0085,
            tolerance: 0.2,
        };
        assert_eq!(
            shown(rule, 1.000_64, 1.000_57, 1.000_70),
            "1.0006 [1.0006, 1.0007]"
        );
        assert_eq!(
            shown(Rule::Below { than: 1.0 }, 1.005_09, 0.999_952, 1.010_31),
            "1.00509 [0.99995, 1.01031]"
        );
        assert_eq!(
            shown(Rule::Above { than: 1.0 }, 1.000_23, 0.999_808, 1.000_61),
            "1.0002 [0.9998, 1.0006]"
        );
        let within = Rule::Within {
            low: 0.99,
            high: 1.0,
        };
        assert_eq!(
            shown(within, 0.998, 0.994, 0.999_7),
            "0.9980 [0.9940, 0.9997]"
        );
    }

    #[test]
    fn an_interval_keeps_its_width() {
        // Three digits would be 2.25 [2.25, 2.26], which is too wide.
        assert_eq!(
            shown(Rule::Shown, 2.254_8, 2.254_5, 2.255_1),
            "2.2548 [2.2545, 2.2551]"
        );
        assert_eq!(
            shown(Rule::Shown, 0.998_776, 0.998_633, 0.998_899),
            "0.9988 [0.9986, 0.9989]"
        );
    }

    #[test]
    fn rounding_changes_no_verdict() {
        // 2.28 minus 0.221 % is 2.274 96: an end at 2.274 9 is below that, 2.275 would not be.
        let rule = Rule::Value {
            stated: 2.28,
            tolerance: 0.002_21,
        };
        assert_eq!(shown(rule, 2.272, 2.27, 2.274_9), "2.2720 [2.2700, 2.2749]");
    }
}
