//! pcapng (draft-ietf-opsawg-pcapng).

use std::borrow::Cow;

use joulepath_model::energy::meter::RadioPhase;
use joulepath_model::scenario::PathIndex;
use joulepath_model::units::Nanos;
use pcap_parser::pcapng::{
    EnhancedPacketBlock, InterfaceDescriptionBlock, InterfaceStatisticsBlock, OptionCode,
    PcapNGOption, SectionHeaderBlock,
};
use pcap_parser::{Linktype, ToVec};

use crate::End;
use crate::capture::Capture;
use crate::packets::Seen;
use crate::radios::Change;

/// LINKTYPE_IPV4.
const IPV4: Linktype = Linktype(228);
/// Times are in 10⁻⁹ s.
const NANOSECONDS: u8 = 9;
const COMMENT: u16 = 1;
const SHB_APPLICATION: u16 = 4;
const IF_NAME: u16 = 2;
const IF_DESCRIPTION: u16 = 3;
const IF_TSRESOL: u16 = 9;

fn option(code: u16, value: impl Into<Vec<u8>>) -> PcapNGOption<'static> {
    let value = value.into();
    PcapNGOption {
        code: OptionCode(code),
        len: value.len() as u16,
        value: Cow::Owned(value),
    }
}

impl Capture<'_> {
    /// The capture at `end`: an interface for each path, packets with headers only, and comments
    /// with drops, requests, and, at the client, phases of radios and joules. `title` is its
    /// comment.
    pub fn pcapng(&self, end: End, title: &str) -> Vec<u8> {
        let mut bytes = written(section(title));
        for path in &self.scenario.paths {
            bytes.extend(written(interface(&path.name, end)));
        }
        let changes = match end {
            End::Client => self.radio_changes(),
            End::Server => vec![],
        };
        let mut changes = changes.iter().peekable();
        for seen in self.packets(end) {
            let mut comments: Vec<String> = seen.comment().into_iter().collect();
            while let Some(change) = changes.next_if(|change| change.at <= seen.at) {
                comments.push(self.phase_comment(change));
            }
            bytes.extend(packet(&seen, comments));
        }
        if end == End::Client {
            let rest: Vec<String> = changes.map(|change| self.phase_comment(change)).collect();
            for (number, path) in self.trace.paths.iter().enumerate() {
                let joules = path.energy_j.last().copied().unwrap_or_default();
                let mut comment = format!("{joules:.3} J in all");
                if number == 0 {
                    rest.iter().for_each(|text| comment += &format!("; {text}"));
                }
                bytes.extend(written(statistics(number, self.trace.until, &comment)));
            }
        }
        bytes
    }

    fn phase_comment(&self, change: &Change) -> String {
        format!(
            "{}: radio {} from {:.3} s, {:.3} J until then",
            self.scenario.paths[change.path].name,
            phase_name(change.phase),
            change.at.as_secs_f64(),
            change.energy_j
        )
    }
}

/// The word for a phase.
fn phase_name(phase: RadioPhase) -> &'static str {
    match phase {
        RadioPhase::Idle => "idle",
        RadioPhase::Promotion => "in promotion",
        RadioPhase::Active => "active",
        RadioPhase::Tail => "in its tail",
    }
}

fn section(title: &str) -> SectionHeaderBlock<'static> {
    SectionHeaderBlock {
        block_type: 0,
        block_len1: 0,
        bom: 0,
        major_version: 1,
        minor_version: 0,
        section_len: -1,
        options: vec![
            option(COMMENT, title),
            option(SHB_APPLICATION, "joulepath, simulated"),
        ],
        block_len2: 0,
    }
}

fn interface(name: &str, end: End) -> InterfaceDescriptionBlock<'static> {
    InterfaceDescriptionBlock {
        block_type: 0,
        block_len1: 0,
        linktype: IPV4,
        reserved: 0,
        snaplen: 0,
        options: vec![
            option(IF_NAME, name),
            option(
                IF_DESCRIPTION,
                format!("path {name}, at the {}", end.name()),
            ),
            option(IF_TSRESOL, [NANOSECONDS]),
        ],
        block_len2: 0,
        if_tsresol: NANOSECONDS,
        if_tsoffset: 0,
    }
}

fn packet(seen: &Seen, comments: Vec<String>) -> Vec<u8> {
    let (data, length) = seen.segment.headers();
    let options = comments
        .into_iter()
        .map(|text| option(COMMENT, text))
        .collect();
    written(EnhancedPacketBlock {
        block_type: 0,
        block_len1: 0,
        if_id: seen.path as u32,
        ts_high: (seen.at.0 >> 32) as u32,
        ts_low: seen.at.0 as u32,
        caplen: data.len() as u32,
        origlen: length,
        data: &data,
        options,
        block_len2: 0,
    })
}

fn statistics(interface: PathIndex, at: Nanos, comment: &str) -> InterfaceStatisticsBlock<'static> {
    InterfaceStatisticsBlock {
        block_type: 0,
        block_len1: 0,
        if_id: interface as u32,
        ts_high: (at.0 >> 32) as u32,
        ts_low: at.0 as u32,
        options: vec![option(COMMENT, comment)],
        block_len2: 0,
    }
}

/// The bytes of a block, whose lengths are filled in.
fn written(mut block: impl ToVec) -> Vec<u8> {
    block.to_vec().expect("memory takes all bytes")
}
