//! A log of what happens to each packet on chosen links, in the order in which the links receive
//! packets.

use joulepath_link::{Link, Outcome};

use joulepath_model::units::Nanos;

use crate::path::packet::{CE, CWR, ECE, ECT, Kind, Packet, RETRANSMISSION};
use crate::path::sack::{SackArena, SackBlocks};

/// Class of a packet in a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum PacketClass {
    /// Data that its subflow sends for the first time.
    Data,
    /// Data that its subflow sends again.
    Retransmission,
    /// An ACK.
    Ack,
    /// A packet of a handshake, a request, or another control packet.
    Control,
    /// Cross traffic without acknowledgements.
    Cross,
}

/// What a link does with a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum PacketFate {
    /// It arrives.
    Delivered,
    /// It arrives with a congestion mark.
    Marked,
    /// The queue drops it.
    Dropped,
    /// It is lost on the wire.
    Lost,
    /// The trace ends before the link decides.
    Open,
}

/// The fields of a packet's header. Sequence numbers count segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Kind of the packet; the other fields are 0 for [`Kind::Cross`].
    pub kind: Kind,
    /// Number of the subflow among the successive subflows of its path.
    pub epoch: u8,
    /// Subflow sequence number of data; the next one that an ACK expects; the number of a request;
    /// 1 if MP_PRIO makes the subflow a backup.
    pub ssn: u32,
    /// Data sequence number; the next one that an ACK expects.
    pub dsn: u32,
    /// Payload, bytes.
    pub payload_bytes: u32,
    /// Time of the sender's clock at which the packet left, or which it echoes (RFC 7323).
    pub sent: Nanos,
    /// ECN-capable transport.
    pub ect: bool,
    /// Congestion experienced, before this link.
    pub ce: bool,
    /// ECN echo.
    pub ece: bool,
    /// Congestion window reduced.
    pub cwr: bool,
    /// Place of its SACK blocks in the log.
    pub sack: Option<u32>,
}

impl Header {
    fn of(packet: &Packet, arena: &SackArena, sacks: &mut Vec<SackBlocks>) -> Self {
        let (kind, flags) = (packet.kind(), packet.flags());
        let is_data = matches!(kind, Kind::Data | Kind::Relayed);
        let sack = (kind == Kind::Ack && packet.aux() != 0).then(|| {
            sacks.push(*arena.blocks(packet.aux()));
            sacks.len() as u32 - 1
        });
        let number = |value: u32| if kind == Kind::Cross { 0 } else { value };
        Header {
            kind,
            epoch: packet.epoch(),
            ssn: number(packet.ssn()),
            dsn: number(packet.dsn()),
            payload_bytes: if is_data { packet.aux() } else { 0 },
            sent: Nanos(packet.sent().since_start_ns()),
            ect: flags & ECT != 0,
            ce: flags & CE != 0,
            ece: flags & ECE != 0,
            cwr: flags & CWR != 0,
            sack,
        }
    }
}

/// A packet on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LoggedPacket {
    pub(crate) link: u32,
    /// Index in the engine; `None` for cross traffic.
    pub(crate) subflow: Option<u32>,
    pub(crate) class: PacketClass,
    pub(crate) header: Header,
    pub(crate) fate: PacketFate,
    /// When it reaches the queue, ns.
    pub(crate) offered_ns: u64,
    /// When its last byte leaves the queue for the wire, or when it is dropped, ns. With a managed
    /// queue: its arrival minus the propagation delay, so jitter counts as time in the queue.
    pub(crate) left_ns: u64,
    /// When its last byte arrives or is lost, ns.
    pub(crate) arrives_ns: u64,
}

/// Number of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry(u32);

/// The log.
pub(crate) struct PacketLog {
    /// Whether each link is logged.
    links: Vec<bool>,
    most: usize,
    packets: Vec<LoggedPacket>,
    sacks: Vec<SackBlocks>,
    is_full: bool,
}

impl PacketLog {
    /// A log of at most `most` packets on the links `chosen` of a network with `all` links.
    pub(crate) fn new(all: usize, chosen: &[usize], most: usize) -> Self {
        let mut links = vec![false; all];
        chosen.iter().for_each(|&link| links[link] = true);
        PacketLog {
            links,
            most: most.min(u32::MAX as usize),
            packets: vec![],
            sacks: vec![],
            is_full: false,
        }
    }

    /// Whether a packet is missing because the log was full.
    pub(crate) fn is_full(&self) -> bool {
        self.is_full
    }

    /// The packets in the order of [`LoggedPacket::offered_ns`].
    pub(crate) fn packets(&self) -> &[LoggedPacket] {
        &self.packets
    }

    /// The SACK blocks to which [`Header::sack`] refers.
    pub(crate) fn sacks(&self) -> &[SackBlocks] {
        &self.sacks
    }

    /// Adds a packet that was offered to a link, after the link's decision.
    #[cold]
    pub(crate) fn offered(
        &mut self,
        now_ns: u64,
        number: u32,
        link: &Link,
        packet: &Packet,
        arena: &SackArena,
        outcome: Outcome,
    ) -> Option<Entry> {
        if !self.links[number as usize] {
            return None;
        }
        if self.packets.len() >= self.most {
            self.is_full = true;
            return None;
        }
        let entry = Entry(self.packets.len() as u32);
        let class = match packet.kind() {
            Kind::Data | Kind::Relayed if packet.flags() & RETRANSMISSION != 0 => {
                PacketClass::Retransmission
            }
            Kind::Data | Kind::Relayed => PacketClass::Data,
            Kind::Ack | Kind::RelayAck | Kind::DataAck => PacketClass::Ack,
            Kind::Cross => PacketClass::Cross,
            _ => PacketClass::Control,
        };
        let left_ns = link.last_departure().map_or(u64::MAX, |at| at.0);
        self.packets.push(LoggedPacket {
            link: number,
            subflow: (class != PacketClass::Cross).then(|| packet.subflow()),
            class,
            header: Header::of(packet, arena, &mut self.sacks),
            fate: PacketFate::Open,
            offered_ns: now_ns,
            left_ns,
            arrives_ns: u64::MAX,
        });
        self.decide(now_ns, entry, link, outcome);
        Some(entry)
    }

    /// Completes the entry of a packet that a link held.
    #[cold]
    pub(crate) fn released(&mut self, now_ns: u64, entry: Entry, link: &Link, outcome: Outcome) {
        self.decide(now_ns, entry, link, outcome);
    }

    fn decide(&mut self, now_ns: u64, Entry(at): Entry, link: &Link, outcome: Outcome) {
        let packet = &mut self.packets[at as usize];
        match outcome {
            Outcome::Held(_) => {}
            Outcome::Delivered { at, marked } => {
                packet.fate = if marked {
                    PacketFate::Marked
                } else {
                    PacketFate::Delivered
                };
                packet.arrives_ns = at.0;
                let in_time = at.0.saturating_sub(link.delay().0).max(packet.offered_ns);
                packet.left_ns = if packet.left_ns == u64::MAX {
                    in_time
                } else {
                    packet.left_ns.min(at.0)
                };
            }
            Outcome::QueueDrop => {
                packet.fate = PacketFate::Dropped;
                (packet.left_ns, packet.arrives_ns) = (now_ns, now_ns);
            }
            Outcome::WireLoss => {
                packet.fate = PacketFate::Lost;
                packet.left_ns = if packet.left_ns == u64::MAX {
                    now_ns
                } else {
                    packet.left_ns
                };
                // It would have arrived then; no time of the loss is defined.
                packet.arrives_ns = packet.left_ns.saturating_add(link.delay().0);
            }
        }
    }
}
