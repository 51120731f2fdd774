//! Experiments: a claim, its runs, and the results read from them.

use std::sync::Arc;

use joulepath_report::{Figure, Finding, Judged, Rule, Verdict, judge, shown};

use super::boxes::ClaimBox;
use super::evidence::Evidence;
use super::figure::Drawing;
use super::finding::Row;
use super::inputs::Inputs;
use super::study::Study;

/// An experiment of a paper: some figures or a table, or a claim across papers.
#[derive(Clone)]
pub(super) struct Experiment {
    /// For example `000-fig4`.
    pub(super) id: String,
    /// Title in a few words.
    pub(super) title: String,
    /// Paper, section, figure or table.
    pub(super) source: String,
    /// Statement of the paper: a number or an order relation.
    pub(super) claim: String,
    /// The question that decides it. Experiments with the same cause are not independent evidence.
    pub(super) cause: String,
    /// Whether and how it is judged.
    pub(super) standing: Standing,
    /// In a search it gets the weakest verdict of these experiments.
    pub(super) weaker_of: Vec<String>,
    pub(super) studies: Vec<Study>,
    /// Name of the set-up.
    pub(super) set_up: Option<String>,
    /// Box that a search covers.
    pub(super) in_box: Option<Arc<ClaimBox>>,
    pub(super) findings: Vec<Row>,
    pub(super) figures: Vec<Drawing>,
    /// Why the kernel does not measure it, if it does not.
    pub(super) not_in_kernel: Option<String>,
    /// What its results depend on in its files.
    pub(super) inputs: Inputs,
}

/// Kind of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// Measurements judge it.
    Measured,
    /// The paper says too little for a verdict, for this reason. Measurements are shown.
    Open(String),
    /// A slip of the paper, contradicted by its own equations: a failing finding shows it.
    Slip,
    /// This project's statement, which does not count among the papers' claims.
    Ours,
}

impl Experiment {
    /// Measures and judges. Runs may be missing.
    pub(super) fn findings(&self, evidence: &Evidence<'_>) -> Vec<Finding> {
        let applies = |row: &&Row| row.applies(evidence, self.in_box.as_deref());
        let rows: Vec<&Row> = self.findings.iter().filter(applies).collect();
        let mut findings: Vec<Finding> = rows.iter().map(|row| row.finding(evidence)).collect();
        // The best candidate decides a claim about the best case; the others are shown.
        let mean = |finding: &Finding| finding.measured.map_or(f64::INFINITY, |ours| ours.mean);
        for (at, row) in rows.iter().enumerate() {
            let Some(group) = &row.candidate else {
                continue;
            };
            let group =
                (0..rows.len()).filter(|&other| rows[other].candidate.as_ref() == Some(group));
            let best = group.min_by(|&a, &b| mean(&findings[a]).total_cmp(&mean(&findings[b])));
            if best != Some(at) {
                findings[at] = Finding {
                    rule: Rule::Shown,
                    verdict: None,
                    ..findings[at].clone()
                };
            }
        }
        findings
    }

    /// Whether the kernel runs some of its studies only.
    pub(super) fn runs_in_part_in_kernel(&self) -> bool {
        let in_kernel = |study: &&Study| study.kernel.is_some();
        let ran = self.studies.iter().filter(in_kernel).count();
        0 < ran && ran < self.studies.len()
    }

    /// The experiment with only the runs on which its verdict depends.
    pub(super) fn with_deciding_runs(&self) -> Self {
        let mut deciding = self.clone();
        for study in &mut deciding.studies {
            let decides = |policy: &str| {
                let mut rows = self.findings.iter();
                rows.any(|row| row.decides(&study.name, policy))
            };
            study.policies.retain(|of| decides(&of.name));
        }
        deciding
    }

    /// Figures as in the paper.
    pub(super) fn figures(&self, evidence: &Evidence<'_>) -> Vec<Figure> {
        self.figures
            .iter()
            .map(|drawing| drawing.figure(evidence))
            .collect()
    }

    /// Joint verdict of its findings.
    pub(super) fn judged(&self, findings: &[Finding]) -> Judged {
        let judged = judge(findings);
        match &self.standing {
            Standing::Measured | Standing::Ours => judged,
            Standing::Slip if judged.verdict == Verdict::NotReproduced => Judged {
                verdict: Verdict::Erratum,
                ..judged
            },
            Standing::Slip => judged,
            Standing::Open(why) => {
                let shown = shown(findings);
                let measured = if shown.is_empty() {
                    shown
                } else {
                    format!(". Measured: {shown}")
                };
                Judged {
                    verdict: Verdict::NotTestable,
                    reading: None,
                    reason: format!("{why}{measured}"),
                }
            }
        }
    }

    /// Name of its set-up if both are of one paper.
    pub(super) fn set_up_of_its_paper(&self) -> Option<&str> {
        let paper = self.id.split('-').next().unwrap_or_default();
        self.set_up
            .as_deref()
            .filter(|set_up| set_up.starts_with(paper))
    }

    /// Judged findings that need time series.
    pub(super) fn needs_series(&self) -> Vec<String> {
        self.findings
            .iter()
            .filter(|row| row.needs_series())
            .map(|row| row.what().to_owned())
            .collect()
    }

    /// Whether it is part of `--quick`.
    pub(super) fn is_quick(&self) -> bool {
        self.studies.iter().all(|study| study.quick > 0)
    }
}
