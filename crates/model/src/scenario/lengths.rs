//! Lengths written in packets, in bytes, or as a time; rates by signal.

use super::ProcessingDelay;
use super::error::Problems;
use super::read::{Node, Read, quantity_text};
use crate::network::QueueLimit;
use crate::units::{BitRate, Bytes, Dbm, Nanos};

/// A number of packets with its unit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packets(pub(super) u32);

impl Packets {
    /// Parses a text that ends with `packets`; `None` for any other text.
    fn parse(text: &str) -> Option<Self> {
        let number = text
            .trim()
            .strip_suffix("packets")
            .or_else(|| text.trim().strip_suffix("packet"))?;
        number.trim().replace('_', "").parse().ok().map(Packets)
    }
}

impl Read for Packets {
    const EXAMPLE: &'static str = "\"10 packets\"";

    fn read(node: &Node<'_>, out: &mut Problems) -> Option<Self> {
        let text = quantity_text(node, "10 packets", out)?;
        let packets = Packets::parse(&text);
        if packets.is_none() {
            let message = format!("`{text}` is not a number of packets");
            out.note_with_help(&node.span(), message, "write for example \"10 packets\"");
        }
        packets
    }
}

/// The length of a queue, in packets or bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Queue(pub(super) QueueLimit);

impl Read for Queue {
    const EXAMPLE: &'static str = "\"50 packets\"";

    fn read(node: &Node<'_>, out: &mut Problems) -> Option<Self> {
        let text = quantity_text(node, "50 packets", out)?;
        let limit = Packets::parse(&text)
            .map(|packets| QueueLimit::Packets(packets.0))
            .or_else(|| text.parse().ok().map(QueueLimit::Bytes));
        if limit.is_none() {
            let message = format!("`{text}` is not the length of a queue");
            out.note_with_help(
                &node.span(),
                message,
                "write for example \"50 packets\" or \"64 KiB\"",
            );
        }
        limit.map(Queue)
    }
}

/// How far a packet is held back: a number of packets, or a time.
#[derive(Clone, Copy, Debug)]
pub(super) enum Depth {
    Packets(Packets),
    Time(Nanos),
}

impl Read for Depth {
    const EXAMPLE: &'static str = "\"3 packets\"";

    fn read(node: &Node<'_>, out: &mut Problems) -> Option<Self> {
        let text = quantity_text(node, "3 packets", out)?;
        let depth = Packets::parse(&text).map(Depth::Packets);
        let depth = depth.or_else(|| text.parse().ok().map(Depth::Time));
        if depth.is_none() {
            let message = format!("`{text}` is neither a number of packets nor a time");
            out.note_with_help(
                &node.span(),
                message,
                "write for example \"3 packets\" or \"5 ms\"",
            );
        }
        depth
    }
}

impl Read for ProcessingDelay {
    const EXAMPLE: &'static str = "\"1 packet\"";

    fn read(node: &Node<'_>, out: &mut Problems) -> Option<Self> {
        let text = quantity_text(node, "1 packet", out)?;
        let delay = Packets::parse(&text)
            .map(|packets| ProcessingDelay::Packets(packets.0))
            .or_else(|| text.parse().ok().map(ProcessingDelay::Time));
        if delay.is_none() {
            let message = format!("`{text}` is neither a time nor a number of packets");
            let help = "write for example \"1 packet\" or \"50 us\", or \"0 s\" for hosts that take no time";
            out.note_with_help(&node.span(), message, help);
        }
        delay
    }
}

/// The size of a receive buffer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum ReceiveBuffer {
    /// As in Linux: memory that grows.
    Auto,
    Fixed(Bytes),
}

impl ReceiveBuffer {
    /// The word for memory that grows.
    pub(super) const AUTO: &'static str = "auto";
}

impl Read for ReceiveBuffer {
    const EXAMPLE: &'static str = "\"4 MiB\"";

    fn read(node: &Node<'_>, out: &mut Problems) -> Option<Self> {
        if node.get_ref().as_str() == Some(Self::AUTO) {
            return Some(ReceiveBuffer::Auto);
        }
        Bytes::read(node, out).map(ReceiveBuffer::Fixed)
    }
}

/// Rates by signal: points, or the name of a profile.
#[derive(Clone, Debug, schemars::JsonSchema)]
#[schemars(untagged)]
pub(super) enum RatesBySignal {
    Profile(String),
    Points(Vec<(Dbm, BitRate)>),
}

impl Read for RatesBySignal {
    const EXAMPLE: &'static str = "[[\"-110 dBm\", \"5 Mbit/s\"], [\"-80 dBm\", \"100 Mbit/s\"]]";

    fn read(node: &Node<'_>, out: &mut Problems) -> Option<Self> {
        if node.get_ref().is_array() {
            return Vec::read(node, out).map(RatesBySignal::Points);
        }
        String::read(node, out).map(RatesBySignal::Profile)
    }
}
