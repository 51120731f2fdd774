//! What a benchmark yields, as it stands in JSON.

use std::borrow::Cow;
use std::collections::BTreeMap;

use joulepath_model::result::Provenance;
use serde::{Deserialize, Serialize};

use super::measure::{Cell, Rounded, Value};
use super::metric::{Kind, Metric};
use super::quantile::Quantiles;
use crate::machine::ReportError;

/// A policy that takes more than this many TCPs of a shared link is marked: a fifth above RFC 6356, goal 2.
pub const MOST_SHARE: f64 = 1.2;
/// Competitors that keep less than this part of what they have next to a NewReno are harmed.
pub const LEAST_KEPT: f64 = 0.9;
/// Random families: part of the scenarios in which a policy may harm others, and in which it may take too
/// much, before it is marked.
pub(super) const MOST_HARMED: f64 = 0.05;
pub(super) const MOST_TAKEN: f64 = 0.10;

/// What a device knows of its networks when a run begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Start {
    /// Nothing.
    Cold,
    /// Rates, RTTs and losses of an earlier visit.
    Warm,
}

impl Start {
    /// As in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Start::Cold => "cold",
            Start::Warm => "warm",
        }
    }
}

/// What a single path does, chosen in hindsight on each scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Baseline {
    /// The path with the fewest joules per bit.
    Thriftiest,
    /// The path that does the work the soonest.
    Fastest,
    /// The path with the greatest share of the limit.
    Best,
}

impl Baseline {
    /// As in JSON.
    const fn name(self) -> &'static str {
        match self {
            Baseline::Thriftiest => "thriftiest",
            Baseline::Fastest => "fastest",
            Baseline::Best => "best",
        }
    }
}

/// What one row of the tables is about.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Entry {
    /// As the user would write it.
    pub policy: String,
    /// For humans.
    pub label: String,
    /// What it is made of.
    pub parts: String,
    /// What it knows at first.
    pub start: Start,
    /// Which single path it stands for; null for policies.
    pub baseline: Option<Baseline>,
}

impl Entry {
    /// The single paths that stand next to policies in families of this kind.
    pub fn baselines(kind: Kind) -> Vec<Self> {
        let chosen: &[_] = match kind {
            Kind::Ranked => {
                &[(Baseline::Thriftiest, "cheapest path alone"), (Baseline::Fastest, "fastest path alone")]
            }
            Kind::Random => &[(Baseline::Best, "best path alone")],
        };
        let entry = |&(baseline, label): &(Baseline, &str)| Entry {
            policy: "single:PATH".to_owned(),
            label: label.to_owned(),
            parts: "reno + minrtt, path chosen in hindsight".to_owned(),
            start: Start::Cold,
            baseline: Some(baseline),
        };
        chosen.iter().map(entry).collect()
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
    /// What its table shows, the most important first.
    pub columns: Vec<Metric>,
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
    /// Keys that were changed in it.
    pub changed: BTreeMap<String, String>,
    /// Data per joule of the limit that policies are held against, bit/J.
    pub limit_bits_per_joule: f64,
    /// Its kind: `tcp-friendly`, or `link` where there is no other.
    pub limit_kind: String,
    /// Random families: data per joule of the limit of the links, bit/J; null where nothing bounds it.
    pub link_limit_bits_per_joule: Option<f64>,
    /// The work: `endless`, `files`, `requests`, `deadline`.
    pub work: Cow<'static, str>,
    /// The deadline of messages and writes, s.
    pub deadline_s: Option<f64>,
    /// The single path of each baseline, as a policy.
    pub baselines: Vec<Option<String>>,
    /// Competitors without end on links that policies share with them.
    pub competing_tcps: u32,
}

/// What came out on one scenario.
#[derive(Clone, Debug)]
pub struct ScenarioResult {
    /// The scenario.
    pub row: ScenarioRow,
    /// For each entry what it did, or why it did not run.
    pub cells: Vec<Result<Cell, String>>,
}

/// When sealed scenarios were run, and what the log of such runs says of earlier ones.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Sealed {
    /// Day and time, UTC, as ISO 8601 writes it.
    pub date: String,
    /// Commit of the program.
    pub commit: String,
    /// SHA-256 of the line in the log with which this run began.
    pub entry: String,
    /// How often sealed scenarios had been run before, at any commit.
    pub earlier: usize,
    /// How often at this commit.
    pub earlier_here: usize,
}

/// A metric over all scenarios of ranked families.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Overall {
    /// Mean over the families, with its interval over scenarios and seeds.
    pub mean: Rounded,
    /// The worst scenario's.
    pub worst: f64,
    /// Name of that scenario.
    pub worst_in: String,
}

/// A metric over the scenarios of a family.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(untagged)]
pub enum OfFamily {
    /// Of a random family.
    Quantiles(Quantiles),
    /// Of a ranked family.
    Mean {
        /// Geometric, of shares arithmetic.
        mean: f64,
    },
}

/// Random families: in how many scenarios a policy is worse than single paths, and harms TCPs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct Harm {
    /// Scenarios in which it can be compared with the best single path, and in how many it has more than 5 %
    /// less of the limit.
    pub beside_single: usize,
    /// See above.
    pub worse_than_single: usize,
    /// Scenarios with competitors, and in how many these keep less than 0.9 and less than 0.8.
    pub beside_tcps: usize,
    /// See above.
    pub kept_below_090: usize,
    /// See above.
    pub kept_below_080: usize,
    /// Scenarios with competitors on links without random loss, and in how many it takes more than 1.2 of
    /// what one of them has on any one link.
    pub on_quiet_links: usize,
    /// See above.
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
    /// 1 is the best; null for baselines, for what did not run on every scenario, and in random families.
    pub tier: Option<usize>,
    /// Policies that did the same, to the last bit, in every run, as the user would write them.
    pub also: Vec<String>,
    /// Ranked: more than [`MOST_SHARE`] TCPs in the mean over the scenarios with shared links. Random: of a
    /// link without random loss, in more than 10 % of the scenarios.
    pub takes_too_much: bool,
    /// Ranked: competitors keep less than [`LEAST_KEPT`] in the mean over these scenarios. Random: in more
    /// than 5 % of them.
    pub harms: bool,
    /// Ranked families: by metric.
    pub overall: BTreeMap<Metric, Overall>,
    /// Random families.
    pub harm: Option<Harm>,
    /// By family and metric.
    pub families: BTreeMap<String, BTreeMap<Metric, OfFamily>>,
    pub(super) scenarios: BTreeMap<String, CellRow>,
}

impl Row {
    /// Where it could not run, and why.
    pub fn missing(&self) -> impl Iterator<Item = (&str, &str)> {
        self.scenarios.iter().filter_map(|(name, cell)| match cell {
            CellRow::Missing { missing } => Some((name.as_str(), missing.as_str())),
            CellRow::Measured(_) => None,
        })
    }

    /// Ranked families: mean of a metric over the families; none if it is not measured.
    pub fn mean(&self, metric: Metric) -> Option<f64> {
        self.overall.get(&metric).map(|overall| overall.mean.mean)
    }

    pub(super) fn of_family(&self, family: &str, metric: Metric) -> Option<&OfFamily> {
        self.families.get(family)?.get(&metric)
    }
}

/// How much was run.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Extent {
    /// Of the families.
    pub kind: Kind,
    /// Name of the engine.
    pub engine: String,
    /// Seeds of each policy on each scenario.
    pub seeds: u32,
    /// Ranked families: seed of the scenarios.
    pub scenario_seed: Option<u64>,
    /// Random families: `train`, `check` or `sealed`.
    pub random_set: Option<String>,
    /// Number of the first scenario of each family.
    pub first: u32,
    /// Scenarios of each family, except the papers'.
    pub scenarios_of_each: u32,
    /// Of sealed scenarios.
    pub sealed: Option<Sealed>,
    /// Some runs are missing.
    pub partial: bool,
}

/// The whole benchmark.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Benchmark {
    /// Which program made it.
    #[serde(flatten)]
    pub provenance: Provenance,
    /// How much was run.
    #[serde(flatten)]
    pub extent: Extent,
    /// What the numbers are.
    pub rule: String,
    /// The families.
    pub families: Vec<FamilyRow>,
    /// The scenarios that count.
    pub scenarios: Vec<ScenarioRow>,
    /// Those that do not.
    pub left_out: Vec<LeftOut>,
    /// Ranked: the best first, what did not run everywhere last. Random: in the order in which they were
    /// asked for, then the best single path.
    pub policies: Vec<Row>,
}

impl Benchmark {
    /// As JSON, with one line for each scenario and policy.
    ///
    /// # Errors
    /// If a number fits no JSON.
    pub fn json(&self) -> Result<String, ReportError> {
        crate::machine::by_lines(self)
    }

    /// As CSV: a line for each policy on each scenario, with every metric; empty where it is not measured.
    ///
    /// # Errors
    /// If the text cannot be made.
    pub fn csv(&self) -> Result<String, ReportError> {
        let metrics = self.extent.kind.metrics();
        let mut text = csv::Writer::from_writer(vec![]);
        let names = metrics.iter().map(|metric| metric.name());
        text.write_record(
            ["random_set", "family", "scenario", "policy", "start", "baseline"].into_iter().chain(names),
        )?;
        let set = self.extent.random_set.as_deref().unwrap_or_default();
        for row in &self.policies {
            for scenario in &self.scenarios {
                let value = |metric: &Metric| match row.scenarios.get(&scenario.name) {
                    Some(CellRow::Measured(values)) => match values.get(metric)? {
                        Value::One(mean) | Value::Several(Rounded { mean, .. }) => Some(mean.to_string()),
                    },
                    _ => None,
                };
                let entry = &row.entry;
                let baseline = entry.baseline.map_or("", Baseline::name);
                let [family, name] = [&scenario.family, &scenario.name];
                let head = [set, family, name, &entry.policy, entry.start.name(), baseline];
                let values = metrics.iter().map(|metric| value(metric).unwrap_or_default());
                text.write_record(head.map(str::to_owned).into_iter().chain(values))?;
            }
        }
        let bytes = text.into_inner().map_err(|error| csv::Error::from(error.into_error()))?;
        Ok(String::from_utf8(bytes).expect("CSV of texts is a text"))
    }
}
