//! What the page's scripts draw, as JSON that is safe within a script element.

use joulepath_model::result::{Comparison, Series};
use serde::Serialize;
use serde_json::{Number, Value as Json};

use super::{Column, Metric, Sheet, with_interval};
use crate::scale;

/// Digits of a sample: a screen has not ten thousand pixels.
const SERIES_DIGITS: usize = 5;

/// Everything that is drawn.
#[derive(Serialize)]
struct Payload<'a> {
    policies: Vec<&'a str>,
    paths: &'a [String],
    bars: Vec<Bars<'a>>,
    stacks: Vec<Stack>,
    /// By policy; null where no series was recorded.
    series: Vec<Option<Samples>>,
}

/// One bar a policy, in the column's unit.
#[derive(Serialize)]
struct Bars<'a> {
    title: &'static str,
    hint: &'static str,
    unit: &'a str,
    means: Vec<Option<f64>>,
    intervals: Vec<Option<(f64, f64)>>,
    /// As the table has it.
    texts: Vec<String>,
    limits: Vec<Line<'a>>,
}

/// A limit across the bars.
#[derive(Serialize)]
struct Line<'a> {
    name: &'a str,
    value: f64,
}

/// One stacked bar a policy.
#[derive(Serialize)]
struct Stack {
    title: &'static str,
    hint: &'static str,
    unit: &'static str,
    /// `path` or `cause`: which colours.
    colours: &'static str,
    keys: Vec<String>,
    /// By key, then by policy.
    values: Vec<Vec<f64>>,
}

/// One run over time; inner vectors are by path.
#[derive(Serialize)]
struct Samples {
    time_s: Vec<Json>,
    goodput_bps: Vec<Vec<Json>>,
    cwnd: Vec<Vec<Json>>,
    rtt_s: Vec<Vec<Json>>,
    queue: Vec<Vec<Json>>,
    power_w: Vec<Vec<Json>>,
}

/// What the page for `comparison` draws.
pub(super) fn payload<'a>(comparison: &'a Comparison, sheet: &'a Sheet) -> impl Serialize {
    Payload {
        policies: comparison.rows.iter().map(|row| row.label.as_str()).collect(),
        paths: &comparison.scenario.paths,
        bars: by_importance(sheet).filter_map(|column| bars(column, sheet)).collect(),
        stacks: vec![shares(comparison), causes(comparison)],
        series: comparison.rows.iter().map(|row| row.series.as_ref().map(samples)).collect(),
    }
}

/// No `<` that could end the script element or begin a comment, nor line ends that scripts of old did not know.
pub(super) fn escape(json: &str) -> String {
    let mut safe = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => safe.push_str(&format!("\\u{:04x}", u32::from(c))),
            _ => safe.push(c),
        }
    }
    safe
}

/// Efficiency is what the page is about.
fn by_importance(sheet: &Sheet) -> impl Iterator<Item = &Column> {
    let is_first = |column: &&Column| column.metric == Metric::Efficiency;
    sheet.columns.iter().filter(is_first).chain(sheet.columns.iter().filter(move |column| !is_first(column)))
}

fn bars<'a>(column: &'a Column, sheet: &'a Sheet) -> Option<Bars<'a>> {
    let (title, hint) = match column.metric {
        Metric::Efficiency => ("Efficiency", "more is better"),
        Metric::Goodput => ("Goodput", "more is better"),
        Metric::Power => ("Power", "mean over the measured time; less is better"),
        Metric::Energy => ("Energy", "of the whole transfer; less is better"),
        Metric::Completion => ("Completion time", "of the files; less is better"),
        Metric::Delay => ("Delay", "mean over messages; less is better"),
        Metric::DelayP95 => ("Delay, 95th percentile", "less is better"),
        Metric::Competitors => ("Goodput of the competitors", "what is left to others"),
        _ => return None,
    };
    let (policies, limits) = column.cells.split_at(sheet.policies);
    let scaled = |value: f64| value / column.factor;
    let with_lines = column.metric == Metric::Efficiency;
    let line = |(cell, name): (&crate::sheet::Cell, &'a String)| {
        cell.value.map(|value| Line { name, value: scaled(value.mean) })
    };
    let lines = limits.iter().zip(&sheet.lines[sheet.policies..]).filter_map(line);
    Some(Bars {
        title,
        hint,
        unit: &column.unit,
        means: policies.iter().map(|cell| cell.value.map(|value| scaled(value.mean))).collect(),
        intervals: policies
            .iter()
            .map(|cell| cell.value?.interval.map(|(lo, hi)| (scaled(lo), scaled(hi))))
            .collect(),
        texts: policies.iter().map(with_interval).collect(),
        limits: if with_lines { lines.collect() } else { Vec::new() },
    })
}

fn shares(comparison: &Comparison) -> Stack {
    let of_path = |path: usize| {
        let share =
            |row: &joulepath_model::result::Row| row.paths.get(path).map_or(0.0, |path| 100.0 * path.share);
        comparison.rows.iter().map(share).collect()
    };
    Stack {
        title: "Where the data went",
        hint: "payload that arrived first over each path",
        unit: "%",
        colours: "path",
        keys: comparison.scenario.paths.clone(),
        values: (0..comparison.scenario.paths.len()).map(of_path).collect(),
    }
}

fn causes(comparison: &Comparison) -> Stack {
    let splits = || comparison.rows.iter().map(|row| row.energy_split);
    Stack {
        title: "Where the energy went",
        hint: "mean per run, by cause",
        unit: "J",
        colours: "cause",
        keys: ["sunk", "transfer", "tail"].map(String::from).to_vec(),
        values: vec![
            splits().map(|split| split.sunk_j).collect(),
            splits().map(|split| split.transfer_j).collect(),
            splits().map(|split| split.tail_j).collect(),
        ],
    }
}

fn samples(series: &Series) -> Samples {
    let by_path = |paths: &[Vec<f64>]| paths.iter().map(|path| rounded(path)).collect();
    Samples {
        time_s: rounded(&series.time_s),
        goodput_bps: by_path(&series.goodput_bps),
        cwnd: by_path(&series.cwnd),
        rtt_s: by_path(&series.rtt_s),
        queue: by_path(&series.queue),
        power_w: by_path(&series.power_w),
    }
}

fn rounded(values: &[f64]) -> Vec<Json> {
    values.iter().map(|&value| round(value, SERIES_DIGITS)).collect()
}

/// To so many significant digits, without `.0`; null if not finite.
pub(super) fn round(value: f64, digits: usize) -> Json {
    let rounded = scale::rounded(value, digits);
    // Integers below 2⁵³ are exact.
    if rounded.fract() == 0.0 && rounded.abs() < 9.0e15 {
        return Json::Number(Number::from(rounded as i64));
    }
    Number::from_f64(rounded).map_or(Json::Null, Json::Number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_keep_five_digits() {
        assert_eq!(round(1_234_567.0, 5).to_string(), "1234600");
        assert_eq!(round(0.012_345_678, 5).to_string(), "0.012346");
        assert_eq!(round(40.0, 5).to_string(), "40");
        assert_eq!(round(f64::NAN, 5).to_string(), "null");
    }

    #[test]
    fn what_could_end_a_script_is_escaped_and_still_the_same_text() {
        let text = "</script><!-- & \u{2028}";
        let escaped = escape(&serde_json::to_string(text).unwrap());
        assert!(!escaped.contains(['<', '>', '&', '\u{2028}']), "{escaped}");
        assert_eq!(serde_json::from_str::<String>(&escaped).unwrap(), text);
    }
}
