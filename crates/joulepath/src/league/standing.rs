//! The order, and all that is known of it.

use std::collections::BTreeMap;

use serde::Serialize;

use super::cases::LeftOut;
use super::measure::{Cell, MOST_TCPS, Metric, Rounded, Summary, rounded, summary};
use super::season::RoundResult;
use crate::compare::command_line;
use crate::failure::{Exit, Failure};

/// What a single path would have done, chosen in hindsight on each scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Baseline {
    /// The path with the fewest joules per bit.
    Thriftiest,
    /// The path with the highest goodput.
    Fastest,
}

/// One line of the table.
pub(super) struct Player {
    pub(super) policy: String,
    pub(super) label: String,
    pub(super) parts: String,
    pub(super) baseline: Option<Baseline>,
}

impl Player {
    pub(super) fn of_baseline(baseline: Baseline) -> Self {
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

/// A scenario that counts.
#[derive(Clone, Debug, Serialize)]
pub(super) struct ScenarioLine {
    pub(super) name: String,
    pub(super) title: String,
    pub(super) source: Option<String>,
    pub(super) sha256: String,
    /// What was changed in it.
    pub(super) set: BTreeMap<String, String>,
    pub(super) tcp_friendly_limit_bits_per_joule: Option<f64>,
    pub(super) link_limit_bits_per_joule: Option<f64>,
    pub(super) thriftiest_path: Option<String>,
    pub(super) fastest_path: Option<String>,
    pub(super) competing_tcps: u32,
}

/// A metric over all scenarios.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct SummaryLine {
    pub(super) median: Rounded,
    pub(super) worst: f64,
    pub(super) worst_in: String,
}

/// A policy on one scenario.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
enum CellLine {
    Measured(BTreeMap<&'static str, Rounded>),
    Missing { missing: String },
}

/// A policy's line.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Line {
    /// 1 is the best; none for baselines, and for what did not run on every scenario.
    pub(super) rank: Option<usize>,
    pub(super) policy: String,
    pub(super) label: String,
    pub(super) parts: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) baseline: Option<Baseline>,
    /// Takes more than [`MOST_TCPS`] TCPs somewhere.
    pub(super) takes_too_much: bool,
    pub(super) of_limit: Option<SummaryLine>,
    pub(super) of_link_limit: Option<SummaryLine>,
    pub(super) goodput: Option<SummaryLine>,
    pub(super) tcp_share: Option<SummaryLine>,
    scenarios: BTreeMap<String, CellLine>,
}

impl Line {
    fn of(player: &Player, column: usize, results: &[RoundResult], seeds: u32) -> Self {
        let cells: Vec<Option<Cell>> =
            results.iter().map(|r| r.cells[column].as_ref().ok().cloned()).collect();
        let over_all = |metric| {
            let Summary { median, worst, worst_at } = summary(&cells, metric, seeds as usize)?;
            let worst_in = results[worst_at].line.name.clone();
            Some(SummaryLine { median: median.into(), worst: rounded(worst), worst_in })
        };
        let tcp_share = over_all(Metric::TcpShare);
        let cell = |result: &RoundResult| match &result.cells[column] {
            Err(why) => CellLine::Missing { missing: why.clone() },
            Ok(cell) => {
                let known =
                    Metric::ALL.into_iter().filter_map(|m| Some((m.name(), cell.estimate(m)?.into())));
                CellLine::Measured(known.collect())
            }
        };
        Line {
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
            scenarios: results.iter().map(|result| (result.line.name.clone(), cell(result))).collect(),
        }
    }

    /// Where it could not run, and why.
    pub(super) fn missing(&self) -> impl Iterator<Item = (&str, &str)> {
        self.scenarios.iter().filter_map(|(name, cell)| match cell {
            CellLine::Missing { missing } => Some((name.as_str(), missing.as_str())),
            CellLine::Measured(_) => None,
        })
    }

    /// Whoever ran everywhere first, by median and then by worst share of the limit.
    fn goes_before(&self, other: &Line) -> std::cmp::Ordering {
        let everywhere = |line: &Line| line.missing().next().is_none();
        let value = |line: &Line, of: fn(&SummaryLine) -> f64| line.of_limit.as_ref().map_or(-1.0, of);
        let by = |of: fn(&SummaryLine) -> f64| value(other, of).total_cmp(&value(self, of));
        everywhere(other)
            .cmp(&everywhere(self))
            .then(by(|summary| summary.median.mean))
            .then(by(|summary| summary.worst))
    }
}

/// The whole league.
#[derive(Serialize)]
pub(super) struct League {
    version: &'static str,
    commit: &'static str,
    command: String,
    pub(super) engine: &'static str,
    pub(super) seeds: u32,
    /// Some runs are missing.
    pub(super) partial: bool,
    pub(super) rule: String,
    pub(super) scenarios: Vec<ScenarioLine>,
    pub(super) left_out: Vec<LeftOut>,
    pub(super) policies: Vec<Line>,
}

impl League {
    pub(super) fn of(
        players: &[Player],
        results: &[RoundResult],
        left_out: Vec<LeftOut>,
        engine: &'static str,
        seeds: u32,
        partial: bool,
    ) -> Self {
        let line = |(column, player)| Line::of(player, column, results, seeds);
        let mut policies: Vec<Line> = players.iter().enumerate().map(line).collect();
        policies.sort_by(Line::goes_before);
        let ranked =
            policies.iter_mut().filter(|line| line.baseline.is_none() && line.missing().next().is_none());
        ranked.zip(1..).for_each(|(line, rank)| line.rank = Some(rank));
        League {
            version: env!("CARGO_PKG_VERSION"),
            commit: env!("JOULEPATH_COMMIT"),
            command: command_line(),
            engine,
            seeds,
            partial,
            rule: format!(
                "by the median share of the TCP-friendly limit, then by the worst; who did not run everywhere stands below; \
                 takes_too_much: more than {MOST_TCPS} TCPs somewhere"
            ),
            scenarios: results.iter().map(|result| result.line.clone()).collect(),
            left_out,
            policies,
        }
    }

    /// One line for each scenario and policy.
    ///
    /// # Errors
    /// If a number fits no JSON.
    pub(super) fn json(&self) -> Result<String, Failure> {
        let failed = |error| Failure::new(Exit::Failed, error);
        let serde_json::Value::Object(whole) = serde_json::to_value(self).map_err(failed)? else {
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
