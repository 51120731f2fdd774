//! Paper 003: so-MPTCP on the slotted system.

use super::experiment::Experiment;

pub(super) fn experiments() -> Vec<Experiment> {
    vec![]
}
