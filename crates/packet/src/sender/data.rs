//! The sender's data level: the segments sent, their subflows, and the segments to reinject.

use std::collections::VecDeque;

use joulepath_control::schedule::Backlog;
use joulepath_model::units::Nanos;

use crate::connection::offers::Offers;

/// Set in a segment's record while the segment waits for reinjection. The bits below it are the
/// mask of the subflows that have carried the segment.
const WAITING: u16 = 1 << 8;

/// The data level of a sender. Sequence numbers count segments. Fields that every ACK reads come
/// first.
#[repr(C)]
pub(crate) struct DataSender {
    /// Every segment below is DATA_ACKed.
    una: u32,
    /// First DSN that no subflow has carried.
    next: u32,
    /// The window from `una` on: the smaller of receive buffer and send buffer, segments.
    window: u32,
    /// First DSN beyond the window of a receive buffer that grows.
    offered: u32,
    /// First DSN beyond a send buffer that grows with the windows.
    buffered: u32,
    /// The offers of a receive buffer that grows.
    offers: Option<Offers>,
    /// By DSN: the mask of subflows that have carried the segment. Empty with a single subflow.
    carriers: Box<[u16]>,
    /// Segments to send again on another subflow, oldest first.
    reinjections: VecDeque<u32>,
    /// Whether the application found the send buffer full.
    writer_waits: bool,
    /// A bit per DSN: whether the segment, beyond `next`, has been carried. Empty unless the
    /// scheduler may send later segments first.
    ahead: Box<[u64]>,
}

impl DataSender {
    pub(crate) fn new(window: u32, subflows: usize, goes_ahead: bool) -> Self {
        let span = (window as usize + 1).next_power_of_two();
        let records = if subflows > 1 { span } else { 0 };
        let bits = if goes_ahead {
            span.div_ceil(u64::BITS as usize)
        } else {
            0
        };
        DataSender {
            una: 0,
            next: 0,
            window,
            offered: u32::MAX,
            offers: None,
            buffered: u32::MAX,
            writer_waits: false,
            carriers: vec![0; records].into_boxed_slice(),
            reinjections: VecDeque::new(),
            ahead: vec![0; bits].into_boxed_slice(),
        }
    }

    /// Limits the sender to `window` segments until a DATA_ACK brings a new offer.
    pub(crate) fn follow(&mut self, offers: Offers, window: u32) {
        (self.offers, self.offered) = (Some(offers), window);
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

    /// Takes a DATA_ACK; returns whether it advances.
    #[inline]
    pub(crate) fn acknowledge(&mut self, dsn: u32) -> bool {
        let news = dsn > self.una;
        self.una = self.una.max(dsn);
        if self.offers.is_some() {
            self.take_offers();
        }
        news
    }

    #[cold]
    #[inline(never)]
    fn take_offers(&mut self) {
        if let Some(end) = self
            .offers
            .as_ref()
            .and_then(|offers| offers.take(self.una))
        {
            self.offered = end;
        }
    }

    /// Whether the next DSN fits into the windows.
    #[inline]
    pub(crate) fn window_open(&self) -> bool {
        self.next < self.admitted()
    }

    /// The data-level window, segments.
    pub(super) fn window(&self) -> u32 {
        self.window.min(self.offered.saturating_sub(self.una))
    }

    /// Segments that the data-level window admits beyond the next one, whether or not they are
    /// written.
    pub(super) fn window_left(&self) -> u32 {
        (self.una + self.window)
            .min(self.offered)
            .saturating_sub(self.next)
    }

    /// First DSN beyond the windows.
    #[inline(always)]
    pub(super) fn admitted(&self) -> u32 {
        (self.una + self.window)
            .min(self.offered)
            .min(self.buffered)
    }

    /// The backlog if the application has written everything below `written`.
    #[inline]
    pub(super) fn backlog(&self, now: Nanos, written: u32) -> Backlog {
        let &DataSender { una, next, .. } = self;
        let unsent = written.min(self.admitted()).saturating_sub(next);
        Backlog {
            now,
            una,
            next,
            unsent,
            window: self.window(),
        }
    }

    /// Lets the application fill a send buffer of `segments` segments. A waiting writer resumes
    /// when a third of the buffer is free (`sk_stream_is_writeable` in Linux).
    pub(super) fn fill(&mut self, segments: u32, written: u32) {
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

    /// Assigns the next new segment to subflow `local`; returns its DSN.
    #[inline]
    pub(crate) fn take_new(&mut self, local: usize) -> u32 {
        let dsn = self.next;
        self.next += 1;
        // A single subflow needs no records.
        if !self.carriers.is_empty()
            && let Some(record) = self.record(dsn)
        {
            *record = 1 << local;
        }
        dsn
    }

    /// Assigns a new segment below `end` to subflow `local` and returns its DSN: `wish` if no
    /// subflow has carried it, else the first such segment after it, else the last before it. `end`
    /// must be above `next`.
    pub(super) fn take_ahead(&mut self, wish: u32, end: u32, local: usize) -> u32 {
        let wish = wish.clamp(self.next, end - 1);
        let unsent = |dsn: &u32| !self.is_ahead(*dsn);
        let dsn = (wish..end)
            .find(unsent)
            .or_else(|| (self.next..wish).rev().find(unsent));
        let dsn = dsn.expect("no subflow has carried `next`");
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

    /// Whether segment `dsn`, not below `next`, has been carried.
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
        (
            (dsn as usize / u64::BITS as usize) & (words - 1),
            1 << (dsn % u64::BITS),
        )
    }

    /// Records that subflow `local` also carries a segment.
    pub(crate) fn carried_again(&mut self, dsn: u32, local: usize) {
        if let Some(record) = self.record(dsn) {
            *record = (*record | 1 << local) & !WAITING;
        }
    }

    /// Clears the records of subflow `local`. It is closed, and its successor on the path has
    /// carried nothing.
    pub(crate) fn forget_carrier(&mut self, local: usize) {
        for record in &mut self.carriers {
            *record &= !(1 << local);
        }
    }

    /// Queues a segment for reinjection, unless it is already queued or DATA_ACKed.
    pub(crate) fn reinject(&mut self, dsn: u32) {
        if dsn < self.una {
            return;
        }
        let Some(record) = self.record(dsn) else {
            return;
        };
        if *record & WAITING == 0 {
            *record |= WAITING;
            self.reinjections.push_back(dsn);
        }
    }

    /// Queues everything that is not DATA_ACKed for reinjection, on any subflow.
    pub(crate) fn reinject_all(&mut self) {
        self.reinjections.clear();
        for dsn in self.una..self.next {
            if let Some(record) = self.record(dsn) {
                *record = WAITING;
                self.reinjections.push_back(dsn);
            }
        }
    }

    #[inline]
    pub(crate) fn has_reinjections(&self) -> bool {
        !self.reinjections.is_empty()
    }

    /// The oldest segment in the reinjection queue that some subflow of `usable` has not carried:
    /// its index in the queue, and its DSN.
    pub(super) fn reinjection(&mut self, usable: u8) -> Option<(usize, u32)> {
        while self.reinjections.front().is_some_and(|&dsn| dsn < self.una) {
            self.reinjections.pop_front();
        }
        let mask = self.carriers.len() - 1;
        let carried = |dsn: u32| self.carriers[dsn as usize & mask] as u8;
        let waits = |&(_, &dsn): &(usize, &u32)| dsn >= self.una && usable & !carried(dsn) != 0;
        self.reinjections
            .iter()
            .enumerate()
            .find(waits)
            .map(|(place, &dsn)| (place, dsn))
    }

    /// Assigns the queued segment at index `place` to subflow `local`.
    pub(super) fn reinjected(&mut self, place: usize, local: usize) {
        if let Some(dsn) = self.reinjections.remove(place) {
            self.carried_again(dsn, local);
        }
    }
}
