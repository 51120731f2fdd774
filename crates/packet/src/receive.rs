//! The receiver of data: reassembly, delivery to the application, acknowledgements (RFC 5681, section 4.2).

use joulepath_model::energy::Traffic;

use crate::application::Next;
use crate::lane::Lane;
use crate::packet::{CE, CWR, ECE, Kind, Packet, Tick};
use crate::reassembly::Arrival;
use crate::subflow::Phase;

/// An ACK at least for every second segment (RFC 5681).
const SEGMENTS_PER_ACK: u32 = 2;

impl Lane<'_> {
    pub(crate) fn receive_data(&mut self, i: usize, packet: Packet) {
        if matches!(self.subflows[i].phase, Phase::Closed | Phase::Dead) {
            return;
        }
        if self.subflows[i].relay.is_some() {
            return self.receive_at_relay(i, packet);
        }
        if self.downloads() {
            self.meter(i, packet.aux + self.common.sizes.header, Traffic::Down);
        }
        let receiver = &mut self.subflows[i].receiver;
        let held = receiver.held();
        let had_holes = held > 0;
        let arrival = receiver.accept(packet.ssn, packet.dsn, packet.aux as u16);
        let mut next = Next::Nothing;
        if arrival == Arrival::InOrder {
            self.deliver(i, packet.dsn, packet.aux as u16);
            next = self.connection.application.delivered(self.connection.receiver.next(), self.now_ns);
        }
        if let Some(device) = &mut self.connection.device {
            let (data, reception) = (&self.connection.receiver, &mut device.reception);
            reception.arrive(packet.dsn, self.now_ns);
            let gained = self.subflows[i].receiver.held().wrapping_sub(held);
            reception.held_by_subflows = reception.held_by_subflows.wrapping_add(gained);
            reception.settle(data.next(), data.held(), self.now_ns);
        }
        let at_once = self.note_mark(i, &packet) || arrival != Arrival::InOrder || had_holes;
        self.acknowledge(i, &packet, at_once);
        if next != Next::Nothing {
            self.follow(next);
        }
    }

    /// A segment is in order on its subflow, and perhaps those that waited behind it.
    #[inline]
    fn deliver(&mut self, i: usize, mut dsn: u32, mut len: u16) {
        let subflow = &mut self.subflows[i];
        loop {
            if self.connection.receiver.accept(dsn, len) {
                subflow.stats.first_copy_bytes += u64::from(len);
            }
            match subflow.receiver.next_in_order() {
                Some(held) => (dsn, len) = held,
                None => break,
            }
        }
    }

    /// ECN at the receiver; whether the sender must hear of a change at once (RFC 8257, section 3.2).
    #[inline]
    pub(crate) fn note_mark(&mut self, i: usize, packet: &Packet) -> bool {
        let receiver = &mut self.subflows[i].receiver;
        let marked = packet.flags & CE != 0;
        if self.connection.echoes_each_mark {
            return marked != std::mem::replace(&mut receiver.ece, marked);
        }
        receiver.ece = marked || (receiver.ece && packet.flags & CWR == 0);
        false
    }

    #[inline(always)]
    fn acknowledge(&mut self, i: usize, packet: &Packet, at_once: bool) {
        let subflow = &mut self.subflows[i];
        let Some(delay) = self.common.transport.delayed_ack else {
            return self.send_ack(i, packet.sent, packet.ssn);
        };
        let receiver = &mut subflow.receiver;
        if receiver.unacknowledged == 0 {
            receiver.echo = packet.sent;
        }
        receiver.unacknowledged += 1;
        if at_once {
            // The echo is the clock of the segment itself, so that its RTT is its own.
            self.send_ack(i, packet.sent, packet.ssn);
        } else if receiver.unacknowledged >= SEGMENTS_PER_ACK {
            let echo = receiver.echo;
            self.send_ack(i, echo, packet.ssn);
        } else {
            let source = self.common.sources.delayed_ack(self.connection.first as usize + i);
            subflow.delayed_ack.set(self.now_ns + delay.0, source, &mut self.net.queue);
        }
    }

    /// The delayed-ACK timer expired.
    pub(crate) fn send_pending_ack(&mut self, i: usize) {
        let receiver = &self.subflows[i].receiver;
        if receiver.unacknowledged > 0 {
            let (echo, trigger) = (receiver.echo, receiver.next());
            self.send_ack(i, echo, trigger);
        }
    }

    /// Acknowledges everything received; `trigger` is the segment that causes it.
    #[inline(always)]
    fn send_ack(&mut self, i: usize, echo: Tick, trigger: u32) {
        let global = self.global(i) as u32;
        let subflow = &mut self.subflows[i];
        let receiver = &mut subflow.receiver;
        receiver.unacknowledged = 0;
        subflow.delayed_ack.clear();
        let blocks = if receiver.has_holes() && self.common.transport.recovery.has_sack() {
            self.net.sacks.store(receiver.sack_blocks(trigger))
        } else {
            0
        };
        let packet = Packet {
            arrival_ns: 0,
            sent: echo,
            subflow: global,
            ssn: receiver.next(),
            dsn: self.connection.receiver.next(),
            aux: blocks,
            kind: Kind::Ack,
            flags: if receiver.ece { ECE } else { 0 },
            hop: 0,
            epoch: subflow.epoch,
        };
        let link = self.net.link_at(subflow.ack_route, 0);
        let size = self.common.sizes.ack;
        self.offer(i, link, packet, size);
        if self.downloads() {
            self.meter(i, size, Traffic::Up);
        }
    }
}
