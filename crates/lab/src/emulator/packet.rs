//! Parses packets, and sets the congestion-experienced mark.
//!
//! It parses IPv4 and IPv6 headers, and a TCP header that follows directly. Everything else,
//! including fragments and extension headers, is an opaque packet.

use joulepath_link::Ecn;
use joulepath_model::energy::Traffic;

use super::messages::Service;

/// The ECN field of a marked packet. A sender that supports marks sets one of its bits (RFC 3168,
/// section 5).
const CE: u8 = 0b11;

const IPV4_HEADER: usize = 20;
const IPV6_HEADER: usize = 40;
const TCP_HEADER: usize = 20;
const UDP_HEADER: usize = 8;
const PROTOCOL_TCP: u8 = 6;
const PROTOCOL_UDP: u8 = 17;

const FIN: u8 = 0x01;
const SYN: u8 = 0x02;
const RST: u8 = 0x04;
const ACK: u8 = 0x10;

/// The parsed headers of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Headers {
    /// Length of the packet including headers, bytes.
    pub(super) length: usize,
    /// True for unicast. The emulator drops multicast, which would wake a radio.
    pub(super) unicast: bool,
    pub(super) ecn: Ecn,
    /// The TCP header, if this is a whole segment.
    pub(super) tcp: Option<TcpHeaders>,
    /// The protocol's number.
    pub(super) protocol: u8,
    /// Source and destination, if TCP or UDP.
    pub(super) ports: Option<[u16; 2]>,
    /// Bytes after the headers that the emulator knows.
    pub(super) payload: usize,
    /// A hash of addresses, protocol and ports. Its highest bit is 0.
    pub(super) flow: u64,
}

/// The parsed TCP header of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TcpHeaders {
    pub(super) source_port: u16,
    pub(super) destination_port: u16,
    /// Payload, bytes.
    pub(super) payload: usize,
    flags: u8,
}

impl TcpHeaders {
    /// True for a SYN.
    pub(super) fn opens(self) -> bool {
        self.flags & (SYN | ACK) == SYN
    }

    /// True if the sender will send no more data.
    pub(super) fn finishes(self) -> bool {
        self.flags & FIN != 0
    }

    /// True for a reset.
    pub(super) fn resets(self) -> bool {
        self.flags & RST != 0
    }
}

impl Headers {
    /// Parses the headers; `None` if the bytes are not an IP packet or are truncated.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        match bytes.first()? >> 4 {
            4 => Self::read_v4(bytes),
            6 => Self::read_v6(bytes),
            _ => None,
        }
    }

    fn read_v4(bytes: &[u8]) -> Option<Self> {
        let header = usize::from(bytes[0] & 0xF) * 4;
        if header < IPV4_HEADER || bytes.len() < header {
            return None;
        }
        let length = usize::from(u16::from_be_bytes([bytes[2], bytes[3]]));
        let packet = bytes.get(..length)?.get(header..)?;
        // Nonzero if more fragments follow, or if this is not the first fragment.
        let fragment = u16::from_be_bytes([bytes[6], bytes[7]]) & 0x3FFF != 0;
        let tcp = (bytes[9] == PROTOCOL_TCP && !fragment)
            .then(|| read_tcp(packet))
            .flatten();
        let (unicast, ecn) = (bytes[16] & 0xF0 != 0xE0, Ecn::from_bits(bytes[1]));
        let flow = flow_key(
            &bytes[12..20],
            bytes[9],
            if fragment { &[] } else { packet },
        );
        Some(Headers {
            length,
            unicast,
            ecn,
            tcp,
            protocol: bytes[9],
            ports: (!fragment).then(|| ports(bytes[9], packet)).flatten(),
            payload: payload(bytes[9], packet, tcp),
            flow,
        })
    }

    fn read_v6(bytes: &[u8]) -> Option<Self> {
        if bytes.len() < IPV6_HEADER {
            return None;
        }
        let length = IPV6_HEADER + usize::from(u16::from_be_bytes([bytes[4], bytes[5]]));
        let packet = bytes.get(..length)?.get(IPV6_HEADER..)?;
        let tcp = (bytes[6] == PROTOCOL_TCP)
            .then(|| read_tcp(packet))
            .flatten();
        let (unicast, ecn) = (bytes[24] != 0xFF, Ecn::from_bits(bytes[1] >> 4));
        let flow = flow_key(&bytes[8..40], bytes[6], packet);
        Some(Headers {
            length,
            unicast,
            ecn,
            tcp,
            protocol: bytes[6],
            ports: ports(bytes[6], packet),
            payload: payload(bytes[6], packet, tcp),
            flow,
        })
    }

    /// The server's end of a packet in this direction.
    pub(super) fn service(&self, direction: Traffic) -> Service {
        let server = match direction {
            Traffic::Down => 0,
            Traffic::Up => 1,
        };
        Service {
            protocol: self.protocol,
            port: self.ports.map_or(0, |ports| ports[server]),
        }
    }
}

fn ports(protocol: u8, packet: &[u8]) -> Option<[u16; 2]> {
    let &[a, b, c, d] = packet.first_chunk()?;
    matches!(protocol, PROTOCOL_TCP | PROTOCOL_UDP)
        .then(|| [u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])])
}

fn payload(protocol: u8, packet: &[u8], tcp: Option<TcpHeaders>) -> usize {
    match protocol {
        PROTOCOL_UDP => packet.len().saturating_sub(UDP_HEADER),
        _ => tcp.map_or(packet.len(), |tcp| tcp.payload),
    }
}

/// FNV-1a (Fowler, Noll, Vo) over addresses, protocol and, for TCP and UDP, ports. Fragments have
/// no ports.
fn flow_key(addresses: &[u8], protocol: u8, payload: &[u8]) -> u64 {
    const OFFSET: u64 = 0xCBF2_9CE4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01B3;
    let has_ports = matches!(protocol, PROTOCOL_TCP | PROTOCOL_UDP);
    let ports = payload.get(..4).filter(|_| has_ports).unwrap_or(&[]);
    let bytes = addresses.iter().chain([&protocol]).chain(ports);
    bytes.fold(OFFSET, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(PRIME)
    }) >> 1
}

fn read_tcp(segment: &[u8]) -> Option<TcpHeaders> {
    if segment.len() < TCP_HEADER {
        return None;
    }
    let port = |at: usize| u16::from_be_bytes([segment[at], segment[at + 1]]);
    let header = usize::from(segment[12] >> 4) * 4;
    Some(TcpHeaders {
        source_port: port(0),
        destination_port: port(2),
        payload: segment.len().checked_sub(header)?,
        flags: segment[13],
    })
}

/// Sets the congestion-experienced mark of an ECN-capable packet, and updates the IPv4 checksum.
pub(super) fn mark(packet: &mut [u8]) {
    if packet[0] >> 4 == 6 {
        packet[1] |= CE << 4;
        return;
    }
    let before = u16::from_be_bytes([packet[0], packet[1]]);
    packet[1] |= CE;
    let after = u16::from_be_bytes([packet[0], packet[1]]);
    let checksum = u16::from_be_bytes([packet[10], packet[11]]);
    packet[10..12].copy_from_slice(&mended(checksum, before, after).to_be_bytes());
}

/// Updates a header checksum after one word changed: HC' = ~(~HC + ~m + m') (RFC 1624, eq. 3).
fn mended(checksum: u16, before: u16, after: u16) -> u16 {
    let sum = u32::from(!checksum) + u32::from(!before) + u32::from(after);
    let folded = (sum & 0xFFFF) + (sum >> 16);
    !((folded & 0xFFFF) + (folded >> 16)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A packet from 198.18.0.2:4000 to 198.19.255.1:80, ECT(0), with 12 bytes of TCP options and 3
    /// bytes of payload.
    fn v4() -> Vec<u8> {
        let mut packet = vec![
            0x45, 0x02, 0, 55, 0, 1, 0x40, 0, 64, 6, 0, 0, 198, 18, 0, 2, 198, 19, 255, 1,
        ];
        let checksum = checksum_of(&packet);
        packet[10..12].copy_from_slice(&checksum.to_be_bytes());
        packet.extend([
            0x0F, 0xA0, 0, 80, 0, 0, 0, 1, 0, 0, 0, 0, 0x80, SYN, 0xFF, 0xFF, 0, 0, 0, 0,
        ]);
        packet.extend([1; 12]);
        packet.extend(b"abc");
        packet
    }

    fn v6() -> Vec<u8> {
        let mut packet = vec![0x60, 0x20, 0, 0, 0, 20, 6, 64];
        packet.extend([0x20; 32]);
        packet.extend([
            0x0F,
            0xA0,
            0,
            80,
            0,
            0,
            0,
            1,
            0,
            0,
            0,
            0,
            0x50,
            ACK | FIN,
            0xFF,
            0xFF,
            0,
            0,
            0,
            0,
        ]);
        packet
    }

    /// RFC 791: one's complement of the one's complement sum of the header's words.
    fn checksum_of(header: &[u8]) -> u16 {
        let words = header
            .chunks(2)
            .map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])));
        let sum: u32 = words.sum();
        !((sum & 0xFFFF) + (sum >> 16)) as u16
    }

    #[test]
    fn a_segment_is_parsed() {
        let headers = Headers::read(&v4()).unwrap();
        let tcp = headers.tcp.unwrap();
        assert_eq!(
            (headers.length, headers.unicast, headers.ecn),
            (55, true, Ecn::Ect0)
        );
        assert_eq!(
            (tcp.source_port, tcp.destination_port, tcp.payload),
            (4000, 80, 3)
        );
        assert!(tcp.opens() && !tcp.finishes() && !tcp.resets());
        let headers = Headers::read(&v6()).unwrap();
        let tcp = headers.tcp.unwrap();
        assert_eq!(
            (headers.length, headers.ecn, tcp.payload),
            (60, Ecn::Ect0, 0)
        );
        assert!(!tcp.opens() && tcp.finishes());
    }

    #[test]
    fn the_checksum_is_correct_after_a_mark() {
        // For arbitrary headers, the sum over the marked header must be all ones.
        for seed in 0..1000u32 {
            let mut packet = v4();
            packet[4..6].copy_from_slice(&(seed.wrapping_mul(40_503) as u16).to_be_bytes());
            packet[1] = [0b01, 0b10, 0b11][seed as usize % 3];
            packet[10..12].fill(0);
            let checksum = checksum_of(&packet[..20]);
            packet[10..12].copy_from_slice(&checksum.to_be_bytes());
            mark(&mut packet);
            assert_eq!(packet[1] & 0b11, CE);
            assert_eq!(checksum_of(&packet[..20]), 0, "seed {seed}");
        }
        let mut packet = v6();
        mark(&mut packet);
        assert_eq!(packet[..2], [0x60, 0x30]);
    }

    #[test]
    fn a_fragment_is_no_segment() {
        for field in [[0x20, 0], [0, 7]] {
            let mut packet = v4();
            packet[6..8].copy_from_slice(&field);
            assert_eq!(Headers::read(&packet).unwrap().tcp, None, "{field:?}");
        }
    }

    #[test]
    fn a_truncated_packet_is_none() {
        for whole in [v4(), v6()] {
            assert!((0..whole.len()).all(|length| Headers::read(&whole[..length]).is_none()));
        }
        assert_eq!(Headers::read(&[0x50; 60]), None);
        // A header length beyond the packet, and one below the minimum.
        let mut packet = v4();
        packet[0] = 0x4F;
        packet[3] = 20;
        assert_eq!(Headers::read(&packet), None);
        packet[0] = 0x41;
        assert_eq!(Headers::read(&packet), None);
        // A TCP header longer than the segment.
        let mut packet = v4();
        packet[32] = 0xF0;
        assert_eq!(Headers::read(&packet).unwrap().tcp, None);
    }

    #[test]
    fn a_flow_is_identified_by_its_five_tuple() {
        let key = |packet: &[u8]| Headers::read(packet).unwrap().flow;
        let changed = |at: usize| {
            let mut packet = v4();
            packet[at] ^= 1;
            key(&packet)
        };
        // Sequence number, identification and payload do not change the key; addresses, protocol
        // and ports do.
        assert!([5, 27, 53].iter().all(|at| changed(*at) == key(&v4())));
        let others: Vec<u64> = [9, 13, 18, 21, 23].map(changed).to_vec();
        assert!(
            others.iter().all(|other| *other != key(&v4())),
            "{others:?}"
        );
        assert!(others.iter().chain([&key(&v6())]).all(|key| key >> 63 == 0));
    }

    #[test]
    fn multicast_is_detected() {
        let mut packet = v4();
        packet[16] = 224;
        assert!(!Headers::read(&packet).unwrap().unicast);
        let mut packet = v6();
        packet[24] = 0xFF;
        assert!(!Headers::read(&packet).unwrap().unicast);
    }
}
