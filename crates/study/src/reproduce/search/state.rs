//! State of a claim at a point.

use joulepath_report::{Finding, Verdict};

use super::super::experiment::Experiment;

/// Three values, because intervals can leave it undecided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// It holds by the claim's own rules.
    Holds,
    /// It fails by the same rules, beyond chance.
    Fails,
    /// Too few runs to decide, or none.
    Undecided,
}

#[derive(Clone, Debug)]
pub(super) struct Judgement {
    pub(super) state: State,
    /// Whether only the size fails: the effect has the stated sign.
    pub(super) has_direction: bool,
    pub(super) findings: Vec<Finding>,
    pub(super) reason: String,
}

impl Judgement {
    /// Judges by the claim's own rules. Findings that the search does not measure (time series)
    /// have no effect.
    pub(super) fn of(experiment: &Experiment, findings: Vec<Finding>) -> Self {
        let measured: Vec<Finding> = findings
            .into_iter()
            .filter(|finding| finding.measured.is_some())
            .collect();
        let judged = experiment.judged(&measured);
        let state = match judged.verdict {
            Verdict::Reproduced | Verdict::InSimulation => State::Holds,
            Verdict::DirectionOnly | Verdict::NotReproduced | Verdict::Erratum => State::Fails,
            Verdict::Inconclusive | Verdict::NotTestable | Verdict::NotRun => State::Undecided,
        };
        let has_direction = judged.verdict == Verdict::DirectionOnly;
        Judgement {
            state,
            has_direction,
            findings: measured,
            reason: judged.reason,
        }
    }
}
