//! The packets on a link.

use joulepath_link::circular::Circular;

use crate::path::packet::{Back, Front, HAS_EVENT, Packet};

/// Four cache lines, so that a link with little traffic stays small.
const FIRST_LENGTH: u32 = 8;

/// A ring of packets that grows. It allocates only while it grows.
pub(crate) struct PacketRing {
    slots: Circular<Packet>,
    /// Index of the first packet.
    head: u32,
    len: u32,
}

impl PacketRing {
    pub(crate) fn new() -> Self {
        PacketRing {
            slots: Circular::new(FIRST_LENGTH),
            head: 0,
            len: 0,
        }
    }

    /// Inserts a packet after all packets that arrive no later. Returns true if it is the first
    /// packet and needs an event.
    #[inline(always)]
    pub(crate) fn insert(&mut self, packet: &Packet) -> bool {
        let (len, at) = (self.len, self.head.wrapping_add(self.len));
        if len == 0 {
            self.slots[at] = *packet;
            self.len = 1;
            return true;
        }
        if self.slots.is_filled_by(len)
            || self.slots[at.wrapping_sub(1)].arrival_ns > packet.arrival_ns
        {
            let (front, back) = packet.apart();
            return self.insert_between(front, back);
        }
        self.slots[at] = *packet;
        self.len = len + 1;
        false
    }

    /// [`Self::insert`] into a full ring, or before a packet that arrives later.
    #[inline(never)]
    fn insert_between(&mut self, front: Front, back: Back) -> bool {
        let packet = Packet::joined(front, back);
        if self.slots.is_filled_by(self.len) {
            self.slots.grow(2 * self.len, self.head);
        }
        let mut at = self.head.wrapping_add(self.len);
        self.len += 1;
        while at != self.head && self.slots[at.wrapping_sub(1)].arrival_ns > packet.arrival_ns {
            self.slots[at] = self.slots[at.wrapping_sub(1)];
            at = at.wrapping_sub(1);
        }
        self.slots[at] = packet;
        let is_first = at == self.head;
        if is_first {
            self.slots[at.wrapping_add(1)].mark(HAS_EVENT);
        }
        is_first
    }

    /// Takes the first packet. Also returns the arrival time of the next packet, if that packet has
    /// no event.
    #[inline(always)]
    pub(crate) fn pop(&mut self) -> (Packet, Option<u64>) {
        debug_assert!(self.len > 0);
        let (first, mut next_ns) = (self.head, None);
        self.len -= 1;
        if self.len == 0 {
            self.head = 0;
        } else {
            self.head = first.wrapping_add(1);
            let next = &mut self.slots[self.head];
            if next.flags() & HAS_EVENT == 0 {
                next_ns = Some(next.arrival_ns);
            } else {
                next.unmark(HAS_EVENT);
            }
        }
        (self.slots[first], next_ns)
    }

    #[cfg(test)]
    fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The first packet; a stale packet if the ring is empty.
    #[inline(always)]
    pub(crate) fn first(&self) -> &Packet {
        self.after_first(0)
    }

    /// The packet `places` after the first; a stale packet if the ring has fewer.
    #[inline(always)]
    pub(crate) fn after_first(&self, places: u32) -> &Packet {
        &self.slots[self.head.wrapping_add(places)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_keeps_its_order_while_it_grows() {
        let mut ring = PacketRing::new();
        let (mut pushed, mut popped) = (0, 0);
        for round in 0..200 {
            for _ in 0..=round % 7 {
                assert_eq!(
                    ring.insert(&Packet::default().numbered(pushed, 0)),
                    pushed == popped
                );
                pushed += 1;
            }
            for _ in 0..round % 5 {
                assert_eq!(ring.pop().0.ssn(), popped);
                popped += 1;
            }
        }
        while !ring.is_empty() {
            assert_eq!(ring.pop().0.ssn(), popped);
            popped += 1;
        }
        assert_eq!(popped, pushed);
    }

    #[test]
    fn packets_leave_a_ring_in_the_order_of_arrival() {
        let mut ring = PacketRing::new();
        let mut insert = |arrival_ns, ssn| {
            let mut packet = Packet::default().numbered(ssn, 0);
            packet.arrival_ns = arrival_ns;
            ring.insert(&packet)
        };
        assert_eq!(
            [insert(20, 0), insert(30, 1), insert(25, 2), insert(20, 3)],
            [true, false, false, false]
        );
        // The first packet was overtaken; its event is pending.
        assert_eq!([insert(10, 4), insert(15, 5)], [true, false]);
        let mut order = vec![];
        while !ring.is_empty() {
            let (packet, next_ns) = ring.pop();
            assert_eq!(packet.flags(), 0);
            order.push((packet.ssn(), next_ns));
        }
        let events = [Some(15), None, Some(20), Some(25), Some(30), None];
        assert_eq!(
            order,
            std::array::from_fn::<_, 6, _>(|i| ([4, 5, 0, 3, 2, 1][i], events[i]))
        );
    }
}
