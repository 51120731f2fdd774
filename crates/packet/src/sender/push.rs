//! Sends what the scheduler decides: new data, reinjections, and the segment that blocks the
//! connection.

use joulepath_control::schedule::{Offload, penalised};
use joulepath_model::units::Nanos;

use super::connection::{Committed, Sender};

impl Sender<'_> {
    /// Sends everything that the windows and the scheduler admit.
    #[inline(always)]
    pub(crate) fn push(&mut self) {
        if self.end.is_scheduled {
            return self.push_by_scheduler();
        }
        let (subflow, cx, end) = self.split(0);
        while end.may_send_new() && subflow.has_space(end, cx.now_ns) {
            let len = end.writer.segment_len(end.data.next());
            let dsn = end.data.take_new(0);
            subflow.send_new(cx, end, dsn, len);
        }
        if self.end.owns_window {
            self.wait_for_releases();
        }
    }

    fn push_by_scheduler(&mut self) {
        if self.end.queues_ahead {
            return self.push_ahead();
        }
        if self.end.offload == Offload::First {
            self.offload();
        }
        while self.end.has_space()
            && let Some((i, Committed { dsn, len, is_copy })) =
                self.end.next_assignment(Nanos(self.cx.now_ns))
        {
            if is_copy {
                self.subflows[i].count_reinjection(dsn);
            }
            self.send_new(i, dsn, len);
        }
        if self.end.offload == Offload::Last {
            self.offload();
        }
        self.rescue();
        if self.end.owns_window {
            self.wait_for_releases();
        }
    }

    #[inline(always)]
    pub(super) fn send_new(&mut self, i: usize, dsn: u32, len: u16) {
        let (subflow, cx, end) = self.split(i);
        subflow.send_new(cx, end, dsn, len);
    }

    /// Lets the scheduler commit segments to subflows before their windows admit them.
    #[inline(never)]
    fn push_ahead(&mut self) {
        let mss_bytes = self.cx.config.transport.mss.0;
        self.end.fill_send_buffer(mss_bytes);
        self.end.begin_push(mss_bytes);
        // Linux computes the timeout when it chooses a subflow, before that subflow sets its own
        // timer: the first data after an idle time waits for the minimum RTO.
        let starts_ns = (!self.end.data_timer.is_set()).then(|| self.data_timeout_ns());
        for i in 0..self.subflows.len() {
            self.send_committed(i);
        }
        while let Some((i, segment)) = self.end.next_assignment(Nanos(self.cx.now_ns)) {
            self.end.committed[i].push_back(segment);
            self.send_committed(i);
            let (subflow, cx, end) = self.split(i);
            subflow.show_queued(cx.config, end);
        }
        if let Some(timeout_ns) = starts_ns
            && self.end.data.una() < self.end.data.next()
        {
            self.set_data_timer(timeout_ns);
        }
        if self.end.owns_window {
            self.wait_for_releases();
        }
    }

    /// Sends what is committed to subflow `i` and admitted by its window. Usually there is no
    /// space.
    #[inline(always)]
    pub(super) fn send_committed(&mut self, i: usize) {
        if self.end.may_have_space(i) {
            return self.send_into_space(i);
        }
        debug_assert!(!self.subflows[i].has_space(self.end, self.cx.now_ns));
    }

    #[inline(never)]
    fn send_into_space(&mut self, i: usize) {
        let (subflow, cx, end) = self.split(i);
        while subflow.has_room(end, cx.now_ns) {
            let Some(segment) = end.committed[i].pop_front() else {
                return;
            };
            subflow.send_committed(cx, end, segment);
        }
    }

    pub(crate) fn refresh_view(&mut self, i: usize) {
        let (subflow, cx, end) = self.split(i);
        subflow.refresh_view(cx, end);
    }

    /// Sends outstanding data again on the subflows to which the scheduler moves it.
    #[inline(never)]
    fn offload(&mut self) {
        let next = self.end.data.next();
        let mut dsn = self.end.data.una();
        while dsn != next && self.end.has_space() {
            let carried = self.end.data.carried(dsn);
            if let Some(i) = self.end.scheduler.takes_over(self.end.views(), carried) {
                self.reinject_on(i, dsn);
            }
            dsn = dsn.wrapping_add(1);
        }
    }

    /// Opportunistic retransmission and penalisation while the data-level window is full.
    fn rescue(&mut self) {
        let end = &mut *self.end;
        let una = end.data.una();
        if end.data.window_open() || una == end.data.next() {
            return;
        }
        let carried = end.data.carried(una);
        let now = Nanos(self.cx.now_ns);
        let (scheduler, views) = (&mut end.scheduler, &end.views[..self.subflows.len()]);
        let Some(rescue) = scheduler.rescue(views, now, carried) else {
            return;
        };
        // A controller that owns its windows would not learn of it.
        let penalise = if self.end.owns_window {
            0
        } else {
            rescue.penalise
        };
        for i in (0..self.subflows.len()).filter(|i| penalise & (1 << i) != 0) {
            let (subflow, cx, end) = self.split(i);
            let window = &mut end.cc.subflows[i];
            subflow.integrate_cwnd(window.cwnd, cx.now_ns);
            (window.cwnd, window.ssthresh) = penalised(window.cwnd, window.ssthresh);
            subflow.refresh_view(cx, end);
        }
        if let Some(i) = rescue.retransmit_on {
            self.reinject_on(i, una);
        }
    }

    /// Sends a segment on subflow `i` that another subflow has carried before.
    pub(super) fn reinject_on(&mut self, i: usize, dsn: u32) {
        self.end.data.carried_again(dsn, i);
        let len = self.end.writer.segment_len(dsn);
        self.subflows[i].count_reinjection(dsn);
        self.send_new(i, dsn, len);
    }

    /// Queues all data of subflow `i` for reinjection: what is outstanding and what is committed to
    /// it.
    pub(crate) fn reinject_everything(&mut self, i: usize) {
        self.reinject_outstanding(i);
        self.end.reinject_committed(i);
    }

    /// Queues all outstanding segments of subflow `i` for reinjection, including SACKed ones: at
    /// the receiver they wait for the missing segments before they reach the data level.
    pub(crate) fn reinject_outstanding(&mut self, i: usize) {
        if self.end.can_reinject() {
            for segment in self.subflows[i].board.outstanding_segments() {
                self.end.data.reinject(segment.dsn);
            }
        }
    }
}
