//! Points of a design, each computed from its index, so that a million points take no memory.

use joulepath_model::random::{Domain, Stream};
use joulepath_model::study::{Axis, Design, Draw, Level};
use sobol::Sobol;
use sobol::params::JoeKuoD6;

/// Bits of a coordinate: those of a float's significand.
const BITS: usize = 53;
/// Bits of a word of direction numbers.
const WORD: usize = 64;
/// Rounds of a permutation. Four make it look random (Luby and Rackoff, SIAM J. Comput. 17(2),
/// 1988).
const ROUNDS: u64 = 6;

/// Purpose of a random number: the highest bits of its index in the stream.
const JITTER: u64 = 1 << 60;
const SHIFT: u64 = 2 << 60;
const PERMUTE: u64 = 3 << 60;

pub(super) struct Points {
    axes: Vec<Axis>,
    design: Design,
    count: u64,
    /// Direction numbers of Sobol's sequence by axis.
    directions: Vec<Vec<u64>>,
}

impl Points {
    /// Points of a checked design.
    pub(super) fn of(design: Design, axes: &[Axis]) -> Self {
        let count = match design {
            Design::Grid => axes.iter().map(|axis| axis.levels.count()).product(),
            Design::Drawn { points, .. } => points,
        };
        let directions = match design {
            Design::Drawn {
                how: Draw::Sobol, ..
            } if !axes.is_empty() => {
                let parameters = JoeKuoD6::minimal();
                Sobol::<f64>::init_direction_vals::<u32>(axes.len(), BITS, &parameters)
            }
            _ => vec![],
        };
        Points {
            axes: axes.to_vec(),
            design,
            count,
            directions,
        }
    }

    /// Number of points.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Level of each axis at a point.
    pub(super) fn at(&self, point: u64) -> Vec<Level> {
        match self.design {
            Design::Grid => self.of_grid(point),
            Design::Drawn { how, points, seed } => {
                let level = |(index, axis): (usize, &Axis)| {
                    axis.levels
                        .at(self.coordinate(how, points, seed, index as u64, point))
                };
                self.axes.iter().enumerate().map(level).collect()
            }
        }
    }

    /// Digits of the index in the mixed radix of the axes' counts, with the last axis lowest.
    fn of_grid(&self, point: u64) -> Vec<Level> {
        let mut left = point;
        let mut levels: Vec<Level> = vec![];
        for axis in self.axes.iter().rev() {
            let count = axis.levels.count();
            levels.push(axis.levels.of_grid(left % count));
            left /= count;
        }
        levels.reverse();
        levels
    }

    /// Coordinate in [0, 1).
    fn coordinate(&self, how: Draw, points: u64, seed: u64, axis: u64, point: u64) -> f64 {
        let jitter = || Stream::new(seed, Domain::Study, JITTER | (axis << 40) | point).uniform();
        match how {
            Draw::Random => jitter(),
            Draw::LatinHypercube => {
                let stratum = permuted(point, points, seed, axis) as f64;
                // With very many points, the end of the last stratum rounds to 1.
                ((stratum + jitter()) / points as f64).min(1.0 - f64::EPSILON)
            }
            Draw::Sobol => {
                let shift = Stream::new(seed, Domain::Study, SHIFT | axis).bits();
                let digits = &self.directions[axis as usize];
                let of_point = (0..BITS).filter(|bit| point >> bit & 1 == 1);
                let bits = of_point.fold(shift, |bits, bit| bits ^ digits[bit]);
                (bits >> (WORD - BITS)) as f64 / (1u64 << BITS) as f64
            }
        }
    }
}

/// Image of `index` under a random permutation of 0..`count`, which depends on axis and seed: a
/// Feistel network on the lowest sufficient even number of bits, repeated until the result is below
/// `count` (Black and Rogaway, CT-RSA 2002).
fn permuted(index: u64, count: u64, seed: u64, axis: u64) -> u64 {
    let half_bits = (u64::BITS - (count.max(2) - 1).leading_zeros()).div_ceil(2);
    let mask = (1u64 << half_bits) - 1;
    let mut at = index;
    loop {
        let (mut left, mut right) = (at >> half_bits, at & mask);
        for round in 0..ROUNDS {
            let name = PERMUTE | (axis << 40) | (round << 36) | right;
            let mixed = Stream::new(seed, Domain::Study, name).bits() & mask;
            (left, right) = (right, left ^ mixed);
        }
        at = (left << half_bits) | right;
        if at < count {
            return at;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use joulepath_model::study::{Levels, Range};

    use super::*;

    fn axes(count: usize) -> Vec<Axis> {
        let range = Range {
            low: 0.0,
            high: 1.0,
            unit: "s".into(),
            log: false,
            points: 3,
        };
        (0..count)
            .map(|i| Axis {
                keys: vec![format!("k{i}")],
                levels: Levels::Range(range.clone()),
            })
            .collect()
    }

    fn drawn(how: Draw, points: u64, seed: u64, dimensions: usize) -> Points {
        Points::of(Design::Drawn { how, points, seed }, &axes(dimensions))
    }

    fn coordinates(points: &Points, how: Draw, seed: u64, axis: u64) -> Vec<f64> {
        (0..points.count())
            .map(|point| points.coordinate(how, points.count(), seed, axis, point))
            .collect()
    }

    #[test]
    fn a_grid_has_every_combination_once_and_its_last_axis_changes_fastest() {
        let grid = Points::of(Design::Grid, &axes(2));
        let texts: Vec<String> = (0..grid.count())
            .map(|point| {
                grid.at(point)
                    .iter()
                    .map(|level| level.text.clone())
                    .collect::<Vec<_>>()
                    .join(" ")
            })
            .collect();
        assert_eq!(texts[..4], ["0 s 0 s", "0 s 0.5 s", "0 s 1 s", "0.5 s 0 s"]);
        assert_eq!(texts.iter().collect::<BTreeSet<_>>().len(), 9);
        assert_eq!(
            Points::of(Design::Grid, &[]).count(),
            1,
            "nothing varies: one point"
        );
    }

    #[test]
    fn a_permutation_reaches_every_place_once() {
        for count in [1, 2, 3, 5, 16, 100, 1000, 4097] {
            let reached: BTreeSet<u64> = (0..count).map(|i| permuted(i, count, 7, 2)).collect();
            assert_eq!(
                (reached.len() as u64, reached.last()),
                (count, Some(&(count - 1))),
                "{count}"
            );
        }
        assert_ne!(
            (0..100).map(|i| permuted(i, 100, 7, 0)).collect::<Vec<_>>(),
            (0..100).map(|i| permuted(i, 100, 7, 1)).collect::<Vec<_>>()
        );
    }

    #[test]
    fn a_latin_hypercube_has_one_point_in_each_stratum_of_each_axis() {
        let points = drawn(Draw::LatinHypercube, 250, 3, 4);
        for axis in 0..4 {
            let strata: BTreeSet<u64> = coordinates(&points, Draw::LatinHypercube, 3, axis)
                .iter()
                .map(|part| (part * 250.0) as u64)
                .collect();
            assert_eq!(strata.len(), 250, "axis {axis}");
        }
    }

    /// The first 2^k points of a shifted net: one in each of 2^k equal intervals of each axis, and
    /// one in each cell of 2^(k/2) × 2^(k/2) of the first two axes.
    #[test]
    fn sobols_points_fill_every_cell_of_a_net() {
        let points = drawn(Draw::Sobol, 256, 5, 10);
        let of_axis: Vec<Vec<f64>> = (0..10)
            .map(|axis| coordinates(&points, Draw::Sobol, 5, axis))
            .collect();
        for parts in &of_axis {
            let intervals: BTreeSet<u64> = parts.iter().map(|part| (part * 256.0) as u64).collect();
            assert_eq!(intervals.len(), 256);
        }
        let cell = |i: usize| ((of_axis[0][i] * 16.0) as u64, (of_axis[1][i] * 16.0) as u64);
        assert_eq!((0..256).map(cell).collect::<BTreeSet<_>>().len(), 256);
    }

    /// Unshifted: (0, 0), (1/2, 1/2), then 1/4 and 3/4 (Joe and Kuo's notes).
    #[test]
    fn sobols_sequence_matches_joe_and_kuo() {
        let points = drawn(Draw::Sobol, 4, 1, 2);
        let plain = |axis: usize, point: u64| {
            let bits = (0..BITS).filter(|bit| point >> bit & 1 == 1);
            bits.fold(0, |bits, bit| bits ^ points.directions[axis][bit]) as f64 / 2f64.powi(64)
        };
        assert_eq!([plain(0, 1), plain(0, 2), plain(0, 3)], [0.5, 0.25, 0.75]);
        assert_eq!([plain(1, 1), plain(1, 2), plain(1, 3)], [0.5, 0.75, 0.25]);
    }

    #[test]
    fn random_points_are_the_same_for_a_seed_and_fill_the_space() {
        let points = drawn(Draw::Random, 2000, 1, 2);
        let parts = coordinates(&points, Draw::Random, 1, 0);
        assert_eq!(parts, coordinates(&points, Draw::Random, 1, 0));
        assert_ne!(parts, coordinates(&points, Draw::Random, 2, 0));
        // The mean of 2000 uniform numbers is 1/2 within 5 standard errors of 1/√(12 · 2000) =
        // 0.0065.
        let mean = parts.iter().sum::<f64>() / 2000.0;
        assert!((mean - 0.5).abs() < 0.033, "{mean}");
    }
}
