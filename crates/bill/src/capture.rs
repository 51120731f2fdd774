//! Captures: pcap and pcapng.

use std::collections::HashMap;
use std::io::Read;
use std::net::IpAddr;

use etherparse::{EtherType, LaxNetSlice, LaxSlicedPacket, TransportSlice};
use joulepath_model::energy::Traffic;
use joulepath_model::units::Nanos;
use pcap_parser::{
    Block, InterfaceDescriptionBlock, Linktype, NameRecordType, OptionCode, PcapBlockOwned,
    PcapError, create_reader,
};

use crate::names::{Greeting, Names};
use crate::recording::{Cause, Error, Packet, Recording};

/// The reader's buffer at first; it grows to the largest block.
const BUFFER: usize = 1 << 16;
const LONGEST: usize = 1 << 28;
/// Address of an interface with its prefix length.
const IPV6_ADDRESS: OptionCode = OptionCode(5);
const DNS: [u16; 2] = [53, 5353];

/// Whether a file begins as a capture.
pub(crate) fn is_capture(head: &[u8]) -> bool {
    const MAGIC: [u32; 3] = [0xa1b2_c3d4, 0xa1b2_3c4d, 0x0a0d_0d0a];
    let Some(word) = head.first_chunk() else {
        return false;
    };
    MAGIC.contains(&u32::from_le_bytes(*word)) || MAGIC.contains(&u32::from_be_bytes(*word))
}

pub(crate) fn read(file: impl Read + Send, local: &[IpAddr]) -> Result<Recording, Error> {
    let mut capture = Capture::default();
    let mut blocks = create_reader(BUFFER, file).map_err(|error| Error::Capture {
        packet: 0,
        reason: format!("{error:?}"),
    })?;
    let mut size = BUFFER;
    loop {
        let is_over = blocks.reader_exhausted();
        match blocks.next() {
            Ok((length, block)) => {
                capture.block(&block)?;
                blocks.consume(length);
            }
            Err(PcapError::Eof) => break,
            Err(PcapError::UnexpectedEof) => {
                capture.is_cut = true;
                break;
            }
            Err(PcapError::Incomplete(_)) if is_over => {
                capture.is_cut = true;
                break;
            }
            Err(PcapError::Incomplete(_)) => {
                if blocks.refill().is_err() {
                    size *= 2;
                    if size > LONGEST || !blocks.grow(size) {
                        return Err(capture.broken("it is too long"));
                    }
                }
            }
            Err(error) => {
                let reason = format!("{error:?}");
                return Err(capture.broken(&reason));
            }
        }
    }
    Ok(capture.recording(local))
}

/// An interface of the capture.
struct Interface {
    name: Option<String>,
    link: Linktype,
    /// Units of time stamps per second, and their offset in seconds.
    resolution: u64,
    offset: i64,
    addresses: Vec<IpAddr>,
}

/// A flow: the interface, the protocol and both ends in the order of the first packet.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    interface: usize,
    protocol: u8,
    ends: [(IpAddr, u16); 2],
}

#[derive(Default)]
struct Flow {
    /// Whether the first end is the device, if a packet says so.
    first_is_local: Option<bool>,
    /// Whether the first end opened the connection, if the capture has that.
    first_opened: Option<bool>,
    packets: u64,
    greeting: Greeting,
    server: Option<String>,
}

struct Seen {
    at: Nanos,
    flow: usize,
    /// From the first end.
    forth: bool,
    bytes: u32,
}

#[derive(Default)]
struct Capture {
    interfaces: Vec<Interface>,
    /// First interface of the section.
    section: usize,
    flows: Vec<(Key, Flow)>,
    known: HashMap<Key, usize>,
    packets: Vec<Seen>,
    names: Names,
    /// Packets so far, those of no host included.
    seen: u64,
    /// Packets that are neither IPv4 nor IPv6.
    others: u64,
    is_cut: bool,
}

impl Capture {
    /// The next packet cannot be read.
    fn broken(&self, reason: &str) -> Error {
        Error::Capture {
            packet: self.seen + 1,
            reason: reason.to_owned(),
        }
    }

    fn block(&mut self, block: &PcapBlockOwned<'_>) -> Result<(), Error> {
        match block {
            PcapBlockOwned::LegacyHeader(header) => {
                let resolution = if header.is_nanosecond_precision() {
                    1_000_000_000
                } else {
                    1_000_000
                };
                self.interfaces.push(Interface {
                    name: None,
                    link: header.network,
                    resolution,
                    offset: 0,
                    addresses: vec![],
                });
            }
            PcapBlockOwned::Legacy(packet) => {
                let resolution = self.interfaces[0].resolution;
                let at = u64::from(packet.ts_sec) * resolution + u64::from(packet.ts_usec);
                self.packet(0, at, packet.origlen, packet.data)?;
            }
            PcapBlockOwned::NG(Block::SectionHeader(_)) => self.section = self.interfaces.len(),
            PcapBlockOwned::NG(Block::InterfaceDescription(block)) => {
                self.interfaces.push(interface(block));
            }
            PcapBlockOwned::NG(Block::EnhancedPacket(packet)) => {
                let at = u64::from(packet.ts_high) << 32 | u64::from(packet.ts_low);
                let interface = self.section + packet.if_id as usize;
                let data = &packet.data[..packet.data.len().min(packet.caplen as usize)];
                self.packet(interface, at, packet.origlen, data)?;
            }
            PcapBlockOwned::NG(Block::SimplePacket(_)) => {
                return Err(self.broken("it has no time: capture with enhanced packet blocks"));
            }
            PcapBlockOwned::NG(Block::NameResolution(block)) => {
                for record in &block.nr {
                    let value = record.record_value;
                    let (address, name): (IpAddr, _) = match (record.record_type, value) {
                        (NameRecordType::Ipv4, [a, b, c, d, name @ ..]) => {
                            ([*a, *b, *c, *d].into(), name)
                        }
                        (NameRecordType::Ipv6, value) if value.len() > 16 => {
                            let (address, name) = value.split_at(16);
                            (
                                <[u8; 16]>::try_from(address).unwrap_or_default().into(),
                                name,
                            )
                        }
                        _ => continue,
                    };
                    let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
                    self.names
                        .add(address, String::from_utf8_lossy(name).into_owned());
                }
            }
            PcapBlockOwned::NG(_) => {}
        }
        Ok(())
    }

    /// `at`: in units of the interface's clock. `length`: on the link; `data` may be less.
    fn packet(&mut self, interface: usize, at: u64, length: u32, data: &[u8]) -> Result<(), Error> {
        let Some(link) = self.interfaces.get(interface) else {
            return Err(self.broken("its interface is not described"));
        };
        self.seen += 1;
        let at = i128::from(at) * 1_000_000_000 / i128::from(link.resolution)
            + i128::from(link.offset) * 1_000_000_000;
        let at = Nanos(u64::try_from(at).unwrap_or(0));
        let Some(frame) = Frame::of(link.link, data)? else {
            self.others += 1;
            return Ok(());
        };
        let bytes = length.saturating_sub(frame.header);
        let ends = [(frame.from, frame.ports[0]), (frame.to, frame.ports[1])];
        let key = |ends| Key {
            interface,
            protocol: frame.protocol,
            ends,
        };
        let backwards = key([ends[1], ends[0]]);
        let (flow, forth) = match self.known.get(&backwards) {
            Some(flow) if ends[0] != ends[1] => (*flow, false),
            _ => {
                let flow = *self.known.entry(key(ends)).or_insert_with(|| {
                    self.flows.push((key(ends), Flow::default()));
                    self.flows.len() - 1
                });
                (flow, true)
            }
        };
        let entry = &mut self.flows[flow].1;
        entry.packets += 1;
        if let Some(sent) = frame.sent {
            entry.first_is_local = Some(sent == forth);
        }
        if frame.opens {
            entry.first_opened.get_or_insert(forth);
        }
        if frame.protocol == UDP && frame.ports.iter().any(|port| DNS.contains(port)) {
            self.names.learn(frame.payload);
        }
        if frame.protocol == TCP && forth && !frame.payload.is_empty() {
            let name = entry.greeting.hear(frame.payload);
            entry.server = entry.server.take().or(name);
        }
        self.packets.push(Seen {
            at,
            flow,
            forth,
            bytes,
        });
        Ok(())
    }

    fn recording(mut self, local: &[IpAddr]) -> Recording {
        let is_local = self.find_the_device(local);
        let used: Vec<usize> = (0..self.interfaces.len())
            .filter(|interface| {
                self.flows
                    .iter()
                    .any(|(key, _)| key.interface == *interface)
            })
            .collect();
        let place = |interface: usize| used.iter().position(|used| *used == interface);
        let mut notes = vec![];
        if self.others > 0 {
            notes.push(format!(
                "{} packets of other protocols than IP (for example ARP) do not count.",
                self.others
            ));
        }
        if self.is_cut {
            notes.push("The capture ends within a packet, which does not count.".to_owned());
        }
        let causes = self
            .flows
            .iter()
            .zip(&is_local)
            .map(|((key, flow), first)| {
                let (address, port) = key.ends[usize::from(*first)];
                let name = flow.server.as_deref().or_else(|| self.names.of(address));
                Cause {
                    host: name.map_or_else(|| address.to_string(), str::to_owned),
                    request: match key.protocol {
                        TCP => format!("TCP {port}"),
                        UDP => format!("UDP {port}"),
                        1 | 58 => "ICMP".to_owned(),
                        protocol => format!("IP protocol {protocol}"),
                    },
                }
            });
        let causes = causes.collect();
        let packets = self.packets.iter().map(|seen| Packet {
            at: seen.at,
            interface: place(self.flows[seen.flow].0.interface).unwrap_or(0),
            cause: seen.flow,
            traffic: match seen.forth == is_local[seen.flow] {
                true => Traffic::Up,
                false => Traffic::Down,
            },
            bytes: seen.bytes,
        });
        let packets = packets.collect();
        let interfaces = used.iter().enumerate().map(|(place, interface)| {
            let name = self.interfaces[*interface].name.take();
            name.unwrap_or_else(|| format!("interface{place}"))
        });
        Recording {
            interfaces: interfaces.collect(),
            causes,
            packets,
            notes,
        }
        .in_order()
    }

    /// For each flow, whether its first end is the device. What is known decides: the addresses
    /// given, the interface's, the direction of Linux cooked captures. Otherwise the device opened
    /// the connections, and of other flows it has the address in the most packets, or sent first.
    fn find_the_device(&self, given: &[IpAddr]) -> Vec<bool> {
        let mut local: Vec<IpAddr> = given.to_vec();
        local.extend(
            self.interfaces
                .iter()
                .flat_map(|interface| interface.addresses.iter().copied()),
        );
        let known = |local: &[IpAddr], key: &Key, flow: &Flow| {
            let ends = key.ends.map(|(address, _)| local.contains(&address));
            match ends {
                [true, false] => Some(true),
                [false, true] => Some(false),
                _ => flow.first_is_local,
            }
        };
        for (key, flow) in &self.flows {
            if let (None, Some(first)) = (known(&local, key, flow), flow.first_opened) {
                local.push(key.ends[usize::from(!first)].0);
            }
        }
        let mut packets: HashMap<IpAddr, (u64, usize)> = HashMap::new();
        for (order, (key, flow)) in self.flows.iter().enumerate() {
            if known(&local, key, flow).is_none() {
                for (place, (address, _)) in key.ends.iter().enumerate() {
                    let count = packets
                        .entry(*address)
                        .or_insert((0, usize::MAX - (2 * order + place)));
                    count.0 += flow.packets;
                }
            }
        }
        let most = packets.into_iter().max_by_key(|(_, count)| *count);
        local.extend(most.map(|(address, _)| address));
        self.flows
            .iter()
            .map(|(key, flow)| known(&local, key, flow).unwrap_or(true))
            .collect()
    }
}

const TCP: u8 = 6;
const UDP: u8 = 17;

/// What a packet says.
struct Frame<'a> {
    from: IpAddr,
    to: IpAddr,
    protocol: u8,
    ports: [u16; 2],
    payload: &'a [u8],
    /// Length of the link's header.
    header: u32,
    /// Whether the device sent it, if the capture says so.
    sent: Option<bool>,
    /// Whether it opens a TCP connection.
    opens: bool,
}

impl<'a> Frame<'a> {
    /// `None`: not IP.
    fn of(link: Linktype, data: &'a [u8]) -> Result<Option<Self>, Error> {
        /// Type of a packet in Linux cooked captures that the device sent.
        const OUTGOING: u8 = 4;
        let cooked = |protocol: usize, kind: usize, header: usize| {
            let ether = data
                .get(protocol..protocol + 2)
                .map(|two| u16::from_be_bytes([two[0], two[1]]));
            let sent = data.get(kind).map(|kind| *kind == OUTGOING);
            let rest = data.get(header..).unwrap_or_default();
            let sliced =
                ether.map(|ether| LaxSlicedPacket::from_ether_type(EtherType(ether), rest));
            (sliced, header as u32, sent)
        };
        let raw = |header: usize| {
            let rest = data.get(header..).unwrap_or_default();
            (LaxSlicedPacket::from_ip(rest).ok(), header as u32, None)
        };
        let (sliced, header, sent) = match link {
            Linktype::ETHERNET => (LaxSlicedPacket::from_ethernet(data).ok(), 14, None),
            Linktype::NULL | Linktype::LOOP => raw(4),
            Linktype::RAW | Linktype::IPV4 | Linktype::IPV6 | Linktype(12) => raw(0),
            Linktype::LINUX_SLL => cooked(14, 1, 16),
            Linktype::LINUX_SLL2 => cooked(0, 10, 20),
            Linktype(other) => return Err(Error::LinkType(other)),
        };
        let Some(sliced) = sliced else {
            return Ok(None);
        };
        let (from, to, protocol): (IpAddr, IpAddr, u8) = match &sliced.net {
            Some(LaxNetSlice::Ipv4(ip)) => (
                ip.header().source_addr().into(),
                ip.header().destination_addr().into(),
                ip.payload().ip_number.0,
            ),
            Some(LaxNetSlice::Ipv6(ip)) => (
                ip.header().source_addr().into(),
                ip.header().destination_addr().into(),
                ip.payload().ip_number.0,
            ),
            _ => return Ok(None),
        };
        let (ports, payload): ([u16; 2], &[u8]) = match &sliced.transport {
            Some(TransportSlice::Tcp(tcp)) => {
                ([tcp.source_port(), tcp.destination_port()], tcp.payload())
            }
            Some(TransportSlice::Udp(udp)) => {
                ([udp.source_port(), udp.destination_port()], udp.payload())
            }
            _ => ([0; 2], &[]),
        };
        let opens =
            matches!(&sliced.transport, Some(TransportSlice::Tcp(tcp)) if tcp.syn() && !tcp.ack());
        Ok(Some(Frame {
            from,
            to,
            protocol,
            ports,
            payload,
            header,
            sent,
            opens,
        }))
    }
}

fn interface(block: &InterfaceDescriptionBlock<'_>) -> Interface {
    let text = |value: &[u8]| {
        String::from_utf8_lossy(value)
            .trim_end_matches('\0')
            .to_owned()
    };
    let mut name = None;
    let mut addresses = vec![];
    for option in &block.options {
        match option.code {
            OptionCode::IfName => name = option.as_bytes().ok().map(text),
            OptionCode::IfIpv4Addr => addresses.extend(
                option
                    .value
                    .first_chunk()
                    .map(|bytes: &[u8; 4]| IpAddr::from(*bytes)),
            ),
            IPV6_ADDRESS => addresses.extend(
                option
                    .value
                    .first_chunk()
                    .map(|bytes: &[u8; 16]| IpAddr::from(*bytes)),
            ),
            _ => {}
        }
    }
    Interface {
        name,
        link: block.linktype,
        resolution: block.ts_resolution().unwrap_or(1_000_000).max(1),
        offset: block.ts_offset(),
        addresses,
    }
}
