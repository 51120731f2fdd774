//! The map as an HTML page.

use joulepath_model::metric::Better;

use super::table::{notes, regions};

use super::{Axis, Map};
use crate::html::map::{MapAxis, MapPage, map_html};
use crate::machine::ReportError;

/// One self-contained page, like [`crate::html`].
///
/// # Errors
/// If a number cannot be written as JSON.
pub fn html(map: &Map) -> Result<String, ReportError> {
    map_html(&page(map))
}

fn page(map: &Map) -> MapPage {
    let axis = |axis: &Axis| MapAxis {
        title: axis.title(),
        values: (0..axis.numbers.len())
            .map(|index| axis.value(index))
            .collect(),
    };
    let set = map
        .set
        .iter()
        .map(|(key, value)| format!("{key} = {value}"));
    let mut chips = vec![
        map.scenario.clone(),
        format!("{} engine", map.engine),
        map.metric.title.to_owned(),
    ];
    chips.extend(set);
    MapPage {
        title: map.title.clone(),
        answer: answer(map),
        chips,
        metric: map.metric.title.to_owned(),
        more_is_better: map.metric.better == Better::Higher,
        x: axis(&map.axes[0]),
        y: axis(&map.axes[1]),
        policies: map
            .policies
            .iter()
            .map(|policy| policy.label.clone())
            .collect(),
        values: map.values.clone(),
        best: map
            .winners
            .verdicts
            .iter()
            .map(|verdict| verdict.best)
            .collect(),
        clear: map
            .winners
            .verdicts
            .iter()
            .map(|verdict| verdict.is_clear())
            .collect(),
        all_tie: map
            .winners
            .verdicts
            .iter()
            .map(|verdict| verdict.ties.len() == map.values.len())
            .collect(),
        checked: map
            .spot
            .iter()
            .flat_map(|spot| spot.points.iter().map(|c| (c.point, c.packet.best)))
            .collect(),
        regions: regions(map),
        notes: notes(map),
        command: map.provenance.command.clone(),
        version: map.provenance.version.clone(),
        commit: map.provenance.commit.clone(),
        partial: map.partial,
    }
}

/// Policies that are best without a tie, with their fractions of the points.
fn answer(map: &Map) -> String {
    let policies = map.policies.iter().zip(&map.winners.regions);
    let mut winners: Vec<_> = policies.filter(|(_, region)| region.clear > 0).collect();
    winners.sort_by_key(|(_, region)| std::cmp::Reverse(region.clear));
    let part = |count: usize| count as f64 / map.points() as f64 * 100.0;
    let named: Vec<String> = winners
        .iter()
        .take(3)
        .map(|(policy, at)| format!("{} at {:.0} %", policy.label, part(at.clear)))
        .collect();
    let others = match winners.len().saturating_sub(named.len()) {
        0 => String::new(),
        others => format!("; {others} more elsewhere"),
    };
    match named.is_empty() {
        true => format!(
            "No policy has the best {} alone at any point.",
            map.metric.title
        ),
        false => format!(
            "Best {}: {} of the points{others}.",
            map.metric.title,
            named.join(", ")
        ),
    }
}
