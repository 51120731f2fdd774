//! Reassembly: per subflow, with SACK blocks (RFC 2018), and at the connection's data level.

use joulepath_link::circular::Circular;

use crate::path::sack::{BLOCKS, SackBlocks};

/// The SSN of a segment that the subflow has received. Only [`Reassembly`] creates it, so a SACK
/// cannot name a segment that has not arrived.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Received(u32);

/// How a segment relates to earlier arrivals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// The expected segment. [`Reassembly::next_in_order`] may yield more after it.
    InOrder,
    /// There is a hole before it.
    OutOfOrder,
    /// It has arrived before.
    Duplicate,
}

/// A segment after a hole, packed into a word: DSN and payload length; 0: not arrived.
type Held = u64;

fn pack(dsn: u32, len: u16) -> Held {
    (u64::from(len) << 32) | u64::from(dsn)
}

/// The order of one subflow's segments.
#[derive(Default)]
#[repr(C)]
pub(crate) struct Reassembly {
    next: u32,
    held_count: u32,
    held: Circular<Held>,
    blocks: SackBlocks,
    /// [`Self::next`] at the last trim of the blocks.
    trimmed_at: u32,
}

impl Reassembly {
    /// Next SSN expected: the cumulative ACK.
    #[inline]
    pub(crate) fn next(&self) -> u32 {
        self.next
    }

    /// Number of segments that wait for an earlier one.
    #[inline]
    pub(crate) fn held(&self) -> u32 {
        self.held_count
    }

    #[inline]
    pub(crate) fn has_holes(&self) -> bool {
        self.held_count > 0
    }

    /// Takes a segment. If it is in order, the caller delivers it and then all that
    /// [`Self::next_in_order`] yields.
    #[inline]
    pub(crate) fn accept(&mut self, ssn: u32, dsn: u32, len: u16) -> (Arrival, Received) {
        let arrival = if ssn == self.next {
            self.next += 1;
            Arrival::InOrder
        } else if ssn < self.next {
            Arrival::Duplicate
        } else {
            self.hold(ssn, dsn, len)
        };
        (arrival, Received(ssn))
    }

    /// [`Self::accept`] for the expected segment while no other waits.
    #[inline(always)]
    pub(crate) fn accept_next(&mut self) -> Received {
        debug_assert!(!self.has_holes());
        self.next += 1;
        Received(self.next - 1)
    }

    #[inline(always)]
    fn hold(&mut self, ssn: u32, dsn: u32, len: u16) -> Arrival {
        let span = ssn - self.next + 1;
        if span > self.held.places() {
            self.held.grow(span.max(64), self.next);
        }
        let slot = &mut self.held[ssn];
        if *slot != 0 {
            return Arrival::Duplicate;
        }
        *slot = pack(dsn, len);
        self.held_count += 1;
        self.note_block(ssn);
        Arrival::OutOfOrder
    }

    /// The next segment that the last one put in order: (DSN, length).
    #[inline]
    pub(crate) fn next_in_order(&mut self) -> Option<(u32, u16)> {
        if self.held_count == 0 {
            return None;
        }
        let slot = std::mem::take(&mut self.held[self.next]);
        if slot == 0 {
            return None;
        }
        self.held_count -= 1;
        self.next += 1;
        Some((slot as u32, (slot >> 32) as u16))
    }

    /// Moves the range with `ssn` to the front and merges it with its neighbours.
    #[inline(always)]
    fn note_block(&mut self, ssn: u32) {
        let [first, second, third] = &mut self.blocks.ranges;
        // Usually the first range grows by its next segment and fills no hole. Entries beyond `len`
        // are harmless.
        if first.1 == ssn && self.blocks.len > 0 && second.0 != ssn + 1 && third.0 != ssn + 1 {
            first.1 = ssn + 1;
            return;
        }
        self.move_to_front(ssn);
    }

    #[inline(never)]
    fn move_to_front(&mut self, ssn: u32) {
        let mut range = (ssn, ssn + 1);
        let mut rest = [(0, 0); BLOCKS];
        let mut kept = 0;
        for &(start, end) in self.blocks.ranges() {
            if end == range.0 {
                range.0 = start;
            } else if start == range.1 {
                range.1 = end;
            } else if end > self.next {
                rest[kept] = (start, end);
                kept += 1;
            }
        }
        let kept = kept.min(BLOCKS - 1);
        self.blocks.ranges[0] = range;
        // Copies all, although entries beyond `len` are unused: a fixed length needs no call.
        self.blocks.ranges[1..].copy_from_slice(&rest[..BLOCKS - 1]);
        self.blocks.len = kept as u8 + 1;
    }

    /// The SACK blocks of an ACK. `trigger`: the segment that caused it; `None` for a timer's ACK
    /// and for a segment that did not fit.
    #[inline(always)]
    pub(crate) fn sack_blocks(&mut self, trigger: Option<Received>) -> SackBlocks {
        if self.trimmed_at != self.next {
            self.trim();
        }
        let blocks = &mut self.blocks;
        let serial = blocks.serial;
        blocks.serial += 1;
        SackBlocks {
            trigger: trigger.map(|segment| segment.0),
            serial,
            ..*blocks
        }
    }

    /// Drops the ranges below the cumulative ACK.
    #[inline(never)]
    fn trim(&mut self) {
        let (blocks, mut kept) = (&mut self.blocks, 0);
        for at in 0..usize::from(blocks.len).min(BLOCKS) {
            let (start, end) = blocks.ranges[at];
            if end > self.next {
                blocks.ranges[kept.min(at)] = (start.max(self.next), end);
                kept += 1;
            }
        }
        blocks.len = kept as u8;
        self.trimmed_at = self.next;
    }
}

/// Data-level receiver of a connection: order over all subflows.
#[derive(Default)]
pub(crate) struct DataReceiver {
    next: u32,
    /// Payload length by DSN; 0: not arrived.
    held: Circular<u16>,
    held_count: u32,
    /// Payload delivered in order, bytes.
    pub(crate) delivered_bytes: u64,
}

impl DataReceiver {
    /// Next DSN expected: the data-level ACK.
    #[inline]
    pub(crate) fn next(&self) -> u32 {
        self.next
    }

    /// Number of segments that wait for an earlier one.
    #[inline]
    pub(crate) fn held(&self) -> u32 {
        self.held_count
    }

    /// Takes a segment; returns whether it is its first copy.
    #[inline(always)]
    pub(crate) fn accept(&mut self, dsn: u32, len: u16) -> bool {
        if dsn == self.next {
            self.next += 1;
            self.delivered_bytes += u64::from(len);
            if self.held_count > 0 {
                self.drain();
            }
            return true;
        }
        dsn > self.next && self.hold(dsn, len)
    }

    #[inline(never)]
    fn hold(&mut self, dsn: u32, len: u16) -> bool {
        let span = dsn - self.next + 1;
        if span > self.held.places() {
            self.held.grow(span.max(64), self.next);
        }
        let slot = &mut self.held[dsn];
        if *slot != 0 {
            return false;
        }
        *slot = len;
        self.held_count += 1;
        true
    }

    #[inline(never)]
    fn drain(&mut self) {
        while self.held_count > 0 {
            let len = std::mem::take(&mut self.held[self.next]);
            if len == 0 {
                break;
            }
            self.held_count -= 1;
            self.next += 1;
            self.delivered_bytes += u64::from(len);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn blocks_report_the_latest_range_first() {
        let mut subflow = Reassembly::default();
        let mut accept = |ssn| {
            let (arrival, received) = subflow.accept(ssn, ssn, 100);
            (arrival, subflow.sack_blocks(Some(received)))
        };
        for ssn in [2, 3, 6, 5] {
            assert_eq!(accept(ssn).0, Arrival::OutOfOrder);
        }
        assert_eq!(accept(9).1.ranges(), [(9, 10), (5, 7), (2, 4)]);
        assert_eq!(
            accept(4).1.ranges(),
            [(2, 7), (9, 10)],
            "it joins two ranges"
        );
        accept(0);
        let (arrival, blocks) = accept(1);
        assert_eq!((arrival, blocks.trigger), (Arrival::InOrder, Some(1)));
        while subflow.next_in_order().is_some() {}
        assert_eq!(subflow.next(), 7);
        assert_eq!(subflow.sack_blocks(None).ranges(), [(9, 10)]);
    }

    /// A timer's ACK names no trigger, although 0, the next expected SSN, has not arrived.
    #[test]
    fn an_ack_without_a_trigger_names_no_segment() {
        let mut subflow = Reassembly::default();
        subflow.accept(1, 1, 100);
        let blocks = subflow.sack_blocks(None);
        assert_eq!((blocks.trigger, blocks.ranges()), (None, &[(1, 2)][..]));
    }

    proptest! {
        /// For any order and any copies, each segment is delivered exactly once and in order.
        #[test]
        fn every_byte_is_delivered_once(order in Just((0u32..80).collect::<Vec<_>>()).prop_shuffle(),
                                        copies in prop::collection::vec(0usize..80, 0..40)) {
            let mut subflow = Reassembly::default();
            let mut data = DataReceiver::default();
            let mut stream: Vec<u32> = order.clone();
            for (i, &copy) in copies.iter().enumerate() {
                stream.insert((i * 7) % stream.len(), order[copy]);
            }
            let mut delivered = vec![];
            for ssn in stream {
                let len = ssn as u16 + 1;
                if subflow.accept(ssn, ssn, len).0 == Arrival::InOrder {
                    delivered.push(ssn);
                    while let Some((dsn, held_len)) = subflow.next_in_order() {
                        prop_assert_eq!(u32::from(held_len), dsn + 1);
                        delivered.push(dsn);
                    }
                }
                data.accept(ssn, len);
            }
            prop_assert_eq!(delivered, (0..80).collect::<Vec<_>>());
            prop_assert_eq!(data.delivered_bytes, (1..=80).sum::<u64>());
            prop_assert_eq!(data.next(), 80);
        }
    }
}
