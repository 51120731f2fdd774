//! The same claims in the kernel's own stack.

use joulepath_model::result::Estimate;
use serde::{Deserialize, Serialize};

use super::digits::digits_after_point;
use super::rule::NEGLIGIBLE;
use super::{Finding, Made, Rule, Verdict};

/// The same claims, measured in the kernel's own stack.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SecondMeasurement {
    /// Findings with the same names.
    pub findings: Vec<Finding>,
    /// Their weakest verdict under the reading of the simulator's.
    pub verdict: Verdict,
    /// Whether it ran only some of the row's studies, such as three of eleven file sizes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_part: bool,
    /// Whether its numbers agree with the simulator's.
    #[serde(default)]
    pub agreement: Agreement,
    /// The finding that differs most.
    #[serde(default, skip_deserializing, skip_serializing_if = "Option::is_none")]
    pub farthest: Option<Farthest>,
    /// What made it, if not what made the rest of the row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made: Option<Made>,
}

/// Agreement of two engines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Agreement {
    /// All intervals of judged findings lie within a factor of 1.25 of the simulator's numbers;
    /// where a claim is about a ratio, of the simulator's effect, which is the ratio minus 1.
    Agrees,
    /// Some interval lies entirely outside.
    Differs,
    /// The intervals are too wide to decide.
    #[default]
    Inconclusive,
}

impl Agreement {
    /// All of them.
    pub const ALL: [Agreement; 3] = [
        Agreement::Agrees,
        Agreement::Differs,
        Agreement::Inconclusive,
    ];

    /// Name for readers.
    pub fn name(self) -> &'static str {
        match self {
            Agreement::Agrees => "agrees",
            Agreement::Differs => "differs",
            Agreement::Inconclusive => "inconclusive",
        }
    }

    /// Agreement of `kernel` with the simulator's number; of their effects for a ratio.
    fn of(rule: &Rule, simulated: f64, kernel: &Estimate) -> Self {
        let none = if rule.is_about_a_ratio() { 1.0 } else { 0.0 };
        let (effect, slack) = (simulated - none, NEGLIGIBLE * none);
        let ends = [effect / SAME, effect * SAME];
        let (low, high) = (ends[0].min(ends[1]) - slack, ends[0].max(ends[1]) + slack);
        let (lo, hi) = (kernel.lo - none, kernel.hi - none);
        if hi < low || high < lo {
            Agreement::Differs
        } else if low <= lo && hi <= high {
            Agreement::Agrees
        } else {
            Agreement::Inconclusive
        }
    }
}

/// A number of the kernel compared with the simulator's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Farthest {
    /// The measured quantity.
    pub what: String,
    /// The simulator's mean.
    pub simulated: f64,
    /// The kernel's number.
    pub kernel: Estimate,
    /// Number of the kernel's values.
    pub n: u32,
}

impl Farthest {
    /// Text such as `energy, ES-MPTCP ÷ lowRTT: 0.976 [0.961, 0.991], simulator 0.777, n = 5`.
    pub fn words(&self) -> String {
        let Estimate { mean, lo, hi } = self.kernel;
        let decimals = digits_after_point(mean.abs().max(hi.abs()), 3);
        let Farthest {
            what, simulated, n, ..
        } = self;
        let kernel = format!("{mean:.decimals$} [{lo:.decimals$}, {hi:.decimals$}]");
        format!("{what}: {kernel}, simulator {simulated:.decimals$}, n = {n}")
    }

    /// Distance of the two, in units of the simulator's number.
    fn distance(&self) -> f64 {
        (self.kernel.mean - self.simulated).abs() / self.simulated.abs().max(1e-9)
    }
}

/// Numbers within this factor of each other agree, given the accuracy of both engines.
const SAME: f64 = 1.25;

impl SecondMeasurement {
    /// Compares the kernel's findings with the simulator's, which count under `reading`; `None` if
    /// the kernel measured nothing that is judged.
    pub fn of(measured: &[Finding], simulated: &[Finding], reading: Option<&str>) -> Option<Self> {
        let has_spread = |finding: &Finding| finding.measured.is_some() && finding.n > 1;
        let pairs: Vec<_> = measured
            .iter()
            .zip(simulated)
            .filter(|(real, _)| has_spread(real))
            .collect();
        if pairs.iter().all(|(real, _)| real.verdict.is_none()) {
            return None;
        }
        let counts = |finding: &&Finding| {
            finding.reading.is_none() || reading.is_none() || finding.reading.as_deref() == reading
        };
        let beside = |&(real, other): &(&Finding, &Finding)| {
            let (kernel, simulated) = (real.measured?, other.measured?.mean);
            let agreement = Agreement::of(&real.rule, simulated, &kernel);
            let far = Farthest {
                what: real.what_and_where(),
                simulated,
                kernel,
                n: real.n,
            };
            (kernel.mean.is_finite() && simulated.is_finite()).then_some((agreement, far))
        };
        // What is only shown, such as a policy that the paper does not have, is no part of the claim.
        let judged = pairs.iter().filter(|(real, _)| real.verdict.is_some());
        let compared: Vec<(Agreement, Farthest)> = judged.filter_map(beside).collect();
        let is = |agreement| move |one: &(Agreement, Farthest)| one.0 == agreement;
        let agreement = if compared.iter().any(is(Agreement::Differs)) {
            Agreement::Differs
        } else if !compared.is_empty() && compared.iter().all(is(Agreement::Agrees)) {
            Agreement::Agrees
        } else {
            Agreement::Inconclusive
        };
        // A significant difference takes precedence over an uncertain one.
        let decides = |one: &(Agreement, Farthest)| (one.0 == Agreement::Differs, one.1.distance());
        let farthest = compared.into_iter().max_by(|a, b| {
            let ((a_differs, a), (b_differs, b)) = (decides(a), decides(b));
            a_differs.cmp(&b_differs).then(a.total_cmp(&b))
        });
        let all = || {
            pairs
                .iter()
                .map(|(real, _)| *real)
                .filter(|real| real.verdict.is_some())
        };
        // The kernel may not have run the policies of that reading.
        let counting: Vec<&Finding> = match all().any(|real| counts(&real)) {
            true => all().filter(counts).collect(),
            false => all().collect(),
        };
        Some(SecondMeasurement {
            verdict: Verdict::weakest(counting.iter().filter_map(|real| real.verdict)),
            findings: pairs.iter().map(|(real, _)| (*real).clone()).collect(),
            is_part: false,
            agreement,
            farthest: farthest.map(|(_, farthest)| farthest),
            made: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agreement(rule: Rule, simulated: f64, lo: f64, hi: f64) -> Agreement {
        Agreement::of(
            &rule,
            simulated,
            &Estimate {
                mean: (lo + hi) / 2.0,
                lo,
                hi,
            },
        )
    }

    #[test]
    fn the_kernel_agrees_with_the_effect_not_with_the_ratio() {
        let less = Rule::Below { than: 1.0 };
        // The simulator saves 22 %, the kernel 2 %: as ratios they are within a factor of 1.25.
        assert_eq!(agreement(less, 0.78, 0.96, 0.99), Agreement::Differs);
        // 18 to 26 % are within a factor of 1.25 of 22 %.
        assert_eq!(agreement(less, 0.78, 0.74, 0.82), Agreement::Agrees);
        assert_eq!(agreement(less, 0.78, 0.79, 0.99), Agreement::Inconclusive);
        // No effect in either, within 1 % of the ratio.
        assert_eq!(agreement(less, 0.999, 0.992, 1.008), Agreement::Agrees);
        assert_eq!(agreement(less, 0.999, 1.05, 1.08), Agreement::Differs);
        let similar = Rule::Within {
            low: 0.95,
            high: 1.05,
        };
        assert_eq!(agreement(similar, 1.0, 0.93, 0.97), Agreement::Differs);
    }

    #[test]
    fn what_is_only_shown_does_not_decide_the_agreement() {
        let finding = |rule, mean: f64| {
            let near = |part: f64| mean * part;
            let (lo, hi) = (near(0.99), near(1.01));
            Finding::new("x", "", rule, Some(Estimate { mean, lo, hi }), 5)
        };
        let judged = Rule::Value {
            stated: 200.0,
            tolerance: 0.1,
        };
        let kernel = [finding(judged, 205.0), finding(Rule::Shown, 287.0)];
        let simulated = [finding(judged, 200.0), finding(Rule::Shown, 386.0)];
        let ours = SecondMeasurement::of(&kernel, &simulated, None).unwrap();
        assert_eq!(ours.agreement, Agreement::Agrees);
        assert_eq!(ours.farthest.unwrap().kernel.mean, 205.0);
        assert_eq!(ours.findings.len(), 2, "it stays shown");
    }

    #[test]
    fn numbers_with_a_unit_agree_within_a_factor() {
        let value = Rule::Value {
            stated: 415.66,
            tolerance: 0.1,
        };
        assert_eq!(agreement(value, 385.0, 320.0, 460.0), Agreement::Agrees);
        assert_eq!(agreement(value, 385.0, 252.0, 300.0), Agreement::Differs);
        assert_eq!(
            agreement(value, 385.0, 252.0, 321.0),
            Agreement::Inconclusive
        );
        // A bound other than 1 is no ratio's.
        assert_eq!(
            agreement(Rule::Above { than: 0.0 }, 10.0, 9.0, 11.0),
            Agreement::Agrees
        );
    }
}
