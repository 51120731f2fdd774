//! What `joule` is designed for, next to what random families show.

use super::metric::Metric;
use super::part::Part;
use super::schema::{Benchmark, LEAST_KEPT, OfFamily, Row, Start};
use crate::table::{Cell, Column, Line, Rank, Table};

/// Families with the target of the share of the oracle: median, worst 10 %.
const OF_ORACLE: [(&str, f64, f64); 4] = [
    ("f1-bulk", 0.97, 0.80),
    ("f2-file", 0.99, 0.85),
    ("f3-stream", 0.99, 0.80),
    ("f6-mobility", 0.95, 0.70),
];
/// Family of streams, and the 90th percentile of their 95th percentile of delays relative to
/// MPTCP's.
const STREAMS: &str = "f3-stream";
const MOST_DELAY: f64 = 1.8;
/// Family of shared bottlenecks, the fraction of the scenarios in which competitors keep
/// [`LEAST_KEPT`], and the worst.
const SHARED: &str = "f5-shared";
const UNHARMED: f64 = 0.95;
const WORST_KEPT: f64 = 0.80;
/// Mean relative to the best realisable baseline in every family, and the maximum fraction of
/// scenarios in which a policy is worse.
const LEAST_MEAN: f64 = 1.0;
const MOST_WORSE: f64 = 0.10;

/// What a policy has, as text.
type Found<'a> = Box<dyn Fn(&Row) -> Option<String> + 'a>;

/// One target: name, wanted value, and what a policy has.
struct Target<'a> {
    name: String,
    wanted: String,
    of: Found<'a>,
}

/// One line for each target that the runs measure, one column for each policy; `None` without
/// lines.
pub(super) fn targets(benchmark: &Benchmark) -> Option<Part> {
    let rows: Vec<&Row> = benchmark
        .policies
        .iter()
        .filter(|row| row.entry.baseline.is_none())
        .collect();
    let line = |target: Target<'_>| {
        let found: Vec<Option<String>> = rows.iter().map(|row| (target.of)(row)).collect();
        let is_measured = found.iter().any(Option::is_some);
        let cells = found
            .into_iter()
            .map(|cell| cell.map_or_else(Cell::unknown, Cell::text));
        is_measured.then(|| {
            Line::new(
                [target.name, target.wanted]
                    .map(Cell::text)
                    .into_iter()
                    .chain(cells),
            )
        })
    };
    let lines: Vec<Line> = all(benchmark).into_iter().filter_map(line).collect();
    let column = |(place, row): (usize, &&Row)| {
        let warm = if row.entry.start == Start::Warm {
            ", warm"
        } else {
            ""
        };
        let column = Column::numbers(&format!("{}{warm}", row.entry.policy), "");
        if place == 0 {
            column
        } else {
            column.hidden(Rank(2))
        }
    };
    let names = Column::words("median / worst 10 %, or as named")
        .narrow(Rank(0), 20)
        .indent(2);
    let columns = [names, Column::numbers("target", "")];
    let columns = columns
        .into_iter()
        .chain(rows.iter().enumerate().map(column));
    (!lines.is_empty()).then(|| Part {
        id: "targets".to_owned(),
        title: "Targets".to_owned(),
        what: "what `joule` is designed for".to_owned(),
        table: Table::new(columns).with(lines),
    })
}

fn all(benchmark: &Benchmark) -> Vec<Target<'_>> {
    let of_oracle = OF_ORACLE.into_iter().map(|(family, median, worst)| Target {
        name: format!("{family}: share of the oracle, %"),
        wanted: percents(median, worst),
        of: Box::new(move |row| {
            let OfFamily::Quantiles(found) = row.of_family(family, Metric::Oracle)? else {
                return None;
            };
            Some(percents(found.median.mean, found.worst_10.mean))
        }),
    });
    let delay = Target {
        name: format!("{STREAMS}: p95 delay ÷ MPTCP's, worst 10 %"),
        wanted: format!("≤ {MOST_DELAY}"),
        of: Box::new(|row| {
            let OfFamily::Quantiles(found) = row.of_family(STREAMS, Metric::TimeToMptcp)? else {
                return None;
            };
            Some(format!("{:.2}", found.worst_10.mean))
        }),
    };
    let kept = Target {
        name: format!("{SHARED}: scenarios with kept ≥ {LEAST_KEPT}, %; worst kept"),
        wanted: format!("{:.0}; {WORST_KEPT:.2}", 100.0 * UNHARMED),
        of: Box::new(|row| kept(benchmark, row)),
    };
    let mean = Target {
        name: "÷ best realisable baseline, least mean of a family".to_owned(),
        wanted: format!("> {LEAST_MEAN:.2}"),
        of: Box::new(|row| {
            extreme(
                row.versus
                    .iter()
                    .map(|(name, found)| (-found.mean.mean, name)),
                -1.0,
                2,
            )
        }),
    };
    let worse = Target {
        name: "worse than that baseline by 5 %, most of a family, %".to_owned(),
        wanted: format!("≤ {:.0}", 100.0 * MOST_WORSE),
        of: Box::new(|row| {
            extreme(
                row.versus.iter().map(|(name, found)| (found.worse, name)),
                100.0,
                0,
            )
        }),
    };
    of_oracle.chain([delay, kept, mean, worse]).collect()
}

fn percents(median: f64, worst: f64) -> String {
    format!("{:.0} / {:.0}", 100.0 * median, 100.0 * worst)
}

/// Percentage of the shared scenarios in which competitors keep enough, and the worst.
fn kept(benchmark: &Benchmark, row: &Row) -> Option<String> {
    let scenarios = benchmark
        .scenarios
        .iter()
        .filter(|scenario| scenario.family == SHARED);
    let all: Vec<f64> = scenarios
        .filter_map(|scenario| row.of_scenario(&scenario.name, Metric::Kept))
        .collect();
    let enough = all.iter().filter(|&&kept| kept >= LEAST_KEPT).count() as f64;
    let worst = all.iter().copied().reduce(f64::min)?;
    Some(format!(
        "{:.0}; {worst:.2}",
        100.0 * enough / all.len() as f64
    ))
}

/// The largest of the families' values, times a factor, with the family's name up to the dash.
fn extreme<'a>(
    values: impl Iterator<Item = (f64, &'a String)>,
    factor: f64,
    digits: usize,
) -> Option<String> {
    let (value, name) = values.reduce(|a, b| if b.0 > a.0 { b } else { a })?;
    let family = name.split('-').next().unwrap_or(name);
    Some(format!("{:.digits$} {family}", factor * value))
}
