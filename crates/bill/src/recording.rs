//! Recorded traffic.

use std::io;

use joulepath_model::energy::{DeviceEnergy, InterfaceModel, Traffic};
use joulepath_model::units::Nanos;

/// Traffic of one device.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recording {
    /// Names of the interfaces.
    pub interfaces: Vec<String>,
    /// What the packets belong to.
    pub causes: Vec<Cause>,
    /// By time.
    pub packets: Vec<Packet>,
    /// What the recording does not say.
    pub notes: Vec<String>,
}

/// A connection or a request. All its packets pass one interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// Name or address of the other end.
    pub host: String,
    /// For example `TCP 443` or `GET /index.html`.
    pub request: String,
}

/// One packet, or some that pass together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Since the first packet.
    pub at: Nanos,
    /// Index of the interface.
    pub interface: usize,
    /// Index of the cause.
    pub cause: usize,
    /// Its direction at the device.
    pub traffic: Traffic,
    /// Length with the IP header. 0 wakes a radio and costs nothing more.
    pub bytes: u32,
}

/// The radios and the device that carry a recording.
#[derive(Clone, Debug)]
pub struct Device {
    /// Names of the radios, for readers.
    pub names: Vec<String>,
    /// The energy model of each interface of the recording.
    pub radios: Vec<InterfaceModel>,
    /// What they share.
    pub device: DeviceEnergy,
}

impl Recording {
    /// The time from the first to the last packet.
    pub fn duration(&self) -> Nanos {
        self.packets.last().map_or(Nanos::ZERO, |packet| packet.at)
    }

    /// Sorts the packets and counts their times from the first.
    pub(crate) fn in_order(mut self) -> Self {
        self.packets.sort_by_key(|packet| packet.at);
        let first = self.packets.first().map_or(Nanos::ZERO, |packet| packet.at);
        for packet in &mut self.packets {
            packet.at = packet.at.saturating_sub(first);
        }
        self
    }
}

/// A recording that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be read.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// Neither of the formats.
    #[error("it is no pcap, no pcapng and no HAR file")]
    Format,
    /// A capture with an error in it.
    #[error("packet {packet} of the capture: {reason}")]
    Capture {
        /// Its number, from 1.
        packet: u64,
        /// The parser's reason.
        reason: String,
    },
    /// Captured on a link whose packets are not understood.
    #[error(
        "the capture has link type {0}, not Ethernet, raw IP or Linux cooked: capture on the network \
         interface, for example with `tcpdump -i wlan0`"
    )]
    LinkType(i32),
    /// JSON that is no HAR.
    #[error("the HAR file: {0}")]
    Har(#[from] serde_json::Error),
    /// A HAR entry with an error in it.
    #[error("entry {entry} of the HAR file: {reason}")]
    Entry {
        /// Its number, from 1.
        entry: usize,
        /// What is wrong.
        reason: String,
    },
    /// No packet at all.
    #[error("it has no packet of any host")]
    Empty,
}
