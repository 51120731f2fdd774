//! Runs of the packet engine at some points, to check the winners.

use serde::{Deserialize, Serialize};

use super::winners::Verdict;
use joulepath_model::metric::Metric;
use joulepath_model::quantile::median;

/// A point in both engines.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Checked {
    /// Index of the point.
    pub point: usize,
    /// Winner in the map's engine.
    pub map: Verdict,
    /// Winner in the packet engine.
    pub packet: Verdict,
}

/// Comparison with the packet engine at some points.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct SpotCheck {
    /// Points, ascending.
    pub points: Vec<Checked>,
    /// Number of points with the same winner.
    pub same: usize,
    /// Number of points with different winners that tie in one of the engines.
    pub ties: usize,
    /// Median of the absolute relative difference of the packet engine's values from the map's,
    /// over policies and points.
    pub median: Option<f64>,
    /// The largest difference with its sign, then its policy and point.
    pub worst: Option<(f64, usize, usize)>,
}

impl SpotCheck {
    /// Compares the map's `values` by policy and point with the packet engine's by policy and index
    /// in `chosen`.
    pub fn of(
        chosen: &[usize],
        values: &[Vec<Option<f64>>],
        packet: &[Vec<Option<f64>>],
        metric: &Metric,
    ) -> Self {
        let column = |values: &[Vec<Option<f64>>], at: usize| {
            values.iter().map(|v| v[at]).collect::<Vec<_>>()
        };
        let check = |(place, &point): (usize, &usize)| Checked {
            point,
            map: Verdict::of(&column(values, point), metric),
            packet: Verdict::of(&column(packet, place), metric),
        };
        let points: Vec<Checked> = chosen.iter().enumerate().map(check).collect();
        let is_same = |c: &&Checked| c.map.best.is_some() && c.map.best == c.packet.best;
        let is_tie = |c: &&Checked| {
            let holds = |verdict: &Verdict, best: Option<usize>| {
                best.is_some_and(|best| verdict.ties.contains(&best))
            };
            !is_same(c) && (holds(&c.map, c.packet.best) || holds(&c.packet, c.map.best))
        };
        let mut differences = vec![];
        for (policy, packet) in packet.iter().enumerate() {
            for (&point, packet) in chosen.iter().zip(packet) {
                if let (Some(packet), Some(map @ f64::MIN_POSITIVE..)) =
                    (*packet, values[policy][point])
                {
                    differences.push((packet / map - 1.0, policy, point));
                }
            }
        }
        let size = |(difference, ..): &(f64, usize, usize)| difference.abs();
        SpotCheck {
            same: points.iter().filter(is_same).count(),
            ties: points.iter().filter(is_tie).count(),
            median: median(differences.iter().map(size)),
            worst: differences
                .iter()
                .copied()
                .max_by(|a, b| size(a).total_cmp(&size(b))),
            points,
        }
    }
}

#[cfg(test)]
mod tests {
    use joulepath_model::metric::GOODPUT;

    use super::*;

    #[test]
    fn winners_agree_differ_or_tie() {
        let of = |values: [f64; 3]| values.map(Some).to_vec();
        let map = [of([10.0, 10.0, 10.0]), of([9.0, 9.0, 9.0])];
        // The same winner; a different one by far; a different one by half a hundredth.
        let packet = [of([11.0, 9.0, 10.0]), of([9.0, 10.0, 10.05])];
        let spot = SpotCheck::of(&[0, 1, 2], &map, &packet, &GOODPUT);
        assert_eq!((spot.same, spot.ties), (1, 1));
        // Differences: +0.1, −0.1, 0 and 0, 1/9, 1.05/9: the median of 0, 0, 0.1, 0.1, 0.111,
        // 0.1167 is 0.1.
        assert!((spot.median.unwrap() - 0.1).abs() < 1e-12);
        let (worst, policy, point) = spot.worst.unwrap();
        assert!((worst - 1.05 / 9.0).abs() < 1e-12 && (policy, point) == (1, 2));
    }
}
