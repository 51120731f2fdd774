//! Every segment on every usable subflow, as in the out-of-tree Linux MPTCP module `redundant`: the
//! least delay, the most energy.
//!
//! Each subflow walks through the data at its own pace and skips DATA_ACKed segments.

use joulepath_controllers::MAX_SUBFLOWS;

use super::scheduler::{Features, PacketScheduler, Style};
use super::view::{Backlog, PathView, Placement, candidates, fastest_with_space, members};
use crate::options::PartInfo;

/// Sends a copy on every subflow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Redundant {
    /// The next DSN of each subflow.
    reached: [u32; MAX_SUBFLOWS],
}

impl PacketScheduler for Redundant {
    const INFO: PartInfo = PartInfo::verified(
        "redundant",
        "every segment on every subflow",
        &[],
        "out-of-tree Linux MPTCP v0.95",
    );
    const FEATURES: Features = Features {
        style: Style::Copies,
        weighs_backlog: true,
        watches_rtt: false,
        wants_allotment: false,
    };

    fn new(_mss_bytes: u32) -> Self {
        Self::default()
    }

    fn pick(&mut self, paths: &[PathView], carried: u8, _segment_bytes: u32) -> Option<usize> {
        fastest_with_space(paths, carried)
    }

    /// New data (`dsn` = `backlog.next`) or a copy (below it).
    fn place(
        &mut self,
        paths: &[PathView],
        _segment_bytes: u32,
        backlog: &Backlog,
    ) -> Option<Placement> {
        let end = backlog.next + u32::from(backlog.unsent > 0);
        let reached = |i: usize| self.reached[i].max(backlog.una);
        let free =
            members(candidates(paths, PathView::is_usable)).filter(|&i| paths[i].has_space());
        let path = free
            .filter(|&i| reached(i) < end)
            .min_by_key(|&i| paths[i].srtt_us)?;
        let dsn = reached(path);
        self.reached[path] = dsn + 1;
        Some(Placement { path, dsn })
    }

    fn forget(&mut self, path: usize) {
        self.reached[path] = 0;
    }
}
