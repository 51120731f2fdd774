//! What an experiment is: a claim, what has to run for it, and how what ran is examined.

use joulepath_report::{Figure, Finding, Judged, Verdict, judge, shown};

use super::evidence::Evidence;
use super::slotted::Batch;
use super::study::Study;

/// Part of a stated number by which ours may miss it. One for all experiments, so that none has its own.
pub(super) const OF_A_NUMBER: f64 = 0.1;
/// Part of a stated effect (its distance from 1) by which ours may miss it.
pub(super) const OF_AN_EFFECT: f64 = 0.2;

/// One experiment of a paper: a row of figures or a table, or a claim across papers.
#[derive(Clone)]
pub(super) struct Experiment {
    /// `000-fig4`.
    pub(super) id: &'static str,
    /// A few words.
    pub(super) title: &'static str,
    /// Paper, section, figure, table.
    pub(super) source: &'static str,
    /// What the paper says: a number or an order relation.
    pub(super) claim: &'static str,
    /// The one question on which it stands or falls. Rows that share it are no independent witnesses.
    pub(super) cause: &'static str,
    /// Whether there is anything to judge.
    pub(super) standing: Standing,
    /// What has to run.
    pub(super) studies: Vec<Study>,
    /// What has to run on 003's slotted system.
    pub(super) slots: Vec<Batch>,
    /// From the runs to findings and figures; runs may be missing.
    pub(super) examine: fn(&Evidence<'_>) -> Examined,
}

/// What kind of statement it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// One that measurements judge.
    Measured,
    /// One on which the paper says too little for any verdict, and why; what is measured is shown all the
    /// same.
    Open(&'static str),
    /// A slip: the paper's own equations say otherwise. A finding that fails shows it.
    Slip,
    /// Not the paper's, but this project's: it does not count among the papers' claims.
    Ours,
}

/// What came out.
#[derive(Default)]
pub(super) struct Examined {
    /// Each number or relation.
    pub(super) findings: Vec<Finding>,
    /// As the paper draws them.
    pub(super) figures: Vec<Figure>,
}

impl Experiment {
    /// What its findings say together.
    pub(super) fn judged(&self, findings: &[Finding]) -> Judged {
        let judged = judge(findings);
        match self.standing {
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
