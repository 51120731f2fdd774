//! Loss recovery as in Linux: RACK finds losses by time, tail loss probes make the receiver speak (both RFC 8985), PRR spreads the
//! reduction of the window over the recovery (RFC 9937).
//!
//! Deviations:
//! - links keep the order of packets, so that the reordering window never grows beyond a quarter of the least RTT;
//! - a probe is new data only if the scheduler has committed some to the subflow, else a copy of the last segment.

use joulepath_controllers::LossKind;
use joulepath_model::scenario::Recovery;

use crate::lane::Lane;
use crate::packet::{Packet, Tick};
use crate::subflow::{Congestion, Phase, Probe, Reduction, Waiting};

/// What a probe of a single outstanding segment waits for a delayed ACK, ns (RFC 8985, section 7.2: TLP.max_ack_delay; Linux: the least
/// RTO).
const ACK_DELAY_NS: u64 = 200_000_000;

impl Lane<'_> {
    pub(crate) fn is_rack(&self) -> bool {
        self.common.transport.recovery == Recovery::Rack
    }

    /// Sets the timer anew: for a probe where that makes sense, otherwise for a retransmission.
    #[inline]
    pub(crate) fn arm(&mut self, i: usize) {
        let rack = self.is_rack();
        let subflow = &mut self.subflows[i];
        if subflow.board.is_empty() {
            return subflow.rto.clear();
        }
        let rto_ns = subflow.rtt.rto_ns();
        let srtt_us = subflow.rtt.srtt_us();
        let calm = subflow.phase == Phase::Established
            && matches!(subflow.congestion, Congestion::Open | Congestion::Cwr);
        let (waiting, delay_ns) =
            if rack && calm && srtt_us > 0 && subflow.probe.is_none() && !subflow.board.has_gaps() {
                let lone_ns = if subflow.board.outstanding() == 1 { ACK_DELAY_NS } else { 0 };
                (Waiting::Probe, (2_000 * u64::from(srtt_us) + lone_ns).min(rto_ns))
            } else {
                (Waiting::Retransmission, rto_ns)
            };
        subflow.waiting = waiting;
        let source = self.common.sources.rto(self.connection.first as usize + i);
        subflow.rto.set(self.now_ns + delay_ns, source, &mut self.net.queue);
    }

    /// Gives up what has been overtaken for long enough; whether there was anything. Otherwise the timer waits for it.
    pub(crate) fn judge_by_time(&mut self, i: usize) -> bool {
        let least_rtt_us = self.window(i).own.base_rtt_us;
        let subflow = &mut self.subflows[i];
        let recovering = matches!(subflow.congestion, Congestion::Recovery | Congestion::Loss);
        // Three SACKed segments are as good a sign as ever (RFC 8985, section 6.2, step 4).
        let reordering_ns = if recovering || subflow.board.sacked() >= self.common.transport.dup_threshold {
            0
        } else {
            (u64::from(least_rtt_us) * 1_000 / 4).min(u64::from(subflow.rtt.srtt_us()) * 1_000)
        };
        let (lost, wait_ns) = subflow.board.judge_by_time(reordering_ns, self.now_ns);
        if let Some(wait_ns) = wait_ns {
            subflow.waiting = Waiting::Reordering;
            let source = self.common.sources.rto(self.connection.first as usize + i);
            subflow.rto.set(self.now_ns + wait_ns, source, &mut self.net.queue);
        }
        lost > 0
    }

    /// The timer of [`Self::judge_by_time`] expired.
    #[cold]
    pub(crate) fn give_up_overtaken(&mut self, i: usize) {
        if self.judge_by_time(i) {
            if self.subflows[i].congestion != Congestion::Recovery {
                self.enter_recovery(i);
                self.reduce_proportionally(i, 1, false);
            }
            self.repair(i);
        }
        if self.subflows[i].waiting == Waiting::Retransmission {
            self.arm(i);
        }
        self.refresh_view(i);
        self.push();
    }

    /// Nothing has been heard for two round trips (RFC 8985, section 7.3).
    #[cold]
    pub(crate) fn probe_tail(&mut self, i: usize) {
        let now = Tick::at(self.now_ns);
        let board = &self.subflows[i].board;
        if board.is_empty() {
            return;
        }
        let end = board.next();
        let copied_at = match self.connection.committed[i].pop_front() {
            Some((dsn, len)) => {
                self.send_new(i, dsn, len);
                None
            }
            None => {
                self.copy(i, end - 1);
                Some(now)
            }
        };
        self.subflows[i].probe = Some(Probe { end, copied_at });
        self.arm(i);
    }

    /// What an ACK says about the probe (RFC 8985, section 7.4): if the copy was needed, its segment counts as a loss.
    #[cold]
    pub(crate) fn weigh_probe(&mut self, i: usize, packet: &Packet) {
        let subflow = &mut self.subflows[i];
        let Some(probe) = subflow.probe.filter(|probe| packet.ssn >= probe.end) else { return };
        subflow.probe = None;
        let needed = probe.copied_at.is_some_and(|at| at == packet.sent);
        if needed && subflow.congestion == Congestion::Open {
            let ssthresh = self.reduce(i, LossKind::FastRetransmit);
            self.window(i).cwnd = ssthresh;
        }
    }

    /// The controller says the new ssthresh; the window follows at once, or by PRR.
    pub(crate) fn begin_reduction(&mut self, i: usize, kind: LossKind) {
        let prior_cwnd = self.window(i).cwnd;
        let ssthresh = self.reduce(i, kind);
        if self.is_rack() {
            self.subflows[i].reduction = Reduction { prior_cwnd, delivered: 0, out: 0 };
        } else {
            self.window(i).cwnd = ssthresh;
        }
    }

    /// PRR with the slow start bound (RFC 9937, section 5; `tcp_cwnd_reduction`): the window that admits what may be sent in answer to
    /// an ACK for `delivered` packets. A `safe` ACK advances and tells of no loss.
    pub(crate) fn reduce_proportionally(&mut self, i: usize, delivered: u32, safe: bool) {
        let rack = self.is_rack();
        let subflow = &mut self.subflows[i];
        let reducing = matches!(subflow.congestion, Congestion::Recovery | Congestion::Cwr);
        if !rack || !reducing || delivered == 0 {
            return;
        }
        let in_flight = subflow.board.in_flight();
        let reduction = &mut subflow.reduction;
        reduction.delivered += delivered;
        let ssthresh = self.connection.cc.subflows[i].ssthresh;
        let quota = if in_flight > ssthresh {
            let allowed = u64::from(ssthresh) * u64::from(reduction.delivered);
            allowed.div_ceil(u64::from(reduction.prior_cwnd.max(1))).saturating_sub(reduction.out.into())
                as u32
        } else {
            let conserving = reduction.delivered.saturating_sub(reduction.out).max(delivered);
            (conserving + u32::from(safe)).min(ssthresh - in_flight)
        };
        // The first retransmission is sent at once.
        let quota = quota.max(u32::from(reduction.out == 0));
        self.integrate_cwnd(i);
        self.window(i).cwnd = (in_flight + quota).max(1);
        self.refresh_view(i);
    }
}
