//! Output of one part of a network for the others: packets that leave it, and announcements.
//!
//! ```text
//!   part A   link ──► hand_over ──► outbox ══ mail ══► Network::enter ──► wire   part B
//! ```
//! A crossing packet waits in an outbox until part A publishes its progress. Part B does not reach
//! the packet's arrival before that, because every link between parts delays packets by at least a
//! window. Packets of one link stay in the order of their offers. Links share nothing at their far
//! ends except the event queue, whose keys give the order. So nothing needs sorting.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use crate::path::packet::Packet;
use crate::path::sack::SackBlocks;

/// A packet on its way to another part.
pub(crate) struct Crossing {
    pub(crate) link: u32,
    pub(crate) packet: Packet,
}

/// Packets for one other part, in the order of their offers.
#[derive(Default)]
pub(crate) struct Outbox {
    pub(crate) packets: Vec<Crossing>,
    /// The SACK blocks of the packets that refer to some, in the same order.
    pub(crate) blocks: Vec<SackBlocks>,
}

impl Outbox {
    pub(crate) fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Appends its content to another outbox.
    pub(crate) fn empty_into(&mut self, other: &mut Self) {
        if other.is_empty() {
            return std::mem::swap(self, other);
        }
        other.packets.append(&mut self.packets);
        other.blocks.append(&mut self.blocks);
    }
}

/// The parts of each link's ends.
pub(crate) struct Map {
    pub(crate) parts: usize,
    /// The part in which each link begins.
    pub(crate) tails: Arc<[u8]>,
    /// The part in which each link ends.
    pub(crate) heads: Arc<[u8]>,
    /// Lower bound, ns, of the time after which an event affects other parts, or both ends of a
    /// connection, unless it was announced.
    pub(crate) lookahead_ns: u64,
}

/// The border of one part.
pub(crate) struct Border {
    pub(crate) map: Arc<Map>,
    /// One per part.
    pub(crate) outboxes: Vec<Outbox>,
    /// Arrival times of packets that concern both ends of a connection, ns.
    announced: BinaryHeap<Reverse<u64>>,
    /// Subflows that will be killed if their timer expires once more.
    pub(crate) doomed: Vec<u32>,
}

impl Border {
    pub(crate) fn new(map: Arc<Map>) -> Self {
        let outboxes = (0..map.parts).map(|_| Outbox::default()).collect();
        Border {
            map,
            outboxes,
            announced: BinaryHeap::new(),
            doomed: vec![],
        }
    }

    /// Whether a link crosses from one part to another.
    pub(crate) fn is_crossed_by(&self, link: usize) -> bool {
        self.map.tails[link] != self.map.heads[link]
    }

    pub(crate) fn announce(&mut self, arrival_ns: u64) {
        self.announced.push(Reverse(arrival_ns));
    }

    /// Removes the first announcement.
    pub(crate) fn take_announced(&mut self) -> Option<u64> {
        self.announced.pop().map(|Reverse(arrival_ns)| arrival_ns)
    }

    /// The first announced arrival from `from_ns` on; `u64::MAX` if none.
    pub(crate) fn next_announced(&mut self, from_ns: u64) -> u64 {
        while let Some(&Reverse(arrival_ns)) = self.announced.peek() {
            if arrival_ns >= from_ns {
                return arrival_ns;
            }
            self.announced.pop();
        }
        u64::MAX
    }

    /// Puts a packet into the outbox of the part in which its link ends.
    pub(crate) fn hand_over(&mut self, link: u32, packet: Packet, blocks: Option<SackBlocks>) {
        let outbox = &mut self.outboxes[usize::from(self.map.heads[link as usize])];
        outbox.packets.push(Crossing { link, packet });
        outbox.blocks.extend(blocks);
    }
}
