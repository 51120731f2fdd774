//! The map for programs: JSON and CSV.

use serde::Serialize;
use serde_json::json;

use super::Map;
use super::spot::Checked;
use super::winners::{TIE, Verdict};
use crate::compare::command_line;
use crate::failure::{Exit, Failure};

#[derive(Serialize)]
struct Winner<'a> {
    best: Option<&'a str>,
    ties: Vec<&'a str>,
}

/// Everything; one line for each policy, point and checked point.
///
/// # Errors
/// If a number fits no JSON.
pub(super) fn json(map: &Map<'_>) -> Result<String, Failure> {
    let name = |policy: usize| map.plane.policies[policy].0.as_str();
    let winner = |verdict: &Verdict| Winner {
        best: verdict.best.map(name),
        ties: verdict.ties.iter().map(|&policy| name(policy)).collect(),
    };
    let axis = |axis: &super::Axis| json!({ "keys": axis.keys, "unit": axis.unit, "log": axis.log, "values": axis.numbers });
    let policy = |policy: usize| {
        let region = &map.winners.regions[policy];
        json!({
            "policy": name(policy),
            "label": map.plane.policies[policy].1,
            "best_points": region.clear,
            "tied_points": region.tied,
            "behind_at_most": region.behind,
            "values": map.values[policy],
        })
    };
    let checked = |checked: &Checked| {
        let (x, y) = map.plane.column_and_row(checked.point);
        json!({ "x": x, "y": y, "map": winner(&checked.map), "packet": winner(&checked.packet) })
    };
    let spot_check = map.spot.as_ref().map(|spot| {
        let worst = spot.worst.map(|(difference, policy, point)| {
            let (x, y) = map.plane.column_and_row(point);
            json!({ "difference": difference, "policy": name(policy), "x": x, "y": y })
        });
        json!({
            "seeds": map.options.seeds,
            "same_winner": spot.same,
            "tied_winner": spot.ties,
            "median_difference": spot.median,
            "worst_difference": worst,
            "points": spot.points.iter().map(checked).collect::<Vec<_>>(),
        })
    });
    let whole = json!({
        "scenario": map.plane.name,
        "title": map.plane.title,
        "set": map.plane.set,
        "engine": map.engine,
        "metric": map.options.metric.name(),
        "tie": TIE,
        "partial": map.partial,
        "x": axis(&map.plane.axes[0]),
        "y": axis(&map.plane.axes[1]),
        "policies": (0..map.plane.policies.len()).map(policy).collect::<Vec<_>>(),
        "winners": map.winners.verdicts.iter().map(winner).collect::<Vec<_>>(),
        "spot_check": spot_check,
        "manifest": {
            "scenario_sha256": map.plane.sha256,
            "version": env!("CARGO_PKG_VERSION"),
            "commit": env!("JOULEPATH_COMMIT"),
            "command": command_line(),
        },
    });
    let text = serde_json::to_string(&whole).map_err(|error| Failure::new(Exit::Failed, error))?;
    Ok(text + "\n")
}

/// One line for each policy at each point; what is unknown is empty.
pub(super) fn csv(map: &Map<'_>) -> String {
    let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    let [x, y] = &map.plane.axes;
    let head = |axis: &super::Axis| quoted(&format!("{} [{}]", axis.keys.join(","), axis.unit));
    let mut text = format!("{},{},policy,{},best,tied\n", head(x), head(y), map.options.metric.name());
    for (point, verdict) in map.winners.verdicts.iter().enumerate() {
        let (column, row) = map.plane.column_and_row(point);
        for (policy, (name, _)) in map.plane.policies.iter().enumerate() {
            let value = map.values[policy][point].map_or_else(String::new, |value| value.to_string());
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
