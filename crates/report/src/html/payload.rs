//! Data for the page's scripts, as JSON that is safe in a script element.

use joulepath_model::result::{Band, Comparison, OverTime};
use serde::Serialize;
use serde_json::{Number, Value as Json};

use crate::scale;

/// Significant digits of a value over time: a chart has less than a thousand pixels.
const SERIES_DIGITS: usize = 4;

/// Data for all scripts.
#[derive(Serialize)]
struct Payload<'a> {
    /// Policies, the most efficient first.
    policies: Vec<&'a str>,
    paths: &'a [String],
    /// Middle of each bin, s.
    time_s: Vec<Json>,
    bin_s: f64,
    /// Series by policy; null if none was recorded.
    series: Vec<Option<Drawn>>,
    /// Policies that are shown initially, as indices into `policies`.
    shown: Vec<usize>,
}

/// A policy over time. For each quantity: the total of the paths if meaningful, then each path.
#[derive(Serialize)]
struct Drawn {
    goodput: Lines,
    cwnd: Lines,
    rtt: Lines,
    queue: Lines,
    power: Lines,
}

#[derive(Serialize)]
struct Lines {
    total: Option<DrawnBand>,
    paths: Vec<DrawnBand>,
}

/// A line and its band; no band for a single run.
#[derive(Serialize)]
struct DrawnBand {
    median: Vec<Json>,
    lo: Option<Vec<Json>>,
    hi: Option<Vec<Json>>,
}

/// Data of the page for `comparison`, with its rows in `order`.
pub(super) fn payload(comparison: &Comparison, order: &[usize]) -> impl Serialize {
    let rows = || order.iter().map(|&row| &comparison.rows[row]);
    let any = rows().find_map(|row| row.over_time.as_ref());
    // All runs use one scenario, but some may end earlier.
    let longest =
        rows().filter_map(|row| row.over_time.as_ref()).max_by_key(|over_time| over_time.time_s.len());
    let place_of_first = order.iter().position(|&row| row == 0);
    let beside = place_of_first.filter(|&place| place > 0).unwrap_or(1);
    Payload {
        policies: rows().map(|row| row.label.as_str()).collect(),
        paths: &comparison.scenario.paths,
        time_s: longest.map_or_else(Vec::new, |over_time| rounded(&over_time.time_s)),
        bin_s: any.map_or(0.0, |over_time| over_time.bin_s),
        series: rows().map(|row| row.over_time.as_ref().map(drawn)).collect(),
        shown: [0, beside].into_iter().filter(|&place| place < order.len()).collect(),
    }
}

/// Escapes `<`, which could end the script element or start a comment, and line ends that old scripts did not
/// accept.
pub(super) fn escape(json: &str) -> String {
    let mut safe = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(at) = rest.find(['<', '>', '&', '\u{2028}', '\u{2029}']) {
        let (before, from) = rest.split_at(at);
        let mut from = from.chars();
        let unsafe_one = from.next().map_or(0, u32::from);
        safe.push_str(before);
        safe.push_str(&format!("\\u{unsafe_one:04x}"));
        rest = from.as_str();
    }
    safe.push_str(rest);
    safe
}

fn drawn(over_time: &OverTime) -> Drawn {
    let has_band = over_time.runs > 1;
    let band = |band: &Band| DrawnBand {
        median: known(&band.median),
        lo: has_band.then(|| known(&band.lo)),
        hi: has_band.then(|| known(&band.hi)),
    };
    let lines = |total: Option<&Band>, paths: &[Band]| Lines {
        // With one path the total would be a duplicate.
        total: total.filter(|_| paths.len() > 1).map(band),
        paths: paths.iter().map(band).collect(),
    };
    Drawn {
        goodput: lines(Some(&over_time.total_goodput_bps), &over_time.goodput_bps),
        cwnd: lines(None, &over_time.cwnd),
        rtt: lines(None, &over_time.rtt_s),
        queue: lines(None, &over_time.queue),
        power: lines(Some(&over_time.total_power_w), &over_time.power_w),
    }
}

fn known(values: &[Option<f64>]) -> Vec<Json> {
    values.iter().map(|value| value.map_or(Json::Null, |value| round(value, SERIES_DIGITS))).collect()
}

fn rounded(values: &[f64]) -> Vec<Json> {
    values.iter().map(|&value| round(value, SERIES_DIGITS)).collect()
}

/// Rounds to `digits` significant digits, without `.0`; null if not finite.
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
    fn text_that_could_end_a_script_is_escaped_without_changing_it() {
        let text = "</script><!-- & \u{2028}";
        let escaped = escape(&serde_json::to_string(text).unwrap());
        assert!(!escaped.contains(['<', '>', '&', '\u{2028}']), "{escaped}");
        assert_eq!(serde_json::from_str::<String>(&escaped).unwrap(), text);
    }
}
