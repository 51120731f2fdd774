//! Picture of the region where a claim holds, over the two most important parameters.

use super::{Claim, Holds, Open, PointState, Search, SearchedBox};
use crate::chart::{Axis, Dot, Plot};

pub(crate) const LEGEND: &str =
    "filled: holds · cross: fails · hollow: undecided · ring: default setting";

/// Whether there is a region to draw.
pub(super) fn has_region(all: &Search, claim: &Claim) -> bool {
    claim.verdict == Holds::When && axes(all, claim).is_some()
}

/// Box of a claim and the two parameters of its picture: the deciding ones, or those that the
/// nearest point changes.
fn axes<'a>(all: &'a Search, claim: &Claim) -> Option<(&'a SearchedBox, usize, usize)> {
    let searched = all.box_of(claim)?;
    let mut chosen: Vec<usize> = vec![];
    for key in claim.deciding.iter().chain(&claim.changed) {
        let place = searched
            .parameters
            .iter()
            .position(|open| open.key == *key)?;
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

/// Points of the box over the two parameters as an SVG file; `None` without a region.
pub fn region_svg(all: &Search, claim: &Claim) -> Option<String> {
    region(all, claim).map(|plot| plot.document([560.0, 500.0], [&claim.id, &claim.claim], LEGEND))
}

/// Points of the box over the two parameters; `None` without a region.
pub(crate) fn region(all: &Search, claim: &Claim) -> Option<Plot> {
    if claim.verdict != Holds::When {
        return None;
    }
    let (searched, x, y) = axes(all, claim)?;
    let unit = || Axis::between(0.0, 1.0, 1.0);
    let mut plot = Plot::new(unit(), unit());
    plot.words = format!("{}: {}. {LEGEND}", claim.id, claim.sentence);
    plot.shape = "square";
    plot.ticks = [x, y].map(|place| Some(ticks(&searched.parameters[place])));
    plot.titles = [x, y].map(|place| title(&searched.parameters[place]));
    for (index, (point, state)) in searched.points.iter().zip(&claim.states).enumerate() {
        let spread = |place: usize| {
            spread(
                &searched.parameters[place],
                point.places[place],
                index,
                place,
            )
        };
        let look = match state {
            PointState::Holds => "first",
            PointState::Fails => "cross",
            PointState::Undecided => "hollow",
        };
        // The first point is the usual setting.
        let (at, ring) = (
            [spread(x), spread(y)],
            if index == 0 { " ring" } else { "" },
        );
        plot.dots.push(Dot {
            at,
            whiskers: None,
            look: format!("{look}{ring}"),
            tip: vec![],
            names: vec![],
            rank: 0,
        });
    }
    Some(plot)
}

/// Spreads the points of one choice over its range, so that they do not overlap. Deterministic, by
/// the golden ratio.
fn spread(open: &Open, place: f64, index: usize, parameter: usize) -> f64 {
    if open.choices.is_empty() || index == 0 {
        return place;
    }
    let turn = (index as f64 * 0.618_034 + parameter as f64 * 0.382).fract() - 0.5;
    place + 0.7 * turn / open.choices.len() as f64
}

/// Values of a parameter with their positions: the choices, or the two ends.
fn ticks(open: &Open) -> Vec<(f64, String)> {
    let n = open.choices.len() as f64;
    let at = |(place, choice): (usize, &String)| ((place as f64 + 0.5) / n, choice.clone());
    if !open.choices.is_empty() {
        return open.choices.iter().enumerate().map(at).collect();
    }
    let words = open.values.trim_end_matches(", logarithmic");
    let (low, high) = words.split_once(" to ").unwrap_or((words, ""));
    vec![(0.0, low.to_owned()), (1.0, high.to_owned())]
}

fn title(open: &Open) -> String {
    let logarithmic = if open.values.ends_with("logarithmic") {
        ", logarithmic"
    } else {
        ""
    };
    format!("{}{logarithmic}", open.key)
}
