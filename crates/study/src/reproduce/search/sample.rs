//! Chooses points to run: a Latin hypercube over the box (McKay, Beckman and Conover, 1979), then
//! points at the border between holds and fails, and towards the usual point.

use joulepath_model::random::{Domain, Stream};

use super::super::space::{Parameter, Point};
use super::state::State;

/// Pairs of a holding and a failing point to bisect, for one claim in one round.
const PAIRS: usize = 2;
/// Maximum number of parameters to reset to the usual value, one at a time, at the nearest holding
/// point.
const SET_BACK: usize = 3;
/// Points around the best fit.
const AROUND: usize = 3;
/// Standard deviation of their distance from it, as a fraction of a range.
const SPREAD: f64 = 0.12;

/// `count` points. For every parameter, each of `count` equal parts of its range has one point.
pub(super) fn hypercube(
    parameters: &[Parameter],
    count: usize,
    seed: u64,
    index: u64,
) -> Vec<Point> {
    let mut random = Stream::new(seed, Domain::Placement, index);
    let mut columns: Vec<Vec<f64>> = vec![];
    for _ in parameters {
        let mut parts: Vec<usize> = (0..count).collect();
        for i in 0..count {
            let other = i + random.below((count - i) as u64) as usize;
            parts.swap(i, other);
        }
        columns.push(
            parts
                .iter()
                .map(|&part| (part as f64 + random.uniform()) / count as f64)
                .collect(),
        );
    }
    let place = |point: usize| {
        columns
            .iter()
            .map(|column| column[point])
            .collect::<Vec<f64>>()
    };
    (0..count)
        .map(|point| Point::at(parameters, &place(point)))
        .collect()
}

/// Results so far.
pub(super) struct Known<'a> {
    pub(super) parameters: &'a [Parameter],
    /// The points, the usual one first.
    pub(super) points: &'a [Point],
    /// States by claim and point.
    pub(super) states: &'a [Vec<State>],
    /// Points that fit the paper's numbers, best first.
    pub(super) fitting: &'a [usize],
}

/// At most `most` new points, from each claim in turn.
pub(super) fn refine(known: &Known<'_>, most: usize, random: &mut Stream) -> Vec<Point> {
    let mut wishes: Vec<Vec<Point>> = known
        .states
        .iter()
        .map(|states| known.of_claim(states))
        .collect();
    wishes.push(known.around_best(random));
    let mut chosen: Vec<Point> = vec![];
    let longest = wishes.iter().map(Vec::len).max().unwrap_or(0);
    let turns = (0..longest).flat_map(|turn| wishes.iter().filter_map(move |wish| wish.get(turn)));
    let is_new = |chosen: &[Point], wish: &Point| {
        let texts = wish.texts(known.parameters);
        known
            .points
            .iter()
            .chain(chosen)
            .all(|point| point.texts(known.parameters) != texts)
    };
    for wish in turns {
        if chosen.len() < most && is_new(&chosen, wish) {
            chosen.push(wish.clone());
        }
    }
    chosen
}

impl Known<'_> {
    /// Points for one claim, the most informative first.
    fn of_claim(&self, states: &[State]) -> Vec<Point> {
        let with = |wanted: State| -> Vec<usize> {
            (0..self.points.len())
                .filter(|&at| states[at] == wanted)
                .collect()
        };
        let (holding, failing) = (with(State::Holds), with(State::Fails));
        let usual = &self.points[0];
        let mut wishes = vec![];
        let from_usual = |at: &usize| self.points[*at].distance(usual, self.parameters);
        if let Some(nearest) = holding
            .iter()
            .min_by(|a, b| from_usual(a).total_cmp(&from_usual(b)))
        {
            wishes.extend(self.towards_usual(&self.points[*nearest]));
        }
        let mut pairs: Vec<(f64, usize, usize)> = holding
            .iter()
            .flat_map(|&h| failing.iter().map(move |&f| (h, f)))
            .map(|(h, f)| {
                (
                    self.points[h].distance(&self.points[f], self.parameters),
                    h,
                    f,
                )
            })
            .collect();
        pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
        wishes.extend(pairs.iter().take(PAIRS).map(|&(_, h, f)| self.middle(h, f)));
        wishes
    }

    /// The point with single parameters at their usual value, the most distant parameter first.
    fn towards_usual(&self, point: &Point) -> Vec<Point> {
        let usual = &self.points[0];
        let mut back: Vec<Point> = (0..self.parameters.len())
            .map(|index| point.with(index, usual))
            .filter(|other| other != point)
            .collect();
        let left = |other: &Point| other.distance(usual, self.parameters);
        back.sort_by(|a, b| left(a).total_cmp(&left(b)));
        back.truncate(SET_BACK);
        back
    }

    /// The middle of two points; choices come from the holding point.
    fn middle(&self, holding: usize, failing: usize) -> Point {
        let (holding, failing) = (&self.points[holding], &self.points[failing]);
        let place = |index: usize| match self.parameters[index].is_choice() {
            true => holding.places()[index],
            false => (holding.places()[index] + failing.places()[index]) / 2.0,
        };
        let places: Vec<f64> = (0..self.parameters.len()).map(place).collect();
        Point::at(self.parameters, &places)
    }

    /// Points near the best fit, sometimes with a choice of the second best.
    fn around_best(&self, random: &mut Stream) -> Vec<Point> {
        let Some(&best) = self.fitting.first() else {
            return vec![];
        };
        let second = self
            .fitting
            .get(1)
            .map_or(&self.points[best], |&second| &self.points[second]);
        let mut near = || {
            let place = |(index, &place): (usize, &f64)| match self.parameters[index].is_choice() {
                true if random.uniform() < 0.3 => second.places()[index],
                true => place,
                false => (place + SPREAD * random.normal()).clamp(0.0, 1.0),
            };
            let places: Vec<f64> = self.points[best]
                .places()
                .iter()
                .enumerate()
                .map(place)
                .collect();
            Point::at(self.parameters, &places)
        };
        (0..AROUND).map(|_| near()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::space::{Acts, Range};
    use super::*;

    fn a_box() -> [Parameter; 2] {
        ["a", "b"].map(|key| Parameter {
            key: key.to_owned(),
            reason: "for the test".to_owned(),
            range: Range::Linear(0.0, 1.0, "ms".to_owned()),
            usual: ("0.25 ms".to_owned(), 0.25),
            origin: joulepath_report::Origin::Chosen,
            acts: Acts::Reading,
        })
    }

    #[test]
    fn each_part_of_each_range_has_one_point() {
        let all = a_box();
        let points = hypercube(&all, 20, 1, 0);
        for index in 0..all.len() {
            let mut parts: Vec<usize> = points
                .iter()
                .map(|p| (p.places()[index] * 20.0) as usize)
                .collect();
            parts.sort_unstable();
            assert_eq!(parts, (0..20).collect::<Vec<_>>());
        }
        let same = |seed| hypercube(&all, 20, seed, 0) == points;
        assert!(same(1) && !same(2));
    }

    #[test]
    fn refinement_finds_the_border_of_a_half_plane() {
        let all = a_box();
        // Holds where a > 0.6.
        let mut points = vec![Point::usual(&all)];
        points.extend(hypercube(&all, 8, 1, 0));
        let mut random = Stream::new(1, Domain::Placement, 9);
        for _ in 0..6 {
            let state = |p: &Point| {
                if p.places()[0] > 0.6 {
                    State::Holds
                } else {
                    State::Fails
                }
            };
            let states = [points.iter().map(state).collect::<Vec<_>>()];
            let known = Known {
                parameters: &all,
                points: &points,
                states: &states,
                fitting: &[],
            };
            let new = refine(&known, 6, &mut random);
            points.extend(new);
        }
        let gap = |holds: bool| {
            let a = points
                .iter()
                .map(|p| p.places()[0])
                .filter(|&a| (a > 0.6) == holds);
            if holds {
                a.fold(1.0, f64::min)
            } else {
                a.fold(0.0, f64::max)
            }
        };
        assert!(
            gap(true) - gap(false) < 0.03,
            "{} {}",
            gap(true),
            gap(false)
        );
        // The nearest holding point differs from the usual one only in `a`.
        let usual = &points[0];
        let nearest = points
            .iter()
            .filter(|p| p.places()[0] > 0.6)
            .min_by(|x, y| x.distance(usual, &all).total_cmp(&y.distance(usual, &all)))
            .unwrap();
        assert_eq!(nearest.places()[1], 0.25);
    }
}
