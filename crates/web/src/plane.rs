//! Maps of two keys, as `joulepath map` draws them.
//!
//! Workers run some points each. A worker loads only its own points, because loading all takes
//! seconds.

use std::collections::{BTreeMap, BTreeSet};

use joulepath_report::map::{html, json as to_json};
use joulepath_study::engine::{self, EngineOptions};
use joulepath_study::error::{Error, Result};
use joulepath_study::map::{Plan, Request};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::rules;
use crate::source::{provenance, source};

/// Maximum number of points: a page holds their values in memory.
const MAX_POINTS: usize = 10_000;

/// A map of a scenario.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// Name of a shipped scenario, or of the file in messages and results.
    pub name: String,
    /// The shipped scenario that the text was made from, for its traces.
    pub original: Option<String>,
    /// Text of the scenario.
    pub toml: String,
    /// The user's own traces by name.
    pub traces: BTreeMap<String, String>,
    /// Axes, policies and options.
    pub request: Request,
    /// The command that gives the same numbers.
    pub command: String,
}

/// Values of some points by policy.
#[derive(Debug, Deserialize, Serialize)]
struct Part {
    values: Vec<Vec<Option<f64>>>,
    /// The first run that failed.
    failure: Option<String>,
}

/// Opens the engines and calls `work` with the plan of these points.
fn with_plan<T>(
    of: &Question,
    points: &BTreeSet<usize>,
    work: impl FnOnce(&Plan<'_>) -> Result<T>,
) -> Result<T> {
    rules::refuse(
        of.request.policies.as_deref(),
        "cannot be on a map, which is computed by formulas",
        "take it out of the policies",
    )?;
    let axes = of.request.axes()?;
    let size: usize = axes.iter().map(|axis| axis.numbers.len()).product();
    if size > MAX_POINTS {
        return Err(Error::usage(format!(
            "{size} points are more than the {MAX_POINTS} of this page"
        ))
        .with_help("use fewer points, or the command line"));
    }
    if points.last().is_some_and(|last| *last >= size) {
        return Err(Error::usage(format!("the map has {size} points")));
    }
    let open = |name| engine::open(name, &EngineOptions::default());
    let [engine, packet] = of.request.engines(open)?;
    let source = source(&of.name, &of.toml, &of.traces, of.original.as_deref())?;
    work(&Plan::of_points(
        points,
        &source,
        &of.request,
        &*engine,
        &*packet,
    )?)
}

pub(crate) fn check(of: &Question) -> Result<Value> {
    with_plan(of, &BTreeSet::new(), |plan| {
        let columns = of.request.axes()?[0].numbers.len();
        Ok(json!({
            "points": plan.points(),
            "columns": columns,
            "checked": plan.checked(),
            "notes": plan.notes(),
        }))
    })
}

pub(crate) fn part(of: &Question, points: &[usize], is_check: bool) -> Result<Value> {
    with_plan(of, &points.iter().copied().collect(), |plan| {
        let (values, failure) = plan.part(points, is_check);
        Ok(serde_json::to_string(&Part { values, failure })
            .expect("numbers are JSON")
            .into())
    })
}

pub(crate) fn gather(of: &Question, parts: &[String], checked: &[String]) -> Result<Value> {
    with_plan(of, &BTreeSet::new(), |plan| {
        let mut failure = None;
        let mut joined = |parts: &[String]| -> Result<Vec<Vec<Option<f64>>>> {
            let mut all = vec![vec![]; plan.policies()];
            for part in parts {
                let part: Part = serde_json::from_str(part).map_err(Error::usage)?;
                all.iter_mut()
                    .zip(part.values)
                    .for_each(|(all, values)| all.extend(values));
                failure = failure.take().or(part.failure);
            }
            Ok(all)
        };
        let (values, check) = (joined(parts)?, joined(checked)?);
        let check = (of.request.spot_check > 0).then_some(check.as_slice());
        let map = plan.gathered(&provenance(&of.command), values, check)?;
        Ok(json!({ "html": html(&map)?, "json": to_json(&map)?, "failure": failure }))
    })
}

#[cfg(test)]
mod tests {
    use joulepath_model::metric::ENERGY;

    use super::*;

    fn question(spot_check: u32) -> Question {
        let toml = joulepath_study::shipped::find("quick")
            .expect("it is shipped")
            .1;
        Question {
            name: "quick".into(),
            original: None,
            toml: toml.to_owned(),
            traces: BTreeMap::new(),
            request: Request {
                policies: Some("mptcp,uncoupled".into()),
                x: "path.wifi.delay=10ms..20ms:2".into(),
                y: "path.lte.loss=0.1 %..1 %:2log".into(),
                metric: &ENERGY,
                spot_check,
                seeds: 1,
                ..Request::default()
            },
            command: "joulepath map quick".into(),
        }
    }

    #[test]
    fn parts_make_a_map_with_its_page() {
        let of = question(1);
        let checked = check(&of).unwrap();
        assert_eq!(
            (&checked["points"], &checked["columns"]),
            (&json!(4), &json!(2))
        );
        let point: Vec<usize> = serde_json::from_value(checked["checked"].clone()).unwrap();
        let text = |points: &[usize], is_check| {
            part(&of, points, is_check)
                .unwrap()
                .as_str()
                .unwrap()
                .to_owned()
        };
        let parts = [text(&[0, 1], false), text(&[2, 3], false)];
        let map = gather(&of, &parts, &[text(&point, true)]).unwrap();
        assert!(
            map["json"].as_str().unwrap().contains("\"spot_check\""),
            "{map}"
        );
        assert!(
            map["html"]
                .as_str()
                .unwrap()
                .contains("joulepath map quick")
        );
        assert_eq!(map["failure"], Value::Null);
        assert!(gather(&of, &parts[..1], &[]).is_err());
    }

    #[test]
    fn too_many_points_and_foreign_points_are_refused() {
        let mut of = question(0);
        of.request.x = "path.wifi.delay=1..200 ms:200".into();
        of.request.y = "path.lte.delay=1..200 ms:200".into();
        assert!(check(&of).unwrap_err().to_string().contains("40000 points"));
        assert!(
            part(&question(0), &[4], false)
                .unwrap_err()
                .to_string()
                .contains("4 points")
        );
    }
}
