//! A TCP segment as its header.

use etherparse::{IpNumber, Ipv4Header, TcpHeader};

/// Length of an IPv4 header without options, bytes.
const IPV4: u16 = 20;
/// Room for TCP options, bytes.
const ROOM: usize = 40;
const KIND: u8 = 30;

/// Options of a header, padded to words.
#[derive(Clone, Debug, Default)]
pub(crate) struct Options(Vec<u8>);

impl Options {
    fn push(&mut self, option: &[u8]) {
        self.0.extend(option);
        let padded = self.0.len().next_multiple_of(4);
        self.0.resize(padded, 1);
    }

    /// Options of a SYN: MSS, SACK permitted, timestamps and window scale.
    pub(crate) fn opening(&mut self, mss: u16, scale: u8, stamps: [u32; 2]) {
        let [high, low] = mss.to_be_bytes();
        self.push(&[2, 4, high, low]);
        self.push(&[4, 2]);
        self.timestamps(stamps);
        self.push(&[3, 3, scale]);
    }

    /// Timestamps: the own value and the echo (RFC 7323).
    pub(crate) fn timestamps(&mut self, [value, echo]: [u32; 2]) {
        let mut option = vec![1, 1, 8, 10];
        option.extend(value.to_be_bytes());
        option.extend(echo.to_be_bytes());
        self.push(&option);
    }

    /// SACK blocks (RFC 2018), as many as there is room for.
    pub(crate) fn sack(&mut self, blocks: &[(u32, u32)]) {
        let room = (ROOM.saturating_sub(self.0.len() + 4)) / 8;
        let blocks = &blocks[..blocks.len().min(room)];
        if blocks.is_empty() {
            return;
        }
        let mut option = vec![1, 1, 5, 2 + 8 * blocks.len() as u8];
        for (left, right) in blocks {
            option.extend(left.to_be_bytes());
            option.extend(right.to_be_bytes());
        }
        self.push(&option);
    }

    /// An MPTCP option of this subtype; `first` completes the byte of the subtype.
    pub(crate) fn mptcp(&mut self, subtype: u8, first: u8, rest: &[u8]) {
        let mut option = vec![KIND, 3 + rest.len() as u8, subtype << 4 | first];
        option.extend(rest);
        self.push(&option);
    }
}

/// Subtypes of MPTCP (RFC 8684, section 8).
pub(crate) mod subtype {
    pub(crate) const CAPABLE: u8 = 0;
    pub(crate) const JOIN: u8 = 1;
    pub(crate) const DSS: u8 = 2;
    pub(crate) const PRIO: u8 = 5;
}

/// A segment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Segment {
    /// Addresses and ports of the sender and of the other end.
    pub(crate) ends: [([u8; 4], u16); 2],
    pub(crate) seq: u32,
    pub(crate) ack: Option<u32>,
    pub(crate) syn: bool,
    pub(crate) fin: bool,
    pub(crate) push: bool,
    pub(crate) ece: bool,
    pub(crate) cwr: bool,
    /// ECN field of the IP header.
    pub(crate) ecn: u8,
    pub(crate) window: u16,
    pub(crate) options: Options,
    pub(crate) payload_bytes: u32,
    /// Identification of the IP header.
    pub(crate) number: u16,
}

impl Segment {
    /// Its headers, and its length with the payload. The TCP checksum counts a payload of zeros.
    pub(crate) fn headers(&self) -> (Vec<u8>, u32) {
        let [(source, source_port), (destination, destination_port)] = self.ends;
        let mut tcp = TcpHeader::new(source_port, destination_port, self.seq, self.window);
        tcp.acknowledgment_number = self.ack.unwrap_or_default();
        (tcp.ack, tcp.syn, tcp.fin) = (self.ack.is_some(), self.syn, self.fin);
        (tcp.psh, tcp.ece, tcp.cwr) = (self.push, self.ece, self.cwr);
        tcp.set_options_raw(&self.options.0)
            .expect("options fit into a header");
        let length = u32::from(IPV4) + tcp.header_len() as u32 + self.payload_bytes;
        let total = u16::try_from(length).unwrap_or(u16::MAX);
        let mut ip = Ipv4Header::new(total - IPV4, 64, IpNumber::TCP, source, destination)
            .expect("the length fits");
        ip.ecn = etherparse::IpEcn::try_new(self.ecn).expect("two bits");
        ip.dont_fragment = true;
        ip.identification = self.number;
        ip.header_checksum = ip.calc_header_checksum();
        let payload = vec![0; usize::from(total) - usize::from(IPV4) - tcp.header_len()];
        tcp.checksum = tcp
            .calc_checksum_ipv4(&ip, &payload)
            .expect("the length fits");
        let mut bytes = ip.to_bytes().to_vec();
        bytes.extend(tcp.to_bytes());
        (bytes, length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 12 bytes of timestamps leave room for three blocks, and with a DATA_ACK of 8 for two.
    #[test]
    fn sack_blocks_take_the_room_that_is_left() {
        let blocks = [(1, 2), (3, 4), (5, 6), (7, 8)];
        let mut alone = Options::default();
        alone.timestamps([1, 2]);
        let mut beside = alone.clone();
        alone.sack(&blocks);
        assert_eq!(alone.0.len(), 12 + 4 + 24);
        beside.mptcp(subtype::DSS, 0, &[1, 0, 0, 0, 0]);
        beside.sack(&blocks);
        assert_eq!(beside.0.len(), 12 + 8 + 4 + 16);
    }

    #[test]
    fn lengths_count_the_payload_and_headers_do_not_hold_it() {
        let segment = Segment {
            payload_bytes: 1000,
            ack: Some(1),
            ..Segment::default()
        };
        let (bytes, length) = segment.headers();
        assert_eq!((bytes.len(), length), (40, 1040));
        assert_eq!(u16::from_be_bytes([bytes[2], bytes[3]]), 1040);
    }
}
