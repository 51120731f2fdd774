//! Packet schedulers that are Python classes.

use std::sync::Arc;

use joulepath_control::schedule::{PathView as View, Question, SchedulerHooks, SchedulerHost};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::ledger::{self, Place, call};
use super::lent::Lent;
use crate::attributes::attributes;
use crate::raised::usage;

/// Registers a Python object as a packet scheduler.
#[pyfunction]
pub(crate) fn host_scheduler(part: Py<PyAny>, name: &str, summary: &str, rescues: bool) {
    let known_as = name.to_owned();
    let open = move || -> Box<dyn SchedulerHooks> {
        Box::new(PyHooks {
            inner: Inner::open(&part, &known_as),
            name: known_as.clone(),
        })
    };
    SchedulerHost::adopt(name, summary, rescues, Box::new(open));
}

/// State shared by the views of one connection.
#[derive(Default)]
struct State {
    /// The first of the engine's views, one per subflow of the connection.
    paths: Lent<View>,
    question: Lent<Question>,
}

/// A subflow in a scheduler's hook.
#[pyclass(frozen, module = "joulepath._joulepath")]
pub(crate) struct PathView {
    state: Arc<State>,
    i: usize,
    path: Option<String>,
}

impl PathView {
    #[inline]
    fn view(&self) -> PyResult<&View> {
        let paths = self.state.paths.pointer()?;
        // SAFETY: the engine lends an array of more than `i` views, and waits for the hook.
        Ok(unsafe { &*paths.add(self.i) })
    }
}

attributes! {
    impl PathView, view = view()? {
        /// True if its window admits one more packet.
        has_space: bool = view.has_space();
        cwnd_packets: u32 = view.cwnd;
        ssthresh_packets: u32 = view.ssthresh;
        in_flight_packets: u32 = view.in_flight;
        /// Smoothed RTT; 0 before the first sample.
        srtt_us: u32 = view.srtt_us;
        last_rtt_us: u32 = view.rtt.last_us;
        min_rtt_us: u32 = view.rtt.min_us;
        max_rtt_us: u32 = view.rtt.max_us;
        rtt_variation_us: u32 = view.rtt.var_us;
        is_backup: bool = view.backup;
        in_recovery: bool = view.in_recovery;
        in_slow_start: bool = view.in_slow_start();
    }
}

#[pymethods]
impl PathView {
    #[getter]
    fn index(&self) -> usize {
        self.i
    }

    /// Name of its path; None if the scenario's connections differ, or with a topology.
    #[getter]
    fn path(&self) -> Option<&str> {
        self.path.as_deref()
    }

    fn __repr__(&self) -> String {
        match &self.path {
            Some(path) => format!("<path {} ({path})>", self.i),
            None => format!("<path {}>", self.i),
        }
    }
}

/// The segment to schedule and the waiting data, in a scheduler's hook.
#[pyclass(frozen, module = "joulepath._joulepath")]
pub(crate) struct Backlog {
    state: Arc<State>,
}

impl Backlog {
    #[inline]
    fn question(&self) -> PyResult<&Question> {
        // SAFETY: the engine lends its question, and waits for the hook.
        Ok(unsafe { &*self.state.question.pointer()? })
    }
}

attributes! {
    impl Backlog, question = question()? {
        now_us: u64 = question.now.0 / 1_000;
        /// Payload of the segment.
        segment_bytes: u32 = question.segment_bytes;
        /// True if another subflow has sent the segment and it was lost.
        is_again: bool = question.backlog.is_none();
        /// Waiting segments within the receiver's window; 0 for a retransmission.
        waiting_segments: u32 = question.backlog.map_or(0, |backlog| backlog.unsent);
        /// Segments sent without DATA_ACK; 0 for a retransmission.
        unacknowledged_segments: u32 =
            question.backlog.map_or(0, |backlog| backlog.next.saturating_sub(backlog.una));
        /// The data-level window; 0 for a retransmission.
        window_segments: u32 = question.backlog.map_or(0, |backlog| backlog.window);
    }
}

/// The hooks of one connection; `None` if copying the object failed.
struct PyHooks {
    name: String,
    inner: Option<Inner>,
}

/// A copy of the object, and the preallocated arguments of its calls.
struct Inner {
    pick: Py<PyAny>,
    state: Arc<State>,
    views: Vec<Py<PathView>>,
    backlog: Py<Backlog>,
    /// Arguments for each set of paths, created at first use.
    arguments: Vec<Option<Py<PyTuple>>>,
}

impl Inner {
    fn open(part: &Py<PyAny>, name: &str) -> Option<Self> {
        let most = joulepath_control::schedule::MAX_SUBFLOWS;
        let paths: Vec<Option<String>> = (0..most).map(ledger::path_name).collect();
        ledger::copy_of(part, name, |py, copy| {
            let pick = copy.getattr(intern!(py, "pick"))?.unbind();
            let state = Arc::new(State::default());
            let view = |(i, path)| {
                Py::new(
                    py,
                    PathView {
                        state: Arc::clone(&state),
                        i,
                        path,
                    },
                )
            };
            let views = paths
                .into_iter()
                .enumerate()
                .map(view)
                .collect::<PyResult<_>>()?;
            let backlog = Py::new(
                py,
                Backlog {
                    state: Arc::clone(&state),
                },
            )?;
            let arguments = (0..1 << most).map(|_| None).collect();
            Ok(Inner {
                pick,
                state,
                views,
                backlog,
                arguments,
            })
        })
    }

    /// Creates ((path, …), backlog) for the paths in a mask.
    fn prepare(&mut self, py: Python<'_>, open: u8) -> PyResult<()> {
        let prepared = &mut self.arguments[usize::from(open)];
        if prepared.is_none() {
            let is_open = |(i, _): &(usize, &Py<PathView>)| open & (1 << i) != 0;
            let views: Vec<&Py<PathView>> = self
                .views
                .iter()
                .enumerate()
                .filter(is_open)
                .map(|(_, v)| v)
                .collect();
            *prepared = Some(
                (PyTuple::new(py, views)?, &self.backlog)
                    .into_pyobject(py)?
                    .unbind(),
            );
        }
        Ok(())
    }

    fn ask(
        &mut self,
        py: Python<'_>,
        paths: &[View],
        question: &Question,
    ) -> PyResult<Option<usize>> {
        self.prepare(py, question.open)?;
        let arguments = self.arguments[usize::from(question.open)]
            .as_ref()
            .expect("it was prepared");
        let Inner { state, pick, .. } = &*self;
        let ask = || {
            state
                .question
                .during(question, || pick.call1(py, arguments))
        };
        let chosen = state.paths.during(paths.as_ptr(), ask);
        let chosen = chosen?.into_bound(py);
        if chosen.is_none() {
            return Ok(None);
        }
        let help = "return one of the paths that `has_space`, or None to let the segment wait";
        let Ok(view) = chosen.cast::<PathView>() else {
            return Err(usage(
                py,
                &format!("pick returned {}", chosen.repr()?),
                Some(help),
            ));
        };
        let i = view.get().i;
        if !Arc::ptr_eq(&view.get().state, &self.state) || question.open & (1 << i) == 0 {
            return Err(usage(
                py,
                "pick returned a path that is not in its argument",
                Some(help),
            ));
        }
        if !paths[i].has_space() {
            return Err(usage(
                py,
                &format!("path {i} has no space in its window"),
                Some(help),
            ));
        }
        Ok(Some(i))
    }
}

impl SchedulerHooks for PyHooks {
    fn pick(&mut self, paths: &[View], question: &Question) -> Option<usize> {
        let inner = self.inner.as_mut()?;
        let now_us = question.now.0 / 1_000;
        let place = Place {
            part: &self.name,
            hook: "pick",
            now_us,
            subflow: None,
        };
        call(place, |py| inner.ask(py, paths, question))?
    }
}
