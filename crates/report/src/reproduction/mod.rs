//! What `reproduce` yields: the papers' claims, what was measured, and what that says of them.
//!
//! | module | what |
//! |---|---|
//! | this one | the schema, as it stands in JSON |
//! | `rule` | from a measurement to a verdict |
//! | `reason` | from findings to a verdict on all of them, and to a sentence |
//! | `digits`, `shown` | how many digits of both are shown |
//! | `table`, `markdown`, `machine` | for the terminal, for the papers' pages, for programs |

mod digits;
mod machine;
mod markdown;
mod reason;
mod rule;
mod shown;
mod table;

use std::collections::BTreeSet;

use joulepath_model::result::Estimate;
use serde::{Deserialize, Serialize};

use crate::student::{interval, prediction};

pub use machine::reproduction_json;
pub(crate) use machine::short_json;
pub use markdown::{capital, reproduction_markdown, reproduction_summary};
pub use reason::{Judged, judge, shown};
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
    /// What our measurements say of it: under one reading of what the paper leaves open the weakest verdict
    /// of the findings; over the readings the strongest of these.
    pub verdict: Verdict,
    /// The reading that has this verdict, if there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reading: Option<String>,
    /// Made from the findings: which decide, and by what numbers; or why nothing can be measured.
    pub reason: String,
    /// The one question on which it stands or falls: rows that share it are no independent witnesses.
    #[serde(default)]
    pub cause: String,
    /// Whether it is this project's statement, not a paper's: shown, and not counted.
    #[serde(default)]
    pub is_ours: bool,
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
    /// Whether its numbers are the simulator's.
    #[serde(default)]
    pub agreement: Agreement,
    /// The finding that differs most: its number in the kernel over the simulator's, with the kernel's
    /// interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub farthest: Option<Farthest>,
}

/// Whether two engines have the same numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Agreement {
    /// All intervals lie within a fifth of the simulator's numbers.
    Agrees,
    /// Some interval lies wholly beyond that.
    Differs,
    /// The intervals are too wide to say.
    #[default]
    Inconclusive,
}

impl Agreement {
    /// For humans.
    pub fn name(self) -> &'static str {
        match self {
            Agreement::Agrees => "agrees",
            Agreement::Differs => "differs",
            Agreement::Inconclusive => "inconclusive",
        }
    }
}

/// A number of the kernel beside the simulator's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Farthest {
    /// What is measured.
    pub what: String,
    /// The kernel's over the simulator's mean.
    pub ratio: Estimate,
    /// Number of the kernel's values.
    pub n: u32,
}

impl Farthest {
    /// `0.52 [0.47, 0.58] of the simulator's, n = 5`.
    pub fn words(&self) -> String {
        let Estimate { mean, lo, hi } = self.ratio;
        format!("{}: {mean:.2} [{lo:.2}, {hi:.2}] of the simulator's, n = {}", self.what, self.n)
    }
}

/// A number of the kernel within this factor of the simulator's is the same, for what either can say.
const SAME: f64 = 1.25;

impl SecondMeasurement {
    /// The kernel's findings beside the simulator's; none if it measured nothing that is judged.
    pub fn of(measured: &[Finding], simulated: &[Finding]) -> Option<Self> {
        let has_spread = |finding: &Finding| finding.measured.is_some() && finding.n > 1;
        let pairs: Vec<_> = measured.iter().zip(simulated).filter(|(real, _)| has_spread(real)).collect();
        if pairs.iter().all(|(real, _)| real.verdict.is_none()) {
            return None;
        }
        let beside = |(real, simulated): &(&Finding, &Finding)| {
            let (ours, base) = (real.measured?, simulated.measured?.mean);
            let [mean, lo, hi] = [ours.mean, ours.lo, ours.hi].map(|value| value / base);
            let ratio = Estimate { mean, lo: lo.min(hi), hi: hi.max(lo) };
            mean.is_finite().then(|| Farthest { what: real.what_and_where(), ratio, n: real.n })
        };
        let ratios: Vec<Farthest> = pairs.iter().filter_map(beside).collect();
        let is_same = |f: &Farthest| 1.0 / SAME <= f.ratio.lo && f.ratio.hi <= SAME;
        let is_other = |f: &Farthest| f.ratio.hi < 1.0 / SAME || SAME < f.ratio.lo;
        let agreement = match () {
            () if ratios.iter().any(is_other) => Agreement::Differs,
            () if !ratios.is_empty() && ratios.iter().all(is_same) => Agreement::Agrees,
            () => Agreement::Inconclusive,
        };
        // What differs beyond chance stands for all before what is merely uncertain.
        let decides = |f: &Farthest| (is_other(f), libm::fabs(libm::log(f.ratio.mean.abs().max(1e-9))));
        let farthest = ratios.into_iter().max_by(|a, b| {
            let ((a_other, a), (b_other, b)) = (decides(a), decides(b));
            a_other.cmp(&b_other).then(a.total_cmp(&b))
        });
        Some(SecondMeasurement {
            verdict: Verdict::weakest(pairs.iter().filter_map(|(real, _)| real.verdict)),
            findings: pairs.iter().map(|(real, _)| (*real).clone()).collect(),
            agreement,
            farthest,
        })
    }
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
    /// Where one run lies with 95 % probability: held against what a paper states of its single run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<(f64, f64)>,
    /// Under which reading of what the paper leaves open it was measured; none if there is only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reading: Option<String>,
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
        let (n, run, reading) = (n as u32, None, None);
        Finding { what, best_at: None, unit, rule, measured, n, verdict, run, reading }
    }

    /// Judges what a paper states of a single run against where one run of ours lies: `values` are one each.
    pub fn of_one_run(what: impl Into<String>, unit: &str, rule: Rule, values: &[f64]) -> Self {
        Finding::new(what, unit, rule, interval(values), values.len()).with_run(prediction(values))
    }

    /// Judged again, by where one run lies.
    pub fn with_run(self, run: Option<(f64, f64)>) -> Self {
        let verdict = self.rule.judge_one_run(self.measured, run);
        Finding { verdict, run, ..self }
    }

    /// Measured under a reading of what the paper leaves open.
    pub fn under(self, reading: &str) -> Self {
        Finding { reading: Some(reading.to_owned()), ..self }
    }

    /// What is measured, and in a sweep where.
    pub(crate) fn what_and_where(&self) -> String {
        let best = self.best_at.as_ref().map_or(String::new(), |place| format!(", best at {place}"));
        let reading = self.reading.as_ref().map_or(String::new(), |reading| format!(", {reading}"));
        format!("{}{reading}{best}", self.what)
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
        let at = |p: f64| joulepath_model::quantile::linear(&values, p);
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

    /// The question that it stands on; its identity if none is named.
    fn cause_or_id(&self) -> &str {
        if self.cause.is_empty() { &self.id } else { &self.cause }
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

    /// How many of the papers' experiments have `verdict`.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.experiments.iter().filter(|report| !report.is_ours && report.verdict == verdict).count()
    }

    /// How many independent questions those experiments stand on.
    pub fn causes(&self, verdict: Verdict) -> usize {
        let of = |report: &&Report| !report.is_ours && report.verdict == verdict;
        let causes: BTreeSet<&str> = self.experiments.iter().filter(of).map(Report::cause_or_id).collect();
        causes.len()
    }
}
