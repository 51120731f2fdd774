//! Division of a study's runs among processes: `2/8` of a cluster's job array.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Result};

/// Maximum number of parts.
const MOST: u64 = 100_000;
/// Maximum number of consecutive points in a part: neighbouring points cost about the same.
const MOST_POINTS: u64 = 64;
/// Minimum number of blocks of points in each part, if there are enough points.
const LEAST_BLOCKS: u64 = 16;

/// One of several parts of equal size. The default is the whole study.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// From 0.
    index: u64,
    of: u64,
}

impl Default for Shard {
    fn default() -> Self {
        Shard { index: 0, of: 1 }
    }
}

impl Shard {
    /// Text for file names: `2-of-8`.
    pub(super) fn in_file_name(&self) -> String {
        self.to_string().replace('/', "-of-")
    }

    /// Number of parts.
    pub(super) fn of(&self) -> u64 {
        self.of
    }

    /// Whether this part contains `point` of `points`.
    pub(super) fn has(&self, point: u64, points: u64) -> bool {
        point / self.block(points) % self.of == self.index
    }

    /// First point after `point` in another block.
    pub(super) fn next_block(&self, point: u64, points: u64) -> u64 {
        (point / self.block(points) + 1) * self.block(points)
    }

    /// Number of points of this part.
    pub(super) fn points(&self, points: u64) -> u64 {
        let block = self.block(points);
        let round = block * self.of;
        let rest = (points % round)
            .saturating_sub(self.index * block)
            .min(block);
        points / round * block + rest
    }

    fn block(&self, points: u64) -> u64 {
        (points / (self.of * LEAST_BLOCKS)).clamp(1, MOST_POINTS)
    }
}

impl FromStr for Shard {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let wrong = || {
            Error::usage(format!("`{text}` is not a part of a study")).with_help(format!(
                "write I/N: 1/8 is the first of eight parts, at most {MOST}"
            ))
        };
        let (index, of) = text.split_once('/').ok_or_else(wrong)?;
        let (index, of): (u64, u64) = (
            index.trim().parse().map_err(|_| wrong())?,
            of.trim().parse().map_err(|_| wrong())?,
        );
        if !(1..=MOST).contains(&of) || !(1..=of).contains(&index) {
            return Err(wrong());
        }
        Ok(Shard {
            index: index - 1,
            of,
        })
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index + 1, self.of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_point_is_in_one_part_and_parts_have_equal_size() {
        for (points, of) in [(1, 3), (7, 2), (100, 3), (1000, 8), (10_000, 2), (4097, 64)] {
            let shards: Vec<Shard> = (0..of).map(|index| Shard { index, of }).collect();
            let mut sizes = vec![0; of as usize];
            for point in 0..points {
                let owners: Vec<usize> = (0..shards.len())
                    .filter(|&index| shards[index].has(point, points))
                    .collect();
                assert_eq!(owners.len(), 1, "{point} of {points} in {of}");
                sizes[owners[0]] += 1;
            }
            let counted: Vec<u64> = shards.iter().map(|shard| shard.points(points)).collect();
            assert_eq!(sizes, counted, "{points} in {of}");
            let (least, most) = (sizes.iter().min().unwrap(), sizes.iter().max().unwrap());
            assert!(
                most - least <= MOST_POINTS.min(points.div_ceil(of)),
                "{sizes:?}"
            );
        }
    }

    #[test]
    fn nonexistent_parts_are_refused() {
        assert_eq!("2/8".parse::<Shard>().unwrap().to_string(), "2/8");
        for text in ["", "1", "0/2", "3/2", "1/0", "a/b", "1/100001"] {
            let said = text.parse::<Shard>().expect_err(text);
            assert!(
                said.help().is_some_and(|help| help.contains("I/N")),
                "{text}"
            );
        }
    }
}
