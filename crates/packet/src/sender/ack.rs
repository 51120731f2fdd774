//! What an ACK does: RTT, window and loss recovery of one subflow (RFC 5681, 6298, 6582, 6675; with `rack`
//! RFC 8985, 9937).

use joulepath_controllers::AckFlags;
use joulepath_model::energy::Traffic;
use joulepath_model::scenario::Recovery;

use super::connection::{Sender, SenderEnd};
use super::rtt::saturated_us;
use super::subflow::{Congestion, SubflowSender};
use crate::connection::context::Context;
use crate::connection::subflow::Phase;
use crate::path::packet::{ECE, Packet, Stamp};
use crate::path::sack::SackBlocks;
use crate::run::config::Config;

/// What is left to be done after an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// Nothing: the subflow takes no ACKs.
    Ignored,
    /// The caller sends what the ACK admits, with [`Sender::push_after`].
    Taken,
    /// The subflow was closing and everything on it has been acknowledged: the caller closes it, then sends
    /// what the ACK admits.
    Drained,
}

impl Sender<'_> {
    /// Takes an ACK for subflow `i`.
    #[inline(always)]
    pub(crate) fn receive_ack(&mut self, i: usize, packet: Packet) -> Progress {
        if !matches!(self.subflows[i].phase, Phase::Established | Phase::Closing) {
            if packet.aux() != 0 {
                self.cx.net.sacks.take(packet.aux());
            }
            return Progress::Ignored;
        }
        if !self.cx.downloads {
            self.cx.meter(i, self.cx.config.sizes.ack, Traffic::Down);
        }
        if self.end.data.acknowledge(packet.dsn()) {
            self.end.writer.forget(packet.dsn());
            if self.end.queues_ahead {
                self.arm_data();
            }
        }
        let (subflow, cx, end) = self.split(i);
        subflow.receive_ack(cx, end, &packet);
        if subflow.phase == Phase::Closing && subflow.board.is_empty() {
            return Progress::Drained;
        }
        Progress::Taken
    }

    /// Sends what the ACK for subflow `i` admits.
    #[inline(always)]
    pub(crate) fn push_after(&mut self, i: usize) {
        self.push();
        if self.end.queues_ahead {
            let (subflow, cx, end) = self.split(i);
            subflow.refresh_view(cx, end);
            end.scheduler.acknowledged(i, &end.views[i]);
        }
    }
}

impl SubflowSender {
    #[inline(always)]
    fn receive_ack(&mut self, cx: &mut Context<'_>, end: &mut SenderEnd, packet: &Packet) {
        let rtt_ns = packet.sent().elapsed_ns(cx.now_ns);
        self.rtt.sample(rtt_ns);
        self.stats.rtt_samples += 1;
        self.stats.rtt_sum_ns += rtt_ns;

        let prior_in_flight = self.board.in_flight();
        self.note_usage(end.cc.subflows[self.id.index()].cwnd, prior_in_flight);
        let (before, una) = (self.board.delivered(), self.board.una());
        let acked = self.board.advance(packet.ssn());
        if acked > 0 {
            self.rtt.progress();
            self.arm(&mut cx.clock(self.id.index()));
            if self.owned.is_some() {
                self.note_advance(una);
            }
        }
        if packet.aux() == 0 && cx.config.is_rack() {
            // The segment is one of those that the ACK covers. All below the last of them has arrived.
            self.board.arrived(packet.sent(), packet.ssn().saturating_sub(1), cx.now_ns);
        }
        let in_order = packet.aux() == 0 && acked > 0 && self.congestion == Congestion::Open;
        let mut newly_lost = !in_order && self.note_gaps(cx, end, packet, acked);
        if self.undo.is_some()
            && (packet.aux() != 0 || self.congestion != Congestion::Open)
            && self.undo_if_spurious(cx, end, packet.sent(), acked)
        {
            newly_lost = self.judge_by_time(&mut cx.clock(self.id.index()), end);
        }
        // An ACK that fills a hole covers segments that SACKs have told of before. Only those that are news
        // make the window grow.
        let delivered = self.board.delivered().saturating_sub(before);
        let echo = packet.flags() & ECE != 0;
        if self.congestion != Congestion::Open || newly_lost || echo {
            self.turn_congestion_state(cx, end, acked, newly_lost, echo);
        }
        if self.owned.is_some() {
            let (config, now_ns) = (cx.config, cx.now_ns);
            let rtt_us = saturated_us(rtt_ns);
            self.tell_owner_of_ack(config, end, (delivered, echo), rtt_us, prior_in_flight, now_ns);
            self.refresh_view(cx, end);
        } else {
            // Duplicate ACKs do not let the window grow, although their SACKs tell of segments that have
            // arrived (RFC 5681, section 3.2, step 1; Linux: `tcp_may_raise_cwnd`).
            self.control_congestion(cx, end, (echo, delivered), rtt_ns, acked > 0);
        }
        if self.congestion != Congestion::Open {
            self.reduce_proportionally(cx, end, delivered, acked > 0 && !newly_lost);
            self.repair(cx, end);
        }
        if self.probe.is_some() {
            self.weigh_probe(cx, end, packet);
        }
    }

    /// Notes what an ACK says about segments above a hole. Returns whether a segment was judged lost.
    #[inline(always)]
    fn note_gaps(&mut self, cx: &mut Context<'_>, end: &mut SenderEnd, packet: &Packet, acked: u32) -> bool {
        if packet.aux() != 0 {
            let blocks = cx.net.sacks.take(packet.aux());
            self.note_blocks(blocks, packet.sent(), cx.config, cx.now_ns);
        }
        match cx.config.transport.recovery {
            Recovery::Rack => return self.judge_by_time(&mut cx.clock(self.id.index()), end),
            Recovery::Sack => return packet.aux() != 0 && self.board.judge() > 0,
            Recovery::NewReno => {}
        }
        if acked > 0 || self.board.is_empty() {
            return false;
        }
        // Copies that were sent in vain after a timeout cause duplicate ACKs, too. Duplicates tell of a loss
        // only above `recover` (RFC 6582, section 3.2, step 2).
        let over = matches!(self.congestion, Congestion::Open | Congestion::Loss);
        if over && self.recover > 0 && self.board.una() <= self.recover {
            return false;
        }
        self.board.duplicate_ack() >= cx.config.transport.dup_threshold
    }

    /// Notes what the SACK blocks of an ACK tell that echoes `echo`.
    #[inline(always)]
    pub(super) fn note_blocks(&mut self, blocks: &SackBlocks, echo: Stamp, config: &Config, now_ns: u64) {
        if let Some(trigger) = blocks.trigger {
            self.sack(trigger);
            self.board.arrived(echo, trigger, now_ns);
        }
        if blocks.serial != self.sack_serial {
            self.sack_all(blocks.ranges());
        }
        self.board.end_ack();
        if let Some(ssn) = blocks.duplicate.filter(|_| config.is_rack()) {
            self.note_duplicate(ssn);
        }
        self.sack_serial = blocks.serial.wrapping_add(1);
    }

    /// Notes what an ACK was to tell that was lost on its way: it is in the ranges of the next one.
    #[inline(never)]
    fn sack_all(&mut self, ranges: &[(u32, u32)]) {
        for &(start, until) in ranges {
            for ssn in start.max(self.board.una())..until {
                self.sack(ssn);
            }
        }
    }

    /// Notes that the receiver has segment `ssn`.
    #[inline(always)]
    fn sack(&mut self, ssn: u32) {
        if self.board.sack(ssn) && self.owned.is_some() {
            self.note_arrival(ssn);
        }
    }

    /// Notes how far a window of `cwnd` packets, of which `in_flight` are in flight, is used.
    #[inline(always)]
    pub(super) fn note_usage(&mut self, cwnd: u32, in_flight: u32) {
        self.usage.note((self.board.una(), self.board.next()), in_flight, cwnd);
    }

    /// Tells the controller about the ACK.
    #[inline]
    fn control_congestion(
        &mut self,
        cx: &mut Context<'_>,
        end: &mut SenderEnd,
        news: (bool, u32),
        rtt_ns: u64,
        advances: bool,
    ) {
        let i = self.id.index();
        self.tell_controller((end, i), news, rtt_ns, advances, cx.now_ns, true);
        self.refresh_view(cx, end);
    }

    /// Tells the controller about an ACK for `acked` packets, which `advances` if it is no duplicate.
    /// `i` is the subflow's index in the connection. Whether the controller may be hosted the caller knows.
    #[inline(always)]
    pub(super) fn tell_controller(
        &mut self,
        (end, i): (&mut SenderEnd, usize),
        (echo, acked): (bool, u32),
        rtt_ns: u64,
        advances: bool,
        now_ns: u64,
        may_be_hosted: bool,
    ) {
        let window = &mut end.cc.subflows[i];
        let before = window.cwnd;
        window.srtt_us = self.rtt.srtt_us();
        let limited = advances && self.usage.admits_growth(window);
        let round_ends = self.board.una() > window.own.round_end;
        if round_ends {
            window.own.round_end = self.board.next();
        }
        let flags = AckFlags::NONE
            .with(AckFlags::ECE, echo)
            .with(AckFlags::CWND_LIMITED, limited)
            .with(AckFlags::ROUND_END, round_ends);
        let rtt_us = saturated_us(rtt_ns);
        if may_be_hosted && end.hosting.is_some() {
            end.cc.now_us = now_ns / 1_000;
            end.tell_hosted(i, acked, rtt_us, flags);
        } else {
            end.cc.now_us = now_ns / 1_000;
            end.controller.on_ack(&mut end.cc, i, acked, rtt_us, flags);
        }
        if end.cc.subflows[i].cwnd != before {
            self.integrate_cwnd(before, now_ns);
        }
    }

    /// Brings the scheduler's view of the subflow up to date, where a scheduler is asked.
    #[inline(always)]
    pub(crate) fn refresh_view(&self, cx: &Context<'_>, end: &mut SenderEnd) {
        self.refresh_view_at(cx.config, end, cx.now_ns);
    }

    /// The same for who has no context.
    #[inline(always)]
    pub(crate) fn refresh_view_at(&self, config: &Config, end: &mut SenderEnd, now_ns: u64) {
        if end.is_scheduled {
            self.show_all(config, end, now_ns);
        }
    }

    /// Brings the scheduler's view of the subflow up to date.
    #[inline(never)]
    fn show_all(&self, config: &Config, end: &mut SenderEnd, now_ns: u64) {
        let i = self.id.index();
        self.show((&mut *end, i), self.board.in_flight(), self.congestion, self.is_held(now_ns));
        end.note_space(i);
        if end.queues_ahead {
            self.show_queued(config, end);
        }
    }

    /// Brings up to date what only a scheduler is shown that looks ahead of the windows.
    #[inline(always)]
    pub(super) fn show_queued(&self, config: &Config, end: &mut SenderEnd) {
        let i = self.id.index();
        let packets = self.board.outstanding() + end.committed[i].len() as u32;
        end.views[i].queued_bytes = packets.saturating_mul(config.transport.mss.0 as u32);
        end.views[i].stale = self.is_stale();
    }

    /// Brings the scheduler's view of the subflow, number `i` of its connection, up to date, except for what
    /// only matters ahead of the windows. The caller says what it may know anyhow: how much is in flight, the
    /// congestion state, and whether the pacing rate holds the next segment. It has to note whether there is
    /// space.
    #[inline(always)]
    pub(super) fn show(
        &self,
        (end, i): (&mut SenderEnd, usize),
        in_flight: u32,
        congestion: Congestion,
        is_held: bool,
    ) {
        let window = &end.cc.subflows[i];
        let view = &mut end.views[i];
        let room = if is_held { 0 } else { self.window_end.saturating_sub(self.board.next()) };
        view.cwnd = window.cwnd.min(in_flight.saturating_add(room));
        view.ssthresh = window.ssthresh;
        view.srtt_us = window.srtt_us;
        view.in_flight = in_flight;
        view.in_loss = congestion == Congestion::Loss;
        view.in_recovery = congestion.is_reducing();
        if end.features.watches_rtt {
            view.rtt.last_us = window.own.last_rtt_us;
            view.rtt.min_us = window.own.base_rtt_us;
            view.rtt.max_us = view.rtt.max_us.max(window.own.last_rtt_us);
            view.rtt.var_us = self.rtt.variation_us();
        }
    }
}
