//! Round-robin, as the out-of-tree Linux MPTCP module `roundrobin` (v0.95); 000 names it as its scheduler.
//!
//! Deviations:
//! - of several subflows whose turn has not begun, the first is taken (the module takes the last in its list);
//! - a turn counts segments, not bytes divided by the MSS;
//! - backup subflows wait until no regular one is usable (the module ignores the flag).

use super::{MAX_SUBFLOWS, PathView, candidates, members, not_yet_carriers};

/// Turns of `num_segments` segments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoundRobin {
    /// Consecutive segments per turn.
    pub num_segments: u32,
    /// Skip a subflow without window space (on); wait for it (off).
    pub cwnd_limited: bool,
    /// Segments that each subflow has had in this round.
    quota: [u32; MAX_SUBFLOWS],
}

impl Default for RoundRobin {
    /// The module's defaults: one segment per turn, subflows without space are skipped.
    fn default() -> Self {
        RoundRobin { num_segments: 1, cwnd_limited: true, quota: [0; MAX_SUBFLOWS] }
    }
}

impl RoundRobin {
    #[inline]
    pub(super) fn pick(&mut self, paths: &[PathView], carried: u8) -> Option<usize> {
        let mut open = not_yet_carriers(candidates(paths, PathView::is_usable), carried);
        if self.cwnd_limited {
            open = members(open).filter(|&i| paths[i].has_space()).fold(0, |mask, i| mask | 1 << i);
        }
        let turn = self.turn(open).or_else(|| {
            members(open).for_each(|i| self.quota[i] = 0);
            self.turn(open)
        })?;
        if !paths[turn].has_space() {
            return None;
        }
        self.quota[turn] += 1;
        Some(turn)
    }

    /// The subflow in the middle of its turn, or else the first one that has not had any.
    #[inline]
    fn turn(&self, open: u8) -> Option<usize> {
        let begun = |&i: &usize| (1..self.num_segments).contains(&self.quota[i]);
        members(open).find(begun).or_else(|| members(open).find(|&i| self.quota[i] == 0))
    }
}
