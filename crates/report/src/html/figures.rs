//! Figures of the papers' experiments for the page's scripts: short numbers, and no repeated x values.

use joulepath_model::result::Estimate;
use serde::Serialize;
use serde_json::Value as Json;

use super::payload::round;
use crate::reproduction::{Bars, Boxes, Figure, Line, Plot};

/// Significant digits of a number, for an axis that begins at 0.
const DIGITS: i32 = 4;
/// Significant digits of a double.
const MOST_DIGITS: i32 = 15;

#[derive(Serialize)]
pub(crate) struct Drawn<'a> {
    x: &'a str,
    y: &'a str,
    #[serde(flatten)]
    plot: DrawnPlot<'a>,
}

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum DrawnPlot<'a> {
    Lines { lines: Vec<DrawnLine<'a>>, log_x: bool },
    Bars { groups: &'a [String], bars: Vec<DrawnBars<'a>> },
    Boxes { groups: &'a [String], boxes: Vec<DrawnBoxes<'a>> },
}

#[derive(Serialize)]
struct DrawnLine<'a> {
    name: &'a str,
    stated: bool,
    /// `None` if equal to the previous line's.
    x: Option<Vec<Json>>,
    y: Vec<Json>,
    /// `None` without an interval.
    lo: Option<Vec<Json>>,
    hi: Option<Vec<Json>>,
}

#[derive(Serialize)]
struct DrawnBars<'a> {
    name: &'a str,
    /// Mean, lower and upper end of the interval.
    values: Vec<Option<[Json; 3]>>,
    stated: Vec<Option<Json>>,
}

#[derive(Serialize)]
struct DrawnBoxes<'a> {
    name: &'a str,
    /// Five numbers in Tukey's order.
    values: Vec<Option<[Json; 5]>>,
}

/// Data of `figure` for the scripts.
pub(crate) fn drawn(figure: &Figure) -> Drawn<'_> {
    let plot = match &figure.plot {
        Plot::Lines { lines, log_x } => DrawnPlot::Lines {
            lines: drawn_lines(lines),
            // Logarithms need positive numbers.
            log_x: *log_x && lines.iter().flat_map(|line| &line.x).all(|&x| x > 0.0),
        },
        Plot::Bars { groups, bars } => {
            DrawnPlot::Bars { groups, bars: bars.iter().map(drawn_bars).collect() }
        }
        Plot::Boxes { groups, boxes } => {
            let span = Span::of(
                boxes.iter().flat_map(|of| &of.values).flatten().flat_map(|five| [five.min, five.max]),
            );
            DrawnPlot::Boxes { groups, boxes: boxes.iter().map(|of| drawn_boxes(of, &span)).collect() }
        }
    };
    Drawn { x: &figure.x, y: &figure.y, plot }
}

fn drawn_lines(lines: &[Line]) -> Vec<DrawnLine<'_>> {
    let horizontal = Span::of(lines.iter().flat_map(|line| line.x.iter().copied()));
    let ends = lines.iter().flat_map(|line| line.interval.iter().flat_map(|&(lo, hi)| [lo, hi]));
    let vertical = Span::of(lines.iter().flat_map(|line| line.y.iter().flatten().copied()).chain(ends));
    let mut before: Option<&[f64]> = None;
    let mut drawn = Vec::with_capacity(lines.len());
    for line in lines {
        let known = before == Some(&line.x[..]);
        before = Some(&line.x);
        let ends = |end: fn(&(f64, f64)) -> f64| {
            let rounded = || line.interval.iter().map(|ends| vertical.round(end(ends))).collect();
            (!line.interval.is_empty()).then(rounded)
        };
        drawn.push(DrawnLine {
            name: &line.name,
            stated: line.stated,
            x: (!known).then(|| line.x.iter().map(|&x| horizontal.round(x)).collect()),
            y: line.y.iter().map(|y| y.map_or(Json::Null, |y| vertical.round(y))).collect(),
            lo: ends(|ends| ends.0),
            hi: ends(|ends| ends.1),
        });
    }
    drawn
}

fn drawn_bars(bars: &Bars) -> DrawnBars<'_> {
    let short = |value: f64| round(value, DIGITS as usize);
    let three = |&Estimate { mean, lo, hi }: &Estimate| mean.is_finite().then(|| [mean, lo, hi].map(short));
    DrawnBars {
        name: &bars.name,
        values: bars.values.iter().map(|value| value.as_ref().and_then(three)).collect(),
        stated: bars.stated.iter().map(|value| value.map(short)).collect(),
    }
}

fn drawn_boxes<'a>(boxes: &'a Boxes, span: &Span) -> DrawnBoxes<'a> {
    let five = |of: &crate::reproduction::FiveNumbers| {
        [of.min, of.q1, of.median, of.q3, of.max].map(|value| span.round(value))
    };
    DrawnBoxes {
        name: &boxes.name,
        values: boxes.values.iter().map(|value| value.as_ref().map(five)).collect(),
    }
}

/// Range of the numbers along an axis.
struct Span {
    width: f64,
}

impl Span {
    fn of(values: impl Iterator<Item = f64>) -> Self {
        let (mut lo, mut hi) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values.filter(|value| value.is_finite()) {
            (lo, hi) = (lo.min(value), hi.max(value));
        }
        Span { width: hi - lo }
    }

    /// Rounds to [`DIGITS`] digits, and to more if the axis shows a narrow range, so that steps stay
    /// invisible.
    fn round(&self, value: f64) -> Json {
        let zoom = libm::floor(libm::log10(value.abs() / self.width));
        let more = if zoom.is_finite() { (zoom as i32 + 1).max(0) } else { 0 };
        round(value, (DIGITS + more).min(MOST_DIGITS) as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_four_digits() {
        let span = Span::of([0.0, 2000.0].into_iter());
        assert_eq!(span.round(1234.567).to_string(), "1235");
        assert_eq!(span.round(0.012_345_6).to_string(), "0.01235");
        assert_eq!(span.round(f64::INFINITY).to_string(), "null");
    }

    #[test]
    fn a_narrow_axis_keeps_its_steps_small() {
        let span = Span::of([271.08, 271.30].into_iter());
        assert_eq!(span.round(271.123_456_7).to_string(), "271.12346");
    }

    #[test]
    fn an_axis_of_one_number_keeps_it() {
        assert_eq!(Span::of([5.0].into_iter()).round(5.0).to_string(), "5");
        assert_eq!(Span::of(std::iter::empty()).round(5.0).to_string(), "5");
    }
}
