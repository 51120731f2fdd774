//! The receiving side: per-subflow order with SACK blocks (RFC 2018), and the data-level order of the connection.

use crate::packet::Tick;

/// SACK blocks in one ACK (RFC 2018, section 3: three beside timestamps).
const BLOCKS: usize = 3;

/// Half-open ranges of SSNs that the receiver holds, the most recently touched first.
#[derive(Clone, Copy, Default)]
pub(crate) struct SackBlocks {
    /// The segment that caused this ACK.
    pub(crate) trigger: u32,
    /// Counts the ACKs with blocks: a gap tells the sender that one was lost, so that the trigger alone is not enough.
    pub(crate) serial: u32,
    ranges: [(u32, u32); BLOCKS],
    len: u8,
}

impl SackBlocks {
    pub(crate) fn ranges(&self) -> &[(u32, u32)] {
        &self.ranges[..self.len as usize]
    }
}

/// SACK blocks of the ACKs that are on their way. Most ACKs carry none, so packets hold only an index.
#[derive(Default)]
pub(crate) struct SackArena {
    blocks: Vec<SackBlocks>,
    free: Vec<u32>,
}

impl SackArena {
    /// A reference for [`crate::packet::Packet::aux`]; never 0.
    pub(crate) fn store(&mut self, blocks: SackBlocks) -> u32 {
        match self.free.pop() {
            Some(reference) => {
                self.blocks[reference as usize - 1] = blocks;
                reference
            }
            None => {
                self.blocks.push(blocks);
                self.blocks.len() as u32
            }
        }
    }

    /// Ends the life of a reference.
    pub(crate) fn take(&mut self, reference: u32) -> SackBlocks {
        self.free.push(reference);
        self.blocks[reference as usize - 1]
    }
}

/// What a segment turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// The one that was expected; [`SubflowReceiver::next_in_order`] may yield more behind it.
    InOrder,
    /// A hole is before it.
    OutOfOrder,
    /// Known already.
    Duplicate,
}

/// A held segment, packed: DSN, payload length; 0 is a hole.
type Held = u64;

fn pack(dsn: u32, len: u16) -> Held {
    (u64::from(len) << 32) | u64::from(dsn)
}

/// Receiver of one subflow.
pub(crate) struct SubflowReceiver {
    next: u32,
    held: Box<[Held]>,
    held_count: u32,
    blocks: SackBlocks,
    /// In-order segments that no ACK has confirmed yet (delayed ACK).
    pub(crate) unacknowledged: u32,
    /// Clock of the first of them, for the echo (RFC 7323, section 4.3).
    pub(crate) echo: Tick,
    /// ECN echo is latched until CWR (RFC 3168, section 6.1.3).
    pub(crate) ece: bool,
}

impl SubflowReceiver {
    pub(crate) fn new() -> Self {
        SubflowReceiver {
            next: 0,
            held: Box::default(),
            held_count: 0,
            blocks: SackBlocks::default(),
            unacknowledged: 0,
            echo: Tick::at(0),
            ece: false,
        }
    }

    /// Next SSN expected: the cumulative ACK.
    #[inline]
    pub(crate) fn next(&self) -> u32 {
        self.next
    }

    /// Segments that wait for one before them.
    #[inline]
    pub(crate) fn held(&self) -> u32 {
        self.held_count
    }

    #[inline]
    pub(crate) fn has_holes(&self) -> bool {
        self.held_count > 0
    }

    /// Takes a segment. If it is in order the caller delivers it, and then what [`Self::next_in_order`] yields.
    #[inline]
    pub(crate) fn accept(&mut self, ssn: u32, dsn: u32, len: u16) -> Arrival {
        if ssn == self.next {
            self.next += 1;
            return Arrival::InOrder;
        }
        if ssn < self.next {
            return Arrival::Duplicate;
        }
        self.hold(ssn, dsn, len)
    }

    fn hold(&mut self, ssn: u32, dsn: u32, len: u16) -> Arrival {
        let span = (ssn - self.next) as usize + 1;
        if span > self.held.len() {
            self.grow(span);
        }
        let mask = self.held.len() - 1;
        let slot = &mut self.held[ssn as usize & mask];
        if *slot != 0 {
            return Arrival::Duplicate;
        }
        *slot = pack(dsn, len);
        self.held_count += 1;
        self.note_block(ssn);
        Arrival::OutOfOrder
    }

    /// A held segment that has become in-order: (DSN, length).
    #[inline]
    pub(crate) fn next_in_order(&mut self) -> Option<(u32, u16)> {
        if self.held_count == 0 {
            return None;
        }
        let mask = self.held.len() - 1;
        let slot = std::mem::take(&mut self.held[self.next as usize & mask]);
        if slot == 0 {
            return None;
        }
        self.held_count -= 1;
        self.next += 1;
        Some((slot as u32, (slot >> 32) as u16))
    }

    #[cold]
    fn grow(&mut self, span: usize) {
        let mut bigger = vec![0; span.next_power_of_two().max(64)].into_boxed_slice();
        let mask = bigger.len() - 1;
        for ssn in self.next..self.next + self.held.len() as u32 {
            bigger[ssn as usize & mask] = self.held[ssn as usize & (self.held.len() - 1)];
        }
        self.held = bigger;
    }

    /// Moves the range that now contains `ssn` to the front, merged with its neighbours.
    fn note_block(&mut self, ssn: u32) {
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
        self.blocks.ranges[1..=kept].copy_from_slice(&rest[..kept]);
        self.blocks.len = kept as u8 + 1;
    }

    /// The blocks for an ACK caused by `trigger`.
    pub(crate) fn sack_blocks(&mut self, trigger: u32) -> SackBlocks {
        let mut blocks = SackBlocks { trigger, serial: self.blocks.serial, ..SackBlocks::default() };
        for &(start, end) in self.blocks.ranges() {
            if end > self.next {
                blocks.ranges[blocks.len as usize] = (start.max(self.next), end);
                blocks.len += 1;
            }
        }
        self.blocks = blocks;
        self.blocks.serial += 1;
        blocks
    }
}

/// Data-level receiver of a connection: order over all subflows.
pub(crate) struct DataReceiver {
    next: u32,
    /// Payload length by DSN; 0 is a hole.
    held: Box<[u16]>,
    held_count: u32,
    /// In-order payload, bytes.
    pub(crate) delivered_bytes: u64,
}

impl DataReceiver {
    pub(crate) fn new() -> Self {
        DataReceiver { next: 0, held: Box::default(), held_count: 0, delivered_bytes: 0 }
    }

    /// Next DSN expected: the data-level ACK.
    #[inline]
    pub(crate) fn next(&self) -> u32 {
        self.next
    }

    /// Segments that wait for one before them.
    #[inline]
    pub(crate) fn held(&self) -> u32 {
        self.held_count
    }

    /// Takes a segment; whether it is the first copy.
    #[inline]
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

    fn hold(&mut self, dsn: u32, len: u16) -> bool {
        let span = (dsn - self.next) as usize + 1;
        if span > self.held.len() {
            self.grow(span);
        }
        let mask = self.held.len() - 1;
        let slot = &mut self.held[dsn as usize & mask];
        if *slot != 0 {
            return false;
        }
        *slot = len;
        self.held_count += 1;
        true
    }

    fn drain(&mut self) {
        let mask = self.held.len() - 1;
        while self.held_count > 0 {
            let len = std::mem::take(&mut self.held[self.next as usize & mask]);
            if len == 0 {
                break;
            }
            self.held_count -= 1;
            self.next += 1;
            self.delivered_bytes += u64::from(len);
        }
    }

    #[cold]
    fn grow(&mut self, span: usize) {
        let mut bigger = vec![0; span.next_power_of_two().max(64)].into_boxed_slice();
        let mask = bigger.len() - 1;
        for dsn in self.next..self.next + self.held.len() as u32 {
            bigger[dsn as usize & mask] = self.held[dsn as usize & (self.held.len() - 1)];
        }
        self.held = bigger;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn blocks_report_the_latest_range_first() {
        let mut receiver = SubflowReceiver::new();
        for ssn in [2, 3, 6, 5, 9] {
            assert_eq!(receiver.accept(ssn, ssn, 100), Arrival::OutOfOrder);
        }
        assert_eq!(receiver.sack_blocks(9).ranges(), [(9, 10), (5, 7), (2, 4)]);
        receiver.accept(4, 4, 100); // joins two ranges
        assert_eq!(receiver.sack_blocks(4).ranges(), [(2, 7), (9, 10)]);
        receiver.accept(0, 0, 100);
        receiver.accept(1, 1, 100);
        while receiver.next_in_order().is_some() {}
        assert_eq!(receiver.next(), 7);
        assert_eq!(receiver.sack_blocks(1).ranges(), [(9, 10)]);
    }

    #[test]
    fn an_arena_reuses_what_was_taken() {
        let mut arena = SackArena::default();
        let first = arena.store(SackBlocks { trigger: 7, ..SackBlocks::default() });
        assert_eq!(arena.take(first).trigger, 7);
        assert_eq!(arena.store(SackBlocks::default()), first);
    }

    proptest! {
        /// Whatever the order and the copies, each segment is delivered exactly once and in order.
        #[test]
        fn every_byte_is_delivered_once(order in Just((0u32..80).collect::<Vec<_>>()).prop_shuffle(),
                                        copies in prop::collection::vec(0usize..80, 0..40)) {
            let mut subflow = SubflowReceiver::new();
            let mut data = DataReceiver::new();
            let mut stream: Vec<u32> = order.clone();
            for (i, &copy) in copies.iter().enumerate() {
                stream.insert((i * 7) % stream.len(), order[copy]);
            }
            let mut delivered = vec![];
            for ssn in stream {
                let len = ssn as u16 + 1;
                if subflow.accept(ssn, ssn, len) == Arrival::InOrder {
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
