//! A timing wheel for what is not due at once: buckets in a circle, a bit for each that holds something, and a heap for what lies
//! beyond the circle.
//!
//! ```text
//!   heap of the queue │ bucket │ bucket │ … 4096 in all, 128 ns each … │ overflow
//!   up to here ───────┘                                    0.5 ms ────►│
//! ```

use super::SOURCE_BITS;
use super::heap::{Heap, NOBODY};

/// Width of a bucket: 2⁷ ns. A network of a thousand busy links has about one event in it.
const BUCKET_BITS: u32 = SOURCE_BITS + 7;
/// Words of the bitmap, as many as a word has bits: one more word tells which of them are not empty.
const WORDS: usize = u64::BITS as usize;
const BUCKETS: usize = WORDS * u64::BITS as usize;
/// End of a list.
const NIL: u32 = u32::MAX;

/// Keys by the time in which they are due.
pub(super) struct Wheel {
    /// The latest bucket that has been handed over.
    current: u64,
    /// First entry of each bucket's list.
    heads: Box<[u32]>,
    occupied: [u64; WORDS],
    /// Which words of `occupied` are not 0.
    summary: u64,
    entries: Vec<Entry>,
    /// First of the unused entries.
    free: u32,
    overflow: Heap,
}

#[derive(Clone, Copy)]
struct Entry {
    key: u64,
    next: u32,
}

fn bucket_of(key: u64) -> u64 {
    key >> BUCKET_BITS
}

fn slot_of(bucket: u64) -> usize {
    bucket as usize % BUCKETS
}

impl Wheel {
    pub(super) fn new() -> Self {
        Wheel {
            current: 0,
            heads: vec![NIL; BUCKETS].into(),
            occupied: [0; WORDS],
            summary: 0,
            entries: vec![],
            free: NIL,
            overflow: Heap::default(),
        }
    }

    /// The least key that belongs here and not into the heap of the queue.
    pub(super) fn begin(&self) -> u64 {
        (self.current + 1) << BUCKET_BITS
    }

    /// Takes a key that is not below [`Self::begin`].
    #[inline]
    pub(super) fn insert(&mut self, key: u64) {
        let bucket = bucket_of(key);
        if bucket - self.current >= BUCKETS as u64 {
            return self.overflow.push(key);
        }
        let slot = slot_of(bucket);
        let entry = Entry { key, next: self.heads[slot] };
        let at = if self.free == NIL {
            self.entries.push(entry);
            self.entries.len() as u32 - 1
        } else {
            let at = self.free;
            self.free = std::mem::replace(&mut self.entries[at as usize], entry).next;
            at
        };
        self.heads[slot] = at;
        self.occupied[slot / WORDS] |= 1 << (slot % WORDS);
        self.summary |= 1 << (slot / WORDS);
    }

    /// Hands the keys of the next bucket over to an empty heap, if there are any.
    #[inline]
    pub(super) fn hand_over(&mut self, due: &mut Heap) {
        if self.summary == 0 {
            let next = self.overflow.least();
            if next == NOBODY {
                return;
            }
            self.advance(bucket_of(next));
            while self.overflow.least() < self.begin() {
                due.push(self.overflow.least());
                self.overflow.pop();
            }
        } else {
            let slot = self.next_slot();
            let ahead = slot.wrapping_sub(slot_of(self.current + 1)) % BUCKETS;
            self.advance(self.current + 1 + ahead as u64);
            self.empty(slot, due);
        }
        while self.overflow.least() != NOBODY
            && bucket_of(self.overflow.least()) - self.current < BUCKETS as u64
        {
            let key = self.overflow.least();
            self.overflow.pop();
            self.insert(key);
        }
    }

    fn advance(&mut self, bucket: u64) {
        self.current = bucket;
    }

    fn empty(&mut self, slot: usize, due: &mut Heap) {
        let mut at = std::mem::replace(&mut self.heads[slot], NIL);
        while at != NIL {
            let Entry { key, next } = self.entries[at as usize];
            due.push(key);
            self.entries[at as usize].next = self.free;
            self.free = at;
            at = next;
        }
        let word = slot / WORDS;
        self.occupied[word] &= !(1 << (slot % WORDS));
        if self.occupied[word] == 0 {
            self.summary &= !(1 << word);
        }
    }

    /// The first occupied slot behind the current one, around the circle. There is one.
    fn next_slot(&self) -> usize {
        let from = slot_of(self.current + 1);
        let (word, bit) = (from / WORDS, from % WORDS);
        let here = self.occupied[word] & (u64::MAX << bit);
        if here != 0 {
            return word * WORDS + here.trailing_zeros() as usize;
        }
        let later = self.summary & (u64::MAX << word << 1);
        // Around: the words from the first to this one, of which the bits before `bit` are left.
        let word = if later != 0 { later } else { self.summary }.trailing_zeros() as usize;
        word * WORDS + self.occupied[word].trailing_zeros() as usize
    }
}
