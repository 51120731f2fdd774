//! `bill`: the joules of recorded traffic.

use joulepath_report::ReportError;
use joulepath_report::bill::Machine;
use joulepath_study::bill::bill as answer;
use pyo3::prelude::*;

use crate::comparison::{asked, written};
use crate::watched::guarded;

/// The bill of a capture or a HAR file as JSON, as is `request`.
#[pyfunction]
pub(crate) fn bill(py: Python<'_>, request: &str) -> PyResult<String> {
    let statement = guarded(py, || answer(&asked(request)?))?;
    written(
        py,
        serde_json::to_string(&Machine::of(&statement)).map_err(ReportError::from),
    )
}
