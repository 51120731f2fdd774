//! The present run of a thread, if it executes Python code: every call goes through [`call`], which
//! counts and times it, and ends the run on an exception.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use joulepath_model::cancel::Cancel;
use pyo3::intern;
use pyo3::prelude::*;

/// A run with parts in Python.
pub(crate) struct Run {
    seed: u64,
    /// Names of the subflows' paths, if equal in all connections.
    paths: Vec<String>,
    cancel: Cancel,
    copies: u64,
    calls: u64,
    in_python: Duration,
    error: Option<(String, PyErr)>,
}

/// Result of a run's Python code.
pub(crate) struct Outcome {
    pub(crate) calls: u64,
    pub(crate) in_python: Duration,
    /// The exception that ended the run, and its place.
    pub(crate) error: Option<(String, PyErr)>,
}

thread_local! {
    static RUN: RefCell<Option<Run>> = const { RefCell::new(None) };
}

/// Origin of a call.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    /// Name of the part.
    pub(crate) part: &'a str,
    pub(crate) hook: &'static str,
    /// Simulated time.
    pub(crate) now_us: u64,
    pub(crate) subflow: Option<usize>,
}

/// Starts a run in this thread; `cancel` ends it.
pub(crate) fn begin(seed: u64, paths: Vec<String>, cancel: Cancel) {
    let run = Run {
        seed,
        paths,
        cancel,
        copies: 0,
        calls: 0,
        in_python: Duration::ZERO,
        error: None,
    };
    RUN.set(Some(run));
}

/// True if this thread is within a run, and so, when called from Python, within a hook.
pub(crate) fn is_running() -> bool {
    RUN.with_borrow(Option::is_some)
}

/// Ends the run of this thread.
pub(crate) fn end() -> Option<Outcome> {
    let run = RUN.take()?;
    Some(Outcome {
        calls: run.calls,
        in_python: run.in_python,
        error: run.error,
    })
}

/// A copy of a part for one connection, passed through `make`. `None` on an exception, or outside a
/// run.
pub(super) fn copy_of<R>(
    part: &Py<PyAny>,
    name: &str,
    make: impl FnOnce(Python<'_>, Bound<'_, PyAny>) -> PyResult<R>,
) -> Option<R> {
    let (seed, number) = RUN.with_borrow_mut(|run| {
        let run = run.as_mut()?;
        run.copies += 1;
        Some((run.seed, run.copies - 1))
    })?;
    let place = Place {
        part: name,
        hook: "the copy",
        now_us: 0,
        subflow: None,
    };
    call(place, |py| {
        let fresh = py
            .import(intern!(py, "joulepath._parts"))?
            .getattr(intern!(py, "fresh"))?;
        make(py, fresh.call1((part, seed, number))?)
    })
}

pub(crate) fn path_name(i: usize) -> Option<String> {
    RUN.with_borrow(|run| run.as_ref()?.paths.get(i).cloned())
}

/// Calls Python for the run of this thread. `None` after an exception, in this or an earlier call:
/// then the run is ending.
pub(crate) fn call<R>(place: Place<'_>, hook: impl FnOnce(Python<'_>) -> PyResult<R>) -> Option<R> {
    let may = RUN.with_borrow(|run| run.as_ref().is_some_and(|run| run.error.is_none()));
    if !may {
        return None;
    }
    let since = Instant::now();
    let outcome = Python::attach(|py| hook(py).map_err(|error| (words(py, &error), error)));
    RUN.with_borrow_mut(|run| {
        let run = run.as_mut()?;
        run.calls += 1;
        run.in_python += since.elapsed();
        match outcome {
            Ok(value) => Some(value),
            Err((words, error)) => {
                let place = run.describe(place);
                Python::attach(|py| {
                    drop(error.add_note(py, format!("joulepath: seed {}, {place}", run.seed)))
                });
                run.error = Some((format!("{place}: {words}"), error));
                run.cancel.set();
                None
            }
        }
    })
}

fn words(py: Python<'_>, error: &PyErr) -> String {
    let class = error
        .get_type(py)
        .name()
        .map_or_else(|_| "an exception".to_owned(), |name| name.to_string());
    match error.value(py).str() {
        Ok(text) if !text.to_string_lossy().is_empty() => {
            format!("{class}: {}", text.to_string_lossy())
        }
        _ => class,
    }
}

impl Run {
    fn describe(&self, place: Place<'_>) -> String {
        let subflow = match place.subflow.map(|i| (i, self.paths.get(i))) {
            None => String::new(),
            Some((i, None)) => format!("on subflow {i}, "),
            Some((i, Some(path))) => format!("on subflow {i} ({path}), "),
        };
        let now_s = place.now_us as f64 / 1e6;
        format!(
            "at {now_s:.6} s, {subflow}in {} of `{}`",
            place.hook, place.part
        )
    }
}
