//! Finds the deciding parameters: a small tree that splits only where chance would not.
//!
//! At each node, the split that best separates holding from failing points (Gini) is compared with
//! the best splits of the same points with shuffled answers; it is kept if fewer than 5 % of those
//! are as good. This corrects for the number of tested parameters (a conditional inference tree:
//! Hothorn, Hornik and Zeileis, 2006, with the statistic of Breiman's trees).

use joulepath_model::random::{Domain, Stream};

/// Number of shuffles at a node.
const SHUFFLES: usize = 199;
/// Minimum number of points on either side of a split.
const LEAF: usize = 3;
/// Maximum depth of a leaf.
const DEPTH: usize = 3;

/// A point: the places of its parameters, and whether the claim holds.
pub(super) struct Sample<'a> {
    pub(super) places: &'a [f64],
    pub(super) holds: bool,
}

/// A condition on the path to a leaf.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Condition {
    /// The number's place is above this.
    Above(usize, f64),
    /// The number's place is at most this.
    AtMost(usize, f64),
    /// The choice is at this place.
    Is(usize, f64),
    /// The choice is at a different place.
    IsNot(usize, f64),
}

impl Condition {
    pub(super) fn parameter(&self) -> usize {
        match *self {
            Condition::Above(at, _)
            | Condition::AtMost(at, _)
            | Condition::Is(at, _)
            | Condition::IsNot(at, _) => at,
        }
    }

    pub(super) fn is_met(&self, places: &[f64]) -> bool {
        match *self {
            Condition::Above(at, bound) => places[at] > bound,
            Condition::AtMost(at, bound) => places[at] <= bound,
            Condition::Is(at, place) => (places[at] - place).abs() < 1e-9,
            Condition::IsNot(at, place) => (places[at] - place).abs() >= 1e-9,
        }
    }

    /// The condition with another bound, if it has one.
    pub(super) fn with_bound(&self, bound: impl Fn(usize, f64) -> f64) -> Condition {
        match *self {
            Condition::Above(at, of) => Condition::Above(at, bound(at, of)),
            Condition::AtMost(at, of) => Condition::AtMost(at, bound(at, of)),
            Condition::Is(..) | Condition::IsNot(..) => self.clone(),
        }
    }

    /// Whether a condition from further down the tree replaces this one.
    pub(super) fn is_wider_than(&self, other: &Condition) -> bool {
        match (self, other) {
            (Condition::Above(a, _), Condition::Above(b, _))
            | (Condition::AtMost(a, _), Condition::AtMost(b, _))
            | (Condition::IsNot(a, _), Condition::Is(b, _)) => a == b,
            _ => self == other,
        }
    }

    fn other(&self) -> Condition {
        match *self {
            Condition::Above(at, bound) => Condition::AtMost(at, bound),
            Condition::AtMost(at, bound) => Condition::Above(at, bound),
            Condition::Is(at, place) => Condition::IsNot(at, place),
            Condition::IsNot(at, place) => Condition::Is(at, place),
        }
    }
}

/// Result of the tree.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Deciding {
    /// Parameters that split, each with the fraction of the impurity that it removes, largest
    /// first.
    pub(super) parameters: Vec<(usize, f64)>,
    /// Conditions of the leaf where most points hold.
    pub(super) when: Vec<Condition>,
}

/// Grows the tree. `is_choice` is by parameter.
pub(super) fn deciding(samples: &[Sample<'_>], is_choice: &[bool], random_index: u64) -> Deciding {
    let mut random = Stream::new(1, Domain::Placement, random_index);
    let mut gains = vec![0.0; is_choice.len()];
    let all: Vec<usize> = (0..samples.len()).collect();
    let mut leaves = vec![];
    let mut open = vec![(all, Vec::<Condition>::new())];
    while let Some((inside, way)) = open.pop() {
        let split = if way.len() < DEPTH {
            best_split(samples, &inside, is_choice)
        } else {
            None
        };
        match split
            .filter(|(gain, _)| is_beyond_chance(samples, &inside, is_choice, *gain, &mut random))
        {
            None => leaves.push((inside, way)),
            Some((gain, condition)) => {
                gains[condition.parameter()] += gain;
                for side in [condition.clone(), condition.other()] {
                    let part = inside
                        .iter()
                        .copied()
                        .filter(|&at| side.is_met(samples[at].places))
                        .collect();
                    let mut way = way.clone();
                    way.push(side);
                    open.push((part, way));
                }
            }
        }
    }
    // Laplace's rule: a leaf of few points is uncertain.
    let share = |inside: &[usize]| {
        let holding = inside.iter().filter(|&&at| samples[at].holds).count();
        (holding as f64 + 1.0) / (inside.len() as f64 + 2.0)
    };
    let best = leaves
        .into_iter()
        .max_by(|a, b| share(&a.0).total_cmp(&share(&b.0)));
    let total: f64 = gains.iter().sum();
    let mut parameters: Vec<(usize, f64)> = gains
        .iter()
        .map(|gain| gain / total.max(1e-12))
        .enumerate()
        .filter(|(_, part)| *part > 0.0)
        .collect();
    parameters.sort_by(|a, b| b.1.total_cmp(&a.1));
    Deciding {
        parameters,
        when: best.map_or(vec![], |(_, way)| way),
    }
}

/// Half of n times the Gini impurity of two answers: h (n − h)/n.
fn impurity(holding: usize, n: usize) -> f64 {
    if n == 0 {
        0.0
    } else {
        (holding * (n - holding)) as f64 / n as f64
    }
}

fn best_split(
    samples: &[Sample<'_>],
    inside: &[usize],
    is_choice: &[bool],
) -> Option<(f64, Condition)> {
    let answers: Vec<bool> = inside.iter().map(|&at| samples[at].holds).collect();
    candidates(samples, inside, is_choice)
        .into_iter()
        .map(|(condition, sides)| (gain(&answers, &sides), condition))
        // Of equal splits the first: a parameter rather than a ratio.
        .min_by(|a, b| b.0.total_cmp(&a.0))
        .filter(|(gain, _)| *gain > 1e-9)
}

/// Every split with enough points on both sides, and the points on its first side.
fn candidates(
    samples: &[Sample<'_>],
    inside: &[usize],
    is_choice: &[bool],
) -> Vec<(Condition, Vec<bool>)> {
    let mut all = vec![];
    for (parameter, &is_choice) in is_choice.iter().enumerate() {
        let mut places: Vec<f64> = inside
            .iter()
            .map(|&at| samples[at].places[parameter])
            .collect();
        places.sort_by(f64::total_cmp);
        places.dedup_by(|a, b| (*a - *b).abs() < 1e-9);
        let conditions: Vec<Condition> = match is_choice {
            true => places
                .iter()
                .map(|&place| Condition::Is(parameter, place))
                .collect(),
            false => places
                .windows(2)
                .map(|two| Condition::Above(parameter, (two[0] + two[1]) / 2.0))
                .collect(),
        };
        for condition in conditions {
            let sides: Vec<bool> = inside
                .iter()
                .map(|&at| condition.is_met(samples[at].places))
                .collect();
            let first = sides.iter().filter(|side| **side).count();
            if first >= LEAF && sides.len() - first >= LEAF {
                all.push((condition, sides));
            }
        }
    }
    all
}

fn gain(answers: &[bool], sides: &[bool]) -> f64 {
    let (mut holding, mut first, mut both) = (0, 0, 0);
    for (&answer, &side) in answers.iter().zip(sides) {
        holding += usize::from(answer);
        first += usize::from(side);
        both += usize::from(answer && side);
    }
    let n = answers.len();
    impurity(holding, n) - impurity(both, first) - impurity(holding - both, n - first)
}

fn is_beyond_chance(
    samples: &[Sample<'_>],
    inside: &[usize],
    is_choice: &[bool],
    found: f64,
    random: &mut Stream,
) -> bool {
    let splits = candidates(samples, inside, is_choice);
    let mut answers: Vec<bool> = inside.iter().map(|&at| samples[at].holds).collect();
    let as_good = (0..SHUFFLES)
        .filter(|_| {
            for i in (1..answers.len()).rev() {
                answers.swap(i, random.below(i as u64 + 1) as usize);
            }
            splits
                .iter()
                .any(|(_, sides)| gain(&answers, sides) >= found - 1e-9)
        })
        .count();
    (as_good + 1) as f64 / (SHUFFLES + 1) as f64 <= 0.05
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 60 points of four parameters; the last one is a choice of two.
    fn points() -> Vec<Vec<f64>> {
        let mut random = Stream::new(5, Domain::Placement, 0);
        let choice = |u: f64| if u < 0.5 { 0.25 } else { 0.75 };
        let mut point = || {
            vec![
                random.uniform(),
                random.uniform(),
                random.uniform(),
                choice(random.uniform()),
            ]
        };
        (0..60).map(|_| point()).collect()
    }
    const IS_CHOICE: [bool; 4] = [false, false, false, true];

    fn tree(holds: impl Fn(&[f64]) -> bool) -> Deciding {
        let points = points();
        let samples: Vec<Sample<'_>> = points
            .iter()
            .map(|places| Sample {
                places,
                holds: holds(places),
            })
            .collect();
        deciding(&samples, &IS_CHOICE, 0)
    }

    #[test]
    fn a_region_in_a_number_and_a_choice_is_found() {
        let found = tree(|p| p[1] > 0.4 && p[3] == 0.75);
        let mut parameters: Vec<usize> = found.parameters.iter().map(|(at, _)| *at).collect();
        parameters.sort_unstable();
        assert_eq!(parameters, [1, 3]);
        assert!(
            found
                .when
                .iter()
                .any(|c| matches!(c, Condition::Above(1, bound) if (bound - 0.4).abs() < 0.1))
        );
        assert!(
            found
                .when
                .iter()
                .any(|c| matches!(c, Condition::Is(3, _) | Condition::IsNot(3, _)))
        );
    }

    #[test]
    fn noise_decides_nothing() {
        let found = tree(|p| ((p[0] * 1e6) as u64).is_multiple_of(3));
        assert_eq!(found.parameters, []);
        assert_eq!(
            tree(|_| true),
            Deciding::default(),
            "a claim that holds everywhere has no split"
        );
    }
}
