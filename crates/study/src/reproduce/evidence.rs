//! Runs of an experiment, for its findings and figures.

use joulepath_model::result::Estimate;
use joulepath_report::interval;

use super::metrics::{Metric, Run};
use super::study::Study;

/// A metric of a policy's runs in a study.
#[derive(Clone, Copy)]
pub(super) struct Cell<'a> {
    pub(super) study: &'a str,
    pub(super) policy: &'a str,
    pub(super) metric: Metric,
}

/// Finished runs. Estimates ignore missing runs.
pub(super) struct Evidence<'a> {
    studies: &'a [Study],
    /// Runs by study and policy, in the order of the seeds.
    runs: Vec<Vec<Vec<Run<'a>>>>,
    /// Readings of the paper that differ from the usual ones, by parameter.
    readings: &'a [(String, String)],
}

impl<'a> Evidence<'a> {
    /// `runs` by study and policy, in the order of the studies.
    pub(super) fn new(studies: &'a [Study], runs: Vec<Vec<Vec<Run<'a>>>>) -> Self {
        Evidence {
            studies,
            runs,
            readings: &[],
        }
    }

    /// The same runs under readings that differ from the usual ones.
    pub(super) fn under(self, readings: &'a [(String, String)]) -> Self {
        Evidence { readings, ..self }
    }

    /// Reading of a parameter; `None` if it is the usual one.
    pub(super) fn reading(&self, what: &str) -> Option<&'a str> {
        self.readings
            .iter()
            .find(|(known, _)| known == what)
            .map(|(_, reading)| reading.as_str())
    }

    /// Place of a study on the axis of a sweep; `None` if it did not run.
    pub(super) fn x(&self, study: &str) -> Option<f64> {
        self.studies.iter().find(|known| known.name == study)?.x
    }

    /// Runs of a policy in a study; empty if a search leaves them out.
    pub(super) fn of(&self, study: &str, policy: &str) -> &[Run<'a>] {
        let Some(index) = self.studies.iter().position(|known| known.name == study) else {
            return &[];
        };
        let place = self.studies[index]
            .policies
            .iter()
            .position(|known| known.name == policy);
        place.map_or(&[], |place| &self.runs[index][place])
    }

    /// Finite values of a metric, by seed.
    pub(super) fn values(&self, cell: Cell<'_>) -> Vec<f64> {
        let runs = self.of(cell.study, cell.policy).iter();
        runs.map(|&run| cell.metric.of(run))
            .filter(|value| value.is_finite())
            .collect()
    }

    /// Mean of a metric over the seeds.
    pub(super) fn mean(&self, cell: Cell<'_>) -> Option<Estimate> {
        interval(&self.values(cell))
    }

    /// Numerator and denominator for every seed that all `cells` have, summed over the cells with
    /// both, so that small effects at many sizes add up.
    pub(super) fn pairs(&self, cells: &[(Cell<'_>, Cell<'_>)]) -> Vec<(f64, f64)> {
        let runs = |cell: Cell<'_>| self.of(cell.study, cell.policy);
        let ran = |(above, below): &&(Cell<'_>, Cell<'_>)| {
            !runs(*above).is_empty() && !runs(*below).is_empty()
        };
        let cells: Vec<&(Cell<'_>, Cell<'_>)> = cells.iter().filter(ran).collect();
        let of_seed = |seed: u64| {
            let number = |cell: Cell<'_>| {
                let run = runs(cell).iter().find(|run| run.seed() == seed)?;
                Some(cell.metric.of(*run)).filter(|value| value.is_finite())
            };
            let above = cells
                .iter()
                .map(|cells| number(cells.0))
                .sum::<Option<f64>>()?;
            Some((
                above,
                cells
                    .iter()
                    .map(|cells| number(cells.1))
                    .sum::<Option<f64>>()?,
            ))
        };
        let first = cells.first().map_or(&[][..], |cells| runs(cells.0));
        first.iter().filter_map(|run| of_seed(run.seed())).collect()
    }
}
