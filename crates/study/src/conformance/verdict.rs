//! Checks against courses.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use joulepath_controllers::Controller;
use joulepath_model::cancel::Cancel;
use joulepath_model::metric::in_unit;
use joulepath_model::result::RunResult;
use joulepath_report::conformance::Verdict;

use super::course::{Course, run};
use super::names::{At, Words, metric};
use super::suite::{Case, Check, Stat, Suite};
use crate::error::{Error, Result};

/// Runs the case and judges its checks.
///
/// # Errors
/// If it cannot run.
pub(super) fn judge(
    suite: &Suite,
    case: &Case,
    controller: Controller,
    cancel: &Cancel,
) -> Result<Vec<Verdict>> {
    let course = run(suite, case, controller, cancel)?;
    // Runs of the controllers that checks compare with, by name.
    let mut others: BTreeMap<&str, _> = BTreeMap::new();
    let mut verdicts = vec![];
    for check in &case.checks {
        let judged = match &course {
            Ok(course) => judge_one(course, check),
            Err(why) => Err(why.clone()),
        };
        let judged = match (&check.against, judged) {
            (Some(other), Ok(Measured::Number(mine))) => {
                let its = match others.entry(other.as_str()) {
                    Entry::Occupied(known) => known.into_mut(),
                    Entry::Vacant(free) => {
                        let other = Controller::by_name(other);
                        let other = other.map_err(|error| Error::usage(error.to_string()))?;
                        free.insert(run(suite, case, other, cancel)?)
                    }
                };
                let its = match its {
                    Ok(course) => judge_one(course, check),
                    Err(why) => Err(why.clone()),
                };
                its.map(|its| match its {
                    Measured::Number(its) => Measured::Number(mine / its),
                    states @ Measured::States { .. } => states,
                })
            }
            (_, judged) => judged,
        };
        verdicts.push(verdict(check, judged));
    }
    Ok(verdicts)
}

/// What a check has measured.
enum Measured {
    Number(f64),
    States {
        seen: Vec<&'static str>,
        holds: bool,
    },
}

fn verdict(check: &Check, measured: std::result::Result<Measured, String>) -> Verdict {
    let (holds, measured) = match measured {
        Ok(Measured::Number(value)) => {
            let above = check.at_least.is_none_or(|least| value >= least);
            let below = check.at_most.is_none_or(|most| value <= most);
            (above && below, number(value))
        }
        Ok(Measured::States { seen, holds }) => (holds, seen.join(" ")),
        Err(why) => (false, why),
    };
    Verdict {
        says: says(check),
        holds,
        measured,
        limit: limit(check),
    }
}

/// Up to four significant digits.
fn number(value: f64) -> String {
    match value.abs() {
        v if v.is_infinite() => "none".to_owned(),
        v if v >= 1000.0 || v.fract() == 0.0 => format!("{value:.0}"),
        v if v >= 100.0 => format!("{value:.1}"),
        v if v >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    }
}

fn limit(check: &Check) -> String {
    match (&check.never, check.at_least, check.at_most) {
        (Some(never), ..) => format!("never {never}"),
        (_, Some(least), Some(most)) => format!("{} to {}", number(least), number(most)),
        (_, Some(least), None) => format!(">= {}", number(least)),
        (_, None, Some(most)) => format!("<= {}", number(most)),
        (_, None, None) => check.states.join(" "),
    }
}

fn says(check: &Check) -> String {
    if let Some(says) = &check.says {
        return says.clone();
    }
    let mut text = match &check.value {
        Some(value) if check.stat == Stat::Result => value.clone(),
        Some(value) => format!("{} of {value}", format!("{:?}", check.stat).to_lowercase()),
        None => "states".to_owned(),
    };
    if let Some(other) = &check.against {
        text += &format!(", divided by that of {other}");
    }
    for (word, at) in [("from", &check.from), ("until", &check.until)] {
        if let Some(at) = at {
            text += &format!(" {word} {at}");
        }
    }
    text
}

fn judge_one(course: &Course, check: &Check) -> std::result::Result<Measured, String> {
    let instant = |at: &str, since| {
        let parsed = At::parse(at)?;
        course
            .find(&parsed, since)
            .ok_or_else(|| format!("`{at}` did not happen"))
    };
    let from = check.from.as_deref().map_or(Ok(0), |at| instant(at, 0))?;
    let until = check
        .until
        .as_deref()
        .map_or(Ok(course.len()), |at| instant(at, from + 1))?;
    if let Some(never) = &check.never {
        let seen = states(course, never, from, until);
        let holds = !seen.contains(&never.as_str());
        return Ok(Measured::States {
            seen: short(seen, 8),
            holds,
        });
    }
    if let Some(first) = check.states.first() {
        let seen = states(
            course,
            first.split('|').next().unwrap_or(first),
            from,
            until,
        );
        let fits = |(wanted, seen): (&String, &&str)| wanted.split('|').any(|name| name == *seen);
        let holds = seen.len() >= check.states.len() && check.states.iter().zip(&seen).all(fits);
        return Ok(Measured::States {
            seen: short(seen, check.states.len()),
            holds,
        });
    }
    let words = Words::of(check.value.as_deref().unwrap_or_default())?;
    if check.stat == Stat::Result {
        return Ok(Measured::Number(
            words.value(|name| of_result(&course.result, name)),
        ));
    }
    let at = |k: usize| words.value(|name| course.series(name)[k]);
    let value = statistic(check.stat, &at, from, until, course.series("time_s"));
    value
        .map(Measured::Number)
        .ok_or_else(|| "the interval is empty".to_owned())
}

fn statistic(
    stat: Stat,
    at: &dyn Fn(usize) -> f64,
    from: usize,
    until: usize,
    time_s: &[f64],
) -> Option<f64> {
    let last = until.checked_sub(1).filter(|&last| last >= from)?;
    let all = || (from..until).map(at);
    Some(match stat {
        Stat::Min => all().fold(f64::INFINITY, f64::min),
        Stat::Max => all().fold(f64::NEG_INFINITY, f64::max),
        Stat::Mean => all().sum::<f64>() / (until - from) as f64,
        Stat::First => at(from),
        Stat::Last | Stat::Result => at(last),
        Stat::Rise => at(last) - at(from),
        Stat::Ratio => at(last) / at(from.checked_sub(1)?),
        Stat::Rate => (at(last) - at(from)) / (time_s[last] - time_s[from]),
    })
}

/// The states in an interval.
fn states(course: &Course, one: &str, from: usize, until: usize) -> Vec<&'static str> {
    let sequence = course.sequence(one);
    let begins_before = sequence
        .iter()
        .rposition(|entry| entry.0 <= from)
        .unwrap_or(0);
    sequence[begins_before..]
        .iter()
        .take_while(|entry| entry.0 < until)
        .map(|entry| entry.1)
        .collect()
}

fn short(mut seen: Vec<&'static str>, most: usize) -> Vec<&'static str> {
    seen.truncate(most);
    seen
}

/// A number of the whole run; infinite if there is none.
fn of_result(result: &RunResult, name: &str) -> f64 {
    match metric(name) {
        Some((metric, size)) => metric
            .of(result)
            .map_or(f64::INFINITY, |value| in_unit(value, size)),
        None => result.goodput_bps / (result.goodput_bps + result.competitors_bps),
    }
}
