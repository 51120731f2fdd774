//! The scoreboard as JSON.

use serde::Serialize;
use serde_json::{Number, Value};

use super::Reproduction;
use crate::machine::{ReportError, in_lines};
use crate::scale::rounded;

/// The scoreboard as JSON, with one line for each experiment. Numbers have six significant digits,
/// more than any interval supports, which keeps the file small enough for a repository.
///
/// # Errors
/// If a number cannot be written as JSON.
/// If a number fits no JSON.
pub fn reproduction_json(all: &Reproduction) -> Result<String, ReportError> {
    short_json(all)
}

/// Any results, in the format of [`reproduction_json`].
pub(crate) fn short_json(results: &impl Serialize) -> Result<String, ReportError> {
    let mut json = serde_json::to_value(results)?;
    round(&mut json);
    Ok(in_lines(json))
}

fn round(json: &mut Value) {
    match json {
        Value::Number(number) if number.is_f64() => {
            let exact = number.as_f64().unwrap_or_default();
            if let Some(short) = Number::from_f64(rounded(exact, 6)) {
                *number = short;
            }
        }
        Value::Array(values) => values.iter_mut().for_each(round),
        Value::Object(members) => members.values_mut().for_each(round),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::round;

    #[test]
    fn numbers_in_files_have_six_digits() {
        let mut json =
            serde_json::json!({"a": [0.123_456_789, 1_234_567.8], "n": 7, "text": "0.123456789"});
        round(&mut json);
        assert_eq!(
            json,
            serde_json::json!({"a": [0.123_457, 1_234_570.0], "n": 7, "text": "0.123456789"})
        );
    }
}
