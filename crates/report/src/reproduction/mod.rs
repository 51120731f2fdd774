//! Results of `reproduce`: the papers' claims, measurements and verdicts.
//!
//! | module | contents |
//! |---|---|
//! | this one | the schema of the JSON |
//! | `rule` | turns a measurement into a verdict |
//! | `second` | compares the kernel's findings with the simulator's |
//! | `reason` | combines findings into one verdict and a sentence |
//! | `made` | what made a stored row |
//! | `digits`, `shown` | number of digits of stated and measured numbers |
//! | `table`, `markdown`, `machine` | for the terminal, for the papers' pages, as JSON |

mod digits;
mod machine;
mod made;
mod markdown;
mod reason;
mod rule;
mod second;
mod shown;
mod table;

use std::collections::BTreeSet;

use joulepath_model::result::Estimate;
use serde::{Deserialize, Serialize};

use crate::student::{interval, prediction};

pub use machine::reproduction_json;
pub(crate) use machine::short_json;
pub use made::{Made, Since};
pub use markdown::{reproduction_markdown, reproduction_summary, values_markdown};
pub use reason::{Judged, judge, shown};
pub use rule::{Rule, Verdict};
pub use second::{Agreement, Farthest, SecondMeasurement};
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
    /// Command line that made it.
    pub command: String,
    /// Time of its runs on one core, s, including that of stored runs.
    pub run_s: f64,
    /// Number of runs of simulators and of the kernel.
    pub runs: u64,
    /// Cores of the machine that ran the last run.
    pub cores: u32,
    /// Whether some runs are missing: interrupted or failed.
    pub partial: bool,
    /// Whether the rows are of several commands: commit, command, runs and time are those of the
    /// last one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub merged: bool,
    /// Ids of the experiments that a quick run leaves out unless they are named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// Experiments in the order of the papers.
    pub experiments: Vec<Report>,
    /// The papers of the experiments.
    #[serde(default)]
    pub papers: Vec<Paper>,
    /// The set-ups of the experiments.
    #[serde(default)]
    pub set_ups: Vec<SetUp>,
}

/// A paper.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Paper {
    /// For example `000`.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Authors, journal or conference, year.
    pub published: String,
    /// Number of its experiments, whether they ran or not.
    pub rows: usize,
}

/// Values that the experiments of a set-up use.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SetUp {
    /// Its name, which starts with the paper's id.
    pub name: String,
    /// The values.
    pub values: Vec<UsedValue>,
}

/// A value that experiments use.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UsedValue {
    /// A key of the scenario, an option of a policy (`MPTCP[scheduler]`), or a parameter of the
    /// box.
    pub key: String,
    /// The value; several for a sweep.
    pub value: String,
    /// Its origin.
    pub origin: Origin,
    /// For a printed value the place in the paper, else the derivation or the reason.
    pub why: String,
}

/// Origin of a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// The paper prints it.
    Printed,
    /// It follows from printed values.
    Derived,
    /// The paper leaves it open.
    #[default]
    Chosen,
}

impl Origin {
    /// Name for readers.
    pub fn name(self) -> &'static str {
        match self {
            Origin::Printed => "printed",
            Origin::Derived => "derived",
            Origin::Chosen => "chosen",
        }
    }
}

/// One experiment of a paper.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// For example `000-fig4`.
    pub id: String,
    /// Title in a few words.
    pub title: String,
    /// Paper, section, figure or table.
    pub source: String,
    /// Statement of the paper.
    pub claim: String,
    /// Verdict of our measurements: the weakest verdict of the findings under one reading of the
    /// paper, and the strongest over its readings.
    pub verdict: Verdict,
    /// The reading with this verdict, if there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reading: Option<String>,
    /// Made from the findings: the deciding ones with their numbers; or the reason why nothing can
    /// be measured.
    pub reason: String,
    /// The question that decides it. Experiments with the same cause are not independent evidence.
    #[serde(default)]
    pub cause: String,
    /// Whether it is this project's own statement, which is shown but not counted.
    #[serde(default)]
    pub is_ours: bool,
    /// Name of the set-up with the values that it uses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub values_of: Option<String>,
    /// Runs: scenarios with their overrides, policies, seeds, engine.
    pub set_up: Vec<String>,
    /// Sources of its numbers except the kernel: `packet`, `slotted`, `computed` (closed forms and
    /// solvers); empty without numbers.
    #[serde(default)]
    pub engines: Vec<String>,
    /// Each stated number or relation, with ours.
    pub findings: Vec<Finding>,
    /// The findings in the kernel's own stack, if it ran, and their agreement with the simulator's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<SecondMeasurement>,
    /// Figures as in the paper.
    pub figures: Vec<Figure>,
    /// Number of missing runs.
    pub missing: u64,
    /// Why the kernel does not measure it, if it does not and the reason is known.
    #[serde(default, skip_serializing)]
    pub not_in_kernel: Option<String>,
    /// What made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made: Option<Made>,
}

/// A number or relation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// The measured quantity, for example `EEMPTCP's goodput ÷ LIA's`.
    pub what: String,
    /// Place of the best of a sweep, for example `256kB`. Separate from `what`, because the
    /// kernel's best place may differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub best_at: Option<String>,
    /// Unit of the numbers; empty for ratios.
    pub unit: String,
    /// Rule of the verdict, fixed before anything ran.
    pub rule: Rule,
    /// Our number with its 95 % interval; `None` if it could not be measured.
    pub measured: Option<Estimate>,
    /// Number of values behind it.
    pub n: u32,
    /// Verdict; `None` if it is shown without a judgement.
    pub verdict: Option<Verdict>,
    /// Range of a single run with 95 % probability, to compare with a paper's single run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<(f64, f64)>,
    /// Reading of the paper for this measurement; `None` if there is only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reading: Option<String>,
    /// Whether the claim includes it although it cannot be judged. The reason names it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rival: bool,
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
        Finding {
            what,
            best_at: None,
            unit,
            rule,
            measured,
            n,
            verdict,
            run,
            reading,
            rival: false,
        }
    }

    /// Judges a paper's statement about a single run by the range of one of our runs; `values` are
    /// one per run.
    pub fn of_one_run(what: impl Into<String>, unit: &str, rule: Rule, values: &[f64]) -> Self {
        Finding::new(what, unit, rule, interval(values), values.len()).with_run(prediction(values))
    }

    /// Judges again by the range of a single run.
    pub fn with_run(self, run: Option<(f64, f64)>) -> Self {
        let verdict = self.rule.judge_one_run(self.measured, run);
        Finding {
            verdict,
            run,
            ..self
        }
    }

    /// Sets the reading of the paper.
    pub fn under(self, reading: &str) -> Self {
        Finding {
            reading: Some(reading.to_owned()),
            ..self
        }
    }

    /// The measured quantity and, in a sweep, the place of the best.
    pub(crate) fn what_and_where(&self) -> String {
        let best = self
            .best_at
            .as_ref()
            .map_or(String::new(), |place| format!(", best at {place}"));
        let reading = self
            .reading
            .as_ref()
            .map_or(String::new(), |reading| format!(", {reading}"));
        format!("{}{reading}{best}", self.what)
    }
}

/// A figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// Title.
    pub title: String,
    /// Quantity and unit of the horizontal axis; empty for groups.
    pub x: String,
    /// Quantity and unit of the vertical axis.
    pub y: String,
    /// Content.
    pub plot: Plot,
}

/// Content of a figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Plot {
    /// Lines over numbers.
    Lines {
        /// The lines.
        lines: Vec<Line>,
        /// Whether the horizontal axis is logarithmic.
        #[serde(default)]
        log_x: bool,
    },
    /// Bars with intervals, in groups.
    Bars {
        /// Names of the groups.
        groups: Vec<String>,
        /// Bars, one colour each; values by group.
        bars: Vec<Bars>,
    },
    /// Box plots in groups.
    Boxes {
        /// Names of the groups.
        groups: Vec<String>,
        /// Boxes, one colour each; values by group.
        boxes: Vec<Boxes>,
    },
}

/// A line, with a band if it has intervals.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// Name for the legend.
    pub name: String,
    /// The x values, ascending.
    pub x: Vec<f64>,
    /// The y value for each x; `None` where it is missing.
    pub y: Vec<Option<f64>>,
    /// 95 % interval for each x; empty without intervals.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interval: Vec<(f64, f64)>,
    /// Whether it is the paper's line, which is drawn dashed.
    #[serde(default)]
    pub stated: bool,
}

impl Line {
    /// Our line through `points`.
    pub fn new(
        name: impl Into<String>,
        points: impl IntoIterator<Item = (f64, Option<f64>)>,
    ) -> Self {
        let (x, y) = points.into_iter().unzip();
        Line {
            name: name.into(),
            x,
            y,
            interval: vec![],
            stated: false,
        }
    }

    /// Our line through means, with a band of their intervals.
    pub fn with_band(
        name: impl Into<String>,
        points: impl IntoIterator<Item = (f64, Option<Estimate>)>,
    ) -> Self {
        let (x, estimates): (Vec<f64>, Vec<Option<Estimate>>) = points.into_iter().unzip();
        let ends =
            |ours: &Option<Estimate>| ours.map_or((f64::NAN, f64::NAN), |ours| (ours.lo, ours.hi));
        let means = estimates.iter().map(|ours| ours.map(|ours| ours.mean));
        Line {
            interval: estimates.iter().map(ends).collect(),
            ..Line::new(name, x.into_iter().zip(means))
        }
    }
}

/// Bars of one colour.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bars {
    /// Name for the legend.
    pub name: String,
    /// Values by group.
    pub values: Vec<Option<Estimate>>,
    /// The paper's values by group; empty if it states none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stated: Vec<Option<f64>>,
}

/// Boxes of one colour.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Boxes {
    /// Name for the legend.
    pub name: String,
    /// Values by group.
    pub values: Vec<Option<FiveNumbers>>,
}

/// Tukey's summary of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct FiveNumbers {
    /// Minimum.
    pub min: f64,
    /// Lower quartile.
    pub q1: f64,
    /// Median.
    pub median: f64,
    /// Upper quartile.
    pub q3: f64,
    /// Maximum.
    pub max: f64,
}

impl FiveNumbers {
    /// Summary of `values`; `None` without values.
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
    /// The same with all verdicts derived again from the numbers of its findings. What its paper
    /// leaves open and what was not run stays so.
    #[must_use]
    pub fn judged(mut self) -> Self {
        let again = |findings: &mut Vec<Finding>| {
            for finding in findings {
                finding.verdict = finding.rule.judge_one_run(finding.measured, finding.run);
            }
        };
        again(&mut self.findings);
        if !matches!(self.verdict, Verdict::NotTestable | Verdict::NotRun) {
            let Judged {
                verdict,
                reading,
                reason,
            } = judge(&self.findings);
            let is_slip = self.verdict == Verdict::Erratum && verdict == Verdict::NotReproduced;
            self.verdict = if is_slip { Verdict::Erratum } else { verdict };
            (self.reading, self.reason) = (reading, reason);
        }
        self.kernel = self.kernel.take().and_then(|mut kernel| {
            again(&mut kernel.findings);
            let name = |finding: &Finding| (finding.what.clone(), finding.reading.clone());
            let simulated =
                |real: &Finding| self.findings.iter().find(|other| name(other) == name(real));
            let pairs = kernel
                .findings
                .iter()
                .filter_map(|real| Some((real.clone(), simulated(real)?.clone())));
            let (real, simulated): (Vec<Finding>, Vec<Finding>) = pairs.unzip();
            let again = SecondMeasurement::of(&real, &simulated, self.reading.as_deref())?;
            Some(SecondMeasurement {
                made: kernel.made,
                is_part: kernel.is_part,
                ..again
            })
        });
        self.confirmed()
    }

    /// The same without the verdict *reproduced* if the kernel's own stack does not confirm it.
    #[must_use]
    pub fn confirmed(mut self) -> Self {
        let Some(kernel) = &self.kernel else {
            return self;
        };
        let is_less = !matches!(
            kernel.verdict,
            Verdict::Reproduced | Verdict::NotTestable | Verdict::NotRun
        );
        if self.verdict == Verdict::Reproduced && is_less {
            let part = if kernel.is_part {
                ", which ran a part of it"
            } else {
                ""
            };
            self.verdict = Verdict::InSimulation;
            self.reason += &format!("; in the kernel{part}: {}", kernel.verdict.name());
        }
        self
    }

    /// Its findings under the reading of its verdict, and those that belong to all readings.
    pub(crate) fn findings_of_its_reading(&self) -> impl Iterator<Item = &Finding> {
        let is_of = |finding: &&Finding| {
            self.reading.is_none() || finding.reading.is_none() || finding.reading == self.reading
        };
        self.findings.iter().filter(is_of)
    }

    /// Whether it holds as far as it was judged, but its claim includes more.
    pub(crate) fn holds_in_part(&self) -> bool {
        matches!(self.verdict, Verdict::Reproduced | Verdict::InSimulation)
            && self.findings_of_its_reading().any(|of| of.rival)
    }

    /// The id up to its first dash: `000`.
    pub(crate) fn paper(&self) -> &str {
        self.id
            .split_once('-')
            .map_or(self.id.as_str(), |(paper, _)| paper)
    }

    /// Its cause; the id if it has none.
    fn cause_or_id(&self) -> &str {
        if self.cause.is_empty() {
            &self.id
        } else {
            &self.cause
        }
    }

    /// Kind of the experiment, from its id.
    pub(crate) fn kind(&self) -> &'static str {
        const KINDS: [(&str, &str); 4] = [
            ("fig", "figure"),
            ("tab", "table"),
            ("thm", "theorem"),
            ("alg", "algorithm"),
        ];
        match self.id.split_once('-') {
            Some(("claim", _)) => "claim",
            Some((_, part)) => KINDS
                .iter()
                .find(|(prefix, _)| part.starts_with(prefix))
                .map_or("text", |&(_, kind)| kind),
            None => "text",
        }
    }
}

impl Reproduction {
    /// Papers without repetition, in the order of the experiments.
    pub(crate) fn papers(&self) -> Vec<&str> {
        let mut papers: Vec<&str> = self.experiments.iter().map(Report::paper).collect();
        papers.dedup();
        papers
    }

    /// Number of the papers' experiments with `verdict`.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.experiments
            .iter()
            .filter(|report| !report.is_ours && report.verdict == verdict)
            .count()
    }

    /// Numbers of experiments by the kernel's agreement, in the order of [`Agreement::ALL`].
    pub(crate) fn kernel_counts(&self) -> [usize; Agreement::ALL.len()] {
        let kernels = || {
            self.experiments
                .iter()
                .filter_map(|report| report.kernel.as_ref())
        };
        Agreement::ALL.map(|agreement| {
            kernels()
                .filter(|kernel| kernel.agreement == agreement)
                .count()
        })
    }

    /// Number of independent causes of those experiments; of all of them without `verdict`. A
    /// cause can have rows with different verdicts.
    pub fn causes(&self, verdict: Option<Verdict>) -> usize {
        let of = |report: &&Report| {
            !report.is_ours && verdict.is_none_or(|verdict| report.verdict == verdict)
        };
        let causes: BTreeSet<&str> = self
            .experiments
            .iter()
            .filter(of)
            .map(Report::cause_or_id)
            .collect();
        causes.len()
    }
}
