//! `joulepath explain`: what a controller does in a given state, the code beside the formula.

use std::io::{self, Read};
use std::path::Path;

use joulepath_control::policy;
use joulepath_controllers::Controller;
use joulepath_controllers::explain::{self, ExplainError, Explanation, State, SubflowState};
use joulepath_report::table::{Cell, Column, Line, Table};
use joulepath_study::files;
use serde::Serialize;

use crate::cli::ExplainOptions;
use crate::failure::{Exit, Failure};
use crate::show::print_json;
use crate::terminal;

/// What to write into the state's file.
const EXAMPLE: &str = "write for example {\"subflows\": [{\"cwnd\": 12, \"srtt_us\": 50000}]}; \
                       `joulepath explain --help` names the fields";

/// Longest state that is read, bytes.
const MAX_STATE_BYTES: u64 = 1 << 20;

/// Runs the command.
///
/// # Errors
/// An unknown controller or parameter, or a state that is malformed or out of range.
pub(crate) fn explain(options: &ExplainOptions) -> Result<Exit, Failure> {
    let controller = policy::controller(&options.controller).map_err(|error| Failure::policy(&error))?;
    let state = read_state(&options.state)?;
    let params: Vec<(&str, &str)> =
        options.param.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let explanation = explain::explain(controller, &state, &params).map_err(|error| match error {
        ExplainError::Param(error) => Failure::policy(&error.into()),
        ExplainError::OwnsWindow(name) => Failure::message(Exit::Unsupported, error.to_string())
            .help(format!("its page: docs/models/{name}.md")),
        other => Failure::message(Exit::Failed, format!("{}: {other}", name(&options.state))),
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
    let text = text.map_err(|error| Failure::io(format!("cannot read the state {}", name(path)), error))?;
    serde_json::from_str(&text)
        .map_err(|error| Failure::message(Exit::Failed, format!("{}: {error}", name(path))).help(EXAMPLE))
}

fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

fn name(path: &Path) -> String {
    if is_stdin(path) { "stdin".to_owned() } else { path.display().to_string() }
}

/// The form for scripts. Windows are in packets, one number for each subflow.
#[derive(Serialize)]
struct Machine<'a> {
    controller: &'a str,
    params: std::collections::BTreeMap<&'a str, &'a str>,
    /// By the code.
    increase: &'a [f64],
    /// By the code.
    window_after_loss: &'a [f64],
    /// The increase by the formula.
    formula: &'a [f64],
    /// By the formula, before rounding.
    formula_window_after_loss: &'a [f64],
    formula_text: &'a str,
}

impl<'a> Machine<'a> {
    fn of(controller: Controller, params: &'a [(String, String)], explanation: &'a Explanation) -> Self {
        Machine {
            controller: controller.name(),
            params: params.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect(),
            increase: &explanation.increase,
            window_after_loss: &explanation.window_after_loss,
            formula: &explanation.formula.increase,
            formula_window_after_loss: &explanation.formula.window_after_loss,
            formula_text: explanation.formula.text,
        }
    }
}

fn page(
    controller: Controller,
    params: &[(String, String)],
    state: &State,
    explanation: &Explanation,
) -> String {
    let formula = &explanation.formula;
    let line = |(i, subflow): (usize, &SubflowState)| {
        let cells = [
            i.to_string(),
            subflow.cwnd.to_string(),
            (f64::from(subflow.srtt_us) / 1e3).to_string(),
            packets(explanation.increase[i]),
            packets(formula.increase[i]),
            difference(explanation.increase[i], formula.increase[i]),
            explanation.window_after_loss[i].to_string(),
            packets(formula.window_after_loss[i]),
        ];
        Line::new(cells.map(Cell::text))
    };
    let names = ["sub-", "cwnd", "srtt", "increase", "increase", "diff.", "after loss", "after loss"];
    let units = ["flow", "", "ms", "by code", "by formula", "%", "by code", "by formula"];
    let columns = names.into_iter().zip(units).map(|(name, unit)| Column::numbers(name, unit));
    let rows = Table::new(columns).with(state.subflows.iter().enumerate().map(line)).whole();
    let params: String = params.iter().map(|(name, value)| format!(", {name} = {value}")).collect();
    let title =
        format!("{} ({}{params}), {}", controller.display_name(), controller.name(), controller.paper());
    let legend = "Windows in packets. By code: what runs in the simulator and the kernel, in fixed point. By \
                  formula: the definition in floating point. diff.: of the increases, relative to the \
                  formula. After loss: the window after a fast retransmit, in whole packets by code.";
    let formula = format!("formula: {}", formula.text);
    format!(
        "{}\n\n{}\n\n{}\n{}\n",
        terminal::wrapped(&title, "  "),
        rows,
        terminal::wrapped(&formula, "  "),
        terminal::wrapped(legend, "")
    )
}

/// Six significant digits.
fn packets(value: f64) -> String {
    const DIGITS: i32 = 6;
    if value == 0.0 {
        return "0".to_owned();
    }
    let before_point = value.abs().log10().floor() as i32 + 1;
    let decimals = (DIGITS - before_point).clamp(0, 12) as usize;
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// Percent of the formula.
fn difference(code: f64, formula: f64) -> String {
    match formula {
        0.0 if code == 0.0 => "0".to_owned(),
        0.0 => "–".to_owned(),
        formula => format!("{:+.4}", (code / formula - 1.0) * 100.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn six_digits_are_shown_and_no_superfluous_zeros() {
        for (value, text) in [
            (0.007_991_68, "0.00799168"),
            (-0.007_267_781, "-0.00726778"),
            (15.0, "15"),
            (9.6, "9.6"),
            (0.0, "0"),
            (123_456_789.0, "123456789"),
        ] {
            assert_eq!(packets(value), text);
        }
    }

    #[test]
    fn the_difference_is_relative_to_the_formula() {
        assert_eq!(difference(1.01, 1.0), "+1.0000");
        assert_eq!(difference(-0.99, -1.0), "-1.0000");
        assert_eq!((difference(0.0, 0.0).as_str(), difference(0.1, 0.0).as_str()), ("0", "–"));
    }
}
