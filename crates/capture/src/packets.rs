//! The packets of one end, in the order in which it sees them.

use joulepath_model::scenario::PathIndex;
use joulepath_model::units::Nanos;
use joulepath_packet::{PacketFate, PacketKind, TracedPacket};

use crate::End;
use crate::capture::Capture;
use crate::flows::{Subflow, arrival, from, leaves, other, stamp};
use crate::keys::{KEYS, hmac, initial_dsn, token};
use crate::segment::{Options, Segment, subtype};

/// Port of the server.
const SERVER_PORT: u16 = 5201;
/// Port of the client's first subflow.
const CLIENT_PORT: u16 = 49_152;
const SERVER: [u8; 4] = [198, 51, 100, 1];
/// Initial sequence numbers: client, server.
const INITIAL: [u32; 2] = [1_000_000, 2_000_000];
/// Flags of MP_CAPABLE: HMAC-SHA256, no checksums.
const CAPABLE_FLAGS: u8 = 1;
/// Flags of a DSS: DATA_ACK of 4 bytes; with a mapping whose DSN has 8.
const DATA_ACK: u8 = 1;
const MAPPING: u8 = DATA_ACK | 4 | 8;
/// ECN field: ECT(0), CE.
const ECT_0: u8 = 2;
const CE: u8 = 3;

/// A packet that one end sends or receives.
pub(crate) struct Seen<'a> {
    pub(crate) at: Nanos,
    pub(crate) path: PathIndex,
    pub(crate) packet: &'a TracedPacket,
    pub(crate) is_outgoing: bool,
    pub(crate) segment: Segment,
    /// Number of the subflow among those of its path.
    pub(crate) epoch: u8,
}

impl Seen<'_> {
    /// What headers do not say.
    pub(crate) fn comment(&self) -> Option<String> {
        let header = &self.packet.header;
        match (self.is_outgoing, self.packet.fate) {
            (true, PacketFate::Dropped) => Some("the queue drops it".into()),
            (true, PacketFate::Lost) => Some("lost on the link".into()),
            _ if header.kind == PacketKind::Request => Some(format!("request {}", header.ssn)),
            _ => None,
        }
    }
}

/// The least shift with which the header's window holds this buffer (RFC 7323).
fn scale(buffer_bytes: u64) -> u8 {
    (0..14)
        .find(|shift| buffer_bytes >> shift <= u64::from(u16::MAX))
        .unwrap_or(14)
}

impl Capture<'_> {
    /// The packets at `end`, in the order in which it sees them.
    pub(crate) fn packets(&self, end: End) -> Vec<Seen<'_>> {
        let packets = self.trace.packets.iter().enumerate();
        let mut all: Vec<Seen> = packets
            .filter_map(|(number, packet)| self.seen(number, packet, end))
            .collect();
        all.sort_by_key(|seen| seen.at);
        let mut numbers = [0_u16; 2];
        for seen in &mut all {
            let number = &mut numbers[usize::from(seen.is_outgoing)];
            (seen.segment.number, *number) = (*number, number.wrapping_add(1));
        }
        all
    }

    fn seen<'a>(&self, number: usize, packet: &'a TracedPacket, end: End) -> Option<Seen<'a>> {
        let (epoch, subflow) = self.flows.of(packet)?;
        let path = subflow.path;
        let from = from(packet.header.kind, self.flows.sender);
        let is_outgoing = from == end;
        let at = if is_outgoing {
            leaves(self.scenario, packet, path, from).then_some(packet.offered)
        } else {
            arrival(self.scenario, packet, path, from)
        }?;
        let mut segment = self.segment(packet, subflow, from, self.flows.left[number]);
        let marked = !is_outgoing && packet.fate == PacketFate::Marked;
        if packet.header.ce || marked {
            segment.ecn = CE;
        }
        segment.ends = [ends(path, epoch, from), ends(path, epoch, other(from))];
        Some(Seen {
            at,
            path,
            packet,
            is_outgoing,
            segment,
            epoch,
        })
    }

    /// The segment that `from` sent at `left`, without addresses.
    fn segment(&self, packet: &TracedPacket, subflow: &Subflow, from: End, left: Nanos) -> Segment {
        let (kind, header) = (packet.header.kind, &packet.header);
        let receives = from != self.flows.sender;
        let mut options = Options::default();
        let echo = match kind {
            PacketKind::Ack => stamp(other(from), header.sent),
            PacketKind::Syn => 0,
            _ => subflow.echo(from, left),
        };
        let stamps = [stamp(from, left), echo];
        let is_first = matches!(kind, PacketKind::Syn | PacketKind::SynAck);
        if is_first {
            options.opening(self.scenario.transport.mss.0 as u16, self.scale(), stamps);
        } else {
            options.timestamps(stamps);
        }
        let ssn = match kind {
            PacketKind::Data => header.ssn,
            _ => subflow.next.at(left).unwrap_or_default(),
        };
        // The receiver sends no data.
        let own = if receives { 0 } else { ssn };
        let fin_passed = u32::from(
            from == End::Client
                && kind != PacketKind::Leave
                && subflow.fin[0].is_some_and(|at| at < left),
        );
        let expected = match kind {
            PacketKind::Ack => header.ssn,
            _ => subflow.expected.at(left).unwrap_or_default(),
        };
        let fin_came = from == End::Server && subflow.fin[1].is_some_and(|at| at <= left);
        let theirs = if receives { expected } else { 0 };
        let sequence = |end: End, ssn| INITIAL[end as usize].wrapping_add(subflow.place(ssn));
        self.mptcp(packet, subflow, from, left, &mut options);
        if let Some(sack) = header.sack.and_then(|at| self.trace.sacks.get(at as usize)) {
            let again = sack.duplicate.map(|ssn| (ssn, ssn + 1));
            let blocks: Vec<_> = again
                .into_iter()
                .chain(sack.ranges.iter().copied())
                .map(|(left, right)| (sequence(other(from), left), sequence(other(from), right)))
                .collect();
            options.sack(&blocks);
        }
        let negotiates = is_first && self.scenario.transport.ecn;
        Segment {
            seq: match is_first {
                true => INITIAL[from as usize],
                false => sequence(from, own).wrapping_add(fin_passed),
            },
            ack: (kind != PacketKind::Syn)
                .then(|| sequence(other(from), theirs).wrapping_add(u32::from(fin_came))),
            syn: is_first,
            fin: kind == PacketKind::Leave,
            push: u64::from(header.payload_bytes) < self.scenario.transport.mss.0
                && header.payload_bytes > 0,
            ece: header.ece || negotiates,
            cwr: header.cwr || negotiates && kind == PacketKind::Syn,
            ecn: if header.ect { ECT_0 } else { 0 },
            window: self.window(receives, is_first, left),
            options,
            payload_bytes: header.payload_bytes,
            ..Segment::default()
        }
    }

    fn scale(&self) -> u8 {
        scale(self.scenario.connections[0].receive_buffer.0)
    }

    /// The window field: the receive buffer of the end that receives data.
    fn window(&self, receives: bool, is_first: bool, at: Nanos) -> u16 {
        if !receives {
            return u16::MAX;
        }
        let trace = self.trace;
        let sample = trace.times.partition_point(|&time| time <= at);
        let grown = trace.receive_window.get(sample.saturating_sub(1));
        let grown = grown.or(trace.receive_window.last());
        let bytes = grown.map_or(self.scenario.connections[0].receive_buffer.0, |&segments| {
            u64::from(segments) * self.scenario.transport.mss.0
        });
        let shift = if is_first { 0 } else { self.scale() };
        u16::try_from(bytes >> shift).unwrap_or(u16::MAX)
    }

    /// Adds the MPTCP option (RFC 8684, section 3).
    fn mptcp(
        &self,
        packet: &TracedPacket,
        subflow: &Subflow,
        from: End,
        left: Nanos,
        options: &mut Options,
    ) {
        let (kind, header) = (packet.header.kind, &packet.header);
        let number = subflow.path as u8 + 1;
        let nonces = [
            0x1000_0000 | u32::from(number),
            0x2000_0000 | u32::from(number),
        ];
        let [client, server] = KEYS;
        let keys = || [client.to_be_bytes(), server.to_be_bytes()].concat();
        let joins = !subflow.opens;
        let backup = u8::from(self.scenario.paths[subflow.path].backup);
        match kind {
            PacketKind::Syn if joins => {
                let mut rest = vec![number];
                rest.extend(token(server).to_be_bytes());
                rest.extend(nonces[0].to_be_bytes());
                options.mptcp(subtype::JOIN, backup, &rest);
            }
            PacketKind::SynAck if joins => {
                let code = hmac([server, client], [nonces[1], nonces[0]]);
                let mut rest = vec![0];
                rest.extend(&code[..8]);
                rest.extend(nonces[1].to_be_bytes());
                options.mptcp(subtype::JOIN, 0, &rest);
            }
            PacketKind::Third if joins => {
                let mut rest = vec![0];
                rest.extend(&hmac([client, server], nonces)[..20]);
                options.mptcp(subtype::JOIN, 0, &rest);
            }
            PacketKind::Syn => options.mptcp(subtype::CAPABLE, 1, &[CAPABLE_FLAGS]),
            PacketKind::SynAck => {
                let mut rest = vec![CAPABLE_FLAGS];
                rest.extend(server.to_be_bytes());
                options.mptcp(subtype::CAPABLE, 1, &rest);
            }
            PacketKind::Third => {
                let mut rest = vec![CAPABLE_FLAGS];
                rest.extend(keys());
                options.mptcp(subtype::CAPABLE, 1, &rest);
            }
            PacketKind::Data if subflow.opens && header.ssn == 0 && from == End::Client => {
                let mut rest = vec![CAPABLE_FLAGS];
                rest.extend(keys());
                rest.extend((header.payload_bytes as u16).to_be_bytes());
                options.mptcp(subtype::CAPABLE, 1, &rest);
            }
            PacketKind::Data => {
                let mut rest = vec![MAPPING];
                rest.extend(self.data_ack(from, None, left).to_be_bytes());
                let dsn = first_byte(from).wrapping_add(self.flows.bytes.of(header.dsn));
                rest.extend(dsn.to_be_bytes());
                rest.extend(subflow.place(header.ssn).to_be_bytes());
                rest.extend((header.payload_bytes as u16).to_be_bytes());
                options.mptcp(subtype::DSS, 0, &rest);
            }
            PacketKind::Priority => options.mptcp(subtype::PRIO, (header.ssn != 0).into(), &[]),
            _ => {
                let expected = (kind == PacketKind::Ack).then_some(header.dsn);
                let mut rest = vec![DATA_ACK];
                rest.extend(self.data_ack(from, expected, left).to_be_bytes());
                options.mptcp(subtype::DSS, 0, &rest);
            }
        }
    }

    /// The DATA_ACK that `from` sends: of `expected`, or of what it had expected at `left`.
    fn data_ack(&self, from: End, expected: Option<u32>, left: Nanos) -> u32 {
        let first = first_byte(other(from));
        if from == self.flows.sender {
            return first as u32;
        }
        let dsn = expected.or_else(|| self.flows.expected.at(left));
        first.wrapping_add(self.flows.bytes.of(dsn.unwrap_or_default())) as u32
    }
}

/// The data sequence number of the first byte from `end`.
fn first_byte(end: End) -> u64 {
    initial_dsn(KEYS[end as usize]).wrapping_add(1)
}

/// Address and port of `end` on a subflow.
fn ends(path: PathIndex, epoch: u8, end: End) -> ([u8; 4], u16) {
    match end {
        End::Client => (
            [10, 0, path as u8, 2],
            CLIENT_PORT + (path as u16) * 256 + u16::from(epoch),
        ),
        End::Server => (SERVER, SERVER_PORT),
    }
}
