//! Recorded values over time: one reading per line, a time in s and a value.

use crate::units::Nanos;

/// What the readings of a file are.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// For messages: `signal`.
    pub name: &'static str,
    /// Least and greatest value.
    pub range: [f64; 2],
    /// Unit of the values.
    pub unit: &'static str,
    /// A line without its time.
    pub example: &'static str,
}

/// Most readings of a file: ten days, one a second.
const MOST: usize = 1_000_000;

/// Parses lines of a time in s and a value, separated by a comma or spaces: `12.5 -97`. The first
/// time is 0, and times ascend. Blank lines and comments (`#`) are skipped.
///
/// # Errors
/// The line and the fix. The text is never quoted, because an untrusted scenario may name a file
/// with confidential content.
pub fn parse(text: &str, column: Column) -> Result<Vec<(Nanos, f64)>, String> {
    let Column {
        name,
        range: [least, most],
        unit,
        example,
    } = column;
    let mut readings: Vec<(Nanos, f64)> = vec![];
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let mut words = line.split([',', ' ', '\t']).filter(|word| !word.is_empty());
        let both = (words.next(), words.next(), words.next());
        let (Some(time), Some(value), None) = both else {
            return Err(format!(
                "line {number} has not two numbers; write for example `12.5 {example}`"
            ));
        };
        let seconds = time.parse::<f64>().ok().filter(|s| (0.0..=1e9).contains(s));
        let seconds = seconds.ok_or(format!(
            "line {number} has no time in s; write for example `12.5 {example}`"
        ))?;
        let value = value
            .parse::<f64>()
            .ok()
            .filter(|value| (least..=most).contains(value));
        let value = value.ok_or(format!(
            "line {number} has no {name} from {least} to {most}; write it in {unit}"
        ))?;
        let at = Nanos::from_secs_f64(seconds);
        match readings.last() {
            None if at > Nanos::ZERO => {
                return Err(format!(
                    "line {number} is after 0 s; subtract its time from all times"
                ));
            }
            Some((before, _)) if *before >= at => {
                return Err(format!(
                    "line {number} is not later than the line before; sort the lines"
                ));
            }
            _ if readings.len() == MOST => {
                return Err(format!("it has over {MOST} readings; keep one a second"));
            }
            _ => readings.push((at, value)),
        }
    }
    match readings.is_empty() {
        true => Err(format!(
            "it is empty; write a time and a {name} per line, for example `0 {example}`"
        )),
        false => Ok(readings),
    }
}
