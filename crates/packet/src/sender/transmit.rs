//! Sends the segments of one subflow: new segments, copies, retransmissions.

use joulepath_controllers::within;
use joulepath_model::energy::Traffic;
use joulepath_model::scenario::Recovery;

use super::connection::{Committed, SenderEnd};
use super::scoreboard::Segment;
use super::subflow::{Congestion, SubflowSender, Waiting};
use crate::connection::context::{Clock, Context};
use crate::connection::subflow::Phase;
use crate::path::packet::{CWR, Kind, Packet, RETRANSMISSION, Stamp};

/// A segment that leaves.
#[derive(Clone, Copy)]
pub(crate) struct Departing {
    pub(crate) ssn: u32,
    pub(crate) dsn: u32,
    /// Payload, bytes.
    pub(crate) len: u16,
    is_copy: bool,
}

impl SubflowSender {
    /// Number of segments that a [plain](Self::is_plain) subflow with `outstanding` outstanding
    /// segments may send.
    #[inline(always)]
    pub(crate) fn plain_space(&self, end: &SenderEnd, i: usize, outstanding: u32) -> u32 {
        let room = self.window_end.saturating_sub(self.board.next());
        end.cc.subflows[i]
            .cwnd
            .saturating_sub(outstanding)
            .min(room)
    }

    /// The same where the controller owns the window: 0 while pacing holds the next segment.
    #[inline(always)]
    pub(crate) fn owned_space(&self, end: &SenderEnd, now_ns: u64) -> u32 {
        if self.is_held(now_ns) {
            return 0;
        }
        self.plain_space(end, self.id.index(), self.board.outstanding())
    }

    /// Whether one more new segment may be sent.
    #[inline]
    pub(super) fn has_space(&self, end: &SenderEnd, now_ns: u64) -> bool {
        self.phase == Phase::Established && self.has_room(end, now_ns)
    }

    /// Whether the window and the pacing admit one more segment. A closing subflow may have room,
    /// too.
    #[inline]
    pub(super) fn has_room(&self, end: &SenderEnd, now_ns: u64) -> bool {
        self.board.in_flight() < end.cc.subflows[self.id.index()].cwnd
            && self.board.next() < self.window_end
            && !self.is_held(now_ns)
    }

    #[inline(always)]
    pub(super) fn repair(&mut self, cx: &mut Context<'_>, end: &mut SenderEnd) {
        while self.board.in_flight() < end.cc.subflows[self.id.index()].cwnd
            && !self.is_held(cx.now_ns)
        {
            match self.board.next_repair() {
                Some(ssn) => self.retransmit(cx, end, ssn),
                None => return self.rescue_tail(cx, end),
            }
        }
    }

    /// Without new data, repairs holes, then the last segment (RFC 6675, NextSeg rules 3 and 4).
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
        let departing = self.repeat(ssn, cx.now_ns);
        self.transmit(cx, departing);
        if self.owned.is_some() {
            self.note_departure(cx.config, end, departing, false, cx.now_ns);
        }
        end.copy_repair(
            departing.dsn,
            self.stats.retransmissions,
            self.stats.segments,
        );
        self.refresh_view(cx, end);
    }

    /// Records the retransmission of segment `ssn`, for sending.
    #[inline(always)]
    pub(crate) fn repeat(&mut self, ssn: u32, now_ns: u64) -> Departing {
        let Segment { dsn, len, .. } = self.board.retransmit(ssn, Stamp::at(now_ns));
        self.count_retransmission(dsn);
        if let Some(undo) = &mut self.undo {
            undo.retransmitted(ssn, Stamp::at(now_ns));
        }
        if ssn == self.board.una() {
            // The timer restarts for the oldest segment, because its ACK takes another RTT (RFC
            // 6582, section 3.2, step 3; Linux).
            self.timer.clear();
        }
        Departing {
            ssn,
            dsn,
            len,
            is_copy: true,
        }
    }

    #[inline(always)]
    fn count_retransmission(&mut self, dsn: u32) {
        self.stats.retransmissions += 1;
        self.stats.old_copies += u64::from(dsn < self.measured_from);
    }

    /// Counts a segment that another subflow has carried before.
    #[inline(always)]
    pub(crate) fn count_reinjection(&mut self, dsn: u32) {
        self.stats.reinjections += 1;
        self.stats.old_copies += u64::from(dsn < self.measured_from);
    }

    /// Takes the connection's next new segment.
    #[inline(always)]
    pub(crate) fn next_new(&mut self, end: &mut SenderEnd, now_ns: u64) -> Departing {
        let len = end.writer.segment_len(end.data.next());
        let dsn = end.data.take_new(self.id.index());
        self.add(end, dsn, len, now_ns)
    }

    /// Adds a segment that is new to this subflow.
    #[inline(always)]
    fn add(&mut self, end: &mut SenderEnd, dsn: u32, len: u16, now_ns: u64) -> Departing {
        let ssn = self.board.push(Segment::new(dsn, len, Stamp::at(now_ns)));
        end.note_new_in_flight(self.id.index());
        Departing {
            ssn,
            dsn,
            len,
            is_copy: false,
        }
    }

    /// Sets the timer if the departure of a segment requires it.
    #[inline(always)]
    pub(crate) fn arm_for_departure(&mut self, clock: &mut Clock<'_>) {
        if !self.timer.is_set() || self.waiting == Waiting::Probe {
            self.arm(clock);
        }
    }

    /// Sends a second copy of a segment that may still be in flight.
    pub(super) fn copy(&mut self, cx: &mut Context<'_>, end: &mut SenderEnd, ssn: u32) {
        let Segment { dsn, len, .. } = self.board.copy(ssn, Stamp::at(cx.now_ns));
        self.count_retransmission(dsn);
        let departing = Departing {
            ssn,
            dsn,
            len,
            is_copy: true,
        };
        self.transmit(cx, departing);
        if self.owned.is_some() {
            self.note_departure(cx.config, end, departing, false, cx.now_ns);
        }
        self.refresh_view(cx, end);
    }

    #[inline(always)]
    pub(super) fn send_new(
        &mut self,
        cx: &mut Context<'_>,
        end: &mut SenderEnd,
        dsn: u32,
        len: u16,
    ) {
        if self.board.is_empty()
            && (self.owned.is_some() || cx.now_ns - self.last_send_ns > self.rtt.rto_ns())
        {
            self.restart_after_idle(cx, end);
        }
        let departing = self.add(end, dsn, len, cx.now_ns);
        self.transmit(cx, departing);
        if self.owned.is_some() {
            let first = self.board.outstanding() == 1;
            self.note_departure(cx.config, end, departing, first, cx.now_ns);
        }
    }

    /// Sends a segment that was committed to this subflow.
    pub(super) fn send_committed(
        &mut self,
        cx: &mut Context<'_>,
        end: &mut SenderEnd,
        segment: Committed,
    ) {
        if segment.is_copy {
            self.count_reinjection(segment.dsn);
        }
        self.send_new(cx, end, segment.dsn, segment.len);
    }

    /// RFC 2861 as in Linux: halves the window for each RTO without traffic, down to the initial
    /// window. A controller that owns the window gets an event instead (`CA_EVENT_TX_START`).
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
        within(&mut end.hosting, || {
            end.controller.on_restart(&mut end.cc, i)
        });
        self.refresh_view(cx, end);
    }

    /// The packet of a departing segment. `s`: this subflow's index in the engine.
    #[inline(always)]
    pub(crate) fn depart(&mut self, s: usize, departing: Departing, now_ns: u64) -> Packet {
        self.stats.segments += 1;
        self.last_send_ns = now_ns;
        self.reduction.out += 1;
        let mut flags = if departing.is_copy { RETRANSMISSION } else { 0 };
        // Retransmissions are not ECN-capable (RFC 3168, section 6.1.5).
        if self.ecn != 0 && !departing.is_copy {
            flags = self.ecn;
            if std::mem::take(&mut self.cwr_pending) {
                flags |= CWR;
            }
        }
        Packet::new(Kind::Data, s as u32, self.id.epoch, Stamp::at(now_ns))
            .numbered(departing.ssn, departing.dsn)
            .with_aux(u32::from(departing.len))
            .with_flags(flags)
    }

    #[inline(always)]
    fn transmit(&mut self, cx: &mut Context<'_>, departing: Departing) {
        let i = self.id.index();
        self.arm_for_departure(&mut cx.clock(i));
        let packet = self.depart(cx.global(i), departing, cx.now_ns);
        let size = u32::from(departing.len) + cx.config.sizes.header;
        cx.send(i, self.first_hop, packet, size);
        if !cx.downloads {
            cx.meter(i, size, Traffic::Up);
        }
    }
}
