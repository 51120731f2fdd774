//! All policies on families of scenarios, at equal work, in tiers: the data, and its texts.
//!
//! | module | what |
//! |---|---|
//! | this one | the schema, as it stands in JSON, and the order |
//! | `yardstick` | the limit, the work and the shared bottlenecks of a scenario |
//! | `measure` | from runs to ratios: share of the limit, work, time, TCPs |
//! | `sample` | means over scenarios and seeds, and their resamples |
//! | `tiers` | who can be told apart |
//! | `table`, `markdown`, `front`, `page` | for the terminal, for pages, as a picture, as HTML |

mod front;
mod markdown;
mod measure;
mod page;
mod sample;
mod table;
mod tiers;
mod yardstick;

use std::borrow::Cow;
use std::collections::BTreeMap;

use joulepath_model::result::Provenance;
use serde::{Deserialize, Serialize};

use self::measure::rounded;
use self::sample::{Means, Samples, mean_over};
use crate::machine::ReportError;
pub use front::front;
pub use markdown::{full_markdown, short_markdown};
pub use measure::{Cell, LEAST, LEAST_KEPT, MOST_TCPS, Metric, Rounded, Singles};
pub(crate) use measure::{kept, link_share};
pub use page::html;
pub use table::table;
pub use yardstick::{SharedBottleneck, Task, Yardstick};

/// What a single path would have done, chosen in hindsight on each scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Baseline {
    /// The path with the fewest joules per bit.
    Thriftiest,
    /// The path that does the work the soonest.
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
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct LeftOut {
    /// Its name.
    pub scenario: String,
    /// The rule that leaves it out.
    pub why: String,
}

/// A family of scenarios.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct FamilyRow {
    /// Its name.
    pub name: String,
    /// What its scenarios have in common.
    pub what: String,
}

/// A scenario that counts.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct ScenarioRow {
    /// Without folder and extension.
    pub name: String,
    /// Name of its family.
    pub family: String,
    /// Title.
    pub title: String,
    /// Paper, section, table.
    pub source: Option<String>,
    /// SHA-256 of the scenario and its traces.
    pub sha256: String,
    /// What was changed in it.
    pub set: BTreeMap<String, String>,
    /// Data per joule of the limit that policies are held against, bit/J.
    pub limit_bits_per_joule: f64,
    /// Its kind: `tcp-friendly`, or `link` where there is no other.
    pub limit_kind: String,
    /// The work: `endless`, `files`, `requests`, `deadline`.
    pub work: Cow<'static, str>,
    /// The deadline of messages and writes, s.
    pub deadline_s: Option<f64>,
    /// The path with the fewest joules per bit, alone, as a policy.
    pub thriftiest_path: Option<String>,
    /// The path that does the work the soonest, alone, as a policy.
    pub fastest_path: Option<String>,
    /// Competitors without end on the bottlenecks that policies share with them.
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
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct SummaryRow {
    /// Mean over the families, with its interval over scenarios and seeds.
    pub mean: Rounded,
    /// The worst scenario's.
    pub worst: f64,
    /// Name of that scenario.
    pub worst_in: String,
}

/// A policy on one scenario.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(untagged)]
enum CellRow {
    Measured(BTreeMap<Cow<'static, str>, Rounded>),
    Missing { missing: String },
}

/// A policy over all scenarios.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Row {
    /// 1 is the best; none for baselines, and for what did not run on every scenario.
    pub tier: Option<usize>,
    /// As the user would write it.
    pub policy: String,
    /// For humans.
    pub label: String,
    /// What it is made of.
    pub parts: String,
    /// Policies that did the same, to the last bit, in every run, as the user would write them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<String>,
    /// Which single path it stands for, if it is none of the policies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline: Option<Baseline>,
    /// Takes more than [`MOST_TCPS`] TCPs in the mean over the scenarios with shared bottlenecks.
    pub takes_too_much: bool,
    /// Competitors keep less than [`LEAST_KEPT`] in the mean over these scenarios.
    pub harms: bool,
    /// Share of the limit times work done in time: what the tiers are made of.
    pub score: Option<SummaryRow>,
    /// Data per joule over that of the limit.
    pub of_limit: Option<SummaryRow>,
    /// The same over the scenarios where goodput depends on the policy: the height of the front.
    pub of_limit_free: Option<SummaryRow>,
    /// Work done in time over work offered.
    pub work: Option<SummaryRow>,
    /// Goodput over that of the fastest single path, where the work depends on it.
    pub goodput: Option<SummaryRow>,
    /// Completion time, or 95th percentile of the delay, over that of the fastest single path.
    pub time: Option<SummaryRow>,
    /// Most of the goodputs of one connection over that of one TCP, at the shared bottlenecks.
    pub tcp_share: Option<SummaryRow>,
    /// Least of the goodputs of competitors over what they have beside a NewReno, at the shared bottlenecks.
    pub kept: Option<SummaryRow>,
    /// The means within each family.
    families: BTreeMap<String, BTreeMap<Cow<'static, str>, f64>>,
    scenarios: BTreeMap<String, CellRow>,
}

impl Row {
    /// Where it could not run, and why.
    pub fn missing(&self) -> impl Iterator<Item = (&str, &str)> {
        self.scenarios.iter().filter_map(|(name, cell)| match cell {
            CellRow::Missing { missing } => Some((name.as_str(), missing.as_str())),
            CellRow::Measured(_) => None,
        })
    }

    /// Mean of a metric within a family; none if it is not measured there.
    pub fn in_family(&self, family: &str, metric: Metric) -> Option<f64> {
        self.families.get(family)?.get(metric.name()).copied()
    }

    fn ran_everywhere(&self) -> bool {
        self.missing().next().is_none()
    }
}

/// The whole league.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct League {
    /// Which program made it.
    #[serde(flatten)]
    pub provenance: Provenance,
    /// Name of the engine.
    pub engine: String,
    /// Seeds of each policy on each scenario.
    pub seeds: u32,
    /// Seed of the draws of scenarios.
    pub draw_seed: u64,
    /// Some runs are missing.
    pub partial: bool,
    /// What makes the tiers.
    pub rule: String,
    /// The families.
    pub families: Vec<FamilyRow>,
    /// The scenarios that count.
    pub scenarios: Vec<ScenarioRow>,
    /// Those that do not.
    pub left_out: Vec<LeftOut>,
    /// In their order.
    pub policies: Vec<Row>,
}

/// What has been run.
#[derive(Clone, Debug)]
pub struct Played<'a> {
    /// Name of the engine.
    pub engine: &'a str,
    /// Seeds of each policy on each scenario.
    pub seeds: u32,
    /// Seed of the draws of scenarios.
    pub draw_seed: u64,
    /// The families, in their order.
    pub families: Vec<FamilyRow>,
    /// Who takes part.
    pub players: &'a [Player],
    /// What came out, by scenario.
    pub results: &'a [ScenarioResult],
    /// What does not count.
    pub left_out: Vec<LeftOut>,
    /// Some runs are missing.
    pub partial: bool,
}

impl League {
    /// The tiers of all players, by what came out on each scenario.
    pub fn of(provenance: Provenance, played: Played<'_>) -> Self {
        let policies = Judge::of(&played).rows();
        League {
            provenance,
            engine: played.engine.to_owned(),
            seeds: played.seeds,
            draw_seed: played.draw_seed,
            partial: played.partial,
            rule: format!(
                "score: share of the energy limit times work done in time, each at least {LEAST}; geometric \
                 means over the scenarios of a family and over the families; intervals: 95 %, resampling \
                 scenarios within families and seeds within scenarios; a policy begins a new tier if a \
                 member of the tier above is better with a familywise error of 5 % (paired bootstrap, \
                 single-step max-T); who did not run everywhere has no tier; takes_too_much: more than \
                 {MOST_TCPS} TCPs of any one link; harms: competitors keep less than {LEAST_KEPT} of \
                 what they \
                 have beside a NewReno"
            ),
            families: played.families,
            scenarios: played.results.iter().map(|result| result.row.clone()).collect(),
            left_out: played.left_out,
            policies,
        }
    }

    /// As JSON, with one line for each scenario and policy.
    ///
    /// # Errors
    /// If a number fits no JSON.
    pub fn json(&self) -> Result<String, ReportError> {
        crate::machine::by_lines(self)
    }
}

/// Makes the rows.
struct Judge<'a> {
    played: &'a Played<'a>,
    /// Indices of scenarios by family.
    strata: Vec<Vec<usize>>,
    samples: Samples,
}

/// A row and the resamples of its score.
struct Judged {
    row: Row,
    score: Option<Means>,
}

impl<'a> Judge<'a> {
    fn of(played: &'a Played<'a>) -> Self {
        let of_family = |family: &FamilyRow| -> Vec<usize> {
            let scenarios = played.results.iter().enumerate();
            scenarios.filter(|(_, result)| result.row.family == family.name).map(|(index, _)| index).collect()
        };
        let strata: Vec<Vec<usize>> = played.families.iter().map(of_family).collect();
        let filled: Vec<Vec<usize>> =
            strata.iter().filter(|scenarios| !scenarios.is_empty()).cloned().collect();
        Judge { played, samples: Samples::of(&filled, played.seeds as usize), strata }
    }

    fn cells(&self, column: usize) -> Vec<Option<&'a Cell>> {
        self.played.results.iter().map(|result| result.cells[column].as_ref().ok()).collect()
    }

    /// The best first; what did not run everywhere stands below.
    fn rows(&self) -> Vec<Row> {
        let mut judged: Vec<Judged> = self.distinct().into_iter().map(|found| self.judged(found)).collect();
        let mean = |judged: &Judged| judged.score.as_ref().map_or(f64::NEG_INFINITY, |score| score.all);
        judged.sort_by(|a, b| {
            let everywhere = b.row.ran_everywhere().cmp(&a.row.ran_everywhere());
            everywhere.then(mean(b).total_cmp(&mean(a)))
        });
        let ranked = |judged: &Judged| judged.row.baseline.is_none() && judged.row.ran_everywhere();
        let of_ranked: Vec<&Means> =
            judged.iter().filter(|j| ranked(j)).filter_map(|j| j.score.as_ref()).collect();
        let scores: Vec<f64> = of_ranked.iter().map(|means| means.all).collect();
        let sample = |i: usize| of_ranked.iter().map(|means| means.drawn[i]).collect::<Option<Vec<f64>>>();
        let drawn: Vec<Vec<f64>> = (0..self.samples.drawn.len()).filter_map(sample).collect();
        let mut tiers = tiers::tiers(&scores, &drawn, self.samples.sizes).into_iter();
        for one in &mut judged {
            if ranked(one) && one.score.is_some() {
                one.row.tier = tiers.next();
            }
        }
        judged.into_iter().map(|judged| judged.row).collect()
    }

    /// Columns of different outcomes, each with the columns that have the same one. Baselines stand for
    /// themselves.
    fn distinct(&self) -> Vec<(usize, Vec<usize>)> {
        let mut found: Vec<(usize, Vec<usize>)> = vec![];
        for column in 0..self.played.players.len() {
            let is_policy = |column: usize| self.played.players[column].baseline.is_none();
            let same = |first: usize| is_policy(column) && is_policy(first) && self.are_same(first, column);
            match found.iter_mut().find(|(first, _)| same(*first)) {
                Some((_, others)) => others.push(column),
                None => found.push((column, vec![])),
            }
        }
        found
    }

    fn are_same(&self, a: usize, b: usize) -> bool {
        let mut pairs = self.cells(a).into_iter().zip(self.cells(b));
        pairs.all(|pair| matches!(pair, (Some(a), Some(b)) if a == b))
    }

    fn judged(&self, (column, others): (usize, Vec<usize>)) -> Judged {
        let (player, cells) = (&self.played.players[column], self.cells(column));
        let score = self.samples.means(&cells, Metric::Score);
        let over_all = |metric: Metric| {
            let means = self.samples.means(&cells, metric)?;
            let (worst, at) = self.worst(&cells, metric)?;
            let worst_in = self.played.results[at].row.name.clone();
            Some(SummaryRow { mean: means.estimate().into(), worst: rounded(worst), worst_in })
        };
        let (tcp_share, kept) = (over_all(Metric::TcpShare), over_all(Metric::Kept));
        let row = Row {
            tier: None,
            policy: player.policy.clone(),
            label: player.label.clone(),
            parts: player.parts.clone(),
            also: others.iter().map(|&other| self.played.players[other].policy.clone()).collect(),
            baseline: player.baseline,
            takes_too_much: tcp_share.as_ref().is_some_and(|share| share.mean.mean > MOST_TCPS),
            harms: kept.as_ref().is_some_and(|kept| kept.mean.mean < LEAST_KEPT),
            score: over_all(Metric::Score),
            of_limit: over_all(Metric::OfLimit),
            of_limit_free: over_all(Metric::OfLimitFree),
            work: over_all(Metric::Work),
            goodput: over_all(Metric::Goodput),
            time: over_all(Metric::Time),
            tcp_share,
            kept,
            families: self.by_family(&cells),
            scenarios: self.by_scenario(column),
        };
        Judged { row, score }
    }

    /// The worst ratio over all seeds of a scenario, and where.
    fn worst(&self, cells: &[Option<&Cell>], metric: Metric) -> Option<(f64, usize)> {
        let every: Vec<usize> = (0..self.played.seeds as usize).collect();
        let all =
            cells.iter().enumerate().filter_map(|(i, cell)| Some((cell.as_ref()?.ratio(metric, &every)?, i)));
        all.reduce(|a, b| if metric.is_worse(b.0, a.0) { b } else { a })
    }

    fn by_family(&self, cells: &[Option<&Cell>]) -> BTreeMap<String, BTreeMap<Cow<'static, str>, f64>> {
        let seeds = self.played.seeds as usize;
        let of_family = |(family, scenarios): (&FamilyRow, &Vec<usize>)| {
            let mean = |metric: Metric| {
                Some((metric.name().into(), rounded(mean_over(scenarios, seeds, cells, metric)?)))
            };
            (family.name.clone(), Metric::ALL.into_iter().filter_map(mean).collect())
        };
        self.played.families.iter().zip(&self.strata).map(of_family).collect()
    }

    fn by_scenario(&self, column: usize) -> BTreeMap<String, CellRow> {
        let cell = |result: &ScenarioResult| match &result.cells[column] {
            Err(why) => CellRow::Missing { missing: why.clone() },
            Ok(cell) => {
                let known =
                    Metric::ALL.into_iter().filter_map(|m| Some((m.name().into(), cell.estimate(m)?.into())));
                CellRow::Measured(known.collect())
            }
        };
        self.played.results.iter().map(|result| (result.row.name.clone(), cell(result))).collect()
    }
}

#[cfg(test)]
mod tests;
