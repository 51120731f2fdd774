//! A controller's step beside its formula: what `joulepath explain` prints.

use std::collections::BTreeMap;

use joulepath_controllers::Controller;
use joulepath_controllers::explain::{Explanation, State, SubflowState};
use joulepath_report::table::{Cell, Column, Line, Table};
use serde::Serialize;

/// The form for scripts. Windows are in packets, one number for each subflow.
#[derive(Serialize)]
pub struct Machine<'a> {
    controller: &'a str,
    params: BTreeMap<&'a str, &'a str>,
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
    /// Of the explanation of a controller with these parameters.
    pub fn of(
        controller: Controller,
        params: &'a [(String, String)],
        explanation: &'a Explanation,
    ) -> Self {
        Machine {
            controller: controller.name(),
            params: params
                .iter()
                .map(|(name, value)| (name.as_str(), value.as_str()))
                .collect(),
            increase: &explanation.increase,
            window_after_loss: &explanation.window_after_loss,
            formula: &explanation.formula.increase,
            formula_window_after_loss: &explanation.formula.window_after_loss,
            formula_text: explanation.formula.text,
        }
    }
}

/// One line for each subflow.
pub fn table(state: &State, explanation: &Explanation) -> String {
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
    let names = [
        "sub-",
        "cwnd",
        "srtt",
        "increase",
        "increase",
        "diff.",
        "after loss",
        "after loss",
    ];
    let units = [
        "flow",
        "",
        "ms",
        "by code",
        "by formula",
        "%",
        "by code",
        "by formula",
    ];
    let columns = names
        .into_iter()
        .zip(units)
        .map(|(name, unit)| Column::numbers(name, unit));
    Table::new(columns)
        .with(state.subflows.iter().enumerate().map(line))
        .whole()
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
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
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
        assert_eq!(
            (difference(0.0, 0.0).as_str(), difference(0.1, 0.0).as_str()),
            ("0", "–")
        );
    }
}
