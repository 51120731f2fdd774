//! Winners, ties and regions.

use serde::{Deserialize, Serialize};

use joulepath_model::metric::Metric;

use super::shortfall;

/// Relative distance from the best within which policies tie.
pub const TIE: f64 = 0.01;

/// The winner at a point.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct Verdict {
    /// The best policy; the first of equals.
    pub best: Option<usize>,
    /// Policies within [`TIE`] of the best, including it, in the order of the policies.
    pub ties: Vec<usize>,
}

impl Verdict {
    /// Winner of the policies' values at one point.
    pub fn of(values: &[Option<f64>], metric: &Metric) -> Self {
        let known = || {
            values
                .iter()
                .enumerate()
                .filter_map(|(i, value)| Some((i, (*value)?)))
        };
        let Some((best, most)) =
            known().reduce(|a, b| if metric.is_better(b.1, a.1) { b } else { a })
        else {
            return Verdict::default();
        };
        let ties = known()
            .filter(|(_, value)| shortfall(metric, *value, most) <= TIE)
            .map(|(i, _)| i);
        Verdict {
            best: Some(best),
            ties: ties.collect(),
        }
    }

    /// Whether no other policy is within [`TIE`].
    pub fn is_clear(&self) -> bool {
        self.ties.len() == 1
    }
}

/// Totals of a policy over all points.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct Region {
    /// Points where it is the best by more than [`TIE`].
    pub clear: usize,
    /// Points where it ties with the best.
    pub tied: usize,
    /// Largest relative shortfall from the best.
    pub shortfall: f64,
}

/// Winners at all points.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct Winners {
    /// Winners by point.
    pub verdicts: Vec<Verdict>,
    /// Totals by policy.
    pub regions: Vec<Region>,
}

impl Winners {
    /// Winners of `values` by policy and point.
    pub fn of(values: &[Vec<Option<f64>>], metric: &Metric) -> Self {
        let points = values.first().map_or(0, Vec::len);
        let at = |point: usize| {
            values
                .iter()
                .map(|values| values[point])
                .collect::<Vec<_>>()
        };
        let verdicts: Vec<Verdict> = (0..points)
            .map(|point| Verdict::of(&at(point), metric))
            .collect();
        let region = |(policy, values): (usize, &Vec<Option<f64>>)| {
            let mut region = Region::default();
            for (point, verdict) in verdicts.iter().enumerate() {
                match verdict.ties.contains(&policy) {
                    true if verdict.is_clear() => region.clear += 1,
                    true => region.tied += 1,
                    false => {}
                }
                let best = verdict.best.and_then(|best| at(point)[best]);
                if let (Some(value), Some(best)) = (values[point], best) {
                    region.shortfall = region.shortfall.max(shortfall(metric, value, best));
                }
            }
            region
        };
        let regions = values.iter().enumerate().map(region).collect();
        Winners { verdicts, regions }
    }
}

#[cfg(test)]
mod tests {
    use joulepath_model::metric::{EFFICIENCY, ENERGY, GOODPUT};

    use super::*;

    #[test]
    fn policies_within_one_percent_tie_with_the_best() {
        let values = [Some(99.0), Some(100.0), Some(98.9), None];
        let verdict = Verdict::of(&values, &EFFICIENCY);
        assert_eq!(
            verdict,
            Verdict {
                best: Some(1),
                ties: vec![0, 1]
            }
        );
        // For energy the lowest wins: 98.9. 99.0 is 0.1 % more, 100 is 1.1 % more.
        let verdict = Verdict::of(&values, &ENERGY);
        assert_eq!(
            verdict,
            Verdict {
                best: Some(2),
                ties: vec![0, 2]
            }
        );
        assert_eq!(Verdict::of(&[None, None], &GOODPUT), Verdict::default());
    }

    #[test]
    fn a_region_counts_clear_and_shared_points_and_the_farthest_distance() {
        let of = |values: [f64; 3]| values.map(Some).to_vec();
        let winners = Winners::of(&[of([10.0, 5.0, 8.0]), of([5.0, 5.0, 10.0])], &GOODPUT);
        assert_eq!(
            winners.regions[0],
            Region {
                clear: 1,
                tied: 1,
                shortfall: 0.2
            }
        );
        assert_eq!(
            winners.regions[1],
            Region {
                clear: 1,
                tied: 1,
                shortfall: 0.5
            }
        );
    }
}
