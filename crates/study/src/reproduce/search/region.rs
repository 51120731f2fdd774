//! Describes the part of a box where a claim holds, and checks the description on new points.
//!
//! The tree splits on parameters and on ratios of parameters with the same unit. Its best leaf is a
//! condition, rounded to the digits that are printed. The condition is kept if the claim holds at
//! 90 of 100 new points that meet it; else these points join the others, and the tree grows again.

use joulepath_model::random::Stream;
use joulepath_report::rounded;

use super::super::space::{Parameter, Point};
use super::state::State;
use super::tree::{Condition, Deciding, Sample, deciding};
use crate::error::Result;

/// New points of a check.
const POINTS: usize = 100;
/// Minimum number of them at which the claim holds.
const ENOUGH: usize = 90;
/// Points that run together, so that a wrong condition costs few runs.
const BATCH: usize = 10;
/// Conditions to check for a claim.
const ATTEMPTS: usize = 3;
/// Draws for a point that meets a condition.
const DRAWS: usize = 10_000;
/// Digits of a bound, the accuracy of a border.
const DIGITS: usize = 2;

/// Quantity that the tree splits on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    /// The place of a parameter.
    Single(usize),
    /// The logarithm of the quotient of two parameters.
    Ratio(usize, usize),
}

/// The quantities of a box.
pub(super) struct Columns<'a> {
    parameters: &'a [Parameter],
    all: Vec<Column>,
}

/// A description of the points where a claim holds.
#[derive(Debug, Default)]
pub(super) struct Region {
    /// Parameters that decide, the most important first.
    pub(super) deciding: Vec<usize>,
    /// The checked condition; empty if there is none.
    pub(super) when: Vec<Condition>,
    /// Number of new points that meet the condition and at which the claim holds.
    pub(super) held: usize,
    /// Number of new points that meet the condition.
    pub(super) checked: usize,
    /// Number of all points that ran for the description.
    pub(super) ran: usize,
}

/// Runs points; returns the state of the claim at each.
pub(super) type Judge<'a> = &'a mut dyn FnMut(&[Point]) -> Result<Vec<State>>;

impl<'a> Columns<'a> {
    pub(super) fn of(parameters: &'a [Parameter]) -> Self {
        let pairs =
            (0..parameters.len()).flat_map(|a| (a + 1..parameters.len()).map(move |b| (a, b)));
        let unit = |at: usize| parameters[at].positive_unit();
        let ratios = pairs.filter(|&(a, b)| unit(a).is_some() && unit(a) == unit(b));
        let ratios = ratios.map(|(a, b)| Column::Ratio(a, b));
        Columns {
            parameters,
            all: (0..parameters.len())
                .map(Column::Single)
                .chain(ratios)
                .collect(),
        }
    }

    /// The quantities at a point.
    fn at(&self, point: &Point) -> Vec<f64> {
        let value = |at: usize| self.parameters[at].number_at(point.places()[at]);
        let of = |column: &Column| match *column {
            Column::Single(at) => point.places()[at],
            Column::Ratio(a, b) => libm::log(value(a) / value(b)),
        };
        self.all.iter().map(of).collect()
    }

    fn grow(&self, points: &[Point], states: &[State], random_index: u64) -> Deciding {
        let places: Vec<Vec<f64>> = points.iter().map(|point| self.at(point)).collect();
        let samples: Vec<Sample<'_>> = places
            .iter()
            .zip(states)
            .map(|(places, state)| Sample {
                places,
                holds: *state == State::Holds,
            })
            .collect();
        let is_choice = |column: &Column| match *column {
            Column::Single(at) => self.parameters[at].is_choice(),
            _ => false,
        };
        let is_choice: Vec<bool> = self.all.iter().map(is_choice).collect();
        deciding(&samples, &is_choice, random_index)
    }

    /// The parameters of the quantities that decide.
    fn parameters_of(&self, tree: &Deciding) -> Vec<usize> {
        let mut all = vec![];
        for (column, _) in &tree.parameters {
            let parts = match self.all[*column] {
                Column::Single(at) => vec![at],
                Column::Ratio(a, b) => vec![a, b],
            };
            all.extend(
                parts
                    .into_iter()
                    .filter(|at| !all.contains(at))
                    .collect::<Vec<_>>(),
            );
        }
        all
    }

    /// Conditions with the bounds as printed; of several bounds on one side, the last and tightest.
    fn printed(&self, way: &[Condition]) -> Vec<Condition> {
        let mut all: Vec<Condition> = vec![];
        for condition in way
            .iter()
            .map(|condition| condition.with_bound(|column, bound| self.short(column, bound)))
        {
            all.retain(|known| !known.is_wider_than(&condition));
            all.push(condition);
        }
        all.sort_by_key(Condition::parameter);
        all
    }

    /// A bound with few digits.
    fn short(&self, column: usize, bound: f64) -> f64 {
        match self.all[column] {
            Column::Single(at) => {
                let parameter = &self.parameters[at];
                parameter.place_of(rounded(parameter.number_at(bound), DIGITS))
            }
            Column::Ratio(..) => libm::log(rounded(libm::exp(bound), DIGITS)),
        }
    }

    /// A condition in words.
    pub(super) fn words(&self, condition: &Condition) -> String {
        let (name, bound): (String, Box<dyn Fn(f64) -> String>) =
            match self.all[condition.parameter()] {
                Column::Single(at) => {
                    let parameter = &self.parameters[at];
                    (
                        parameter.key.clone(),
                        Box::new(|place| parameter.words_at(place, DIGITS)),
                    )
                }
                Column::Ratio(a, b) => {
                    let [a, b] = [a, b].map(|at| self.parameters[at].key.as_str());
                    let bound = |bound| format!("{}", rounded(libm::exp(bound), DIGITS));
                    (format!("{a} ÷ {b}"), Box::new(bound))
                }
            };
        match *condition {
            Condition::Above(_, at) => format!("{name} > {}", bound(at)),
            Condition::AtMost(_, at) => format!("{name} ≤ {}", bound(at)),
            Condition::Is(_, at) => format!("{name} is {}", bound(at)),
            Condition::IsNot(_, at) => format!("{name} is not {}", bound(at)),
        }
    }

    /// `count` random points that meet all conditions; fewer if they are hard to find.
    fn draw(&self, when: &[Condition], count: usize, random: &mut Stream) -> Vec<Point> {
        let mut drawn = vec![];
        for _ in 0..count * DRAWS {
            let places: Vec<f64> = self.parameters.iter().map(|_| random.uniform()).collect();
            let point = Point::at(self.parameters, &places);
            let at = self.at(&point);
            if when.iter().all(|condition| condition.is_met(&at)) {
                drawn.push(point);
            }
            if drawn.len() == count {
                break;
            }
        }
        drawn
    }
}

/// Describes where a claim holds, given its states at some points.
///
/// # Errors
/// If `judge` fails.
pub(super) fn describe(
    columns: &Columns<'_>,
    mut points: Vec<Point>,
    mut states: Vec<State>,
    random: &mut Stream,
    judge: Judge<'_>,
) -> Result<Region> {
    let mut region = Region::default();
    for attempt in 0..ATTEMPTS {
        let tree = columns.grow(&points, &states, attempt as u64);
        region.deciding = columns.parameters_of(&tree);
        let when = columns.printed(&tree.when);
        if when.is_empty() {
            break;
        }
        let (mut new, mut found): (Vec<Point>, Vec<State>) = (vec![], vec![]);
        let failed = |found: &[State]| found.iter().filter(|state| **state != State::Holds).count();
        while new.len() < POINTS && failed(&found) <= POINTS - ENOUGH {
            let batch = columns.draw(&when, BATCH, random);
            if batch.len() < BATCH {
                break;
            }
            found.extend(judge(&batch)?);
            new.extend(batch);
        }
        region.ran += new.len();
        if new.len() >= POINTS && failed(&found) <= POINTS - ENOUGH {
            let (checked, held) = (new.len(), new.len() - failed(&found));
            return Ok(Region {
                when,
                held,
                checked,
                ..region
            });
        }
        points.extend(new);
        states.extend(found);
    }
    Ok(region)
}

#[cfg(test)]
mod tests {
    use joulepath_model::random::Domain;

    use super::super::super::space::{Acts, Range};
    use super::super::sample::hypercube;
    use super::*;

    fn parameter(key: &str, range: Range, usual: (&str, f64)) -> Parameter {
        let (key, reason, usual) = (
            key.to_owned(),
            "for the test".to_owned(),
            (usual.0.to_owned(), usual.1),
        );
        Parameter {
            key,
            reason,
            range,
            usual,
            origin: joulepath_report::Origin::Chosen,
            acts: Acts::Reading,
        }
    }

    /// Two delays, a queue, a loss and a choice.
    fn a_box() -> Vec<Parameter> {
        let ms = |low, high| Range::Log(low, high, "ms".to_owned());
        let choices = ["minrtt", "first-free"].map(str::to_owned).to_vec();
        vec![
            parameter("slow", ms(5.0, 200.0), ("20 ms", 20.0)),
            parameter("fast", ms(5.0, 100.0), ("20 ms", 20.0)),
            parameter(
                "queue",
                Range::Log(10.0, 1000.0, "packets".to_owned()),
                ("50 packets", 50.0),
            ),
            parameter(
                "loss",
                Range::Linear(0.0, 2.0, "%".to_owned()),
                ("0 %", 0.0),
            ),
            parameter("scheduler", Range::Choice(choices), ("minrtt", 0.0)),
        ]
    }

    /// The region of a claim that holds where `holds` says, after a hypercube of 48 points, and its
    /// words.
    fn region(mut holds: impl FnMut(&[f64]) -> bool) -> (Region, Vec<String>) {
        let all = a_box();
        let columns = Columns::of(&all);
        let mut judge = |points: &[Point]| -> Result<Vec<State>> {
            let numbers = |point: &Point| -> Vec<f64> {
                all.iter()
                    .zip(point.places())
                    .map(|(of, &place)| of.number_at(place))
                    .collect()
            };
            let state = |of: &Point| {
                if holds(&numbers(of)) {
                    State::Holds
                } else {
                    State::Fails
                }
            };
            Ok(points.iter().map(state).collect())
        };
        let points = hypercube(&all, 48, 1, 0);
        let states = judge(&points).unwrap();
        let mut random = Stream::new(1, Domain::Placement, 3);
        let found = describe(&columns, points, states, &mut random, &mut judge).unwrap();
        let words = found
            .when
            .iter()
            .map(|condition| columns.words(condition))
            .collect();
        (found, words)
    }

    #[test]
    fn a_claim_that_depends_on_a_ratio_gets_a_condition_on_the_ratio() {
        let (found, words) = region(|at| at[0] / at[1] < 2.0);
        assert_eq!(words.len(), 1, "{words:?}");
        let bound: f64 = words[0]
            .strip_prefix("slow ÷ fast ≤ ")
            .unwrap()
            .parse()
            .unwrap();
        assert!((1.6..=2.2).contains(&bound), "{words:?}");
        assert!(found.held >= ENOUGH && found.checked == POINTS, "{found:?}");
        assert_eq!(found.deciding, [0, 1]);
        // How many points the condition takes, besides the 48.
        assert!(found.ran <= 3 * POINTS, "{}", found.ran);
    }

    #[test]
    fn a_claim_that_depends_on_a_number_and_a_choice_gets_both() {
        let (_, words) = region(|at| at[2] > 60.0 && at[4] > 0.5);
        assert!(
            words.iter().any(|words| words.starts_with("queue > ")),
            "{words:?}"
        );
        assert!(
            words.iter().any(|words| words.contains("scheduler is")),
            "{words:?}"
        );
    }

    #[test]
    fn a_noisy_claim_gets_no_condition() {
        for (share, index) in [(0.5, 10), (0.3, 11), (0.8, 12)] {
            let mut random = Stream::new(2, Domain::Placement, index);
            let (found, words) = region(|_| random.uniform() < share);
            assert!(words.is_empty(), "{words:?} {found:?}");
        }
        // One third is noise where the ratio is low: a condition, but true of too few points.
        let mut random = Stream::new(2, Domain::Placement, 20);
        let (_, words) = region(|at| at[0] / at[1] < 2.0 && random.uniform() < 0.67);
        assert!(words.is_empty(), "{words:?}");
    }

    #[test]
    fn the_bound_that_is_checked_is_the_printed_one() {
        let all = a_box();
        let columns = Columns::of(&all);
        let exact = Condition::Above(2, all[2].place_of(54.321));
        let printed = columns.printed(std::slice::from_ref(&exact));
        assert_eq!(columns.words(&printed[0]), "queue > 54 packets");
        let drawn = columns.draw(&printed, 50, &mut Stream::new(1, Domain::Placement, 4));
        assert!(
            drawn
                .iter()
                .all(|point| all[2].number_at(point.places()[2]) > 53.99)
        );
    }
}
