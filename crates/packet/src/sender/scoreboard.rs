//! What a sender knows of its outstanding segments: which are SACKed, lost, retransmitted (RFC 6675), or how
//! many duplicate ACKs have come (RFC 6582).
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

/// Four in a cache line, none across.
const _: () = assert!(size_of::<Segment>() == 16);

impl Segment {
    pub(crate) fn new(dsn: u32, len: u16, sent: Stamp) -> Self {
        Segment { dsn, len, flags: 0, sent }
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

/// When a copy left, and the number of its segment. Copies that left at one instant, as a burst does, are
/// told apart by the number (RFC 8985, section 6.2: RACK_sent_after).
type Departure = (Stamp, u32);

/// Whether `a` left before `b`. The instants nearly always tell, and are compared first.
#[inline(always)]
fn left_before(a: Departure, b: Departure) -> bool {
    a.0 < b.0 || (a.0 == b.0 && a.1 < b.1)
}

/// The copy that was sent last among those that are known to have arrived (RFC 8985, section 6.2:
/// RACK.xmit_ts with RACK.end_seq, RACK.rtt).
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

/// Largest threshold of duplicate ACKs or SACKed segments after which a segment counts as lost.
pub(crate) const MAX_DUP_THRESHOLD: usize = 16;

/// What every ACK and every segment touches comes first.
#[repr(C)]
pub(crate) struct Scoreboard {
    una: u32,
    next: u32,
    /// The outstanding segments by SSN.
    segments: Circular<Segment>,
    sacked: u32,
    lost: u32,
    retransmitted: u32,
    /// Duplicate ACKs without SACK. Each of them stands for a segment that has left the network.
    dup_acks: u32,
    latest: LatestArrival,
    /// Every segment below, or below `una`, is SACKed or has been judged lost.
    judged: u32,
    /// No lost segment below, or below `una`, waits for its retransmission; nor does any if this is beyond
    /// `next`.
    repair_from: u32,
    /// First SSN after all that have ever been judged lost.
    lost_until: u32,
    /// First SSN after all that had arrived before the present ACK (RFC 8985, section 6.2: RACK.fack).
    arrived_until: u32,
    /// First SSN after all that have ever been SACKed.
    sacked_until: u32,
    /// Whether a segment of which there was one copy has arrived after a later one (RACK.reordering_seen).
    reordering_seen: bool,
    /// 0 if segments are not judged by the number of those SACKed above.
    dup_threshold: usize,
    /// The highest SACKed SSNs plus one, in descending order; as many as the threshold.
    highest_sacked: [u32; MAX_DUP_THRESHOLD],
    /// Retransmissions in flight, in the order in which they left.
    resent: VecDeque<Departure>,
    /// When the first copy left since there was none of an outstanding segment, and the first SSN after all
    /// that were copied since.
    copies_since: Stamp,
    copied_until: u32,
    /// Number of copies that have been judged lost since the start; wraps.
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

    /// A scoreboard for which [`Self::judge`] is never asked.
    pub(crate) fn judged_otherwise() -> Self {
        Scoreboard { dup_threshold: 0, ..Scoreboard::new(1) }
    }

    /// Number of copies that have been judged lost since the start, wrongly or not; wraps.
    pub(crate) fn total_lost(&self) -> u32 {
        self.total_lost
    }

    /// Counts a loss of which only the ACK of a probe has told.
    pub(crate) fn count_loss(&mut self) {
        self.total_lost = self.total_lost.wrapping_add(1);
    }

    /// Whether a lost segment may wait for its retransmission.
    pub(crate) fn has_repairs(&self) -> bool {
        self.lost > self.retransmitted
    }

    /// Number of segments that there is room for.
    pub(crate) fn room(&self) -> u32 {
        self.segments.places()
    }

    /// Number of segments that were judged lost, whether or not they have been sent again.
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

    /// Number of segments that were sent and not cumulatively acknowledged.
    pub(crate) fn outstanding(&self) -> u32 {
        self.next - self.una
    }

    /// The pipe of RFC 6675, packets.
    #[inline]
    pub(crate) fn in_flight(&self) -> u32 {
        (self.next - self.una + self.retransmitted).saturating_sub(self.sacked + self.lost + self.dup_acks)
    }

    /// Number of segments, from the start on, that the receiver is known to have.
    #[inline]
    pub(crate) fn delivered(&self) -> u32 {
        self.una + self.sacked + self.dup_acks
    }

    #[inline]
    pub(crate) fn get(&self, ssn: u32) -> Segment {
        self.segments[ssn]
    }

    /// Outstanding segments, SACKed or not, the oldest first.
    pub(crate) fn outstanding_segments(&self) -> impl Iterator<Item = Segment> + '_ {
        (self.una..self.next).map(|ssn| self.segments[ssn])
    }

    /// When the first copy left whose segment, or a segment copied after it, is outstanding. An ACK that
    /// echoes an earlier instant is for no copy.
    pub(crate) fn first_copy(&self) -> Option<Stamp> {
        (self.una < self.copied_until).then_some(self.copies_since)
    }

    /// Adds a new segment that is sent; returns its SSN.
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

    /// Whether no outstanding segment is known to be SACKed, lost or repeated, and no ACK was a duplicate.
    #[inline(always)]
    pub(crate) fn is_plain(&self) -> bool {
        self.sacked | self.lost | self.retransmitted | self.dup_acks == 0
    }

    /// [`Self::advance`] for a board that is plain and an ACK that is news and not too high.
    #[inline(always)]
    pub(crate) fn advance_plain(&mut self, ack: u32) -> u32 {
        debug_assert!(self.is_plain() && self.una < ack && ack <= self.next);
        let acked = ack - self.una;
        self.una = ack;
        acked
    }

    /// Takes a cumulative ACK: everything below `ack` has arrived. Returns the number of segments that this
    /// is news for.
    #[inline(always)]
    pub(crate) fn advance(&mut self, ack: u32) -> u32 {
        let ack = ack.min(self.next);
        if ack > self.una { self.advance_to(ack) } else { 0 }
    }

    /// [`Self::advance`] for an ACK that is news.
    fn advance_to(&mut self, ack: u32) -> u32 {
        let acked = ack - self.una;
        if self.sacked | self.lost | self.retransmitted != 0 {
            while self.resent.front().is_some_and(|&(_, ssn)| ssn < ack) {
                self.resent.pop_front();
            }
            // Counted apart, because what is in memory would be written for each segment.
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
        // Without SACK a cumulative ACK cancels the duplicates that its later segments caused.
        self.dup_acks = self.dup_acks.saturating_sub(acked - 1);
        self.una = ack;
        acked
    }

    /// Notes that the receiver has `ssn`; returns whether that is news.
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

    /// Keeps the highest SACKed numbers in descending order.
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

    /// IsLost of RFC 6675 for all segments at once: a segment is lost if `dup_threshold` segments above it
    /// are SACKed. Returns how many segments were newly judged lost.
    pub(crate) fn judge(&mut self) -> u32 {
        let edge = self.highest_sacked[self.dup_threshold - 1];
        let before = self.lost;
        for ssn in self.judged.max(self.una)..edge.min(self.next) {
            self.mark_lost(ssn);
        }
        self.judged = self.judged.max(edge);
        self.lost - before
    }

    /// Notes that an ACK has been taken in: what arrives from now on below the highest segment that has
    /// arrived was overtaken.
    pub(crate) fn end_ack(&mut self) {
        self.arrived_until = self.sacked_until.max(self.una);
    }

    /// Whether the path is known to reorder (RFC 8985, section 6.2, step 3).
    pub(crate) fn reordering_seen(&self) -> bool {
        self.reordering_seen
    }

    /// Notes that the path reorders.
    pub(crate) fn note_reordering(&mut self) {
        self.reordering_seen = true;
    }

    /// Number of retransmissions in flight.
    pub(crate) fn retransmitted(&self) -> u32 {
        self.retransmitted
    }

    /// Forgets that segments were judged lost: they were late. RACK will judge them anew.
    pub(crate) fn unmark_lost(&mut self) {
        for ssn in self.una..self.next {
            self.segments[ssn].flags &= !LOST;
        }
        self.lost = 0;
        self.judged = self.una;
    }

    /// Notes that the copy of `ssn` that left at `sent` has arrived; the ACK that tells so came at `now_ns`.
    #[inline]
    pub(crate) fn arrived(&mut self, sent: Stamp, ssn: u32, now_ns: u64) {
        if !left_before((sent, ssn), self.latest.departure) {
            self.latest = LatestArrival { departure: (sent, ssn), rtt_ns: sent.elapsed_ns(now_ns) };
        }
    }

    /// Whether a copy that may not be judged lost yet has perhaps been overtaken. Mostly none has.
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
        // They are in the order in which they left: after a later one than the latest arrival come no others.
        overtaken || self.resent.front().is_some_and(|&(sent, _)| sent <= latest.0)
    }

    /// RACK (RFC 8985, section 6.2, step 5): a segment is lost if it left before the latest copy that arrived
    /// and has been on its way for longer than the RTT of that copy and `reordering_ns`. Returns how many
    /// copies were newly judged lost, and how long to wait until the next ones may be, ns.
    pub(crate) fn judge_by_time(&mut self, reordering_ns: u64, now_ns: u64) -> (u32, Option<u64>) {
        let latest = self.latest.departure;
        let patience_ns = self.latest.rtt_ns + reordering_ns;
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
            let in_flight = ssn >= self.una && segment.flags & RETRANSMITTED != 0 && segment.sent == sent;
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

    /// NewReno: marks the oldest segment as lost, when there are enough duplicate ACKs or after a partial
    /// ACK.
    pub(crate) fn mark_head_lost(&mut self) {
        if self.una < self.next {
            self.mark_lost(self.una);
        }
    }

    /// Marks all segments as lost that were not SACKed: after a timeout none of them counts as in the network
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

    /// NewReno: counts another duplicate ACK; returns how many there are.
    pub(crate) fn duplicate_ack(&mut self) -> u32 {
        let outstanding = self.next - self.una;
        self.dup_acks = (self.dup_acks + 1).min(outstanding - 1);
        self.dup_acks
    }

    pub(crate) fn forget_duplicates(&mut self) {
        self.dup_acks = 0;
    }

    /// NextSeg rule 1 of RFC 6675: the first lost segment that was not retransmitted.
    #[inline(always)]
    pub(crate) fn next_repair(&mut self) -> Option<u32> {
        if self.lost == 0 || self.repair_from >= self.next { None } else { self.find_repair() }
    }

    #[inline(never)]
    fn find_repair(&mut self) -> Option<u32> {
        let unrepaired = |&ssn: &u32| self.segments[ssn].flags & (SACKED | LOST | RETRANSMITTED) == LOST;
        let found = (self.repair_from.max(self.una)..self.next.min(self.lost_until)).find(unrepaired);
        // A segment that is judged lost later moves it back.
        self.repair_from = found.unwrap_or(u32::MAX);
        found
    }

    /// NextSeg rule 3 of RFC 6675: without new data to send, the first hole below the highest SACKed segment.
    pub(crate) fn next_hole(&self) -> Option<u32> {
        let top = self.sacked_until.min(self.next);
        (self.una..top).find(|&ssn| self.segments[ssn].flags & (SACKED | RETRANSMITTED) == 0)
    }

    /// Whether a segment is SACKed, or a retransmission of it is in flight.
    pub(crate) fn is_settled(&self, ssn: u32) -> bool {
        self.segments[ssn].flags & (SACKED | RETRANSMITTED) != 0
    }

    /// Notes that a segment is sent again.
    pub(crate) fn retransmit(&mut self, ssn: u32, now: Stamp) -> Segment {
        // Rule 3 repairs a segment that has not been judged yet. From now on its first copy counts as lost.
        let segment = &mut self.segments[ssn];
        let judged = segment.flags & LOST != 0;
        segment.flags |= LOST;
        self.lost_until = self.lost_until.max(ssn + 1);
        self.lost += u32::from(!judged);
        self.total_lost = self.total_lost.wrapping_add(u32::from(!judged));
        self.copy(ssn, now)
    }

    /// Notes that a second copy of a segment is sent. The first one does not count as lost.
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

    /// Whether any segment was SACKed or any ACK was a duplicate.
    pub(crate) fn has_gaps(&self) -> bool {
        self.sacked + self.dup_acks > 0
    }
}

#[cfg(test)]
mod tests;
