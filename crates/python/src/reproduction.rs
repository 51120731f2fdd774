//! `reproduce`: checks the papers' claims.

use std::path::PathBuf;

use joulepath_report::{
    Field, Record, Reproduction as Reproduced, reproduction_html, reproduction_json,
    reproduction_table,
};
use joulepath_study::engine::EngineName;
use joulepath_study::reproduce::{Extent, Plan, Request, describe, reproduce as run};
use joulepath_study::stored::StoredRuns;
use pyo3::prelude::*;

use crate::batch::{Batch, text};
use crate::comparison::{jobs, open, written};
use crate::provenance::{COMMIT, provenance};
use crate::raised::stopped;
use crate::stored::{Reduced, packed, reduced, unpacked};
use crate::watched::{guarded, watched};

/// Verdicts on the papers' claims.
#[pyclass(frozen, module = "joulepath._joulepath")]
pub(crate) struct Reproduction {
    reproduction: Reproduced,
}

/// The experiments with an id that starts with one of `ids`; all without `ids`.
#[pyfunction]
pub(crate) fn experiments(py: Python<'_>, ids: Vec<String>) -> PyResult<Batch> {
    let found = guarded(py, || describe(&ids))?;
    let record = |experiment: &joulepath_study::reproduce::Description| Record {
        fields: vec![
            text("id", &experiment.id),
            text("title", &experiment.title),
            text("claim", &experiment.claim),
            text("source", &experiment.source),
            ("quick".to_owned(), Field::Flag(experiment.quick)),
        ],
    };
    Ok(Batch::of_records(
        &found.iter().map(record).collect::<Vec<_>>(),
    ))
}

/// Runs experiments of the papers, without the second measurement in the kernel; stores finished
/// runs in the file `runs` if given.
#[pyfunction]
#[pyo3(signature = (ids, full, runs, jobs, progress, command))]
pub(crate) fn reproduce(
    py: Python<'_>,
    ids: Vec<String>,
    full: bool,
    runs: Option<PathBuf>,
    jobs: Option<usize>,
    progress: Option<&Bound<'_, PyAny>>,
    command: String,
) -> PyResult<Reproduction> {
    let done = watched(py, progress, |watch, cancel| {
        let extent = if full { Extent::Full } else { Extent::Quick };
        let request = Request {
            ids,
            extent,
            jobs: self::jobs(jobs)?,
        };
        let (plan, _) = Plan::of(&request, open(EngineName::Packet)?, None)?;
        let mut stored = match &runs {
            Some(path) => StoredRuns::open(path, COMMIT)?,
            None => StoredRuns::default(),
        };
        Ok(run(&plan, &mut stored, &provenance(command), watch, cancel))
    })?;
    let reproduction = Reproduction {
        reproduction: done.value,
    };
    match done.stopped {
        None => Ok(reproduction),
        Some(why) => Err(stopped(py, why, || {
            Ok(Py::new(py, reproduction)?.into_any())
        })),
    }
}

#[pymethods]
impl Reproduction {
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        reduced(py, "Reproduction", packed(py, &self.reproduction)?)
    }

    /// Unpickles.
    #[staticmethod]
    fn restore(state: &str) -> PyResult<Self> {
        Ok(Reproduction {
            reproduction: unpacked(state)?,
        })
    }

    /// One row per experiment.
    fn verdicts(&self) -> Batch {
        let record = |experiment: &joulepath_report::Report| {
            let fields = [
                ("id", experiment.id.clone()),
                ("title", experiment.title.clone()),
                ("claim", experiment.claim.clone()),
                ("source", experiment.source.clone()),
                ("verdict", experiment.verdict.name().to_owned()),
                ("reason", experiment.reason.clone()),
                ("cause", experiment.cause.clone()),
            ];
            Record {
                fields: fields
                    .map(|(name, text)| (name.to_owned(), Field::Text(text)))
                    .into(),
            }
        };
        Batch::of_records(
            &self
                .reproduction
                .experiments
                .iter()
                .map(record)
                .collect::<Vec<_>>(),
        )
    }

    #[getter]
    fn partial(&self) -> bool {
        self.reproduction.partial
    }

    fn table(&self, width: usize, color: bool) -> String {
        reproduction_table(&self.reproduction, width, color)
    }

    fn json(&self, py: Python<'_>) -> PyResult<String> {
        written(py, reproduction_json(&self.reproduction))
    }

    fn html(&self, py: Python<'_>) -> PyResult<String> {
        written(py, reproduction_html(&self.reproduction))
    }
}
