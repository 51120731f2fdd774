//! The sender of data, ACKs in: RTT, window and loss recovery (RFC 5681, 6298, 6582, 6675; `rack.rs`: RFC 8985, 9937).
//!
//! ```text
//!             3 dupacks / SACK rule            timeout (from every state)
//!   OPEN ─────────────────────────► RECOVERY ─────────────────────────► LOSS
//!    │ ▲ ECE                            │                                │
//!    ▼ │                                │ everything sent before is ACKed│
//!   CWR ─────────────► OPEN ◄───────────┴────────────────────────────────┘
//! ```

use joulepath_controllers::{AckFlags, LossKind, Subflow as Window};
use joulepath_model::energy::Traffic;
use joulepath_model::scenario::Recovery;

use crate::lane::Lane;
use crate::packet::{ECE, Packet};
use crate::subflow::{Congestion, Phase, Waiting};

/// Timeouts in a row after which a scheduler that queues ahead gives a subflow's data to others (`stale_loss_cnt` of Linux counts its own
/// timer, four times 200 ms).
const STALE_AFTER: u32 = 2;

impl Lane<'_> {
    pub(crate) fn receive_ack(&mut self, i: usize, packet: Packet) {
        let subflow = &mut self.subflows[i];
        if !matches!(subflow.phase, Phase::Established | Phase::Closing) {
            if packet.aux != 0 {
                self.net.sacks.take(packet.aux);
            }
            return;
        }
        if !self.downloads() {
            self.meter(i, self.common.sizes.ack, Traffic::Down);
        }
        if self.connection.sender.acknowledge(packet.dsn) {
            self.connection.application.forget(packet.dsn);
            if self.connection.queues_ahead {
                self.arm_data();
            }
        }
        let subflow = &mut self.subflows[i];
        let rtt_ns = packet.sent.elapsed_ns(self.now_ns);
        subflow.rtt.sample(rtt_ns);
        subflow.stats.rtt_samples += 1;
        subflow.stats.rtt_sum_ns += rtt_ns;

        let prior_in_flight = subflow.board.in_flight();
        let before = subflow.board.delivered();
        let acked = subflow.board.advance(packet.ssn);
        if acked > 0 {
            subflow.rtt.progress();
            self.arm(i);
        }
        let rack = self.is_rack();
        let subflow = &mut self.subflows[i];
        if rack {
            subflow.board.arrived(packet.sent, self.now_ns);
        }
        let in_order = packet.aux == 0 && acked > 0 && subflow.congestion == Congestion::Open;
        let newly_lost = !in_order && self.note_gaps(i, &packet, acked);
        // The ACK that fills a hole covers what SACKs have told before: only news makes a window grow.
        let delivered = self.subflows[i].board.delivered().saturating_sub(before);
        let echo = packet.flags & ECE != 0;
        if self.subflows[i].congestion != Congestion::Open || newly_lost || echo {
            self.turn_congestion_state(i, acked, newly_lost, echo);
        }
        self.control_congestion(i, echo, delivered, rtt_ns, prior_in_flight);
        if self.subflows[i].congestion != Congestion::Open {
            self.reduce_proportionally(i, delivered, acked > 0 && !newly_lost);
            self.repair(i);
        }
        if self.subflows[i].probe.is_some() {
            self.weigh_probe(i, &packet);
        }
        if self.subflows[i].phase == Phase::Closing {
            self.close_if_drained(i);
        }
        self.push();
        if self.connection.queues_ahead {
            self.refresh_view(i);
            self.connection.scheduler.acknowledged(i, &self.connection.views[i]);
        }
    }

    /// What an ACK says about segments above a hole; whether something was judged lost.
    #[cold]
    fn note_gaps(&mut self, i: usize, packet: &Packet, acked: u32) -> bool {
        let subflow = &mut self.subflows[i];
        if packet.aux != 0 {
            let blocks = self.net.sacks.take(packet.aux);
            subflow.board.sack(blocks.trigger);
            if blocks.serial != subflow.sack_serial {
                // An ACK was lost on the way: what it would have told is in the ranges.
                for &(start, end) in blocks.ranges() {
                    for ssn in start.max(subflow.board.una())..end {
                        subflow.board.sack(ssn);
                    }
                }
            }
            subflow.sack_serial = blocks.serial.wrapping_add(1);
        }
        match self.common.transport.recovery {
            Recovery::Rack => return self.judge_by_time(i),
            Recovery::Sack => return packet.aux != 0 && subflow.board.judge() > 0,
            Recovery::NewReno => {}
        }
        if acked > 0 || subflow.board.is_empty() {
            return false;
        }
        // Copies that a timeout sent in vain cause duplicates, too: only above `recover` do they tell of a loss (RFC 6582, section 3.2,
        // step 2).
        let over = matches!(subflow.congestion, Congestion::Open | Congestion::Loss);
        if over && subflow.recover > 0 && subflow.board.una() <= subflow.recover {
            return false;
        }
        subflow.board.duplicate_ack() >= self.common.transport.dup_threshold
    }

    /// Moves between Open, CWR, Recovery and Loss.
    #[cold]
    fn turn_congestion_state(&mut self, i: usize, acked: u32, newly_lost: bool, echo: bool) {
        let subflow = &mut self.subflows[i];
        // The mark is echoed until the first segment behind `recover` tells the receiver of the reduction (CWR): its own ACK is the
        // first whose echo is news.
        let una = subflow.board.una();
        let over = if subflow.congestion == Congestion::Cwr {
            una > subflow.recover
        } else {
            una >= subflow.recover
        };
        if subflow.congestion != Congestion::Open && over {
            self.leave_recovery(i);
        }
        let rack = self.is_rack();
        let subflow = &mut self.subflows[i];
        // What was sent in recovery and got lost starts another one.
        let newly_lost = newly_lost || (rack && subflow.board.lost() > 0);
        match subflow.congestion {
            Congestion::Open if newly_lost => self.enter_recovery(i),
            Congestion::Cwr if newly_lost => self.enter_recovery(i),
            Congestion::Open if echo => self.reduce_for_mark(i),
            // A partial ACK: the next hole is lost, too (RFC 6582, section 3.2).
            Congestion::Recovery if acked > 0 && self.common.transport.recovery == Recovery::NewReno => {
                subflow.board.mark_head_lost();
            }
            _ => {}
        }
    }

    /// One congestion episode: the controller says the new ssthresh, packets.
    pub(crate) fn reduce(&mut self, i: usize, kind: LossKind) -> u32 {
        self.integrate_cwnd(i);
        self.subflows[i].stats.loss_events += 1;
        let connection = &mut *self.connection;
        connection.cc.now_us = self.now_ns / 1_000;
        let ssthresh = connection.controller.on_loss(&mut connection.cc, i, kind);
        connection.cc.subflows[i].ssthresh = ssthresh;
        ssthresh
    }

    pub(crate) fn enter_recovery(&mut self, i: usize) {
        if self.subflows[i].congestion != Congestion::Cwr {
            self.begin_reduction(i, LossKind::FastRetransmit);
        }
        self.window(i).flags |= Window::RECOVERY;
        let subflow = &mut self.subflows[i];
        subflow.congestion = Congestion::Recovery;
        subflow.recover = subflow.board.next();
        subflow.rescued = false;
        subflow.cwr_pending = true;
        if self.is_rack() {
            if self.subflows[i].waiting != Waiting::Retransmission {
                self.arm(i);
            }
            return; // PRR admits the first retransmission
        }
        let subflow = &mut self.subflows[i];
        if self.common.transport.recovery == Recovery::NewReno {
            subflow.board.mark_head_lost();
        }
        // Fast retransmit does not ask the pipe (RFC 6675, section 5, step 4.3).
        if let Some(ssn) = subflow.board.next_repair() {
            self.retransmit(i, ssn);
        }
    }

    fn reduce_for_mark(&mut self, i: usize) {
        self.begin_reduction(i, LossKind::Ecn);
        self.window(i).flags |= Window::RECOVERY;
        let subflow = &mut self.subflows[i];
        subflow.congestion = Congestion::Cwr;
        subflow.recover = subflow.board.next();
        subflow.cwr_pending = true;
    }

    fn leave_recovery(&mut self, i: usize) {
        self.integrate_cwnd(i);
        let rack = self.is_rack();
        let subflow = &mut self.subflows[i];
        let reduced =
            subflow.congestion == Congestion::Recovery || (rack && subflow.congestion == Congestion::Cwr);
        subflow.congestion = Congestion::Open;
        subflow.board.forget_duplicates();
        let window = self.window(i);
        window.flags &= !(Window::RECOVERY | Window::LOSS);
        if reduced {
            window.cwnd = window.ssthresh;
        }
    }

    /// Tells the controller of the ACK.
    #[inline]
    fn control_congestion(&mut self, i: usize, echo: bool, acked: u32, rtt_ns: u64, prior_in_flight: u32) {
        let subflow = &mut self.subflows[i];
        let connection = &mut *self.connection;
        connection.cc.now_us = self.now_ns / 1_000;
        let window = &mut connection.cc.subflows[i];
        let before = window.cwnd;
        window.srtt_us = subflow.rtt.srtt_us();
        let limited = prior_in_flight >= window.cwnd
            || (window.cwnd < window.ssthresh && 2 * prior_in_flight >= window.cwnd);
        let round_ends = subflow.board.una() > window.own.round_end;
        if round_ends {
            window.own.round_end = subflow.board.next();
        }
        let flags = AckFlags::NONE
            .with(AckFlags::ECE, echo)
            .with(AckFlags::CWND_LIMITED, limited)
            .with(AckFlags::ROUND_END, round_ends);
        let rtt_us = rtt_ns.div_ceil(1_000) as u32;
        connection.controller.on_ack(&mut connection.cc, i, acked, rtt_us, flags);
        if connection.cc.subflows[i].cwnd != before {
            subflow.integrate_cwnd(before, self.now_ns);
        }
        if self.connection.is_scheduled {
            self.refresh_view(i);
        }
    }

    /// Adds cwnd × time to the statistics; before every change of cwnd.
    pub(crate) fn integrate_cwnd(&mut self, i: usize) {
        self.subflows[i].integrate_cwnd(self.connection.cc.subflows[i].cwnd, self.now_ns);
    }

    /// Shows the scheduler how the subflow stands.
    #[inline]
    pub(crate) fn refresh_view(&mut self, i: usize) {
        let subflow = &self.subflows[i];
        let connection = &mut *self.connection;
        let window = &connection.cc.subflows[i];
        let view = &mut connection.views[i];
        let room = subflow.window_end.saturating_sub(subflow.board.next());
        view.cwnd = window.cwnd.min(subflow.board.in_flight().saturating_add(room));
        view.ssthresh = window.ssthresh;
        view.srtt_us = window.srtt_us;
        view.in_flight = subflow.board.in_flight();
        view.in_loss = subflow.congestion == Congestion::Loss;
        view.in_recovery = matches!(subflow.congestion, Congestion::Recovery | Congestion::Cwr);
        if connection.queues_ahead {
            let packets = subflow.board.outstanding() + connection.committed[i].len() as u32;
            view.queued_bytes = packets.saturating_mul(self.common.transport.mss.0 as u32);
        }
        if connection.watches_rtt {
            view.rtt.last_us = window.own.last_rtt_us;
            view.rtt.min_us = window.own.base_rtt_us;
            view.rtt.max_us = view.rtt.max_us.max(window.own.last_rtt_us);
            view.rtt.var_us = subflow.rtt.variation_us();
        }
    }

    /// The timer of the sender expired.
    pub(crate) fn on_timer(&mut self, i: usize) {
        match std::mem::replace(&mut self.subflows[i].waiting, Waiting::Retransmission) {
            Waiting::Retransmission => self.on_timeout(i),
            Waiting::Probe => self.probe_tail(i),
            Waiting::Reordering => self.give_up_overtaken(i),
        }
    }

    /// The retransmission timer expired (RFC 6298, section 5; RFC 5681, section 3.1, eq. 4).
    fn on_timeout(&mut self, i: usize) {
        let rack = self.is_rack();
        let subflow = &mut self.subflows[i];
        if subflow.board.is_empty() {
            return;
        }
        subflow.stats.timeouts += 1;
        // One reduction for one flight: Linux does not reduce again for what recovery was about.
        let reduced =
            rack && subflow.congestion == Congestion::Recovery && subflow.board.una() < subflow.recover;
        let first =
            !reduced && (subflow.congestion != Congestion::Loss || subflow.rtt.timeouts_in_a_row() == 0);
        subflow.rtt.back_off();
        if subflow.rtt.timeouts_in_a_row() > self.common.transport.max_retries {
            return self.kill(i);
        }
        if first {
            self.reduce(i, LossKind::Timeout);
        }
        self.integrate_cwnd(i);
        let window = self.window(i);
        window.cwnd = 1;
        window.flags = (window.flags & !Window::RECOVERY) | Window::LOSS;
        let subflow = &mut self.subflows[i];
        subflow.congestion = Congestion::Loss;
        subflow.recover = subflow.board.next();
        subflow.cwr_pending = true;
        subflow.board.mark_all_lost();
        subflow.probe = None;
        subflow.rto.clear();
        self.refresh_view(i);
        // Linux does that when it declares the subflow stale, and until then as `retransmit_data` says.
        if !self.connection.queues_ahead || self.subflows[i].rtt.timeouts_in_a_row() >= STALE_AFTER {
            self.reinject_all(i);
        }
        self.repair(i);
        self.push();
    }
}
