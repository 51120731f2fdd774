//! What `reproduce` yields: the papers' claims, what was measured, and what that says of them.
//!
//! | module | what |
//! |---|---|
//! | this one | the schema, as it stands in JSON |
//! | `rule` | from a measurement to a verdict |
//! | `digits`, `shown` | how many digits of both are shown |
//! | `table`, `markdown`, `machine` | for the terminal, for the papers' pages, for programs |

mod digits;
mod machine;
mod markdown;
mod rule;
mod shown;
mod table;

use joulepath_model::result::Estimate;
use serde::{Deserialize, Serialize};

pub use machine::reproduction_json;
pub use markdown::{capital, reproduction_markdown, reproduction_summary};
pub use rule::{Rule, Verdict};
pub(crate) use shown::Shown;
pub use table::reproduction_table;

/// A scoreboard of experiments.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reproduction {
    /// `quick` or `full`.
    pub extent: String,
    /// Version of Joulepath.
    pub version: String,
    /// Commit that it was built from.
    pub commit: String,
    /// The command line.
    pub command: String,
    /// Time that its runs took on one core, s: those that were kept from an earlier session count with what
    /// they took then.
    pub run_s: f64,
    /// Number of runs of simulators and of the kernel.
    pub runs: u64,
    /// Cores of the machine that ran the last of them.
    pub cores: u32,
    /// Whether some runs are missing: interrupted, or failed.
    pub partial: bool,
    /// In the order of the papers.
    pub experiments: Vec<Report>,
}

/// One experiment of a paper.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// `000-fig4`.
    pub id: String,
    /// What it is about, a few words.
    pub title: String,
    /// Paper, section, figure, table.
    pub source: String,
    /// What the paper says.
    pub claim: String,
    /// What our measurements say of it: the weakest verdict of its findings.
    pub verdict: Verdict,
    /// Why it differs, or why it cannot be measured; why it agrees where that is not plain.
    pub reason: String,
    /// What was run: scenarios with their overrides, policies, seeds, engine.
    pub set_up: Vec<String>,
    /// What its numbers come from, the kernel apart: `packet`, `slotted`, `computed` (closed forms and
    /// solvers); empty if it has none.
    #[serde(default)]
    pub engines: Vec<String>,
    /// Each number or relation that was stated, beside ours.
    pub findings: Vec<Finding>,
    /// The same in the kernel's own stack, where it was run; and whether it agrees with the simulator's
    /// verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<SecondMeasurement>,
    /// As the paper draws them.
    pub figures: Vec<Figure>,
    /// Runs that are missing.
    pub missing: u64,
}

/// The same claims, measured in the real stack.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SecondMeasurement {
    /// The findings of the same names.
    pub findings: Vec<Finding>,
    /// Their weakest verdict.
    pub verdict: Verdict,
    /// Whether it is the simulator's.
    pub agrees: bool,
}

/// One number or relation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// What is measured: `EEMPTCP's goodput ÷ LIA's`.
    pub what: String,
    /// Where the best of a sweep is: `256kB`. Not in `what`, since the kernel's best may be elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub best_at: Option<String>,
    /// Of the numbers; empty for ratios.
    pub unit: String,
    /// How the verdict is found; fixed before anything ran.
    pub rule: Rule,
    /// Ours, with its 95 % interval; none if nothing could be measured.
    pub measured: Option<Estimate>,
    /// Number of values that it summarises.
    pub n: u32,
    /// What follows; none if it is shown without being judged.
    pub verdict: Option<Verdict>,
}

impl Finding {
    /// Judges `measured`, the estimate of `n` values in `unit`.
    pub fn new(
        what: impl Into<String>,
        unit: &str,
        rule: Rule,
        measured: Option<Estimate>,
        n: usize,
    ) -> Self {
        let verdict = rule.judge(measured);
        let (what, unit) = (what.into(), unit.to_owned());
        Finding { what, best_at: None, unit, rule, measured, n: n as u32, verdict }
    }

    /// What is measured, and in a sweep where.
    pub(crate) fn what_and_where(&self) -> String {
        match &self.best_at {
            Some(place) => format!("{}, best at {place}", self.what),
            None => self.what.clone(),
        }
    }
}

/// A figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// What it shows.
    pub title: String,
    /// Quantity and unit of the horizontal axis; empty for groups.
    pub x: String,
    /// Quantity and unit of the vertical axis.
    pub y: String,
    /// What is drawn.
    pub plot: Plot,
}

/// What is drawn in a figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Plot {
    /// Lines over numbers.
    Lines {
        /// One each.
        lines: Vec<Line>,
        /// Whether the horizontal axis is logarithmic.
        #[serde(default)]
        log_x: bool,
    },
    /// Bars with intervals, side by side in groups.
    Bars {
        /// Names of the groups.
        groups: Vec<String>,
        /// One colour each; values by group.
        bars: Vec<Bars>,
    },
    /// Box plots, side by side in groups.
    Boxes {
        /// Names of the groups.
        groups: Vec<String>,
        /// One colour each; boxes by group.
        boxes: Vec<Boxes>,
    },
}

/// A line, with a band where it has an interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// For the legend.
    pub name: String,
    /// Ascending.
    pub x: Vec<f64>,
    /// One each; none where there is no value.
    pub y: Vec<Option<f64>>,
    /// 95 % interval of each; empty without.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interval: Vec<(f64, f64)>,
    /// Whether it is the paper's: stated numbers, drawn dashed.
    #[serde(default)]
    pub stated: bool,
}

impl Line {
    /// Ours, through `points`.
    pub fn new(name: impl Into<String>, points: impl IntoIterator<Item = (f64, Option<f64>)>) -> Self {
        let (x, y) = points.into_iter().unzip();
        Line { name: name.into(), x, y, interval: vec![], stated: false }
    }

    /// Ours, through means, with a band of their intervals.
    pub fn with_band(
        name: impl Into<String>,
        points: impl IntoIterator<Item = (f64, Option<Estimate>)>,
    ) -> Self {
        let (x, estimates): (Vec<f64>, Vec<Option<Estimate>>) = points.into_iter().unzip();
        let ends = |ours: &Option<Estimate>| ours.map_or((f64::NAN, f64::NAN), |ours| (ours.lo, ours.hi));
        let means = estimates.iter().map(|ours| ours.map(|ours| ours.mean));
        Line { interval: estimates.iter().map(ends).collect(), ..Line::new(name, x.into_iter().zip(means)) }
    }
}

/// Bars of one colour.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bars {
    /// For the legend.
    pub name: String,
    /// By group.
    pub values: Vec<Option<Estimate>>,
    /// What the paper states, by group; empty if it states nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stated: Vec<Option<f64>>,
}

/// Boxes of one colour.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Boxes {
    /// For the legend.
    pub name: String,
    /// By group.
    pub values: Vec<Option<FiveNumbers>>,
}

/// Tukey's summary of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct FiveNumbers {
    /// Least.
    pub min: f64,
    /// Lower quartile.
    pub q1: f64,
    /// Median.
    pub median: f64,
    /// Upper quartile.
    pub q3: f64,
    /// Greatest.
    pub max: f64,
}

impl FiveNumbers {
    /// Of `values`; none without values.
    pub fn of(mut values: Vec<f64>) -> Option<Self> {
        values.sort_by(f64::total_cmp);
        let at = |p: f64| crate::bootstrap::quantile(&values, p);
        (!values.is_empty()).then(|| FiveNumbers {
            min: at(0.0),
            q1: at(0.25),
            median: at(0.5),
            q3: at(0.75),
            max: at(1.0),
        })
    }
}

impl Report {
    /// `000`: what stands before the first dash of the identity.
    pub(crate) fn paper(&self) -> &str {
        self.id.split_once('-').map_or(self.id.as_str(), |(paper, _)| paper)
    }

    /// What of a paper it is about, as its identity says.
    pub(crate) fn kind(&self) -> &'static str {
        const KINDS: [(&str, &str); 4] =
            [("fig", "figure"), ("tab", "table"), ("thm", "theorem"), ("alg", "algorithm")];
        match self.id.split_once('-') {
            Some(("claim", _)) => "claim",
            Some((_, part)) => {
                KINDS.iter().find(|(prefix, _)| part.starts_with(prefix)).map_or("text", |&(_, kind)| kind)
            }
            None => "text",
        }
    }
}

impl Reproduction {
    /// Each paper once, in the order of the experiments.
    pub(crate) fn papers(&self) -> Vec<&str> {
        let mut papers: Vec<&str> = self.experiments.iter().map(Report::paper).collect();
        papers.dedup();
        papers
    }

    /// How many experiments have `verdict`.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.experiments.iter().filter(|report| report.verdict == verdict).count()
    }
}
