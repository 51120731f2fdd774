//! Packets that a link keeps because their fate is unknown when they are offered, and FIFO queues
//! of them. Memory is allocated only when the number of packets reaches a new maximum.

use crate::ecn::Ecn;

/// No packet.
pub(crate) const NONE: u32 = u32::MAX;

/// One packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot {
    /// Bytes, headers included.
    pub(crate) size: u32,
    pub(crate) ecn: Ecn,
    /// True if it is marked congestion experienced.
    pub(crate) marked: bool,
    /// Arrival at the queue, ns.
    pub(crate) entered_ns: u64,
    /// The next packet in its queue, or in the list of unused slots.
    next: u32,
}

/// All packets of one link. A packet keeps its number until it has left the link.
#[derive(Clone, Debug)]
pub(crate) struct Packets {
    slots: Vec<Slot>,
    /// First unused slot.
    free: u32,
    /// The largest packet so far, bytes.
    largest: u32,
}

/// A FIFO queue of packets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fifo {
    first: u32,
    last: u32,
    /// Number of packets.
    pub(crate) packets: u32,
    /// Their bytes.
    pub(crate) bytes: u64,
}

impl Packets {
    pub(crate) const fn new() -> Self {
        Packets {
            slots: vec![],
            free: NONE,
            largest: 0,
        }
    }

    /// Adds a packet that arrives at `now`, and returns its number.
    pub(crate) fn add(&mut self, now: u64, size: u32, ecn: Ecn, marked: bool) -> u32 {
        self.largest = self.largest.max(size);
        let slot = Slot {
            size,
            ecn,
            marked,
            entered_ns: now,
            next: NONE,
        };
        if self.free == NONE {
            self.slots.push(slot);
            return self.slots.len() as u32 - 1;
        }
        let number = self.free;
        self.free = std::mem::replace(&mut self.slots[number as usize], slot).next;
        number
    }

    /// Removes a packet that has left the link. Its number can be reused.
    pub(crate) fn remove(&mut self, number: u32) -> Slot {
        let slot = &mut self.slots[number as usize];
        slot.next = std::mem::replace(&mut self.free, number);
        *slot
    }

    pub(crate) fn get(&self, number: u32) -> &Slot {
        &self.slots[number as usize]
    }

    /// Marks a packet if it is ECN-capable. Returns true if it is.
    pub(crate) fn mark(&mut self, number: u32) -> bool {
        let slot = &mut self.slots[number as usize];
        slot.marked |= slot.ecn.is_capable();
        slot.ecn.is_capable()
    }

    /// The largest packet so far, bytes.
    pub(crate) fn largest(&self) -> u32 {
        self.largest
    }
}

impl Fifo {
    pub(crate) const EMPTY: Self = Fifo {
        first: NONE,
        last: NONE,
        packets: 0,
        bytes: 0,
    };

    pub(crate) fn push(&mut self, number: u32, all: &mut Packets) {
        if self.first == NONE {
            self.first = number;
        } else {
            all.slots[self.last as usize].next = number;
        }
        self.last = number;
        self.packets += 1;
        self.bytes += u64::from(all.slots[number as usize].size);
    }

    /// The packet that leaves next.
    pub(crate) fn first<'a>(&self, all: &'a Packets) -> Option<&'a Slot> {
        (self.first != NONE).then(|| all.get(self.first))
    }

    pub(crate) fn pop(&mut self, all: &mut Packets) -> Option<u32> {
        let number = self.first;
        if number == NONE {
            return None;
        }
        let slot = &mut all.slots[number as usize];
        self.first = std::mem::replace(&mut slot.next, NONE);
        self.packets -= 1;
        self.bytes -= u64::from(slot.size);
        Some(number)
    }
}
