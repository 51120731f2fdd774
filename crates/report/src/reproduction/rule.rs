//! Turns a measurement into a verdict.

use joulepath_model::result::Estimate;
use serde::{Deserialize, Serialize};

use super::digits::{number, stated};

/// Verdict of a measurement on a claim, from strongest to weakest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The measurement confirms the number or the relation.
    Reproduced,
    /// The simulator confirms it; the same runs in the kernel's own stack do not.
    InSimulation,
    /// The effect has the stated sign beyond chance, but not the stated size.
    DirectionOnly,
    /// The interval contains both confirming and refuting values: too few runs to decide.
    Inconclusive,
    /// The effect is absent or has the opposite sign, beyond chance.
    NotReproduced,
    /// The paper's own equations contradict the statement: a slip of the paper.
    Erratum,
    /// The paper says too little, or states nothing measurable.
    NotTestable,
    /// Runs that it needs are missing.
    NotRun,
}

impl Verdict {
    /// All verdicts, the strongest first.
    pub const ALL: [Verdict; 8] = [
        Verdict::Reproduced,
        Verdict::InSimulation,
        Verdict::DirectionOnly,
        Verdict::Inconclusive,
        Verdict::NotReproduced,
        Verdict::Erratum,
        Verdict::NotTestable,
        Verdict::NotRun,
    ];

    /// Name for readers.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Reproduced => "reproduced",
            Verdict::InSimulation => "simulated only",
            Verdict::DirectionOnly => "direction only",
            Verdict::Inconclusive => "inconclusive",
            Verdict::NotReproduced => "not reproduced",
            Verdict::Erratum => "erratum",
            Verdict::NotTestable => "not testable",
            Verdict::NotRun => "not run",
        }
    }

    /// The weakest verdict; [`Verdict::NotTestable`] for none.
    pub fn weakest(verdicts: impl Iterator<Item = Verdict>) -> Verdict {
        verdicts.max().unwrap_or(Verdict::NotTestable)
    }
}

/// Relative size below which an effect counts as absent: a ratio within 1 % of 1.
pub(super) const NEGLIGIBLE: f64 = 0.01;
/// Maximum reach of a prediction interval to either side, relative to the stated value. A wider one
/// contains nearly everything and says nothing.
const WIDEST_PREDICTION: f64 = 0.5;

/// Rule for judging a claim, fixed with the experiment before anything runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Rule {
    /// A number. Reproduced if the interval, widened by the tolerance, contains it and is at most
    /// as wide as the tolerance to either side; a wider one is inconclusive.
    Value {
        /// The paper's number.
        stated: f64,
        /// Tolerance relative to the stated number.
        tolerance: f64,
    },
    /// A ratio or factor. Judged like a number; an interval that excludes the stated ratio, but
    /// lies on the same side of 1, has its direction.
    Ratio {
        /// The paper's ratio.
        stated: f64,
        /// Tolerance relative to the stated distance from 1.
        tolerance: f64,
    },
    /// The best of a sweep, stated as "up to": reproduced by a ratio at least as far from 1 as
    /// stated, minus the tolerance. An interval without such a ratio is not inconclusive: it has
    /// the direction beyond chance, or not.
    UpTo {
        /// The paper's statement as a ratio.
        stated: f64,
        /// Tolerance relative to the stated distance from 1.
        tolerance: f64,
    },
    /// The whole interval is above `than`.
    Above {
        /// Bound.
        than: f64,
    },
    /// The whole interval is below `than`.
    Below {
        /// Bound.
        than: f64,
    },
    /// "Similar": the whole interval lies between the bounds.
    Within {
        /// Lower bound.
        low: f64,
        /// Upper bound.
        high: f64,
    },
    /// Shown for the reader without a judgement.
    Shown,
}

impl Rule {
    /// Verdict on `measured`; `None` if it is only shown.
    pub fn judge(&self, measured: Option<Estimate>) -> Option<Verdict> {
        (*self != Rule::Shown).then(|| self.judged(measured, None))
    }

    /// Verdict if the paper has a single run: compares its number with the range of a single run of
    /// ours (95 % probability), not with the interval of our mean.
    pub fn judge_one_run(
        &self,
        measured: Option<Estimate>,
        run: Option<(f64, f64)>,
    ) -> Option<Verdict> {
        (*self != Rule::Shown).then(|| self.judged(measured, run))
    }

    fn judged(&self, measured: Option<Estimate>, run: Option<(f64, f64)>) -> Verdict {
        let Some(ours) = measured.filter(|ours| ours.mean.is_finite()) else {
            return Verdict::NotTestable;
        };
        match *self {
            Rule::Value { stated, tolerance } => {
                hit(&ours, run, stated, tolerance * stated.abs(), stated)
            }
            Rule::Ratio { stated, tolerance } => {
                let effect = stated - 1.0;
                match hit(&ours, run, stated, tolerance * effect.abs(), effect) {
                    Verdict::Reproduced
                        if run.is_none() && direction(&ours, stated) != Verdict::Reproduced =>
                    {
                        Verdict::Inconclusive
                    }
                    Verdict::NotReproduced if direction(&ours, stated) == Verdict::Reproduced => {
                        Verdict::DirectionOnly
                    }
                    other => other,
                }
            }
            Rule::UpTo { stated, tolerance } => up_to(&ours, stated, tolerance),
            Rule::Above { than } => above(&ours, than),
            Rule::Below { than } => above(&mirrored(&ours), -than),
            Rule::Within { low, high } if low <= ours.lo && ours.hi <= high => Verdict::Reproduced,
            Rule::Within { low, high } if ours.hi < low || high < ours.lo => Verdict::NotReproduced,
            Rule::Within { .. } => Verdict::Inconclusive,
            Rule::Shown => Verdict::NotTestable,
        }
    }

    /// Whether it compares a ratio with 1.
    pub(super) fn is_about_a_ratio(&self) -> bool {
        match *self {
            Rule::Ratio { .. } | Rule::UpTo { .. } => true,
            Rule::Above { than } | Rule::Below { than } => than == 1.0,
            Rule::Within { low, high } => low <= 1.0 && 1.0 <= high,
            Rule::Value { .. } | Rule::Shown => false,
        }
    }

    /// Numbers that a measurement is compared with, and that are shown.
    pub(super) fn bounds(&self) -> Vec<f64> {
        match *self {
            Rule::Value { .. } | Rule::Shown => vec![],
            Rule::Ratio { .. } | Rule::UpTo { .. } => vec![1.0],
            Rule::Above { than } | Rule::Below { than } => vec![than],
            Rule::Within { low, high } => vec![low, high],
        }
    }

    /// The paper's statement, with as many significant digits as needed.
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

    /// Explains the rule in words; `of_one_run` if the paper has a single run.
    pub fn words(&self, of_one_run: bool) -> String {
        let percent = |part: f64| number(part * 100.0);
        let contains = |tolerance: f64, of: &str| {
            let widened = format!("widened by {} % of the stated {of}", percent(tolerance));
            match of_one_run {
                true => format!(
                    "the 95 % range of a single run, {widened}, contains it and reaches at most {} % of \
                     that to either side",
                    percent(WIDEST_PREDICTION)
                ),
                false => format!(
                    "the 95 % interval, {widened}, contains it and is no wider to either side"
                ),
            }
        };
        match *self {
            Rule::Value { tolerance, .. } => contains(tolerance, "value"),
            Rule::Ratio { tolerance, .. } => format!(
                "{}; direction: the interval lies on its side of 1",
                contains(tolerance, "effect")
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

/// Whether `stated` is met within `slack`; `scale` is the magnitude of the stated number.
fn hit(ours: &Estimate, run: Option<(f64, f64)>, stated: f64, slack: f64, scale: f64) -> Verdict {
    let (lo, hi) = run.unwrap_or((ours.lo, ours.hi));
    let widest = if run.is_some() {
        WIDEST_PREDICTION * scale.abs()
    } else {
        slack
    };
    match () {
        () if stated < lo - slack || hi + slack < stated => Verdict::NotReproduced,
        () if (hi - lo) / 2.0 <= widest => Verdict::Reproduced,
        () => Verdict::Inconclusive,
    }
}

/// Above `than` beyond chance, and in the mean by more than a negligible effect; not reproduced if
/// it is below, or if the whole interval is negligible.
fn above(ours: &Estimate, than: f64) -> Verdict {
    let least = than + NEGLIGIBLE * than.abs();
    if ours.lo > than && ours.mean >= least {
        Verdict::Reproduced
    } else if ours.hi <= than || (ours.hi < least && ours.lo >= than - NEGLIGIBLE * than.abs()) {
        Verdict::NotReproduced
    } else {
        Verdict::Inconclusive
    }
}

fn mirrored(ours: &Estimate) -> Estimate {
    Estimate {
        mean: -ours.mean,
        lo: -ours.hi,
        hi: -ours.lo,
    }
}

/// Whether a ratio is on the same side of 1 as `stated`.
fn direction(ours: &Estimate, stated: f64) -> Verdict {
    if stated > 1.0 {
        above(ours, 1.0)
    } else {
        above(&mirrored(ours), -1.0)
    }
}

/// At least the stated effect minus the tolerance: beyond chance, or with an interval at most as
/// wide as the tolerance to either side.
fn up_to(ours: &Estimate, stated: f64, tolerance: f64) -> Verdict {
    let effect = (stated - 1.0).abs();
    let enough = (1.0 - tolerance) * effect;
    let (mean, least, most) = match stated > 1.0 {
        true => (ours.mean - 1.0, ours.lo - 1.0, ours.hi - 1.0),
        false => (1.0 - ours.mean, 1.0 - ours.hi, 1.0 - ours.lo),
    };
    // Rounding errors are far below a billionth of any effect here.
    let is_narrow = (most - least) / 2.0 <= tolerance * effect + 1e-12;
    match direction(ours, stated) {
        Verdict::Reproduced if least >= enough || (is_narrow && mean >= enough) => {
            Verdict::Reproduced
        }
        Verdict::Reproduced if most < enough || is_narrow => Verdict::DirectionOnly,
        Verdict::NotReproduced => Verdict::NotReproduced,
        // No value in the interval has the stated size, whatever its sign.
        Verdict::Inconclusive if most < enough => Verdict::NotReproduced,
        _ => Verdict::Inconclusive,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn between(lo: f64, hi: f64) -> Option<Estimate> {
        Some(Estimate {
            mean: (lo + hi) / 2.0,
            lo,
            hi,
        })
    }

    #[test]
    fn a_rule_says_whether_it_judges_a_single_run() {
        let rule = Rule::Value {
            stated: 415.66,
            tolerance: 0.1,
        };
        let (of_mean, of_run) = (rule.words(false), rule.words(true));
        assert!(
            of_mean.starts_with("the 95 % interval, widened by 10 %"),
            "{of_mean}"
        );
        assert!(
            of_run.starts_with("the 95 % range of a single run, widened by 10 %"),
            "{of_run}"
        );
        // The reach of a range is bounded by half of the stated value, not by the tolerance.
        assert!(of_run.contains("at most 50 % of that"), "{of_run}");
    }

    #[test]
    fn a_value_is_reproduced_if_the_widened_interval_contains_it() {
        let rule = Rule::Value {
            stated: 100.0,
            tolerance: 0.1,
        };
        assert_eq!(rule.judge(between(105.0, 109.0)), Some(Verdict::Reproduced));
        assert_eq!(
            rule.judge(between(111.0, 120.0)),
            Some(Verdict::NotReproduced)
        );
        assert_eq!(rule.judge(None), Some(Verdict::NotTestable));
    }

    #[test]
    fn a_wide_interval_reproduces_nothing() {
        // An interval from 16.5 to 67 s contains 50 s without confirming it.
        let rule = Rule::Value {
            stated: 50.0,
            tolerance: 0.1,
        };
        assert_eq!(rule.judge(between(16.5, 67.0)), Some(Verdict::Inconclusive));
        assert_eq!(rule.judge(between(46.0, 55.0)), Some(Verdict::Reproduced));
        assert_eq!(
            rule.judge(between(56.0, 90.0)),
            Some(Verdict::NotReproduced)
        );
    }

    #[test]
    fn a_papers_single_run_is_compared_with_the_range_of_a_single_run() {
        let rule = Rule::Value {
            stated: 0.18,
            tolerance: 0.1,
        };
        let mean = between(0.203, 0.207);
        assert_eq!(rule.judge(mean), Some(Verdict::NotReproduced));
        assert_eq!(
            rule.judge_one_run(mean, Some((0.15, 0.26))),
            Some(Verdict::Reproduced)
        );
        assert_eq!(
            rule.judge_one_run(mean, Some((0.202, 0.208))),
            Some(Verdict::NotReproduced)
        );
        assert_eq!(
            rule.judge_one_run(mean, Some((0.0, 0.4))),
            Some(Verdict::Inconclusive),
            "holds everything"
        );
        let ratio = Rule::Ratio {
            stated: 2.0,
            tolerance: 0.2,
        };
        assert_eq!(
            ratio.judge_one_run(between(1.08, 1.14), Some((0.9, 1.3))),
            Some(Verdict::DirectionOnly)
        );
    }

    #[test]
    fn a_ratio_with_the_right_sign_and_the_wrong_size_is_direction_only() {
        let rule = Rule::Ratio {
            stated: 2.0,
            tolerance: 0.1,
        };
        assert_eq!(rule.judge(between(1.85, 1.95)), Some(Verdict::Reproduced));
        assert_eq!(
            rule.judge(between(1.05, 1.15)),
            Some(Verdict::DirectionOnly)
        );
        assert_eq!(
            rule.judge(between(0.95, 1.15)),
            Some(Verdict::NotReproduced),
            "of either sign, and without the stated 2"
        );
        assert_eq!(
            rule.judge(between(0.995, 1.005)),
            Some(Verdict::NotReproduced),
            "no effect"
        );
        assert_eq!(rule.judge(between(0.5, 0.9)), Some(Verdict::NotReproduced));
        // An interval so wide that it contains everything shows nothing.
        assert_eq!(rule.judge(between(0.5, 3.5)), Some(Verdict::Inconclusive));
        assert_eq!(rule.judge(between(1.02, 2.06)), Some(Verdict::Inconclusive));
    }

    #[test]
    fn up_to_requires_the_effect_and_accepts_more() {
        // "up to 20 % less".
        let rule = Rule::UpTo {
            stated: 0.8,
            tolerance: 0.1,
        };
        assert_eq!(rule.judge(between(0.60, 0.70)), Some(Verdict::Reproduced));
        assert_eq!(rule.judge(between(0.79, 0.83)), Some(Verdict::Reproduced));
        assert_eq!(
            rule.judge(between(0.90, 0.95)),
            Some(Verdict::DirectionOnly)
        );
        assert_eq!(
            rule.judge(between(0.95, 1.01)),
            Some(Verdict::NotReproduced),
            "of either sign, and without 18 % less"
        );
        assert_eq!(
            rule.judge(between(0.81, 1.01)),
            Some(Verdict::Inconclusive),
            "18 % less or none"
        );
        assert_eq!(
            rule.judge(between(1.01, 1.05)),
            Some(Verdict::NotReproduced)
        );
        assert_eq!(
            rule.judge(between(0.70, 0.95)),
            Some(Verdict::Inconclusive),
            "of the stated size or not"
        );
    }

    #[test]
    fn an_order_relation_needs_the_whole_interval_on_its_side() {
        assert_eq!(
            Rule::Above { than: 1.0 }.judge(between(1.01, 1.2)),
            Some(Verdict::Reproduced)
        );
        assert_eq!(
            Rule::Above { than: 1.0 }.judge(between(0.98, 1.2)),
            Some(Verdict::Inconclusive)
        );
        assert_eq!(
            Rule::Below { than: 1.0 }.judge(between(0.8, 0.99)),
            Some(Verdict::Reproduced)
        );
        let (above, within) = (
            Rule::Above { than: 1.0 },
            Rule::Within {
                low: 0.9,
                high: 1.1,
            },
        );
        assert_eq!(above.judge(between(0.7, 0.9)), Some(Verdict::NotReproduced));
        assert_eq!(
            above.judge(between(1.0, 1.0)),
            Some(Verdict::NotReproduced),
            "the same to the byte"
        );
        assert_eq!(
            within.judge(between(0.95, 1.2)),
            Some(Verdict::Inconclusive)
        );
        assert_eq!(
            within.judge(between(1.15, 1.2)),
            Some(Verdict::NotReproduced)
        );
    }

    #[test]
    fn an_effect_below_one_percent_counts_as_none() {
        let (less, more) = (Rule::Below { than: 1.0 }, Rule::Above { than: 1.0 });
        // Beyond chance, and negligible.
        assert_eq!(
            less.judge(between(0.9924, 0.9997)),
            Some(Verdict::NotReproduced)
        );
        assert_eq!(
            more.judge(between(1.0003, 1.0076)),
            Some(Verdict::NotReproduced)
        );
        // Perhaps more than 1 %.
        assert_eq!(
            less.judge(between(0.985, 0.9997)),
            Some(Verdict::Inconclusive)
        );
        assert_eq!(
            less.judge(between(0.975, 0.9997)),
            Some(Verdict::Reproduced)
        );
        // 1 % of another bound.
        let most = Rule::Below { than: 0.5 };
        assert_eq!(
            most.judge(between(0.4955, 0.4999)),
            Some(Verdict::NotReproduced)
        );
        assert_eq!(most.judge(between(0.48, 0.4999)), Some(Verdict::Reproduced));
        // The same holds for the direction of a ratio.
        let ratio = Rule::Ratio {
            stated: 0.5,
            tolerance: 0.2,
        };
        assert_eq!(
            ratio.judge(between(0.9924, 0.9997)),
            Some(Verdict::NotReproduced)
        );
    }

    #[test]
    fn shown_findings_have_no_verdict() {
        assert_eq!(Rule::Shown.judge(between(1.0, 2.0)), None);
        assert_eq!(
            Rule::Above { than: 0.5 }.judge(between(1.0, 2.0)),
            Some(Verdict::Reproduced)
        );
    }

    #[test]
    fn the_weakest_verdict_counts() {
        let all = [
            Verdict::Reproduced,
            Verdict::NotReproduced,
            Verdict::DirectionOnly,
        ];
        assert_eq!(Verdict::weakest(all.into_iter()), Verdict::NotReproduced);
        assert_eq!(Verdict::weakest(std::iter::empty()), Verdict::NotTestable);
    }
}
