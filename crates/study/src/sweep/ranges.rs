//! Sets of runs as ranges of indices. Finished runs form few ranges, however many they are.

use std::fmt;

/// Disjoint ascending ranges with exclusive ends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ranges(Vec<(u64, u64)>);

impl Ranges {
    /// The set of `indices`, given in any order.
    pub fn of(indices: impl IntoIterator<Item = u64>) -> Self {
        let mut ranges = Ranges::default();
        indices
            .into_iter()
            .for_each(|index| ranges.insert(index, index + 1));
        ranges
    }

    /// Parses the format of [`Ranges`]'s `Display`.
    pub fn parse(text: &str) -> Option<Self> {
        let mut ranges = Ranges::default();
        for part in text.split(',').filter(|part| !part.is_empty()) {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
            if last < first || last == u64::MAX {
                return None;
            }
            ranges.insert(first, last + 1);
        }
        Some(ranges)
    }

    /// Adds `first..end`.
    pub fn insert(&mut self, first: u64, end: u64) {
        if first >= end {
            return;
        }
        // Merges ranges that touch the new one.
        let from = self.0.partition_point(|&(_, other_end)| other_end < first);
        let to = self.0.partition_point(|&(other, _)| other <= end);
        let touched = &self.0[from..to];
        let low = touched.first().map_or(first, |&(low, _)| low.min(first));
        let high = touched.last().map_or(end, |&(_, high)| high.max(end));
        self.0.splice(from..to, [(low, high)]);
    }

    /// Adds another set.
    pub fn extend(&mut self, others: &Ranges) {
        others
            .0
            .iter()
            .for_each(|&(first, end)| self.insert(first, end));
    }

    /// End of the range that contains `index`; `None` if no range does.
    pub fn end_of(&self, index: u64) -> Option<u64> {
        let place = self.0.partition_point(|&(_, end)| end <= index);
        self.0
            .get(place)
            .filter(|(first, _)| *first <= index)
            .map(|&(_, end)| end)
    }

    /// Start of the next range after `index`, which must be outside all ranges.
    pub fn next_after(&self, index: u64) -> Option<u64> {
        self.0
            .get(self.0.partition_point(|&(first, _)| first <= index))
            .map(|&(first, _)| first)
    }

    /// Whether the set contains `index`.
    pub fn contains(&self, index: u64) -> bool {
        self.end_of(index).is_some()
    }

    /// Number of indices.
    pub fn count(&self) -> u64 {
        self.0.iter().map(|(first, end)| end - first).sum()
    }

    /// The indices, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u64> {
        self.0.iter().flat_map(|&(first, end)| first..end)
    }

    /// The lowest index.
    pub fn first(&self) -> Option<u64> {
        self.0.first().map(|&(first, _)| first)
    }

    /// The highest index plus 1; 0 for an empty set.
    pub fn end(&self) -> u64 {
        self.0.last().map_or(0, |&(_, end)| end)
    }
}

impl fmt::Display for Ranges {
    /// `0-99,120,130-139`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, &(first, end)) in self.0.iter().enumerate() {
            let comma = if place > 0 { "," } else { "" };
            match end - first {
                1 => write!(f, "{comma}{first}")?,
                _ => write!(f, "{comma}{first}-{}", end - 1)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use joulepath_model::random::{Domain, Stream};

    use super::*;

    #[test]
    fn ranges_equal_a_set_and_are_parsed_from_their_text() {
        let mut stream = Stream::new(1, Domain::Study, 0);
        for _ in 0..50 {
            let (mut ranges, mut set) = (Ranges::default(), BTreeSet::new());
            for _ in 0..30 {
                let first = stream.below(60);
                let end = first + stream.below(6);
                ranges.insert(first, end);
                set.extend(first..end);
            }
            assert_eq!(
                ranges.iter().collect::<Vec<_>>(),
                set.iter().copied().collect::<Vec<_>>()
            );
            assert_eq!(ranges.count(), set.len() as u64);
            assert!((0..70).all(|index| ranges.contains(index) == set.contains(&index)));
            assert!(
                ranges.0.windows(2).all(|pair| pair[0].1 < pair[1].0),
                "neighbours are merged: {ranges:?}"
            );
            assert_eq!(Ranges::parse(&ranges.to_string()), Some(ranges));
        }
    }

    #[test]
    fn malformed_ranges_are_refused() {
        assert_eq!(Ranges::parse("3,7-9").unwrap().to_string(), "3,7-9");
        assert!(
            ["x", "3-1", "1-2-3", "-", "18446744073709551615"]
                .iter()
                .all(|t| Ranges::parse(t).is_none())
        );
    }
}
