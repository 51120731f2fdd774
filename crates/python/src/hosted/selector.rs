//! Path selectors that are Python classes.

use joulepath_control::select::{SelectorHooks, SelectorHost, Snapshot, Use, Uses};
use joulepath_controllers::MAX_SUBFLOWS;
use pyo3::prelude::*;

use super::asked::{Asked, period, row};
use super::ledger::{Place, call};

const LEAST_PERIOD_S: f64 = 0.001;

/// Registers a Python object as a path selector, to be called once per period.
#[pyfunction]
pub(crate) fn host_selector(
    py: Python<'_>,
    part: Py<PyAny>,
    name: &str,
    summary: &str,
    period_s: f64,
) -> PyResult<()> {
    let (period, known_as) = (period(py, period_s, LEAST_PERIOD_S)?, name.to_owned());
    let open = move |names: &[&str]| -> Box<dyn SelectorHooks> {
        let names = names.iter().map(|&name| name.to_owned()).collect();
        Box::new(PyHooks {
            asked: Asked::open(&part, &known_as, "wanted"),
            name: known_as.clone(),
            names,
        })
    };
    SelectorHost::adopt(name, summary, period, Box::new(open));
    Ok(())
}

/// The hooks of one connection; without calls if copying the object failed.
struct PyHooks {
    name: String,
    asked: Option<Asked>,
    names: Vec<String>,
}

impl PyHooks {
    fn ask(&self, py: Python<'_>, asked: &Asked, snapshot: &Snapshot) -> PyResult<Uses> {
        let names = self
            .names
            .iter()
            .map(String::as_str)
            .chain(std::iter::repeat(""));
        let rows = snapshot
            .paths
            .iter()
            .zip(names)
            .map(|(path, name)| row(py, name, path));
        let rows = rows.collect::<PyResult<_>>()?;
        let wanted = asked.ask(py, rows, snapshot.now, snapshot.demand, snapshot.mss_bytes)?;
        let mut uses = [Use::Closed; MAX_SUBFLOWS];
        for (place, wanted) in uses.iter_mut().zip(wanted.extract::<Vec<u8>>()?) {
            *place = match wanted {
                0 => Use::Closed,
                1 => Use::Backup,
                _ => Use::Regular,
            };
        }
        Ok(uses)
    }
}

impl SelectorHooks for PyHooks {
    fn want(&mut self, snapshot: &Snapshot) -> Uses {
        // A run that is ending keeps its paths.
        let otherwise = [Use::Regular; MAX_SUBFLOWS];
        let Some(asked) = &self.asked else {
            return otherwise;
        };
        let place = Place {
            part: &self.name,
            hook: "want",
            now_us: snapshot.now.0 / 1_000,
            subflow: None,
        };
        call(place, |py| self.ask(py, asked, snapshot)).unwrap_or(otherwise)
    }
}
