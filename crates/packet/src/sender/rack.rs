//! Loss recovery as in Linux: RACK detects losses by time, tail loss probes elicit ACKs (both RFC
//! 8985), and PRR spreads the window reduction over the recovery (RFC 9937).
//!
//! Deviations:
//! - A probe is new data only if the scheduler has committed data to the subflow. Otherwise it is a
//!   copy of the last segment.

use joulepath_controllers::{LossKind, Subflow};

use super::cases::General;
use super::connection::{Sender, SenderEnd};
use super::subflow::{Congestion, Probe, Reduction, SubflowSender, Waiting};
use crate::connection::context::{Clock, Context};
use crate::connection::subflow::Phase;
use crate::event::{EventQueue, Source};
use crate::path::packet::{Packet, Stamp};
use crate::run::config::Config;

/// How long a probe for a single outstanding segment waits for a delayed ACK, ns (RFC 8985, section
/// 7.2: TLP.max_ack_delay; Linux: the minimum RTO).
const ACK_DELAY_NS: u64 = 200_000_000;

impl Sender<'_> {
    /// Handles the timer of [`SubflowSender::rack_mark_lost`].
    #[cold]
    pub(super) fn rack_reo_timeout(&mut self, i: usize) {
        let (subflow, cx, end) = self.split(i);
        if subflow.rack_mark_lost(&mut cx.clock(i), end) {
            if subflow.congestion != Congestion::Recovery {
                subflow.enter_recovery(&mut General { cx, i }, end);
                if subflow.owned.is_none() {
                    subflow.cwnd_reduction(&mut end.cc.subflows[i], 1, false, cx.now_ns);
                    subflow.refresh_view(cx, end);
                }
            }
            subflow.repair(cx, end);
        }
        if subflow.waiting == Waiting::Retransmission {
            subflow.arm(&mut cx.clock(i));
        }
        subflow.refresh_view(cx, end);
        self.push();
    }

    /// Sends a tail loss probe: no ACK for two round trips (RFC 8985, section 7.3).
    #[cold]
    pub(super) fn send_loss_probe(&mut self, i: usize) {
        let (subflow, cx, end) = self.split(i);
        if subflow.board.is_empty() {
            return;
        }
        let tail = subflow.board.next();
        let copied_at = match end.committed[i].pop_front() {
            Some(segment) => {
                subflow.send_committed(cx, end, segment);
                None
            }
            None => {
                subflow.copy(cx, end, tail - 1);
                Some(Stamp::at(cx.now_ns))
            }
        };
        subflow.probe = Some(Probe {
            end: tail,
            copied_at,
        });
        subflow.arm(&mut cx.clock(i));
    }
}

impl SubflowSender {
    /// Restarts the timer: for a probe if one may be sent, otherwise for a retransmission.
    #[inline(always)]
    pub(super) fn arm(&mut self, clock: &mut Clock<'_>) {
        if let Some(deadline_ns) = self.rearm(clock.config, clock.now_ns) {
            clock.queue.push(deadline_ns, clock.source);
        }
    }

    /// [`Self::arm`] for a subflow that [is plain](Self::is_plain).
    #[inline(always)]
    pub(super) fn arm_plain(&mut self, clock: &mut Clock<'_>) {
        if let Some(deadline_ns) = self.next_deadline(clock.config, clock.now_ns, true) {
            clock.queue.push(deadline_ns, clock.source);
        }
    }

    /// [`Self::arm`] without the event: returns the instant at which the caller must push one, if
    /// any.
    #[inline(never)]
    fn rearm(&mut self, config: &Config, now_ns: u64) -> Option<u64> {
        let calm = self.phase == Phase::Established
            && matches!(self.congestion, Congestion::Open | Congestion::Cwr);
        let may_probe = calm && self.probe.is_none() && !self.board.has_gaps();
        self.next_deadline(config, now_ns, may_probe)
    }

    /// Moves the timer. Returns the deadline if no earlier event is pending, which could be moved.
    #[inline(always)]
    fn next_deadline(&mut self, config: &Config, now_ns: u64, may_probe: bool) -> Option<u64> {
        if self.board.is_empty() {
            self.timer.clear();
            return None;
        }
        let delay_ns;
        (self.waiting, delay_ns) = self.patience(config, may_probe);
        let deadline_ns = now_ns + delay_ns;
        self.timer.moves_to(deadline_ns).then_some(deadline_ns)
    }

    /// What the timer waits for, and how long.
    #[inline(always)]
    fn patience(&self, config: &Config, may_probe: bool) -> (Waiting, u64) {
        let (rto_ns, srtt_us) = (self.rtt.rto_ns(), self.rtt.srtt_us());
        if may_probe && config.is_rack() && srtt_us > 0 {
            let lone_ns = if self.board.outstanding() == 1 {
                ACK_DELAY_NS
            } else {
                0
            };
            (
                Waiting::Probe,
                (2_000 * u64::from(srtt_us) + lone_ns).min(rto_ns),
            )
        } else {
            (Waiting::Retransmission, rto_ns)
        }
    }

    /// Marks segments as lost that were overtaken long enough ago; returns whether there were any.
    /// If others may be lost later, sets the timer.
    #[inline(always)]
    pub(super) fn rack_mark_lost(&mut self, clock: &mut Clock<'_>, end: &SenderEnd) -> bool {
        if !self.board.has_overtaken() {
            return false;
        }
        let least_rtt_us = end.cc.subflows[self.id.index()].own.base_rtt_us;
        self.rack_detect_loss(
            least_rtt_us,
            clock.config,
            clock.now_ns,
            clock.source,
            clock.queue,
        )
    }

    /// [`Self::rack_mark_lost`] after the quick check. It takes the clock's fields, so that they
    /// stay in registers.
    #[inline(never)]
    fn rack_detect_loss(
        &mut self,
        least_rtt_us: u32,
        config: &Config,
        now_ns: u64,
        source: Source,
        queue: &mut EventQueue,
    ) -> bool {
        // Until the path is known to reorder, three SACKed segments suffice, without a reordering
        // window (RFC 8985, section 6.2, step 4).
        let many_sacked = self.board.sacked() >= config.transport.dup_threshold;
        let reo_wnd_ns = if !self.board.reordering_seen() && (self.is_recovering() || many_sacked) {
            0
        } else {
            let wide_ns = u64::from(self.reo_wnd.mult) * u64::from(least_rtt_us) * 1_000 / 4;
            wide_ns.min(u64::from(self.rtt.srtt_us()) * 1_000)
        };
        let (lost, wait_ns) = self.board.detect_loss(reo_wnd_ns, now_ns);
        if let Some(wait_ns) = wait_ns {
            self.waiting = Waiting::Reordering;
            self.timer.set(now_ns + wait_ns, source, queue);
        }
        lost > 0
    }

    /// Evaluates an ACK of the probe (RFC 8985, section 7.4): if the copy was needed, its segment
    /// counts as a loss.
    #[cold]
    pub(super) fn process_tlp_ack(
        &mut self,
        cx: &Context<'_>,
        end: &mut SenderEnd,
        packet: &Packet,
    ) {
        let Some(probe) = self.probe.filter(|probe| packet.ssn() >= probe.end) else {
            return;
        };
        self.probe = None;
        let needed = probe.copied_at.is_some_and(|at| at == packet.sent());
        if needed && self.congestion == Congestion::Open {
            self.board.count_loss();
            let ssthresh = self.reduce(cx.now_ns, end, LossKind::FastRetransmit);
            end.cc.subflows[self.id.index()].cwnd = ssthresh;
        }
    }

    /// Reduces the window to the controller's new ssthresh: at once, or by PRR.
    pub(super) fn init_cwnd_reduction(
        &mut self,
        config: &Config,
        now_ns: u64,
        end: &mut SenderEnd,
        kind: LossKind,
    ) {
        let i = self.id.index();
        let prior_cwnd = end.cc.subflows[i].cwnd;
        let ssthresh = self.reduce(now_ns, end, kind);
        if config.is_rack() {
            self.reduction = Reduction {
                prior_cwnd,
                delivered: 0,
                out: 0,
            };
        } else {
            end.cc.subflows[i].cwnd = ssthresh;
        }
    }

    /// PRR with the slow start bound (RFC 9937, section 5; `tcp_cwnd_reduction`): sets the window
    /// to what may be in flight after an ACK that delivers `delivered` segments. A `safe` ACK
    /// advances and reports no loss.
    #[inline(always)]
    pub(super) fn cwnd_reduction(
        &mut self,
        view: &mut Subflow,
        delivered: u32,
        safe: bool,
        now_ns: u64,
    ) {
        if delivered == 0 {
            return;
        }
        let (in_flight, ssthresh) = (self.board.in_flight(), view.ssthresh);
        let reduction = &mut self.reduction;
        reduction.delivered += delivered;
        let quota = if in_flight > ssthresh {
            let allowed = u64::from(ssthresh) * u64::from(reduction.delivered);
            allowed
                .div_ceil(u64::from(reduction.prior_cwnd.max(1)))
                .saturating_sub(reduction.out.into()) as u32
        } else {
            let conserving = reduction
                .delivered
                .saturating_sub(reduction.out)
                .max(delivered);
            (conserving + u32::from(safe)).min(ssthresh - in_flight)
        };
        // The first retransmission may always leave.
        let quota = quota.max(u32::from(reduction.out == 0));
        let cwnd = (in_flight + quota).max(1);
        if cwnd != view.cwnd {
            self.integrate_cwnd(view.cwnd, now_ns);
            view.cwnd = cwnd;
        }
    }
}
