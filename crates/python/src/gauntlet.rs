//! `gauntlet`: policies on drawn scenarios, by median, worst tenth and worst draw.

use std::path::PathBuf;

use joulepath_report::gauntlet::{self as report, Gauntlet as Found, Metric, Quantiles, Row};
use joulepath_report::{Field, Record};
use joulepath_study::error::{Error, Result};
use joulepath_study::league::gauntlet::{DRAWS_CHECK, Request, gauntlet as play};
use joulepath_study::league::{Family, Range};
use joulepath_study::policies;
use joulepath_study::stored::StoredRuns;
use pyo3::prelude::*;

use crate::batch::{Batch, text};
use crate::comparison::{jobs, open, written};
use crate::provenance::{COMMIT, provenance};
use crate::raised::stopped;
use crate::stored::{Reduced, packed, reduced, unpacked};
use crate::watched::watched;

/// What policies did in the draws of a range.
#[pyclass(frozen, module = "joulepath._joulepath")]
pub(crate) struct Gauntlet {
    gauntlet: Found,
}

/// Runs policies on the draws of families of the gauntlet; finished runs are kept in the file `runs` if one
/// is named.
#[pyfunction]
#[pyo3(signature = (families, policies, warm, range, draws, seeds, runs, jobs, progress, command))]
#[expect(clippy::too_many_arguments, reason = "they are the arguments of one call in Python")]
pub(crate) fn gauntlet(
    py: Python<'_>,
    families: Vec<String>,
    policies: Option<&str>,
    warm: Option<&str>,
    range: &str,
    draws: Option<u32>,
    seeds: Option<u32>,
    runs: Option<PathBuf>,
    jobs: Option<usize>,
    progress: Option<&Bound<'_, PyAny>>,
    command: String,
) -> PyResult<Gauntlet> {
    let done = watched(py, progress, |watch, cancel| {
        let range: Range = range.parse()?;
        if range == Range::Sealed {
            return Err(Error::usage("sealed draws are run with a log that says when and at which commit")
                .with_help(
                    "`joulepath league --family gauntlet --range sealed --sealed-log FILE` keeps one",
                ));
        }
        let listed = |list: Option<&str>| list.map_or(Ok(vec![]), policies::parse);
        let request = Request {
            families: families.iter().map(|name| family(name)).collect::<Result<_>>()?,
            range,
            first: 1,
            draws: draws.unwrap_or(DRAWS_CHECK),
            policies: listed(policies)?,
            warm: listed(warm)?,
            seeds,
            jobs: self::jobs(jobs)?,
        };
        let mut stored = runs.as_deref().map(|path| StoredRuns::open(path, COMMIT)).transpose()?;
        play(&request, None, &*open("packet")?, stored.as_mut(), &provenance(command), watch, cancel)
    })?;
    let gauntlet = Gauntlet { gauntlet: done.value };
    match done.stopped {
        None => Ok(gauntlet),
        Some(why) => Err(stopped(py, why, || Ok(Py::new(py, gauntlet)?.into_any()))),
    }
}

/// A family of the gauntlet by its name.
fn family(name: &str) -> Result<Family> {
    let family: Family = name.parse()?;
    match family.is_of_gauntlet() {
        true => Ok(family),
        false => Err(Error::usage(format!("`{name}` is a family of the league"))
            .with_help("run it with joulepath.league; those of the gauntlet are judged in another way")),
    }
}

/// One row: a contender in a family by a metric.
fn record(row: &Row, family: &str, metric: Metric, of: &Quantiles) -> Record {
    let number = |name: &str, value: f64| (name.to_owned(), Field::Number(Some(value)));
    let flag = |name: &str, value: bool| (name.to_owned(), Field::Flag(value));
    Record {
        fields: vec![
            text("policy", &row.policy),
            text("label", &row.label),
            text("start", row.start.name()),
            text("family", family),
            text("metric", metric.name()),
            ("draws".to_owned(), Field::Count(Some(of.n as u64))),
            number("median", of.median.mean),
            number("median_lo", of.median.lo),
            number("median_hi", of.median.hi),
            number("p10", of.p10.mean),
            number("p10_lo", of.p10.lo),
            number("p10_hi", of.p10.hi),
            number("worst", of.worst),
            text("worst_draw", &of.worst_in),
            flag("takes_too_much", row.takes_too_much),
            flag("harms", row.harms),
        ],
    }
}

#[pymethods]
impl Gauntlet {
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        reduced(py, "Gauntlet", packed(py, &self.gauntlet)?)
    }

    /// As it was before it was pickled.
    #[staticmethod]
    fn restore(state: &str) -> PyResult<Self> {
        Ok(Gauntlet { gauntlet: unpacked(state)? })
    }

    /// One row for each policy, family and metric.
    fn policies(&self) -> Batch {
        let of_row = |row: &Row| -> Vec<Record> {
            let families = row.families.iter();
            let metrics =
                families.flat_map(|(family, of)| of.iter().map(move |(metric, of)| (family, metric, of)));
            metrics.map(|(family, &metric, of)| record(row, family, metric, of)).collect()
        };
        Batch::of_records(&self.gauntlet.contenders.iter().flat_map(of_row).collect::<Vec<_>>())
    }

    #[getter]
    fn partial(&self) -> bool {
        self.gauntlet.partial
    }

    fn table(&self, width: usize) -> String {
        report::table(&self.gauntlet, width)
    }

    fn json(&self, py: Python<'_>) -> PyResult<String> {
        written(py, self.gauntlet.json())
    }

    fn csv(&self, py: Python<'_>) -> PyResult<String> {
        written(py, self.gauntlet.csv())
    }

    fn html(&self, py: Python<'_>) -> PyResult<String> {
        written(py, report::html(&self.gauntlet))
    }
}
