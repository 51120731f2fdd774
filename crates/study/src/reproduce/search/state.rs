//! What a claim does at a point.

use joulepath_report::{Finding, Verdict};

use super::super::experiment::Experiment;

/// Three-valued: what the intervals cannot tell is neither.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// By the claim's own rules.
    Holds,
    /// By the same, beyond chance.
    Fails,
    /// Too few runs to say, or none.
    Undecided,
}

/// A claim at a point.
#[derive(Clone, Debug)]
pub(super) struct Judgement {
    pub(super) state: State,
    /// Whether it fails by its size alone: the effect has the stated sign.
    pub(super) has_direction: bool,
    pub(super) findings: Vec<Finding>,
    pub(super) reason: String,
}

impl Judgement {
    /// By the claim's own rules on what was measured. What the search does not measure (time series) says
    /// nothing.
    pub(super) fn of(experiment: &Experiment, findings: Vec<Finding>) -> Self {
        let measured: Vec<Finding> =
            findings.into_iter().filter(|finding| finding.measured.is_some()).collect();
        let judged = experiment.judged(&measured);
        let state = match judged.verdict {
            Verdict::Reproduced => State::Holds,
            Verdict::DirectionOnly | Verdict::NotReproduced | Verdict::Erratum => State::Fails,
            Verdict::Inconclusive | Verdict::CannotBe => State::Undecided,
        };
        let has_direction = judged.verdict == Verdict::DirectionOnly;
        Judgement { state, has_direction, findings: measured, reason: judged.reason }
    }
}
