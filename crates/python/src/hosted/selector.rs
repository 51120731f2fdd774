//! Path selectors that are Python classes.

use joulepath_control::select::{
    Demand, PathSnapshot, PathState, SelectorHooks, SelectorHost, Snapshot, Use, Uses,
};
use joulepath_controllers::MAX_SUBFLOWS;
use joulepath_model::units::Nanos;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::ledger::{self, Place, call};
use crate::raised::usage;

/// Makes a Python object known as a path selector, which looks at the paths once in a period.
#[pyfunction]
pub(crate) fn host_selector(
    py: Python<'_>,
    part: Py<PyAny>,
    name: &str,
    summary: &str,
    period_s: f64,
) -> PyResult<()> {
    if !(0.001..=3600.0).contains(&period_s) {
        return Err(usage(py, &format!("a period is 0.001 to 3600 s, not {period_s}"), None));
    }
    let known_as = name.to_owned();
    let open = move |names: &[&str]| -> Box<dyn SelectorHooks> {
        Box::new(PyHooks { inner: Inner::open(&part, &known_as, names), name: known_as.clone() })
    };
    SelectorHost::adopt(name, summary, Nanos((period_s * 1e9) as u64), Box::new(open));
    Ok(())
}

/// The hooks of one connection; none if the copy of the object could not be made.
struct PyHooks {
    name: String,
    inner: Option<Inner>,
}

struct Inner {
    /// `joulepath._parts.wanted`, which checks what the object's `want` returns.
    wanted: Py<PyAny>,
    copy: Py<PyAny>,
    names: Vec<String>,
}

impl Inner {
    fn open(part: &Py<PyAny>, name: &str, names: &[&str]) -> Option<Self> {
        ledger::copy_of(part, name, |py, copy| {
            let parts = py.import(intern!(py, "joulepath._parts"))?;
            let (wanted, copy) = (parts.getattr(intern!(py, "wanted"))?.unbind(), copy.unbind());
            Ok(Inner { wanted, copy, names: names.iter().map(|&name| name.to_owned()).collect() })
        })
    }

    fn ask(&self, py: Python<'_>, snapshot: &Snapshot) -> PyResult<Uses> {
        let names = self.names.iter().map(String::as_str).chain(std::iter::repeat(""));
        let paths = snapshot.paths.iter().zip(names).map(|(path, name)| row(py, name, path));
        let paths: Vec<Bound<'_, PyDict>> = paths.collect::<PyResult<_>>()?;
        let waiting_bytes = match snapshot.demand {
            Demand::Endless => None,
            Demand::Bytes(bytes) => Some(bytes),
        };
        let now_s = snapshot.now.as_secs_f64();
        let wanted: Vec<u8> =
            self.wanted.call1(py, (&self.copy, paths, now_s, waiting_bytes))?.extract(py)?;
        let mut uses = [Use::Closed; MAX_SUBFLOWS];
        for (place, wanted) in uses.iter_mut().zip(wanted) {
            *place = match wanted {
                0 => Use::Closed,
                1 => Use::Backup,
                _ => Use::Regular,
            };
        }
        Ok(uses)
    }
}

/// The fields of a `joulepath.PathSnapshot`.
fn row<'py>(py: Python<'py>, name: &str, path: &PathSnapshot) -> PyResult<Bound<'py, PyDict>> {
    let state = match path.state {
        PathState::Closed => "closed",
        PathState::Opening => "opening",
        PathState::Open => "open",
        PathState::Closing => "closing",
    };
    let row = PyDict::new(py);
    row.set_item("name", name)?;
    row.set_item("state", state)?;
    row.set_item("is_backup", path.backup)?;
    row.set_item("is_usable", path.usable)?;
    row.set_item("srtt_s", (path.srtt_s > 0.0).then_some(path.srtt_s))?;
    row.set_item("cwnd_packets", path.cwnd)?;
    row.set_item("rate_bps", path.rate_bps)?;
    row.set_item("capacity_bps", (path.capacity_bps > 0.0).then_some(path.capacity_bps))?;
    row.set_item("loss", path.loss)?;
    row.set_item("delivered_bytes", path.delivered_bytes)?;
    row.set_item("joules_per_bit", path.cost())?;
    Ok(row)
}

impl SelectorHooks for PyHooks {
    fn want(&mut self, snapshot: &Snapshot) -> Uses {
        // A run that is about to end keeps its paths.
        let otherwise = [Use::Regular; MAX_SUBFLOWS];
        let Some(inner) = &self.inner else { return otherwise };
        let now_us = snapshot.now.0 / 1_000;
        let place = Place { part: &self.name, hook: "want", now_us, subflow: None };
        call(place, |py| inner.ask(py, snapshot)).unwrap_or(otherwise)
    }
}
