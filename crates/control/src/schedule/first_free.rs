//! The first subflow with window space, as in the ns-2 module of 004 (ACK clocked).

use super::scheduler::{Features, PacketScheduler, Style};
use super::view::{PathView, members, open};
use crate::options::PartInfo;

/// Chooses the first subflow with space, in the connection's order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FirstFree;

impl PacketScheduler for FirstFree {
    const INFO: PartInfo =
        PartInfo::verified("first-free", "first subflow with window space", &[], "004");
    const FEATURES: Features = Features {
        style: Style::Plain,
        weighs_backlog: false,
        watches_rtt: false,
        wants_allotment: false,
    };
    const TAKES_THE_ONLY_CHOICE: bool = true;

    fn new(_mss_bytes: u32) -> Self {
        FirstFree
    }

    #[inline]
    fn pick(&mut self, paths: &[PathView], carried: u8, _segment_bytes: u32) -> Option<usize> {
        first_free(paths, carried)
    }
}

/// The first usable subflow with space that has not carried the segment.
#[inline]
pub(super) fn first_free(paths: &[PathView], carried: u8) -> Option<usize> {
    members(open(paths, carried)).find(|&i| paths[i].has_space())
}
