//! Charts of rows: a name, a track with marks, and the numbers as text. Positions are percentages
//! of the track.

use std::fmt::Write as _;

use super::escaped;

/// A mark on a track.
pub(crate) struct Mark {
    /// `bar`, `whisker`, `box`, `median`, `dot` or `stated`, with further classes for its colour.
    pub(crate) class: String,
    pub(crate) left: String,
    pub(crate) width: Option<String>,
}

impl Mark {
    /// A mark at a point; positions from 0 to 1.
    pub(crate) fn at(class: impl Into<String>, at: f64) -> Self {
        Mark {
            class: class.into(),
            left: place(at),
            width: None,
        }
    }

    /// A mark between two points.
    pub(crate) fn between(class: impl Into<String>, from: f64, to: f64) -> Self {
        Mark {
            class: class.into(),
            left: place(from.min(to)),
            width: Some(place((to - from).abs())),
        }
    }
}

pub(crate) struct Row {
    pub(crate) name: String,
    /// `best`, `first`, `limit`, `better`, `worse`, `unclear`, `group` (a heading), or empty.
    pub(crate) class: &'static str,
    /// Classes of the square before the name, if any.
    pub(crate) swatch: Option<String>,
    pub(crate) marks: Vec<Mark>,
    /// The number as text, and its interval or a remark.
    pub(crate) text: String,
    pub(crate) note: String,
}

impl Row {
    /// A row without a number.
    pub(crate) fn unknown(name: &str) -> Self {
        Row {
            name: name.to_owned(),
            class: "",
            swatch: None,
            marks: vec![],
            text: "–".into(),
            note: String::new(),
        }
    }
}

/// A chart of one number for each row.
pub(crate) struct Chart {
    pub(crate) title: String,
    /// Unit, and the better direction.
    pub(crate) hint: String,
    /// `bars` from the left end, `dots` around zero, or `groups` with headings.
    pub(crate) kind: &'static str,
    pub(crate) rows: Vec<Row>,
    /// Lines across all rows.
    pub(crate) lines: Vec<String>,
    /// Positions with their numbers; empty if every row shows its own.
    pub(crate) ticks: Vec<(String, String)>,
}

/// The list of a chart's rows.
pub(crate) fn rows_html(chart: &Chart) -> String {
    let mut html = String::from("<ol>\n");
    let lines: String = chart
        .lines
        .iter()
        .map(|left| format!("<s style=\"left:{left}%\"></s>"))
        .collect();
    for row in &chart.rows {
        let swatch = row
            .swatch
            .as_ref()
            .map(|look| format!("<i class=\"swatch {look}\"></i>"))
            .unwrap_or_default();
        let name = format!("<span class=\"name\">{swatch}{}</span>", escaped(&row.name));
        if row.class == "group" {
            let _ = writeln!(html, "<li class=\"group\">{name}</li>");
            continue;
        }
        let mark = |Mark { class, left, width }: &Mark| {
            let width = width
                .as_ref()
                .map(|width| format!(";width:{width}%"))
                .unwrap_or_default();
            format!("<i class=\"{class}\" style=\"left:{left}%{width}\"></i>")
        };
        let marks: String = row.marks.iter().map(mark).collect();
        let note = match row.note.as_str() {
            "" => String::new(),
            note => format!(" <small>{}</small>", escaped(note)),
        };
        let _ = writeln!(
            html,
            "<li class=\"{}\">{name}<span class=\"track\" aria-hidden=\"true\">{lines}{marks}</span>\
             <span class=\"value\">{}{note}</span></li>",
            row.class,
            escaped(&row.text),
        );
    }
    if !chart.ticks.is_empty() {
        let tick =
            |(left, text): &(String, String)| format!("<span style=\"left:{left}%\">{text}</span>");
        let ticks: String = chart.ticks.iter().map(tick).collect();
        let _ = writeln!(
            html,
            "<li class=\"ticks\" aria-hidden=\"true\"><span class=\"track\">{ticks}</span></li>"
        );
    }
    html + "</ol>\n"
}

/// Position on a track, percent with two decimals: a tenth of a pixel.
pub(crate) fn place(part: f64) -> String {
    format!("{:.2}", if part.is_finite() { 100.0 * part } else { 0.0 })
}
