//! A comparison of policies.

use serde::{Deserialize, Serialize};

use super::{Estimates, NetworkResult, OverTime, RunResult};
use crate::metric::{EFFICIENCY, ENERGY, GOODPUT, Metric, POWER};

/// Mean with a confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Mean over seeds.
    pub mean: f64,
    /// Lower end of the 95 % interval.
    pub lo: f64,
    /// Upper end of the 95 % interval.
    pub hi: f64,
}

/// Result of `compare`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Title and identity of the scenario.
    pub scenario: ScenarioRef,
    /// Engine name.
    pub engine: String,
    /// Number of seeds requested.
    pub seeds: u32,
    /// How to reproduce the numbers.
    pub manifest: Manifest,
    /// Upper bounds.
    pub references: Vec<Reference>,
    /// One row per policy.
    pub rows: Vec<Row>,
    /// The background of `tcp_share_background`; none if no share rests on phase, or the runs were
    /// not repeated with one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub background: Option<Background>,
    /// Notes on how the engine ran the scenario, one sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// True if runs are missing because the comparison was interrupted.
    pub partial: bool,
}

/// The scenario that was compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScenarioRef {
    /// Title.
    pub title: String,
    /// File as given, or the name of a shipped scenario.
    pub file: String,
    /// Source: paper, section, table.
    pub source: Option<String>,
    /// Simulated seconds.
    pub duration_s: f64,
    /// Path names.
    pub paths: Vec<String>,
    /// `bulk`, `file`, `messages`, `stream`, `requests`, or `mixed`.
    pub workload: String,
    /// Long-lived TCP connections that compete at a bottleneck of all paths: see
    /// [`Scenario::rivals`](crate::scenario::Scenario::rivals).
    #[serde(default)]
    pub rivals: u32,
}

/// A light random background, without which shares of competitors rest on phase: at a `DropTail`
/// queue where nothing is random, the order of arrival decides which flow loses packets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Background {
    /// The shared links.
    pub links: Vec<String>,
    /// Poisson cross traffic of this part of their rates.
    pub part: f64,
}

/// The program that made a result, and the command.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provenance {
    /// Version of Joulepath.
    pub version: String,
    /// Commit of the build; `-dirty` appended if the tree was changed; `unknown` outside a
    /// repository.
    pub commit: String,
    /// The command line, or its equivalent.
    pub command: String,
}

/// How to reproduce the numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// SHA-256 of the scenario file and its traces.
    pub scenario_sha256: String,
    /// Version of Joulepath.
    pub version: String,
    /// Commit of the build; `-dirty` appended if the tree was changed; `unknown` outside a
    /// repository.
    pub commit: String,
    /// The seeds, in order.
    pub seeds: Vec<u64>,
    /// The command line.
    pub command: String,
}

/// The best result that any choice of rates could give.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reference {
    /// `tcp-reference` (the rates of TCP-friendly congestion control) or `link-bound` (the links
    /// alone).
    pub kind: String,
    /// Description: interfaces and rates.
    pub label: String,
    /// Paths that carry data at the optimum.
    pub paths: Vec<String>,
    /// Rate on each path of the scenario, bit/s.
    pub rates_bps: Vec<f64>,
    /// Assumed capacity of each path, bit/s.
    pub capacities_bps: Vec<f64>,
    /// Total rate, bit/s.
    pub goodput_bps: f64,
    /// Mean power, W.
    pub power_w: f64,
    /// Highest possible efficiency, bit/J.
    pub bits_per_joule: f64,
    /// For a file: lowest possible energy, J.
    pub energy_j: Option<f64>,
    /// What a run delivers to which the value applies; `None`: it applies to every run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivers: Option<Delivers>,
}

/// What a run delivers of the data that its applications write at a rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Delivers {
    /// Rate of the data, bit/s.
    pub goodput_bps: f64,
    /// Part of it that is delivered at least.
    pub least: f64,
    /// Longest mean delay, s.
    pub mean_delay_s: f64,
    /// True if other connections carry data without a rate.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub others: bool,
}

impl Reference {
    /// Its value of a metric, if it has one.
    pub fn value(&self, metric: &Metric) -> Option<f64> {
        match metric.name {
            name if name == GOODPUT.name => Some(self.goodput_bps),
            name if name == POWER.name => Some(self.power_w),
            name if name == EFFICIENCY.name => Some(self.bits_per_joule),
            name if name == ENERGY.name => self.energy_j,
            _ => None,
        }
    }

    /// Whether the value applies to runs with this mean goodput, bit/s, and mean delay, s.
    pub fn applies_to(&self, goodput_bps: f64, mean_delay_s: Option<f64>) -> bool {
        self.delivers.is_none_or(|delivers| {
            let is_in_time = mean_delay_s.is_some_and(|delay_s| delay_s <= delivers.mean_delay_s);
            is_in_time && goodput_bps >= delivers.least * delivers.goodput_bps
        })
    }
}

/// One policy's row of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// As written by the user.
    pub policy: String,
    /// Name for readers, with `(recon.)` if a part is reconstructed.
    pub label: String,
    /// Parts of the policy.
    pub parts: String,
    /// True if each subflow acts as a separate TCP: n subflows at one bottleneck take the share of
    /// n TCPs.
    #[serde(default)]
    pub uncoupled: bool,
    /// Number of runs that the estimates summarise.
    pub n: u32,
    /// True if two or more runs differ only in the seed: nothing was random, and the ends of an
    /// interval equal the mean.
    #[serde(default)]
    pub deterministic: bool,
    /// Means of the metrics over the runs that have them.
    #[serde(flatten)]
    pub estimates: Estimates,
    /// Efficiency relative to the first policy.
    pub ratio: f64,
    /// 95 % interval of the ratio, seeds paired; none for the first policy, and with fewer than two
    /// common seeds.
    pub ratio_interval: Option<Estimate>,
    /// Number of runs with all files complete; none if there is no file.
    pub completed: Option<u32>,
    /// Efficiency relative to the TCP-rate reference.
    pub tcp_reference_share: Option<f64>,
    /// Efficiency relative to the limit with the links' own rates.
    pub link_bound_share: Option<f64>,
    /// Mean goodput of a connection under test relative to one of the scenario's rivals, seeds
    /// paired; none without rivals.
    #[serde(default)]
    pub tcp_share: Option<Estimate>,
    /// The same with a light random background, if shares rest on phase: see
    /// [`Comparison::background`].
    #[serde(default)]
    pub tcp_share_background: Option<Estimate>,
    /// Goodput of the competitors with it, bit/s.
    #[serde(default)]
    pub competitors_background_bps: Option<Estimate>,
    /// The network, means over seeds; only in a topology.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<NetworkResult>,
    /// Per path.
    pub paths: Vec<PathRow>,
    /// Over time, for the report; none if no series were recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over_time: Option<OverTime>,
    /// All runs of the row, without series.
    #[serde(skip)]
    pub runs: Vec<RunResult>,
}

impl Row {
    /// Mean and interval of a metric; `None` if no run has it.
    pub fn estimate(&self, metric: &Metric) -> Option<Estimate> {
        self.estimates.of(metric)
    }

    /// Mean of a metric; NaN if no run has it.
    pub fn mean(&self, metric: &Metric) -> f64 {
        self.estimate(metric)
            .map_or(f64::NAN, |estimate| estimate.mean)
    }

    /// Whether a run has the metric.
    pub fn has(&self, metric: &Metric) -> bool {
        self.estimate(metric).is_some()
    }
}

/// One path's share of a row: means over seeds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PathRow {
    /// Name of the path.
    pub name: String,
    /// Share of the payload, 0 to 1.
    pub share: f64,
    /// Payload per second, bit/s.
    pub goodput_bps: f64,
    /// Energy of the interface, J.
    pub energy_j: f64,
    /// Mean RTT, s.
    pub mean_rtt_s: Option<f64>,
    /// Mean window, packets.
    pub mean_cwnd: f64,
    /// Timeouts per run.
    pub timeouts: f64,
}
