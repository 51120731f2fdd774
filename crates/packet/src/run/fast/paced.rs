//! The fast path of ACKs where the controller owns the window or the scheduler looks ahead of it, and of
//! segments that leave because the pacing rate does not hold them any longer.
//!
//! What has no effect on a subflow where nothing is unusual is left out; the tests in [`super::in_order`]
//! compare the results.

use crate::connection::context::Clock;
use crate::path::packet::{Back, Front, Packet};
use crate::run::engine::Engine;
use crate::run::fast::in_order::{may_sleep, radio, send};
use crate::sender::{Congestion, Departing, FastPath, InOrder};

impl Engine {
    /// A plain ACK has arrived, where the controller owns its window or the scheduler looks ahead of it.
    #[inline(never)]
    pub(crate) fn ack_arrives_apart(&mut self, (front, back): (Front, Back)) {
        let packet = Packet::joined(front, back);
        let short = self.take_ack_apart(&packet);
        self.finish_ack(short, packet);
    }

    /// Takes an ACK of the kind that [`take_ack`](Self::take_ack) takes, and sends what it admits if that is
    /// easy to say.
    #[inline(always)]
    fn take_ack_apart(&mut self, packet: &Packet) -> FastPath {
        let s = packet.subflow() as usize;
        let (now_ns, net, config) = (self.now_ns, &mut self.net, &self.config);
        let subflow = &mut self.senders[s];
        let (i, uploads) = (subflow.id.index(), !subflow.id.downloads);
        let c = subflow.id.connection as usize;
        let end = self.connections.sending(c);
        let interface = radio(&mut self.interfaces, s, subflow.has_radio);
        if may_sleep(interface.as_deref(), now_ns) {
            return FastPath::Declined;
        }
        if uploads && let Some(interface) = interface {
            interface.count_awake(now_ns, config.sizes.ack, 0);
        }
        if end.queues_ahead {
            let mut sender = self.sender_as_plain(c);
            sender.take_ack_ahead(i, packet);
            sender.push_after(i);
            return FastPath::Done;
        }
        if end.data.acknowledge(packet.dsn()) {
            end.writer.forget(packet.dsn());
        }
        let clock = Clock::of(s, config, now_ns, &mut net.queue);
        subflow.take_ack(&mut InOrder::<true>(clock), end, i, packet, None);
        let outstanding = subflow.board.outstanding();
        if end.is_scheduled {
            subflow.show((&mut *end, i), outstanding, Congestion::Open, subflow.is_held(now_ns));
        }
        let has_choice = end.is_scheduled && end.has_choice_after(i);
        // With fewer than two segments the timer has to be set anew for each that is sent.
        if has_choice || outstanding < 2 {
            return FastPath::Push;
        }
        self.send_at_pace(s, outstanding, true)
    }

    /// The pacing rate does not hold back segments of subflow `s` any longer.
    pub(crate) fn release(&mut self, s: usize) {
        if !self.take_release(s) {
            let id = self.senders[s].id;
            self.sender(id.connection as usize).release(id.index());
        }
    }

    /// Sends what may leave if that is easy to say. Returns false if nothing has been done.
    #[inline(always)]
    fn take_release(&mut self, s: usize) -> bool {
        let may_use_fast_paths = self.may_use_fast_paths();
        let (now_ns, config) = (self.now_ns, &self.config);
        let subflow = &mut self.senders[s];
        let end = self.connections.sending(subflow.id.connection as usize);
        let interface = radio(&mut self.interfaces, s, subflow.has_radio);
        let outstanding = subflow.board.outstanding();
        let is_usual = end.has_own_way && !end.queues_ahead && subflow.is_plain() && outstanding >= 2;
        if !may_use_fast_paths || !is_usual || may_sleep(interface.as_deref(), now_ns) {
            return false;
        }
        if end.is_scheduled {
            subflow.refresh_view_at(config, end, now_ns);
            if end.has_choice_after(subflow.id.index()) || !end.data.window_open() {
                return false;
            }
        }
        if self.send_at_pace(s, outstanding, false) == FastPath::Push {
            let id = self.senders[s].id;
            self.sender_as_plain(id.connection as usize).push();
        }
        true
    }

    /// Sends the new segments that windows and pacing admit on subflow `s`, which is plain and has
    /// `outstanding` segments outstanding, two at least. It is the only one that may send. `is_armed` if its
    /// timer has just been set.
    #[inline(always)]
    fn send_at_pace(&mut self, s: usize, outstanding: u32, is_armed: bool) -> FastPath {
        let (now_ns, net, config) = (self.now_ns, &mut self.net, &self.config);
        let subflow = &mut self.senders[s];
        let (c, i) = (subflow.id.connection as usize, subflow.id.index());
        let subflows = self.connections.subflows(c);
        let end = self.connections.sending(c);
        let mut interface = radio(&mut self.interfaces, s, subflow.has_radio);
        let mut left = end.may_send_new_now().min(subflow.owned_space(end, i, outstanding, now_ns));
        if left > 0 && !is_armed {
            subflow.arm_for_new(&mut Clock::of(s, config, now_ns, &mut net.queue));
        }
        while left > 0 {
            let len = end.writer.segment_len(end.data.next());
            let dsn = end.data.take_new(i);
            let ssn = subflow.note_sent(end, dsn, len, now_ns);
            let departing = Departing { ssn, dsn, len, flags: 0 };
            send(net, config, (&mut *subflow, interface.as_deref_mut()), departing, s, now_ns);
            subflow.note_departure(config, end, (ssn, len), false, now_ns);
            left = if subflow.is_held(now_ns) { 0 } else { left - 1 };
        }
        // A scheduler is asked about the oldest segment when the window is full.
        if end.is_scheduled && !end.data.window_open() {
            return FastPath::Push;
        }
        for s in subflows {
            let mut clock = Clock::of_release(s, config, now_ns, &mut net.queue);
            self.senders[s].wait_for_release(end, &mut clock);
        }
        FastPath::Done
    }
}
