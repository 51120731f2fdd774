//! Users' controllers: C headers, compiled and loaded.

use std::path::PathBuf;

use joulepath_control::allocate::ALLOCATORS;
use joulepath_control::policy::POLICIES;
use joulepath_control::schedule::SCHEDULERS;
use joulepath_control::select::SELECTORS;
use joulepath_controllers::Controller;
use joulepath_study::own;
use pyo3::prelude::*;

use crate::watched::guarded;

/// Compiles a header and registers its controller; returns name, title, summary, and the compiler's
/// warnings.
#[pyfunction]
pub(crate) fn load_controller(
    py: Python<'_>,
    header: PathBuf,
) -> PyResult<(&'static str, String, &'static str, Vec<String>)> {
    let own = guarded(py, || own::load(&header))?;
    Ok((
        own.controller.name(),
        own.controller.display_name(),
        own.controller.summary(),
        own.warnings,
    ))
}

/// Checks the properties that all built-in controllers have; returns each property with its
/// violation.
#[pyfunction]
pub(crate) fn check_controller(
    py: Python<'_>,
    header: PathBuf,
) -> PyResult<Vec<(&'static str, Option<String>)>> {
    let checked = guarded(py, || own::check::check(&header))?;
    Ok(checked
        .findings
        .into_iter()
        .map(|finding| (finding.property, finding.trouble))
        .collect())
}

/// The text of a new header.
#[pyfunction]
pub(crate) fn controller_template(py: Python<'_>, name: &str) -> PyResult<String> {
    guarded(py, || own::template(name))
}

/// Names that users' parts may not have: policies and controllers, schedulers, selectors,
/// allocators.
#[pyfunction]
pub(crate) fn part_names() -> [Vec<&'static str>; 4] {
    let policies = POLICIES.iter().map(|info| info.name);
    let controllers = Controller::all().map(|controller| controller.name());
    let selectors = ["all", "single"]
        .into_iter()
        .chain(SELECTORS.iter().map(|info| info.name));
    [
        policies.chain(controllers).collect(),
        SCHEDULERS.iter().map(|info| info.name).collect(),
        selectors.collect(),
        std::iter::once("none").chain(ALLOCATORS).collect(),
    ]
}
