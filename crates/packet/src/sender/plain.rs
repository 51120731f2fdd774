//! ACKs and segments of a subflow on which nothing is unusual: what `ack`, `rack` and `transmit` do in that
//! case, and no more. See `run::fast::in_order`.

use super::ack::InOrder;
use super::connection::{Sender, SenderEnd};
use super::scoreboard::Segment;
use super::subflow::{Congestion, SubflowSender, Waiting};
use crate::connection::context::Clock;
use crate::connection::subflow::Phase;
use crate::path::packet::{ECE, Packet, Stamp, Usual};

/// How far the fast path of an ACK has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FastPath {
    /// The ACK has been dealt with.
    Done,
    /// The ACK has been taken. The caller sends what it admits.
    Push,
    /// Nothing has been done: the ACKs of this connection have a fast path of their own.
    Paced,
    /// Nothing has been done: the ACK needs the general way.
    Declined,
}

impl Sender<'_> {
    /// Takes such an ACK for subflow `i`, where the scheduler looks ahead of the
    /// windows. The caller sends what it admits, with [`Self::push_after`].
    #[inline(always)]
    pub(crate) fn take_ack_ahead(&mut self, i: usize, packet: &Packet) {
        if self.end.data.acknowledge(packet.dsn()) {
            self.end.writer.forget(packet.dsn());
            self.arm_data();
        }
        let (subflow, cx, end) = self.split(i);
        if end.owns_window {
            subflow.take_ack(&mut InOrder::<true>(cx.clock(i)), end, i, packet, None);
        } else {
            subflow.take_ack(&mut InOrder::<false>(cx.clock(i)), end, i, packet, None);
        }
        subflow.refresh_view(cx, end);
    }
}

impl SubflowSender {
    /// Whether the subflow neither recovers nor reduces its window nor probes.
    pub(crate) fn is_plain(&self) -> bool {
        self.phase == Phase::Established
            && self.congestion == Congestion::Open
            && self.probe.is_none()
            && self.board.is_plain()
    }

    /// Whether an ACK is for new data, tells nothing else, and comes while the subflow
    /// [is plain](Self::is_plain).
    #[inline(always)]
    pub(crate) fn takes_plainly(&mut self, packet: &Packet) -> bool {
        let is_usual = packet.is_usual_ack(self.usual) || self.becomes_plain(packet);
        if !is_usual {
            return false;
        }
        debug_assert!(self.is_plain() && packet.epoch() == self.id.epoch);
        debug_assert!(packet.aux() == 0 && packet.flags() & ECE == 0);
        packet.ssn() > self.board.una() && packet.ssn() <= self.board.next()
    }

    /// Looks whether the subflow is plain now, and an ACK usual.
    #[inline(never)]
    fn becomes_plain(&mut self, packet: &Packet) -> bool {
        self.usual = if self.is_plain() { Packet::usual(self.id.epoch) } else { Usual::NONE };
        packet.is_usual_ack(self.usual)
    }

    /// Sets the timer if a new segment needs that, as [`Self::note_departed`] does.
    #[inline(always)]
    pub(crate) fn arm_for_new(&mut self, clock: &mut Clock<'_>) {
        if !self.timer.is_set() || self.waiting == Waiting::Probe {
            self.arm_plain(clock);
        }
    }

    /// How many more segments may be sent on a subflow for which [`Self::is_plain`] holds and of which
    /// `outstanding` segments are.
    #[inline(always)]
    pub(crate) fn plain_space(&self, end: &SenderEnd, i: usize, outstanding: u32) -> u32 {
        let room = self.window_end.saturating_sub(self.board.next());
        end.cc.subflows[i].cwnd.saturating_sub(outstanding).min(room)
    }

    /// The same where the controller owns the window: none while the pacing rate holds the next one.
    #[inline(always)]
    pub(crate) fn owned_space(&self, end: &SenderEnd, i: usize, outstanding: u32, now_ns: u64) -> u32 {
        if self.is_held(now_ns) { 0 } else { self.plain_space(end, i, outstanding) }
    }

    /// Notes that a new segment is sent, while others are outstanding; returns its SSN. What PRR counts is of
    /// no interest: the count begins anew with a reduction.
    #[inline(always)]
    pub(crate) fn note_sent(&mut self, end: &mut SenderEnd, dsn: u32, len: u16, now_ns: u64) -> u32 {
        let ssn = self.board.push(Segment::new(dsn, len, Stamp::at(now_ns)));
        end.note_new_in_flight(self.id.index());
        self.stats.segments += 1;
        self.last_send_ns = now_ns;
        ssn
    }
}
