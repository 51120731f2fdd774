//! The packet engine at some of the points, to see whether it names the same winners.

use serde::{Deserialize, Serialize};

use super::Metric;
use super::winners::Verdict;
use joulepath_model::quantile::median;

/// One point in both engines.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Checked {
    /// Index of the point.
    pub point: usize,
    /// By the map's engine.
    pub map: Verdict,
    /// By the packet engine.
    pub packet: Verdict,
}

/// What the packet engine says of some of the points.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct SpotCheck {
    /// Ascending.
    pub points: Vec<Checked>,
    /// The same best policy.
    pub same: usize,
    /// Another one, which is a tie in one of the engines.
    pub ties: usize,
    /// Of the packet engine's value from the map's, relative, over policies and points: median of the
    /// absolute values.
    pub median: Option<f64>,
    /// The farthest, with its sign: difference, policy, point.
    pub worst: Option<(f64, usize, usize)>,
}

impl SpotCheck {
    /// Of the map's `values` by policy and point, and the packet engine's by policy and place in `chosen`.
    pub fn of(
        chosen: &[usize],
        values: &[Vec<Option<f64>>],
        packet: &[Vec<Option<f64>>],
        metric: Metric,
    ) -> Self {
        let column =
            |values: &[Vec<Option<f64>>], at: usize| values.iter().map(|v| v[at]).collect::<Vec<_>>();
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
                if let (Some(packet), Some(map @ f64::MIN_POSITIVE..)) = (*packet, values[policy][point]) {
                    differences.push((packet / map - 1.0, policy, point));
                }
            }
        }
        let size = |(difference, ..): &(f64, usize, usize)| difference.abs();
        SpotCheck {
            same: points.iter().filter(is_same).count(),
            ties: points.iter().filter(is_tie).count(),
            median: median(differences.iter().map(size)),
            worst: differences.iter().copied().max_by(|a, b| size(a).total_cmp(&size(b))),
            points,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn winners_agree_differ_or_tie() {
        let of = |values: [f64; 3]| values.map(Some).to_vec();
        let map = [of([10.0, 10.0, 10.0]), of([9.0, 9.0, 9.0])];
        // The same winner; another one by far; another one by half a hundredth.
        let packet = [of([11.0, 9.0, 10.0]), of([9.0, 10.0, 10.05])];
        let spot = SpotCheck::of(&[0, 1, 2], &map, &packet, Metric::Goodput);
        assert_eq!((spot.same, spot.ties), (1, 1));
        // Differences: +0.1, −0.1, 0 and 0, 1/9, 1.05/9: the median of 0, 0, 0.1, 0.1, 0.111, 0.1167 is 0.1.
        assert!((spot.median.unwrap() - 0.1).abs() < 1e-12);
        let (worst, policy, point) = spot.worst.unwrap();
        assert!((worst - 1.05 / 9.0).abs() < 1e-12 && (policy, point) == (1, 2));
    }
}
