//! What one part of a network has for the others: packets that leave it, and what all of them must know
//! beforehand.
//!
//! ```text
//!   part A   link ──► hand_over ──► outbox ══ mail ══► Network::enter ──► wire   part B
//! ```
//! A packet that crosses is put aside until part A lets the others know how far it is. Part B does not get
//! to its arrival before that, because the delay of any link between parts is at least a window. Its
//! order among the packets of its link is that in which they were offered; links do not share anything at
//! their far ends but the event queue, whose order is that of its keys. So nothing has to be sorted.

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

/// Packets for one other part, in the order in which they were offered to their links.
#[derive(Default)]
pub(crate) struct Outbox {
    pub(crate) packets: Vec<Crossing>,
    /// The SACK blocks of those packets that refer to some, in the same order.
    pub(crate) blocks: Vec<SackBlocks>,
}

impl Outbox {
    pub(crate) fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Puts what is in it behind what is in another one.
    pub(crate) fn empty_into(&mut self, other: &mut Self) {
        if other.is_empty() {
            return std::mem::swap(self, other);
        }
        other.packets.append(&mut self.packets);
        other.blocks.append(&mut self.blocks);
    }
}

/// Which parts links belong to.
pub(crate) struct Map {
    /// Number of parts.
    pub(crate) parts: usize,
    /// The part in which each link begins.
    pub(crate) tails: Arc<[u8]>,
    /// The part in which it ends.
    pub(crate) heads: Arc<[u8]>,
    /// What happens at an instant concerns other parts, or both ends of a connection, at least so much later
    /// unless it was known before, ns.
    pub(crate) lookahead_ns: u64,
}

/// The border of one part.
pub(crate) struct Border {
    pub(crate) map: Arc<Map>,
    /// For each part.
    pub(crate) outboxes: Vec<Outbox>,
    /// When packets will arrive that concern both ends of a connection, ns.
    announced: BinaryHeap<Reverse<u64>>,
    /// Subflows that will be given up if their timer expires once more.
    pub(crate) doomed: Vec<u32>,
}

impl Border {
    pub(crate) fn new(map: Arc<Map>) -> Self {
        let outboxes = (0..map.parts).map(|_| Outbox::default()).collect();
        Border { map, outboxes, announced: BinaryHeap::new(), doomed: vec![] }
    }

    /// Whether a link begins in one part and ends in another one.
    pub(crate) fn is_crossed_by(&self, link: usize) -> bool {
        self.map.tails[link] != self.map.heads[link]
    }

    pub(crate) fn announce(&mut self, arrival_ns: u64) {
        self.announced.push(Reverse(arrival_ns));
    }

    /// Takes back the first announcement.
    pub(crate) fn take_announced(&mut self) -> Option<u64> {
        self.announced.pop().map(|Reverse(arrival_ns)| arrival_ns)
    }

    /// The first arrival from `from_ns` on that was announced; `u64::MAX` if there is none.
    pub(crate) fn next_announced(&mut self, from_ns: u64) -> u64 {
        while let Some(&Reverse(arrival_ns)) = self.announced.peek() {
            if arrival_ns >= from_ns {
                return arrival_ns;
            }
            self.announced.pop();
        }
        u64::MAX
    }

    /// Puts a packet aside for the part in which its link ends.
    pub(crate) fn hand_over(&mut self, link: u32, packet: Packet, blocks: Option<SackBlocks>) {
        let outbox = &mut self.outboxes[usize::from(self.map.heads[link as usize])];
        outbox.packets.push(Crossing { link, packet });
        outbox.blocks.extend(blocks);
    }
}
