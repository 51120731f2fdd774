//! ACKs and segments of a subflow on which nothing is unusual: what `ack`, `rack` and `transmit` do in that
//! case, and no more. See `run::fast::in_order`.

use super::connection::{Sender, SenderEnd};
use super::rtt::saturated_us;
use super::scoreboard::Segment;
use super::subflow::{Congestion, SubflowSender, Waiting};
use crate::connection::subflow::Phase;
use crate::event::EventQueue;
use crate::path::packet::{ECE, Packet, Stamp, Usual};
use crate::run::config::Config;

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
    /// Takes such an ACK for subflow `i`, number `s` in the engine, where the scheduler looks ahead of the
    /// windows. The caller sends what it admits, with [`Self::push_after`].
    #[inline(always)]
    pub(crate) fn take_ack_ahead(&mut self, i: usize, packet: &Packet, s: usize) {
        if self.end.data.acknowledge(packet.dsn()) {
            self.end.writer.forget(packet.dsn());
            self.arm_data();
        }
        let (subflow, cx, end) = self.split(i);
        let (at, now_ns, queue) = ((cx.config, s), cx.now_ns, &mut cx.net.queue);
        if end.owns_window {
            subflow.take_plain_ack::<true>((&mut *end, i), packet, at, now_ns, queue);
        } else {
            subflow.take_plain_ack::<false>((&mut *end, i), packet, at, now_ns, queue);
        }
        end.note_space(i);
        subflow.show_queued(cx.config, end);
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

    /// Takes such an ACK: RTT, scoreboard, timer, window, view. `i` is the subflow's index in the connection,
    /// `s` in the engine; `OWNED` if the controller owns the window. Returns the number of segments that are
    /// outstanding then.
    #[inline(always)]
    pub(crate) fn take_plain_ack<const OWNED: bool>(
        &mut self,
        (end, i): (&mut SenderEnd, usize),
        packet: &Packet,
        (config, s): (&Config, usize),
        now_ns: u64,
        queue: &mut EventQueue,
    ) -> u32 {
        let rtt_ns = packet.sent().elapsed_ns(now_ns);
        // Not one after the other: compilers would put both counters into one vector, which takes longer.
        self.stats.rtt_samples += 1;
        self.rtt.sample(rtt_ns);
        self.stats.rtt_sum_ns += rtt_ns;
        let (prior_in_flight, una) = (self.board.outstanding(), self.board.una());
        self.note_usage(end.cc.subflows[i].cwnd, prior_in_flight);
        let acked = self.board.advance_plain(packet.ssn());
        let outstanding = prior_in_flight - acked;
        self.rtt.progress();
        self.arm_plain((config, s), now_ns, queue);
        if config.is_rack() {
            self.board.arrived(packet.sent(), packet.ssn() - 1, now_ns);
        }
        if OWNED {
            self.note_advance(una);
            let rtt_us = saturated_us(rtt_ns);
            self.tell_owner_of_ack(config, end, (acked, false), rtt_us, prior_in_flight, now_ns);
        } else {
            self.tell_controller((end, i), (false, acked), rtt_ns, true, now_ns, false);
        }
        if end.is_scheduled {
            self.show((end, i), outstanding, Congestion::Open, OWNED && self.is_held(now_ns));
        }
        outstanding
    }

    /// Sets the timer anew, as [`Self::arm`] does.
    #[inline(always)]
    fn arm_plain(&mut self, (config, s): (&Config, usize), now_ns: u64, queue: &mut EventQueue) {
        if self.board.outstanding() == 0 {
            return self.timer.clear();
        }
        let delay_ns;
        (self.waiting, delay_ns) = self.patience(config, true);
        let deadline_ns = now_ns + delay_ns;
        if self.timer.moves_to(deadline_ns) {
            queue.push(deadline_ns, config.sources.rto(s));
        }
    }

    /// Sets the timer if a new segment needs that, as [`Self::note_departed`] does.
    #[inline(always)]
    pub(crate) fn arm_for_new(&mut self, at: (&Config, usize), now_ns: u64, queue: &mut EventQueue) {
        if !self.timer.is_set() || self.waiting == Waiting::Probe {
            self.arm_plain(at, now_ns, queue);
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
