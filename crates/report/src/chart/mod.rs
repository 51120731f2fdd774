//! Every chart of pages and documentation. The numbers of rows are text. Everything else is SVG
//! whose positions are percentages: it fits any width, theme and paper without scripts.
//! `assets/js/chart.js` lets pointer and keys read it.

mod axis;
mod heat;
mod plot;
mod rows;

pub(crate) use axis::{Axis, brief};
pub(crate) use heat::{Heat, HeatCell};
pub(crate) use plot::{Curve, Dot, Label, Plot, legend};
pub(crate) use rows::{Chart, Mark, Row, place, rows_html};

/// Colours of a set; further looks have other dashes or hatches.
pub(crate) const PALETTE: usize = 8;

/// Style sheet of the charts; it needs the colours of [`COLOURS`].
pub(crate) const STYLE: &str = include_str!("../../assets/chart.css");
/// Colours of the light and the dark theme.
pub const COLOURS: &str = include_str!("../../assets/colours.css");

/// Classes of the look of policy number `index`.
pub(crate) fn look(index: usize) -> String {
    look_of("policy", index)
}

/// Classes of the look number `index` of a set of colours: `policy`, `path`, `cause`.
pub(crate) fn look_of(set: &str, index: usize) -> String {
    match index / PALETTE {
        0 => format!("{set}-{}", index % PALETTE),
        round => format!("{set}-{} again-{}", index % PALETTE, round.min(2)),
    }
}

/// Text for HTML and attributes in double quotes.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_repeat_their_colour_with_another_pattern() {
        assert_eq!(look(7), "policy-7");
        assert_eq!(look(9), "policy-1 again-1");
        assert_eq!(look_of("path", 40), "path-0 again-2");
    }
}
