//! Sends the segments of one subflow: new ones, copies, retransmissions.

use joulepath_controllers::within;
use joulepath_model::energy::Traffic;
use joulepath_model::scenario::Recovery;

use super::connection::{Committed, SenderEnd};
use super::scoreboard::Segment;
use super::subflow::{Congestion, SubflowSender, Waiting};
use crate::connection::context::{Clock, Context};
use crate::connection::subflow::Phase;
use crate::path::packet::{CWR, ECT, Kind, Packet, RETRANSMISSION, Stamp};

impl SubflowSender {
    /// Whether one more segment may be sent.
    #[inline]
    pub(super) fn has_space(&self, end: &SenderEnd, now_ns: u64) -> bool {
        self.board.in_flight() < end.cc.subflows[self.id.index()].cwnd
            && self.phase == Phase::Established
            && self.board.next() < self.window_end
            && !self.is_held(now_ns)
    }

    /// Retransmits what the window admits.
    #[inline(always)]
    pub(super) fn repair(&mut self, cx: &mut Context<'_>, end: &mut SenderEnd) {
        while self.board.in_flight() < end.cc.subflows[self.id.index()].cwnd && !self.is_held(cx.now_ns) {
            match self.board.next_repair() {
                Some(ssn) => self.retransmit(cx, end, ssn),
                None => return self.rescue_tail(cx, end),
            }
        }
    }

    /// If there is no new data, repairs holes and the tail that may be lost (RFC 6675, NextSeg rules 3 and
    /// 4).
    #[inline]
    fn rescue_tail(&mut self, cx: &mut Context<'_>, end: &mut SenderEnd) {
        let sack = cx.config.transport.recovery == Recovery::Sack;
        if end.may_send_new() || self.congestion != Congestion::Recovery || !sack {
            return;
        }
        if let Some(ssn) = self.board.next_hole() {
            return self.retransmit(cx, end, ssn);
        }
        if !self.rescued && self.board.has_gaps() && !self.board.is_empty() {
            self.rescued = true;
            let last = self.board.next() - 1;
            if !self.board.is_settled(last) {
                self.retransmit(cx, end, last);
            }
        }
    }

    #[inline(never)]
    pub(super) fn retransmit(&mut self, cx: &mut Context<'_>, end: &mut SenderEnd, ssn: u32) {
        let segment = self.note_repeated(ssn, cx.now_ns);
        self.transmit(cx, ssn, segment, RETRANSMISSION);
        if self.owned.is_some() {
            self.note_departure(cx.config, end, (ssn, segment.len), false, cx.now_ns);
        }
        end.copy_repair(segment.dsn, self.stats.retransmissions, self.stats.segments);
        self.refresh_view(cx, end);
    }

    /// Notes that segment `ssn` is sent again.
    #[inline(always)]
    pub(super) fn note_repeated(&mut self, ssn: u32, now_ns: u64) -> Segment {
        let segment = self.board.retransmit(ssn, Stamp::at(now_ns));
        self.stats.retransmissions += 1;
        if let Some(undo) = &mut self.undo {
            undo.retransmitted(ssn, Stamp::at(now_ns));
        }
        if ssn == self.board.una() {
            // The timer starts anew for the oldest segment: its ACK needs another RTT (RFC 6582, section 3.2,
            // step 3; Linux).
            self.timer.clear();
        }
        segment
    }

    /// Notes that a segment or a copy of one leaves, and sets the timer if need be.
    #[inline(always)]
    pub(super) fn note_departed(&mut self, clock: &mut Clock<'_>) {
        self.stats.segments += 1;
        self.last_send_ns = clock.now_ns;
        self.reduction.out += 1;
        if !self.timer.is_set() || self.waiting == Waiting::Probe {
            self.arm(clock);
        }
    }

    /// Sends a second copy of a segment that may still be on its way.
    pub(super) fn copy(&mut self, cx: &mut Context<'_>, end: &mut SenderEnd, ssn: u32) {
        let segment = self.board.copy(ssn, Stamp::at(cx.now_ns));
        self.stats.retransmissions += 1;
        self.transmit(cx, ssn, segment, RETRANSMISSION);
        if self.owned.is_some() {
            self.note_departure(cx.config, end, (ssn, segment.len), false, cx.now_ns);
        }
        self.refresh_view(cx, end);
    }

    /// Sends a new segment on this subflow.
    #[inline(always)]
    pub(super) fn send_new(&mut self, cx: &mut Context<'_>, end: &mut SenderEnd, dsn: u32, len: u16) {
        if self.board.is_empty()
            && (self.owned.is_some() || cx.now_ns - self.last_send_ns > self.rtt.rto_ns())
        {
            self.restart_after_idle(cx, end);
        }
        let segment = Segment::new(dsn, len, Stamp::at(cx.now_ns));
        let ssn = self.board.push(segment);
        end.note_new_in_flight(self.id.index());
        self.transmit(cx, ssn, segment, 0);
        if self.owned.is_some() {
            let first = self.board.outstanding() == 1;
            self.note_departure(cx.config, end, (ssn, len), first, cx.now_ns);
        }
    }

    /// Sends a segment on this subflow that was committed to it.
    pub(super) fn send_committed(&mut self, cx: &mut Context<'_>, end: &mut SenderEnd, segment: Committed) {
        self.stats.reinjections += u64::from(segment.is_copy);
        self.send_new(cx, end, segment.dsn, segment.len);
    }

    /// RFC 2861 as in Linux: the window is halved for each RTO of silence, down to the initial window. A
    /// controller that owns the window is told instead (`CA_EVENT_TX_START`).
    #[cold]
    fn restart_after_idle(&mut self, cx: &Context<'_>, end: &mut SenderEnd) {
        if self.owned.is_some() {
            return self.tell_of_restart(cx, end);
        }
        let i = self.id.index();
        let window = &mut end.cc.subflows[i];
        self.integrate_cwnd(window.cwnd, cx.now_ns);
        let mut idle_ns = cx.now_ns - self.last_send_ns;
        let rto_ns = self.rtt.rto_ns();
        let floor = cx.config.transport.initial_window.min(window.cwnd);
        window.ssthresh = window.ssthresh.max(window.cwnd / 4 * 3);
        while idle_ns > rto_ns && window.cwnd > floor {
            window.cwnd = (window.cwnd / 2).max(floor);
            idle_ns -= rto_ns;
        }
        end.cc.now_us = cx.now_ns / 1_000;
        within(&mut end.hosting, || end.controller.on_restart(&mut end.cc, i));
        self.refresh_view(cx, end);
    }

    #[inline(always)]
    fn transmit(&mut self, cx: &mut Context<'_>, ssn: u32, segment: Segment, mut flags: u8) {
        // Retransmissions are not ECN-capable (RFC 3168, section 6.1.5).
        if cx.config.transport.ecn && flags & RETRANSMISSION == 0 {
            flags |= ECT;
            if std::mem::take(&mut self.cwr_pending) {
                flags |= CWR;
            }
        }
        let i = self.id.index();
        self.note_departed(&mut cx.clock(i));
        let packet = Packet::new(Kind::Data, cx.global(i) as u32, self.id.epoch, Stamp::at(cx.now_ns))
            .numbered(ssn, segment.dsn)
            .with_aux(u32::from(segment.len))
            .with_flags(flags);
        let size = u32::from(segment.len) + cx.config.sizes.header;
        cx.send(i, self.first_hop, packet, size);
        if !cx.downloads {
            cx.meter(i, size, Traffic::Up);
        }
    }
}
