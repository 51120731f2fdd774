//! The HTML report: one page that needs nothing else.
//!
//! The numbers are written out here, so that the page shows what the terminal shows and is readable without scripts;
//! the scripts sort the table and draw.

pub(crate) mod advice;
mod assets;
mod figures;
pub(crate) mod map;
mod payload;
pub(crate) mod reproduction;

use askama::Template;
use assets::Assets;
use joulepath_model::result::{Comparison, Limit, PathRow};

use crate::machine::ReportError;
use crate::scale::{Quantity, Scale, Value};
use crate::sheet::{Cell, Column, Metric, Sheet, limit_name, notes};

/// The page's scripts, in the order in which they need each other.
const SCRIPTS: [&str; 7] = [
    include_str!("../../assets/js/format.js"),
    include_str!("../../assets/js/theme.js"),
    include_str!("../../assets/js/card.js"),
    include_str!("../../assets/js/table.js"),
    include_str!("../../assets/js/bars.js"),
    include_str!("../../assets/js/series.js"),
    include_str!("../../assets/js/report.js"),
];

/// One self-contained page: overview, charts, time series, limits, provenance. It loads nothing, which its content
/// security policy enforces.
pub fn html(comparison: &Comparison) -> Result<String, ReportError> {
    let sheet = Sheet::of(comparison);
    let (policies, limits) = overview(comparison, &sheet);
    let assets = Assets::new(&[], &SCRIPTS, &payload::payload(comparison, &sheet))?;
    let page = Page {
        comparison,
        policies,
        limits,
        facts: facts(comparison, &sheet),
        notes: notes(comparison),
        seeds: ranges(&comparison.manifest.seeds),
        path_table: path_table(comparison),
        limit_table: limit_table(comparison),
        has_series: comparison.rows.iter().any(|row| row.series.is_some()),
        assets,
        sheet,
    };
    Ok(page.render()?)
}

/// What the template shows. Text is escaped by the template unless it says `safe`.
#[derive(Template)]
#[template(path = "report.html")]
struct Page<'a> {
    comparison: &'a Comparison,
    sheet: Sheet,
    policies: Vec<Line>,
    limits: Vec<Line>,
    facts: Vec<Fact>,
    notes: Vec<String>,
    seeds: String,
    path_table: Grid,
    limit_table: Grid,
    has_series: bool,
    assets: Assets,
}

impl Page<'_> {
    fn seeds_in_words(&self) -> String {
        if self.comparison.seeds == 1 { "1 seed".into() } else { format!("{} seeds", self.comparison.seeds) }
    }
}

/// A line of the overview.
struct Line {
    name: String,
    /// Shown on hovering: a policy's parts, a limit's rates.
    hint: String,
    is_best: bool,
    cells: Vec<Cell>,
}

/// The policies, then the limits.
fn overview(comparison: &Comparison, sheet: &Sheet) -> (Vec<Line>, Vec<Line>) {
    let parts = comparison.rows.iter().map(|row| &row.parts);
    let hints = parts.chain(comparison.limits.iter().map(|limit| &limit.label));
    let line = |(index, (name, hint)): (usize, (&String, &String))| Line {
        name: name.clone(),
        hint: hint.clone(),
        is_best: sheet.best == Some(index),
        cells: sheet.columns.iter().map(|column| column.cells[index].clone()).collect(),
    };
    let mut policies: Vec<_> = sheet.lines.iter().zip(hints).enumerate().map(line).collect();
    let limits = policies.split_off(sheet.policies);
    (policies, limits)
}

/// One tile: the answer before the table.
struct Fact {
    what: &'static str,
    number: String,
    unit: String,
    whose: String,
}

/// A table without sorting.
struct Grid {
    heads: Vec<(&'static str, &'static str)>,
    rows: Vec<(String, Vec<String>)>,
}

fn facts(comparison: &Comparison, sheet: &Sheet) -> Vec<Fact> {
    let Some(best) = sheet.best else { return Vec::new() };
    let (first, winner) = (&sheet.lines[0], &sheet.lines[best]);
    let fact = |what, metric, line: usize, whose: String| {
        let column = sheet.columns.iter().find(|column| column.metric == metric)?;
        let cell = column.cells.get(line)?;
        cell.value?;
        let unit = match metric {
            Metric::Ratio => "×".into(),
            Metric::OfLimit | Metric::OfLinkLimit => "%".into(),
            _ => column.unit.clone(),
        };
        Some(Fact { what, number: with_interval(cell), unit, whose })
    };
    let against = format!("{winner} against {first}");
    let fastest = fastest(comparison).unwrap_or(best);
    [
        fact("most data per joule", Metric::Efficiency, best, winner.clone()),
        if best == 0 { None } else { fact("against the first policy", Metric::Ratio, best, against) },
        fact("of the TCP-friendly limit", Metric::OfLimit, best, winner.clone()),
        fact("of the limit of the links", Metric::OfLinkLimit, best, winner.clone()),
        fact("highest goodput", Metric::Goodput, fastest, sheet.lines[fastest].clone()),
    ]
    .into_iter()
    .flatten()
    .take(4)
    .collect()
}

fn fastest(comparison: &Comparison) -> Option<usize> {
    let goodput = |index: &usize| comparison.rows[*index].goodput_bps.mean;
    (0..comparison.rows.len()).rev().max_by(|a, b| goodput(a).total_cmp(&goodput(b)))
}

fn with_interval(cell: &Cell) -> String {
    cell.half_width.as_ref().map_or_else(|| cell.text.clone(), |half| format!("{} ±{half}", cell.text))
}

/// Every policy's paths, one line each.
fn path_table(comparison: &Comparison) -> Grid {
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
    let rows = comparison
        .rows
        .iter()
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
