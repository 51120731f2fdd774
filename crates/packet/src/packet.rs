//! Packets. One is half a cache line and is copied from ring to ring.

/// A packet on a link.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))] // two in a cache line, none across
pub(crate) struct Packet {
    /// When it reaches the far end of the link that it is on, ns.
    pub(crate) arrival_ns: u64,
    /// The sender's clock when the data (or the packet of a handshake) left. The ACK echoes it (RFC 7323).
    pub(crate) sent: Tick,
    /// Index of the subflow; for cross traffic, of the source.
    pub(crate) subflow: u32,
    /// Data: subflow sequence number (SSN), in segments. ACK: the next SSN expected.
    pub(crate) ssn: u32,
    /// Data: data sequence number (DSN), in segments. ACK: the next DSN expected.
    pub(crate) dsn: u32,
    /// Data: payload, bytes. Cross traffic: size on the wire, bytes. Other packets: a reference to SACK
    /// blocks, 0 if there are none.
    pub(crate) aux: u32,
    pub(crate) kind: Kind,
    pub(crate) flags: u8,
    /// Number of hops of its route that it has passed.
    pub(crate) hop: u8,
    /// Which of the subflows that the path has had, one after the other, the packet belongs to.
    pub(crate) epoch: u8,
}

const _: () = assert!(size_of::<Packet>() == 32);

impl Packet {
    /// A packet at the start of its route, without numbers and payload. The far end echoes `sent`.
    #[inline]
    pub(crate) const fn new(kind: Kind, subflow: u32, epoch: u8, sent: Tick) -> Self {
        Packet { arrival_ns: 0, sent, subflow, ssn: 0, dsn: 0, aux: 0, kind, flags: 0, hop: 0, epoch }
    }
}

/// What a packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    Data,
    Ack,
    /// First packet of a handshake, from the device, with MP_CAPABLE or MP_JOIN.
    Syn,
    SynAck,
    /// Third packet of a handshake.
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
    /// Acknowledgement of a TCP relay: the SSN is as in an ACK; in place of the DSN it has the first SSN
    /// beyond the relay's window.
    RelayAck,
    /// DATA_ACK of a device that gets its data from a TCP relay: the DSN is as in an ACK. When the relay has
    /// passed it on, its SSN is the first one beyond the relay's window.
    DataAck,
    /// Traffic that does not react; it has no subflow.
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
/// The RelayAck only tells the window.
pub(crate) const WINDOW: u8 = 32;

/// A coarse clock that fits into a word of the packet. A tick is 16 ns; the clock wraps after 68 s, far above
/// any RTT.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tick(u32);

const TICK_SHIFT: u32 = 4;

impl Tick {
    pub(crate) const ZERO: Self = Tick(0);

    #[inline]
    pub(crate) fn at(now_ns: u64) -> Self {
        Tick((now_ns >> TICK_SHIFT) as u32)
    }

    /// Time since this tick, ns.
    #[inline]
    pub(crate) fn elapsed_ns(self, now_ns: u64) -> u64 {
        u64::from(Tick::at(now_ns).0.wrapping_sub(self.0)) << TICK_SHIFT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tick_measures_across_its_wrap() {
        let sent_ns = (u64::from(u32::MAX) << TICK_SHIFT) - 160;
        assert_eq!(Tick::at(sent_ns).elapsed_ns(sent_ns + 50_000_000), 50_000_000);
    }
}
