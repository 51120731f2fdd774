//! The path of an arriving segment: which one takes it, and the fast ones.
//!
//! | case | path |
//! |---|---|
//! | the next one of its subflow, while no other one waits there | [`Engine::data_arrives`] |
//! | out of order, a second time, or while others wait for it | [`Engine::data_arrives_with_gaps`] |
//! | any other | [`Engine::data_arrives_generally`] |

use crate::application::Next;
use crate::path::packet::{Back, Front, Packet, Usual};
use crate::run::engine::Engine;

use super::{may_sleep, radio};

impl Engine {
    /// Handles a segment.
    #[inline(always)]
    pub(in crate::run) fn data_arrives(&mut self, packet: &Packet) {
        if !self.take_segment::<true>(packet) {
            self.data_arrives_with_gaps(packet.apart());
        }
    }

    /// Handles a segment that is not the next one, or that others wait for.
    #[inline(never)]
    pub(in crate::run) fn data_arrives_with_gaps(&mut self, (front, back): (Front, Back)) {
        let packet = Packet::joined(front, back);
        if !self.take_segment::<false>(&packet) {
            self.data_arrives_generally(packet);
        }
    }

    /// Handles a segment for which no fast path exists.
    #[inline(never)]
    fn data_arrives_generally(&mut self, packet: Packet) {
        let id = self.receivers[packet.subflow() as usize].id;
        if packet.epoch() != id.epoch {
            return;
        }
        let c = id.connection as usize;
        let next = self.receiver(c).receive_data(id.index(), packet);
        if next != Next::Nothing {
            self.endpoints(c).follow(next);
        }
    }

    /// Takes a segment, in order or next to a hole, and acknowledges it. Returns false if it did
    /// nothing.
    #[inline(always)]
    fn take_segment<const IN_ORDER: bool>(&mut self, packet: &Packet) -> bool {
        let s = packet.subflow() as usize;
        let is_enabled = self.may_use_fast_paths();
        let (now_ns, net, config) = (self.now_ns, &mut self.net, &self.config);
        let subflow = &mut self.receivers[s];
        let has_case = if IN_ORDER {
            subflow.takes_plainly(packet, config.acks_at_once)
        } else {
            config.acks_at_once && subflow.may_have_gaps(packet)
        };
        if !is_enabled || !has_case {
            return false;
        }
        let end = self.connections.receiving(subflow.id.connection as usize);
        let interface = radio(&mut self.interfaces, s, subflow.has_radio);
        if may_sleep(interface.as_deref(), now_ns) {
            return false;
        }
        let taken = subflow.take_in::<IN_ORDER>(end, packet, now_ns);
        let mut ack = packet.answer(subflow.order.next(), end.data.next());
        if !IN_ORDER {
            subflow.usual = Usual::NONE;
            subflow.note_mark(end, packet);
            ack = subflow.complete_ack(ack, end, config, &mut net.sacks, Some(taken.received));
        }
        let size = config.sizes.ack;
        net.offer(now_ns, subflow.first_hop, &mut ack, size);
        if subflow.id.downloads
            && let Some(interface) = interface
        {
            interface.count_awake(now_ns, packet.aux() + config.sizes.header, size, net);
        }
        self.count_fast_path();
        if taken.completes {
            self.complete(s);
        }
        true
    }

    /// Reports to the application at the end of subflow `s` that its data is complete.
    #[cold]
    fn complete(&mut self, s: usize) {
        let end = self
            .connections
            .receiving(self.receivers[s].id.connection as usize);
        let next = end.reader.delivered(end.data.next(), self.now_ns);
        if next != Next::Nothing {
            self.follow(s, next);
        }
    }

    /// Does what the application at the end of subflow `s` asks for.
    #[cold]
    fn follow(&mut self, s: usize, next: Next) {
        let id = self.receivers[s].id;
        self.endpoints(id.connection as usize).follow(next);
    }
}
