//! What the page's scripts draw, as JSON that is safe within a script element.

use joulepath_model::result::{Band, Comparison, OverTime};
use serde::Serialize;
use serde_json::{Number, Value as Json};

use crate::scale;

/// Digits of a value over time: a chart is not a thousand pixels high.
const SERIES_DIGITS: usize = 4;

/// Everything that is drawn by scripts.
#[derive(Serialize)]
struct Payload<'a> {
    /// The most efficient first.
    policies: Vec<&'a str>,
    paths: &'a [String],
    /// The middle of each bin, s.
    time_s: Vec<Json>,
    bin_s: f64,
    /// By policy; null where no series was recorded.
    series: Vec<Option<Drawn>>,
    /// Which policies are shown at first: places in `policies`.
    shown: Vec<usize>,
}

/// One policy over time. The lines of a quantity: all paths together where that means something, then by
/// path.
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

/// A line and its band; without a band if there is one run.
#[derive(Serialize)]
struct DrawnBand {
    median: Vec<Json>,
    lo: Option<Vec<Json>>,
    hi: Option<Vec<Json>>,
}

/// What the page for `comparison` draws, its rows in `order`.
pub(super) fn payload(comparison: &Comparison, order: &[usize]) -> impl Serialize {
    let rows = || order.iter().map(|&row| &comparison.rows[row]);
    let any = rows().find_map(|row| row.over_time.as_ref());
    // All runs are of one scenario, but those of one policy may be over sooner.
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

/// No `<` that could end the script element or begin a comment, nor line ends that scripts of old did not
/// know.
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
        // With one path it would be drawn twice.
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
