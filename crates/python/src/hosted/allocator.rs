//! Rate allocators that are Python classes.

use joulepath_control::allocate::{AllocatorHooks, AllocatorHost, KnownPath, Seen};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::asked::{Asked, period, row};
use super::ledger::{Place, call};

/// The engine calls allocators ten times a second.
const LEAST_PERIOD_S: f64 = 0.1;

/// Registers a Python object as a rate allocator, to be called once per period.
#[pyfunction]
pub(crate) fn host_allocator(
    py: Python<'_>,
    part: Py<PyAny>,
    name: &str,
    summary: &str,
    period_s: f64,
) -> PyResult<()> {
    let (period, known_as) = (period(py, period_s, LEAST_PERIOD_S)?, name.to_owned());
    let open = move |paths: &[KnownPath]| -> Box<dyn AllocatorHooks> {
        let asked = Asked::open(&part, &known_as, "shared");
        Box::new(PyHooks {
            name: known_as.clone(),
            asked,
            paths: paths.to_vec(),
        })
    };
    AllocatorHost::adopt(name, summary, period, Box::new(open));
    Ok(())
}

/// The hooks of one connection; without calls if copying the object failed.
struct PyHooks {
    name: String,
    asked: Option<Asked>,
    paths: Vec<KnownPath>,
}

impl PyHooks {
    /// The fields of a `joulepath.AllocatorPath` for each path.
    fn rows<'py>(&self, py: Python<'py>, seen: &Seen) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let rows = seen.paths.iter().zip(&self.paths).map(|(path, known)| {
            let row = row(py, &known.name, path)?;
            let expected_bps = known.expected_bps.is_finite().then_some(known.expected_bps);
            row.set_item(intern!(py, "expected_bps"), expected_bps)?;
            Ok(row)
        });
        rows.collect()
    }
}

impl AllocatorHooks for PyHooks {
    fn shares(&mut self, seen: &Seen) -> Option<Vec<f64>> {
        let asked = self.asked.as_ref()?;
        let place = Place {
            part: &self.name,
            hook: "shares",
            now_us: seen.now.0 / 1_000,
            subflow: None,
        };
        call(place, |py| {
            let paths = self.rows(py, seen)?;
            asked
                .ask(py, paths, seen.now, seen.demand, seen.mss_bytes)?
                .extract()
        })?
    }
}
