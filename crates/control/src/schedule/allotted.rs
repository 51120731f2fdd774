//! Spends the packets that a rate allocator allots to each path, slot by slot.

use joulepath_controllers::MAX_SUBFLOWS;

use super::scheduler::{Features, PacketScheduler, Style};
use super::view::{Backlog, PathView, Placement, candidates, fastest_with_space, members};
use crate::options::PartInfo;

/// Chooses the smallest RTT among the subflows with window space and remaining allotment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Allotted {
    /// Remaining allotment of each path in this slot, packets.
    left: [f64; MAX_SUBFLOWS],
}

impl PacketScheduler for Allotted {
    const INFO: PartInfo = PartInfo::verified(
        "allotted",
        "spends what the allocator so-mptcp allots to each subflow, slot by slot",
        &[],
        "003",
    );
    const FEATURES: Features = Features {
        style: Style::Plain,
        weighs_backlog: true,
        watches_rtt: false,
        wants_allotment: true,
    };

    fn new(_mss_bytes: u32) -> Self {
        Self::default()
    }

    /// Retransmissions do not count against the allotment.
    fn pick(&mut self, paths: &[PathView], carried: u8, _segment_bytes: u32) -> Option<usize> {
        fastest_with_space(paths, carried)
    }

    fn place(
        &mut self,
        paths: &[PathView],
        _segment_bytes: u32,
        backlog: &Backlog,
    ) -> Option<Placement> {
        let open = members(candidates(paths, PathView::is_usable));
        let path = open
            .filter(|&i| paths[i].has_space() && self.left[i] >= 1.0)
            .min_by_key(|&i| paths[i].srtt_us)?;
        self.left[path] -= 1.0;
        Some(Placement {
            path,
            dsn: backlog.next,
        })
    }

    /// An unspent fraction counts in the new slot; unspent whole packets do not.
    fn allot(&mut self, packets: &[f64]) {
        for (left, packets) in self.left.iter_mut().zip(packets) {
            *left = left.clamp(0.0, 1.0) % 1.0 + packets;
        }
    }
}
