//! Heat maps.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::escaped;

/// Size of the longer side and width of the margins, in units of the drawing.
const SIDE: f64 = 360.0;
const BOTTOM: f64 = 34.0;
const EDGE: f64 = 8.0;
/// Smaller cells have no letter.
const ROOM_FOR_LETTER: f64 = 9.0;

/// A cell.
#[derive(Clone, Default)]
pub(crate) struct HeatCell {
    /// Classes of its colour.
    pub(crate) look: String,
    /// Strength of the colour, percent.
    pub(crate) strength: u32,
    pub(crate) letter: String,
    /// Whether the letter is dimmed.
    pub(crate) is_tied: bool,
}

/// A map of cells, row by row from the lowest y.
pub(crate) struct Heat<'a> {
    /// Values along both axes.
    pub(crate) values: [&'a [String]; 2],
    pub(crate) x_title: &'a str,
    pub(crate) cells: Vec<HeatCell>,
    /// Cells with a dot and the classes of its colour.
    pub(crate) dots: Vec<(usize, String)>,
    /// Accessible name.
    pub(crate) words: String,
    /// Number of the policy, for scripts.
    pub(crate) policy: usize,
}

impl Heat<'_> {
    /// SVG for a page.
    pub(crate) fn svg(&self) -> String {
        let [columns, rows] = self.values.map(<[String]>::len);
        let cell = SIDE / columns.max(rows) as f64;
        let (width, height) = (columns as f64 * cell, rows as f64 * cell);
        let longest = self.values[1]
            .iter()
            .map(|value| value.chars().count())
            .max()
            .unwrap_or(0);
        let left = f64::max(64.0, 14.0 + 6.4 * longest as f64);
        let mut svg = format!(
            "<svg class=\"heat\" viewBox=\"0 0 {:.1} {:.1}\" role=\"img\" tabindex=\"0\" aria-label=\"{}\" \
             data-columns=\"{columns}\" data-policy=\"{}\">",
            left + width + EDGE,
            EDGE + height + BOTTOM,
            escaped(&self.words),
            self.policy,
        );
        let _ = write!(
            svg,
            "<g class=\"cells\" transform=\"translate({left:.1} {EDGE}) scale({cell:.4})\">"
        );
        for ((look, strength), d) in self.areas(columns, rows) {
            let _ = write!(
                svg,
                "<path class=\"{look}\" fill-opacity=\"{}\" d=\"{d}\"/>",
                f64::from(strength) / 100.0
            );
        }
        let middle = |place: usize| {
            (
                left + (place % columns) as f64 * cell,
                EDGE + self.row(place) as f64 * cell,
            )
        };
        let _ = write!(
            svg,
            "<path class=\"hatch\" d=\"{}\"/></g>",
            self.hatches(columns)
        );
        let size = f64::min(16.0, 0.55 * cell);
        for (
            place,
            HeatCell {
                letter, is_tied, ..
            },
        ) in self.cells.iter().enumerate()
        {
            if letter.is_empty() || cell < ROOM_FOR_LETTER {
                continue;
            }
            let class = if *is_tied { "letter tied" } else { "letter" };
            let ((x, y), half) = (middle(place), cell / 2.0);
            let (x, y) = (x + half, y + half);
            let _ = write!(
                svg,
                "<text class=\"{class}\" style=\"--size:{size:.1}px\" x=\"{x:.1}\" y=\"{y:.1}\">\
                 {letter}</text>"
            );
        }
        for (place, look) in &self.dots {
            let ((x, y), r) = (middle(*place), f64::min(5.0, cell / 5.0));
            let (x, y) = (x + 0.8 * cell, y + 0.2 * cell);
            let _ = write!(
                svg,
                "<circle class=\"checked {look}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{r:.1}\"/>"
            );
        }
        for i in shown(columns, 3) {
            let (x, anchor) = match i {
                0 => (left, "start"),
                i if i + 1 == columns => (left + width, "end"),
                i => (left + (i as f64 + 0.5) * cell, "middle"),
            };
            let (y, text) = (EDGE + height + 16.0, escaped(&self.values[0][i]));
            let _ = write!(
                svg,
                "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>"
            );
        }
        for i in shown(rows, 5) {
            let (x, y) = (
                left - 6.0,
                EDGE + ((rows - 1 - i) as f64 + 0.5) * cell + 4.0,
            );
            let text = escaped(&self.values[1][i]);
            let _ = write!(
                svg,
                "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"end\">{text}</text>"
            );
        }
        let (x, y, title) = (
            left + width / 2.0,
            EDGE + height + 31.0,
            escaped(self.x_title),
        );
        let _ = write!(
            svg,
            "<text class=\"axis\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"middle\">{title}</text>"
        );
        svg + "</svg>\n"
    }

    /// Row of a cell from the top.
    fn row(&self, place: usize) -> usize {
        let [columns, rows] = self.values.map(<[String]>::len);
        rows - 1 - place / columns
    }

    /// One path for all cells of a colour; neighbours in a row are one rectangle.
    fn areas(&self, columns: usize, rows: usize) -> BTreeMap<(&str, u32), String> {
        let mut areas: BTreeMap<(&str, u32), String> = BTreeMap::new();
        for row in 0..rows {
            let cells = &self.cells[row * columns..(row + 1) * columns];
            let mut x = 0;
            for run in cells.chunk_by(|a, b| (&a.look, a.strength) == (&b.look, b.strength)) {
                let (y, n) = (rows - 1 - row, run.len());
                let area = areas.entry((&run[0].look, run[0].strength)).or_default();
                let _ = write!(area, "M{x} {y}h{n}v1h-{n}z");
                x += n;
            }
        }
        areas
    }

    /// Strokes through cells whose look repeats a colour.
    fn hatches(&self, columns: usize) -> String {
        let again = self
            .cells
            .iter()
            .enumerate()
            .filter(|(_, cell)| cell.look.contains("again"));
        again
            .map(|(place, _)| format!("M{} {}l1 -1", place % columns, self.row(place) + 1))
            .collect()
    }
}

/// The first place, the last one, and at most about `most` between.
fn shown(count: usize, most: usize) -> Vec<usize> {
    let step = count.saturating_sub(1).div_ceil(most).max(1);
    let mut all: Vec<usize> = (0..count)
        .step_by(step)
        .filter(|i| i + step / 2 + 1 < count)
        .collect();
    all.extend(count.checked_sub(1));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_of_a_colour_are_one_area() {
        let values: Vec<String> = ["1", "2"].map(String::from).to_vec();
        let cell = |look: &str| HeatCell {
            look: look.into(),
            strength: 100,
            ..HeatCell::default()
        };
        let cells = vec![cell("a"), cell("a"), cell("b"), cell("a")];
        let words = "<b>".to_owned();
        let heat = Heat {
            values: [&values, &values],
            x_title: "x",
            cells,
            dots: vec![],
            words,
            policy: 0,
        };
        let areas = heat.areas(2, 2);
        assert_eq!(
            areas[&("a", 100)],
            "M0 1h2v1h-2zM1 0h1v1h-1z",
            "the first row is the lowest"
        );
        assert_eq!(areas[&("b", 100)], "M0 0h1v1h-1z");
        assert!(heat.svg().contains("aria-label=\"&lt;b&gt;\""));
    }

    #[test]
    fn first_and_last_values_are_shown() {
        assert_eq!(shown(12, 3), [0, 4, 8, 11]);
        assert_eq!(
            (shown(1, 3), shown(0, 3), shown(2, 3)),
            (vec![0], vec![], vec![0, 1])
        );
    }
}
