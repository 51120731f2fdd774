//! The sending end of a connection: it assigns segments to subflows.

use std::collections::VecDeque;

use joulepath_control::schedule::{
    Backlog, Features, MAX_SUBFLOWS, Offload, PathView, Placement, Scheduler, Style, usable,
};
use joulepath_controllers::{self as controllers, Ack, Capability, Controller, Hosting, within};
use joulepath_model::units::Nanos;

use super::data::DataSender;
use super::subflow::SubflowSender;
use crate::application::Writer;
use crate::connection::context::Context;
use crate::event::LazyTimer;

/// State shared by the subflows of the sending end. Fields that every ACK reads come first.
#[repr(C, align(64))]
pub(crate) struct SenderEnd {
    pub(crate) controller: Controller,
    /// The hooks of a hosted controller.
    pub(crate) hosting: Option<Box<Hosting>>,
    /// Whether the scheduler commits segments to subflows ahead of their windows.
    pub(crate) queues_ahead: bool,
    /// Whether the controller owns the windows.
    pub(crate) owns_window: bool,
    /// Whether no ACK may take the common fast path.
    pub(crate) is_unusual: bool,
    /// Whether ACKs may take the fast path for controllers that own the windows, or for schedulers
    /// that commit segments ahead of them.
    pub(crate) has_paced_path: bool,
    /// Whether the scheduler decides at all: there is a choice of subflow or of time.
    pub(crate) is_scheduled: bool,
    /// Whether a subflow ends at a TCP relay.
    pub(crate) has_relays: bool,
    /// Whether the scheduler always takes an only choice, and need not run then.
    takes_the_only_choice: bool,
    /// Whether retransmissions also travel on a second subflow where losses are frequent.
    pub(crate) copies_repairs: bool,
    /// When the scheduler moves outstanding data to another subflow.
    pub(super) offload: Offload,
    /// Bit mask of the subflows with space in their windows, according to `views`.
    space: u8,
    pub(crate) features: Features,
    pub(crate) data: DataSender,
    pub(crate) writer: Writer,
    /// State of the controller, including the windows: `cc.subflows[i].cwnd`.
    pub(crate) cc: controllers::Connection,
    pub(crate) views: [PathView; MAX_SUBFLOWS],
    /// Number of subflows.
    n: usize,
    pub(crate) scheduler: Scheduler,
    /// Segments that the scheduler has committed to each subflow ahead of its window.
    pub(crate) committed: [VecDeque<Committed>; MAX_SUBFLOWS],
    /// Timer of the data level: data that waits for a slow subflow or for a relay is retransmitted.
    pub(crate) data_timer: LazyTimer,
    /// Until when pacing holds the next segment of each subflow, ns.
    pub(super) releases_ns: [u64; MAX_SUBFLOWS],
}

/// A segment that the scheduler assigned to a subflow; it may have to wait for the window.
#[derive(Clone, Copy)]
pub(crate) struct Committed {
    pub(crate) dsn: u32,
    /// Payload, bytes.
    pub(crate) len: u16,
    /// Whether another subflow has carried it before, and may have lost it.
    pub(crate) is_copy: bool,
}

impl Committed {
    fn new(dsn: u32, len: u16) -> Self {
        Committed {
            dsn,
            len,
            is_copy: false,
        }
    }
}

/// The parameters of a sending end.
pub(crate) struct SenderSpec {
    pub(crate) controller: Controller,
    /// State of the controller, with the policy's parameters and the number of subflows.
    pub(crate) cc: controllers::Connection,
    pub(crate) scheduler: Scheduler,
    /// The smaller of send and receive buffer, segments.
    pub(crate) window: u32,
    pub(crate) writer: Writer,
    /// Whether a subflow ends at a TCP relay.
    pub(crate) has_relays: bool,
}

impl SenderEnd {
    pub(crate) fn new(spec: SenderSpec) -> Self {
        let (n, features) = (spec.cc.n as usize, spec.scheduler.features());
        let queues_ahead = features.queues_ahead();
        let owns_window = spec.controller.has(Capability::OwnsWindow);
        let moves_data = spec.scheduler.offloads() != Offload::Never;
        SenderEnd {
            controller: spec.controller,
            hosting: spec.controller.hosting(n),
            cc: spec.cc,
            views: [PathView::default(); MAX_SUBFLOWS],
            n,
            features,
            queues_ahead,
            owns_window,
            is_unusual: queues_ahead || owns_window || moves_data || spec.controller.is_hosted(),
            has_paced_path: (owns_window || queues_ahead)
                && !moves_data
                && !spec.controller.is_hosted(),
            is_scheduled: n > 1 || features.wants_allotment || queues_ahead,
            space: 0,
            takes_the_only_choice: spec.scheduler.takes_the_only_choice(),
            copies_repairs: spec.scheduler.copies_repairs(),
            offload: spec.scheduler.offloads(),
            has_relays: spec.has_relays,
            committed: Default::default(),
            data: DataSender::new(spec.window, n, features.style == Style::Places),
            writer: spec.writer,
            data_timer: LazyTimer::new(),
            releases_ns: [0; MAX_SUBFLOWS],
            scheduler: spec.scheduler,
        }
    }

    /// Takes a DATA_ACK. Returns whether it advances.
    #[inline(always)]
    pub(crate) fn acknowledge(&mut self, dsn: u32) -> bool {
        let is_news = self.data.acknowledge(dsn);
        if is_news {
            self.writer.forget(dsn);
        }
        is_news
    }

    /// Reports an ACK to a hosted controller. Out of line, so that the usual case keeps its values
    /// in registers.
    #[cold]
    #[inline(never)]
    pub(super) fn tell_hosted(&mut self, i: usize, ack: Ack) {
        let Self {
            hosting,
            controller,
            cc,
            ..
        } = self;
        within(hosting, || controller.on_ack(cc, i, ack));
    }

    /// Updates the space mask after a change of subflow `i`'s view.
    #[inline(always)]
    pub(super) fn note_space(&mut self, i: usize) {
        self.space = self.space & !(1 << i) | u8::from(self.views[i].has_space()) << i;
    }

    /// Counts one more segment of subflow `i` in flight, if a scheduler decides.
    #[inline(always)]
    pub(super) fn note_new_in_flight(&mut self, i: usize) {
        if self.is_scheduled {
            let view = &mut self.views[i];
            view.in_flight += 1;
            if !view.has_space() {
                self.space &= !(1 << i);
            }
        }
    }

    /// Updates the space mask after a change of subflow `i`'s view. Returns whether the scheduler
    /// must decide where new data goes. It need not if no subflow has space, or if this subflow is
    /// the only choice, whatever the scheduler's state. While pacing holds another subflow, the
    /// last data may [wait](Self::waits_for_release) for it.
    #[inline(always)]
    pub(crate) fn has_choice_after<const OWNS_WINDOW: bool>(
        &mut self,
        i: usize,
        now_ns: u64,
    ) -> bool {
        let (view, this) = (&self.views[i], 1 << i);
        let others = self.space & !this;
        self.space = if view.has_space() {
            others | this
        } else {
            others
        };
        if self.space == 0 {
            return false;
        }
        let goes_first = self.takes_the_only_choice && view.is_usable() && !view.backup;
        if OWNS_WINDOW
            && (0..self.n)
                .any(|k| k != i && now_ns < self.releases_ns[k] && self.may_wait_for(k, i))
        {
            return true;
        }
        !goes_first || self.has_rival(others) || self.data.has_reinjections()
    }

    /// Whether the last new data may wait for subflow `k`: it fits into the windows of subflows `k`
    /// and `i`.
    #[inline(always)]
    fn may_wait_for(&self, k: usize, i: usize) -> bool {
        self.may_send_new_now() <= self.room(k).saturating_add(self.cc.subflows[i].cwnd)
    }

    /// Segments that subflow `k`'s window still admits.
    #[inline(always)]
    fn room(&self, k: usize) -> u32 {
        self.cc.subflows[k]
            .cwnd
            .saturating_sub(self.views[k].in_flight)
    }

    /// Whether one of these subflows is usable and not a backup.
    #[inline(always)]
    fn has_rival(&self, subflows: u8) -> bool {
        subflows != 0
            && self
                .views()
                .iter()
                .enumerate()
                .any(|(i, view)| subflows & 1 << i != 0 && view.is_usable() && !view.backup)
    }

    /// The subflows as the scheduler sees them.
    #[inline]
    pub(crate) fn views(&self) -> &[PathView] {
        &self.views[..self.n]
    }

    /// Whether subflow `i` may have space in its window, according to its view. Views are not
    /// updated at the instant when pacing ends.
    #[inline(always)]
    pub(super) fn may_have_space(&self, i: usize) -> bool {
        self.owns_window || self.space & 1 << i != 0
    }

    /// Whether reinjection is possible: there are several subflows, and the scheduler does not send
    /// copies anyway.
    pub(crate) fn can_reinject(&self) -> bool {
        self.n > 1 && self.features.style != Style::Copies
    }

    /// Whether any subflow has space in its window: usually not, and cheaper than running the
    /// scheduler.
    #[inline]
    pub(crate) fn has_space(&self) -> bool {
        debug_assert_eq!(
            self.space != 0,
            self.views().iter().any(PathView::has_space)
        );
        self.space != 0
    }

    /// Also sends a segment that a subflow retransmits on another subflow, if the scheduler wants
    /// that, the window limits, and p · window > 1, with p = `retransmissions` / `segments`.
    #[cold]
    pub(super) fn copy_repair(&mut self, dsn: u32, retransmissions: u64, segments: u64) {
        let window = u64::from(self.data.window());
        let binds = || {
            self.views()
                .iter()
                .map(|view| u64::from(view.cwnd))
                .sum::<u64>()
                > window
        };
        if self.copies_repairs
            && retransmissions * window > segments
            && self.can_reinject()
            && binds()
        {
            self.data.reinject(dsn);
        }
    }

    /// Whether new data exists and the data-level windows admit it.
    #[inline]
    pub(crate) fn may_send_new(&self) -> bool {
        self.data.next() < self.writer.written() && self.data.window_open()
    }

    /// Number of new segments that exist and that the data-level windows admit.
    #[inline(always)]
    pub(crate) fn may_send_new_now(&self) -> u32 {
        self.data
            .admitted()
            .min(self.writer.written())
            .saturating_sub(self.data.next())
    }

    /// The next segment and the subflow to carry it.
    ///
    /// Reinjections come first, but only on a subflow that has not carried the segment.
    #[inline]
    pub(super) fn next_assignment(&mut self, now: Nanos) -> Option<(usize, Committed)> {
        if self.features.style == Style::Copies {
            return self.next_copy(now);
        }
        if let Some(assignment) = self.next_reinjection(now) {
            return Some(assignment);
        }
        if !self.may_send_new() {
            return None;
        }
        let len = self.writer.segment_len(self.data.next());
        if !self.features.weighs_backlog {
            let i = self.scheduler.pick(&self.views[..self.n], 0, len.into())?;
            if self.owns_window && self.waits_for_release(i, len, now.0) {
                return None;
            }
            return Some((i, Committed::new(self.data.take_new(i), len)));
        }
        self.next_placement(now, len)
    }

    /// Whether new data waits for a subflow that only pacing holds, instead of leaving on subflow
    /// `i`: all of it fits into that window, and would arrive over it before the first segment
    /// arrives over `i`. Without this, each message that is longer than a burst would end on a
    /// slower path.
    fn waits_for_release(&self, i: usize, len: u16, now_ns: u64) -> bool {
        let chosen = &self.views[i];
        let data = self.may_send_new_now();
        let is_sooner = |k: usize| {
            let view = &self.views[k];
            let held_us = self.releases_ns[k].saturating_sub(now_ns) / 1_000;
            let pace_us = || match self.controller.pacing_rate_bytes_per_s(&self.cc, k) {
                Some(rate) => u64::from(data) * u64::from(len) * 1_000_000 / rate,
                None => 0,
            };
            held_us > 0
                && view.is_usable()
                && view.backup <= chosen.backup
                && data <= self.room(k)
                && held_us + pace_us() + u64::from(view.srtt_us / 2) < u64::from(chosen.srtt_us / 2)
        };
        self.takes_the_only_choice && (0..self.n).any(|k| k != i && is_sooner(k))
    }

    /// The next segment, for a scheduler that weighs the backlog.
    fn next_placement(&mut self, now: Nanos, len: u16) -> Option<(usize, Committed)> {
        let backlog = self.backlog(now);
        let placement = self
            .scheduler
            .place(&self.views[..self.n], len.into(), &backlog)?;
        if self.features.style == Style::Places {
            return Some(self.take_ahead(placement, &backlog));
        }
        Some((
            placement.path,
            Committed::new(self.data.take_new(placement.path), len),
        ))
    }

    /// Takes the segment that a scheduler has placed, which may be after the next one.
    fn take_ahead(&mut self, wish: Placement, backlog: &Backlog) -> (usize, Committed) {
        let dsn = self
            .data
            .take_ahead(wish.dsn, backlog.next + backlog.unsent, wish.path);
        self.scheduler.placed(Placement { dsn, ..wish });
        (wish.path, Committed::new(dsn, self.writer.segment_len(dsn)))
    }

    /// The next segment, for a scheduler that sends copies: new data, or a segment that another
    /// subflow has carried.
    #[cold]
    fn next_copy(&mut self, now: Nanos) -> Option<(usize, Committed)> {
        let backlog = self.backlog(now);
        let full = self.writer.segment_len(self.data.next());
        let Placement { path, dsn } =
            self.scheduler
                .place(&self.views[..self.n], full.into(), &backlog)?;
        if dsn == backlog.next {
            self.data.take_new(path);
        } else {
            self.data.carried_again(dsn, path);
        }
        Some((path, Committed::new(dsn, self.writer.segment_len(dsn))))
    }

    #[inline]
    fn next_reinjection(&mut self, now: Nanos) -> Option<(usize, Committed)> {
        if !self.data.has_reinjections() {
            return None;
        }
        let views = &self.views[..self.n];
        let (place, dsn) = self.data.reinjection(usable(views))?;
        let (carried, len) = (self.data.carried(dsn), self.writer.segment_len(dsn));
        // The scheduler may prefer a subflow that has already carried the segment: then the segment
        // waits.
        let fresh = |i: &usize| carried & (1 << i) == 0;
        self.scheduler.at(now);
        let i = self
            .scheduler
            .pick(views, carried, len.into())
            .filter(fresh)?;
        self.data.reinjected(place, i);
        Some((
            i,
            Committed {
                dsn,
                len,
                is_copy: true,
            },
        ))
    }

    /// Q of so-MPTCP: written segments that no subflow has carried.
    pub(crate) fn waiting(&self) -> f64 {
        f64::from(self.writer.written() - self.data.next())
    }

    #[inline]
    fn backlog(&self, now: Nanos) -> Backlog {
        self.data.backlog(now, self.writer.written())
    }

    /// Lets the application fill a send buffer that grows with the windows.
    pub(super) fn fill_send_buffer(&mut self, mss_bytes: u64) {
        if let Some(bytes) = self.scheduler.send_buffer_bytes(&self.views[..self.n]) {
            let segments = u32::try_from(bytes / mss_bytes).unwrap_or(u32::MAX / 4);
            self.data.fill(segments, self.writer.written());
        }
    }

    /// Tells the scheduler that a round of assignments begins.
    pub(super) fn begin_push(&mut self, mss_bytes: u64) {
        let (next, left) = (self.data.next(), self.data.window_left());
        self.scheduler
            .begin(u64::from(next) * mss_bytes, u64::from(left) * mss_bytes);
    }

    /// Moves the segments that were committed to subflow `i` ahead of its window to the reinjection
    /// queue.
    pub(crate) fn reinject_committed(&mut self, i: usize) {
        for segment in std::mem::take(&mut self.committed[i]) {
            self.data.reinject(segment.dsn);
        }
    }

    /// Queues copies of the segments committed to subflow `i` for reinjection. The subflow keeps
    /// its own, because Linux cannot take them back.
    pub(super) fn reinject_copies_of_committed(&mut self, i: usize) {
        if self.can_reinject() {
            for segment in &self.committed[i] {
                self.data.reinject(segment.dsn);
            }
        }
    }

    /// Clears the record of what subflow `i` has carried. It is closed, and its successor on the
    /// path has carried nothing.
    pub(crate) fn forget_carrier(&mut self, i: usize) {
        self.data.forget_carrier(i);
        self.scheduler.forget(i);
    }
}

/// The sending end of a connection during an event.
pub(crate) struct Sender<'a> {
    pub(crate) cx: Context<'a>,
    pub(crate) end: &'a mut SenderEnd,
    pub(crate) subflows: &'a mut [SubflowSender],
}

impl<'a> Sender<'a> {
    /// Subflow `i`, and separately the state shared by all subflows.
    #[inline(always)]
    pub(super) fn split(
        &mut self,
        i: usize,
    ) -> (&mut SubflowSender, &mut Context<'a>, &mut SenderEnd) {
        (&mut self.subflows[i], &mut self.cx, self.end)
    }
}
