//! Lines with bands, and dots with names, over two axes.

use std::fmt::Write as _;

use super::{Axis, COLOURS, STYLE, brief, escaped};
use crate::scale::rounded;

/// Units of a curve's coordinates across and down the plot.
const ACROSS: f64 = 2000.0;
const DOWN: f64 = 1000.0;
/// Curves with more points have no dots.
const FEW: usize = 30;
/// Width of a character, px: an upper bound at 12 px.
const CHARACTER: f64 = 6.9;
/// Half the height of a name, px.
const HALF_LINE: f64 = 7.5;
/// Minimum width of a plot with each set of names, px; `chart.css` selects the set.
const WIDTHS: [(&str, f64); 2] = [("narrow", 250.0), ("wide", 560.0)];

/// A line, with a band if it has intervals.
pub(crate) struct Curve {
    pub(crate) name: String,
    /// Classes for colour and dashes.
    pub(crate) look: String,
    /// Whether its points are marked by diamonds, as the paper's are.
    pub(crate) is_stated: bool,
    /// Ascending.
    pub(crate) x: Vec<f64>,
    /// One value for each x; `None` where it is missing.
    pub(crate) y: Vec<Option<f64>>,
    /// Lower and upper end for each x; empty without intervals.
    pub(crate) band: Vec<Option<(f64, f64)>>,
}

/// A mark at a point.
pub(crate) struct Dot {
    pub(crate) at: [f64; 2],
    /// Lower and upper ends in both directions.
    pub(crate) whiskers: Option<[[f64; 2]; 2]>,
    /// Classes: colour, `ring`, `hollow`, `cross`.
    pub(crate) look: String,
    /// Lines of its description.
    pub(crate) tip: Vec<String>,
    /// Names by preference; the first that fits is shown. Dots with a lower rank come first.
    pub(crate) names: Vec<String>,
    pub(crate) rank: usize,
}

/// A line across the plot.
pub(crate) struct Label {
    pub(crate) at: f64,
    pub(crate) text: &'static str,
}

/// A plot.
pub(crate) struct Plot {
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    /// Texts of the ticks in place of the axes' own: position from 0 to 1, and text.
    pub(crate) ticks: [Option<Vec<(f64, String)>>; 2],
    /// Titles of the axes.
    pub(crate) titles: [String; 2],
    /// Accessible name.
    pub(crate) words: String,
    pub(crate) curves: Vec<Curve>,
    /// Lines without values to read: corners, and whether it is dashed.
    pub(crate) guides: Vec<(Vec<[f64; 2]>, bool)>,
    pub(crate) dots: Vec<Dot>,
    /// Vertical line with a name.
    pub(crate) upright: Option<Label>,
    /// Further classes: `tall`, `square`, `low`.
    pub(crate) shape: &'static str,
    /// Further attributes of the element, for scripts.
    pub(crate) attributes: String,
}

impl Plot {
    /// A plot without marks.
    pub(crate) fn new(x: Axis, y: Axis) -> Self {
        Plot {
            x,
            y,
            ticks: [None, None],
            titles: Default::default(),
            words: String::new(),
            curves: vec![],
            guides: vec![],
            dots: vec![],
            upright: None,
            shape: "",
            attributes: String::new(),
        }
    }

    /// An element of a page, as wide as its container.
    pub(crate) fn html(&self) -> String {
        let [x, y] = &self.titles;
        let title = |class: &str, text: &str| match text {
            "" => String::new(),
            text => format!(
                "<p class=\"axis-{class}\" aria-hidden=\"true\">{}</p>\n",
                escaped(text)
            ),
        };
        let [lo, hi] = self.x.ends();
        let xs: Vec<String> = self
            .xs()
            .iter()
            .map(|&x| rounded(x, 7).to_string())
            .collect();
        let log = if self.x.is_log() { " data-log" } else { "" };
        let data = match xs.as_slice() {
            [] => String::new(),
            xs => format!(" data-x=\"{}\" data-ends=\"{lo},{hi}\"{log}", xs.join(",")),
        };
        let names: String = WIDTHS
            .map(|(class, width)| self.names(class, [width, 280.0]))
            .concat();
        format!(
            "{}<div class=\"plot {}\" role=\"img\"{} aria-label=\"{}\" style=\"--left:{:.0}px\"{data}{}>\
             <svg>{}{names}</svg></div>\n{}",
            title("y", y),
            self.shape,
            if self.is_read() {
                " tabindex=\"0\""
            } else {
                ""
            },
            escaped(&self.words),
            self.left(),
            self.attributes,
            self.inside(),
            title("x", x),
        )
    }

    /// A file of this size in px, with a heading and notes under it.
    pub(crate) fn document(
        &self,
        [width, height]: [f64; 2],
        heading: [&str; 2],
        note: &str,
    ) -> String {
        let [left, top, right, bottom] = [self.left() + 22.0, 56.0, width - 24.0, height - 60.0];
        let (across, down) = (right - left, bottom - top);
        let [x, y] = self.titles.each_ref().map(|title| escaped(title));
        let [title, subtitle] = heading.map(escaped);
        let middle = top + down / 2.0;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
             height=\"{height}\" class=\"picture\" role=\"img\" aria-label=\"{}\">\n\
             <style>\n{COLOURS}{STYLE}</style>\n\
             <rect class=\"ground\" width=\"100%\" height=\"100%\"/>\n\
             <text class=\"head\" x=\"{left}\" y=\"24\">{title}</text>\
             <text x=\"{left}\" y=\"42\">{subtitle}</text>\n\
             <svg x=\"{left}\" y=\"{top}\" width=\"{across}\" height=\"{down}\" overflow=\"visible\">\
             {}{}</svg>\n\
             <text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{x}</text>\
             <text text-anchor=\"middle\" transform=\"translate(14 {middle}) rotate(-90)\">{y}</text>\n\
             <text x=\"{left}\" y=\"{}\">{}</text>\n</svg>\n",
            escaped(&self.words),
            self.inside(),
            self.names("", [across, down]),
            left + across / 2.0,
            bottom + 36.0,
            height - 6.0,
            escaped(note),
        )
    }

    /// Whether there are values or descriptions to read.
    fn is_read(&self) -> bool {
        !self.curves.is_empty() || self.dots.iter().any(|dot| !dot.tip.is_empty())
    }

    fn across(&self, value: f64) -> f64 {
        100.0 * self.x.part(value)
    }

    fn down(&self, value: f64) -> f64 {
        100.0 * (1.0 - self.y.part(value))
    }

    /// Ticks of an axis: position from 0 to 1, and text.
    fn ticks_of(&self, which: usize) -> Vec<(f64, String)> {
        let axis = [&self.x, &self.y][which];
        let own = || {
            axis.ticks()
                .iter()
                .map(|&tick| (axis.part(tick), axis.text(tick)))
                .collect()
        };
        self.ticks[which].clone().unwrap_or_else(own)
    }

    /// Room for the numbers of the vertical axis, px.
    fn left(&self) -> f64 {
        let longest = self
            .ticks_of(1)
            .iter()
            .map(|(_, text)| text.chars().count())
            .max()
            .unwrap_or(0);
        14.0 + CHARACTER * longest as f64
    }

    fn inside(&self) -> String {
        let mut svg = String::from("<g class=\"ticks y\">");
        for (at, text) in self.ticks_of(1) {
            let y = 100.0 * (1.0 - at);
            let _ = write!(
                svg,
                "<line class=\"rule\" x2=\"100%\" y1=\"{y:.2}%\" y2=\"{y:.2}%\"/>\
                 <text dx=\"-7\" y=\"{y:.2}%\" dy=\"4\" text-anchor=\"end\">{}</text>",
                escaped(&text)
            );
        }
        svg += "</g><g class=\"ticks x\">";
        for (at, text) in self.ticks_of(0) {
            let x = 100.0 * at;
            let _ = write!(
                svg,
                "<line class=\"rule\" y2=\"100%\" x1=\"{x:.2}%\" x2=\"{x:.2}%\"/>\
                 <text x=\"{x:.2}%\" y=\"100%\" dy=\"17\" text-anchor=\"middle\">{}</text>",
                escaped(&text)
            );
        }
        svg += "</g>";
        if let Some(Label { at, text }) = self.upright {
            let x = self.across(at);
            let (dx, anchor) = if x > 50.0 { (-5, "end") } else { (5, "start") };
            let _ = write!(
                svg,
                "<line class=\"upright\" x1=\"{x:.2}%\" x2=\"{x:.2}%\" y2=\"100%\"/>\
                 <text x=\"{x:.2}%\" dx=\"{dx}\" \
                 y=\"100%\" dy=\"-6\" text-anchor=\"{anchor}\">{text}</text>"
            );
        }
        let _ = write!(
            svg,
            "<svg class=\"curves\" viewBox=\"0 0 {ACROSS} {DOWN}\" preserveAspectRatio=\"none\">"
        );
        for (corners, dashed) in &self.guides {
            let class = if *dashed { "guide dashed" } else { "guide" };
            let points = corners.iter().map(|&[x, y]| Some(self.units(x, y)));
            let _ = write!(svg, "<path class=\"{class}\" d=\"{}\"/>", path(points));
        }
        for curve in &self.curves {
            self.curve(&mut svg, curve);
        }
        svg += "</svg>";
        for curve in self
            .curves
            .iter()
            .filter(|curve| curve.is_stated && is_few(curve))
        {
            for (&x, y) in curve.x.iter().zip(&curve.y) {
                let Some(y) = y else { continue };
                let _ = write!(
                    svg,
                    "<svg x=\"{:.2}%\" y=\"{:.2}%\" class=\"mark {}\"><path d=\"{DIAMOND}\"/></svg>",
                    self.across(x),
                    self.down(*y),
                    curve.look
                );
            }
        }
        for dot in &self.dots {
            self.dot(&mut svg, dot);
        }
        svg
    }

    fn units(&self, x: f64, y: f64) -> [f64; 2] {
        [
            (ACROSS * self.x.part(x)).round(),
            (DOWN * (1.0 - self.y.part(y))).round(),
        ]
    }

    fn curve(&self, svg: &mut String, curve: &Curve) {
        let look = &curve.look;
        let points = || {
            curve
                .x
                .iter()
                .zip(&curve.y)
                .map(|(&x, y)| y.map(|y| self.units(x, y)))
        };
        if !curve.band.is_empty() {
            let _ = write!(
                svg,
                "<path class=\"band {look}\" d=\"{}\"/>",
                self.band(curve)
            );
        }
        let stated = if curve.is_stated { " stated" } else { "" };
        let (line, values) = (path(points()), self.values(curve));
        let _ = write!(
            svg,
            "<path class=\"line {look}{stated}\" d=\"{line}\" data-y=\"{values}\"/>"
        );
        if !curve.is_stated && is_few(curve) {
            let dots: String = points()
                .flatten()
                .map(|[x, y]| format!("M{x} {y}h0"))
                .collect();
            let _ = write!(svg, "<path class=\"points {look}\" d=\"{dots}\"/>");
        }
    }

    /// The x values of all curves, ascending.
    fn xs(&self) -> Vec<f64> {
        let mut xs: Vec<f64> = self
            .curves
            .iter()
            .flat_map(|curve| &curve.x)
            .copied()
            .collect();
        xs.sort_by(f64::total_cmp);
        xs.dedup();
        xs
    }

    /// The curve's value at each of [`Plot::xs`], or nothing.
    fn values(&self, curve: &Curve) -> String {
        let mut own = curve.x.iter().zip(&curve.y).peekable();
        let value = |x: f64| {
            let y = own.next_if(|(at, _)| **at == x).and_then(|(_, y)| *y);
            y.map_or_else(String::new, brief)
        };
        self.xs()
            .into_iter()
            .map(value)
            .collect::<Vec<_>>()
            .join(",")
    }

    /// Outline of a band, in pieces where it has gaps.
    fn band(&self, curve: &Curve) -> String {
        let known = |(&x, ends): (&f64, &Option<(f64, f64)>)| ends.map(|(lo, hi)| (x, lo, hi));
        let all: Vec<Option<(f64, f64, f64)>> =
            curve.x.iter().zip(&curve.band).map(known).collect();
        let piece = |piece: &[Option<(f64, f64, f64)>]| {
            let upper = piece.iter().flatten().map(|&(x, _, hi)| self.units(x, hi));
            let lower = piece
                .iter()
                .flatten()
                .rev()
                .map(|&(x, lo, _)| self.units(x, lo));
            path(upper.chain(lower).map(Some)) + "z"
        };
        all.split(Option::is_none)
            .filter(|points| !points.is_empty())
            .map(piece)
            .collect()
    }

    fn dot(&self, svg: &mut String, dot: &Dot) {
        let [x, y] = [self.across(dot.at[0]), self.down(dot.at[1])];
        if let Some([across, down]) = dot.whiskers {
            let [left, right] = across.map(|end| self.across(end).clamp(0.0, 100.0));
            let [low, high] = down.map(|end| self.down(end).clamp(0.0, 100.0));
            let _ = write!(
                svg,
                "<line class=\"whisker\" x1=\"{left:.2}%\" x2=\"{right:.2}%\" y1=\"{y:.2}%\" y2=\"{y:.2}%\"/>\
                 <line class=\"whisker\" x1=\"{x:.2}%\" x2=\"{x:.2}%\" y1=\"{low:.2}%\" y2=\"{high:.2}%\"/>"
            );
        }
        let tip = match dot.tip.as_slice() {
            [] => String::new(),
            lines => format!(" data-tip=\"{}\"", escaped(&lines.join("\n"))),
        };
        let place = format!("{x:.2}%");
        let look = &dot.look;
        if look.contains("cross") {
            let cross = "M-3.5 -3.5l7 7m0 -7l-7 7";
            let _ = write!(
                svg,
                "<svg x=\"{place}\" y=\"{y:.2}%\" class=\"mark {look}\"><path d=\"{cross}\"/></svg>"
            );
            return;
        }
        if look.contains("ring") {
            let _ = write!(
                svg,
                "<circle class=\"halo\" cx=\"{place}\" cy=\"{y:.2}%\" r=\"9\"/>"
            );
        }
        let _ = write!(
            svg,
            "<circle class=\"dot {look}\" cx=\"{place}\" cy=\"{y:.2}%\" r=\"5\"{tip}/>"
        );
    }

    /// Names next to the dots, without overlaps in a plot of this size. Wider plots have no
    /// overlaps either.
    fn names(&self, class: &str, [width, height]: [f64; 2]) -> String {
        let at = |dot: &Dot| {
            [
                self.across(dot.at[0]) / 100.0 * width,
                self.down(dot.at[1]) / 100.0 * height,
            ]
        };
        let around = |[x, y]: [f64; 2]| [x - 6.0, y - 6.0, x + 6.0, y + 6.0];
        let mut taken: Vec<[f64; 4]> = self.dots.iter().map(|dot| around(at(dot))).collect();
        let mut order: Vec<&Dot> = self.dots.iter().collect();
        order.sort_by_key(|dot| dot.rank);
        let mut svg = String::new();
        for dot in order {
            let [x, y] = at(dot);
            let choice = dot
                .names
                .iter()
                .flat_map(|name| SIDES.map(|side| (name, side)));
            let boxed = |(name, (dx, dy, anchor)): (&String, (f64, f64, &'static str))| {
                let long = CHARACTER * name.chars().count() as f64;
                let left = x + dx
                    - match anchor {
                        "start" => 0.0,
                        "end" => long,
                        _ => long / 2.0,
                    };
                (
                    name.clone(),
                    dx,
                    dy,
                    anchor,
                    [left, y + dy - HALF_LINE, left + long, y + dy + HALF_LINE],
                )
            };
            let is_free = |(.., b): &(String, f64, f64, &str, [f64; 4])| {
                let apart = |t: &[f64; 4]| b[2] < t[0] || b[0] > t[2] || b[3] < t[1] || b[1] > t[3];
                b[0] > 0.0
                    && b[2] < width
                    && b[1] > -8.0
                    && b[3] < height
                    && taken.iter().all(apart)
            };
            let Some((name, dx, dy, anchor, place)) = choice.map(boxed).find(is_free) else {
                continue;
            };
            let (cx, cy, dy) = (self.across(dot.at[0]), self.down(dot.at[1]), dy + 4.0);
            let _ = write!(
                svg,
                "<text class=\"name {class}\" x=\"{cx:.2}%\" y=\"{cy:.2}%\" dx=\"{dx}\" dy=\"{dy}\" \
                 text-anchor=\"{anchor}\">{}</text>",
                escaped(&name)
            );
            taken.push(place);
        }
        svg
    }
}

/// Places of a name around its dot, px, and its anchor.
const SIDES: [(f64, f64, &str); 8] = [
    (10.0, 0.0, "start"),
    (-10.0, 0.0, "end"),
    (8.0, -12.0, "start"),
    (8.0, 12.0, "start"),
    (-8.0, -12.0, "end"),
    (-8.0, 12.0, "end"),
    (0.0, -17.0, "middle"),
    (0.0, 17.0, "middle"),
];

const DIAMOND: &str = "M0 -5L5 0L0 5L-5 0Z";

/// Names of curves with samples and room for a value.
pub(crate) fn legend(curves: &[Curve]) -> String {
    let item = |curve: &Curve| {
        let look = &curve.look;
        let [stated, mark] = match curve.is_stated {
            true => [
                " stated",
                "<path class=\"mark\" d=\"M12 1L17 6L12 11L7 6Z\"/>",
            ],
            false => ["", ""],
        };
        format!(
            "<span><svg class=\"sample {look}\" width=\"24\" height=\"12\">\
             <path class=\"line{stated}\" d=\"M0 6H24\"/>\
             {mark}</svg>{}<b></b></span>",
            escaped(&curve.name)
        )
    };
    format!(
        "<div class=\"legend\" aria-hidden=\"true\">{}<span class=\"at\"></span></div>\n",
        curves.iter().map(item).collect::<String>()
    )
}

fn is_few(curve: &Curve) -> bool {
    curve.y.iter().flatten().count() <= FEW
}

/// A line through points, which pauses at missing ones.
fn path(points: impl Iterator<Item = Option<[f64; 2]>>) -> String {
    let mut path = String::new();
    let mut before: Option<[f64; 2]> = None;
    let mut has_line = true;
    for point in points {
        if let Some([x, y]) = point {
            let _ = match before {
                None => write!(path, "M{x} {y}"),
                Some([left, top]) => write!(path, "l{} {}", x - left, y - top),
            };
            has_line = before.is_some();
        } else if before.is_some() && !has_line {
            path += "h0";
        }
        before = point;
    }
    if before.is_some() && !has_line {
        path + "h0"
    } else {
        path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_pauses_at_missing_points_and_shows_single_ones() {
        let points = [Some([0.0, 5.0]), Some([10.0, 2.0]), None, Some([30.0, 4.0])];
        assert_eq!(path(points.into_iter()), "M0 5l10 -3M30 4h0");
    }

    fn dot(x: f64, name: &str) -> Dot {
        let names = vec![name.to_owned()];
        Dot {
            at: [x, 0.5],
            whiskers: None,
            look: String::new(),
            tip: vec!["a \"tip\"".into()],
            names,
            rank: 0,
        }
    }

    #[test]
    fn names_do_not_overlap_and_texts_are_escaped() {
        let unit = || Axis::between(0.0, 1.0, 5.0);
        let mut plot = Plot::new(unit(), unit());
        plot.dots = (0..9)
            .map(|i| dot(0.5 + 0.001 * f64::from(i), "a < b"))
            .collect();
        plot.words = "a < b".into();
        let html = plot.html();
        assert!(
            html.contains("aria-label=\"a &lt; b\"")
                && html.contains("data-tip=\"a &quot;tip&quot;\"")
        );
        assert!(
            (1..9).contains(&html.matches("name narrow").count()),
            "{html}"
        );
    }
}
