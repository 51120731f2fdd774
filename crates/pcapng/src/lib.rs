//! Blocks of pcapng (draft-ietf-opsawg-pcapng): IP packets with times of 1 ns, and comments.
//!
//! A file is a [`section`], then an [`interface`] for each number from 0 on, then [`packet`]s and
//! [`statistics`] in the order of time.

use std::borrow::Cow;

use joulepath_model::units::Nanos;
use pcap_parser::pcapng::{
    EnhancedPacketBlock, InterfaceDescriptionBlock, InterfaceStatisticsBlock, OptionCode,
    PcapNGOption, SectionHeaderBlock,
};
use pcap_parser::{Linktype, ToVec};

/// LINKTYPE_RAW: IPv4 or IPv6.
pub const RAW: i32 = 101;
/// LINKTYPE_IPV4.
pub const IPV4: i32 = 228;

/// Times are in 10⁻⁹ s.
const NANOSECONDS: u8 = 9;
const COMMENT: u16 = 1;
const SHB_APPLICATION: u16 = 4;
const IF_NAME: u16 = 2;
const IF_DESCRIPTION: u16 = 3;
const IF_TSRESOL: u16 = 9;

/// A packet of an interface.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    /// The interface's number.
    pub interface: usize,
    /// Its time.
    pub at: Nanos,
    /// Its bytes, from the IP header on.
    pub data: &'a [u8],
    /// Its length, bytes; more than `data` if that is truncated.
    pub length: u32,
}

/// The begin of a file with a comment.
pub fn section(comment: &str, application: &str) -> Vec<u8> {
    written(SectionHeaderBlock {
        block_type: 0,
        block_len1: 0,
        bom: 0,
        major_version: 1,
        minor_version: 0,
        section_len: -1,
        options: vec![
            option(COMMENT, comment),
            option(SHB_APPLICATION, application),
        ],
        block_len2: 0,
    })
}

/// The next interface.
pub fn interface(link_type: i32, name: &str, description: &str) -> Vec<u8> {
    written(InterfaceDescriptionBlock {
        block_type: 0,
        block_len1: 0,
        linktype: Linktype(link_type),
        reserved: 0,
        snaplen: 0,
        options: vec![
            option(IF_NAME, name),
            option(IF_DESCRIPTION, description),
            option(IF_TSRESOL, [NANOSECONDS]),
        ],
        block_len2: 0,
        if_tsresol: NANOSECONDS,
        if_tsoffset: 0,
    })
}

/// A packet with comments.
pub fn packet(packet: &Packet<'_>, comments: Vec<String>) -> Vec<u8> {
    let options = comments
        .into_iter()
        .map(|text| option(COMMENT, text))
        .collect();
    written(EnhancedPacketBlock {
        block_type: 0,
        block_len1: 0,
        if_id: packet.interface as u32,
        ts_high: (packet.at.0 >> 32) as u32,
        ts_low: packet.at.0 as u32,
        caplen: packet.data.len() as u32,
        origlen: packet.length,
        data: packet.data,
        options,
        block_len2: 0,
    })
}

/// A comment on an interface at a time.
pub fn statistics(interface: usize, at: Nanos, comment: &str) -> Vec<u8> {
    written(InterfaceStatisticsBlock {
        block_type: 0,
        block_len1: 0,
        if_id: interface as u32,
        ts_high: (at.0 >> 32) as u32,
        ts_low: at.0 as u32,
        options: vec![option(COMMENT, comment)],
        block_len2: 0,
    })
}

fn option(code: u16, value: impl Into<Vec<u8>>) -> PcapNGOption<'static> {
    let value = value.into();
    PcapNGOption {
        code: OptionCode(code),
        len: value.len() as u16,
        value: Cow::Owned(value),
    }
}

/// The bytes of a block, whose lengths are filled in.
fn written(mut block: impl ToVec) -> Vec<u8> {
    block.to_vec().expect("memory takes all bytes")
}
