//! Results of all runs.

use super::measure::Cell;
use super::schema::{Entry, FamilyRow, LeftOut, ScenarioResult};

/// Results of all runs.
#[derive(Clone, Debug)]
pub struct Measured<'a> {
    /// The families, in their order.
    pub families: Vec<FamilyRow>,
    /// Policies and baselines.
    pub entries: &'a [Entry],
    /// Results by scenario.
    pub results: &'a [ScenarioResult],
    /// Scenarios that do not count.
    pub left_out: Vec<LeftOut>,
}

impl Measured<'_> {
    pub(super) fn cells(&self, column: usize) -> Vec<Option<&Cell>> {
        self.results
            .iter()
            .map(|result| result.cells[column].as_ref().ok())
            .collect()
    }

    /// Indices of the scenarios of each family.
    pub(super) fn strata(&self) -> Vec<Vec<usize>> {
        let of_family = |family: &FamilyRow| {
            let all = 0..self.results.len();
            all.filter(|&scenario| self.results[scenario].row.family == family.name)
                .collect()
        };
        self.families.iter().map(of_family).collect()
    }
}
