//! A subflow as the scheduler sees it.

use super::connection::SenderEnd;
use super::subflow::{Congestion, SubflowSender};
use crate::connection::context::Context;
use crate::run::config::Config;

impl SubflowSender {
    /// Refreshes the scheduler's view of the subflow, if a scheduler decides.
    #[inline(always)]
    pub(crate) fn refresh_view(&self, cx: &Context<'_>, end: &mut SenderEnd) {
        self.refresh_view_at(cx.config, end, cx.now_ns);
    }

    /// [`Self::refresh_view`] without a context.
    #[inline(always)]
    pub(crate) fn refresh_view_at(&self, config: &Config, end: &mut SenderEnd, now_ns: u64) {
        if end.is_scheduled {
            self.show_all(config, end, now_ns);
        }
    }

    /// Refreshes all of the scheduler's view.
    #[inline(never)]
    fn show_all(&self, config: &Config, end: &mut SenderEnd, now_ns: u64) {
        let i = self.id.index();
        self.show(
            end,
            i,
            self.board.in_flight(),
            self.congestion,
            self.is_held(now_ns),
        );
        end.note_space(i);
        if end.queues_ahead {
            self.show_queued(config, end);
        }
    }

    /// Refreshes the view of an unpaced subflow with gaps, number `i` of its connection.
    #[inline(always)]
    pub(crate) fn show_gaps(&self, end: &mut SenderEnd, i: usize) {
        self.show(end, i, self.board.in_flight(), self.congestion, false);
        end.note_space(i);
    }

    /// Refreshes the fields for schedulers that queue ahead of the windows.
    #[inline(always)]
    pub(super) fn show_queued(&self, config: &Config, end: &mut SenderEnd) {
        let i = self.id.index();
        let packets = self.board.outstanding() + end.committed[i].len() as u32;
        end.views[i].queued_bytes = packets.saturating_mul(config.transport.mss.0 as u32);
        end.views[i].stale = self.is_stale();
    }

    /// Refreshes the view of the subflow, number `i` of its connection, except the fields for
    /// queueing ahead. The caller passes values that it already has, and updates the space mask.
    #[inline(always)]
    pub(crate) fn show(
        &self,
        end: &mut SenderEnd,
        i: usize,
        in_flight: u32,
        congestion: Congestion,
        is_held: bool,
    ) {
        let window = &end.cc.subflows[i];
        let view = &mut end.views[i];
        let room = if is_held {
            0
        } else {
            self.window_end.saturating_sub(self.board.next())
        };
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
