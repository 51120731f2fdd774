//! `map`: the winning policy at each point of a plane of two keys.

use joulepath_report::map::{self as report, Map as Drawn};
use joulepath_study::map::{Plan, Request, map as run};
use pyo3::prelude::*;

use crate::batch::{Batch, Values};
use crate::comparison::{asked, open, written};
use crate::provenance::provenance;
use crate::raised::stopped;
use crate::scenario::Scenario;
use crate::stored::{Reduced, packed, reduced, unpacked};
use crate::watched::watched;

/// A map with all results.
#[pyclass(frozen, module = "joulepath._joulepath")]
pub(crate) struct Map {
    map: Drawn,
}

/// Runs every point of a plane. `request` is JSON, `command` the user's call.
#[pyfunction]
#[pyo3(signature = (scenario, request, progress, command))]
pub(crate) fn map(
    py: Python<'_>,
    scenario: &Scenario,
    request: &str,
    progress: Option<&Bound<'_, PyAny>>,
    command: String,
) -> PyResult<Map> {
    // Loading hundreds of points also takes time.
    let done = watched(py, progress, |watch, cancel| {
        let request = Request {
            variant: scenario.variant.clone(),
            set: scenario.set.clone(),
            ..asked(request)?
        };
        let [engine, packet] = request.engines(open)?;
        let plan = Plan::unless(cancel, &scenario.source, &request, &*engine, &*packet)?;
        Ok(plan.map(|plan| run(&plan, &provenance(command), watch, cancel)))
    })?;
    let map = done.value.map(|map| Map { map });
    match (done.stopped, map) {
        (None, map) => Ok(map.expect("only what was stopped has no map")),
        (Some(why), Some(map)) => Err(stopped(py, why, || Ok(Py::new(py, map)?.into_any()))),
        (Some(why), None) => Err(stopped(py, why, || Ok(py.None()))),
    }
}

#[pymethods]
impl Map {
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        reduced(py, "Map", packed(py, &self.map)?)
    }

    /// Unpickles.
    #[staticmethod]
    fn restore(state: &str) -> PyResult<Self> {
        Ok(Map {
            map: unpacked(state)?,
        })
    }

    /// One row per policy and point: the columns of the command line's CSV.
    fn points(&self) -> Batch {
        let Drawn {
            axes: [x, y],
            policies,
            values,
            winners,
            metric,
            ..
        } = &self.map;
        let count = self.map.points();
        let rows =
            || (0..count).flat_map(|point| (0..policies.len()).map(move |policy| (point, policy)));
        let number = |of: &dyn Fn(usize, usize) -> Option<f64>| {
            Values::Number(rows().map(|(point, policy)| of(point, policy)).collect())
        };
        let verdict = |point: usize| &winners.verdicts[point];
        let columns = [
            (
                "x",
                number(&|point, _| Some(x.numbers[self.map.column_and_row(point).0])),
            ),
            (
                "y",
                number(&|point, _| Some(y.numbers[self.map.column_and_row(point).1])),
            ),
            (
                "policy",
                Values::Text(
                    rows()
                        .map(|(_, policy)| policies[policy].policy.clone())
                        .collect(),
                ),
            ),
            (metric.name, number(&|point, policy| values[policy][point])),
            (
                "best",
                Values::Flag(
                    rows()
                        .map(|(point, p)| verdict(point).best == Some(p))
                        .collect(),
                ),
            ),
            (
                "tied",
                Values::Flag(
                    rows()
                        .map(|(point, p)| verdict(point).ties.contains(&p))
                        .collect(),
                ),
            ),
        ];
        Batch::of(
            columns
                .map(|(name, values)| (name.to_owned(), values))
                .into(),
        )
    }

    /// Title, unit, values and whether the steps are ratios, for x and y.
    fn axes(&self) -> Vec<(String, String, Vec<f64>, bool)> {
        let axis = |axis: &report::Axis| {
            (
                axis.keys.join(", "),
                axis.unit.clone(),
                axis.numbers.clone(),
                axis.log,
            )
        };
        self.map.axes.iter().map(axis).collect()
    }

    fn policies(&self) -> Vec<String> {
        self.map
            .policies
            .iter()
            .map(|policy| policy.policy.clone())
            .collect()
    }

    #[getter]
    fn title(&self) -> &str {
        &self.map.title
    }

    #[getter]
    fn metric(&self) -> &'static str {
        self.map.metric.name
    }

    #[getter]
    fn partial(&self) -> bool {
        self.map.partial
    }

    fn table(&self, width: usize, color: bool) -> String {
        report::table(&self.map, width, color)
    }

    fn json(&self, py: Python<'_>) -> PyResult<String> {
        written(py, report::json(&self.map))
    }

    fn csv(&self) -> String {
        report::csv(&self.map)
    }

    fn html(&self, py: Python<'_>) -> PyResult<String> {
        written(py, report::html(&self.map))
    }
}
