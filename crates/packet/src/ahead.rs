//! Reading ahead in large networks, whose state is far larger than the processor's caches.
//!
//! The timing wheel has the events of the present microsecond in order. What each of them will touch is found
//! step by step, each step one event after the step before, so that no step waits for memory:
//!
//! ```text
//!   events ahead     5           4              3              2                     1
//!                    the link ─► its first ──► the packet's ─► the next link ─────► its last places;
//!                                packet        route           or the subflow's end  the connection
//! ```
//! This only brings memory nearer. What an event does is decided when its turn comes.

use crate::engine::Engine;
use crate::hop::Hop;
use crate::packet::{Kind, Packet};
use crate::prefetch::{prefetch, prefetch_lines};

/// Cache lines that every ACK touches at a sending end.
const SENDER_LINES: usize = 5;

impl Engine {
    /// Asks for the memory that the events after the present one need.
    #[inline(always)]
    pub(crate) fn look_ahead(&self) {
        let Some(due) = self.net.queue.due() else { return };
        self.net.prefetch_wire(due, 5);
        if let Some(packet) = self.net.first_of(due, 4) {
            prefetch(packet);
        }
        if let Some(packet) = self.net.first_of(due, 3) {
            self.net.prefetch_way(packet);
        }
        if let Some(packet) = self.net.first_of(due, 2) {
            match self.hop_after(packet) {
                Some(hop) => self.net.prefetch_link(hop),
                None => self.prefetch_end(packet),
            }
        }
        if let Some(packet) = self.net.first_of(due, 1) {
            match self.hop_after(packet) {
                Some(hop) => self.net.prefetch_places(hop, packet.subflow()),
                None => self.prefetch_connection(packet),
            }
        }
    }

    /// What a packet that is still on its present link enters after it; none if it arrives.
    #[inline(always)]
    fn hop_after(&self, packet: &Packet) -> Option<Hop> {
        match packet.kind {
            Kind::Data => self.net.next_of_data(packet.subflow(), packet.hop + 1),
            Kind::Ack => self.net.next_of_ack(packet.subflow(), packet.hop + 1),
            _ => None,
        }
    }

    #[inline(always)]
    fn prefetch_end(&self, packet: &Packet) {
        let s = packet.subflow() as usize;
        match packet.kind {
            Kind::Data => {
                prefetch_lines(self.receivers.address(s), 1);
                prefetch_lines(self.interfaces.address(s), 1);
            }
            Kind::Ack => {
                prefetch_lines(self.senders.address(s), SENDER_LINES);
                prefetch_lines(self.interfaces.address(s), 1);
            }
            _ => {}
        }
    }

    #[inline(always)]
    fn prefetch_connection(&self, packet: &Packet) {
        let s = packet.subflow() as usize;
        match packet.kind {
            Kind::Data => {
                if let Some(receiver) = self.receivers.get(s) {
                    let c = receiver.id.connection as usize;
                    let (end, reader) = self.connections.addresses_of_receiving(c);
                    prefetch_lines(end, 1);
                    prefetch_lines(reader, 1);
                    self.net.prefetch_places(receiver.first_hop, packet.subflow());
                }
            }
            Kind::Ack => {
                if let Some(sender) = self.senders.get(s) {
                    let end = self.connections.sending_at(sender.id.connection as usize);
                    prefetch_lines(&end.cc.subflows[sender.id.index()], 2);
                    prefetch(&end.views[sender.id.index()]);
                    prefetch_lines(end, 2);
                    prefetch(&end.writer);
                    self.net.prefetch_places(sender.first_hop, packet.subflow());
                }
            }
            _ => {}
        }
    }
}
