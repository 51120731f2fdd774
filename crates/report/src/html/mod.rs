//! The HTML report: one page that needs nothing else.
//!
//! The numbers are written out here, so that the page shows what the terminal shows and is readable without
//! scripts; the scripts sort the table and draw.

pub(crate) mod advice;
mod answer;
pub(crate) mod assets;
mod chart;
pub(crate) mod figures;
pub(crate) mod gauntlet;
pub(crate) mod league;
pub(crate) mod map;
mod measure;
mod payload;
pub(crate) mod reproduction;
pub(crate) mod search;

use answer::{Fact, facts};
use askama::Template;
use assets::Assets;
use chart::{Chart, Field, Stack};
use joulepath_model::result::{Comparison, Limit, OverTime, PathRow};
use measure::Measure;

use crate::machine::ReportError;
use crate::scale::{Quantity, Scale, Value};
use crate::sheet::{Cell, Column, Metric, Sheet, costs_energy, limit_name, notes};

/// The page's scripts, in the order in which they need each other.
const SCRIPTS: [&str; 8] = [
    include_str!("../../assets/js/format.js"),
    include_str!("../../assets/js/theme.js"),
    include_str!("../../assets/js/card.js"),
    include_str!("../../assets/js/scroll.js"),
    include_str!("../../assets/js/table.js"),
    include_str!("../../assets/js/plot.js"),
    include_str!("../../assets/js/series.js"),
    include_str!("../../assets/js/report.js"),
];

/// One self-contained page: the answer, charts, overview, time series, limits, provenance. It loads nothing,
/// which its content security policy enforces.
pub fn html(comparison: &Comparison) -> Result<String, ReportError> {
    let sheet = Sheet::of(comparison);
    let order = order(comparison);
    let field = Field { comparison, order: &order, best: sheet.best };
    let assets = Assets::new(&[], &SCRIPTS, &payload::payload(comparison, &order))?;
    let page = Page {
        comparison,
        heads: heads(&sheet),
        policies: order.iter().map(|&row| policy_row(comparison, &sheet, row)).collect(),
        limits: limit_rows(comparison, &sheet),
        facts: facts(comparison, &sheet, &order),
        charts: charts(&field),
        stacks: stacks(&field),
        over_time: comparison.rows.iter().find_map(|row| row.over_time.as_ref()),
        notes: notes(comparison),
        seeds: ranges(&comparison.manifest.seeds),
        path_table: path_table(comparison, &order),
        limit_table: limit_table(comparison),
        assets,
    };
    Ok(page.render()?)
}

/// What the template shows. Text is escaped by the template unless it says `safe`.
#[derive(Template)]
#[template(path = "report.html")]
struct Page<'a> {
    comparison: &'a Comparison,
    /// Title and unit of the overview's columns.
    heads: Vec<(String, String)>,
    policies: Vec<OverviewRow>,
    limits: Vec<OverviewRow>,
    facts: Vec<Fact>,
    charts: Vec<Chart>,
    stacks: Vec<Stack>,
    /// Of any policy: all have the same bins.
    over_time: Option<&'a OverTime>,
    notes: Vec<String>,
    seeds: String,
    path_table: Grid,
    limit_table: Grid,
    assets: Assets,
}

impl Page<'_> {
    fn seeds_in_words(&self) -> String {
        if self.comparison.seeds == 1 { "1 seed".into() } else { format!("{} seeds", self.comparison.seeds) }
    }

    /// How the lines and bands over time were made.
    fn over_time_in_words(&self, over_time: &OverTime) -> String {
        let mean = format!("means over {} s of each run", over_time.bin_s);
        match (over_time.runs, over_time.band) {
            (1, _) => format!("{mean}; one seed, so no band"),
            (runs, (lo, _)) if lo > 0.0 => {
                format!(
                    "{mean}; line: median of {runs} seeds; band: from their 10th to their 90th percentile"
                )
            }
            (runs, _) => {
                format!("{mean}; line: median of {runs} seeds; band: from the least to the greatest")
            }
        }
    }
}

/// Rows by efficiency, the best first; those without one at the end.
fn order(comparison: &Comparison) -> Vec<usize> {
    let efficiency = |row: &usize| {
        let mean = comparison.rows[*row].bits_per_joule.mean;
        if mean.is_finite() { mean } else { f64::NEG_INFINITY }
    };
    let mut order: Vec<usize> = (0..comparison.rows.len()).collect();
    order.sort_by(|a, b| efficiency(b).total_cmp(&efficiency(a)));
    order
}

/// Energy, then what it costs: the user, and others where that is measured. Each beside its difference to the
/// first policy.
fn charts(field: &Field<'_>) -> Vec<Chart> {
    let rows = &field.comparison.rows;
    if rows.is_empty() {
        return vec![];
    }
    let user = Measure::of_user(field.comparison);
    let mut pairs = vec![(user, user)];
    if rows.iter().any(costs_energy) {
        pairs.insert(0, (Measure::EnergyPerBit, Measure::EnergyPerBit));
    }
    if rows.iter().any(|row| row.tcp_share.is_some()) {
        pairs.push((Measure::TcpShare, Measure::Competitors));
    } else if rows.iter().any(|row| row.competitors_bps.is_some()) {
        pairs.push((Measure::Competitors, Measure::Competitors));
    }
    pairs
        .into_iter()
        .flat_map(|(of_all, to_first)| [Some(field.bars(of_all)), field.differences(to_first)])
        .flatten()
        .collect()
}

/// Where data and energy went, as far as there are any.
fn stacks(field: &Field<'_>) -> Vec<Stack> {
    let rows = &field.comparison.rows;
    let shares = (!rows.is_empty()).then(|| field.shares());
    let causes = rows.iter().any(costs_energy).then(|| field.causes());
    shares.into_iter().chain(causes).collect()
}

/// A row of the overview.
struct OverviewRow {
    name: String,
    /// Shown on hovering: a policy's parts, a limit's rates.
    hint: String,
    is_best: bool,
    /// Whether ratios refer to it.
    is_first: bool,
    cells: Vec<Cell>,
}

/// What the page is about stands first: on a narrow screen the rest has to be scrolled to.
fn by_importance(sheet: &Sheet) -> Vec<&Column> {
    let rank = |column: &&Column| match column.metric {
        Metric::Efficiency => 0,
        Metric::Ratio => 1,
        Metric::OfLimit => 2,
        Metric::OfLinkLimit => 3,
        Metric::Goodput => 4,
        Metric::Completion | Metric::Completed => 5,
        Metric::Delay | Metric::DelayP95 => 6,
        Metric::TcpShare | Metric::Competitors => 7,
        Metric::Shares => 8,
        Metric::Retransmissions => 9,
        Metric::Energy | Metric::RunEnergy | Metric::Power | Metric::Network => 10,
    };
    let mut columns: Vec<&Column> = sheet.columns.iter().collect();
    columns.sort_by_key(rank);
    columns
}

fn heads(sheet: &Sheet) -> Vec<(String, String)> {
    by_importance(sheet).into_iter().map(|column| (column.title.clone(), column.unit.clone())).collect()
}

fn cells(sheet: &Sheet, line: usize) -> Vec<Cell> {
    by_importance(sheet).into_iter().map(|column| column.cells[line].clone()).collect()
}

fn policy_row(comparison: &Comparison, sheet: &Sheet, row: usize) -> OverviewRow {
    OverviewRow {
        name: comparison.rows[row].label.clone(),
        hint: comparison.rows[row].parts.clone(),
        is_best: sheet.best == Some(row),
        is_first: row == 0 && comparison.rows.len() > 1,
        cells: cells(sheet, row),
    }
}

fn limit_rows(comparison: &Comparison, sheet: &Sheet) -> Vec<OverviewRow> {
    let line = |(index, limit): (usize, &Limit)| OverviewRow {
        name: limit_name(&limit.kind),
        hint: limit.label.clone(),
        is_best: false,
        is_first: false,
        cells: cells(sheet, sheet.policies + index),
    };
    comparison.limits.iter().enumerate().map(line).collect()
}

/// A table without sorting.
struct Grid {
    heads: Vec<(&'static str, &'static str)>,
    rows: Vec<(String, Vec<String>)>,
}

/// Every policy's paths, one line each.
fn path_table(comparison: &Comparison, order: &[usize]) -> Grid {
    type Get = fn(&PathRow) -> Option<f64>;
    let columns: [(&str, Quantity, Get); 6] = [
        ("share of data", Quantity::Share, |path| Some(path.share)),
        ("goodput", Quantity::Rate, |path| Some(path.goodput_bps)),
        ("energy", Quantity::Energy, |path| Some(path.energy_j)),
        ("mean RTT", Quantity::Time, |path| path.mean_rtt_s),
        ("mean cwnd", Quantity::Plain, |path| Some(path.mean_cwnd)),
        ("timeouts per run", Quantity::Plain, |path| Some(path.timeouts)),
    ];
    let paths = || comparison.rows.iter().flat_map(|row| &row.paths);
    let scales = columns.map(|(_, quantity, get)| {
        Scale::of(quantity, &paths().filter_map(get).map(Value::exact).collect::<Vec<_>>())
    });
    let unit = |name: &str, scale: &Scale| if name == "mean cwnd" { "packets" } else { scale.unit };
    let line = |path: &PathRow| {
        let cell = |((_, _, get), scale): (&(&str, Quantity, Get), &Scale)| {
            get(path).map_or_else(|| "–".into(), |value| scale.number(value))
        };
        columns.iter().zip(&scales).map(cell).collect::<Vec<_>>()
    };
    let name = |policy: &str, path: &PathRow| format!("{policy} · {}", path.name);
    let rows = order
        .iter()
        .map(|&row| &comparison.rows[row])
        .flat_map(|row| row.paths.iter().map(|path| (name(&row.label, path), line(path))));
    Grid {
        heads: columns.iter().zip(&scales).map(|(&(name, ..), scale)| (name, unit(name, scale))).collect(),
        rows: rows.collect(),
    }
}

/// Every limit's rates beside the capacities that it assumes, one line a path.
fn limit_table(comparison: &Comparison) -> Grid {
    let limits = &comparison.limits;
    let rates = limits.iter().flat_map(|limit| limit.rates_bps.iter().chain(&limit.capacities_bps));
    let scale = Scale::of(Quantity::Rate, &rates.copied().map(Value::exact).collect::<Vec<_>>());
    let line = |limit: &Limit, path: usize| {
        let number = |rates: &[f64]| rates.get(path).map_or_else(|| "–".into(), |rate| scale.number(*rate));
        vec![number(&limit.rates_bps), number(&limit.capacities_bps)]
    };
    let lines = |limit| {
        let names = comparison.scenario.paths.iter().enumerate();
        names.map(move |(path, name)| (path, name, limit))
    };
    let rows = limits.iter().flat_map(lines).map(|(path, name, limit): (usize, &String, &Limit)| {
        (format!("{} · {name}", limit_name(&limit.kind)), line(limit, path))
    });
    Grid {
        rows: rows.collect(),
        heads: vec![("rate in the optimum", scale.unit), ("capacity assumed", scale.unit)],
    }
}

/// `1–30`, `1–3, 7`.
fn ranges(seeds: &[u64]) -> String {
    let mut runs: Vec<(u64, u64)> = Vec::new();
    for &seed in seeds {
        match runs.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(seed) => *last = seed,
            _ => runs.push((seed, seed)),
        }
    }
    let text = |(first, last): (u64, u64)| {
        if first == last { format!("{first}") } else { format!("{first}–{last}") }
    };
    runs.into_iter().map(text).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::ranges;

    #[test]
    fn consecutive_seeds_are_a_range() {
        assert_eq!(ranges(&[1, 2, 3, 7, 9, 10]), "1–3, 7, 9–10");
        assert_eq!(ranges(&[u64::MAX, 0]), "18446744073709551615, 0");
        assert_eq!(ranges(&[]), "");
    }
}
