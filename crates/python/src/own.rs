//! Controllers of users: C headers that are compiled and loaded.

use std::path::PathBuf;

use joulepath_control::allocate::ALLOCATORS;
use joulepath_control::policy::POLICIES;
use joulepath_control::schedule::SCHEDULERS;
use joulepath_control::select::SELECTORS;
use joulepath_controllers::Controller;
use joulepath_study::own;
use pyo3::prelude::*;

use crate::watched::guarded;

/// Compiles a header and makes its controller known: its name, its title, its summary, and what the compiler
/// warned of.
#[pyfunction]
pub(crate) fn load_controller(
    py: Python<'_>,
    header: PathBuf,
) -> PyResult<(&'static str, String, &'static str, Vec<String>)> {
    let own = guarded(py, || own::load(&header))?;
    Ok((own.controller.name(), own.controller.display_name(), own.controller.summary(), own.warnings))
}

/// Tries the properties that our own controllers have: each with what is wrong with it.
#[pyfunction]
pub(crate) fn check_controller(
    py: Python<'_>,
    header: PathBuf,
) -> PyResult<Vec<(&'static str, Option<String>)>> {
    let checked = guarded(py, || own::check::check(&header))?;
    Ok(checked.findings.into_iter().map(|finding| (finding.property, finding.trouble)).collect())
}

/// The text of a new header.
#[pyfunction]
pub(crate) fn controller_template(py: Python<'_>, name: &str) -> PyResult<String> {
    guarded(py, || own::template(name))
}

/// Names that no part of a user may have: of policies and controllers, of schedulers, of selectors, of
/// allocators.
#[pyfunction]
pub(crate) fn part_names() -> [Vec<&'static str>; 4] {
    let policies = POLICIES.iter().map(|info| info.name);
    let controllers = Controller::all().map(|controller| controller.name());
    let selectors = ["all", "single"].into_iter().chain(SELECTORS.iter().map(|info| info.name));
    [
        policies.chain(controllers).collect(),
        SCHEDULERS.iter().map(|info| info.name).collect(),
        selectors.collect(),
        std::iter::once("none").chain(ALLOCATORS).collect(),
    ]
}
