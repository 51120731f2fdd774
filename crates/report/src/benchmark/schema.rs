//! Results of a benchmark, in the shape of its JSON.

use std::borrow::Cow;
use std::collections::BTreeMap;

use joulepath_model::result::{Provenance, RunResult};
use serde::{Deserialize, Serialize};

use super::measure::{Cell, Rounded, Value, rounded, share_of_limit};
use super::metric::{Kind, Metric};
use super::quantile::Quantiles;
use super::yardstick::Yardstick;
use crate::machine::ReportError;

/// TCP shares of a shared link above which a policy is marked: a fifth above goal 2 of RFC 6356.
pub const MOST_SHARE: f64 = 1.2;
/// Fraction of their goodput next to a NewReno flow below which competitors count as harmed.
pub const LEAST_KEPT: f64 = 0.9;
/// Random families: fraction of the scenarios in which a policy may harm others, then in which it
/// may take too much, before it is marked.
pub(super) const MOST_HARMED: f64 = 0.05;
pub(super) const MOST_TAKEN: f64 = 0.10;

/// Key of [`Row::versus`] for all ranked families.
pub const ALL_FAMILIES: &str = "all";

/// The device's knowledge of its networks at the start of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Start {
    /// No knowledge.
    Cold,
    /// Rates, RTTs and losses of an earlier visit.
    Warm,
}

impl Start {
    /// Name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Start::Cold => "cold",
            Start::Warm => "warm",
        }
    }
}

/// A policy that every table has for comparison. The first three know as little as any policy; the
/// others are a single path that is chosen in hindsight on each scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Baseline {
    /// The scenario's first path alone under CUBIC, as a device without Multipath TCP.
    First,
    /// The path that the energy models make the cheapest per bit, alone under CUBIC.
    SingleBest,
    /// Multipath TCP as Linux runs it.
    Linux,
    /// The path with the fewest joules per bit.
    Thriftiest,
    /// The path that completes the work first.
    Fastest,
    /// The path with the largest share of the limit.
    Best,
}

impl Baseline {
    /// Baselines that a device can run.
    pub const REALISABLE: [Baseline; 3] = [Baseline::First, Baseline::SingleBest, Baseline::Linux];

    /// The policy, as the user would write it.
    pub const fn policy(self) -> &'static str {
        match self {
            Baseline::First => "single:FIRST[cc=cubic]",
            Baseline::SingleBest => "single-best[cc=cubic]",
            Baseline::Linux => "linux",
            Baseline::Thriftiest | Baseline::Fastest | Baseline::Best => "single:PATH",
        }
    }

    /// Name for readers.
    const fn label(self) -> &'static str {
        match self {
            Baseline::First => "first path alone, CUBIC",
            Baseline::SingleBest => "single best, CUBIC",
            Baseline::Linux => "Linux default",
            Baseline::Thriftiest => "cheapest path in hindsight",
            Baseline::Fastest => "fastest path in hindsight",
            Baseline::Best => "best path in hindsight",
        }
    }

    /// Whether it takes one of the runs of each path alone, chosen in hindsight.
    pub fn is_hindsight(self) -> bool {
        !Baseline::REALISABLE.contains(&self)
    }

    /// Name in JSON.
    const fn name(self) -> &'static str {
        match self {
            Baseline::First => "first",
            Baseline::SingleBest => "single_best",
            Baseline::Linux => "linux",
            Baseline::Thriftiest => "thriftiest",
            Baseline::Fastest => "fastest",
            Baseline::Best => "best",
        }
    }
}

/// Subject of a row of the tables.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Entry {
    /// The policy as the user would write it.
    pub policy: String,
    /// Name for readers.
    pub label: String,
    /// Its parts.
    pub parts: String,
    /// Its knowledge at the start.
    pub start: Start,
    /// For baselines that the user has not asked for as policies.
    pub baseline: Option<Baseline>,
}

impl Entry {
    /// Single paths in hindsight of families of this kind.
    pub fn hindsight(kind: Kind) -> Vec<Self> {
        let chosen: &[Baseline] = match kind {
            Kind::Ranked => &[Baseline::Thriftiest, Baseline::Fastest],
            Kind::Random => &[Baseline::Best],
        };
        let parts = "reno + minrtt, path chosen in hindsight";
        chosen
            .iter()
            .map(|&baseline| Entry::baseline(baseline, parts.to_owned()))
            .collect()
    }

    /// A baseline with its parts.
    pub fn baseline(baseline: Baseline, parts: String) -> Self {
        Entry {
            policy: baseline.policy().to_owned(),
            label: baseline.label().to_owned(),
            parts,
            start: Start::Cold,
            baseline: Some(baseline),
        }
    }

    /// Whether a device can run it and it is one of the baselines, which the user may have asked
    /// for by name.
    pub fn is_realisable(&self) -> bool {
        let is_it = |baseline: Baseline| baseline.policy() == self.policy;
        self.start == Start::Cold && Baseline::REALISABLE.into_iter().any(is_it)
    }
}

/// A scenario that does not count.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct LeftOut {
    /// Its name.
    pub scenario: String,
    /// The rule that excludes it.
    pub why: String,
}

/// A family of scenarios.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct FamilyRow {
    /// Its name.
    pub name: String,
    /// Description of its scenarios.
    pub what: String,
    /// Columns of its table, the most important first.
    pub columns: Vec<Metric>,
}

/// The best of several policies on a scenario, chosen in hindsight.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Best {
    /// The policy.
    pub policy: String,
    /// Its share of the TCP-rate reference.
    pub tcp_reference: f64,
    /// Its share of the link bound; `None` without a bound.
    pub link_bound: Option<f64>,
}

impl Best {
    /// For a policy with its runs; `None` if its share is not measured.
    pub fn of(policy: String, runs: &[RunResult], with: &Yardstick) -> Option<Self> {
        let share = |limit: f64| share_of_limit(runs, with, limit).map(rounded);
        Some(Best {
            policy,
            tcp_reference: share(with.limit)?,
            link_bound: with.link_bound.and_then(share),
        })
    }
}

/// A scenario's best policies in hindsight.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Oracle {
    /// Policies of the portfolio that ran.
    pub members: usize,
    /// The best of them.
    pub best: Best,
    /// The best that the search has found, at least as good as `best`; `None` without a search.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub searched: Option<Best>,
}

/// A scenario that counts.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct ScenarioRow {
    /// Name without folder and extension.
    pub name: String,
    /// Name of its family.
    pub family: String,
    /// Title.
    pub title: String,
    /// Paper, section or table.
    pub source: Option<String>,
    /// SHA-256 of the scenario and its traces.
    pub sha256: String,
    /// Keys that were changed in it.
    pub changed: BTreeMap<String, String>,
    /// Data per joule of the limit that policies are compared with, bit/J.
    pub reference_bits_per_joule: f64,
    /// Kind of the limit: `tcp-reference`, or `link` if there is no other.
    pub reference_kind: String,
    /// Random families: data per joule of the link bound, bit/J; `None` without a bound.
    pub link_bound_bits_per_joule: Option<f64>,
    /// Kind of the work: `endless`, `files`, `requests`, `deadline`.
    pub work: Cow<'static, str>,
    /// Deadline of messages and writes, s.
    pub deadline_s: Option<f64>,
    /// Single path of each baseline, as a policy.
    pub baselines: Vec<Option<String>>,
    /// Endless competitors on links that policies share with them.
    pub competing_tcps: u32,
    /// The best policies in hindsight, if asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oracle: Option<Oracle>,
}

/// Results on a scenario.
#[derive(Clone, Debug)]
pub struct ScenarioResult {
    /// The scenario.
    pub row: ScenarioRow,
    /// For each entry its results, or the reason why it did not run.
    pub cells: Vec<Result<Cell, String>>,
}

/// Time of a run of sealed scenarios, and the log's record of earlier runs.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Sealed {
    /// Date and time as ISO 8601, UTC.
    pub date: String,
    /// Commit of the program.
    pub commit: String,
    /// SHA-256 of the log's line for the start of this run.
    pub entry: String,
    /// Number of earlier runs of sealed scenarios with a result, at any commit.
    pub earlier: usize,
    /// Number of earlier runs at this commit.
    pub earlier_here: usize,
    /// Number of earlier starts without a result.
    pub without_result: usize,
    /// The reason for a run although one was finished at this commit, or although earlier starts
    /// have no result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A metric over all scenarios of ranked families.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Overall {
    /// Mean over the families, with its interval over scenarios and seeds.
    pub mean: Rounded,
    /// Value of the worst scenario.
    pub worst: f64,
    /// Name of that scenario.
    pub worst_in: String,
}

/// A metric over the scenarios of a family.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(untagged)]
pub enum OfFamily {
    /// For a random family.
    Quantiles(Quantiles),
    /// For a ranked family.
    Mean {
        /// Geometric mean; arithmetic for shares.
        mean: f64,
    },
}

/// A policy compared with the realisable baseline that has the best mean over the same scenarios.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Versus {
    /// The baseline as a policy.
    pub baseline: String,
    /// Number of scenarios with a comparison.
    pub n: usize,
    /// Geometric mean of the ratio of both shares of the TCP-rate reference (ranked families:
    /// scores).
    pub mean: Rounded,
    /// Fraction of the scenarios with a ratio below 0.95.
    pub worse: f64,
}

/// Random families: number of scenarios where a policy harms TCP flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct Harm {
    /// Number of scenarios with competitors.
    pub beside_tcps: usize,
    /// Number of these where competitors keep less than 0.9.
    pub kept_below_090: usize,
    /// Number of these where competitors keep less than 0.8.
    pub kept_below_080: usize,
    /// Number of scenarios with competitors on links without random loss.
    pub on_quiet_links: usize,
    /// Number of these where a connection takes more than 1.2 TCP shares of a link.
    pub share_above_120: usize,
}

/// An entry on one scenario.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(untagged)]
pub(super) enum CellRow {
    Missing { missing: String },
    Measured(BTreeMap<Metric, Value>),
}

/// An entry over all scenarios.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Row {
    /// The policy.
    #[serde(flatten)]
    pub entry: Entry,
    /// From 1, the best; `None` for baselines, for entries that did not run on every scenario, and
    /// in random families.
    pub tier: Option<usize>,
    /// Policies with bit-identical results in every run, as the user would write them.
    pub also: Vec<String>,
    /// Ranked: more than [`MOST_SHARE`] TCP shares in the mean over the scenarios with shared
    /// links. Random: on a link without random loss, in more than 10 % of the scenarios.
    pub takes_too_much: bool,
    /// Ranked: competitors keep less than [`LEAST_KEPT`] in the mean over these scenarios. Random:
    /// in more than 5 % of them.
    pub harms: bool,
    /// Ranked families: by metric.
    pub overall: BTreeMap<Metric, Overall>,
    /// Random families: counts of harm.
    pub harm: Option<Harm>,
    /// By family, or of ranked families under [`ALL_FAMILIES`].
    pub versus: BTreeMap<String, Versus>,
    /// By family and metric.
    pub families: BTreeMap<String, BTreeMap<Metric, OfFamily>>,
    pub(super) scenarios: BTreeMap<String, CellRow>,
}

impl Row {
    /// Scenarios where it could not run, with reasons.
    pub fn missing(&self) -> impl Iterator<Item = (&str, &str)> {
        self.scenarios.iter().filter_map(|(name, cell)| match cell {
            CellRow::Missing { missing } => Some((name.as_str(), missing.as_str())),
            CellRow::Measured(_) => None,
        })
    }

    /// Ranked families: mean of a metric over the families; `None` if it is not measured.
    pub fn mean(&self, metric: Metric) -> Option<f64> {
        self.overall.get(&metric).map(|overall| overall.mean.mean)
    }

    pub(super) fn of_family(&self, family: &str, metric: Metric) -> Option<&OfFamily> {
        self.families.get(family)?.get(&metric)
    }

    /// Value of a metric on a scenario.
    pub(super) fn of_scenario(&self, scenario: &str, metric: Metric) -> Option<f64> {
        let CellRow::Measured(values) = self.scenarios.get(scenario)? else {
            return None;
        };
        values.get(&metric).map(|value| match value {
            Value::One(mean) | Value::Several(Rounded { mean, .. }) => *mean,
        })
    }
}

/// Yardsticks in hindsight of random families.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct OracleExtent {
    /// Definition of the portfolio.
    pub portfolio: String,
    /// Maximum runs of the search on each scenario; `None` without a search.
    pub search_runs: Option<u32>,
}

/// Extent of the runs.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Extent {
    /// Kind of the families.
    pub kind: Kind,
    /// Name of the engine.
    pub engine: String,
    /// Seeds of each policy on each scenario.
    pub seeds: u32,
    /// The same in families that judge harm, if it differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seeds_beside_tcps: Option<u32>,
    /// Ranked families: seed of the scenarios.
    pub scenario_seed: Option<u64>,
    /// Random families: `train`, `check` or `sealed`.
    pub random_set: Option<String>,
    /// Number of the first scenario of each family.
    pub first: u32,
    /// Scenarios of each family, except the papers'.
    pub scenarios_of_each: u32,
    /// Record of a sealed run.
    pub sealed: Option<Sealed>,
    /// Whether some runs are missing.
    pub partial: bool,
    /// Yardsticks in hindsight, if asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oracle: Option<OracleExtent>,
}

impl Extent {
    /// The metrics that can be measured.
    pub fn metrics(&self) -> impl Iterator<Item = Metric> + Clone {
        let has_oracle = self.oracle.is_some();
        let has_search = self
            .oracle
            .as_ref()
            .is_some_and(|oracle| oracle.search_runs.is_some());
        self.kind
            .metrics()
            .iter()
            .copied()
            .filter(move |metric| match metric {
                Metric::Oracle => has_oracle,
                Metric::Searched => has_search,
                _ => true,
            })
    }
}

/// The whole benchmark.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Benchmark {
    /// The program that made it.
    #[serde(flatten)]
    pub provenance: Provenance,
    /// Extent of the runs.
    #[serde(flatten)]
    pub extent: Extent,
    /// Definition of the numbers.
    pub rule: String,
    /// The families.
    pub families: Vec<FamilyRow>,
    /// The scenarios that count.
    pub scenarios: Vec<ScenarioRow>,
    /// Scenarios that do not count.
    pub left_out: Vec<LeftOut>,
    /// Ranked: best first, incomplete entries last. Random: in the order of the request, then the
    /// baselines.
    pub policies: Vec<Row>,
}

impl Benchmark {
    /// The benchmark as JSON, with one line for each scenario and policy.
    ///
    /// # Errors
    /// If a number cannot be written as JSON.
    pub fn json(&self) -> Result<String, ReportError> {
        crate::machine::by_lines(self)
    }

    /// The benchmark as CSV: a line for each policy on each scenario, with every metric; empty
    /// where it is not measured.
    ///
    /// # Errors
    /// If the CSV writer fails.
    pub fn csv(&self) -> Result<String, ReportError> {
        let metrics = self.extent.metrics();
        let mut text = csv::Writer::from_writer(vec![]);
        let names = metrics.clone().map(Metric::name);
        text.write_record(
            [
                "random_set",
                "family",
                "scenario",
                "policy",
                "start",
                "baseline",
            ]
            .into_iter()
            .chain(names),
        )?;
        let set = self.extent.random_set.as_deref().unwrap_or_default();
        for row in &self.policies {
            for scenario in &self.scenarios {
                let value = |metric: Metric| {
                    row.of_scenario(&scenario.name, metric)
                        .map(|mean| mean.to_string())
                };
                let entry = &row.entry;
                let baseline = entry.baseline.map_or("", Baseline::name);
                let [family, name] = [&scenario.family, &scenario.name];
                let head = [
                    set,
                    family,
                    name,
                    &entry.policy,
                    entry.start.name(),
                    baseline,
                ];
                let values = metrics
                    .clone()
                    .map(|metric| value(metric).unwrap_or_default());
                text.write_record(head.map(str::to_owned).into_iter().chain(values))?;
            }
        }
        let bytes = text
            .into_inner()
            .map_err(|error| csv::Error::from(error.into_error()))?;
        Ok(String::from_utf8(bytes).expect("CSV of texts is a text"))
    }
}
