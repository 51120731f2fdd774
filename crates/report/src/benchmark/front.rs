//! The energy–goodput front as a picture: the energy cost of goodput in scenarios where goodput depends on
//! the policy.

use std::fmt::Write as _;

use super::metric::Metric;
use super::schema::{Benchmark, Overall, Row};
use super::tables::title;
use crate::scale::round_step;

/// Size of the picture, px.
const SIZE: [f64; 2] = [860.0, 560.0];
/// Left, top, right and bottom of the axes in the picture, px.
const FRAME: [f64; 4] = [64.0, 56.0, 836.0, 500.0];
/// Maximum number of steps of an axis.
const MOST_STEPS: f64 = 8.0;
/// Width of a label's character, px: an upper bound at 11 px.
const CHARACTER: f64 = 6.4;
/// Half the height of a label, px.
const HALF_LINE: f64 = 7.0;

/// Light or dark like the reader's page; light where the browser lacks `light-dark`.
fn style() -> String {
    let rules = [
        (".ground", "fill", "#ffffff", "#181d23"),
        ("text", "fill", "#1b2127", "#e6e9ed"),
        ("text.dim", "fill", "#5b6672", "#98a3af"),
        (".grid", "stroke", "#dfe3e8", "#2b323b"),
        (".staircase", "stroke", "#5b6672", "#98a3af"),
        (".whisker", "stroke", "#b3bcc6", "#4d5864"),
        (".dot", "fill", "#8f9ba8", "#7d8996"),
        (".dot", "stroke", "#ffffff", "#181d23"),
        (".dot.first", "fill", "#00684c", "#3ccf9f"),
        (".dot.none", "fill", "#ffffff", "#181d23"),
        (".dot.none", "stroke", "#5b6672", "#98a3af"),
    ];
    let rule = |(what, key, light, dark): (&str, &str, &str, &str)| {
        format!(".benchmark-front {what} {{ {key}: {light}; {key}: light-dark({light}, {dark}); }}\n")
    };
    let plain = ".benchmark-front { color-scheme: light dark; font: 11px system-ui, sans-serif; }\n\
                 .benchmark-front .head { font-size: 14px; font-weight: 600; }\n\
                 .benchmark-front .staircase { fill: none; stroke-width: 1.5; stroke-dasharray: 5 3; }\n";
    plain.to_owned() + &rules.map(rule).concat()
}

/// A policy in the picture.
struct Dot<'a> {
    row: &'a Row,
    /// Goodput relative to the fastest single path, with its interval.
    x: [f64; 3],
    /// Share of the limit, percent, with its interval.
    y: [f64; 3],
}

/// The front as SVG; `None` if no policy has run where goodput depends on it.
pub fn front(benchmark: &Benchmark) -> Option<String> {
    let dot = |row| -> Option<Dot<'_>> {
        let row: &Row = row;
        let mean = |metric| row.overall.get(&metric).map(|overall: &Overall| overall.mean);
        let (x, y) = (mean(Metric::Goodput)?, mean(Metric::TcpReferenceFree)?);
        Some(Dot { row, x: [x.mean, x.lo, x.hi], y: [y.mean, y.lo, y.hi].map(|share| 100.0 * share) })
    };
    let dots: Vec<Dot<'_>> = benchmark.policies.iter().filter_map(dot).collect();
    let x = Axis::around(dots.iter().map(|dot| dot.x[0]), [FRAME[0], FRAME[2]])?;
    let y = Axis::around(dots.iter().map(|dot| dot.y[0]), [FRAME[3], FRAME[1]])?;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"benchmark-front\" viewBox=\"0 0 {} {}\" \
         role=\"img\" tabindex=\"0\" aria-label=\"Goodput and share of the TCP-rate reference of {} \
         policies\">\n<style>\n{}</style>\n <rect class=\"ground\" width=\"100%\" height=\"100%\"/>\n\
         <text class=\"head\" x=\"{}\" y=\"24\">What goodput costs</text>\n\
         <text class=\"dim\" x=\"{}\" y=\"42\">{}, those where goodput depends on the policy</text>\n",
        SIZE[0],
        SIZE[1],
        dots.len(),
        style(),
        FRAME[0],
        FRAME[0],
        escaped(&title(benchmark)),
    );
    svg += &grid(&x, &y);
    svg += &staircase(&dots, &x, &y);
    for dot in &dots {
        svg += &mark(dot, &x, &y);
    }
    svg += &labels(&dots, &x, &y);
    svg += "</svg>\n";
    Some(svg)
}

/// Whether it is a policy (not a path chosen in hindsight), and no policy has both more goodput and a larger
/// share.
fn is_on_front(dot: &Dot<'_>, dots: &[Dot<'_>]) -> bool {
    let beats = |other: &Dot<'_>| {
        let no_less = other.x[0] >= dot.x[0] && other.y[0] >= dot.y[0];
        other.row.entry.baseline.is_none() && no_less && (other.x[0] > dot.x[0] || other.y[0] > dot.y[0])
    };
    dot.row.entry.baseline.is_none() && !dots.iter().any(beats)
}

/// Steps through the policies on the front. Everything left of and below them is inferior.
fn staircase(dots: &[Dot<'_>], x: &Axis, y: &Axis) -> String {
    let mut corners: Vec<[f64; 2]> =
        dots.iter().filter(|dot| is_on_front(dot, dots)).map(|dot| [dot.x[0], dot.y[0]]).collect();
    corners.sort_by(|a, b| a[0].total_cmp(&b[0]));
    let mut path = format!("M{:.1} ", FRAME[0]);
    let mut right = String::new();
    for (index, [at_x, at_y]) in corners.iter().enumerate() {
        let (px, py) = (x.place(*at_x), y.place(*at_y));
        // Starts on the axis at the height of the first policy, then goes down to each next one.
        let _ =
            if index == 0 { write!(path, "{py:.1} H{px:.1}") } else { write!(path, " V{py:.1} H{px:.1}") };
        right = format!(" V{:.1}", FRAME[3]);
    }
    format!("<path class=\"staircase\" d=\"{path}{right}\"/>\n")
}

fn mark(dot: &Dot<'_>, x: &Axis, y: &Axis) -> String {
    let (px, py) = (x.place(dot.x[0]), y.place(dot.y[0]));
    let [left, right] = [dot.x[1], dot.x[2]].map(|end| x.within(end));
    let [low, high] = [dot.y[1], dot.y[2]].map(|end| y.within(end));
    let class = match dot.row.tier {
        None => "dot none",
        Some(1) => "dot first",
        Some(_) => "dot",
    };
    let score = dot.row.mean(Metric::Score).map_or(f64::NAN, |score| 100.0 * score);
    format!(
        "<path class=\"whisker\" d=\"M{left:.1} {py:.1}H{right:.1}M{px:.1} {low:.1}V{high:.1}\"/>\
         <circle class=\"{class}\" cx=\"{px:.1}\" cy=\"{py:.1}\" r=\"5\"><title>{}: goodput {:.2}, {:.1} % \
         of the TCP-rate reference, score {score:.1} %</title></circle>\n",
        escaped(&dot.row.entry.label),
        dot.x[0],
        dot.y[0],
    )
}

/// Names next to the dots, without overlaps: the front first, then by tier.
fn labels(dots: &[Dot<'_>], x: &Axis, y: &Axis) -> String {
    let place = |dot: &Dot<'_>| (x.place(dot.x[0]), y.place(dot.y[0]));
    let around = |(px, py): (f64, f64)| [px - 6.0, py - 6.0, px + 6.0, py + 6.0];
    let mut taken: Vec<[f64; 4]> = dots.iter().map(|dot| around(place(dot))).collect();
    let mut order: Vec<&Dot<'_>> = dots.iter().collect();
    order.sort_by_key(|dot| (!is_on_front(dot, dots), dot.row.tier.unwrap_or(0)));
    let mut svg = String::new();
    for dot in order {
        let ((px, py), text) = (place(dot), &dot.row.entry.label);
        let width = text.chars().count() as f64 * CHARACTER;
        let starts = [
            (px + 9.0, py),
            (px - 9.0 - width, py),
            (px + 7.0, py - 11.0),
            (px + 7.0, py + 11.0),
            (px - 7.0 - width, py - 11.0),
            (px - 7.0 - width, py + 11.0),
            (px - width / 2.0, py - 15.0),
            (px - width / 2.0, py + 15.0),
        ];
        let boxed = |(left, middle): (f64, f64)| [left, middle - HALF_LINE, left + width, middle + HALF_LINE];
        let is_free = |b: &[f64; 4]| {
            let apart = |t: &[f64; 4]| b[2] < t[0] || b[0] > t[2] || b[3] < t[1] || b[1] > t[3];
            let inside = b[0] > FRAME[0] && b[2] < SIZE[0] && b[1] > FRAME[1] - 10.0 && b[3] < FRAME[3];
            inside && taken.iter().all(apart)
        };
        let Some(found) = starts.into_iter().map(boxed).find(is_free) else { continue };
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            found[0],
            found[1] + HALF_LINE + 4.0,
            escaped(text)
        );
        taken.push(found);
    }
    svg
}

fn grid(x: &Axis, y: &Axis) -> String {
    let [left, top, right, bottom] = FRAME;
    let mut svg = String::new();
    for tick in x.ticks() {
        let at = x.place(tick);
        let _ = writeln!(
            svg,
            "<path class=\"grid\" d=\"M{at:.1} {top}V{bottom}\"/>\
             <text class=\"dim\" text-anchor=\"middle\" x=\"{at:.1}\" y=\"{}\">{}</text>",
            bottom + 16.0,
            number(tick)
        );
    }
    for tick in y.ticks() {
        let at = y.place(tick);
        let _ = writeln!(
            svg,
            "<path class=\"grid\" d=\"M{left} {at:.1}H{right}\"/>\
             <text class=\"dim\" text-anchor=\"end\" x=\"{}\" y=\"{:.1}\">{}</text>",
            left - 8.0,
            at + 4.0,
            number(tick)
        );
    }
    svg + &format!(
        "<text text-anchor=\"middle\" x=\"{}\" y=\"{}\">goodput over that of the fastest single path; \
         further right is better</text>\n<text text-anchor=\"middle\" transform=\"translate(18 {}) \
         rotate(-90)\">share of the TCP-rate reference, %; higher is better</text>\n\
         <text class=\"dim\" x=\"{left}\" y=\"{}\">green: first tier · hollow: a single path chosen in \
         hindsight, or not run everywhere · lines: 95 % intervals · dashed: no policy \
         is better in both</text>\n",
        (left + right) / 2.0,
        bottom + 34.0,
        (top + bottom) / 2.0,
        SIZE[1] - 8.0
    )
}

/// An axis around the values, with room at the ends.
struct Axis {
    ends: [f64; 2],
    places: [f64; 2],
    step: f64,
}

impl Axis {
    fn around(values: impl Iterator<Item = f64> + Clone, places: [f64; 2]) -> Option<Self> {
        let lo = values.clone().fold(f64::INFINITY, f64::min);
        let hi = values.fold(f64::NEG_INFINITY, f64::max);
        if !(lo.is_finite() && hi.is_finite()) {
            return None;
        }
        let room = (0.06 * (hi - lo)).max(0.02 * hi.abs()).max(1e-6);
        let step = round_step((hi - lo + 2.0 * room) / MOST_STEPS)?;
        let ends = [((lo - room) / step).floor() * step, ((hi + room) / step).ceil() * step];
        Some(Axis { ends: [ends[0].max(0.0), ends[1]], places, step })
    }

    fn place(&self, value: f64) -> f64 {
        let part = (value - self.ends[0]) / (self.ends[1] - self.ends[0]);
        self.places[0] + part * (self.places[1] - self.places[0])
    }

    /// Like [`Axis::place`], clamped to the ends.
    fn within(&self, value: f64) -> f64 {
        self.place(value.clamp(self.ends[0], self.ends[1]))
    }

    fn ticks(&self) -> impl Iterator<Item = f64> + '_ {
        let count = ((self.ends[1] - self.ends[0]) / self.step).round() as u32;
        (0..=count).map(|i| self.ends[0] + f64::from(i) * self.step)
    }
}

/// Without trailing zeros.
fn number(tick: f64) -> String {
    let text = format!("{tick:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
