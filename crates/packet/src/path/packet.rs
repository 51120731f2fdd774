//! Packets: half a cache line each, copied from ring to ring.

use joulepath_link::Ecn;

use crate::event::{MAX_SOURCES, MAX_TIME_NS, SOURCE_BITS};

/// A packet on a link: four words, so that it is read, changed and written in as many instructions.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))] // two per cache line, none across two
pub(crate) struct Packet {
    /// When it reaches the far end of its present link, ns.
    pub(crate) arrival_ns: u64,
    /// Departure time and subflow: see [`Self::sent`] and [`Self::subflow`].
    origin: Origin,
    /// SSN (low 32 bits) and DSN (high 32 bits).
    numbers: u64,
    /// From the low bits: [`Self::kind`], [`Self::flags`], [`Self::hop`] and [`Self::epoch`], 8
    /// bits each; [`Self::aux`], 32 bits.
    rest: u64,
}

const _: () = assert!(size_of::<Packet>() == 32);

/// First bit of each field in [`Packet::rest`].
const FLAGS_AT: u32 = 8;
const HOP_AT: u32 = 16;
const EPOCH_AT: u32 = 24;
const AUX_AT: u32 = 32;

impl Packet {
    /// A packet at the start of its route, without numbers and payload. The far end echoes `sent`.
    #[inline(always)]
    pub(crate) const fn new(kind: Kind, subflow: u32, epoch: u8, sent: Stamp) -> Self {
        let rest = kind as u64 | (epoch as u64) << EPOCH_AT;
        Packet {
            arrival_ns: 0,
            origin: Origin::new(sent, subflow),
            numbers: 0,
            rest,
        }
    }

    /// The ACK for this segment, without SACK blocks and flags.
    #[inline(always)]
    pub(crate) const fn answer(&self, ssn: u32, dsn: u32) -> Self {
        let rest = Kind::Ack as u64 | self.rest & (0xff << EPOCH_AT);
        Packet {
            arrival_ns: 0,
            rest,
            ..*self
        }
        .numbered(ssn, dsn)
    }

    /// This ACK of a relay as an ACK of the receiver.
    pub(crate) const fn as_ack(self, dsn: u32) -> Self {
        let rest = self.rest & !0xff | Kind::Ack as u64;
        Packet { rest, ..self }.numbered(self.ssn(), dsn)
    }

    /// The same packet with this SSN and DSN.
    #[inline(always)]
    pub(crate) const fn numbered(self, ssn: u32, dsn: u32) -> Self {
        Packet {
            numbers: ssn as u64 | (dsn as u64) << 32,
            ..self
        }
    }

    /// The same packet with another [`Self::aux`].
    #[inline(always)]
    pub(crate) const fn with_aux(self, aux: u32) -> Self {
        Packet {
            rest: self.rest & (u64::MAX >> AUX_AT) | (aux as u64) << AUX_AT,
            ..self
        }
    }

    /// The same packet with these flags added.
    #[inline(always)]
    pub(crate) const fn with_flags(self, flags: u8) -> Self {
        Packet {
            rest: self.rest | (flags as u64) << FLAGS_AT,
            ..self
        }
    }

    /// The same packet one hop later.
    #[inline(always)]
    pub(crate) const fn after_hop(self) -> Self {
        Packet {
            rest: self.rest + (1 << HOP_AT),
            ..self
        }
    }

    #[inline(always)]
    pub(crate) const fn mark(&mut self, flags: u8) {
        self.rest |= (flags as u64) << FLAGS_AT;
    }

    /// Clears flags.
    #[inline(always)]
    pub(crate) const fn unmark(&mut self, flags: u8) {
        self.rest &= !((flags as u64) << FLAGS_AT);
    }

    /// The sender's clock when the data (or the packet of a handshake) left. The ACK echoes it (RFC
    /// 7323).
    #[inline(always)]
    pub(crate) const fn sent(&self) -> Stamp {
        self.origin.sent()
    }

    /// Index of the subflow; for cross traffic, of the source.
    #[inline(always)]
    pub(crate) const fn subflow(&self) -> u32 {
        self.origin.subflow()
    }

    /// Data: subflow sequence number (SSN), in segments. ACK: the next SSN expected.
    #[inline(always)]
    pub(crate) const fn ssn(&self) -> u32 {
        self.numbers as u32
    }

    /// Data: data sequence number (DSN), in segments. ACK: the next DSN expected.
    #[inline(always)]
    pub(crate) const fn dsn(&self) -> u32 {
        (self.numbers >> 32) as u32
    }

    /// Data: payload, bytes. Cross traffic: size on the wire, bytes. Other packets: reference to
    /// SACK blocks (0: none).
    #[inline(always)]
    pub(crate) const fn aux(&self) -> u32 {
        (self.rest >> AUX_AT) as u32
    }

    /// Whether it is on the last link of its route.
    #[inline(always)]
    pub(crate) const fn arrives(&self) -> bool {
        self.rest & (ARRIVES as u64) << FLAGS_AT != 0
    }

    /// The pattern of a usual packet of this epoch: a segment without CE, or an ACK without ECE and
    /// SACK blocks.
    pub(crate) const fn usual(epoch: u8) -> Usual {
        Usual((epoch as u64) << EPOCH_AT)
    }

    #[inline(always)]
    pub(crate) const fn is_usual_segment(&self, usual: Usual) -> bool {
        self.rest & (0xff << EPOCH_AT | (CE as u64) << FLAGS_AT) == usual.0
    }

    #[inline(always)]
    pub(crate) const fn is_usual_ack(&self, usual: Usual) -> bool {
        self.rest & (0xff << EPOCH_AT | (ECE as u64) << FLAGS_AT | u64::MAX << AUX_AT) == usual.0
    }

    #[inline(always)]
    pub(crate) const fn kind(&self) -> Kind {
        Kind::of(self.rest as u8)
    }

    /// `true` for an ACK, `false` for data, `None` for other kinds. Branch-free, because a branch
    /// would be mispredicted where both travel in both directions.
    #[inline(always)]
    pub(crate) const fn is_ack_not_data(&self) -> Option<bool> {
        const _: () = assert!(Kind::Data as u8 == 0 && Kind::Ack as u8 == 1);
        if self.rest as u8 <= 1 {
            Some(self.rest & 1 != 0)
        } else {
            None
        }
    }

    #[inline(always)]
    pub(crate) const fn heading(&self) -> Heading {
        Heading {
            subflow: self.subflow(),
            bits: self.rest as u32,
        }
    }

    #[inline(always)]
    pub(crate) const fn flags(&self) -> u8 {
        (self.rest >> FLAGS_AT) as u8
    }

    /// The ECN field with which it left its host.
    pub(crate) fn ecn(&self) -> Ecn {
        match (self.flags() & ECT != 0, self.flags() & L4S != 0) {
            (false, _) => Ecn::NotEct,
            (true, false) => Ecn::Ect0,
            (true, true) => Ecn::Ect1,
        }
    }

    /// Number of hops already passed.
    #[inline(always)]
    pub(crate) const fn hop(&self) -> u8 {
        (self.rest >> HOP_AT) as u8
    }

    /// Number of the subflow, among the successive subflows of the path, that sent the packet.
    #[inline(always)]
    pub(crate) const fn epoch(&self) -> u8 {
        (self.rest >> EPOCH_AT) as u8
    }

    /// The packet as two pairs of words, which are passed in registers. Out-of-line functions take
    /// a packet in this form: a reference would force the caller to keep it in memory.
    #[inline(always)]
    pub(crate) const fn apart(self) -> (Front, Back) {
        ((self.arrival_ns, self.origin.0), (self.numbers, self.rest))
    }

    /// The inverse of [`Self::apart`].
    #[inline(always)]
    pub(crate) const fn joined((arrival_ns, origin): Front, (numbers, rest): Back) -> Self {
        Packet {
            arrival_ns,
            origin: Origin(origin),
            numbers,
            rest,
        }
    }
}

/// The content of an unused slot.
impl Default for Packet {
    fn default() -> Self {
        Packet::new(Kind::Cross, 0, 0, Stamp::ZERO)
    }
}

/// The bits that all usual packets of a subflow share, so that one comparison decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Usual(u64);

impl Usual {
    /// Matches no packet.
    pub(crate) const NONE: Self = Usual(u64::MAX);
}

/// The fields of a packet that determine its next hop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Heading {
    pub(crate) subflow: u32,
    /// The low bits of [`Packet::rest`].
    bits: u32,
}

impl Heading {
    /// Of no packet.
    pub(crate) const NONE: Self = Heading {
        subflow: 0,
        bits: 0,
    };

    /// Whether it is on the last link of its route.
    #[inline(always)]
    pub(crate) const fn arrives(self) -> bool {
        self.bits & (ARRIVES as u32) << FLAGS_AT != 0
    }

    /// Whether it is an ACK; valid only for a segment or an ACK of a subflow.
    #[inline(always)]
    pub(crate) const fn is_ack(self) -> bool {
        self.bits & 1 != 0
    }

    /// Number of hops passed at the end of its present link.
    #[inline(always)]
    pub(crate) const fn hops(self) -> u8 {
        ((self.bits >> HOP_AT) as u8).wrapping_add(1)
    }
}

/// The first and the last two words of a packet: see [`Packet::apart`].
pub(crate) type Front = (u64, u64);
pub(crate) type Back = (u64, u64);

/// Kind of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// A segment.
    Data,
    /// An ACK without data.
    Ack,
    /// First packet of a handshake, from the device, with MP_CAPABLE or MP_JOIN.
    Syn,
    /// The answer to a [`Kind::Syn`].
    SynAck,
    /// Third packet of a handshake.
    Third,
    /// Fourth packet of an MP_JOIN (RFC 8684, section 3.2).
    Fourth,
    /// A request of the device's application.
    Request,
    /// MP_PRIO: the subflow becomes a backup (SSN 1) or regular (SSN 0).
    Priority,
    /// The device closes the subflow.
    Leave,
    /// Data between a TCP relay and the device.
    Relayed,
    /// ACK of a TCP relay: the SSN is as in an ACK; the DSN field holds the first SSN beyond the
    /// relay's window.
    RelayAck,
    /// DATA_ACK of a device behind a TCP relay: the DSN is as in an ACK. After the relay forwards
    /// it, its SSN is the first one beyond the relay's window.
    DataAck,
    /// Unresponsive cross traffic; it has no subflow.
    Cross,
}

impl Kind {
    /// The kind with this number.
    #[inline(always)]
    const fn of(number: u8) -> Self {
        match number {
            0 => Kind::Data,
            1 => Kind::Ack,
            2 => Kind::Syn,
            3 => Kind::SynAck,
            4 => Kind::Third,
            5 => Kind::Fourth,
            6 => Kind::Request,
            7 => Kind::Priority,
            8 => Kind::Leave,
            9 => Kind::Relayed,
            10 => Kind::RelayAck,
            11 => Kind::DataAck,
            _ => Kind::Cross,
        }
    }
}

/// ECN-capable transport (RFC 3168).
pub(crate) const ECT: u8 = 1;
/// Congestion experienced: set by a link (RFC 3168).
pub(crate) const CE: u8 = 2;
/// ECN echo, on ACKs.
pub(crate) const ECE: u8 = 4;
/// Congestion window reduced, on data.
pub(crate) const CWR: u8 = 8;
/// The segment is a retransmission on its subflow.
pub(crate) const RETRANSMISSION: u8 = 16;
/// The RelayAck only updates the window.
pub(crate) const WINDOW: u8 = 32;
/// The ECN-capable segment is L4S: ECT(1) (RFC 9331).
pub(crate) const L4S: u8 = WINDOW;

/// The packet is on the last link of its route.
pub(crate) const ARRIVES: u8 = 64;
/// The packet was overtaken while it was the first on its link: its event is already pending.
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

/// Departure time and subflow in one word, with the bits of an event key: a subflow's index is less
/// than [`MAX_SOURCES`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin(u64);

impl Origin {
    #[inline(always)]
    const fn new(sent: Stamp, subflow: u32) -> Self {
        debug_assert!(sent.0 <= MAX_TIME_NS && (subflow as usize) < MAX_SOURCES);
        Origin((sent.0 << SOURCE_BITS) | subflow as u64)
    }

    #[inline(always)]
    const fn sent(self) -> Stamp {
        Stamp(self.0 >> SOURCE_BITS)
    }

    #[inline(always)]
    const fn subflow(self) -> u32 {
        (self.0 & (MAX_SOURCES as u64 - 1)) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The longest run lasts 19.5 hours.
    #[test]
    fn a_packet_holds_any_send_time_and_any_subflow() {
        for sent_ns in [0, 1, 68_719_476_736, 3_600_000_000_000, MAX_TIME_NS] {
            for subflow in [0, 7, MAX_SOURCES as u32 - 1] {
                let packet = Packet::new(Kind::Ack, subflow, 0, Stamp::at(sent_ns));
                assert_eq!(packet.sent().elapsed_ns(MAX_TIME_NS), MAX_TIME_NS - sent_ns);
                assert_eq!(packet.subflow(), subflow);
            }
        }
    }
}
