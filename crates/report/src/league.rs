//! All policies on all scenarios in one order: the data, and its texts.
//!
//! | module | what |
//! |---|---|
//! | this one | the schema, as it stands in JSON, and the order |
//! | `measure` | shares of the limit, of the best single path, of a TCP; medians with intervals |
//! | `table` | for the terminal and for README.md |

mod measure;
mod table;

use std::collections::BTreeMap;

use joulepath_model::result::Provenance;
use serde::Serialize;

use self::measure::{Metric, Summary, rounded, summary};
use crate::machine::ReportError;
pub use measure::{Cell, MOST_TCPS, Rounded, Yardstick, best_single};
pub use table::{markdown, table};

/// What a single path would have done, chosen in hindsight on each scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Baseline {
    /// The path with the fewest joules per bit.
    Thriftiest,
    /// The path with the highest goodput.
    Fastest,
}

/// What one row of the table is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Player {
    /// As the user would write it.
    pub policy: String,
    /// For humans.
    pub label: String,
    /// What it is made of.
    pub parts: String,
    /// Which single path it stands for, if it is none of the policies.
    pub baseline: Option<Baseline>,
}

impl Player {
    /// A single path that is chosen in hindsight.
    pub fn of_baseline(baseline: Baseline) -> Self {
        let label = match baseline {
            Baseline::Thriftiest => "cheapest path alone",
            Baseline::Fastest => "fastest path alone",
        };
        Player {
            policy: "single:PATH".to_owned(),
            label: label.to_owned(),
            parts: "reno + minrtt, path chosen in hindsight".to_owned(),
            baseline: Some(baseline),
        }
    }
}

/// A scenario that does not count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// Its name.
    pub scenario: String,
    /// The rule that leaves it out.
    pub why: String,
}

/// A scenario that counts.
#[derive(Clone, Debug, Serialize)]
pub struct ScenarioRow {
    /// Without folder and extension.
    pub name: String,
    /// Title.
    pub title: String,
    /// Paper, section, table.
    pub source: Option<String>,
    /// SHA-256 of the scenario and its traces.
    pub sha256: String,
    /// What was changed in it.
    pub set: BTreeMap<String, String>,
    /// The best under rates that TCP would take.
    pub tcp_friendly_limit_bits_per_joule: Option<f64>,
    /// The best under the links' own rates.
    pub link_limit_bits_per_joule: Option<f64>,
    /// The path with the fewest joules per bit, alone, as a policy.
    pub thriftiest_path: Option<String>,
    /// The path with the highest goodput, alone, as a policy.
    pub fastest_path: Option<String>,
    /// Competitors that last as long as the run.
    pub competing_tcps: u32,
}

/// What came out on one scenario.
#[derive(Clone, Debug)]
pub struct ScenarioResult {
    /// The scenario.
    pub row: ScenarioRow,
    /// For each player what it did, or why it did not run.
    pub cells: Vec<Result<Cell, String>>,
}

/// A metric over all scenarios.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SummaryRow {
    /// Median over the scenarios, with its interval over the seeds.
    pub median: Rounded,
    /// The worst of them.
    pub worst: f64,
    /// Name of the scenario where it is the worst.
    pub worst_in: String,
}

/// A policy on one scenario.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
enum CellRow {
    Measured(BTreeMap<&'static str, Rounded>),
    Missing { missing: String },
}

/// A policy over all scenarios.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// 1 is the best; none for baselines, and for what did not run on every scenario.
    pub rank: Option<usize>,
    /// As the user would write it.
    pub policy: String,
    /// For humans.
    pub label: String,
    /// What it is made of.
    pub parts: String,
    /// Which single path it stands for, if it is none of the policies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline: Option<Baseline>,
    /// Takes more than [`MOST_TCPS`] TCPs somewhere.
    pub takes_too_much: bool,
    /// Joules per bit of the TCP-friendly limit over the policy's.
    pub of_limit: Option<SummaryRow>,
    /// The same with the limit of the links.
    pub of_link_limit: Option<SummaryRow>,
    /// Goodput over that of the best single path.
    pub goodput: Option<SummaryRow>,
    /// Goodput of one connection over that of one competing TCP.
    pub tcp_share: Option<SummaryRow>,
    scenarios: BTreeMap<String, CellRow>,
}

impl Row {
    fn of(player: &Player, column: usize, results: &[ScenarioResult], seeds: u32) -> Self {
        let cells: Vec<Option<Cell>> =
            results.iter().map(|r| r.cells[column].as_ref().ok().cloned()).collect();
        let over_all = |metric| {
            let Summary { median, worst, worst_at } = summary(&cells, metric, seeds as usize)?;
            let worst_in = results[worst_at].row.name.clone();
            Some(SummaryRow { median: median.into(), worst: rounded(worst), worst_in })
        };
        let tcp_share = over_all(Metric::TcpShare);
        let cell = |result: &ScenarioResult| match &result.cells[column] {
            Err(why) => CellRow::Missing { missing: why.clone() },
            Ok(cell) => {
                let known =
                    Metric::ALL.into_iter().filter_map(|m| Some((m.name(), cell.estimate(m)?.into())));
                CellRow::Measured(known.collect())
            }
        };
        Row {
            rank: None,
            policy: player.policy.clone(),
            label: player.label.clone(),
            parts: player.parts.clone(),
            baseline: player.baseline,
            takes_too_much: tcp_share.as_ref().is_some_and(|share| share.worst > MOST_TCPS),
            of_limit: over_all(Metric::OfLimit),
            of_link_limit: over_all(Metric::OfLinkLimit),
            goodput: over_all(Metric::Goodput),
            tcp_share,
            scenarios: results.iter().map(|result| (result.row.name.clone(), cell(result))).collect(),
        }
    }

    /// Where it could not run, and why.
    pub fn missing(&self) -> impl Iterator<Item = (&str, &str)> {
        self.scenarios.iter().filter_map(|(name, cell)| match cell {
            CellRow::Missing { missing } => Some((name.as_str(), missing.as_str())),
            CellRow::Measured(_) => None,
        })
    }

    /// What ran everywhere comes first, by median and then by worst share of the limit.
    fn goes_before(&self, other: &Row) -> std::cmp::Ordering {
        let everywhere = |row: &Row| row.missing().next().is_none();
        let value = |row: &Row, of: fn(&SummaryRow) -> f64| row.of_limit.as_ref().map_or(-1.0, of);
        let by = |of: fn(&SummaryRow) -> f64| value(other, of).total_cmp(&value(self, of));
        everywhere(other)
            .cmp(&everywhere(self))
            .then(by(|summary| summary.median.mean))
            .then(by(|summary| summary.worst))
    }
}

/// The whole league.
#[derive(Clone, Debug, Serialize)]
pub struct League {
    /// Which program made it.
    #[serde(flatten)]
    pub provenance: Provenance,
    /// Name of the engine.
    pub engine: String,
    /// Seeds of each policy on each scenario.
    pub seeds: u32,
    /// Some runs are missing.
    pub partial: bool,
    /// What makes the order.
    pub rule: String,
    /// Those that count.
    pub scenarios: Vec<ScenarioRow>,
    /// Those that do not.
    pub left_out: Vec<LeftOut>,
    /// In their order.
    pub policies: Vec<Row>,
}

impl League {
    /// The order of `players`, by what came out on each scenario.
    pub fn of(
        provenance: Provenance,
        engine: &str,
        seeds: u32,
        players: &[Player],
        results: &[ScenarioResult],
        left_out: Vec<LeftOut>,
        partial: bool,
    ) -> Self {
        let row = |(column, player)| Row::of(player, column, results, seeds);
        let mut policies: Vec<Row> = players.iter().enumerate().map(row).collect();
        policies.sort_by(Row::goes_before);
        let ranked =
            policies.iter_mut().filter(|row| row.baseline.is_none() && row.missing().next().is_none());
        ranked.zip(1..).for_each(|(row, rank)| row.rank = Some(rank));
        League {
            provenance,
            engine: engine.to_owned(),
            seeds,
            partial,
            rule: format!(
                "by the median share of the TCP-friendly limit, then by the worst; who did not run \
                 everywhere stands below; takes_too_much: more than {MOST_TCPS} TCPs somewhere"
            ),
            scenarios: results.iter().map(|result| result.row.clone()).collect(),
            left_out,
            policies,
        }
    }

    /// As JSON, with one line for each scenario and policy.
    ///
    /// # Errors
    /// If a number fits no JSON.
    pub fn json(&self) -> Result<String, ReportError> {
        let serde_json::Value::Object(whole) = serde_json::to_value(self)? else {
            unreachable!("a struct is an object")
        };
        let field = |(name, value): (String, serde_json::Value)| match value {
            serde_json::Value::Array(items) if !items.is_empty() => {
                let items: Vec<String> = items.iter().map(|item| format!("  {item}")).collect();
                format!("\"{name}\": [\n{}\n]", items.join(",\n"))
            }
            value => format!("\"{name}\": {value}"),
        };
        Ok(format!("{{\n{}\n}}\n", whole.into_iter().map(field).collect::<Vec<_>>().join(",\n")))
    }
}
