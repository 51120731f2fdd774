//! The packets on a link.

use crate::packet::{Kind, Packet, Stamp};

/// Four cache lines: a link that carries little stays small.
const FIRST_LENGTH: usize = 8;

/// A ring of packets that grows. It never allocates while it is no longer than it has been before.
pub(crate) struct PacketRing {
    slots: Box<[Packet]>,
    head: usize,
    len: usize,
}

/// The content of an unused slot.
const NOTHING: Packet = Packet::new(Kind::Cross, 0, 0, Stamp::ZERO);

impl PacketRing {
    pub(crate) fn new() -> Self {
        PacketRing { slots: vec![NOTHING; FIRST_LENGTH].into_boxed_slice(), head: 0, len: 0 }
    }

    /// Puts a packet after those that arrive no later than it. Returns when the first one would have arrived
    /// if that is now the packet itself, and there was one.
    #[inline]
    pub(crate) fn insert(&mut self, packet: Packet) -> Option<u64> {
        if self.len == self.slots.len() {
            self.grow();
        }
        let mask = self.slots.len() - 1;
        let mut at = self.head + self.len;
        self.len += 1;
        while at > self.head && self.slots[(at - 1) & mask].arrival_ns > packet.arrival_ns {
            self.slots[at & mask] = self.slots[(at - 1) & mask];
            at -= 1;
        }
        self.slots[at & mask] = packet;
        let overtakes = at == self.head && self.len > 1;
        overtakes.then(|| self.slots[(at + 1) & mask].arrival_ns)
    }

    /// Takes the oldest packet; returns it with the arrival time of the one after it.
    #[inline]
    pub(crate) fn pop(&mut self) -> (Packet, Option<u64>) {
        debug_assert!(self.len > 0);
        let mask = self.slots.len() - 1;
        let packet = self.slots[self.head & mask];
        self.head = (self.head + 1) & mask;
        self.len -= 1;
        if self.len == 0 {
            self.head = 0;
        }
        (packet, (self.len > 0).then(|| self.slots[self.head & mask].arrival_ns))
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[cold]
    fn grow(&mut self) {
        self.slots.rotate_left(self.head);
        self.head = 0;
        let mut slots = std::mem::take(&mut self.slots).into_vec();
        slots.resize(slots.len() * 2, NOTHING);
        self.slots = slots.into_boxed_slice();
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
                assert_eq!(ring.insert(Packet { ssn: pushed, ..NOTHING }), None);
                pushed += 1;
            }
            for _ in 0..round % 5 {
                assert_eq!(ring.pop().0.ssn, popped);
                popped += 1;
            }
        }
        while !ring.is_empty() {
            assert_eq!(ring.pop().0.ssn, popped);
            popped += 1;
        }
        assert_eq!(popped, pushed);
    }

    #[test]
    fn a_packet_that_arrives_earlier_comes_out_earlier() {
        let mut ring = PacketRing::new();
        let mut insert = |arrival_ns, ssn| ring.insert(Packet { arrival_ns, ssn, ..NOTHING });
        assert_eq!((insert(20, 0), insert(30, 1), insert(25, 2), insert(20, 3)), (None, None, None, None));
        assert_eq!((insert(10, 4), insert(15, 5)), (Some(20), None));
        let mut order = vec![];
        while !ring.is_empty() {
            order.push(ring.pop().0.ssn);
        }
        assert_eq!(order, [4, 5, 0, 3, 2, 1]);
    }
}
