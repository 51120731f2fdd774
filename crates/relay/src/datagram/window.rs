//! Datagrams that came twice or too late.

use std::collections::BTreeSet;

/// The latest numbers that have arrived.
#[derive(Debug)]
pub(super) struct Window {
    /// A datagram that so many later ones have overtaken is too late.
    reorder: u64,
    newest: u64,
    seen: BTreeSet<u64>,
}

impl Window {
    pub(super) fn new(reorder: u64) -> Self {
        Window {
            reorder,
            newest: 0,
            seen: BTreeSet::new(),
        }
    }

    /// Takes in a number. False if it has arrived before, or too late to know.
    pub(super) fn admits(&mut self, number: u64) -> bool {
        let oldest = |newest: u64| newest.saturating_sub(self.reorder);
        if number < oldest(self.newest) || !self.seen.insert(number) {
            return false;
        }
        self.newest = self.newest.max(number);
        let oldest = oldest(self.newest);
        while self.seen.first().is_some_and(|&first| first < oldest) {
            self.seen.pop_first();
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_admitted_once_and_not_after_its_time() {
        let mut window = Window::new(2);
        for (number, admitted) in [
            (5, true),
            (5, false),
            (3, true),
            // Three later numbers: 3, 4 and 5.
            (2, false),
            (7, true),
            (5, false),
            (6, true),
            (4, false),
            (u64::MAX, true),
            (u64::MAX, false),
        ] {
            assert_eq!(window.admits(number), admitted, "{number}");
        }
        assert_eq!(window.seen.len(), 1);
    }

    #[test]
    fn without_a_limit_of_reordering_only_the_newest_counts() {
        let mut window = Window::new(0);
        assert_eq!(
            [1, 3, 2, 3, 4].map(|number| window.admits(number)),
            [true, true, false, false, true]
        );
    }
}
