//! Parts of charts without scripts: axes with round ends, and SVG pictures for pages and documentation.
//! Charts that the pointer or keyboard can read are uPlot's (`assets/js`).

use std::fmt::{Display, Write as _};

use crate::scale::round_step;

/// An axis from one round number to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Axis {
    lo: f64,
    hi: f64,
    /// Distance of two ticks: 1, 2 or 5 times a power of ten.
    pub(crate) step: f64,
}

impl Axis {
    /// An axis around `lo` and `hi` with about `most` steps; `None` if they are not a range.
    pub(crate) fn around(lo: f64, hi: f64, most: f64) -> Option<Self> {
        let step = round_step((hi - lo) / most).filter(|_| hi > lo)?;
        Some(Axis { lo: (lo / step).floor() * step, hi: (hi / step).ceil() * step, step })
    }

    /// An axis with this step, both ends included.
    pub(crate) fn between(lo: f64, hi: f64, step: f64) -> Self {
        Axis { lo, hi, step }
    }

    /// Position from 0 at the lower end to 1 at the upper one.
    pub(crate) fn part(&self, value: f64) -> f64 {
        self.part_of_length(value - self.lo)
    }

    /// A length as a fraction of the whole axis.
    pub(crate) fn part_of_length(&self, length: f64) -> f64 {
        length / (self.hi - self.lo)
    }

    /// All ticks, ascending.
    pub(crate) fn ticks(self) -> impl Iterator<Item = f64> {
        let count = ((self.hi - self.lo) / self.step).round() as u32;
        (0..=count).map(move |i| self.lo + f64::from(i) * self.step)
    }
}

/// An SVG picture. Its texts are escaped.
pub(crate) struct Svg {
    text: String,
}

impl Svg {
    /// A picture with a size in px and an accessible name. The style sheet is not escaped.
    pub(crate) fn new(width: f64, height: f64, name: &str, style: &str) -> Self {
        let name = escaped(name);
        let text = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
             height=\"{height}\" role=\"img\" font-family=\"sans-serif\" font-size=\"12\">\n\
             <title>{name}</title>\n<style>{style}</style>\n"
        );
        Svg { text }
    }

    pub(crate) fn rect(&mut self, class: &str, [x, y]: [f64; 2], [width, height]: [f64; 2]) {
        let place = format!("x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"");
        let _ = writeln!(self.text, "<rect class=\"{class}\" {place}></rect>");
    }

    pub(crate) fn circle(&mut self, class: &str, x: impl Display, y: impl Display, radius: f64) {
        let place = format!("cx=\"{x}\" cy=\"{y}\" r=\"{radius}\"");
        let _ = writeln!(self.text, "<circle class=\"{class}\" {place}></circle>");
    }

    /// Lines in SVG's path notation.
    pub(crate) fn path(&mut self, class: &str, lines: impl Display) {
        let _ = writeln!(self.text, "<path class=\"{class}\" d=\"{lines}\"></path>");
    }

    /// A line of text, with further attributes.
    pub(crate) fn words(&mut self, x: impl Display, y: impl Display, attributes: &str, words: &str) {
        let _ = writeln!(self.text, "<text x=\"{x}\" y=\"{y}\"{attributes}>{}</text>", escaped(words));
    }

    /// The finished picture.
    pub(crate) fn finish(self) -> String {
        self.text + "</svg>\n"
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_ends_at_round_numbers_around_its_values() {
        // 4.3 in at most 4 steps: steps of 2, from -2 to 4.
        let axis = Axis::around(-0.8, 3.5, 4.0).unwrap();
        assert_eq!(axis.ticks().collect::<Vec<_>>(), [-2.0, 0.0, 2.0, 4.0]);
        assert_eq!((axis.part(-2.0), axis.part(1.0), axis.part_of_length(3.0)), (0.0, 0.5, 0.5));
        assert_eq!(Axis::around(1.0, 1.0, 4.0), None);
    }

    #[test]
    fn texts_of_a_picture_are_escaped() {
        let mut svg = Svg::new(10.0, 20.0, "a < b", "");
        svg.words(1, 2, "", "\"&\"");
        assert!(svg.finish().contains("<title>a &lt; b</title>"));
        let mut svg = Svg::new(10.0, 20.0, "", "");
        svg.words(1, 2, "", "\"&\"");
        assert!(svg.finish().ends_with("<text x=\"1\" y=\"2\">&quot;&amp;&quot;</text>\n</svg>\n"));
    }
}
