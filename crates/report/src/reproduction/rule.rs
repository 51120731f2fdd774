//! From a measurement to a verdict.

use joulepath_model::result::Estimate;
use serde::{Deserialize, Serialize};

use super::digits::{number, stated};

/// What a measurement says of a claim; the later, the weaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The number, or the relation, comes out.
    Reproduced,
    /// The effect has the stated sign beyond chance, but not the stated size.
    DirectionOnly,
    /// There is no such effect beyond chance, or it has the other sign.
    NotReproduced,
    /// The paper does not say enough, or states nothing that can be measured.
    CannotBe,
}

impl Verdict {
    /// All of them, the strongest first.
    pub const ALL: [Verdict; 4] =
        [Verdict::Reproduced, Verdict::DirectionOnly, Verdict::NotReproduced, Verdict::CannotBe];

    /// For humans.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Reproduced => "reproduced",
            Verdict::DirectionOnly => "direction only",
            Verdict::NotReproduced => "not reproduced",
            Verdict::CannotBe => "cannot be",
        }
    }

    /// The weakest of several; [`Verdict::CannotBe`] for none.
    pub fn weakest(verdicts: impl Iterator<Item = Verdict>) -> Verdict {
        verdicts.max().unwrap_or(Verdict::CannotBe)
    }
}

/// How a claim is judged. Fixed with the experiment, before anything runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Rule {
    /// A number. Reproduced if the interval, widened by the tolerance, holds it.
    Value {
        /// What the paper states.
        stated: f64,
        /// Part of the stated number.
        tolerance: f64,
    },
    /// A ratio, or a factor. As a number; otherwise it is the direction that counts: the interval lies on the
    /// same side of 1.
    Ratio {
        /// What the paper states.
        stated: f64,
        /// Part of the stated distance from 1.
        tolerance: f64,
    },
    /// The best of a sweep, stated as "up to": a ratio at least as far from 1 as stated, less the tolerance,
    /// is enough.
    UpTo {
        /// What the paper states, as a ratio.
        stated: f64,
        /// Part of the stated distance from 1.
        tolerance: f64,
    },
    /// More than `than`: the whole interval is.
    Above {
        /// Bound.
        than: f64,
    },
    /// Less than `than`: the whole interval is.
    Below {
        /// Bound.
        than: f64,
    },
    /// "Similar": the whole interval lies between the two.
    Within {
        /// Lower bound.
        low: f64,
        /// Upper bound.
        high: f64,
    },
    /// Nothing to hold against it: shown for the reader, judged by no rule.
    Shown,
}

impl Rule {
    /// The verdict on `measured`; none if it is only shown.
    pub fn judge(&self, measured: Option<Estimate>) -> Option<Verdict> {
        (*self != Rule::Shown).then(|| self.judged(measured))
    }

    fn judged(&self, measured: Option<Estimate>) -> Verdict {
        let Some(Estimate { mean, lo, hi }) = measured.filter(|ours| ours.mean.is_finite()) else {
            return Verdict::CannotBe;
        };
        let when = |holds: bool| if holds { Verdict::Reproduced } else { Verdict::NotReproduced };
        // On the stated side of 1, beyond chance.
        let directed = |stated: f64| if stated > 1.0 { lo > 1.0 } else { hi < 1.0 };
        match *self {
            Rule::Value { stated, tolerance } => {
                let slack = tolerance * stated.abs();
                when(lo - slack <= stated && stated <= hi + slack)
            }
            Rule::Ratio { stated, tolerance } => {
                let slack = tolerance * (stated - 1.0).abs();
                let held = lo - slack <= stated && stated <= hi + slack;
                match () {
                    () if held && directed(stated) => Verdict::Reproduced,
                    () if directed(stated) => Verdict::DirectionOnly,
                    () => Verdict::NotReproduced,
                }
            }
            Rule::UpTo { stated, tolerance } => {
                let enough = (1.0 - tolerance) * (stated - 1.0).abs();
                match () {
                    () if directed(stated) && (mean - 1.0).abs() >= enough => Verdict::Reproduced,
                    () if directed(stated) => Verdict::DirectionOnly,
                    () => Verdict::NotReproduced,
                }
            }
            Rule::Above { than } => when(lo > than),
            Rule::Below { than } => when(hi < than),
            Rule::Within { low, high } => when(low <= lo && hi <= high),
            Rule::Shown => Verdict::CannotBe,
        }
    }

    /// The numbers that a measurement is held against, and that are shown.
    pub(super) fn bounds(&self) -> Vec<f64> {
        match *self {
            Rule::Value { .. } | Rule::Shown => vec![],
            Rule::Ratio { .. } | Rule::UpTo { .. } => vec![1.0],
            Rule::Above { than } | Rule::Below { than } => vec![than],
            Rule::Within { low, high } => vec![low, high],
        }
    }

    /// What the paper states, with as many significant digits as it takes.
    pub fn stated(&self) -> String {
        let number = |value: f64| stated(value, false);
        match *self {
            Rule::Value { stated, .. } => number(stated),
            Rule::Ratio { stated: ratio, .. } => stated(ratio, true),
            Rule::UpTo { stated: ratio, .. } => format!("up to {}", stated(ratio, true)),
            Rule::Above { than } => format!("> {}", number(than)),
            Rule::Below { than } => format!("< {}", number(than)),
            Rule::Within { low, high } => format!("{} to {}", number(low), number(high)),
            Rule::Shown => "–".to_owned(),
        }
    }

    /// The rule in words.
    pub fn words(&self) -> String {
        let percent = |part: f64| number(part * 100.0);
        match *self {
            Rule::Value { tolerance, .. } => {
                format!(
                    "the 95 % interval, widened by {} % of the stated value, holds it",
                    percent(tolerance)
                )
            }
            Rule::Ratio { tolerance, .. } => format!(
                "the 95 % interval, widened by {} % of the stated effect, holds it; \
                 direction: the interval lies on its side of 1",
                percent(tolerance)
            ),
            Rule::UpTo { tolerance, .. } => format!(
                "the best of the sweep has at least {} % of the stated effect; \
                 direction: its interval lies on that side of 1",
                percent(1.0 - tolerance)
            ),
            Rule::Above { .. } => "the whole 95 % interval is above".to_owned(),
            Rule::Below { .. } => "the whole 95 % interval is below".to_owned(),
            Rule::Within { .. } => "the whole 95 % interval is between".to_owned(),
            Rule::Shown => "shown, not judged".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn between(lo: f64, hi: f64) -> Option<Estimate> {
        Some(Estimate { mean: (lo + hi) / 2.0, lo, hi })
    }

    #[test]
    fn a_value_is_reproduced_if_the_widened_interval_holds_it() {
        let rule = Rule::Value { stated: 100.0, tolerance: 0.1 };
        assert_eq!(rule.judged(between(105.0, 109.0)), Verdict::Reproduced);
        assert_eq!(rule.judged(between(111.0, 120.0)), Verdict::NotReproduced);
        assert_eq!(rule.judged(None), Verdict::CannotBe);
    }

    #[test]
    fn a_ratio_of_the_right_sign_and_the_wrong_size_is_a_direction() {
        let rule = Rule::Ratio { stated: 2.0, tolerance: 0.1 };
        assert_eq!(rule.judged(between(1.85, 1.95)), Verdict::Reproduced);
        assert_eq!(rule.judged(between(1.05, 1.15)), Verdict::DirectionOnly);
        assert_eq!(rule.judged(between(0.95, 1.15)), Verdict::NotReproduced);
        assert_eq!(rule.judged(between(0.5, 0.9)), Verdict::NotReproduced);
        // An interval so wide that it holds everything shows nothing.
        assert_eq!(rule.judged(between(0.5, 3.5)), Verdict::NotReproduced);
    }

    #[test]
    fn up_to_asks_for_the_effect_and_more_is_no_harm() {
        // "up to 20 % less".
        let rule = Rule::UpTo { stated: 0.8, tolerance: 0.1 };
        assert_eq!(rule.judged(between(0.60, 0.70)), Verdict::Reproduced);
        assert_eq!(rule.judged(between(0.79, 0.83)), Verdict::Reproduced);
        assert_eq!(rule.judged(between(0.90, 0.95)), Verdict::DirectionOnly);
        assert_eq!(rule.judged(between(0.95, 1.01)), Verdict::NotReproduced);
    }

    #[test]
    fn an_order_needs_the_whole_interval_on_its_side() {
        assert_eq!(Rule::Above { than: 1.0 }.judged(between(1.01, 1.2)), Verdict::Reproduced);
        assert_eq!(Rule::Above { than: 1.0 }.judged(between(0.99, 1.2)), Verdict::NotReproduced);
        assert_eq!(Rule::Below { than: 1.0 }.judged(between(0.8, 0.99)), Verdict::Reproduced);
        assert_eq!(Rule::Within { low: 0.9, high: 1.1 }.judged(between(0.95, 1.2)), Verdict::NotReproduced);
    }

    #[test]
    fn what_is_only_shown_has_no_verdict() {
        assert_eq!(Rule::Shown.judge(between(1.0, 2.0)), None);
        assert_eq!(Rule::Above { than: 0.5 }.judge(between(1.0, 2.0)), Some(Verdict::Reproduced));
    }

    #[test]
    fn the_weakest_verdict_stands_for_all() {
        let all = [Verdict::Reproduced, Verdict::NotReproduced, Verdict::DirectionOnly];
        assert_eq!(Verdict::weakest(all.into_iter()), Verdict::NotReproduced);
        assert_eq!(Verdict::weakest(std::iter::empty()), Verdict::CannotBe);
    }
}
