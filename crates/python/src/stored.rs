//! Pickled results. `joulepath/_stored.py` restores them.

use joulepath_report::ReportError;
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::raised::raised;

/// Result of `__reduce__`: the function that restores the object, and its arguments.
pub(crate) type Reduced<'py> = (Bound<'py, PyAny>, (&'static str, Bound<'py, PyAny>));

/// Pickles an object of the class `name`, whose static method `restore` accepts `state`.
pub(crate) fn reduced<'py>(
    py: Python<'py>,
    name: &'static str,
    state: impl IntoPyObject<'py>,
) -> PyResult<Reduced<'py>> {
    let restored = py.import("joulepath._stored")?.getattr("restored")?;
    Ok((restored, (name, state.into_bound_py_any(py)?)))
}

/// A complete result as JSON; its numbers are restored to the last bit.
pub(crate) fn packed(py: Python<'_>, value: &impl Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| raised(py, &ReportError::from(error).into()))
}

/// The inverse of [`packed`].
pub(crate) fn unpacked<T: DeserializeOwned>(state: &str) -> PyResult<T> {
    let other = |error| {
        PyValueError::new_err(format!(
            "it was pickled by another version of Joulepath: {error}"
        ))
    };
    serde_json::from_str(state).map_err(other)
}
