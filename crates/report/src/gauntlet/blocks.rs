//! What is shown of a family, as text: the same for the terminal, for pages and for HTML.

use super::{Gauntlet, Metric, Quantiles, Row, Start};
use crate::text::seeds;

/// Marks a contender that takes too much of links, and one that harms others.
const TOO_MUCH: &str = "†";
const HARMS: &str = "‡";

/// A family's numbers.
pub(super) struct Block {
    pub(super) family: String,
    pub(super) what: String,
    /// Scenarios of it.
    pub(super) draws: usize,
    /// Heads of its columns.
    pub(super) columns: Vec<&'static str>,
    pub(super) lines: Vec<Line>,
}

/// A contender's.
pub(super) struct Line {
    pub(super) label: String,
    pub(super) start: &'static str,
    /// Median with half of its interval, worst tenth, worst: by column.
    pub(super) cells: Vec<[String; 3]>,
}

/// One for each family that has draws.
pub(super) fn blocks(gauntlet: &Gauntlet) -> Vec<Block> {
    let block = |family: &super::FamilyRow| Block {
        family: family.name.clone(),
        what: family.what.clone(),
        draws: gauntlet.draws.iter().filter(|draw| draw.family == family.name).count(),
        columns: family.judged_by.iter().copied().map(head).collect(),
        lines: gauntlet.contenders.iter().map(|row| line(row, &family.name, &family.judged_by)).collect(),
    };
    gauntlet.families.iter().map(block).filter(|block| block.draws > 0).collect()
}

fn line(row: &Row, family: &str, metrics: &[Metric]) -> Line {
    let of = |metric: &Metric| {
        let found = row.families.get(family).and_then(|metrics| metrics.get(metric));
        found.map_or_else(|| ["–".to_owned(), String::new(), String::new()], |found| cell(*metric, found))
    };
    Line {
        label: label(row),
        start: if row.is_single { "" } else { row.start.name() },
        cells: metrics.iter().map(of).collect(),
    }
}

fn head(metric: Metric) -> &'static str {
    match metric {
        Metric::Limit => "limit %",
        Metric::Link => "link limit %",
        Metric::Single => "× best path",
        Metric::Time => "time",
        Metric::Goodput => "× NewReno",
        Metric::Kept => "kept",
        Metric::Share | Metric::QuietShare => "share",
        Metric::Jain => "Jain",
    }
}

fn cell(metric: Metric, found: &Quantiles) -> [String; 3] {
    let (factor, digits) = match metric {
        Metric::Limit | Metric::Link => (100.0, 0),
        _ => (1.0, 2),
    };
    let text = |value: f64| number(factor * value, digits);
    let half = factor * (found.median.hi - found.median.lo) / 2.0;
    // A single draw is its own interval.
    let half = if found.n > 1 { format!("±{}", number(half, digits)) } else { String::new() };
    [format!("{}{half}", text(found.median.mean)), text(found.p10.mean), text(found.worst)]
}

/// With so many decimals, fewer where there are many digits before the point.
fn number(value: f64, digits: usize) -> String {
    let digits = match value.abs() {
        v if v >= 100.0 => 0,
        v if v >= 10.0 => digits.min(1),
        _ => digits,
    };
    format!("{value:.digits$}")
}

/// With its marks.
fn label(row: &Row) -> String {
    let marks = [(row.takes_too_much, TOO_MUCH), (row.harms, HARMS)];
    let marks: String = marks.iter().filter(|(has, _)| *has).map(|(_, mark)| *mark).collect();
    format!("{}{marks}", row.label)
}

/// What happened beside single paths and TCPs: contender, start and five counts `n of m`.
pub(super) fn beside(gauntlet: &Gauntlet) -> Vec<(String, &'static str, [String; 4])> {
    let line = |row: &Row| {
        let of =
            |count: usize, all: usize| if all == 0 { "–".to_owned() } else { format!("{count} of {all}") };
        let found = row.beside;
        let start = if row.is_single { "" } else { row.start.name() };
        let counts = [
            of(found.worse_than_single, found.beside_single),
            of(found.kept_below_090, found.beside_tcps),
            of(found.kept_below_080, found.beside_tcps),
            of(found.share_above_120, found.on_quiet_links),
        ];
        (label(row), start, counts)
    };
    gauntlet.contenders.iter().map(line).collect()
}

/// Heads of what [`beside`] yields.
pub(super) const BESIDE: [&str; 4] = ["> 5 % worse", "kept < 0.9", "kept < 0.8", "share > 1.2"];

pub(super) fn title(gauntlet: &Gauntlet) -> String {
    let families = match gauntlet.families.len() {
        1 => "one family".to_owned(),
        n => format!("{n} families"),
    };
    let partial = if gauntlet.partial { ", INCOMPLETE" } else { "" };
    let draws = if gauntlet.draws_of_each == 1 { "draw" } else { "draws" };
    let from = match gauntlet.first_draw {
        1 => String::new(),
        first => format!(" from number {first} on"),
    };
    format!(
        "{} {draws} each of {families}, range {}{from}, {} engine, {} each{partial}",
        gauntlet.draws_of_each,
        gauntlet.range,
        gauntlet.engine,
        seeds(gauntlet.seeds)
    )
}

/// How to read it, and what is missing.
pub(super) fn notes(gauntlet: &Gauntlet) -> Vec<String> {
    let mut notes = vec![
        "Each cell: median ± half of its 95 % interval over draws, what nine tenths of the draws reach (of \
         time and share: do not exceed), and the worst draw."
            .to_owned(),
        "Limit: joules per bit of the best that TCP-friendly rates allow over those of the run; messages and \
         streams: per offered bit, in time. Link limit: the same of all that the links carry, less what \
         others \
         are due. × best path: share of the limit over that of the best single path with NewReno, chosen in \
         hindsight in each draw. Time: of a file, or the 95th percentile of delays, over that of the fastest \
         single path; × NewReno: goodput over that of the fastest."
            .to_owned(),
        format!(
            "Kept: goodput of the competitors over what they have beside a NewReno, the least of any link. \
             Share: goodput of a connection over that of one TCP, the most of any link. {TOO_MUCH} a \
             share above \
             1.2 of a link without random loss in more than a tenth of the draws; {HARMS} kept below 0.9 in \
             more than a twentieth."
        ),
    ];
    let starts = |start: Start| gauntlet.contenders.iter().any(|row| row.start == start);
    if !starts(Start::Warm) {
        notes.push(
            "All start cold: none of the contenders reads what was learnt on an earlier visit.".to_owned(),
        );
    }
    if let Some(seal) = &gauntlet.seal {
        notes.push(format!(
            "Sealed draws, run on {} at commit {}; sealed draws had been run {} times before, {} of \
            them at this \
             commit. Line {} of the log.",
            seal.date, seal.commit, seal.earlier, seal.earlier_here, seal.entry
        ));
    }
    let left: Vec<String> =
        gauntlet.left_out.iter().map(|left| format!("{} ({})", left.scenario, left.why)).collect();
    if !left.is_empty() {
        notes.push(format!("Left out: {}.", left.join(", ")));
    }
    notes.extend(missing(gauntlet));
    notes
}

/// Which contenders have not run, by reason.
fn missing(gauntlet: &Gauntlet) -> Vec<String> {
    let mut missing: std::collections::BTreeMap<&str, Vec<String>> = std::collections::BTreeMap::new();
    for row in &gauntlet.contenders {
        for (draw, why) in row.missing() {
            missing.entry(why).or_default().push(format!("{} in {draw}", row.label));
        }
    }
    missing.into_iter().map(|(why, cells)| format!("Missing: {}: {why}.", cells.join(", "))).collect()
}
