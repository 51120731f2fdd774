//! Common code of selectors and allocators that are Python classes: they are called once per
//! period, by a function of `joulepath._parts` that checks the answer, and see paths as rows.

use joulepath_control::select::{Demand, PathSnapshot, PathState};
use joulepath_model::units::Nanos;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::ledger;
use crate::raised::usage;

/// Maximum period, s.
const LONGEST_S: f64 = 3600.0;

/// A class's period, at least `least_s`.
pub(super) fn period(py: Python<'_>, period_s: f64, least_s: f64) -> PyResult<Nanos> {
    if (least_s..=LONGEST_S).contains(&period_s) {
        return Ok(Nanos((period_s * 1e9) as u64));
    }
    Err(usage(
        py,
        &format!("a period is {least_s} to {LONGEST_S} s, not {period_s}"),
        None,
    ))
}

/// A copy of an object, and the function that calls it.
pub(super) struct Asked {
    /// A function of `joulepath._parts`.
    asks: Py<PyAny>,
    copy: Py<PyAny>,
}

impl Asked {
    /// `None` if copying failed.
    pub(super) fn open(part: &Py<PyAny>, name: &str, asks: &str) -> Option<Self> {
        ledger::copy_of(part, name, |py, copy| {
            let asks = py.import("joulepath._parts")?.getattr(asks)?.unbind();
            Ok(Asked {
                asks,
                copy: copy.unbind(),
            })
        })
    }

    /// The object's answer for these paths.
    pub(super) fn ask<'py>(
        &self,
        py: Python<'py>,
        paths: Vec<Bound<'py, PyDict>>,
        now: Nanos,
        demand: Demand,
        mss_bytes: f64,
    ) -> PyResult<Bound<'py, PyAny>> {
        let waiting_bytes = match demand {
            Demand::Endless => None,
            Demand::Bytes(bytes) => Some(bytes),
        };
        let demand = (now.as_secs_f64(), waiting_bytes, mss_bytes as u64).into_pyobject(py)?;
        let arguments: Bound<'py, PyTuple> = (&self.copy, paths, demand).into_pyobject(py)?;
        self.asks.bind(py).call1(arguments)
    }
}

/// The fields of a `joulepath.PathSnapshot`.
pub(super) fn row<'py>(
    py: Python<'py>,
    name: &str,
    path: &PathSnapshot,
) -> PyResult<Bound<'py, PyDict>> {
    let state = match path.state {
        PathState::Closed => "closed",
        PathState::Opening => "opening",
        PathState::Open => "open",
        PathState::Closing => "closing",
    };
    let row = PyDict::new(py);
    row.set_item(intern!(py, "name"), name)?;
    row.set_item(intern!(py, "state"), state)?;
    row.set_item(intern!(py, "is_backup"), path.backup)?;
    row.set_item(intern!(py, "is_usable"), path.usable)?;
    row.set_item(
        intern!(py, "srtt_s"),
        (path.srtt_s > 0.0).then_some(path.srtt_s),
    )?;
    row.set_item(intern!(py, "cwnd_packets"), path.cwnd)?;
    row.set_item(intern!(py, "rate_bps"), path.rate_bps)?;
    row.set_item(
        intern!(py, "capacity_bps"),
        (path.capacity_bps > 0.0).then_some(path.capacity_bps),
    )?;
    row.set_item(intern!(py, "loss"), path.loss)?;
    row.set_item(intern!(py, "delivered_bytes"), path.delivered_bytes)?;
    row.set_item(intern!(py, "joules_per_bit"), path.cost())?;
    row.set_item(
        intern!(py, "slope_joules_per_bit"),
        path.energy.slope_j_per_bit,
    )?;
    row.set_item(intern!(py, "sunk_w"), path.energy.sunk_w)?;
    Ok(row)
}
