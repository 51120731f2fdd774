//! Every segment on every usable subflow, as the out-of-tree Linux MPTCP module `redundant`: the least delay, the most energy.
//!
//! Each subflow walks through the data at its own pace; what has been DATA_ACKed meanwhile is passed over.

use super::{Backlog, MAX_SUBFLOWS, PathView, Placement, candidates, members};

/// Copies for all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Redundant {
    /// DSN behind the last one that each subflow has carried.
    reached: [u32; MAX_SUBFLOWS],
}

impl Redundant {
    pub(super) fn forget(&mut self, path: usize) {
        self.reached[path] = 0;
    }

    /// New data (`dsn` = `backlog.next`) or a copy (below it).
    pub(super) fn place(&mut self, paths: &[PathView], backlog: &Backlog) -> Option<Placement> {
        let end = backlog.next + u32::from(backlog.unsent > 0);
        let reached = |i: usize| self.reached[i].max(backlog.una);
        let free = members(candidates(paths, PathView::is_usable)).filter(|&i| paths[i].has_space());
        let path = free.filter(|&i| reached(i) < end).min_by_key(|&i| paths[i].srtt_us)?;
        let dsn = reached(path);
        self.reached[path] = dsn + 1;
        Some(Placement { path, dsn })
    }
}
