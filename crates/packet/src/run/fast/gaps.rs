//! The fast path of an ACK that comes while segments are missing and RACK repairs the losses.
//!
//! Where windows are small these are many: a quarter of all ACKs if each window has six packets. What
//! has no effect in this case is left out; the tests in [`super::in_order`] compare the results.

use crate::connection::context::Clock;
use crate::path::packet::{Packet, Usual};
use crate::run::engine::Engine;
use crate::run::fast::in_order::{may_sleep, radio, send};
use crate::sender::{FastPath, WithGaps};

impl Engine {
    /// Takes an ACK on a subflow that has gaps, and sends what it admits.
    #[inline(always)]
    pub(crate) fn take_ack_with_gaps(&mut self, packet: &Packet) -> FastPath {
        self.take_ack_on::<true>(packet)
    }

    #[inline(never)]
    fn take_ack_beside_others(&mut self, packet: &Packet) -> FastPath {
        self.take_ack_on::<false>(packet)
    }

    /// The same for the only subflow of a connection, for which no scheduler is asked, and for others. Each
    /// has a copy of its own, because the only one needs less.
    #[inline(always)]
    fn take_ack_on<const ALONE: bool>(&mut self, packet: &Packet) -> FastPath {
        let s = packet.subflow() as usize;
        let may_use_fast_paths = self.may_use_fast_paths();
        let (now_ns, net, config) = (self.now_ns, &mut self.net, &self.config);
        let subflow = &mut self.senders[s];
        if !subflow.may_have_gaps(packet) || !config.is_rack() || !may_use_fast_paths {
            return FastPath::Declined;
        }
        let c = subflow.id.connection as usize;
        let i = if ALONE { 0 } else { subflow.id.index() };
        let (end, uploads) = (self.connections.sending(c), !subflow.id.downloads);
        let mut interface = radio(&mut self.interfaces, s, subflow.has_radio);
        let is_unusual = end.is_unusual || (!ALONE && end.copies_repairs);
        if is_unusual || may_sleep(interface.as_deref(), now_ns) {
            return FastPath::Declined;
        }
        if ALONE && end.is_scheduled {
            return self.take_ack_beside_others(packet);
        }
        subflow.usual = Usual::NONE;
        if uploads && let Some(interface) = &mut interface {
            interface.count_awake(now_ns, config.sizes.ack, 0);
        }
        if end.data.acknowledge(packet.dsn()) {
            end.writer.forget(packet.dsn());
        }
        let blocks = if packet.aux() == 0 { None } else { Some(net.sacks.take(packet.aux())) };
        let clock = Clock::of(s, config, now_ns, &mut net.queue);
        subflow.take_ack(&mut WithGaps(clock), end, i, packet, blocks);
        let mut space = end.cc.subflows[i].cwnd.saturating_sub(subflow.board.in_flight());
        if subflow.board.is_empty() {
            if !ALONE {
                subflow.show_gaps(end, i);
            }
            return FastPath::Push; // the window may have to be restarted
        }
        let mut repairs = subflow.is_recovering();
        while space > 0 {
            space -= 1;
            let mut clock = Clock::of(s, config, now_ns, &mut net.queue);
            let Some(departing) = subflow.next_departing(end, &mut repairs, ALONE, &mut clock) else { break };
            send(net, config, (&mut *subflow, interface.as_deref_mut()), departing, s, now_ns);
        }
        if ALONE {
            return FastPath::Done;
        }
        subflow.show_gaps(end, i);
        // A scheduler is asked about the oldest segment when the window is full.
        if end.has_space() || !end.data.window_open() { FastPath::Push } else { FastPath::Done }
    }
}
