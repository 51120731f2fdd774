//! What a box is, and what several papers leave open alike.

use super::super::space::{Acts, Change, Parameter, Range};
use crate::reproduce::study::Study;

/// A box, and which experiments are searched in it.
#[derive(Clone, Copy)]
pub(in crate::reproduce) struct ClaimBox {
    /// The set-up in a word.
    pub(in crate::reproduce) name: &'static str,
    /// By their ids.
    pub(in crate::reproduce) experiments: &'static [&'static str],
    pub(in crate::reproduce) parameters: &'static [Parameter],
    /// Which of an experiment's studies run at a point, and how: one reading each, and no longer than it
    /// takes.
    pub(in crate::reproduce) studies: fn(Vec<Study>) -> Vec<Study>,
    /// Seeds at each point, the same at all of them.
    pub(in crate::reproduce) seeds: u32,
    /// Points of the Latin hypercube, unless `--points` says otherwise.
    pub(in crate::reproduce) points: usize,
}

/// Why recovery is open in all papers that run TCP.
const RECOVERY: &str = "how losses are recovered is not said: RFC 6582, 6675, or as in Linux";

/// The three ways to recover; the first is the scenario's.
pub(super) const fn recovery(values: &'static [&'static str]) -> Parameter {
    Parameter::choice("transport.recovery", values, Acts::Keys(&["transport.recovery"]), RECOVERY)
}

/// A receive buffer from 64 kB (a default of its time) to 8 MB (more than any window here).
pub(super) const fn receive_buffer(usual: (&'static str, f64), reason: &'static str) -> Parameter {
    let range = Range::Log(64.0, 8000.0, "kB");
    Parameter::number("receiver.buffer", range, usual, Acts::Keys(&["receiver.buffer"]), reason)
}

/// `key = value`.
pub(super) fn set(key: &'static str, value: impl Into<String>) -> Change {
    Change::Set(key, value.into())
}
