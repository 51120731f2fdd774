//! The path of an ACK: which one takes it, and the fast ones.
//!
//! | case | path |
//! |---|---|
//! | in order: for new data, without SACK blocks and marks, on a plain subflow | [`Engine::ack_arrives`] |
//! | the same, if the controller owns the window or data is queued ahead | [`Engine::ack_arrives_paced`] |
//! | segments are missing, and RACK recovers them | [`Engine::ack_arrives_with_gaps`] |
//! | any other | [`Engine::ack_arrives_generally`] |
//!
//! All cases treat the subflow alike, in `SubflowSender::take_ack`.

use super::sending::{Rest, SendingSide};
use crate::connection::context::Clock;
use crate::path::packet::{Back, Front, Packet, Usual};
use crate::run::engine::Engine;
use crate::sender::{Congestion, InOrder, Progress, WithGaps};

impl Engine {
    /// Handles an ACK.
    #[inline(always)]
    pub(in crate::run) fn ack_arrives(&mut self, packet: &Packet) {
        let is_enabled = self.may_use_fast_paths();
        let mut side = SendingSide::of(self, packet.subflow());
        if !is_enabled || !side.subflow.takes_plainly(packet) {
            return self.ack_arrives_with_gaps(packet.apart());
        }
        if side.end.is_unusual {
            return self.ack_arrives_paced(packet.apart());
        }
        if side.may_sleep() {
            return self.ack_arrives_with_gaps(packet.apart());
        }
        side.note_ack(packet);
        let rest = side.take_ack_in_order::<false>(packet);
        self.finish_ack(packet.subflow(), rest);
    }

    /// Handles an in-order ACK where the controller owns its window or is hosted, or the scheduler
    /// queues ahead of the window.
    #[inline(never)]
    fn ack_arrives_paced(&mut self, (front, back): (Front, Back)) {
        let packet = Packet::joined(front, back);
        let s = packet.subflow();
        let mut side = SendingSide::of(self, s);
        if !side.end.has_paced_path || side.may_sleep() {
            return self.ack_arrives_generally(packet);
        }
        if side.end.queues_ahead {
            side.count_ack();
            let id = side.subflow.id;
            let mut sender = self.sender_as_plain(id.connection as usize);
            sender.take_ack_ahead(id.index(), &packet);
            return self.count_fast_path();
        }
        side.note_ack(&packet);
        let rest = side.take_ack_in_order::<true>(&packet);
        self.finish_ack(s, rest);
    }

    /// Handles an ACK that is not in order, or arrives while segments are missing.
    #[inline(never)]
    pub(in crate::run) fn ack_arrives_with_gaps(&mut self, (front, back): (Front, Back)) {
        let packet = Packet::joined(front, back);
        let is_enabled = self.may_use_fast_paths();
        let mut side = SendingSide::of(self, packet.subflow());
        let has_case = is_enabled && side.config.is_rack() && side.subflow.may_have_gaps(&packet);
        let is_alone = !side.end.is_scheduled;
        if !has_case
            || side.end.is_unusual
            || side.may_sleep()
            || (!is_alone && side.end.copies_repairs)
        {
            return self.ack_arrives_generally(packet);
        }
        side.note_ack(&packet);
        let rest = side.take_ack_with_gaps(&packet, is_alone);
        self.finish_ack(packet.subflow(), rest);
    }

    /// Handles an ACK for which no fast path exists.
    #[inline(never)]
    fn ack_arrives_generally(&mut self, packet: Packet) {
        let id = self.senders[packet.subflow() as usize].id;
        if packet.epoch() != id.epoch {
            return self.net.discard(packet.kind(), packet.aux());
        }
        let (c, i) = (id.connection as usize, id.index());
        let mut sender = self.sender(c);
        match sender.receive_ack(i, packet) {
            Progress::Taken => sender.push_after(i),
            Progress::Drained => self.endpoints(c).close_drained(i),
            Progress::Ignored => {}
        }
    }

    #[inline(always)]
    fn finish_ack(&mut self, s: u32, rest: Rest) {
        self.count_fast_path();
        match rest {
            Rest::Nothing => {}
            Rest::Send(segments) => self.send_several(s, segments),
            Rest::Pace => self.send_at_pace(s, true),
            Rest::Push => self.push_after(s),
        }
    }

    /// Sends what an ACK for subflow `s` admits.
    #[inline(never)]
    pub(super) fn push_after(&mut self, s: u32) {
        let id = self.senders[s as usize].id;
        self.sender_as_plain(id.connection as usize)
            .push_after(id.index());
    }

    /// Sends `segments` new segments on plain subflow `s`.
    #[inline(never)]
    fn send_several(&mut self, s: u32, segments: u32) {
        let mut side = SendingSide::of(self, s);
        for _ in 0..segments {
            side.send_new();
        }
        if side.must_ask_scheduler() {
            self.push_after(s);
        }
    }
}

impl SendingSide<'_> {
    /// Takes an in-order ACK, and sends a segment if it admits one and the scheduler has no choice.
    /// If the controller owns the window, the caller sends.
    #[inline(always)]
    fn take_ack_in_order<const OWNS_WINDOW: bool>(&mut self, packet: &Packet) -> Rest {
        let (subflow, end) = (&mut *self.subflow, &mut *self.end);
        let i = subflow.id.index();
        let clock = Clock::of(self.s, self.config, self.now_ns, &mut self.net.queue);
        subflow.take_ack(&mut InOrder::<OWNS_WINDOW> { clock }, end, i, packet, None);
        let outstanding = subflow.board.outstanding();
        if end.is_scheduled {
            subflow.show(
                end,
                i,
                outstanding,
                Congestion::Open,
                OWNS_WINDOW && subflow.is_held(self.now_ns),
            );
        }
        let has_choice = end.is_scheduled && end.has_choice_after::<OWNS_WINDOW>(i, self.now_ns);
        // The timer is set, and setting it again for each segment changes nothing while two
        // segments are outstanding.
        if has_choice || outstanding < 2 {
            return Rest::Push;
        }
        if OWNS_WINDOW {
            return Rest::Pace;
        }
        let segments = end
            .may_send_new_now()
            .min(subflow.plain_space(end, i, outstanding));
        if segments > 1 {
            return Rest::Send(segments);
        }
        if segments > 0 {
            self.send_new();
        }
        if self.must_ask_scheduler() {
            Rest::Push
        } else {
            Rest::Nothing
        }
    }

    /// Takes an ACK on a subflow with gaps, and sends what it admits; new segments only if the
    /// subflow `is_alone`, so that no scheduler decides.
    #[inline(always)]
    fn take_ack_with_gaps(&mut self, packet: &Packet, is_alone: bool) -> Rest {
        let i = self.subflow.id.index();
        self.subflow.usual = Usual::NONE;
        let blocks = if packet.aux() == 0 {
            None
        } else {
            Some(self.net.sacks.take(packet.aux()))
        };
        let clock = Clock::of(self.s, self.config, self.now_ns, &mut self.net.queue);
        self.subflow
            .take_ack(&mut WithGaps { clock }, self.end, i, packet, blocks);
        let mut space = self.end.cc.subflows[i]
            .cwnd
            .saturating_sub(self.subflow.board.in_flight());
        if self.subflow.board.is_empty() {
            space = 0; // the window may need a restart
        }
        let mut repairs = self.subflow.is_recovering();
        while space > 0 {
            space -= 1;
            let Some(departing) = self.next_departing(&mut repairs, is_alone) else {
                break;
            };
            self.send(departing);
        }
        let is_empty = self.subflow.board.is_empty();
        if is_alone {
            return if is_empty { Rest::Push } else { Rest::Nothing };
        }
        self.subflow.show_gaps(self.end, i);
        // When the data-level window is full, the scheduler decides about the oldest segment.
        if is_empty || self.end.has_space() || self.must_ask_scheduler() {
            Rest::Push
        } else {
            Rest::Nothing
        }
    }
}
