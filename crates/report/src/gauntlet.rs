//! The gauntlet: policies on families of drawn scenarios, by median, worst tenth and worst draw. The data,
//! and its texts.
//!
//! | module | what |
//! |---|---|
//! | this one | the schema, as it stands in JSON, and how it is made |
//! | `measure` | from runs to numbers: share of the limits, harm, shares of links |
//! | `quantile` | median and worst tenth with their intervals |
//! | `blocks` | which numbers of a family are shown, as text |
//! | `table`, `markdown`, `page` | for the terminal, for pages, as HTML |

mod blocks;
mod markdown;
mod measure;
mod page;
mod quantile;
mod table;

use std::collections::BTreeMap;

use joulepath_model::result::Provenance;
use serde::{Deserialize, Serialize};

use self::quantile::quantiles;
use crate::league::LeftOut;
use crate::machine::ReportError;
pub use markdown::{mark, markdown};
pub use measure::{Measures, Metric, Yardstick};
pub use page::html;
pub use quantile::Quantiles;
pub use table::table;

/// A share of a link without random loss above this is too much, as in the league.
pub const MOST_SHARE: f64 = crate::league::MOST_TCPS;
/// Competitors that keep less than this part of what they have beside a NewReno are harmed.
pub const LEAST_KEPT: f64 = crate::league::LEAST_KEPT;
/// The part that they must keep in any draw.
const LEAST_KEPT_EVER: f64 = 0.80;
/// A policy is worse than a single path if it has less than this of its share of the limit.
const LEAST_OF_SINGLE: f64 = 0.95;
/// Part of the draws in which a policy may harm others, and in which it may take too much, before it is
/// marked.
const MOST_HARMED: f64 = 0.05;
const MOST_TAKEN: f64 = 0.10;

/// What a device knows of its networks when a run begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Start {
    /// Nothing.
    Cold,
    /// Rates, RTTs and losses of an earlier visit.
    Warm,
}

impl Start {
    /// For humans.
    pub const fn name(self) -> &'static str {
        match self {
            Start::Cold => "cold",
            Start::Warm => "warm",
        }
    }
}

/// What one row of the tables is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contender {
    /// As the user would write it.
    pub policy: String,
    /// For humans.
    pub label: String,
    /// What it is made of.
    pub parts: String,
    /// What it knows at first.
    pub start: Start,
    /// Whether it stands for the best single path, chosen in hindsight in each draw.
    pub is_single: bool,
}

impl Contender {
    /// The single path with the greatest share of the limit, chosen in hindsight in each draw.
    pub fn best_path() -> Self {
        Contender {
            policy: "single:PATH".to_owned(),
            label: "best path alone".to_owned(),
            parts: "reno + minrtt, path chosen in hindsight".to_owned(),
            start: Start::Cold,
            is_single: true,
        }
    }
}

/// A family of the gauntlet.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct FamilyRow {
    /// Its name.
    pub name: String,
    /// What its scenarios have in common.
    pub what: String,
    /// What it is judged by, the first above all.
    pub judged_by: Vec<Metric>,
}

/// A drawn scenario.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct DrawRow {
    /// Family, range and number.
    pub name: String,
    /// Name of its family.
    pub family: String,
    /// Title.
    pub title: String,
    /// SHA-256 of the scenario and its trace.
    pub sha256: String,
    /// Data per joule of the TCP-friendly limit, bit/J.
    pub limit_bits_per_joule: f64,
    /// Data per joule of the limit of the links, bit/J; none where nothing bounds it.
    pub link_limit_bits_per_joule: Option<f64>,
    /// The deadline of messages and writes, s.
    pub deadline_s: Option<f64>,
    /// The best path alone, as a policy.
    pub best_path: Option<String>,
    /// Competitors without end on links that policies share with them.
    pub competing_tcps: u32,
}

/// What came out in one draw.
#[derive(Clone, Debug)]
pub struct DrawResult {
    /// The draw.
    pub row: DrawRow,
    /// For each contender what it did, or why it did not run.
    pub cells: Vec<Result<Measures, String>>,
}

/// When sealed draws were run, and what the log of such runs says of earlier ones.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Seal {
    /// Day and time, UTC, as ISO 8601 writes it.
    pub date: String,
    /// That this program was built from.
    pub commit: String,
    /// SHA-256 of the line in the log with which this run began.
    pub entry: String,
    /// How often sealed draws had been run before, at any commit.
    pub earlier: usize,
    /// How often at this commit.
    pub earlier_here: usize,
}

/// What happened beside single paths and TCPs, over all families.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct Beside {
    /// Draws in which it can be set beside the best single path, and in how many it has more than 5 % less of
    /// the limit.
    pub beside_single: usize,
    /// See above.
    pub worse_than_single: usize,
    /// Draws with competitors, and in how many these keep less than 0.9 and less than 0.8.
    pub beside_tcps: usize,
    /// See above.
    pub kept_below_090: usize,
    /// See above.
    pub kept_below_080: usize,
    /// Draws with competitors on links without random loss, and in how many it takes more than 1.2 of what
    /// one of them has on any one link.
    pub on_quiet_links: usize,
    /// See above.
    pub share_above_120: usize,
}

impl Beside {
    /// Whether competitors keep less than 0.9 in more than 5 % of the draws.
    pub fn harms(&self) -> bool {
        self.kept_below_090 as f64 > MOST_HARMED * self.beside_tcps as f64
    }

    /// Whether it takes more than 1.2 TCPs of any one link in more than 10 % of the draws.
    pub fn takes_too_much(&self) -> bool {
        self.share_above_120 as f64 > MOST_TAKEN * self.on_quiet_links as f64
    }
}

/// A contender in one draw.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(untagged)]
enum CellRow {
    Measured(BTreeMap<Metric, f64>),
    Missing { missing: String },
}

/// A contender in all draws.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Row {
    /// As the user would write it.
    pub policy: String,
    /// For humans.
    pub label: String,
    /// What it is made of.
    pub parts: String,
    /// What it knows at first.
    pub start: Start,
    /// Whether it stands for the best single path in hindsight.
    pub is_single: bool,
    /// Whether it takes too much of links: see [`Beside::takes_too_much`].
    pub takes_too_much: bool,
    /// Whether it harms others: see [`Beside::harms`].
    pub harms: bool,
    /// Beside single paths and TCPs.
    pub beside: Beside,
    /// By family and metric.
    pub families: BTreeMap<String, BTreeMap<Metric, Quantiles>>,
    draws: BTreeMap<String, CellRow>,
}

impl Row {
    /// Where it could not run, and why.
    pub fn missing(&self) -> impl Iterator<Item = (&str, &str)> {
        self.draws.iter().filter_map(|(name, cell)| match cell {
            CellRow::Missing { missing } => Some((name.as_str(), missing.as_str())),
            CellRow::Measured(_) => None,
        })
    }
}

/// The whole gauntlet.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Gauntlet {
    /// Which program made it.
    #[serde(flatten)]
    pub provenance: Provenance,
    /// Name of the engine.
    pub engine: String,
    /// `train`, `check` or `sealed`.
    pub range: String,
    /// Number of the first draw of each family within the range.
    pub first_draw: u32,
    /// Draws of each family.
    pub draws_of_each: u32,
    /// Seeds of each contender in each draw.
    pub seeds: u32,
    /// Of sealed draws.
    pub seal: Option<Seal>,
    /// Some runs are missing.
    pub partial: bool,
    /// What the numbers are.
    pub rule: String,
    /// The families.
    pub families: Vec<FamilyRow>,
    /// The scenarios.
    pub draws: Vec<DrawRow>,
    /// Those that say nothing.
    pub left_out: Vec<LeftOut>,
    /// In the order in which they were asked for; last the best single path.
    pub contenders: Vec<Row>,
}

/// What has been run.
#[derive(Clone, Debug)]
pub struct Played<'a> {
    /// Name of the engine.
    pub engine: &'a str,
    /// Name of the range.
    pub range: &'a str,
    /// Number of the first draw of each family.
    pub first_draw: u32,
    /// Draws of each family.
    pub draws: u32,
    /// Seeds of each contender in each draw.
    pub seeds: u32,
    /// Of sealed draws.
    pub seal: Option<Seal>,
    /// The families, in their order.
    pub families: Vec<FamilyRow>,
    /// Who takes part.
    pub contenders: &'a [Contender],
    /// What came out, by draw.
    pub results: &'a [DrawResult],
    /// What does not count.
    pub left_out: Vec<LeftOut>,
    /// Some runs are missing.
    pub partial: bool,
}

impl Gauntlet {
    /// The numbers of all contenders.
    pub fn of(provenance: Provenance, played: Played<'_>) -> Self {
        let contenders = (0..played.contenders.len()).map(|column| row(&played, column)).collect();
        Gauntlet {
            provenance,
            engine: played.engine.to_owned(),
            range: played.range.to_owned(),
            first_draw: played.first_draw,
            draws_of_each: played.draws,
            seeds: played.seeds,
            seal: played.seal,
            partial: played.partial,
            rule: format!(
                "median, p10 (the least that nine tenths of the draws reach; of time and share the most) and \
                 worst over the draws of a family; intervals: 95 %, resampling draws; nothing is weighed \
                 against anything. harms: kept below {LEAST_KEPT} in more than {:.0} % of the draws; \
                 takes_too_much: a share above {MOST_SHARE} of any one link without random loss in more \
                 than {:.0} %",
                100.0 * MOST_HARMED,
                100.0 * MOST_TAKEN
            ),
            families: played.families,
            draws: played.results.iter().map(|result| result.row.clone()).collect(),
            left_out: played.left_out,
            contenders,
        }
    }

    /// As JSON, with one line for each draw and contender.
    ///
    /// # Errors
    /// If a number fits no JSON.
    pub fn json(&self) -> Result<String, ReportError> {
        crate::machine::by_lines(self)
    }

    /// As CSV: a line for each contender in each draw, with every metric; empty where it is not measured.
    ///
    /// # Errors
    /// If the text cannot be made.
    pub fn csv(&self) -> Result<String, ReportError> {
        let mut text = csv::Writer::from_writer(vec![]);
        let names = Metric::ALL.map(Metric::name);
        text.write_record(["range", "family", "draw", "policy", "start"].iter().chain(&names))?;
        for row in &self.contenders {
            for draw in &self.draws {
                let values = Metric::ALL.map(|metric| match row.draws.get(&draw.name) {
                    Some(CellRow::Measured(values)) => values.get(&metric).map(f64::to_string),
                    _ => None,
                });
                let head = [&self.range, &draw.family, &draw.name, &row.policy].map(String::as_str);
                let start = [row.start.name()];
                let values = values.iter().map(|value| value.as_deref().unwrap_or_default());
                text.write_record(head.into_iter().chain(start).chain(values))?;
            }
        }
        let bytes = text.into_inner().map_err(|error| csv::Error::from(error.into_error()))?;
        Ok(String::from_utf8(bytes).expect("CSV of texts is a text"))
    }
}

fn row(played: &Played<'_>, column: usize) -> Row {
    let contender = &played.contenders[column];
    let beside = beside(played, column);
    Row {
        policy: contender.policy.clone(),
        label: contender.label.clone(),
        parts: contender.parts.clone(),
        start: contender.start,
        is_single: contender.is_single,
        takes_too_much: beside.takes_too_much(),
        harms: beside.harms(),
        beside,
        families: played.families.iter().map(|f| (f.name.clone(), of_family(played, f, column))).collect(),
        draws: played.results.iter().map(|result| (result.row.name.clone(), cell(result, column))).collect(),
    }
}

fn of_family(played: &Played<'_>, family: &FamilyRow, column: usize) -> BTreeMap<Metric, Quantiles> {
    let of_metric = |metric: Metric| {
        let draws = played.results.iter().filter(|result| result.row.family == family.name);
        let values = draws.filter_map(|result| {
            Some((result.cells[column].as_ref().ok()?.get(metric)?, result.row.name.as_str()))
        });
        Some((metric, quantiles(values.collect(), metric.is_low_bad())?))
    };
    Metric::ALL.into_iter().filter_map(of_metric).collect()
}

fn cell(result: &DrawResult, column: usize) -> CellRow {
    match &result.cells[column] {
        Err(why) => CellRow::Missing { missing: why.clone() },
        Ok(found) => CellRow::Measured(found.rounded()),
    }
}

fn beside(played: &Played<'_>, column: usize) -> Beside {
    let all = played.results.iter().filter_map(|result| result.cells[column].as_ref().ok());
    let mut beside = Beside::default();
    for found in all {
        if let Some(single) = found.get(Metric::Single) {
            beside.beside_single += 1;
            beside.worse_than_single += usize::from(single < LEAST_OF_SINGLE);
        }
        if let Some(kept) = found.get(Metric::Kept) {
            beside.beside_tcps += 1;
            beside.kept_below_090 += usize::from(kept < LEAST_KEPT);
            beside.kept_below_080 += usize::from(kept < LEAST_KEPT_EVER);
        }
        if let Some(share) = found.get(Metric::QuietShare) {
            beside.on_quiet_links += 1;
            beside.share_above_120 += usize::from(share > MOST_SHARE);
        }
    }
    beside
}

#[cfg(test)]
mod tests;
