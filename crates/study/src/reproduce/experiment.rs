//! What an experiment is: a claim, what has to run for it, and what is read off the runs.

use std::sync::Arc;

use joulepath_report::{Figure, Finding, Judged, Rule, Verdict, judge, shown};

use super::boxes::ClaimBox;
use super::evidence::Evidence;
use super::figure::Drawing;
use super::finding::Row;
use super::study::Study;

/// One experiment of a paper: a row of figures or a table, or a claim across papers.
#[derive(Clone)]
pub(super) struct Experiment {
    /// `000-fig4`.
    pub(super) id: String,
    /// A few words.
    pub(super) title: String,
    /// Paper, section, figure, table.
    pub(super) source: String,
    /// What the paper says: a number or an order relation.
    pub(super) claim: String,
    /// The one question on which it stands or falls. Rows that share it are no independent witnesses.
    pub(super) cause: String,
    /// Whether there is anything to judge.
    pub(super) standing: Standing,
    /// A search gives it the weakest verdict of these rows.
    pub(super) weaker_of: Vec<String>,
    /// What has to run.
    pub(super) studies: Vec<Study>,
    /// The box that a search covers.
    pub(super) in_box: Option<Arc<ClaimBox>>,
    pub(super) findings: Vec<Row>,
    pub(super) figures: Vec<Drawing>,
}

/// What kind of statement it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// Measurements judge it.
    Measured,
    /// The paper says too little for any verdict, and why. Measurements are shown all the same.
    Open(String),
    /// A slip: the paper's own equations say otherwise. A finding that fails shows it.
    Slip,
    /// This project's statement, not a paper's: it does not count among the papers' claims.
    Ours,
}

impl Experiment {
    /// Measures and judges. Runs may be missing.
    pub(super) fn findings(&self, evidence: &Evidence<'_>) -> Vec<Finding> {
        let applies = |row: &&Row| row.applies(evidence, self.in_box.as_deref());
        let rows: Vec<&Row> = self.findings.iter().filter(applies).collect();
        let mut findings: Vec<Finding> = rows.iter().map(|row| row.finding(evidence)).collect();
        // A claim on the best case stands on the best candidate; the others are shown.
        let mean = |finding: &Finding| finding.measured.map_or(f64::INFINITY, |ours| ours.mean);
        for (at, row) in rows.iter().enumerate() {
            let Some(group) = &row.candidate else { continue };
            let group = (0..rows.len()).filter(|&other| rows[other].candidate.as_ref() == Some(group));
            let best = group.min_by(|&a, &b| mean(&findings[a]).total_cmp(&mean(&findings[b])));
            if best != Some(at) {
                findings[at] = Finding { rule: Rule::Shown, verdict: None, ..findings[at].clone() };
            }
        }
        findings
    }

    /// As the paper draws them.
    pub(super) fn figures(&self, evidence: &Evidence<'_>) -> Vec<Figure> {
        self.figures.iter().map(|drawing| drawing.figure(evidence)).collect()
    }

    /// What its findings say together.
    pub(super) fn judged(&self, findings: &[Finding]) -> Judged {
        let judged = judge(findings);
        match &self.standing {
            Standing::Measured | Standing::Ours => judged,
            Standing::Slip if judged.verdict == Verdict::NotReproduced => {
                Judged { verdict: Verdict::Erratum, ..judged }
            }
            Standing::Slip => judged,
            Standing::Open(why) => {
                let shown = shown(findings);
                let measured = if shown.is_empty() { shown } else { format!(". Measured: {shown}") };
                Judged { verdict: Verdict::CannotBe, reading: None, reason: format!("{why}{measured}") }
            }
        }
    }

    /// Whether it is part of `--quick`.
    pub(super) fn is_quick(&self) -> bool {
        self.studies.iter().all(|study| study.quick > 0)
    }
}
