//! Congestion states of one subflow, and its retransmission timer (RFC 5681, 6298, 6582, 6675).
//!
//! ```text
//!             3 dupacks / SACK rule            timeout (from every state)
//!   OPEN ─────────────────────────► RECOVERY ─────────────────────────► LOSS
//!    │ ▲ ECE                            │                                │
//!    ▼ │                                │ everything sent before is ACKed│
//!   CWR ─────────────► OPEN ◄───────────┴────────────────────────────────┘
//! ```

use joulepath_controllers::{AckFlags, LossKind, Subflow as Window, within};
use joulepath_model::scenario::Recovery;

use super::ack::AckReport;
use super::cases::AckCase;
use super::connection::{Sender, SenderEnd};
use super::subflow::{Congestion, SubflowSender, Waiting};
use super::undo::PriorWindow;
use crate::connection::context::Context;
use crate::run::config::Config;

/// After this many timeouts in a row a subflow is stale: a scheduler that queues ahead moves its
/// data to other subflows and assigns it no more. (Linux' `stale_loss_cnt` counts on a timer of its
/// own: four times 200 ms.)
const STALE_AFTER: u32 = 2;

/// The state of a subflow after its timer expired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Lives,
    /// Too many retransmissions of one packet failed: the caller closes the subflow.
    GivenUp,
}

impl Sender<'_> {
    /// Handles the timer of the established subflow `i`.
    pub(crate) fn on_timer(&mut self, i: usize) -> Fate {
        match std::mem::replace(&mut self.subflows[i].waiting, Waiting::Retransmission) {
            Waiting::Retransmission => return self.on_timeout(i),
            Waiting::Probe => self.send_loss_probe(i),
            Waiting::Reordering => self.rack_reo_timeout(i),
        }
        Fate::Lives
    }

    /// Handles a retransmission timeout (RFC 6298, section 5; RFC 5681, section 3.1, eq. 4).
    fn on_timeout(&mut self, i: usize) -> Fate {
        let (subflow, cx, end) = self.split(i);
        if subflow.board.is_empty() {
            return Fate::Lives;
        }
        if subflow.back_off(cx, end) > cx.config.transport.max_retries {
            return Fate::GivenUp;
        }
        subflow.enter_loss(cx, end);
        // Linux reinjects when it declares the subflow stale. Before that, `retransmit_data`
        // handles the data.
        if !self.end.queues_ahead {
            self.reinject_outstanding(i);
        } else if self.subflows[i].is_stale() {
            self.reinject_outstanding(i);
            self.end.reinject_copies_of_committed(i);
        }
        let (subflow, cx, end) = self.split(i);
        subflow.repair(cx, end);
        self.push();
        Fate::Lives
    }
}

/// The window before a reduction, packets, and its ssthresh (`tcp_current_ssthresh`: at least three
/// quarters of the window).
fn prior_window(window: &Window) -> PriorWindow {
    let reducing = window.flags & (Window::RECOVERY | Window::LOSS) != 0;
    let ssthresh = if reducing {
        window.ssthresh
    } else {
        window.ssthresh.max(window.cwnd / 4 * 3)
    };
    PriorWindow {
        cwnd: window.cwnd,
        ssthresh,
    }
}

impl SubflowSender {
    /// Whether there has been no ACK for so long that its data should use other subflows.
    pub(super) fn is_stale(&self) -> bool {
        self.rtt.timeouts_in_a_row() >= STALE_AFTER
    }

    /// Moves between the congestion states Open, CWR, Recovery and Loss.
    #[inline(always)]
    pub(super) fn turn_congestion_state<'a, C: AckCase<'a>>(
        &mut self,
        case: &mut C,
        end: &mut SenderEnd,
        report: &AckReport,
    ) {
        let (config, now_ns) = (case.config(), case.now_ns());
        // The receiver echoes the mark until it gets the first segment after `recover`, which has
        // CWR set. The ACK of that segment is the first whose echo reports another mark.
        let una = self.board.una();
        let over = if self.congestion == Congestion::Cwr {
            una > self.recover
        } else {
            una >= self.recover
        };
        if self.congestion != Congestion::Open && over {
            self.leave_recovery(config, now_ns, end);
        }
        // The loss of a segment that was sent in recovery starts another recovery.
        let newly_lost = report.newly_lost || (config.is_rack() && self.board.lost() > 0);
        match self.congestion {
            Congestion::Open | Congestion::Cwr if newly_lost => self.enter_recovery(case, end),
            Congestion::Open if report.echo => self.reduce_for_mark(config, now_ns, end),
            // After a partial ACK the next hole is also lost (RFC 6582, section 3.2).
            Congestion::Recovery
                if report.acked > 0 && config.transport.recovery == Recovery::NewReno =>
            {
                self.board.mark_head_lost();
            }
            _ => {}
        }
    }

    /// Begins a congestion episode; returns the controller's new ssthresh, packets. A controller
    /// that owns the window learns of it with the next event, and keeps its window until then.
    pub(super) fn reduce(&mut self, now_ns: u64, end: &mut SenderEnd, kind: LossKind) -> u32 {
        let i = self.id.index();
        self.integrate_cwnd(end.cc.subflows[i].cwnd, now_ns);
        self.stats.loss_events += 1;
        if let Some(owned) = &mut self.owned {
            match kind {
                LossKind::Ecn => owned.note_mark(),
                LossKind::FastRetransmit | LossKind::Timeout => owned.note(AckFlags::EPISODE),
            }
            return end.cc.subflows[i].cwnd;
        }
        end.cc.now_us = now_ns / 1_000;
        let ssthresh = within(&mut end.hosting, || {
            end.controller.on_loss(&mut end.cc, i, kind)
        });
        end.cc.subflows[i].ssthresh = ssthresh;
        ssthresh
    }

    #[cold]
    pub(super) fn enter_recovery<'a, C: AckCase<'a>>(&mut self, case: &mut C, end: &mut SenderEnd) {
        let config = case.config();
        self.begin_recovery(config, case.now_ns(), end);
        if self.leaves_probing(config) {
            self.arm(&mut case.clock());
        }
        if !C::IS_GENERAL || config.is_rack() {
            return; // PRR admits the first retransmission
        }
        if config.transport.recovery == Recovery::NewReno {
            self.board.mark_head_lost();
        }
        // Fast retransmit does not depend on the pipe (RFC 6675, section 5, step 4.3).
        if let Some(ssn) = self.board.next_repair() {
            case.retransmit(self, end, ssn);
        }
    }

    /// Enters Recovery. The caller sets the timer and sends the first retransmission.
    #[inline(never)]
    fn begin_recovery(&mut self, config: &Config, now_ns: u64, end: &mut SenderEnd) {
        let is_rack = config.is_rack();
        let window = &end.cc.subflows[self.id.index()];
        let reduced = self.congestion == Congestion::Cwr;
        let prior = if reduced {
            PriorWindow::default()
        } else {
            prior_window(window)
        };
        if is_rack {
            self.remember(prior);
        }
        if self.congestion != Congestion::Cwr {
            self.init_cwnd_reduction(config, now_ns, end, LossKind::FastRetransmit);
        }
        end.cc.subflows[self.id.index()].flags |= Window::RECOVERY;
        self.congestion = Congestion::Recovery;
        self.recover = self.board.next();
        self.rescued = false;
        self.cwr_pending = true;
    }

    /// Whether the timer must restart at the beginning of a recovery, because it waits for
    /// something else.
    #[inline(always)]
    fn leaves_probing(&self, config: &Config) -> bool {
        config.is_rack() && self.waiting != Waiting::Retransmission
    }

    #[cold]
    fn reduce_for_mark(&mut self, config: &Config, now_ns: u64, end: &mut SenderEnd) {
        self.init_cwnd_reduction(config, now_ns, end, LossKind::Ecn);
        end.cc.subflows[self.id.index()].flags |= Window::RECOVERY;
        self.congestion = Congestion::Cwr;
        self.recover = self.board.next();
        self.cwr_pending = true;
    }

    #[inline(never)]
    fn leave_recovery(&mut self, config: &Config, now_ns: u64, end: &mut SenderEnd) {
        let window = &mut end.cc.subflows[self.id.index()];
        self.integrate_cwnd(window.cwnd, now_ns);
        if self.is_recovering() {
            self.reo_wnd.end_recovery();
        }
        let reduced = self.congestion == Congestion::Recovery
            || (config.is_rack() && self.congestion == Congestion::Cwr);
        self.congestion = Congestion::Open;
        self.board.forget_duplicates();
        window.flags &= !(Window::RECOVERY | Window::LOSS);
        if reduced && self.owned.is_none() {
            window.cwnd = window.ssthresh;
        }
    }

    /// Doubles the timer and, once per flight, reduces the window. Returns the number of timeouts
    /// in a row.
    fn back_off(&mut self, cx: &Context<'_>, end: &mut SenderEnd) -> u32 {
        self.stats.timeouts += 1;
        // Linux does not reduce again for segments of a recovery that has already reduced.
        let reduced = cx.config.is_rack()
            && self.congestion == Congestion::Recovery
            && self.board.una() < self.recover;
        let first =
            !reduced && (self.congestion != Congestion::Loss || self.rtt.timeouts_in_a_row() == 0);
        self.rtt.back_off();
        if first && cx.config.is_rack() {
            self.remember(prior_window(&end.cc.subflows[self.id.index()]));
        }
        if first && self.rtt.timeouts_in_a_row() <= cx.config.transport.max_retries {
            self.reduce(cx.now_ns, end, LossKind::Timeout);
        }
        self.rtt.timeouts_in_a_row()
    }

    /// Sets the window to one packet and marks all segments as lost that are not SACKed.
    fn enter_loss(&mut self, cx: &Context<'_>, end: &mut SenderEnd) {
        let window = &mut end.cc.subflows[self.id.index()];
        self.integrate_cwnd(window.cwnd, cx.now_ns);
        window.cwnd = 1;
        window.flags = (window.flags & !Window::RECOVERY) | Window::LOSS;
        self.congestion = Congestion::Loss;
        self.recover = self.board.next();
        self.cwr_pending = true;
        self.board.mark_all_lost();
        self.probe = None;
        self.timer.clear();
        if self.owned.is_some() {
            self.tell_of_timeout(cx, end);
        }
        self.refresh_view(cx, end);
    }
}
