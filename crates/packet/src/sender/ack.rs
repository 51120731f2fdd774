//! Processing of an ACK by one subflow.
//!
//! [`SubflowSender::take_ack`] contains each step once. It is compiled three times, for what a
//! caller knows about an ACK in advance (an [`AckCase`]): a copy omits the steps that its case
//! rules out.
//!
//! | step | where |
//! |---|---|
//! | RTT sample, retransmission timer | RFC 6298, sections 2 and 5 |
//! | use of the window | RFC 7661, [`usage`](super::usage) |
//! | cumulative ACK, SACK blocks | RFC 2018, 6675, [`scoreboard`](super::scoreboard) |
//! | losses | RFC 8985, section 6, [`rack`](super::rack); RFC 6675, section 4; RFC 6582, section 3.2 |
//! | spurious reductions | RFC 3522, 4015, [`spurious`](super::spurious) |
//! | congestion state | RFC 5681, section 3.2; RFC 6675, section 5, [`recovery`](super::recovery) |
//! | window | the controller, RFC 9937 while it is reduced |

use joulepath_controllers::{Ack, AckFlags};
use joulepath_model::energy::Traffic;
use joulepath_model::scenario::Recovery;

use super::cases::{AckCase, General, InOrder};
use super::connection::{Sender, SenderEnd};
use super::rtt::saturated_us;
use super::subflow::{Congestion, SubflowSender};
use crate::connection::subflow::Phase;
use crate::path::packet::{ECE, Packet, Stamp};
use crate::path::sack::SackBlocks;
use crate::run::config::Config;

/// What an ACK reports, after the scoreboard update.
pub(super) struct AckReport {
    pub(super) rtt_ns: u64,
    /// Segments in flight before the ACK.
    pub(super) prior_in_flight: u32,
    /// Segments that it acknowledges cumulatively; 0 for a duplicate ACK.
    pub(super) acked: u32,
    /// Segments that it reports as received for the first time. When an ACK fills a hole, segments
    /// that were SACKed before count in `acked` only.
    pub(super) delivered: u32,
    /// Whether it echoes a congestion mark.
    pub(super) echo: bool,
    /// Whether it reveals a new loss.
    pub(super) newly_lost: bool,
}

/// What the caller must do after an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// Nothing: the subflow does not accept ACKs.
    Ignored,
    /// The caller sends what the ACK admits, with [`Sender::push_after`].
    Taken,
    /// The subflow was closing and all its data is acknowledged: the caller closes it, then sends
    /// what the ACK admits.
    Drained,
}

impl Sender<'_> {
    /// Takes an ACK for subflow `i`.
    #[inline(always)]
    pub(crate) fn receive_ack(&mut self, i: usize, packet: Packet) -> Progress {
        let blocks = (packet.aux() != 0).then(|| *self.cx.net.sacks.take(packet.aux()));
        if !matches!(self.subflows[i].phase, Phase::Established | Phase::Closing) {
            return Progress::Ignored;
        }
        if !self.cx.downloads {
            self.cx.meter(i, self.cx.config.sizes.ack, Traffic::Down);
        }
        if self.end.acknowledge(packet.dsn()) && self.end.queues_ahead {
            self.arm_data();
        }
        let (subflow, cx, end) = self.split(i);
        subflow.take_ack(&mut General { cx, i }, end, i, &packet, blocks.as_ref());
        subflow.refresh_view(cx, end);
        if subflow.congestion != Congestion::Open {
            subflow.repair(cx, end);
        }
        if subflow.probe.is_some() {
            subflow.process_tlp_ack(cx, end, &packet);
            subflow.refresh_view(cx, end);
        }
        if subflow.phase == Phase::Closing
            && subflow.board.is_empty()
            && end.committed[i].is_empty()
        {
            return Progress::Drained;
        }
        Progress::Taken
    }

    /// Takes an in-order ACK for plain subflow `i`, where the scheduler queues ahead of the
    /// windows, and sends what it admits.
    #[inline(always)]
    pub(crate) fn take_ack_ahead(&mut self, i: usize, packet: &Packet) {
        if self.end.acknowledge(packet.dsn()) {
            self.arm_data();
        }
        let (subflow, cx, end) = self.split(i);
        if end.owns_window {
            subflow.take_ack(
                &mut InOrder::<true> { clock: cx.clock(i) },
                end,
                i,
                packet,
                None,
            );
        } else {
            subflow.take_ack(
                &mut InOrder::<false> { clock: cx.clock(i) },
                end,
                i,
                packet,
                None,
            );
        }
        subflow.refresh_view(cx, end);
        // Departures keep the view up to date.
        self.push();
        self.end.scheduler.acknowledged(i, &self.end.views[i]);
    }

    /// Sends what the ACK for subflow `i` admits. The scheduler's view of the subflow is fresh.
    #[inline(always)]
    pub(crate) fn push_after(&mut self, i: usize) {
        let (view, window) = (&self.end.views[i], &self.end.cc.subflows[i]);
        debug_assert!(
            !self.end.is_scheduled || view.ssthresh == window.ssthresh,
            "the view is stale"
        );
        self.push();
        if self.end.queues_ahead {
            let (subflow, cx, end) = self.split(i);
            subflow.refresh_view(cx, end);
            end.scheduler.acknowledged(i, &end.views[i]);
        }
    }
}

impl SubflowSender {
    /// Takes an ACK for this subflow, number `i` of its connection. The caller refreshes the
    /// scheduler's view and sends what the window admits.
    #[inline(always)]
    pub(crate) fn take_ack<'a, C: AckCase<'a>>(
        &mut self,
        case: &mut C,
        end: &mut SenderEnd,
        i: usize,
        packet: &Packet,
        blocks: Option<&SackBlocks>,
    ) {
        let (config, now_ns) = (case.config(), case.now_ns());
        let owns_window = C::OWNS_WINDOW.unwrap_or(self.owned.is_some());
        // RFC 6298, section 2, with the echoed timestamp.
        let rtt_ns = packet.sent().elapsed_ns(now_ns);
        // Not in adjacent lines: compilers would combine both counters into one vector operation,
        // which is slower.
        self.stats.rtt_samples += 1;
        self.rtt.sample(rtt_ns);
        self.stats.rtt_sum_ns += rtt_ns;

        let prior_in_flight = if C::IN_ORDER {
            self.board.outstanding()
        } else {
            self.board.in_flight()
        };
        self.note_usage(end.cc.subflows[i].cwnd, prior_in_flight);
        // The cumulative ACK. The timer restarts if it advances (RFC 6298, section 5.3).
        let una = self.board.una();
        let before = if C::IN_ORDER {
            una
        } else {
            self.board.delivered()
        };
        let acked = if C::IN_ORDER {
            self.board.advance_plain(packet.ssn())
        } else {
            self.board.advance(packet.ssn())
        };
        if C::IN_ORDER || acked > 0 {
            self.rtt.progress();
            if C::IN_ORDER {
                self.arm_plain(&mut case.clock());
            } else {
                self.arm(&mut case.clock());
            }
            if owns_window {
                self.note_advance(una);
            }
        }
        // SACK blocks; without blocks, the segment for RACK (RFC 8985, section 6.2, step 2).
        match blocks {
            Some(blocks) => self.note_blocks(blocks, packet.sent(), config, now_ns),
            // The segment that caused the ACK is covered by it; it is at most the last one.
            None if config.is_rack() => {
                self.board
                    .arrived(packet.sent(), packet.ssn().saturating_sub(1), now_ns);
            }
            None => {}
        }
        let mut report = AckReport {
            rtt_ns,
            prior_in_flight,
            acked,
            delivered: acked,
            echo: C::IS_GENERAL && packet.flags() & ECE != 0,
            newly_lost: false,
        };
        if !C::IN_ORDER {
            let has_blocks = blocks.is_some();
            // Losses, spurious reductions, congestion state.
            if has_blocks || acked == 0 || self.congestion != Congestion::Open {
                report.newly_lost = self.find_losses(case, end, has_blocks, acked);
            }
            if (has_blocks || self.congestion != Congestion::Open)
                && self.undo_if_spurious(config, now_ns, end, packet.sent(), acked)
            {
                report.newly_lost = self.rack_mark_lost(&mut case.clock(), end);
            }
            report.delivered = self.board.delivered().saturating_sub(before);
            if self.congestion != Congestion::Open || report.newly_lost || report.echo {
                self.turn_congestion_state(case, end, &report);
            }
        }
        // The window.
        if owns_window {
            self.tell_owner_of_ack(config, end, &report, now_ns);
        } else {
            self.tell_controller(end, i, &report, now_ns, C::IS_GENERAL);
        }
        if !C::IN_ORDER && !owns_window && self.is_reducing() && config.is_rack() {
            let safe = report.acked > 0 && !report.newly_lost;
            self.cwnd_reduction(&mut end.cc.subflows[i], report.delivered, safe, now_ns);
        }
    }

    /// Finds the segments that an ACK shows to be lost, and returns whether there are any. The ACK
    /// acknowledges `acked` segments.
    #[inline(always)]
    fn find_losses<'a, C: AckCase<'a>>(
        &mut self,
        case: &mut C,
        end: &SenderEnd,
        has_blocks: bool,
        acked: u32,
    ) -> bool {
        let config = case.config();
        match config.transport.recovery {
            _ if !C::IS_GENERAL => return self.rack_mark_lost(&mut case.clock(), end),
            Recovery::Rack => return self.rack_mark_lost(&mut case.clock(), end),
            Recovery::Sack => return has_blocks && self.board.judge() > 0,
            Recovery::NewReno => {}
        }
        if acked > 0 || self.board.is_empty() {
            return false;
        }
        // Unnecessary retransmissions after a timeout also cause duplicate ACKs. Duplicates
        // indicate a loss only above `recover` (RFC 6582, section 3.2, step 2).
        let over = matches!(self.congestion, Congestion::Open | Congestion::Loss);
        if over && self.recover > 0 && self.board.una() <= self.recover {
            return false;
        }
        self.board.duplicate_ack() >= config.transport.dup_threshold
    }

    /// Processes the SACK blocks of an ACK that echoes `echo`.
    #[inline(always)]
    pub(super) fn note_blocks(
        &mut self,
        blocks: &SackBlocks,
        echo: Stamp,
        config: &Config,
        now_ns: u64,
    ) {
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

    /// Processes all ranges: the previous ACK with blocks was lost, so the trigger alone is not
    /// enough.
    #[inline(never)]
    fn sack_all(&mut self, ranges: &[(u32, u32)]) {
        for &(start, until) in ranges {
            for ssn in start.max(self.board.una())..until {
                self.sack(ssn);
            }
        }
    }

    /// Records that the receiver has segment `ssn`.
    #[inline(always)]
    fn sack(&mut self, ssn: u32) {
        if self.board.sack(ssn) && self.owned.is_some() {
            self.note_arrival(ssn);
        }
    }

    /// Records whether `in_flight` packets use a window of `cwnd` packets.
    #[inline(always)]
    pub(super) fn note_usage(&mut self, cwnd: u32, in_flight: u32) {
        self.usage
            .note(self.board.una()..self.board.next(), in_flight, cwnd);
    }

    /// Reports an ACK to the controller. A duplicate ACK does not let the window grow, even if it
    /// reports segments above a hole (RFC 5681, section 3.2, step 1; Linux: `tcp_may_raise_cwnd`).
    #[inline(always)]
    fn tell_controller(
        &mut self,
        end: &mut SenderEnd,
        i: usize,
        report: &AckReport,
        now_ns: u64,
        may_be_hosted: bool,
    ) {
        let window = &mut end.cc.subflows[i];
        let before = window.cwnd;
        window.srtt_us = self.rtt.srtt_us();
        let limited = report.acked > 0 && self.usage.admits_growth(window);
        let round_ends = self.board.una() > window.own.round_end;
        if round_ends {
            window.own.round_end = self.board.next();
        }
        let flags = AckFlags::NONE
            .with(AckFlags::ECE, report.echo)
            .with(AckFlags::CWND_LIMITED, limited)
            .with(AckFlags::ROUND_END, round_ends);
        let ack = Ack {
            acked: report.delivered,
            rtt_us: saturated_us(report.rtt_ns),
            flags,
        };
        end.cc.now_us = now_ns / 1_000;
        if may_be_hosted && end.hosting.is_some() {
            end.tell_hosted(i, ack);
        } else {
            end.controller.on_ack(&mut end.cc, i, ack);
        }
        if end.cc.subflows[i].cwnd != before {
            self.integrate_cwnd(before, now_ns);
        }
    }
}
