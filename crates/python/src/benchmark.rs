//! `benchmark`: policies on families of scenarios.

use std::path::PathBuf;

use joulepath_report::benchmark::{
    self as report, Benchmark as Found, Kind, Metric, OfFamily, Row,
};
use joulepath_report::{Field, Record};
use joulepath_study::benchmark::{Plan, benchmark as run};
use joulepath_study::engine::EngineName;
use joulepath_study::stored::StoredRuns;
use pyo3::prelude::*;

use crate::batch::{Batch, text};
use crate::comparison::{asked, open, written};
use crate::provenance::{COMMIT, provenance};
use crate::raised::stopped;
use crate::stored::{Reduced, packed, reduced, unpacked};
use crate::watched::watched;

/// Results of policies on families of scenarios.
#[pyclass(frozen, module = "joulepath._joulepath")]
pub(crate) struct Benchmark {
    benchmark: Found,
}

/// Runs policies on families of scenarios; stores finished runs in the file `runs` if given.
/// `request` is JSON, `command` the user's call.
#[pyfunction]
#[pyo3(signature = (request, runs, progress, command))]
pub(crate) fn benchmark(
    py: Python<'_>,
    request: &str,
    runs: Option<PathBuf>,
    progress: Option<&Bound<'_, PyAny>>,
    command: String,
) -> PyResult<Benchmark> {
    let done = watched(py, progress, |watch, cancel| {
        let plan = Plan::of(&asked(request)?)?;
        let mut stored = runs
            .as_deref()
            .map(|path| StoredRuns::open(path, COMMIT))
            .transpose()?;
        run(
            &plan,
            None,
            &*open(EngineName::Packet)?,
            stored.as_mut(),
            &provenance(command),
            watch,
            cancel,
        )
    })?;
    let benchmark = Benchmark {
        benchmark: done.value,
    };
    match done.stopped {
        None => Ok(benchmark),
        Some(why) => Err(stopped(py, why, || Ok(Py::new(py, benchmark)?.into_any()))),
    }
}

fn number(name: &str, value: Option<f64>) -> (String, Field) {
    (name.to_owned(), Field::Number(value))
}

/// Common columns of rows.
fn head(row: &Row) -> Vec<(String, Field)> {
    let flag = |name: &str, value: bool| (name.to_owned(), Field::Flag(value));
    vec![
        text("policy", &row.entry.policy),
        text("label", &row.entry.label),
        text("parts", &row.entry.parts),
        text("start", row.entry.start.name()),
        flag("takes_too_much", row.takes_too_much),
        flag("harms", row.harms),
    ]
}

/// Ranked families: means over all of them.
fn overall(row: &Row) -> Record {
    let metrics = Kind::Ranked
        .metrics()
        .iter()
        .map(|&metric| number(metric.name(), row.mean(metric)));
    let tier = (
        "tier".to_owned(),
        Field::Count(row.tier.map(|tier| tier as u64)),
    );
    Record {
        fields: head(row).into_iter().chain([tier]).chain(metrics).collect(),
    }
}

/// Random families: one record per family and metric.
fn by_family(row: &Row) -> impl Iterator<Item = Record> {
    let all = row
        .families
        .iter()
        .flat_map(|(family, of)| of.iter().map(move |found| (family, found)));
    all.filter_map(|(family, (&metric, found))| match found {
        OfFamily::Quantiles(found) => Some(of_metric(row, family, metric, found)),
        OfFamily::Mean { .. } => None,
    })
}

fn of_metric(row: &Row, family: &str, metric: Metric, of: &report::Quantiles) -> Record {
    let numbers = [
        text("family", family),
        text("metric", metric.name()),
        ("scenarios".to_owned(), Field::Count(Some(of.n as u64))),
        number("median", Some(of.median.mean)),
        number("median_lo", Some(of.median.lo)),
        number("median_hi", Some(of.median.hi)),
        number("worst_10", Some(of.worst_10.mean)),
        number("worst_10_lo", Some(of.worst_10.lo)),
        number("worst_10_hi", Some(of.worst_10.hi)),
        number("worst", Some(of.worst)),
        text("worst_in", &of.worst_in),
    ];
    Record {
        fields: head(row).into_iter().chain(numbers).collect(),
    }
}

#[pymethods]
impl Benchmark {
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        reduced(py, "Benchmark", packed(py, &self.benchmark)?)
    }

    /// Unpickles.
    #[staticmethod]
    fn restore(state: &str) -> PyResult<Self> {
        Ok(Benchmark {
            benchmark: unpacked(state)?,
        })
    }

    /// Ranked families: one row per policy. Random families: one row per policy, family and metric.
    fn policies(&self) -> Batch {
        let rows = self.benchmark.policies.iter();
        let records: Vec<Record> = match self.benchmark.extent.kind {
            Kind::Ranked => rows.map(overall).collect(),
            Kind::Random => rows.flat_map(by_family).collect(),
        };
        Batch::of_records(&records)
    }

    #[getter]
    fn partial(&self) -> bool {
        self.benchmark.extent.partial
    }

    fn table(&self, width: usize, wider: &str) -> String {
        report::table(&self.benchmark, width, wider)
    }

    fn json(&self, py: Python<'_>) -> PyResult<String> {
        written(py, self.benchmark.json())
    }

    fn csv(&self, py: Python<'_>) -> PyResult<String> {
        written(py, self.benchmark.csv())
    }

    fn html(&self, py: Python<'_>) -> PyResult<String> {
        written(py, report::html(&self.benchmark))
    }
}
