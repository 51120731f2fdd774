//! The HTML report: one self-contained page.
//!
//! Numbers and charts are part of the HTML, so that the page agrees with the terminal and is
//! readable without scripts. The script sorts tables, filters, and reads charts.

pub(crate) mod advice;
mod answer;
pub(crate) mod assets;
pub(crate) mod benchmark;
pub(crate) mod bill;
mod chart;
pub(crate) mod figures;
pub(crate) mod map;
mod measure;
pub(crate) mod paper;
mod papers;
mod reason;
pub(crate) mod reproduction;
pub(crate) mod search;
mod series;

use std::cmp::Reverse;

use answer::{Fact, facts};
use askama::Template;
use assets::Assets;
use chart::{Field, Stack};
use joulepath_model::metric::COMPETITORS;
use joulepath_model::result::{Comparison, OverTime, PathRow};
use measure::Measure;

use crate::chart::{Chart, rows_html};
use crate::machine::ReportError;
use crate::scale::{Quantity, Scale, Value};
use crate::sheet::{Sheet, SheetColumn, costs_energy, efficiency, notes, reference_name};
use crate::table::{Cell, Column, Line, Table};

/// One self-contained page: answer, charts, overview, time series, limits, provenance. It loads
/// nothing; its content security policy enforces that.
pub fn html(comparison: &Comparison) -> Result<String, ReportError> {
    html_with(comparison, None)
}

/// A page where readers can change a comparison and run it themselves.
#[derive(Clone, Copy, Debug)]
pub struct Playground<'a> {
    /// Its address: `https:`, `http:`, `file:`, or relative to the page.
    pub address: &'a str,
    /// The comparison as JSON, as its link holds it.
    pub question: &'a str,
}

/// The script of the link to the playground.
const TRY: &str = concat!(
    include_str!("../../assets/js/fragment.js"),
    include_str!("../../assets/js/try.js")
);

/// Like [`html`], with a link to the playground that opens this comparison there.
///
/// # Errors
/// Those of [`html`].
pub fn html_with(
    comparison: &Comparison,
    playground: Option<Playground<'_>>,
) -> Result<String, ReportError> {
    let sheet = Sheet::of(comparison);
    let order = order(comparison);
    let field = Field {
        comparison,
        order: &order,
        best: sheet.best,
    };
    let page = Page {
        comparison,
        overview: overview(comparison, &sheet, &order)?,
        facts: facts(comparison, &sheet, &order),
        reason: reason::reason(comparison, &order),
        charts: charts(&field),
        stacks: stacks(&field),
        over_time: comparison
            .rows
            .iter()
            .find_map(|row| row.over_time.as_ref()),
        notes: notes(comparison),
        seeds: ranges(&comparison.manifest.seeds),
        path_table: path_table(comparison, &order).labelled_html("Paths of every policy")?,
        limit_table: limit_table(comparison).labelled_html("Rates behind the reference values")?,
        series: series::series(comparison, &order),
        playground,
        assets: Assets::new(&[], &())?,
    };
    Ok(page.render()?)
}

/// Data of the template, which escapes text unless it says `safe`.
#[derive(Template)]
#[template(path = "report.html")]
struct Page<'a> {
    comparison: &'a Comparison,
    overview: String,
    facts: Vec<Fact>,
    /// Why the best policy is the best.
    reason: Option<String>,
    charts: Vec<Chart>,
    stacks: Vec<Stack>,
    /// Series of any policy: all have the same bins.
    over_time: Option<&'a OverTime>,
    series: String,
    notes: Vec<String>,
    seeds: String,
    path_table: String,
    limit_table: String,
    playground: Option<Playground<'a>>,
    assets: Assets,
}

impl Page<'_> {
    fn seeds_in_words(&self) -> String {
        if self.comparison.seeds == 1 {
            "1 seed".into()
        } else {
            format!("{} seeds", self.comparison.seeds)
        }
    }

    /// Description of the lines and bands over time.
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
                format!(
                    "{mean}; line: median of {runs} seeds; band: from the lowest to the highest"
                )
            }
        }
    }
}

/// Rows by efficiency, best first; rows without one last.
fn order(comparison: &Comparison) -> Vec<usize> {
    let by = |row: &usize| {
        let mean = efficiency(&comparison.rows[*row]);
        if mean.is_finite() {
            mean
        } else {
            f64::NEG_INFINITY
        }
    };
    let mut order: Vec<usize> = (0..comparison.rows.len()).collect();
    order.sort_by(|a, b| by(b).total_cmp(&by(a)));
    order
}

/// Charts of energy, then of the costs for the user and, if measured, for others. Each comes with
/// its difference from the first policy.
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
        pairs.push((Measure::TcpShare, Measure::Metric(&COMPETITORS)));
    } else if rows.iter().any(|row| row.has(&COMPETITORS)) {
        pairs.push((Measure::Metric(&COMPETITORS), Measure::Metric(&COMPETITORS)));
    }
    pairs
        .into_iter()
        .flat_map(|(of_all, to_first)| [Some(field.bars(of_all)), field.differences(to_first)])
        .flatten()
        .collect()
}

/// Charts of data by path and of energy by cause, as far as there is any.
fn stacks(field: &Field<'_>) -> Vec<Stack> {
    let rows = &field.comparison.rows;
    let shares = (!rows.is_empty()).then(|| field.shares());
    let causes = rows.iter().any(costs_energy).then(|| field.causes());
    shares.into_iter().chain(causes).collect()
}

/// Columns by importance, because narrow screens need scrolling for the last ones.
fn by_importance(sheet: &Sheet) -> Vec<&SheetColumn> {
    let rank = |column: &&SheetColumn| Reverse(column.column.ranks());
    let mut columns: Vec<&SheetColumn> = sheet.columns.iter().collect();
    columns.sort_by_key(rank);
    columns
}

/// Table of the policies by efficiency, then the limits.
fn overview(
    comparison: &Comparison,
    sheet: &Sheet,
    order: &[usize],
) -> Result<String, ReportError> {
    let rows = &comparison.rows;
    let adorn = |line: usize, of: Line| match rows.get(line) {
        None => of.hint(&comparison.references[line - rows.len()].label),
        Some(row) => {
            let of = of.hint(&row.parts);
            let of = if sheet.best == Some(line) {
                of.badge("best", false)
            } else {
                of
            };
            // Ratios refer to the first policy.
            if line == 0 && rows.len() > 1 {
                of.badge("first", true)
            } else {
                of
            }
        }
    };
    let order = order.iter().copied().chain(rows.len()..sheet.lines.len());
    let table = sheet.table(&by_importance(sheet), adorn).ordered(order);
    if rows.len() > 1 {
        table.sorted_html("overview", 1)
    } else {
        table.html("overview")
    }
}

/// Table of every policy's paths, a line for each path.
fn path_table(comparison: &Comparison, order: &[usize]) -> Table {
    type Get = fn(&PathRow) -> Option<f64>;
    let columns: [(&str, Quantity, Get); 6] = [
        ("share of data", Quantity::Share, |path| Some(path.share)),
        ("goodput", Quantity::Rate, |path| Some(path.goodput_bps)),
        ("energy", Quantity::Energy, |path| Some(path.energy_j)),
        ("mean RTT", Quantity::Time, |path| path.mean_rtt_s),
        ("mean cwnd", Quantity::Plain, |path| Some(path.mean_cwnd)),
        ("timeouts per run", Quantity::Plain, |path| {
            Some(path.timeouts)
        }),
    ];
    let paths = || comparison.rows.iter().flat_map(|row| &row.paths);
    let scales = columns.map(|(_, quantity, get)| {
        Scale::of(
            quantity,
            &paths()
                .filter_map(get)
                .map(Value::exact)
                .collect::<Vec<_>>(),
        )
    });
    let unit = |name: &str, scale: &Scale| {
        if name == "mean cwnd" {
            "packets"
        } else {
            scale.unit
        }
    };
    let cells = |path: &PathRow| {
        columns.map(|(.., get)| get(path).map_or_else(Cell::unknown, Cell::number))
    };
    let lines = order
        .iter()
        .map(|&row| &comparison.rows[row])
        .flat_map(|row| {
            let name = move |path: &PathRow| Cell::text(format!("{} · {}", row.label, path.name));
            row.paths
                .iter()
                .map(move |path| Line::new(std::iter::once(name(path)).chain(cells(path))))
        });
    let heads = columns
        .iter()
        .zip(&scales)
        .map(|(&(name, ..), scale)| scale.column(name, unit(name, scale)));
    Table::new(std::iter::once(Column::words("policy · path")).chain(heads)).with(lines)
}

/// Table of every limit's rates with the assumed capacities, a line for each path.
fn limit_table(comparison: &Comparison) -> Table {
    let limits = &comparison.references;
    let rates = limits
        .iter()
        .flat_map(|limit| limit.rates_bps.iter().chain(&limit.capacities_bps));
    let scale = Scale::of(
        Quantity::Rate,
        &rates.copied().map(Value::exact).collect::<Vec<_>>(),
    );
    let cell = |rates: &[f64], path: usize| {
        rates
            .get(path)
            .map_or_else(Cell::unknown, |&rate| Cell::number(rate))
    };
    let lines = limits.iter().flat_map(|limit| {
        comparison
            .scenario
            .paths
            .iter()
            .enumerate()
            .map(move |(path, name)| {
                let name = Cell::text(format!("{} · {name}", reference_name(&limit.kind)));
                Line::new([
                    name,
                    cell(&limit.rates_bps, path),
                    cell(&limit.capacities_bps, path),
                ])
            })
    });
    Table::new([
        Column::words("reference · path"),
        scale.column("rate in the optimum", scale.unit),
        scale.column("capacity assumed", scale.unit),
    ])
    .with(lines)
}

/// Text such as `1–30` or `1–3, 7`.
fn ranges(seeds: &[u64]) -> String {
    let mut runs: Vec<(u64, u64)> = Vec::new();
    for &seed in seeds {
        match runs.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(seed) => *last = seed,
            _ => runs.push((seed, seed)),
        }
    }
    let text = |(first, last): (u64, u64)| {
        if first == last {
            format!("{first}")
        } else {
            format!("{first}–{last}")
        }
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
