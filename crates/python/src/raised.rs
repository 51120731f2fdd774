//! Errors as Python exceptions. Their classes are in `joulepath/_errors.py`, with positions and
//! fixes as fields.

use std::any::Any;

use joulepath_model::brief;
use joulepath_model::scenario::ScenarioErrors;
use joulepath_model::visible::{Colors, visible};
use joulepath_study::diagnose;
use joulepath_study::error::{Error, Kind};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;

/// Width of a scenario's error report in a traceback, columns.
const WIDTH: usize = 80;

/// A class of `joulepath._errors`.
fn class<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("joulepath._errors")?.getattr(name)
}

/// A message with Python's arguments in place of the options of the command line.
fn in_python(text: &str) -> String {
    let mut parts = text.split("--path ");
    let mut python = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_at(part.find([':', ' ']).unwrap_or(part.len()));
        // `wifi:rate=…` is an element of a list.
        python += &match rest.starts_with(':') && !rest.starts_with(": ") {
            true => part.to_owned(),
            false => format!("paths[\"{name}\"]{rest}"),
        };
    }
    for (option, argument) in [
        ("─[--set:", "─[with_:"),
        ("─[--x:", "─[x:"),
        ("─[--y:", "─[y:"),
        ("--path", "path"),
        ("--deadline", "deadline"),
        ("--rate", "rate"),
        ("--size", "size"),
        ("--every", "every"),
        ("--tolerance", "tolerance"),
        ("--device", "device"),
    ] {
        python = python.replace(option, argument);
    }
    python
}

/// An exception of the class `name` with a message and the next step.
fn exception(py: Python<'_>, name: &str, message: &str, help: Option<&str>) -> PyErr {
    let shown = |text: &str| visible(&brief::message(&in_python(text)), Colors::Shown).into_owned();
    match class(py, name).and_then(|class| class.call1((shown(message), help.map(shown)))) {
        Ok(exception) => PyErr::from_value(exception),
        Err(error) => error,
    }
}

/// The Python exception for `error`.
pub(crate) fn raised(py: Python<'_>, error: &Error) -> PyErr {
    if let Some(errors) = error.scenario() {
        return scenario(py, errors).unwrap_or_else(|error| error);
    }
    let name = match (error, error.kind()) {
        (Error::File { .. } | Error::Refused { .. } | Error::NoRun { .. }, _)
        | (_, Kind::Permission) => "FileError",
        (_, Kind::Usage) => "UsageError",
        (_, Kind::Unsupported) => "UnsupportedError",
        (_, Kind::Failed) => "JoulepathError",
    };
    exception(py, name, &error.in_one_line(), error.help().as_deref())
}

/// The exception for a wrong request.
pub(crate) fn usage(py: Python<'_>, message: &str, help: Option<&str>) -> PyErr {
    exception(py, "UsageError", message, help)
}

/// A scenario's errors: as the command line shows them, and as a list.
fn scenario(py: Python<'_>, errors: &ScenarioErrors) -> PyResult<PyErr> {
    let class_of_problem = class(py, "Problem")?;
    let problems: Vec<Bound<'_, PyAny>> = errors
        .problems()
        .iter()
        .map(|problem| {
            let (line, column) = errors.place(problem);
            class_of_problem.call1((line, column, &problem.message, &problem.help))
        })
        .collect::<PyResult<_>>()?;
    let text = in_python(&diagnose::problems(errors, WIDTH, false));
    let text = visible(&text, Colors::Shown);
    Ok(PyErr::from_value(
        class(py, "ScenarioError")?.call1((text, problems))?,
    ))
}

/// The exception for a panic, which is a defect of Joulepath.
pub(crate) fn defect(py: Python<'_>, panic: &(dyn Any + Send)) -> PyErr {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("panic");
    exception(
        py,
        "Defect",
        &format!("a defect of Joulepath: {text}"),
        Some("please report it with the scenario and the call"),
    )
}

/// Attaches the partial result to a KeyboardInterrupt; other exceptions do not change.
pub(crate) fn stopped(
    py: Python<'_>,
    why: PyErr,
    result: impl FnOnce() -> PyResult<Py<PyAny>>,
) -> PyErr {
    if !why.is_instance_of::<PyKeyboardInterrupt>(py) {
        return why;
    }
    let interrupted = || {
        let exception = PyErr::from_value(class(py, "Interrupted")?.call1((result()?,))?);
        exception.set_cause(py, Some(why));
        PyResult::Ok(exception)
    };
    interrupted().unwrap_or_else(|error| error)
}
