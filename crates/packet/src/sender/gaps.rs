//! ACKs and segments of a subflow on which segments are missing and nothing else is unusual: what `ack`,
//! `recovery`, `rack` and `transmit` do in that case, and no more. See `run::fast::gaps`.

use joulepath_controllers::AckFlags;

use super::connection::SenderEnd;
use super::rtt::saturated_us;
use super::subflow::{Congestion, SubflowSender};
use crate::connection::context::Clock;
use crate::connection::subflow::Phase;
use crate::path::packet::{ECE, Packet, RETRANSMISSION, Stamp};
use crate::path::sack::SackBlocks;
use crate::sender::scoreboard::Segment;

/// A segment that leaves: its SSN, what the packet carries, and the packet's flags.
pub(crate) struct Departing {
    pub(crate) ssn: u32,
    pub(crate) dsn: u32,
    pub(crate) len: u16,
    pub(crate) flags: u8,
}

impl SubflowSender {
    /// Whether an ACK tells of no mark, and comes while the subflow neither probes nor reduces its window but
    /// for a loss that RACK has found.
    #[inline(always)]
    pub(crate) fn may_have_gaps(&self, packet: &Packet) -> bool {
        packet.epoch() == self.id.epoch
            && packet.flags() & ECE == 0
            && packet.ssn() <= self.board.next()
            && self.phase == Phase::Established
            && matches!(self.congestion, Congestion::Open | Congestion::Recovery)
            && self.probe.is_none()
    }

    /// Takes such an ACK: RTT, scoreboard, congestion state, timer, window. `i` is the subflow's index in the
    /// connection. Returns how many segments the window admits then.
    #[inline(always)]
    pub(crate) fn take_ack_with_gaps(
        &mut self,
        (end, i): (&mut SenderEnd, usize),
        packet: &Packet,
        blocks: Option<&SackBlocks>,
        clock: &mut Clock<'_>,
    ) -> u32 {
        let now_ns = clock.now_ns;
        let rtt_ns = packet.sent().elapsed_ns(now_ns);
        // Not one after the other: compilers would put both counters into one vector, which takes longer.
        self.stats.rtt_samples += 1;
        self.rtt.sample(rtt_ns);
        self.stats.rtt_sum_ns += rtt_ns;

        self.note_usage(end.cc.subflows[i].cwnd, self.board.in_flight());
        if let Some(blocks) = blocks
            && blocks.duplicate.is_none()
            && self.congestion == Congestion::Recovery
            && packet.ssn() <= self.board.una()
        {
            return self.take_sack((end, i), (packet, blocks), rtt_ns, clock);
        }
        let before = self.board.delivered();
        let mut acked = 0;
        if packet.ssn() > self.board.una() {
            acked = self.board.advance(packet.ssn());
            self.rtt.progress();
            self.arm(clock);
        }
        let mut newly_lost = false;
        if let Some(blocks) = blocks {
            self.note_blocks(blocks, packet.sent(), clock.config, now_ns);
        } else {
            self.board.arrived(packet.sent(), packet.ssn().saturating_sub(1), now_ns);
        }
        if blocks.is_some() || acked == 0 || self.congestion != Congestion::Open {
            newly_lost = self.judge_by_time(clock, end);
        }
        if (blocks.is_some() || self.congestion != Congestion::Open) && self.is_spurious(packet.sent(), acked)
        {
            self.take_back(now_ns, end);
            newly_lost = self.judge_by_time(clock, end);
        }
        let delivered = self.board.delivered() - before;
        if self.congestion != Congestion::Open || newly_lost {
            if self.congestion != Congestion::Open && self.board.una() >= self.recover {
                self.leave_recovery(clock.config, now_ns, end);
            }
            if self.congestion == Congestion::Open && (newly_lost || self.board.lost() > 0) {
                self.begin_recovery(clock.config, now_ns, end);
                if self.leaves_probing(clock.config) {
                    self.arm(clock);
                }
            }
        }
        self.tell_controller((&mut *end, i), (false, delivered), rtt_ns, acked > 0, now_ns, false);
        let window = &mut end.cc.subflows[i];
        let in_flight = self.board.in_flight();
        if self.congestion != Congestion::Open && delivered > 0 {
            self.admit_proportionally(window, in_flight, (delivered, acked > 0 && !newly_lost), now_ns);
        }
        window.cwnd.saturating_sub(in_flight)
    }

    /// Takes an ACK of this kind that tells in a recovery of no more than what has arrived above a hole, as
    /// most do: the recovery goes on, nothing shows that it was for nothing, and no round ends.
    #[inline(always)]
    fn take_sack(
        &mut self,
        (end, i): (&mut SenderEnd, usize),
        (packet, blocks): (&Packet, &SackBlocks),
        rtt_ns: u64,
        clock: &mut Clock<'_>,
    ) -> u32 {
        let (sacked, now_ns) = (self.board.sacked(), clock.now_ns);
        self.note_blocks(blocks, packet.sent(), clock.config, now_ns);
        self.judge_by_time(clock, end);
        let delivered = self.board.sacked() - sacked;
        let before = end.cc.subflows[i].cwnd;
        debug_assert!(before > 0 && self.board.una() <= end.cc.subflows[i].own.round_end);
        end.cc.subflows[i].srtt_us = self.rtt.srtt_us();
        let (rtt_us, flags) = (saturated_us(rtt_ns), AckFlags::NONE);
        end.cc.now_us = now_ns / 1_000;
        end.controller.on_ack(&mut end.cc, i, delivered, rtt_us, flags);
        let window = &mut end.cc.subflows[i];
        if window.cwnd != before {
            self.integrate_cwnd(before, now_ns);
        }
        let in_flight = self.board.in_flight();
        if delivered > 0 {
            self.admit_proportionally(window, in_flight, (delivered, false), now_ns);
        }
        window.cwnd.saturating_sub(in_flight)
    }

    /// Brings the view of such a subflow up to date, number `i` of its connection.
    #[inline(always)]
    pub(crate) fn show_gaps(&self, end: &mut SenderEnd, i: usize) {
        self.show((&mut *end, i), self.board.in_flight(), self.congestion, false);
        end.note_space(i);
    }

    /// The next segment of such a subflow that leaves while the window has space, if there is one: a lost one
    /// if it recovers, else a new one where those are admitted.
    #[inline(always)]
    pub(crate) fn next_departing(
        &mut self,
        end: &mut SenderEnd,
        repairs: &mut bool,
        admits_new: bool,
        clock: &mut Clock<'_>,
    ) -> Option<Departing> {
        let lost = if *repairs { self.board.next_repair() } else { None };
        let departing = if let Some(ssn) = lost {
            let Segment { dsn, len, .. } = self.note_repeated(ssn, clock.now_ns);
            Departing { ssn, dsn, len, flags: RETRANSMISSION }
        } else {
            *repairs = false;
            if !admits_new || !end.may_send_new() || self.board.next() >= self.window_end {
                return None;
            }
            let len = end.writer.segment_len(end.data.next());
            let dsn = end.data.take_new(0);
            let ssn = self.board.push(Segment::new(dsn, len, Stamp::at(clock.now_ns)));
            Departing { ssn, dsn, len, flags: 0 }
        };
        self.note_departed(clock);
        Some(departing)
    }
}
