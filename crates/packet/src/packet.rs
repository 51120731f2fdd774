//! What travels: half a cache line, copied from ring to ring.

/// A packet on a link.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))] // two in a cache line, none across
pub(crate) struct Packet {
    /// When it reaches the far end of the link that it is on, ns.
    pub(crate) arrival_ns: u64,
    /// Clock of the sender when the data (or the handshake packet) left, echoed by the ACK (RFC 7323).
    pub(crate) sent: Tick,
    /// Index of the subflow; of the source for cross traffic.
    pub(crate) subflow: u32,
    /// Data: subflow sequence number (SSN), in segments. ACK: the next SSN expected.
    pub(crate) ssn: u32,
    /// Data: data sequence number (DSN), in segments. ACK: the next DSN expected.
    pub(crate) dsn: u32,
    /// Payload bytes of data, size on the wire of cross traffic, otherwise a reference to SACK blocks (0: none).
    pub(crate) aux: u32,
    pub(crate) kind: Kind,
    pub(crate) flags: u8,
    /// Links of the route that lie behind it.
    pub(crate) hop: u8,
    /// Which of the subflows that the path has had one after the other.
    pub(crate) epoch: u8,
}

const _: () = assert!(size_of::<Packet>() == 32);

/// What a packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    Data,
    Ack,
    /// From the device; with MP_CAPABLE or MP_JOIN.
    Syn,
    SynAck,
    /// Third packet of the handshake.
    Third,
    /// Fourth packet of an MP_JOIN (RFC 8684, section 3.2).
    Fourth,
    /// A request of the device's application.
    Request,
    /// MP_PRIO: the subflow becomes a backup (number 1) or a regular one (0).
    Priority,
    /// The device closes the subflow.
    Leave,
    /// Data between a TCP relay and the device.
    Relayed,
    /// Acknowledgement of a TCP relay: SSN as in an ACK; in place of the DSN the first SSN beyond its window.
    RelayAck,
    /// DATA_ACK of a device behind a TCP relay: DSN as in an ACK; behind the relay the SSN is the first beyond its window.
    DataAck,
    Cross,
}

/// ECN-capable transport (RFC 3168).
pub(crate) const ECT: u8 = 1;
/// Congestion experienced: set by a link.
pub(crate) const CE: u8 = 2;
/// ECN echo, on ACKs.
pub(crate) const ECE: u8 = 4;
/// Congestion window reduced, on data.
pub(crate) const CWR: u8 = 8;
/// The segment is a retransmission on its subflow.
pub(crate) const RETRANSMISSION: u8 = 16;
/// A RelayAck that only tells the window.
pub(crate) const WINDOW: u8 = 32;

/// A coarse clock that fits a word of the packet: 16 ns, wraps after 68 s, far above any RTT.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tick(u32);

const TICK_SHIFT: u32 = 4;

impl Tick {
    #[inline]
    pub(crate) fn at(now_ns: u64) -> Self {
        Tick((now_ns >> TICK_SHIFT) as u32)
    }

    /// Time since, ns.
    #[inline]
    pub(crate) fn elapsed_ns(self, now_ns: u64) -> u64 {
        u64::from(Tick::at(now_ns).0.wrapping_sub(self.0)) << TICK_SHIFT
    }
}

/// Four cache lines: links that carry little stay small.
const FIRST_LENGTH: usize = 8;

/// A growable ring of packets; never allocates while no longer than it has been.
pub(crate) struct PacketRing {
    slots: Box<[Packet]>,
    head: usize,
    len: usize,
}

const NOTHING: Packet = Packet {
    arrival_ns: 0,
    sent: Tick(0),
    subflow: 0,
    ssn: 0,
    dsn: 0,
    aux: 0,
    kind: Kind::Cross,
    flags: 0,
    hop: 0,
    epoch: 0,
};

impl PacketRing {
    pub(crate) fn new() -> Self {
        PacketRing { slots: vec![NOTHING; FIRST_LENGTH].into_boxed_slice(), head: 0, len: 0 }
    }

    #[inline]
    pub(crate) fn push(&mut self, packet: Packet) {
        if self.len == self.slots.len() {
            self.grow();
        }
        let mask = self.slots.len() - 1;
        self.slots[(self.head + self.len) & mask] = packet;
        self.len += 1;
    }

    /// The oldest packet and the arrival of the one behind it.
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
                ring.push(Packet { ssn: pushed, ..NOTHING });
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
    fn the_tick_measures_across_its_wrap() {
        let sent_ns = (u64::from(u32::MAX) << TICK_SHIFT) - 160;
        assert_eq!(Tick::at(sent_ns).elapsed_ns(sent_ns + 50_000_000), 50_000_000);
    }
}
