//! A timing wheel: buckets in a circle, with a bit for each bucket that is not empty. Only the bucket that is
//! due is sorted. Keys beyond the circle wait in a heap.
//!
//! ```text
//!   due, sorted │ bucket │ bucket │ … 4096 in all, 1 µs each … │ overflow
//!   current ────┘                                   4 ms ─────►│
//!
//! That is the width for a network of a thousand busy links. Smaller networks have wider buckets.
//! ```

use super::heap::Heap;
use super::key::{NO_KEY, SOURCE_BITS};

/// Words of the bitmap. They are as many as a word has bits, so one more word tells which of them are not 0.
const WORDS: usize = u64::BITS as usize;
const BUCKETS: usize = WORDS * u64::BITS as usize;
/// When so few keys are due, those of the next bucket become due, too.
const AHEAD: usize = 6;
/// Up to this many due keys are put in order one by one, the least work for so few.
const FEW: usize = 24;
/// End of a list.
const NIL: u32 = u32::MAX;

/// Keys in buckets by the time at which they are due.
pub(super) struct Wheel {
    /// A bucket is 2 to the power of that wide, in units of a key.
    bucket_bits: u32,
    /// How many due keys are too few, so that those of the next bucket become due, too.
    too_few: usize,
    /// Keys up to the end of the current bucket, the greatest first. It is empty only if there are no keys at
    /// all.
    due: Vec<u64>,
    current: u64,
    /// First entry of each bucket's list.
    heads: Box<[u32; BUCKETS]>,
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

fn slot_of(bucket: u64) -> usize {
    bucket as usize % BUCKETS
}

impl Wheel {
    /// Buckets are 2 to the power of `width_bits` ns wide. If the wheel shows ahead, [`Self::due`] has the
    /// next events early.
    pub(super) fn new(width_bits: u32, shows_ahead: bool) -> Self {
        Wheel {
            bucket_bits: SOURCE_BITS + width_bits,
            too_few: if shows_ahead { AHEAD } else { 0 },
            due: vec![],
            current: 0,
            heads: Box::new([NIL; BUCKETS]),
            occupied: [0; WORDS],
            summary: 0,
            entries: vec![],
            free: NIL,
            overflow: Heap::default(),
        }
    }

    /// A wheel like this one, without keys.
    pub(super) fn empty_like(&self) -> Self {
        Self::new(self.bucket_bits - SOURCE_BITS, self.shows_ahead())
    }

    /// Whether [`Self::due`] has the next events early.
    #[inline]
    pub(super) fn shows_ahead(&self) -> bool {
        self.too_few > 0
    }

    #[inline(always)]
    fn bucket_of(&self, key: u64) -> u64 {
        key >> self.bucket_bits
    }

    /// The least key; [`NO_KEY`] if there is none.
    #[inline]
    pub(super) fn least(&self) -> u64 {
        self.due.last().copied().unwrap_or(NO_KEY)
    }

    /// The keys up to the end of the current bucket, the greatest first.
    #[inline]
    pub(super) fn due(&self) -> &[u64] {
        &self.due
    }

    #[inline(always)]
    pub(super) fn push(&mut self, key: u64) {
        self.place(key);
        self.refill();
    }

    /// Removes the least key.
    #[inline]
    pub(super) fn pop(&mut self) {
        self.due.pop();
        self.refill();
    }

    #[inline(always)]
    fn refill(&mut self) {
        let left = self.due.len();
        if left == 0 {
            self.turn();
        } else if left == self.too_few {
            self.turn_ahead();
        }
    }

    /// Makes the bucket after the current one due, too, so that the events that come are known early.
    #[inline(never)]
    fn turn_ahead(&mut self) {
        let slot = slot_of(self.current + 1);
        if self.occupied[slot / WORDS] & (1 << (slot % WORDS)) == 0 {
            return;
        }
        let mut rest = [0; AHEAD];
        rest.copy_from_slice(&self.due);
        self.due.clear();
        self.current += 1;
        self.take(slot);
        self.due.extend_from_slice(&rest);
        self.draw_near();
    }

    /// Replaces the least key by a greater one; returns the least one then.
    #[inline(never)]
    pub(super) fn replace_least(&mut self, key: u64) -> u64 {
        self.due.pop();
        self.push(key);
        self.least()
    }

    #[inline(always)]
    fn place(&mut self, key: u64) {
        let bucket = self.bucket_of(key);
        // For a key that is due already this wraps around, and the key goes elsewhere.
        if bucket.wrapping_sub(self.current).wrapping_sub(1) < BUCKETS as u64 - 1 {
            self.insert(slot_of(bucket), key);
        } else if bucket <= self.current && self.due.len() < FEW {
            self.put_in_order(key);
        } else {
            self.place_elsewhere(key);
        }
    }

    /// Puts a key into the bucket of a slot.
    #[inline(always)]
    fn insert(&mut self, slot: usize, key: u64) {
        let next = self.heads[slot];
        let entry = Entry { key, next };
        self.heads[slot] = match self.entries.get_mut(self.free as usize) {
            Some(unused) => std::mem::replace(&mut self.free, std::mem::replace(unused, entry).next),
            None => self.add_entry(entry),
        };
        if next == NIL {
            self.occupied[slot / WORDS] |= 1 << (slot % WORDS);
            self.summary |= 1 << (slot / WORDS);
        }
    }

    #[cold]
    fn add_entry(&mut self, entry: Entry) -> u32 {
        self.entries.push(entry);
        self.entries.len() as u32 - 1
    }

    /// Places a key that is due at once among many others, or only after the circle.
    #[cold]
    fn place_elsewhere(&mut self, key: u64) {
        if self.bucket_of(key) > self.current {
            self.overflow.push(key);
        } else {
            let at = self.due.partition_point(|&other| other > key);
            self.due.insert(at, key);
        }
    }

    /// Puts a key among the due ones, from the least one on.
    #[inline(always)]
    fn put_in_order(&mut self, key: u64) {
        self.due.push(key);
        let due = &mut self.due[..];
        let mut at = due.len() - 1;
        while at > 0 && due[at - 1] < key {
            due[at] = due[at - 1];
            at -= 1;
        }
        due[at] = key;
    }

    /// Makes the next bucket that is not empty the current one. The one before is empty.
    #[inline(never)]
    fn turn(&mut self) {
        if self.summary != 0 {
            let slot = self.next_slot();
            let ahead = slot.wrapping_sub(slot_of(self.current + 1)) % BUCKETS;
            self.current += 1 + ahead as u64;
            self.take(slot);
        } else if self.overflow.least() != NO_KEY {
            self.current = self.bucket_of(self.overflow.least());
        }
        self.draw_near();
    }

    /// The circle now covers some of the keys that waited in the heap.
    #[inline]
    fn draw_near(&mut self) {
        while self.overflow.least() != NO_KEY
            && self.bucket_of(self.overflow.least()) - self.current < BUCKETS as u64
        {
            let key = self.overflow.least();
            self.overflow.pop();
            self.place(key);
        }
    }

    /// Makes the keys of a bucket due, in order. No others are due.
    #[inline(always)]
    fn take(&mut self, slot: usize) {
        let first = std::mem::replace(&mut self.heads[slot], NIL);
        let (mut at, mut last) = (first, NIL);
        while let Some(&Entry { key, next }) = self.entries.get(at as usize) {
            if self.due.len() < FEW {
                self.put_in_order(key);
            } else {
                self.due.push(key);
            }
            (last, at) = (at, next);
        }
        // The whole list is unused now.
        if let Some(entry) = self.entries.get_mut(last as usize) {
            entry.next = std::mem::replace(&mut self.free, first);
        }
        if self.due.len() > FEW {
            self.due.sort_unstable_by(|a, b| b.cmp(a));
        }
        let word = slot / WORDS;
        self.occupied[word] &= !(1 << (slot % WORDS));
        if self.occupied[word] == 0 {
            self.summary &= !(1 << word);
        }
    }

    /// The first occupied slot after the current one, around the circle. There must be one.
    fn next_slot(&self) -> usize {
        let from = slot_of(self.current + 1);
        let (word, bit) = (from / WORDS, from % WORDS);
        let here = self.occupied[word] & (u64::MAX << bit);
        if here != 0 {
            return word * WORDS + here.trailing_zeros() as usize;
        }
        let later = self.summary & (u64::MAX << word << 1);
        // Around the circle come the words from the first one on, up to this one, where only the bits below
        // `bit` are left.
        let word = if later != 0 { later } else { self.summary }.trailing_zeros() as usize;
        word * WORDS + self.occupied[word].trailing_zeros() as usize
    }
}
