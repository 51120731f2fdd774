//! Numbers that a header states in its comments:
//!
//! ```text
//!  * EXAMPLE 12@50ms 30@80ms -> 0.0127 0.0127
//! ```
//!
//! The windows in packets and the RTTs of the subflows of a connection in congestion avoidance,
//! then the increase of each window per acknowledged packet, in packets. It must match to the
//! digits given.

use joulepath_controllers::Controller;
use joulepath_controllers::explain::{State, SubflowState};
use joulepath_model::units::Nanos;

use super::sandbox::{Call, Sandbox};

/// Start of an example.
const MARK: &str = "EXAMPLE ";
/// Units of an increase in a packet.
const PACKET: f64 = (1u64 << 32) as f64;

/// An example and its line number.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Example {
    line: usize,
    /// Its statement, or the parse error.
    says: Result<Says, String>,
}

#[derive(Clone, Debug, PartialEq)]
struct Says {
    state: State,
    /// The increases, each with half a unit of its last digit.
    increases: Vec<(f64, f64)>,
}

/// Finds the examples in the text of a header.
pub(super) fn of(text: &str) -> Vec<Example> {
    let example = |(number, line): (usize, &str)| {
        let (_, says) = line.split_once(MARK)?;
        Some(Example {
            line: number,
            says: parse(says.trim_end_matches("*/").trim()),
        })
    };
    (1..).zip(text.lines()).filter_map(example).collect()
}

fn parse(text: &str) -> Result<Says, String> {
    let form = "write for example `EXAMPLE 12@50ms 30@80ms -> 0.0127 0.0127`";
    let (state, increases) = text
        .split_once("->")
        .ok_or_else(|| format!("there is no `->`; {form}"))?;
    let subflow = |word: &str| {
        let (cwnd, rtt) = word.split_once('@')?;
        let rtt: Nanos = rtt.parse().ok()?;
        let srtt_us = u32::try_from(rtt.0 / 1000).ok()?;
        Some(SubflowState {
            cwnd: cwnd.parse().ok()?,
            srtt_us,
            ..SubflowState::default()
        })
    };
    let subflows =
        |word| subflow(word).ok_or_else(|| format!("`{word}` is not a window and RTT; {form}"));
    let subflows: Vec<SubflowState> = state
        .split_whitespace()
        .map(subflows)
        .collect::<Result<_, _>>()?;
    let number = |word: &str| {
        let decimals = word
            .split_once('.')
            .map_or(0, |(_, decimals)| decimals.len());
        let value: f64 = word
            .parse()
            .map_err(|_| format!("`{word}` is not a number; {form}"))?;
        Ok((value, 0.5 * libm::pow(10.0, -(decimals as f64))))
    };
    let increases: Vec<(f64, f64)> = increases
        .split_whitespace()
        .map(number)
        .collect::<Result<_, String>>()?;
    match increases.len() == subflows.len() {
        true => Ok(Says {
            state: State { subflows },
            increases,
        }),
        false => Err(format!(
            "{} subflows have {} increases",
            subflows.len(),
            increases.len()
        )),
    }
}

/// The first example that does not hold, as an error.
pub(super) fn hold(
    sandbox: &Sandbox,
    controller: Controller,
    examples: &[Example],
) -> Option<String> {
    examples.iter().find_map(|example| {
        let wrong = example.says.as_ref().map_or_else(
            |why| Some(why.clone()),
            |says| differs(sandbox, controller, says),
        );
        wrong.map(|wrong| format!("line {}: {wrong}", example.line))
    })
}

fn differs(sandbox: &Sandbox, controller: Controller, says: &Says) -> Option<String> {
    let mut connection = match says.state.connection(controller) {
        Ok(connection) => connection,
        Err(error) => return Some(error.to_string()),
    };
    says.increases
        .iter()
        .enumerate()
        .find_map(|(i, &(said, tolerance))| {
            match sandbox.call(&mut connection, &mut Default::default(), i, Call::Increase) {
                Err(fault) => Some(format!("{}: {}", fault.place, fault.what)),
                Ok(step) => {
                    let increase = step as f64 / PACKET;
                    ((increase - said).abs() > tolerance * (1.0 + 1e-9))
                        .then(|| format!("subflow {i} grows by {increase} packets, not by {said}"))
                }
            }
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_are_found_in_comments_with_their_lines() {
        let found = of("/*\n * EXAMPLE 12@50ms 30@80 ms -> 1 2\n * EXAMPLE 12@50ms -> 0.25 */\n");
        assert_eq!((found.len(), found[0].line, found[1].line), (2, 2, 3));
        let says = found[1].says.as_ref().unwrap();
        assert_eq!(
            (says.state.subflows[0].cwnd, says.state.subflows[0].srtt_us),
            (12, 50_000)
        );
        // Two decimals: 0.25 means 0.245 to 0.255.
        assert_eq!(says.increases, [(0.25, 0.005)]);
        assert!(
            found[0].says.is_err(),
            "a space within a quantity makes two words"
        );
    }

    #[test]
    fn malformed_examples_are_refused_with_a_fix() {
        for (text, what) in [
            ("12@50ms", "there is no `->`"),
            ("12 -> 1", "`12` is not a window and RTT"),
            ("12@5parsec -> 1", "not a window and RTT"),
            ("12@50ms -> lots", "`lots` is not a number"),
            ("12@50ms -> 1 2", "1 subflows have 2 increases"),
        ] {
            assert!(parse(text).unwrap_err().contains(what), "{text}");
        }
    }
}
