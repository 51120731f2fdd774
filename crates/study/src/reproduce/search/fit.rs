//! Inverse inference: finds the point of a box that best fits all numbers of the paper.
//!
//! The loss, fixed before anything runs: for each printed number, our distance from it in units of
//! its tolerance, ln(ours/stated)/ln(1 + tolerance); for all numbers, the root mean square. A
//! setting fits if no distance exceeds 1. For "up to", only lower numbers count as distant.

use std::collections::BTreeMap;

use joulepath_report::search::Fit;
use joulepath_report::{Finding, Rule};

use super::rounds::Searched;
use super::state::Judgement;

/// Minimum number of printed numbers for a result; a single one still guides the search.
const FEWEST: usize = 2;

/// Distance of a point from the paper's numbers.
struct Loss {
    rms: f64,
    worst: (f64, String),
    numbers: usize,
}

/// Distance of a finding from the printed number, in tolerances; `None` without a printed number.
fn distance(finding: &Finding) -> Option<f64> {
    let ours = finding.measured?.mean;
    let of = |stated: f64, slack: f64| {
        let (a, b) = (ours / stated, 1.0 + slack / stated.abs());
        (a > 0.0 && slack > 0.0).then(|| libm::fabs(libm::log(a)) / libm::log(b))
    };
    match finding.rule {
        Rule::Value { stated, tolerance } if stated != 0.0 => of(stated, tolerance * stated.abs()),
        Rule::Ratio { stated, tolerance } => of(stated, tolerance * (stated - 1.0).abs()),
        Rule::UpTo { stated, tolerance } => {
            let exceeds = if stated > 1.0 {
                ours >= stated
            } else {
                ours <= stated
            };
            if exceeds {
                Some(0.0)
            } else {
                of(stated, tolerance * (stated - 1.0).abs())
            }
        }
        _ => None,
    }
}

/// Loss at a point. Each number counts once, even if several figures print it.
fn loss(judged: &[Judgement]) -> Option<Loss> {
    let mut numbers: BTreeMap<(String, String), f64> = BTreeMap::new();
    for finding in judged.iter().flat_map(|of| &of.findings) {
        if let Some(far) = distance(finding) {
            numbers.insert((finding.what.clone(), finding.rule.stated()), far);
        }
    }
    let all: Vec<f64> = numbers.values().copied().collect();
    if all.is_empty() || all.iter().any(|far| !far.is_finite()) {
        return None;
    }
    let rms = (all.iter().map(|far| far * far).sum::<f64>() / all.len() as f64).sqrt();
    let ((what, stated), far) = numbers.into_iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    Some(Loss {
        rms,
        worst: (far, format!("{what}, stated {stated}")),
        numbers: all.len(),
    })
}

/// Points by ascending loss.
pub(super) fn best(of: &Searched) -> Vec<usize> {
    let mut all: Vec<(f64, usize)> = of
        .judged
        .iter()
        .enumerate()
        .filter_map(|(point, judged)| Some((loss(judged)?.rms, point)))
        .collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    all.into_iter().map(|(_, point)| point).collect()
}

/// Result of the fit; `None` if the paper prints too few numbers for this set-up.
pub(super) fn of(of: &Searched) -> Option<Fit> {
    let point = *best(of).first()?;
    let Loss {
        rms,
        worst,
        numbers,
    } = loss(&of.judged[point]).filter(|loss| loss.numbers >= FEWEST)?;
    let parameters = of.claim_box.parameters.as_slice();
    let keys = parameters.iter().map(|parameter| parameter.key.clone());
    Some(Fit {
        in_box: of.claim_box.name.clone(),
        numbers,
        loss: rms,
        worst: worst.0,
        worst_number: worst.1,
        fits: worst.0 <= 1.0,
        usual_loss: loss(&of.judged[0]).map(|loss| loss.rms),
        at: keys.zip(of.points[point].texts(parameters)).collect(),
        changed: of.points[point]
            .changed(parameters)
            .map(|(p, _)| p.key.clone())
            .collect(),
        points: of.judged.len(),
    })
}

#[cfg(test)]
mod tests {
    use joulepath_model::result::Estimate;

    use super::*;

    fn far(rule: Rule, ours: f64) -> Option<f64> {
        let ours = Some(Estimate {
            mean: ours,
            lo: ours,
            hi: ours,
        });
        distance(&Finding::new("x", "", rule, ours, 3))
    }

    #[test]
    fn a_number_at_its_tolerance_has_distance_one() {
        let value = Rule::Value {
            stated: 200.0,
            tolerance: 0.1,
        };
        assert!((far(value, 220.0).unwrap() - 1.0).abs() < 1e-12);
        assert!(
            (far(value, 200.0 / 1.1).unwrap() - 1.0).abs() < 1e-12,
            "as far below as above"
        );
        assert_eq!(far(value, 200.0), Some(0.0));
    }

    #[test]
    fn for_up_to_only_lower_numbers_are_distant() {
        let less = Rule::UpTo {
            stated: 0.8,
            tolerance: 0.2,
        };
        assert_eq!(far(less, 0.5), Some(0.0));
        // A fifth of the effect of 0.2 is 0.04.
        assert!((far(less, 0.84).unwrap() - 1.0).abs() < 1e-12);
        assert_eq!(
            far(Rule::Above { than: 1.0 }, 2.0),
            None,
            "an order relation has no distance"
        );
    }
}
