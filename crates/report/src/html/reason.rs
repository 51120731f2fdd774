//! Why one policy needs less energy than another.

use joulepath_model::metric::ENERGY;
use joulepath_model::result::{Comparison, PathRow, Row};

use crate::scale::{Quantity, Scale, Value};
use crate::sheet::{costs_energy, efficiency};

/// The policy that a system uses without further choice.
const USUAL: &str = "mptcp";
/// A path explains a difference if it saves at least this part of the other policy's energy.
const LEAST_SAVED: f64 = 0.02;
/// Shares of data that differ by less count as equal.
const SAME_SHARE: f64 = 0.005;

/// A sentence about the path on which the best policy saves most, compared with [`USUAL`], or with
/// the least efficient policy if that is the best. `order` has the rows, the most efficient first.
/// `None` if no path explains the difference.
pub(super) fn reason(comparison: &Comparison, order: &[usize]) -> Option<String> {
    let rows = &comparison.rows;
    let best = &rows[*order.first()?];
    let others = || {
        order
            .iter()
            .skip(1)
            .map(|&row| &rows[row])
            .filter(|row| costs_energy(row))
    };
    let other = others()
        .find(|row| row.policy == USUAL)
        .or_else(|| others().next_back())?;
    // All have downloaded the same data.
    let is_whole = |row: &Row| row.completed == Some(row.n);
    let whole = is_whole(best) && is_whole(other);
    let spent = |row: &Row, path: &PathRow| match whole {
        true => path.energy_j,
        false => path.energy_j / row.mean(&ENERGY) / efficiency(row),
    };
    let pairs = best
        .paths
        .iter()
        .zip(&other.paths)
        .filter(|(own, its)| own.name == its.name);
    let spent_by = |(own, its): &(&PathRow, &PathRow)| (spent(best, own), spent(other, its));
    let saved = |pair: &(&PathRow, &PathRow)| {
        let (own, its) = spent_by(pair);
        its - own
    };
    let pair = pairs.max_by(|a, b| saved(a).total_cmp(&saved(b)))?;
    let total: f64 = other.paths.iter().map(|path| spent(other, path)).sum();
    if saved(&pair) < LEAST_SAVED * total {
        return None;
    }
    let (a, b) = spent_by(&pair);
    let quantity = if whole {
        Quantity::Energy
    } else {
        Quantity::EnergyPerBit
    };
    let scale = Scale::of(quantity, &[Value::exact(a), Value::exact(b)]);
    let unit = scale.unit.trim_end_matches("/bit");
    let each = if whole { "" } else { " for each bit" };
    let path = &pair.0.name;
    let (own, its) = (scale.number(a), scale.number(b));
    let spends = format!(
        "on {path}, {} spends {own} {unit} and {} {its} {unit}{each}",
        best.label, other.label
    );
    let percent = |path: &PathRow| format!("{:.0} %", 100.0 * path.share);
    let shares = match (pair.0.share - pair.1.share).abs() < SAME_SHARE {
        true => format!("Both send {} of the data over it.", percent(pair.0)),
        false => format!(
            "{path} carries {} of the data instead of {}.",
            percent(pair.0),
            percent(pair.1)
        ),
    };
    Some(format!("{spends}. {shares}"))
}
