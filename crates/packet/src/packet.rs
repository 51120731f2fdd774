//! Packets. One is half a cache line and is copied from ring to ring.

use crate::event::{MAX_SOURCES, MAX_TIME_NS, SOURCE_BITS};

/// A packet on a link.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))] // two in a cache line, none across
pub(crate) struct Packet {
    /// When it reaches the far end of the link that it is on, ns.
    pub(crate) arrival_ns: u64,
    /// When it left and whose it is: see [`Self::sent`] and [`Self::subflow`].
    pub(crate) origin: Origin,
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
    pub(crate) const fn new(kind: Kind, subflow: u32, epoch: u8, sent: Stamp) -> Self {
        let origin = Origin::new(sent, subflow);
        Packet { arrival_ns: 0, origin, ssn: 0, dsn: 0, aux: 0, kind, flags: 0, hop: 0, epoch }
    }

    /// The sender's clock when the data (or the packet of a handshake) left. The ACK echoes it (RFC 7323).
    #[inline]
    pub(crate) fn sent(&self) -> Stamp {
        self.origin.sent()
    }

    /// Index of the subflow; for cross traffic, of the source.
    #[inline]
    pub(crate) fn subflow(&self) -> u32 {
        self.origin.subflow()
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

/// The packet is on the last link of its route.
pub(crate) const ARRIVES: u8 = 64;
/// The packet was overtaken when it was the first one on its link: its event is pending already.
pub(crate) const HAS_EVENT: u8 = 128;

/// An instant of the sender's clock: simulated time, exact to the nanosecond.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Stamp(u64);

impl Stamp {
    pub(crate) const ZERO: Self = Stamp(0);

    #[inline]
    pub(crate) const fn at(now_ns: u64) -> Self {
        Stamp(now_ns)
    }

    /// Time from the start of the run until this instant, ns.
    #[inline]
    pub(crate) const fn since_start_ns(self) -> u64 {
        self.0
    }

    /// Time since this instant, ns.
    #[inline]
    pub(crate) const fn elapsed_ns(self, now_ns: u64) -> u64 {
        now_ns - self.0
    }
}

/// When a packet left and whose it is, in one word: the time has as many bits as that of an event, and a
/// subflow, which has event sources, needs no more bits than those.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin(u64);

impl Origin {
    #[inline]
    const fn new(sent: Stamp, subflow: u32) -> Self {
        debug_assert!(sent.0 <= MAX_TIME_NS && (subflow as usize) < MAX_SOURCES);
        Origin((sent.0 << SOURCE_BITS) | subflow as u64)
    }

    #[inline]
    const fn sent(self) -> Stamp {
        Stamp(self.0 >> SOURCE_BITS)
    }

    #[inline]
    const fn subflow(self) -> u32 {
        (self.0 & (MAX_SOURCES as u64 - 1)) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The longest run has 19.5 hours.
    #[test]
    fn a_packet_tells_any_instant_of_a_run_and_any_subflow() {
        for sent_ns in [0, 1, 68_719_476_736, 3_600_000_000_000, MAX_TIME_NS] {
            for subflow in [0, 7, MAX_SOURCES as u32 - 1] {
                let packet = Packet::new(Kind::Ack, subflow, 0, Stamp::at(sent_ns));
                assert_eq!(packet.sent().elapsed_ns(MAX_TIME_NS), MAX_TIME_NS - sent_ns);
                assert_eq!(packet.subflow(), subflow);
            }
        }
    }
}
