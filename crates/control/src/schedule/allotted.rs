//! Spends what a rate allocator allots to each path, slot by slot.

use super::{MAX_SUBFLOWS, PathView, candidates, members};

/// Smallest RTT among the subflows with window space and something left of their allotment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Allotted {
    /// What each path may still carry in this slot, packets.
    left: [f64; MAX_SUBFLOWS],
}

impl Allotted {
    /// A new slot: `packets` for each path. A fraction that was left over counts; whole packets that were not sent do not.
    pub(super) fn allot(&mut self, packets: &[f64]) {
        for (left, packets) in self.left.iter_mut().zip(packets) {
            *left = left.clamp(0.0, 1.0) % 1.0 + packets;
        }
    }

    pub(super) fn place(&mut self, paths: &[PathView]) -> Option<usize> {
        let open = members(candidates(paths, PathView::is_usable));
        let path = open
            .filter(|&i| paths[i].has_space() && self.left[i] >= 1.0)
            .min_by_key(|&i| paths[i].srtt_us)?;
        self.left[path] -= 1.0;
        Some(path)
    }
}
