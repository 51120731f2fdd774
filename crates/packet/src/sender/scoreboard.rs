//! A sender's record of its outstanding segments: SACKed, lost, retransmitted (RFC 6675), or the
//! number of duplicate ACKs (RFC 6582).
//!
//! ```text
//!            SACK                        ACK
//!   sent ─────────────► SACKED ─────────────► gone
//!     │  3 SACKed above    ▲
//!     └──────► LOST ───────┘  (a retransmission keeps LOST and adds RETRANSMITTED)
//! ```

use std::collections::VecDeque;

use joulepath_link::circular::Circular;

use crate::path::packet::Stamp;

/// An outstanding segment.
#[derive(Clone, Copy, Default)]
pub(crate) struct Segment {
    pub(crate) dsn: u32,
    /// Payload, bytes.
    pub(crate) len: u16,
    flags: u8,
    /// When its latest copy left.
    sent: Stamp,
}

/// Four per cache line, none across two.
const _: () = assert!(size_of::<Segment>() == 16);

impl Segment {
    pub(crate) fn new(dsn: u32, len: u16, sent: Stamp) -> Self {
        Segment {
            dsn,
            len,
            flags: 0,
            sent,
        }
    }

    /// When its latest copy left.
    pub(crate) fn sent(&self) -> Stamp {
        self.sent
    }

    /// Whether the receiver is known to have it.
    pub(crate) fn is_sacked(&self) -> bool {
        self.flags & SACKED != 0
    }
}

/// Departure time and segment number of a copy. The number distinguishes copies that left at one
/// instant, as a burst does (RFC 8985, section 6.2: RACK_sent_after).
type Departure = (Stamp, u32);

/// Whether `a` left before `b`. Compares the instants first, which nearly always decide.
#[inline(always)]
fn left_before(a: Departure, b: Departure) -> bool {
    a.0 < b.0 || (a.0 == b.0 && a.1 < b.1)
}

/// The copy sent last among all that are known to have arrived (RFC 8985, section 6.2: RACK.xmit_ts
/// with RACK.end_seq, RACK.rtt).
#[derive(Clone, Copy, Default)]
pub(crate) struct LatestArrival {
    departure: Departure,
    rtt_ns: u64,
}

const SACKED: u8 = 1;
const LOST: u8 = 2;
/// A retransmission is in flight.
const RETRANSMITTED: u8 = 4;
/// More than one copy has been sent.
const REPEATED: u8 = 8;

/// Maximum of the threshold for duplicate ACKs or SACKed segments.
pub(crate) const MAX_DUP_THRESHOLD: usize = 16;

/// Fields that every ACK and every segment touch come first.
#[repr(C)]
pub(crate) struct Scoreboard {
    una: u32,
    next: u32,
    /// The outstanding segments, by SSN.
    segments: Circular<Segment>,
    sacked: u32,
    lost: u32,
    retransmitted: u32,
    /// Duplicate ACKs without SACK. Each means that a segment has left the network.
    dup_acks: u32,
    latest: LatestArrival,
    /// Every segment below this or below `una` is SACKed or judged lost.
    judged: u32,
    /// No lost segment below this or below `una` waits for its retransmission. Beyond `next`: none
    /// waits at all.
    repair_from: u32,
    /// First SSN after all segments ever judged lost.
    lost_until: u32,
    /// First SSN after all segments that arrived before the present ACK (RFC 8985, section 6.2:
    /// RACK.fack).
    arrived_until: u32,
    /// First SSN after all segments ever SACKed.
    sacked_until: u32,
    /// Whether a segment that was sent only once has arrived after a later one
    /// (RACK.reordering_seen).
    reordering_seen: bool,
    /// 0 if losses are not judged by the number of SACKed segments.
    dup_threshold: usize,
    /// The highest SACKed SSNs plus one, descending; as many as the threshold.
    highest_sacked: [u32; MAX_DUP_THRESHOLD],
    /// Retransmissions in flight, in the order of departure.
    resent: VecDeque<Departure>,
    /// Departure of the first copy since no outstanding segment had one, and the first SSN after
    /// all segments copied since then.
    copies_since: Stamp,
    copied_until: u32,
    /// Number of copies judged lost since the start; wraps.
    total_lost: u32,
}

impl Scoreboard {
    pub(crate) fn new(dup_threshold: usize) -> Self {
        Scoreboard {
            una: 0,
            next: 0,
            segments: Circular::new(64),
            sacked: 0,
            lost: 0,
            retransmitted: 0,
            dup_acks: 0,
            highest_sacked: [0; MAX_DUP_THRESHOLD],
            dup_threshold: dup_threshold.clamp(1, MAX_DUP_THRESHOLD),
            judged: 0,
            repair_from: 0,
            lost_until: 0,
            latest: LatestArrival::default(),
            arrived_until: 0,
            sacked_until: 0,
            reordering_seen: false,
            resent: VecDeque::new(),
            copies_since: Stamp::ZERO,
            copied_until: 0,
            total_lost: 0,
        }
    }

    /// A scoreboard on which [`Self::judge`] is never called.
    pub(crate) fn judged_otherwise() -> Self {
        Scoreboard {
            dup_threshold: 0,
            ..Scoreboard::new(1)
        }
    }

    /// Number of copies judged lost since the start, rightly or wrongly; wraps.
    pub(crate) fn total_lost(&self) -> u32 {
        self.total_lost
    }

    /// Counts a loss that only the ACK of a probe reveals.
    pub(crate) fn count_loss(&mut self) {
        self.total_lost = self.total_lost.wrapping_add(1);
    }

    /// Whether a lost segment may wait for its retransmission.
    pub(crate) fn has_repairs(&self) -> bool {
        self.lost > self.retransmitted
    }

    /// Number of segments that fit without growth.
    pub(crate) fn room(&self) -> u32 {
        self.segments.places()
    }

    /// Number of segments judged lost, retransmitted or not.
    pub(crate) fn lost(&self) -> u32 {
        self.lost
    }

    /// Number of SACKed segments.
    pub(crate) fn sacked(&self) -> u32 {
        self.sacked
    }

    /// Oldest unacknowledged SSN.
    #[inline]
    pub(crate) fn una(&self) -> u32 {
        self.una
    }

    /// SSN of the next new segment.
    #[inline]
    pub(crate) fn next(&self) -> u32 {
        self.next
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.una == self.next
    }

    /// Number of segments sent and not cumulatively acknowledged.
    pub(crate) fn outstanding(&self) -> u32 {
        self.next - self.una
    }

    /// The pipe of RFC 6675, packets.
    #[inline]
    pub(crate) fn in_flight(&self) -> u32 {
        (self.next - self.una + self.retransmitted)
            .saturating_sub(self.sacked + self.lost + self.dup_acks)
    }

    /// Number of segments since the start that the receiver is known to have.
    #[inline]
    pub(crate) fn delivered(&self) -> u32 {
        self.una + self.sacked + self.dup_acks
    }

    #[inline]
    pub(crate) fn get(&self, ssn: u32) -> Segment {
        self.segments[ssn]
    }

    /// Outstanding segments, SACKed or not, oldest first.
    pub(crate) fn outstanding_segments(&self) -> impl Iterator<Item = Segment> + '_ {
        (self.una..self.next).map(|ssn| self.segments[ssn])
    }

    /// Departure of the first copy whose segment, or a segment copied after it, is outstanding. An
    /// ACK that echoes an earlier instant is for no copy.
    pub(crate) fn first_copy(&self) -> Option<Stamp> {
        (self.una < self.copied_until).then_some(self.copies_since)
    }

    /// Adds a newly sent segment; returns its SSN.
    #[inline(always)]
    pub(crate) fn push(&mut self, segment: Segment) -> u32 {
        if self.segments.is_filled_by(self.next - self.una) {
            self.segments.grow(2 * self.segments.places(), self.una);
        }
        let ssn = self.next;
        self.segments[ssn] = segment;
        self.next = ssn + 1;
        ssn
    }

    /// Whether no outstanding segment is SACKed, lost or retransmitted, and no ACK was a duplicate.
    #[inline(always)]
    pub(crate) fn is_plain(&self) -> bool {
        self.sacked | self.lost | self.retransmitted | self.dup_acks == 0
    }

    /// [`Self::advance`] for a plain board and an ACK that advances, at most to `next`.
    #[inline(always)]
    pub(crate) fn advance_plain(&mut self, ack: u32) -> u32 {
        debug_assert!(self.is_plain() && self.una < ack && ack <= self.next);
        let acked = ack - self.una;
        self.una = ack;
        acked
    }

    /// Takes a cumulative ACK: everything below `ack` has arrived. Returns the number of newly
    /// acknowledged segments.
    #[inline(always)]
    pub(crate) fn advance(&mut self, ack: u32) -> u32 {
        let ack = ack.min(self.next);
        if ack > self.una {
            self.advance_to(ack)
        } else {
            0
        }
    }

    /// [`Self::advance`] for an ACK that advances.
    fn advance_to(&mut self, ack: u32) -> u32 {
        let acked = ack - self.una;
        if self.sacked | self.lost | self.retransmitted != 0 {
            while self.resent.front().is_some_and(|&(_, ssn)| ssn < ack) {
                self.resent.pop_front();
            }
            // In local variables, because the fields would be written for each segment.
            let (mut sacked, mut lost, mut retransmitted, mut reordered) = (0, 0, 0, false);
            let (segments, arrived_until) = (&self.segments, self.arrived_until);
            for ssn in self.una..ack {
                let flags = segments[ssn].flags;
                if flags == SACKED {
                    sacked += 1;
                    continue;
                }
                reordered |= ssn < arrived_until && flags & (SACKED | REPEATED) == 0;
                sacked += u32::from(flags & SACKED != 0);
                lost += u32::from(flags & LOST != 0);
                retransmitted += u32::from(flags & RETRANSMITTED != 0);
            }
            self.sacked -= sacked;
            self.lost -= lost;
            self.retransmitted -= retransmitted;
            self.reordering_seen |= reordered;
        }
        // Without SACK, a cumulative ACK cancels the duplicates caused by its later segments.
        self.dup_acks = self.dup_acks.saturating_sub(acked - 1);
        self.una = ack;
        self.limit_duplicates();
        acked
    }

    /// Marks `ssn` as received; returns whether that is new.
    #[inline(always)]
    pub(crate) fn sack(&mut self, ssn: u32) -> bool {
        if ssn < self.una || ssn >= self.next {
            return false;
        }
        let flags = self.segments[ssn].flags;
        if flags & SACKED != 0 {
            return false;
        }
        self.sacked += 1;
        self.reordering_seen |= ssn < self.arrived_until && flags & REPEATED == 0;
        if flags & (LOST | RETRANSMITTED) != 0 {
            self.lost -= u32::from(flags & LOST != 0);
            self.retransmitted -= u32::from(flags & RETRANSMITTED != 0);
        }
        self.segments[ssn].flags = SACKED;
        self.note_high(ssn + 1);
        true
    }

    #[inline(always)]
    fn note_high(&mut self, end: u32) {
        self.sacked_until = self.sacked_until.max(end);
        if self.dup_threshold > 0 {
            self.sort_in(end);
        }
    }

    /// Inserts a number into the descending list of the highest SACKed numbers.
    #[inline(never)]
    fn sort_in(&mut self, end: u32) {
        let top = &mut self.highest_sacked[..self.dup_threshold];
        if end <= top[top.len() - 1] {
            return;
        }
        let mut at = top.len() - 1;
        while at > 0 && top[at - 1] < end {
            top[at] = top[at - 1];
            at -= 1;
        }
        top[at] = end;
    }

    /// IsLost of RFC 6675 for all segments at once: a segment is lost if `dup_threshold` segments
    /// above it are SACKed. Returns the number of segments newly judged lost.
    pub(crate) fn judge(&mut self) -> u32 {
        let edge = self.highest_sacked[self.dup_threshold - 1];
        let before = self.lost;
        for ssn in self.judged.max(self.una)..edge.min(self.next) {
            self.mark_lost(ssn);
        }
        self.judged = self.judged.max(edge);
        self.lost - before
    }

    /// Call after processing an ACK. Later arrivals below the highest arrived segment were
    /// overtaken.
    pub(crate) fn end_ack(&mut self) {
        self.arrived_until = self.sacked_until.max(self.una);
    }

    /// Whether the path is known to reorder (RFC 8985, section 6.2, step 3).
    pub(crate) fn reordering_seen(&self) -> bool {
        self.reordering_seen
    }

    pub(crate) fn note_reordering(&mut self) {
        self.reordering_seen = true;
    }

    /// Number of retransmissions in flight.
    pub(crate) fn retransmitted(&self) -> u32 {
        self.retransmitted
    }

    /// Unmarks segments that were judged lost but were only late. RACK judges them again.
    pub(crate) fn unmark_lost(&mut self) {
        for ssn in self.una..self.next {
            self.segments[ssn].flags &= !LOST;
        }
        self.lost = 0;
        self.judged = self.una;
    }

    /// Records that the copy of `ssn` sent at `sent` has arrived, reported by an ACK at `now_ns`.
    #[inline]
    pub(crate) fn arrived(&mut self, sent: Stamp, ssn: u32, now_ns: u64) {
        if !left_before((sent, ssn), self.latest.departure) {
            self.latest = LatestArrival {
                departure: (sent, ssn),
                rtt_ns: sent.elapsed_ns(now_ns),
            };
        }
    }

    /// Whether a copy may have been overtaken. A quick check, usually false.
    #[inline(always)]
    pub(crate) fn has_overtaken(&mut self) -> bool {
        let latest = self.latest.departure;
        let (mut at, next) = (self.judged.max(self.una), self.next);
        let mut overtaken = false;
        while at < next {
            let segment = &self.segments[at];
            if segment.flags & (SACKED | LOST) == 0 {
                overtaken = left_before((segment.sent, at), latest);
                break;
            }
            at += 1;
        }
        self.judged = at;
        // `resent` is in the order of departure: if its first entry left after the latest arrival,
        // so did all.
        overtaken
            || self
                .resent
                .front()
                .is_some_and(|&(sent, _)| sent <= latest.0)
    }

    /// RACK (RFC 8985, section 6.2, step 5): a segment is lost if it left before the latest copy
    /// that arrived and its age exceeds that copy's RTT plus `reo_wnd_ns`. Returns the number of
    /// copies newly judged lost, and how long to wait for the next ones, ns.
    pub(crate) fn detect_loss(&mut self, reo_wnd_ns: u64, now_ns: u64) -> (u32, Option<u64>) {
        let latest = self.latest.departure;
        let patience_ns = self.latest.rtt_ns + reo_wnd_ns;
        let (mut lost, mut wait_ns) = (0, None);
        let (mut at, next) = (self.judged.max(self.una), self.next);
        let mut judged = at;
        while at < next {
            let segment = &mut self.segments[at];
            if segment.flags & (SACKED | LOST) == 0 {
                if !left_before((segment.sent, at), latest) {
                    break;
                }
                let age_ns = segment.sent.elapsed_ns(now_ns);
                if age_ns < patience_ns {
                    wait_ns = Some(patience_ns - age_ns);
                } else {
                    segment.flags |= LOST;
                    lost += 1;
                    self.repair_from = self.repair_from.min(at);
                    self.lost_until = self.lost_until.max(at + 1);
                }
            }
            at += 1;
            if wait_ns.is_none() {
                judged = at;
            }
        }
        self.judged = judged;
        self.lost += lost;
        self.total_lost = self.total_lost.wrapping_add(lost);
        while let Some(&(sent, ssn)) = self.resent.front() {
            let segment = self.segments[ssn];
            let in_flight =
                ssn >= self.una && segment.flags & RETRANSMITTED != 0 && segment.sent == sent;
            if in_flight {
                if !left_before((sent, ssn), latest) {
                    break;
                }
                let age_ns = sent.elapsed_ns(now_ns);
                if age_ns < patience_ns {
                    wait_ns = wait_ns.max(Some(patience_ns - age_ns));
                    break;
                }
                self.segments[ssn].flags &= !RETRANSMITTED;
                self.retransmitted -= 1;
                self.count_loss();
                self.repair_from = self.repair_from.min(ssn);
                lost += 1;
            }
            self.resent.pop_front();
        }
        (lost, wait_ns)
    }

    fn mark_lost(&mut self, ssn: u32) {
        let segment = &mut self.segments[ssn];
        if segment.flags & (SACKED | LOST) == 0 {
            segment.flags |= LOST;
            self.lost += 1;
            self.count_loss();
            self.repair_from = self.repair_from.min(ssn);
            self.lost_until = self.lost_until.max(ssn + 1);
        }
    }

    /// NewReno: marks the oldest segment as lost, after enough duplicate ACKs or a partial ACK.
    pub(crate) fn mark_head_lost(&mut self) {
        if self.una < self.next {
            self.mark_lost(self.una);
            self.limit_duplicates();
        }
    }

    /// Marks all segments that are not SACKed as lost: after a timeout none counts as in flight
    /// (RFC 6675, section 5.1).
    pub(crate) fn mark_all_lost(&mut self) {
        self.retransmitted = 0;
        self.resent.clear();
        self.dup_acks = 0;
        for ssn in self.una..self.next {
            self.segments[ssn].flags &= !RETRANSMITTED;
            self.mark_lost(ssn);
        }
        self.judged = self.next;
        self.repair_from = self.una;
    }

    /// NewReno: counts another duplicate ACK; returns their number.
    pub(crate) fn duplicate_ack(&mut self) -> u32 {
        let outstanding = self.next - self.una;
        self.dup_acks = (self.dup_acks + 1).min(outstanding - 1);
        self.limit_duplicates();
        self.dup_acks
    }

    /// Lost segments cause no duplicates (`tcp_limit_reno_sacked`).
    fn limit_duplicates(&mut self) {
        let sent = self.next - self.una + self.retransmitted;
        let rest = sent.saturating_sub(self.sacked + self.lost);
        self.dup_acks = self.dup_acks.min(rest);
    }

    pub(crate) fn forget_duplicates(&mut self) {
        self.dup_acks = 0;
    }

    /// NextSeg rule 1 of RFC 6675: the first lost segment that is not retransmitted.
    #[inline(always)]
    pub(crate) fn next_repair(&mut self) -> Option<u32> {
        if self.lost == 0 || self.repair_from >= self.next {
            None
        } else {
            self.find_repair()
        }
    }

    #[inline(never)]
    fn find_repair(&mut self) -> Option<u32> {
        let unrepaired =
            |&ssn: &u32| self.segments[ssn].flags & (SACKED | LOST | RETRANSMITTED) == LOST;
        let found =
            (self.repair_from.max(self.una)..self.next.min(self.lost_until)).find(unrepaired);
        // Marking a segment as lost moves it back.
        self.repair_from = found.unwrap_or(u32::MAX);
        found
    }

    /// NextSeg rule 3 of RFC 6675: without new data, the first hole below the highest SACKed
    /// segment.
    pub(crate) fn next_hole(&self) -> Option<u32> {
        let top = self.sacked_until.min(self.next);
        (self.una..top).find(|&ssn| self.segments[ssn].flags & (SACKED | RETRANSMITTED) == 0)
    }

    /// Whether a segment is SACKed or a retransmission of it is in flight.
    pub(crate) fn is_settled(&self, ssn: u32) -> bool {
        self.segments[ssn].flags & (SACKED | RETRANSMITTED) != 0
    }

    /// Records the retransmission of a segment.
    pub(crate) fn retransmit(&mut self, ssn: u32, now: Stamp) -> Segment {
        // Rule 3 repairs a segment that is not judged yet: its first copy then counts as lost.
        let segment = &mut self.segments[ssn];
        let judged = segment.flags & LOST != 0;
        segment.flags |= LOST;
        self.lost_until = self.lost_until.max(ssn + 1);
        self.lost += u32::from(!judged);
        self.total_lost = self.total_lost.wrapping_add(u32::from(!judged));
        self.copy(ssn, now)
    }

    /// Records a second copy of a segment. The first copy does not count as lost.
    pub(crate) fn copy(&mut self, ssn: u32, now: Stamp) -> Segment {
        self.resent.push_back((now, ssn));
        if self.first_copy().is_none() {
            self.copies_since = now;
        }
        self.copied_until = self.copied_until.max(ssn + 1);
        let segment = &mut self.segments[ssn];
        let again = segment.flags & RETRANSMITTED != 0;
        segment.flags |= RETRANSMITTED | REPEATED;
        segment.sent = now;
        let segment = *segment;
        self.retransmitted += u32::from(!again);
        segment
    }

    /// Whether any segment is SACKed or any ACK was a duplicate.
    pub(crate) fn has_gaps(&self) -> bool {
        self.sacked + self.dup_acks > 0
    }
}

#[cfg(test)]
mod tests;
