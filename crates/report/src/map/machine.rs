//! The map for programs: JSON and CSV.

use serde::Serialize;
use serde_json::{Value, json};

use super::{Axis, Checked, Map, Policy, TIE, Verdict};
use crate::machine::ReportError;

#[derive(Serialize)]
struct Winner<'a> {
    best: Option<&'a str>,
    ties: Vec<&'a str>,
}

/// The map as JSON, with one line for each policy, point and checked point.
///
/// # Errors
/// If a number cannot be written as JSON.
pub fn json(map: &Map) -> Result<String, ReportError> {
    let name = |policy: usize| map.policies[policy].policy.as_str();
    let winner = |verdict: &Verdict| Winner {
        best: verdict.best.map(name),
        ties: verdict.ties.iter().map(|&policy| name(policy)).collect(),
    };
    let policy = |policy: usize| {
        let region = &map.winners.regions[policy];
        json!({
            "policy": name(policy),
            "label": map.policies[policy].label,
            "best_points": region.clear,
            "tied_points": region.tied,
            "behind_at_most": region.shortfall,
            "values": map.values[policy],
        })
    };
    let checked = |checked: &Checked| {
        let (x, y) = map.column_and_row(checked.point);
        json!({ "x": x, "y": y, "map": winner(&checked.map), "packet": winner(&checked.packet) })
    };
    let spot_check = map.spot.as_ref().map(|spot| {
        let worst = spot.worst.map(|(difference, policy, point)| {
            let (x, y) = map.column_and_row(point);
            json!({ "difference": difference, "policy": name(policy), "x": x, "y": y })
        });
        json!({
            "seeds": map.seeds,
            "same_winner": spot.same,
            "tied_winner": spot.ties,
            "median_difference": spot.median,
            "worst_difference": worst,
            "points": spot.points.iter().map(checked).collect::<Vec<_>>(),
        })
    });
    let whole = json!({
        "scenario": map.scenario,
        "title": map.title,
        "set": map.set,
        "engine": map.engine,
        "metric": map.metric.name,
        "tie": TIE,
        "partial": map.partial,
        "x": axis(&map.axes[0]),
        "y": axis(&map.axes[1]),
        "policies": (0..map.policies.len()).map(policy).collect::<Vec<_>>(),
        "winners": map.winners.verdicts.iter().map(winner).collect::<Vec<_>>(),
        "spot_check": spot_check,
        "manifest": {
            "scenario_sha256": map.sha256,
            "version": map.provenance.version,
            "commit": map.provenance.commit,
            "command": map.provenance.command,
        },
    });
    let text = serde_json::to_string(&whole)?;
    Ok(text + "\n")
}

fn axis(axis: &Axis) -> Value {
    json!({ "keys": axis.keys, "unit": axis.unit, "log": axis.log, "values": axis.numbers })
}

/// The map as CSV, with one line for each policy at each point; unknown values are empty.
pub fn csv(map: &Map) -> String {
    let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    let [x, y] = &map.axes;
    let head = |axis: &Axis| quoted(&format!("{} [{}]", axis.keys.join(","), axis.unit));
    let mut text = format!(
        "{},{},policy,{},best,tied\n",
        head(x),
        head(y),
        map.metric.name
    );
    for (point, verdict) in map.winners.verdicts.iter().enumerate() {
        let (column, row) = map.column_and_row(point);
        for (policy, Policy { policy: name, .. }) in map.policies.iter().enumerate() {
            let value =
                map.values[policy][point].map_or_else(String::new, |value| value.to_string());
            let (best, tied) = (verdict.best == Some(policy), verdict.ties.contains(&policy));
            text += &format!(
                "{},{},{},{value},{},{}\n",
                x.numbers[column],
                y.numbers[row],
                quoted(name),
                u8::from(best),
                u8::from(tied)
            );
        }
    }
    text
}
