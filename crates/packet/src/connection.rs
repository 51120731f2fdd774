//! State of one connection: data-level sender and receiver, controller, scheduler, application, device.

use std::collections::VecDeque;

use joulepath_control::schedule::{Backlog, MAX_SUBFLOWS, PathView, Placement, Scheduler, Style};
use joulepath_controllers::{self as controllers, Controller};
use joulepath_model::energy::meter::{DeviceMeter, EnergyReading};
use joulepath_model::scenario::{Direction, PathIndex};
use joulepath_model::units::Nanos;

use crate::application::Application;
use crate::control::ControlPlane;
use crate::event::LazyTimer;
use crate::network::Route;
use crate::packet::Kind;
use crate::reassembly::DataReceiver;
use crate::reception::Reception;
use crate::select::Selection;
use crate::subflow::Subflow;

/// Set in a segment's record while it waits for reinjection; below it the mask of subflows that carried it.
const WAITING: u16 = 1 << 8;

/// The data-level sender. Sequence numbers count segments.
pub(crate) struct DataSender {
    /// Everything below is DATA_ACKed.
    una: u32,
    /// Next DSN that no subflow has carried.
    next: u32,
    /// Window from `una` on: the lesser of receive buffer and send buffer, segments.
    window: u32,
    /// First DSN that does not fit a send buffer that grows with the windows.
    buffered: u32,
    /// The application has found that buffer full.
    writer_waits: bool,
    /// Who carried what, by DSN; unused with a single subflow.
    carriers: Box<[u16]>,
    /// Segments to be sent again on another subflow, oldest first.
    reinjections: VecDeque<u32>,
    /// Which segments beyond `next` have been carried, a bit each by DSN; unused unless the scheduler goes ahead.
    ahead: Box<[u64]>,
}

impl DataSender {
    pub(crate) fn new(window: u32, subflows: usize, goes_ahead: bool) -> Self {
        let span = (window as usize + 1).next_power_of_two();
        let records = if subflows > 1 { span } else { 0 };
        let bits = if goes_ahead { span.div_ceil(u64::BITS as usize) } else { 0 };
        DataSender {
            una: 0,
            next: 0,
            window,
            buffered: u32::MAX,
            writer_waits: false,
            carriers: vec![0; records].into_boxed_slice(),
            reinjections: VecDeque::new(),
            ahead: vec![0; bits].into_boxed_slice(),
        }
    }

    #[inline]
    pub(crate) fn una(&self) -> u32 {
        self.una
    }

    /// First DSN that no subflow has carried.
    #[inline]
    pub(crate) fn next(&self) -> u32 {
        self.next
    }

    /// A DATA_ACK; whether it is news.
    #[inline]
    pub(crate) fn acknowledge(&mut self, dsn: u32) -> bool {
        let news = dsn > self.una;
        self.una = self.una.max(dsn);
        news
    }

    /// Whether the next DSN fits the windows.
    #[inline]
    pub(crate) fn window_open(&self) -> bool {
        self.next < self.end()
    }

    /// First DSN beyond the windows.
    #[inline]
    fn end(&self) -> u32 {
        (self.una + self.window).min(self.buffered)
    }

    /// The application writes until a send buffer of so many segments is full. A writer that waits is woken when a third of it is free
    /// (`sk_stream_is_writeable` in Linux).
    fn fill(&mut self, segments: u32, written: u32) {
        let held = u64::from(self.buffered.saturating_sub(self.una));
        if self.writer_waits && 3 * held > 2 * u64::from(segments) {
            return;
        }
        self.buffered = (self.una + segments).max(self.next);
        self.writer_waits = written > self.buffered;
    }

    #[inline]
    fn record(&mut self, dsn: u32) -> Option<&mut u16> {
        let mask = self.carriers.len().wrapping_sub(1);
        self.carriers.get_mut(dsn as usize & mask)
    }

    /// Mask of the subflows that have carried `dsn`.
    pub(crate) fn carried(&mut self, dsn: u32) -> u8 {
        self.record(dsn).map_or(0, |record| *record as u8)
    }

    /// The next new segment goes to subflow `local`; returns its DSN.
    #[inline]
    pub(crate) fn take_new(&mut self, local: usize) -> u32 {
        let dsn = self.next;
        self.next += 1;
        if let Some(record) = self.record(dsn) {
            *record = 1 << local;
        }
        dsn
    }

    /// The new segment `wish` goes to subflow `local`, or the next one that has not been carried, or else the last before it; all of
    /// them below `end`, which is above `next`. Returns its DSN.
    fn take_ahead(&mut self, wish: u32, end: u32, local: usize) -> u32 {
        let wish = wish.clamp(self.next, end - 1);
        let unsent = |dsn: &u32| !self.is_ahead(*dsn);
        let dsn = (wish..end).find(unsent).or_else(|| (self.next..wish).rev().find(unsent));
        let dsn = dsn.expect("`next` has not been carried");
        if dsn == self.next {
            self.take_new(local);
            while self.is_ahead(self.next) {
                self.flip_ahead(self.next);
                self.next += 1;
            }
            return dsn;
        }
        self.flip_ahead(dsn);
        if let Some(record) = self.record(dsn) {
            *record = 1 << local;
        }
        dsn
    }

    /// Whether a segment from `next` on has been carried.
    fn is_ahead(&self, dsn: u32) -> bool {
        let (word, bit) = self.ahead_bit(dsn);
        self.ahead[word] & bit != 0
    }

    fn flip_ahead(&mut self, dsn: u32) {
        let (word, bit) = self.ahead_bit(dsn);
        self.ahead[word] ^= bit;
    }

    fn ahead_bit(&self, dsn: u32) -> (usize, u64) {
        let words = self.ahead.len();
        ((dsn as usize / u64::BITS as usize) & (words - 1), 1 << (dsn % u64::BITS))
    }

    /// A segment goes to one more subflow.
    pub(crate) fn carried_again(&mut self, dsn: u32, local: usize) {
        if let Some(record) = self.record(dsn) {
            *record = (*record | 1 << local) & !WAITING;
        }
    }

    /// Subflow `local` has been closed: the next one on its path has carried nothing.
    pub(crate) fn forget_carrier(&mut self, local: usize) {
        for record in &mut self.carriers {
            *record &= !(1 << local);
        }
    }

    /// Queues a segment for reinjection unless it waits already or has arrived.
    pub(crate) fn reinject(&mut self, dsn: u32) {
        if dsn < self.una {
            return;
        }
        let Some(record) = self.record(dsn) else { return };
        if *record & WAITING == 0 {
            *record |= WAITING;
            self.reinjections.push_back(dsn);
        }
    }

    #[inline]
    fn has_reinjections(&self) -> bool {
        !self.reinjections.is_empty()
    }

    /// The oldest segment that waits for reinjection and has not been carried by all of `usable`: place in the queue and DSN.
    fn reinjection(&mut self, usable: u8) -> Option<(usize, u32)> {
        while self.reinjections.front().is_some_and(|&dsn| dsn < self.una) {
            self.reinjections.pop_front();
        }
        let mask = self.carriers.len() - 1;
        let carried = |dsn: u32| self.carriers[dsn as usize & mask] as u8;
        let waits = |&(_, &dsn): &(usize, &u32)| dsn >= self.una && usable & !carried(dsn) != 0;
        self.reinjections.iter().enumerate().find(waits).map(|(place, &dsn)| (place, dsn))
    }

    /// The waiting segment at `place` goes to subflow `local`.
    fn reinjected(&mut self, place: usize, local: usize) {
        if let Some(dsn) = self.reinjections.remove(place) {
            self.carried_again(dsn, local);
        }
    }
}

/// What a connection under test has that a competitor has not.
pub(crate) struct Device {
    /// Energy of the device.
    pub(crate) meter: DeviceMeter,
    /// The scenario's path of each interface that the meter knows.
    pub(crate) paths: Vec<PathIndex>,
    /// The meter as last sampled.
    pub(crate) latest: EnergyReading,
    /// In which order the data arrives.
    pub(crate) reception: Reception,
    /// When the last byte arrived. The meter stands still from then on.
    pub(crate) finished_ns: Option<u64>,
}

/// One MPTCP connection, or a TCP connection (one subflow).
pub(crate) struct Connection {
    /// Index of its first subflow; the others follow.
    pub(crate) first: u32,
    pub(crate) n: usize,
    pub(crate) direction: Direction,
    pub(crate) controller: Controller,
    /// Windows live here: `cc.subflows[i].cwnd`.
    pub(crate) cc: controllers::Connection,
    pub(crate) views: [PathView; MAX_SUBFLOWS],
    pub(crate) scheduler: Scheduler,
    pub(crate) style: Style,
    /// The scheduler commits segments to subflows ahead of their windows.
    pub(crate) queues_ahead: bool,
    /// The scheduler is asked: there is a choice of subflows, or of when.
    pub(crate) is_scheduled: bool,
    /// The scheduler looks at what waits.
    pub(crate) weighs_backlog: bool,
    /// The scheduler reads [`PathView::rtt`].
    pub(crate) watches_rtt: bool,
    /// Segments that a scheduler has committed to a subflow ahead of its window, by subflow: (DSN, length).
    pub(crate) committed: [VecDeque<(u32, u16)>; MAX_SUBFLOWS],
    pub(crate) sender: DataSender,
    pub(crate) receiver: DataReceiver,
    pub(crate) application: Application,
    pub(crate) application_timer: LazyTimer,
    pub(crate) control: ControlPlane,
    pub(crate) control_timer: LazyTimer,
    /// Each mark is echoed at once instead of being latched until CWR (RFC 8257, section 3.2).
    pub(crate) echoes_each_mark: bool,
    /// What chooses the paths, if the policy leaves it open.
    pub(crate) selection: Option<Selection>,
    pub(crate) look_timer: LazyTimer,
    pub(crate) slot_timer: LazyTimer,
    /// Retransmission of data that waits behind a slow subflow; only with a scheduler that queues ahead.
    pub(crate) data_timer: LazyTimer,
    pub(crate) starts_at_ns: u64,
    /// The subflow that carries MP_CAPABLE; none once it has been closed.
    pub(crate) opener: Option<usize>,
    pub(crate) joined: bool,
    pub(crate) started: bool,
    pub(crate) done: bool,
    /// Bytes delivered before the end of the warm-up.
    pub(crate) before_bytes: u64,
    pub(crate) device: Option<Device>,
}

impl Connection {
    /// Whether a packet without data is sent by the device.
    pub(crate) fn is_from_device(&self, kind: Kind) -> bool {
        match kind {
            Kind::Syn | Kind::Third | Kind::Priority | Kind::Leave | Kind::DataAck => true,
            Kind::SynAck | Kind::Fourth => false,
            // A request asks the sender of data to send.
            _ => self.direction == Direction::Download,
        }
    }

    /// The route of a packet that is neither data nor an ACK of a subflow.
    pub(crate) fn route_of(&self, kind: Kind, subflow: &Subflow) -> Route {
        if let Some(relay) = &subflow.relay {
            return match kind {
                Kind::Relayed => relay.last,
                Kind::RelayAck => subflow.ack_route,
                _ if self.is_from_device(kind) => relay.up,
                _ => relay.down,
            };
        }
        let downloads = self.direction == Direction::Download;
        if self.is_from_device(kind) == downloads { subflow.ack_route } else { subflow.data_route }
    }

    /// Whether any subflow has space in its window: cheaper to ask than the scheduler, and mostly the answer is no.
    #[inline]
    pub(crate) fn has_space(&self) -> bool {
        self.views[..self.n].iter().any(PathView::has_space)
    }

    /// Next segment and the subflow that shall carry it: (subflow, DSN, payload length).
    ///
    /// Reinjections come first, but only on a subflow that has not carried the segment.
    #[inline]
    pub(crate) fn next_assignment(&mut self, now: Nanos) -> Option<(usize, u32, u16)> {
        if self.style == Style::Copies {
            return self.next_copy(now);
        }
        if let Some(assignment) = self.next_reinjection() {
            return Some(assignment);
        }
        if !self.may_send_new() {
            return None;
        }
        let len = self.application.segment_len(self.sender.next());
        if !self.weighs_backlog {
            let i = self.scheduler.pick(&self.views[..self.n], 0, len.into())?;
            return Some((i, self.sender.take_new(i), len));
        }
        self.next_placement(now, len)
    }

    /// The scheduler weighs what waits.
    fn next_placement(&mut self, now: Nanos, len: u16) -> Option<(usize, u32, u16)> {
        let backlog = self.backlog(now);
        let placement = self.scheduler.place(&self.views[..self.n], len.into(), &backlog)?;
        if self.style == Style::Places {
            return Some(self.take_ahead(placement, &backlog));
        }
        Some((placement.path, self.sender.take_new(placement.path), len))
    }

    /// The scheduler goes ahead.
    fn take_ahead(&mut self, wish: Placement, backlog: &Backlog) -> (usize, u32, u16) {
        let dsn = self.sender.take_ahead(wish.dsn, backlog.next + backlog.unsent, wish.path);
        self.scheduler.placed(Placement { dsn, ..wish });
        (wish.path, dsn, self.application.segment_len(dsn))
    }

    /// New data, or what another subflow has carried already.
    #[cold]
    fn next_copy(&mut self, now: Nanos) -> Option<(usize, u32, u16)> {
        let backlog = self.backlog(now);
        let full = self.application.segment_len(self.sender.next());
        let Placement { path, dsn } = self.scheduler.place(&self.views[..self.n], full.into(), &backlog)?;
        if dsn == backlog.next {
            self.sender.take_new(path);
        } else {
            self.sender.carried_again(dsn, path);
        }
        Some((path, dsn, self.application.segment_len(dsn)))
    }

    /// Q of so-MPTCP: segments written and carried by no subflow.
    pub(crate) fn waiting(&self) -> f64 {
        f64::from(self.application.written() - self.sender.next())
    }

    /// The data that waits.
    #[inline]
    pub(crate) fn backlog(&self, now: Nanos) -> Backlog {
        let DataSender { una, next, window, .. } = self.sender;
        let unsent = self.application.written().min(self.sender.end()).saturating_sub(next);
        Backlog { now, una, next, unsent, window }
    }

    /// The application writes what a send buffer that grows with the windows takes.
    pub(crate) fn fill_send_buffer(&mut self, mss_bytes: u64) {
        if let Some(bytes) = self.scheduler.send_buffer_bytes(&self.views[..self.n]) {
            let segments = u32::try_from(bytes / mss_bytes).unwrap_or(u32::MAX / 4);
            self.sender.fill(segments, self.application.written());
        }
    }

    #[inline]
    fn next_reinjection(&mut self) -> Option<(usize, u32, u16)> {
        if !self.sender.has_reinjections() {
            return None;
        }
        let views = &self.views[..self.n];
        let usable = |mask, (i, view): (usize, &PathView)| mask | u8::from(view.is_usable()) << i;
        let (place, dsn) = self.sender.reinjection(views.iter().enumerate().fold(0, usable))?;
        let (carried, len) = (self.sender.carried(dsn), self.application.segment_len(dsn));
        // A backup may be the only one that has not carried it: then the scheduler starts over, and the segment waits.
        let fresh = |i: &usize| carried & (1 << i) == 0;
        let i = self.scheduler.pick(views, carried, len.into()).filter(fresh)?;
        self.sender.reinjected(place, i);
        Some((i, dsn, len))
    }

    /// Whether there is new data, and the data-level windows admit it.
    #[inline]
    pub(crate) fn may_send_new(&self) -> bool {
        self.sender.next() < self.application.written() && self.sender.window_open()
    }
}
