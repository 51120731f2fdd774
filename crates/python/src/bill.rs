//! `bill`: the joules of recorded traffic.

use std::path::PathBuf;

use joulepath_report::ReportError;
use joulepath_report::bill::Machine;
use joulepath_study::bill::{Words, bill as answer};
use pyo3::prelude::*;

use crate::comparison::written;
use crate::watched::guarded;

/// The bill of a capture or a HAR file as JSON.
#[pyfunction]
#[pyo3(signature = (file, radios, device, addresses, waits))]
pub(crate) fn bill(
    py: Python<'_>,
    file: PathBuf,
    radios: Vec<String>,
    device: Option<String>,
    addresses: Vec<String>,
    waits: Vec<String>,
) -> PyResult<String> {
    let words = Words {
        file,
        radios,
        device,
        addresses,
        waits,
    };
    let statement = guarded(py, || answer(&words))?;
    written(
        py,
        serde_json::to_string(&Machine::of(&statement)).map_err(ReportError::from),
    )
}
