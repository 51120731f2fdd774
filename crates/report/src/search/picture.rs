//! The region in which a claim holds, over the two parameters that decide most, as a drawing.

use std::fmt::Write as _;

use super::{Claim, Holds, Open, PointState, Search, SearchedBox};

/// Size of the plane and the margins around it, px.
const SIDE: f64 = 360.0;
const LEFT: f64 = 120.0;
const TOP: f64 = 30.0;
const BELOW: f64 = 78.0;
const RIGHT: f64 = 20.0;

/// Whether there is something to draw.
pub(super) fn has_region(all: &Search, claim: &Claim) -> bool {
    claim.verdict == Holds::When && axes(all, claim).is_some()
}

/// The box of a claim and the two parameters that span its picture: those that decide, or that the nearest
/// point changes.
fn axes<'a>(all: &'a Search, claim: &Claim) -> Option<(&'a SearchedBox, usize, usize)> {
    let searched = all.box_of(claim)?;
    let mut chosen: Vec<usize> = vec![];
    for key in claim.deciding.iter().chain(&claim.changed) {
        let place = searched.parameters.iter().position(|open| open.key == *key)?;
        if !chosen.contains(&place) {
            chosen.push(place);
        }
    }
    // One alone is drawn over the first other one.
    let other = (0..searched.parameters.len()).find(|place| !chosen.contains(place));
    chosen.extend(other);
    match chosen.as_slice() {
        [x, y, ..] => Some((searched, *x, *y)),
        _ => None,
    }
}

/// The points of the box over the two deciding parameters; none if there is nothing to draw. Colours follow
/// the reader's scheme; shapes tell the same.
pub fn region_svg(all: &Search, claim: &Claim) -> Option<String> {
    if claim.verdict != Holds::When {
        return None;
    }
    let (searched, x, y) = axes(all, claim)?;
    let (width, height) = (LEFT + SIDE + RIGHT, TOP + SIDE + BELOW);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         height=\"{height}\" role=\"img\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <title>{}: {}</title>\n<style>\
         text{{fill:#333}}.frame,.fails,.undecided{{fill:none;stroke:#777}}.holds{{fill:#00684c}}\
         .usual{{fill:none;stroke:#b4540a;stroke-width:2}}\
         @media(prefers-color-scheme:dark){{text{{fill:#ccc}}.holds{{fill:#3ccf9f}}}}</style>\n\
         <rect class=\"frame\" x=\"{LEFT}\" y=\"{TOP}\" width=\"{SIDE}\" height=\"{SIDE}\"></rect>\n",
        escaped(&claim.id),
        escaped(&claim.sentence)
    );
    label(&mut svg, &searched.parameters[x], true);
    label(&mut svg, &searched.parameters[y], false);
    for (index, (point, state)) in searched.points.iter().zip(&claim.states).enumerate() {
        let spread = |place: usize| spread(&searched.parameters[place], point.places[place], index, place);
        let (px, py) = (LEFT + SIDE * spread(x), TOP + SIDE * (1.0 - spread(y)));
        mark(&mut svg, *state, px, py);
        if index == 0 {
            let _ = writeln!(svg, "<circle class=\"usual\" cx=\"{px:.1}\" cy=\"{py:.1}\" r=\"9\"></circle>");
        }
    }
    let legend = TOP + SIDE + 62.0;
    for (place, (state, name)) in
        [(PointState::Holds, "holds"), (PointState::Fails, "fails"), (PointState::Undecided, "undecided")]
            .into_iter()
            .enumerate()
    {
        let at = LEFT + 90.0 * place as f64;
        mark(&mut svg, state, at, legend - 4.0);
        let _ = writeln!(svg, "<text x=\"{}\" y=\"{legend}\">{name}</text>", at + 9.0);
    }
    let at = LEFT + 290.0;
    let _ = writeln!(svg, "<circle class=\"usual\" cx=\"{at}\" cy=\"{}\" r=\"7\"></circle>", legend - 4.0);
    let _ = writeln!(svg, "<text x=\"{}\" y=\"{legend}\">usual</text>", at + 12.0);
    Some(svg + "</svg>\n")
}

/// Points of one choice are spread over a part of its room, so that they do not hide each other: by the
/// golden ratio, always alike.
fn spread(open: &Open, place: f64, index: usize, parameter: usize) -> f64 {
    if open.choices.is_empty() || index == 0 {
        return place;
    }
    let turn = (index as f64 * 0.618_034 + parameter as f64 * 0.382).fract() - 0.5;
    place + 0.7 * turn / open.choices.len() as f64
}

fn mark(svg: &mut String, state: PointState, x: f64, y: f64) {
    let _ = match state {
        PointState::Holds => {
            writeln!(svg, "<circle class=\"holds\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4.5\"></circle>")
        }
        PointState::Fails => {
            writeln!(svg, "<path class=\"fails\" d=\"M{:.1} {:.1}l7 7m0 -7l-7 7\"></path>", x - 3.5, y - 3.5)
        }
        PointState::Undecided => {
            writeln!(svg, "<circle class=\"undecided\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\"></circle>")
        }
    };
}

/// The name of an axis and its values: the choices, or the two ends.
fn label(svg: &mut String, open: &Open, is_x: bool) {
    let values: Vec<(f64, String, &str)> = match open.choices.as_slice() {
        [] => {
            let words = open.values.trim_end_matches(", logarithmic");
            let (low, high) = words.split_once(" to ").unwrap_or((words, ""));
            vec![(0.0, low.to_owned(), "start"), (1.0, high.to_owned(), "end")]
        }
        choices => {
            let n = choices.len() as f64;
            let at = |(place, choice): (usize, &String)| ((place as f64 + 0.5) / n, choice.clone(), "middle");
            choices.iter().enumerate().map(at).collect()
        }
    };
    for (place, text, anchor) in values {
        let text = escaped(&text);
        let _ = match is_x {
            true => writeln!(
                svg,
                "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"{anchor}\">{text}</text>",
                LEFT + SIDE * place,
                TOP + SIDE + 16.0
            ),
            false => writeln!(
                svg,
                "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{text}</text>",
                LEFT - 6.0,
                TOP + SIDE * (1.0 - place) + 4.0
            ),
        };
    }
    let logarithmic = if open.values.ends_with("logarithmic") { ", logarithmic" } else { "" };
    let name = escaped(&format!("{}{logarithmic}", open.key));
    let _ = match is_x {
        true => writeln!(
            svg,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\" font-weight=\"bold\">{name}</text>",
            LEFT + SIDE / 2.0,
            TOP + SIDE + 36.0
        ),
        false => writeln!(svg, "<text x=\"8\" y=\"{}\" font-weight=\"bold\">{name}</text>", TOP - 10.0),
    };
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
