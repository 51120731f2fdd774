//! The signal of a path, and rates by signal.

use super::super::beside::Beside;
use super::super::error::Problems;
use super::super::forms::Signal;
use super::super::lengths::RatesBySignal;
use super::super::read::At;
use super::check::{ascending, positive};
use crate::energy::radios::{radio, radio_names};
use crate::names::suggest;
use crate::signal::{SignalSpec, SignalTrace, Walk};
use crate::units::{BitRate, Dbm, Nanos};

/// Most values of a walk.
const MOST_VALUES: u64 = 1_000_000;

/// The signal over time.
pub(super) fn spec(
    signal: &At<Signal>,
    duration: Nanos,
    beside: Beside<'_>,
    out: &mut Problems,
) -> Option<SignalSpec> {
    match &signal.value {
        Signal::Constant(signal) => Some(SignalSpec::Steps(vec![(Nanos::ZERO, *signal)])),
        Signal::Steps(written) => {
            const EXAMPLE: &str = "[[\"0 s\", \"-80 dBm\"], [\"20 s\", \"-105 dBm\"]]";
            ascending(&written.steps, EXAMPLE, out).map(SignalSpec::Steps)
        }
        Signal::Trace(written) => {
            let file = &written.trace;
            recorded(file, SignalTrace::parse, beside, out).map(SignalSpec::Trace)
        }
        Signal::Walk(raw) => {
            let before = out.len();
            let numbers = [
                (&raw.exponent, "exponent", false),
                (&raw.aside_m, "aside_m", true),
                (&raw.sigma_db, "sigma_db", true),
                (&raw.correlation_m, "correlation_m", false),
            ];
            let spacing = raw
                .spacing_m
                .iter()
                .map(|spacing| (spacing, "spacing_m", false));
            for (number, key, may_be_zero) in numbers.into_iter().chain(spacing) {
                if number.value < 0.0 || (number.value == 0.0 && !may_be_zero) {
                    let least = if may_be_zero {
                        "not negative"
                    } else {
                        "above 0"
                    };
                    out.note(&number.span, format!("`{key}` of a walk is {least}"));
                }
            }
            positive(&raw.interval, "`interval`", out)?;
            if duration.0 / raw.interval.value.0 > MOST_VALUES {
                let help = "write for example interval = \"500 ms\"";
                out.note_with_help(
                    &raw.interval.span,
                    "a walk has at most a million values",
                    help,
                );
            }
            (out.len() == before).then(|| {
                SignalSpec::Walk(Walk {
                    distance_m: raw.distance_m.value,
                    speed_mps: raw.speed_mps.value,
                    at_1m: raw.at_1m,
                    exponent: raw.exponent.value,
                    aside_m: raw.aside_m.value,
                    spacing_m: raw.spacing_m.as_ref().map(|spacing| spacing.value),
                    sigma_db: raw.sigma_db.value,
                    correlation_m: raw.correlation_m.value,
                    interval: raw.interval.value,
                })
            })
        }
    }
}

/// What `parse` reads from a file of values over time.
pub(super) fn recorded<T>(
    file: &At<String>,
    parse: impl Fn(&str, &str) -> Result<T, String>,
    beside: Beside<'_>,
    out: &mut Problems,
) -> Option<T> {
    let found = (beside.series)(&file.value).and_then(|text| parse(&text, &file.value));
    let refused = |why: &String| {
        out.note(
            &file.span,
            format!("the trace `{}` cannot be used: {why}", file.value),
        );
    };
    found.inspect_err(refused).ok()
}

/// The rates by signal, ascending, of data to the device or from it.
pub(super) fn rates(
    written: &At<RatesBySignal>,
    up: bool,
    out: &mut Problems,
) -> Option<Vec<(Dbm, BitRate)>> {
    match &written.value {
        RatesBySignal::Profile(name) => {
            let found = radio(name).map(|radio| radio.fastest(up));
            if found.is_none() {
                let known: Vec<&str> = radio_names().collect();
                let message = format!("no rates by signal were measured for `{name}`");
                out.note_with_help(&written.span, message, suggest(name, &known));
            }
            found
        }
        RatesBySignal::Points(points) => {
            let ascends = points.windows(2).all(|pair| pair[0].0 < pair[1].0);
            if points.is_empty() || !ascends || points.iter().all(|(_, rate)| rate.bps() == 0) {
                let help = "write for example [[\"-110 dBm\", \"5 Mbit/s\"], [\"-80 dBm\", \"100 Mbit/s\"]]";
                out.note_with_help(&written.span, "rates by signal ascend in the signal", help);
                return None;
            }
            Some(points.clone())
        }
    }
}
