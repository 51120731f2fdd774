//! The map as an HTML page.

use joulepath_report::{MapAxis, MapPage};

use super::Map;
use super::axis::Axis;
use super::table;
use crate::compare::command_line;

/// What the page shows.
pub(super) fn of(map: &Map<'_>) -> MapPage {
    let axis = |axis: &Axis| MapAxis {
        title: axis.title(),
        values: (0..axis.numbers.len()).map(|index| axis.value(index)).collect(),
    };
    let points = map.plane.points.len() as f64;
    let part = |count: usize| format!("{:.0}", count as f64 / points * 100.0);
    let regions = map
        .winners
        .regions
        .iter()
        .map(|region| [part(region.clear), part(region.tied), format!("{:.1}", region.behind * 100.0)]);
    let set = map.plane.set.iter().map(|(key, value)| format!("{key} = {value}"));
    let mut chips =
        vec![map.plane.name.clone(), format!("{} engine", map.engine), map.options.metric.title().to_owned()];
    chips.extend(set);
    MapPage {
        title: map.plane.title.clone(),
        chips,
        metric: map.options.metric.title().to_owned(),
        more_is_better: map.options.metric.is_gain(),
        x: axis(&map.plane.axes[0]),
        y: axis(&map.plane.axes[1]),
        policies: map.plane.policies.iter().map(|(_, label)| label.clone()).collect(),
        values: map.values.clone(),
        best: map.winners.verdicts.iter().map(|verdict| verdict.best).collect(),
        clear: map.winners.verdicts.iter().map(|verdict| verdict.is_clear()).collect(),
        checked: map
            .spot
            .iter()
            .flat_map(|spot| spot.points.iter().map(|c| (c.point, c.packet.best)))
            .collect(),
        regions: regions.collect(),
        notes: table::notes(map),
        command: command_line(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        commit: env!("JOULEPATH_COMMIT").to_owned(),
        partial: map.partial,
    }
}
