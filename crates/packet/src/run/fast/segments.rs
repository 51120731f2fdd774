//! Fast paths of segments at the receiving end: in order, or beside a hole.

use crate::application::Next;
use crate::path::packet::{CE, ECE, Packet, Usual};
use crate::receiver::Arrival;
use crate::run::engine::Engine;

use super::{may_sleep, radio};

impl Engine {
    /// Takes a segment that is the next one of its subflow, while no other one waits there, and acknowledges
    /// it. Returns false if nothing has been done.
    #[inline(always)]
    pub(crate) fn take_segment(&mut self, packet: &Packet) -> bool {
        let s = packet.subflow() as usize;
        let may_use_fast_paths = self.may_use_fast_paths();
        let (now_ns, net) = (self.now_ns, &mut self.net);
        let subflow = &mut self.receivers[s];
        if !may_use_fast_paths || !subflow.takes_plainly(packet, self.config.acks_at_once) {
            return false;
        }
        let c = subflow.id.connection as usize;
        let (end, downloads) = (self.connections.receiving(c), subflow.id.downloads);
        let interface = radio(&mut self.interfaces, s, subflow.has_radio);
        if may_sleep(interface.as_deref(), now_ns) {
            return false;
        }
        let len = packet.aux() as u16;
        let ssn = subflow.order.accept_next();
        if end.data.accept(packet.dsn(), len) {
            subflow.first_copy_bytes += u64::from(len);
        }
        let dsn = end.data.next();
        let completes = end.reader.is_complete(dsn);
        if let Some(reception) = &mut end.reception {
            reception.arrive(packet.dsn(), now_ns);
            reception.settle(dsn, end.data.held(), now_ns);
        }
        let mut ack = packet.answer(ssn, dsn);
        // The radio is awake: the interface is.
        let size = self.config.sizes.ack;
        net.offer(now_ns, subflow.first_hop, &mut ack, size);
        if downloads && let Some(interface) = interface {
            interface.count_awake(now_ns, packet.aux() + self.config.sizes.header, size);
        }
        if completes {
            self.complete(s, dsn);
        }
        true
    }

    /// Takes a segment that comes out of order, a second time, or while others wait for it, and acknowledges
    /// it. Returns false if nothing has been done.
    #[inline(always)]
    pub(crate) fn take_segment_beside_hole(&mut self, packet: &Packet) -> bool {
        let s = packet.subflow() as usize;
        let may_use_fast_paths = self.may_use_fast_paths();
        let (now_ns, net, config) = (self.now_ns, &mut self.net, &self.config);
        let subflow = &mut self.receivers[s];
        let is_usual = packet.epoch() == subflow.id.epoch && subflow.is_open && subflow.relay.is_none();
        if !is_usual || !config.acks_at_once || !may_use_fast_paths {
            return false;
        }
        let c = subflow.id.connection as usize;
        let (end, downloads) = (self.connections.receiving(c), subflow.id.downloads);
        let interface = radio(&mut self.interfaces, s, subflow.has_radio);
        if may_sleep(interface.as_deref(), now_ns) {
            return false;
        }
        let (len, held) = (packet.aux() as u16, subflow.order.held());
        subflow.usual = Usual::NONE;
        let (arrival, received) = subflow.order.accept(packet.ssn(), packet.dsn(), len);
        let mut next = Next::Nothing;
        match arrival {
            Arrival::InOrder => {
                subflow.deliver(end, packet.dsn(), len);
                next = end.reader.delivered(end.data.next(), now_ns);
            }
            Arrival::Duplicate => subflow.duplicate = Some(packet.ssn()),
            Arrival::OutOfOrder => {}
        }
        let dsn = end.data.next();
        if let Some(reception) = &mut end.reception {
            reception.arrive(packet.dsn(), now_ns);
            let gained = subflow.order.held().wrapping_sub(held);
            reception.held_by_subflows = reception.held_by_subflows.wrapping_add(gained);
            reception.settle_changed(dsn, end.data.held(), now_ns);
        }
        if subflow.ece || packet.flags() & CE != 0 {
            subflow.note_mark(end, packet);
        }
        let mut ack = packet
            .answer(subflow.order.next(), dsn)
            .with_aux(subflow.sack((config, &mut net.sacks), Some(received)))
            .with_flags(if subflow.ece { ECE } else { 0 });
        let size = config.sizes.ack;
        net.offer(now_ns, subflow.first_hop, &mut ack, size);
        if downloads && let Some(interface) = interface {
            interface.count_awake(now_ns, packet.aux() + config.sizes.header, size);
        }
        if next != Next::Nothing {
            self.follow(s, next);
        }
        true
    }

    /// Lets the application at the end of subflow `s` know that all it waited for below `dsn` has arrived.
    #[cold]
    fn complete(&mut self, s: usize, dsn: u32) {
        let c = self.receivers[s].id.connection as usize;
        let next = self.connections.receiving(c).reader.delivered(dsn, self.now_ns);
        if next != Next::Nothing {
            self.follow(s, next);
        }
    }

    /// Does what the application at the end of subflow `s` wants next.
    #[cold]
    fn follow(&mut self, s: usize, next: Next) {
        let id = self.receivers[s].id;
        self.endpoints(id.connection as usize).follow(next);
    }
}
