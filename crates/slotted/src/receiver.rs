//! The receiver: delivers packets in order and measures their delay.

use std::collections::VecDeque;

/// A packet of data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Packet {
    /// Position in the data, from 0.
    pub(crate) number: u64,
    /// When the application wrote it, s.
    pub(crate) written_s: f64,
}

/// A packet that the application has received.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Delivered {
    /// When it was written, s.
    pub(crate) written_s: f64,
    /// When this packet and all before it have arrived, s.
    pub(crate) at_s: f64,
}

/// The receiving end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Receiver {
    /// Packets that arrived out of order: element k is packet `next + k` with its arrival, s.
    pending: VecDeque<Option<(Packet, f64)>>,
    next: u64,
    latest_s: f64,
}

impl Receiver {
    /// Takes a packet that arrives at `at_s`. `deliver` gets the packets that are in order after
    /// it.
    pub(crate) fn arrive(&mut self, packet: Packet, at_s: f64, mut deliver: impl FnMut(Delivered)) {
        let place = (packet.number - self.next) as usize;
        if place >= self.pending.len() {
            self.pending.resize(place + 1, None);
        }
        self.pending[place] = Some((packet, at_s));
        while let Some(Some((packet, at_s))) = self.pending.front().copied() {
            self.pending.pop_front();
            self.next += 1;
            self.latest_s = self.latest_s.max(at_s);
            deliver(Delivered {
                written_s: packet.written_s,
                at_s: self.latest_s,
            });
        }
    }

    /// Number of packets delivered in order.
    pub(crate) fn in_order(&self) -> u64 {
        self.next
    }

    /// Number of packets that wait for an earlier one.
    pub(crate) fn out_of_order(&self) -> u64 {
        self.pending.iter().flatten().count() as u64
    }
}
