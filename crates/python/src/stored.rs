//! Results in other processes: what a pickle holds of them. `joulepath/_stored.py` makes them again.

use joulepath_report::ReportError;
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::raised::raised;

/// What `__reduce__` returns: the function that makes the object again, and its arguments.
pub(crate) type Reduced<'py> = (Bound<'py, PyAny>, (&'static str, Bound<'py, PyAny>));

/// An object of the class `name`, which its static method `restore` makes of `state`.
pub(crate) fn reduced<'py>(
    py: Python<'py>,
    name: &'static str,
    state: impl IntoPyObject<'py>,
) -> PyResult<Reduced<'py>> {
    let restored = py.import("joulepath._stored")?.getattr("restored")?;
    Ok((restored, (name, state.into_bound_py_any(py)?)))
}

/// All of a result, as JSON; its numbers come back to the last bit.
pub(crate) fn packed(py: Python<'_>, value: &impl Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| raised(py, &ReportError::from(error).into()))
}

/// What [`packed`] has made.
pub(crate) fn unpacked<T: DeserializeOwned>(state: &str) -> PyResult<T> {
    let other =
        |error| PyValueError::new_err(format!("it was pickled by another version of Joulepath: {error}"));
    serde_json::from_str(state).map_err(other)
}
