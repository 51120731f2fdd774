//! `joulepath explain`: what a controller does in a given state, the code beside the formula.

use std::io::{self, Read};
use std::path::Path;

use joulepath_control::policy;
use joulepath_controllers::Controller;
use joulepath_controllers::explain::{self, ExplainError, Explanation, State};
use joulepath_study::explanation::{Machine, table};
use joulepath_study::files;

use crate::cli::ExplainOptions;
use crate::failure::{Exit, Failure};
use crate::show::print_json;
use crate::terminal;

/// An example of a state, for error messages.
const EXAMPLE: &str = "write for example {\"subflows\": [{\"cwnd\": 12, \"srtt_us\": 50000}]}; \
                       `joulepath explain --help` names the fields";

/// Longest state that is read, bytes.
const MAX_STATE_BYTES: u64 = 1 << 20;

/// Runs the command.
///
/// # Errors
/// An unknown controller or parameter, or a state that is malformed or out of range.
pub(crate) fn explain(options: &ExplainOptions) -> Result<Exit, Failure> {
    let controller =
        policy::controller(&options.controller).map_err(|error| Failure::policy(&error))?;
    let state = read_state(&options.state)?;
    let params: Vec<(&str, &str)> = options
        .param
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    let explanation =
        explain::explain(controller, &state, &params).map_err(|error| match error {
            ExplainError::Param(error) => Failure::policy(&error.into()),
            ExplainError::OwnsWindow(name) => {
                Failure::message(Exit::Unsupported, error.to_string())
                    .help(format!("its page: docs/models/{name}.md"))
            }
            other => Failure::usage(format!("{}: {other}", name(&options.state))),
        })?;
    match options.json {
        true => print_json(&Machine::of(controller, &options.param, &explanation)),
        false => terminal::print(&page(controller, &options.param, &state, &explanation)),
    }
}

fn read_state(path: &Path) -> Result<State, Failure> {
    let text = match is_stdin(path) {
        true => io::read_to_string(io::stdin().take(MAX_STATE_BYTES)),
        false => files::read_text(path, MAX_STATE_BYTES),
    };
    let text =
        text.map_err(|error| Failure::io(format!("cannot read the state {}", name(path)), error))?;
    serde_json::from_str(&text)
        .map_err(|error| Failure::usage(format!("{}: {error}", name(path))).help(EXAMPLE))
}

fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

fn name(path: &Path) -> String {
    if is_stdin(path) {
        "stdin".to_owned()
    } else {
        path.display().to_string()
    }
}

fn page(
    controller: Controller,
    params: &[(String, String)],
    state: &State,
    explanation: &Explanation,
) -> String {
    let rows = table(state, explanation);
    let params: String = params
        .iter()
        .map(|(name, value)| format!(", {name} = {value}"))
        .collect();
    let title = format!(
        "{} ({}{params}), {}",
        controller.display_name(),
        controller.name(),
        controller.paper()
    );
    let legend = "Windows in packets. By code: what runs in the simulator and the kernel, in fixed point. By \
                  formula: the definition in floating point. diff.: of the increases, relative to the \
                  formula. After loss: the window after a fast retransmit, in whole packets by code.";
    let formula = format!("formula: {}", explanation.formula.text);
    format!(
        "{}\n\n{}\n\n{}\n{}\n",
        terminal::wrapped(&title, "  "),
        rows,
        terminal::wrapped(&formula, "  "),
        terminal::wrapped(legend, "")
    )
}
