//! Picture of the region where a claim holds, over the two most important parameters.

use super::{Claim, Holds, Open, PointState, Search, SearchedBox};
use crate::chart::Svg;

/// Colours follow the reader's scheme; shapes carry the same information.
const STYLE: &str = "text{fill:#333}.frame,.fails,.undecided{fill:none;stroke:#777}.holds{fill:#00684c}\
    .usual{fill:none;stroke:#b4540a;stroke-width:2}\
    @media(prefers-color-scheme:dark){text{fill:#ccc}.holds{fill:#3ccf9f}}";
/// Size of the plane and the margins around it, px.
const SIDE: f64 = 360.0;
const LEFT: f64 = 120.0;
const TOP: f64 = 30.0;
const BELOW: f64 = 78.0;
const RIGHT: f64 = 20.0;

/// Whether there is a region to draw.
pub(super) fn has_region(all: &Search, claim: &Claim) -> bool {
    claim.verdict == Holds::When && axes(all, claim).is_some()
}

/// Box of a claim and the two parameters of its picture: the deciding ones, or those that the nearest point
/// changes.
fn axes<'a>(all: &'a Search, claim: &Claim) -> Option<(&'a SearchedBox, usize, usize)> {
    let searched = all.box_of(claim)?;
    let mut chosen: Vec<usize> = vec![];
    for key in claim.deciding.iter().chain(&claim.changed) {
        let place = searched.parameters.iter().position(|open| open.key == *key)?;
        if !chosen.contains(&place) {
            chosen.push(place);
        }
    }
    // A single parameter is combined with the first other one.
    let other = (0..searched.parameters.len()).find(|place| !chosen.contains(place));
    chosen.extend(other);
    match chosen.as_slice() {
        [x, y, ..] => Some((searched, *x, *y)),
        _ => None,
    }
}

/// Points of the box over the two parameters; `None` without a region.
pub fn region_svg(all: &Search, claim: &Claim) -> Option<String> {
    if claim.verdict != Holds::When {
        return None;
    }
    let (searched, x, y) = axes(all, claim)?;
    let (width, height) = (LEFT + SIDE + RIGHT, TOP + SIDE + BELOW);
    let mut svg = Svg::new(width, height, &format!("{}: {}", claim.id, claim.sentence), STYLE);
    svg.rect("frame", [LEFT, TOP], [SIDE, SIDE]);
    label(&mut svg, &searched.parameters[x], true);
    label(&mut svg, &searched.parameters[y], false);
    for (index, (point, state)) in searched.points.iter().zip(&claim.states).enumerate() {
        let spread = |place: usize| spread(&searched.parameters[place], point.places[place], index, place);
        let (px, py) = (LEFT + SIDE * spread(x), TOP + SIDE * (1.0 - spread(y)));
        mark(&mut svg, *state, px, py);
        if index == 0 {
            svg.circle("usual", format_args!("{px:.1}"), format_args!("{py:.1}"), 9.0);
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
        svg.words(at + 9.0, legend, "", name);
    }
    let at = LEFT + 290.0;
    svg.circle("usual", at, legend - 4.0, 7.0);
    svg.words(at + 12.0, legend, "", "usual");
    Some(svg.finish())
}

/// Spreads the points of one choice over its range, so that they do not overlap. Deterministic, by the golden
/// ratio.
fn spread(open: &Open, place: f64, index: usize, parameter: usize) -> f64 {
    if open.choices.is_empty() || index == 0 {
        return place;
    }
    let turn = (index as f64 * 0.618_034 + parameter as f64 * 0.382).fract() - 0.5;
    place + 0.7 * turn / open.choices.len() as f64
}

fn mark(svg: &mut Svg, state: PointState, x: f64, y: f64) {
    let (at_x, at_y) = (format!("{x:.1}"), format!("{y:.1}"));
    match state {
        PointState::Holds => svg.circle("holds", at_x, at_y, 4.5),
        PointState::Fails => {
            svg.path("fails", format_args!("M{:.1} {:.1}l7 7m0 -7l-7 7", x - 3.5, y - 3.5));
        }
        PointState::Undecided => svg.circle("undecided", at_x, at_y, 3.0),
    }
}

/// Name of an axis and its values: the choices, or the two ends.
fn label(svg: &mut Svg, open: &Open, is_x: bool) {
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
        let (x, y) = (LEFT + SIDE * place, TOP + SIDE * (1.0 - place) + 4.0);
        match is_x {
            true => {
                let anchor = format!(" text-anchor=\"{anchor}\"");
                svg.words(format_args!("{x:.1}"), TOP + SIDE + 16.0, &anchor, &text);
            }
            false => svg.words(LEFT - 6.0, format_args!("{y:.1}"), " text-anchor=\"end\"", &text),
        }
    }
    let logarithmic = if open.values.ends_with("logarithmic") { ", logarithmic" } else { "" };
    let name = format!("{}{logarithmic}", open.key);
    let bold = " font-weight=\"bold\"";
    match is_x {
        true => {
            let middle = format!(" text-anchor=\"middle\"{bold}");
            svg.words(LEFT + SIDE / 2.0, TOP + SIDE + 36.0, &middle, &name);
        }
        false => svg.words(8.0, TOP - 10.0, bold, &name),
    }
}
