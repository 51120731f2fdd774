//! `explain`: what a controller does in a given state, by code and by formula.

use joulepath_control::policy;
use joulepath_controllers::Controller;
use joulepath_controllers::explain::{self as states, ExplainError, State};
use joulepath_report::Record;
use joulepath_study::error::Error;
use pyo3::prelude::*;

use crate::batch::{Batch, Values, text};
use crate::raised::usage;
use crate::watched::guarded;

/// Example for the error message.
const EXAMPLE: &str =
    "write for example [{\"cwnd\": 12, \"srtt_us\": 50000}], one dict per subflow";

/// Explains a controller in a JSON state: one row per subflow, and the formula in words.
#[pyfunction]
pub(crate) fn explain(
    py: Python<'_>,
    controller: &str,
    state: &str,
    params: Vec<(String, String)>,
) -> PyResult<(Batch, String, String)> {
    let state: State = serde_json::from_str(state)
        .map_err(|error| usage(py, &format!("the state: {error}"), Some(EXAMPLE)))?;
    let known = policy::controller(controller).map_err(|error| refused(py, &error))?;
    let params: Vec<(&str, &str)> = params
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    let explained = guarded(py, || Ok(states::explain(known, &state, &params)))?;
    let explanation = explained.map_err(|error| match error {
        ExplainError::Param(error) => refused(py, &error.into()),
        ExplainError::OwnsWindow(_) => crate::raised::raised(
            py,
            &Error::Unsupported {
                message: error.to_string(),
                help: format!("its page: docs/models/{}.md", known.name()),
            },
        ),
        other => usage(py, &other.to_string(), Some(EXAMPLE)),
    })?;
    let number = |values: &[f64]| Values::Number(values.iter().copied().map(Some).collect());
    let count = |of: &dyn Fn(&states::SubflowState) -> u32| {
        Values::Count(
            state
                .subflows
                .iter()
                .map(|subflow| Some(u64::from(of(subflow))))
                .collect(),
        )
    };
    let columns = [
        (
            "subflow",
            Values::Count((0..state.subflows.len() as u64).map(Some).collect()),
        ),
        ("cwnd_packets", count(&|subflow| subflow.cwnd)),
        ("srtt_us", count(&|subflow| subflow.srtt_us)),
        ("increase", number(&explanation.increase)),
        ("formula_increase", number(&explanation.formula.increase)),
        ("window_after_loss", number(&explanation.window_after_loss)),
        (
            "formula_window_after_loss",
            number(&explanation.formula.window_after_loss),
        ),
    ];
    let batch = Batch::of(
        columns
            .map(|(name, values)| (name.to_owned(), values))
            .into(),
    );
    let title = format!(
        "{} ({}), {}",
        known.display_name(),
        known.name(),
        known.paper()
    );
    Ok((batch, title, explanation.formula.text.to_owned()))
}

fn refused(py: Python<'_>, error: &policy::PolicyError) -> PyErr {
    usage(py, &error.to_string(), error.help().as_deref())
}

/// The congestion controllers.
#[pyfunction]
pub(crate) fn controllers() -> Batch {
    let record = |controller: Controller| Record {
        fields: vec![
            text("controller", controller.name()),
            text("title", controller.display_name()),
            text("paper", controller.paper()),
            text("summary", controller.summary()),
        ],
    };
    Batch::of_records(&Controller::known().map(record).collect::<Vec<_>>())
}
