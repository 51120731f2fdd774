//! The subflows of a trace, with what their headers need: bytes by segment number, and what each
//! end has sent and received at an instant.

use std::collections::{BTreeMap, HashMap};

use joulepath_model::scenario::{PathIndex, Scenario};
use joulepath_model::units::Nanos;
use joulepath_packet::{PacketFate, PacketKind, Trace, TracedPacket};

use crate::{End, sender};

/// Time on the clock of TCP's timestamps (Linux).
const TICK_NS: u64 = 1_000_000;

/// Values over time that never fall.
#[derive(Clone, Debug, Default)]
pub(crate) struct Course(Vec<(Nanos, u32)>);

impl Course {
    /// Values in any order: each counts as the largest until then.
    fn finish(&mut self) {
        self.0.sort_unstable();
        let mut most = 0;
        for (_, value) in &mut self.0 {
            most = most.max(*value);
            *value = most;
        }
    }

    /// The value at `at`; `None` before the first.
    pub(crate) fn at(&self, at: Nanos) -> Option<u32> {
        let after = self.0.partition_point(|&(time, _)| time <= at);
        after.checked_sub(1).map(|last| self.0[last].1)
    }
}

/// First byte of each segment, by its number.
#[derive(Clone, Debug)]
pub(crate) struct Offsets {
    /// Of the known segments, and the end of the last.
    starts: Vec<u64>,
    /// Length of the others, bytes.
    mss: u64,
}

impl Offsets {
    /// Of segments with these lengths; unknown ones have `mss` bytes.
    fn new(lengths: &BTreeMap<u32, u32>, mss: u64) -> Self {
        let mut starts = vec![0];
        let count = lengths.last_key_value().map_or(0, |(&last, _)| last + 1);
        for number in 0..count {
            let length = lengths.get(&number).map_or(mss, |&length| length.into());
            starts.push(starts[number as usize] + length);
        }
        Offsets { starts, mss }
    }

    pub(crate) fn of(&self, number: u32) -> u64 {
        let known = self.starts.len() - 1;
        let beyond = (number as usize).saturating_sub(known) as u64;
        self.starts[(number as usize).min(known)] + beyond * self.mss
    }
}

/// One subflow.
#[derive(Clone, Debug)]
pub(crate) struct Subflow {
    pub(crate) path: PathIndex,
    /// Opened with MP_CAPABLE, the others with MP_JOIN.
    pub(crate) opens: bool,
    /// Bytes by SSN.
    pub(crate) bytes: Offsets,
    /// Next SSN to send, and the SSN and DSN that the receiver expects.
    pub(crate) next: Course,
    pub(crate) expected: Course,
    /// When the client sent a FIN, and when one arrived.
    pub(crate) fin: [Option<Nanos>; 2],
    /// Timestamps that have arrived at each end.
    stamps: [Course; 2],
}

/// The subflows of a connection.
pub(crate) struct Flows {
    pub(crate) sender: End,
    subflows: BTreeMap<(PathIndex, u8), Subflow>,
    /// Bytes by DSN.
    pub(crate) bytes: Offsets,
    /// The DSN that the receiver expects.
    pub(crate) expected: Course,
    /// When each packet of the trace left its end.
    pub(crate) left: Vec<Nanos>,
}

impl Flows {
    pub(crate) fn new(scenario: &Scenario, trace: &Trace) -> Self {
        let sender = sender(scenario);
        let mss = scenario.transport.mss.0;
        let mut subflows: BTreeMap<_, Subflow> = BTreeMap::new();
        let mut lengths: BTreeMap<_, BTreeMap<u32, u32>> = BTreeMap::new();
        let mut data = BTreeMap::new();
        let mut expected = Course::default();
        let mut confirmed: Option<Nanos> = None;
        let mut left = Vec::with_capacity(trace.packets.len());
        // A packet has an entry on each link of its route.
        let mut entered = HashMap::new();
        for packet in &trace.packets {
            left.push(packet.offered);
            let Some(path) = packet.path else { continue };
            let (key, header) = ((path, packet.header.epoch), &packet.header);
            let subflow = subflows.entry(key).or_insert_with(|| Subflow {
                path,
                opens: confirmed.is_none_or(|at| packet.offered < at),
                bytes: Offsets::new(&BTreeMap::new(), mss),
                next: Course::default(),
                expected: Course::default(),
                fin: [None; 2],
                stamps: Default::default(),
            });
            let from = from(header.kind, sender);
            let leaves = leaves(scenario, packet, path, from);
            let arrives = arrival(scenario, packet, path, from);
            let same = (key, header.kind as u8, header.ssn, header.dsn, header.sent);
            if leaves {
                entered.insert(same, packet.offered);
            } else if let (Some(at), Some(last)) = (entered.get(&same), left.last_mut()) {
                *last = *at;
            }
            let departed = *left.last().expect("just added");
            match header.kind {
                PacketKind::Data => {
                    lengths
                        .entry(key)
                        .or_default()
                        .insert(header.ssn, header.payload_bytes);
                    data.insert(header.dsn, header.payload_bytes);
                    if leaves {
                        subflow.next.0.push((packet.offered, header.ssn + 1));
                    }
                }
                PacketKind::Ack if leaves => {
                    subflow.expected.0.push((packet.offered, header.ssn));
                    expected.0.push((packet.offered, header.dsn));
                }
                PacketKind::SynAck => {
                    if let Some(at) = arrives {
                        confirmed = Some(confirmed.map_or(at, |first| first.min(at)));
                    }
                }
                PacketKind::Leave => {
                    let [sent, arrived] = &mut subflow.fin;
                    sent.get_or_insert(packet.offered);
                    *arrived = arrived.or(arrives);
                }
                _ => {}
            }
            if let Some(at) = arrives {
                let stamp = stamp(from, departed);
                subflow.stamps[other(from) as usize].0.push((at, stamp));
            }
        }
        expected.finish();
        for (key, subflow) in &mut subflows {
            subflow.next.finish();
            subflow.expected.finish();
            subflow.stamps.iter_mut().for_each(Course::finish);
            if let Some(lengths) = lengths.get(key) {
                subflow.bytes = Offsets::new(lengths, mss);
            }
        }
        Flows {
            sender,
            subflows,
            bytes: Offsets::new(&data, mss),
            expected,
            left,
        }
    }

    /// The subflow of a packet.
    pub(crate) fn of(&self, packet: &TracedPacket) -> Option<(u8, &Subflow)> {
        let key = (packet.path?, packet.header.epoch);
        self.subflows.get(&key).map(|subflow| (key.1, subflow))
    }
}

impl Subflow {
    /// Distance of a segment's first byte from the SYN; it wraps after 4 GiB.
    pub(crate) fn place(&self, ssn: u32) -> u32 {
        (self.bytes.of(ssn) as u32).wrapping_add(1)
    }

    /// The newest timestamp that `end` has received at `at`.
    pub(crate) fn echo(&self, end: End, at: Nanos) -> u32 {
        self.stamps[end as usize].at(at).unwrap_or_default()
    }
}

/// The end that sends packets of `kind`, where `sender` sends the data.
pub(crate) fn from(kind: PacketKind, sender: End) -> End {
    match kind {
        PacketKind::Syn | PacketKind::Third | PacketKind::Priority | PacketKind::Leave => {
            End::Client
        }
        PacketKind::SynAck | PacketKind::Fourth => End::Server,
        PacketKind::Data => sender,
        _ => other(sender),
    }
}

pub(crate) const fn other(end: End) -> End {
    match end {
        End::Client => End::Server,
        End::Server => End::Client,
    }
}

/// Links of `path` in the direction of packets from `from`.
fn route(scenario: &Scenario, path: PathIndex, from: End) -> &[usize] {
    let path = &scenario.paths[path];
    match from {
        End::Client => &path.up,
        End::Server => &path.down,
    }
}

/// Whether the packet is on the first link of its route.
pub(crate) fn leaves(
    scenario: &Scenario,
    packet: &TracedPacket,
    path: PathIndex,
    from: End,
) -> bool {
    route(scenario, path, from).first() == Some(&packet.link)
}

/// When the packet reaches the end of its route on this link.
pub(crate) fn arrival(
    scenario: &Scenario,
    packet: &TracedPacket,
    path: PathIndex,
    from: End,
) -> Option<Nanos> {
    let is_delivered = matches!(packet.fate, PacketFate::Delivered | PacketFate::Marked);
    let is_last = route(scenario, path, from).last() == Some(&packet.link);
    (is_delivered && is_last).then_some(packet.arrives)
}

/// The clock of an end for timestamps.
pub(crate) fn stamp(end: End, at: Nanos) -> u32 {
    let start = [0x0100_0000, 0x0200_0000][end as usize];
    start + (at.0 / TICK_NS) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2^32 bytes are 2^24 segments of 256 bytes.
    #[test]
    fn sequence_numbers_wrap_after_4_gib() {
        let subflow = Subflow {
            path: 0,
            opens: true,
            bytes: Offsets::new(&BTreeMap::new(), 256),
            next: Course::default(),
            expected: Course::default(),
            fin: [None; 2],
            stamps: Default::default(),
        };
        assert_eq!(subflow.place((1 << 24) - 1), u32::MAX - 254);
        assert_eq!(subflow.place((1 << 24) + 1), 257);
    }
}
