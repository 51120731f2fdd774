//! A key of the scenario and its values: `path.wifi.loss=0.1 %..10 %:24log`.

use joulepath_report::map::Axis;
use joulepath_report::rounded;

use crate::error::{Error, Result};

/// Default number of points of an axis.
const POINTS: usize = 24;
/// Maximum number of points of an axis.
const MOST_POINTS: usize = 200;
const FORM: &str = "write KEY=LO..HI, KEY=LO..HI:N for N points, KEY=LO..HI:Nlog for equal ratios; \
                    for example path.wifi.loss='0.1 %..10 %:24log'";
/// Significant digits of a value.
const DIGITS: usize = 4;
/// Units without fractions.
const WHOLE: [&str; 4] = ["", "packets", "segments", "B"];
/// Units whose fractions are not whole bytes.
const BINARY: [(&str, f64); 2] = [("KiB", 1024.0), ("MiB", 1_048_576.0)];

/// Parses an axis; `name` is x or y.
///
/// # Errors
/// If `text` is malformed or has fewer than two points.
pub fn parse_axis(name: &str, text: &str) -> Result<Axis> {
    let wrong = |what: String| Error::usage(format!("--{name} {text}: {what}"));
    let (keys, range) = text
        .split_once('=')
        .ok_or_else(|| wrong("there is no range".to_owned()).with_help(FORM))?;
    let keys: Vec<String> = keys.split(',').map(|key| key.trim().to_owned()).collect();
    if keys.iter().any(String::is_empty) {
        return Err(wrong("there is no key".to_owned()).with_help(FORM));
    }
    let (low, high) = range
        .split_once("..")
        .ok_or_else(|| wrong("there is no `..`".to_owned()).with_help(FORM))?;
    let (high, log) = match high.trim().strip_suffix("log") {
        Some(rest) => (rest.trim_end().trim_end_matches(':'), true),
        None => (high.trim(), false),
    };
    let (high, points) = match high.split_once(':') {
        None => (high, POINTS),
        Some((high, points)) => {
            let count = points.trim().parse().map_err(|_| {
                wrong(format!("`{points}` is not a number of points")).with_help(FORM)
            })?;
            (high, count)
        }
    };
    let ends = [low, high].map(|end| quantity(end).ok_or(end.trim()));
    let [(low, low_unit), (high, unit)] = match ends {
        [Ok(low), Ok(high)] => [low, high],
        [Err(end), _] | [_, Err(end)] => {
            return Err(wrong(format!("`{end}` is not a number with a unit")).with_help(
                "an axis needs a numeric key; compare other keys with `joulepath compare --set`",
            ));
        }
    };
    if !low_unit.is_empty() && low_unit != unit {
        return Err(
            wrong(format!("one end is in `{low_unit}`, the other in `{unit}`"))
                .with_help("write both ends in one unit"),
        );
    }
    if low == high || points == 1 {
        return Err(wrong("an axis needs two points".to_owned())
            .with_help("give a range of at least two points, or fix the key with --set"));
    }
    if low > high {
        return Err(wrong(format!("the range runs from {low} down to {high}"))
            .with_help("write the lower end first"));
    }
    if !(2..=MOST_POINTS).contains(&points) {
        return Err(
            wrong(format!("{points} points")).with_help(format!("2 to {MOST_POINTS} are possible"))
        );
    }
    if log && low <= 0.0 {
        return Err(wrong(format!("there are no equal ratios from {low} on"))
            .with_help("start a log axis above 0"));
    }
    let part = |i: usize| i as f64 / (points - 1) as f64;
    let at = |i: usize| {
        if log {
            low * (high / low).powf(part(i))
        } else {
            low + (high - low) * part(i)
        }
    };
    let is_whole = WHOLE.contains(&unit) && low.fract() == 0.0 && high.fract() == 0.0;
    let round = |value: f64| {
        if is_whole {
            value.round()
        } else {
            rounded(value, DIGITS)
        }
    };
    let mut numbers: Vec<f64> = (0..points).map(|i| round(at(i))).collect();
    numbers.dedup();
    if numbers.len() < points {
        return Err(wrong(format!(
            "only {} whole numbers for {points} points",
            numbers.len()
        ))
        .with_help(format!(
            "ask for at most {} points: {}..{}{unit}:{}",
            numbers.len(),
            low,
            high,
            numbers.len()
        )));
    }
    Ok(Axis {
        keys,
        numbers,
        unit: unit.to_owned(),
        log,
    })
}

/// Keys and values at `index`, as for `--set`.
pub(super) fn set(axis: &Axis, index: usize) -> impl Iterator<Item = (String, String)> {
    let value = match BINARY.iter().find(|(unit, _)| *unit == axis.unit) {
        Some((_, bytes)) => format!("{} B", (axis.numbers[index] * bytes).round()),
        None => axis.value(index),
    };
    axis.keys
        .iter()
        .map(move |key| (key.clone(), value.clone()))
}

/// Splits a number from its unit.
fn quantity(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end = text
        .find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | '-' | '+'))
        .unwrap_or(text.len());
    let number: f64 = text[..end].parse().ok()?;
    number.is_finite().then(|| (number, text[end..].trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(text: &str) -> Axis {
        parse_axis("x", text).unwrap()
    }

    #[test]
    fn values_are_evenly_spaced_or_in_equal_ratios() {
        assert_eq!(
            axis("path.a.delay=10 ms..30 ms:3").numbers,
            [10.0, 20.0, 30.0]
        );
        let log = axis("path.a.loss,path.b.loss=0.01 %..1 %:3log");
        assert_eq!(
            (log.numbers.as_slice(), log.log),
            ([0.01, 0.1, 1.0].as_slice(), true)
        );
        let set: Vec<_> = set(&log, 1).collect();
        assert_eq!(
            set,
            [
                ("path.a.loss".into(), "0.1 %".into()),
                ("path.b.loss".into(), "0.1 %".into())
            ]
        );
        assert_eq!(axis("a=1..2 s").numbers.len(), POINTS, "one unit is enough");
    }

    #[test]
    fn units_without_fractions_get_whole_numbers() {
        assert_eq!(
            axis("path.a.queue=10..100 packets:4log").numbers,
            [10.0, 22.0, 46.0, 100.0]
        );
        let buffer = axis("receiver.buffer=64 KiB..128 KiB:4");
        assert_eq!(set(&buffer, 1).next().unwrap().1, "87378 B", "85.33 KiB");
    }

    #[test]
    fn malformed_axes_are_refused_with_a_fix() {
        for (text, what) in [
            ("path.a.loss", "there is no range"),
            ("=1..2", "there is no key"),
            ("a=1", "there is no `..`"),
            ("a=fast..slow", "`fast` is not a number"),
            ("a=1 ms..2 s", "one end is in `ms`, the other in `s`"),
            ("a=5 s..2 s", "from 5 down to 2"),
            ("a=5 s..5 s", "two points"),
            ("a=1..2:1", "two points"),
            ("a=1..2:x", "`x` is not a number of points"),
            ("a=1..2:201", "201 points"),
            ("a=0..2:4log", "no equal ratios from 0"),
            ("a=1..3:4", "only 3 whole numbers for 4 points"),
        ] {
            let said = parse_axis("x", text).expect_err(text).to_string();
            assert!(said.contains(what), "{text}: {said}");
        }
    }
}
