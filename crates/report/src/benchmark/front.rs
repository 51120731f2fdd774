//! The energy–goodput front: the energy cost of goodput in scenarios where goodput depends on the
//! policy.

use super::metric::Metric;
use super::schema::{Benchmark, Overall, Row};
use super::tables::title;
use crate::chart::{Axis, Dot, Plot};

/// Policies whose names are written first.
const KNOWN: [&str; 2] = ["mptcp", "linux"];

/// Size of the picture, px.
const SIZE: [f64; 2] = [860.0, 560.0];
/// Maximum number of steps of an axis.
const MOST_STEPS: f64 = 8.0;
pub(crate) const NOTE: &str = "green: first tier · hollow: a path chosen in hindsight, or not run everywhere \
                               · lines: 95 % intervals · dashed: the front";

/// A policy: goodput relative to the fastest single path, and share of the limit in percent, with
/// intervals.
struct Place<'a> {
    label: &'a str,
    policy: &'a str,
    tier: Option<usize>,
    /// Whether it is a single path, chosen in hindsight.
    is_baseline: bool,
    /// Percent.
    score: f64,
    x: [f64; 3],
    y: [f64; 3],
}

/// The front as an SVG file; `None` if no policy has run where goodput depends on it.
pub fn front(benchmark: &Benchmark) -> Option<String> {
    let subtitle = format!(
        "{}, those where goodput depends on the policy",
        title(benchmark)
    );
    plot(benchmark).map(|plot| plot.document(SIZE, ["What goodput costs", &subtitle], NOTE))
}

/// The front as a plot.
pub(super) fn plot(benchmark: &Benchmark) -> Option<Plot> {
    let place = |row| -> Option<Place<'_>> {
        let row: &Row = row;
        let mean = |metric| {
            row.overall
                .get(&metric)
                .map(|overall: &Overall| overall.mean)
        };
        let (x, y) = (mean(Metric::Goodput)?, mean(Metric::TcpReferenceFree)?);
        Some(Place {
            label: &row.entry.label,
            policy: &row.entry.policy,
            tier: row.tier,
            is_baseline: row.entry.baseline.is_some(),
            score: row
                .mean(Metric::Score)
                .map_or(f64::NAN, |score| 100.0 * score),
            x: [x.mean, x.lo, x.hi],
            y: [y.mean, y.lo, y.hi].map(|share| 100.0 * share),
        })
    };
    drawn(
        &benchmark
            .policies
            .iter()
            .filter_map(place)
            .collect::<Vec<_>>(),
    )
}

fn drawn(places: &[Place<'_>]) -> Option<Plot> {
    let x = axis(places.iter().map(|place| place.x[0]))?;
    let y = axis(places.iter().map(|place| place.y[0]))?;
    let ([left, _], [bottom, _]) = (x.ends(), y.ends());
    let mut plot = Plot::new(x, y);
    plot.titles = [
        "goodput over that of the fastest single path; further right is better".into(),
        "share of the TCP-rate reference, %; higher is better".into(),
    ];
    plot.words = format!(
        "Goodput and share of the TCP-rate reference of {} policies",
        places.len()
    );
    plot.shape = "tall";
    plot.guides = vec![(staircase(places, left, bottom), true)];
    plot.dots = places.iter().map(|place| dot(place, places)).collect();
    Some(plot)
}

/// An axis around the values, with room at the ends.
fn axis(values: impl Iterator<Item = f64> + Clone) -> Option<Axis> {
    let lo = values.clone().fold(f64::INFINITY, f64::min);
    let hi = values.fold(f64::NEG_INFINITY, f64::max);
    let room = (0.06 * (hi - lo)).max(0.02 * hi.abs()).max(1e-6);
    Axis::around(f64::max(0.0, lo - room), hi + room, MOST_STEPS).filter(|_| hi.is_finite())
}

/// Whether it is a policy (not a path chosen in hindsight), and no policy has both more goodput and
/// a larger share.
fn is_on_front(place: &Place<'_>, places: &[Place<'_>]) -> bool {
    let beats = |other: &Place<'_>| {
        let no_less = other.x[0] >= place.x[0] && other.y[0] >= place.y[0];
        let more = other.x[0] > place.x[0] || other.y[0] > place.y[0];
        !other.is_baseline && no_less && more
    };
    !place.is_baseline && !places.iter().any(beats)
}

/// Steps through the policies on the front, from the left end to the bottom. Everything left of and
/// below them is inferior.
fn staircase(places: &[Place<'_>], left: f64, bottom: f64) -> Vec<[f64; 2]> {
    let on_front = places.iter().filter(|place| is_on_front(place, places));
    let mut corners: Vec<[f64; 2]> = on_front.map(|place| [place.x[0], place.y[0]]).collect();
    corners.sort_by(|a, b| a[0].total_cmp(&b[0]));
    let mut at = left;
    let mut steps = vec![];
    for [x, y] in corners {
        steps.extend([[at, y], [x, y]]);
        at = x;
    }
    steps.push([at, bottom]);
    steps
}

fn dot(place: &Place<'_>, places: &[Place<'_>]) -> Dot {
    let Place {
        label,
        policy,
        tier,
        score,
        x,
        y,
        ..
    } = place;
    Dot {
        at: [x[0], y[0]],
        whiskers: Some([[x[1], x[2]], [y[1], y[2]]]),
        look: match tier {
            None => "hollow",
            Some(1) => "first",
            Some(_) => "plain",
        }
        .into(),
        tip: vec![
            (*label).to_owned(),
            format!(
                "goodput {:.2}, {:.1} % of the TCP-rate reference",
                x[0], y[0]
            ),
            format!("score {score:.1} %"),
        ],
        names: vec![(*label).to_owned()],
        // What most readers know, and the front, then by tier.
        rank: usize::from(!KNOWN.contains(policy) && !is_on_front(place, places)) * 1000
            + tier.unwrap_or(0),
    }
}
