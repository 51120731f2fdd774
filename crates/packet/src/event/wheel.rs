//! A timing wheel for the events of many links. Nearly all keys are in a circle of narrow slots;
//! the next keys are already taken out of it. Keys beyond the circle, such as most timers, wait in
//! a heap.
//!
//! ```text
//!   known: 1 or 6 keys ◄── position │ slot │ slot │ … 4096 in all, 128 ns each … │ others
//!                                   └──────────────── 0.5 ms ───────────────────►│
//!
//! These are the slots for a network of a hundred busy links. Larger networks have more and narrower slots.
//! ```

use super::circle::{Circle, Exchange, Slots};
use super::heap::Heap;
use super::key::NO_KEY;

/// Keys in the order of time. The next `AHEAD` are known, in a ring of `RING` places.
pub(super) struct Wheel<const AHEAD: usize, const RING: usize> {
    /// The first keys of the circle, taken out of it. There are fewer than `AHEAD`, followed by
    /// [`NO_KEY`], only if the circle is empty.
    next: [u64; RING],
    first: usize,
    least_of_others: u64,
    circle: Circle,
    others: Heap,
}

impl<const AHEAD: usize, const RING: usize> Wheel<AHEAD, RING> {
    pub(super) fn new(slots: Slots) -> Self {
        Self::of(Circle::new(slots))
    }

    fn of(circle: Circle) -> Self {
        Wheel {
            next: [NO_KEY; RING],
            first: 0,
            least_of_others: NO_KEY,
            circle,
            others: Heap::default(),
        }
    }

    /// An empty wheel of the same size.
    pub(super) fn empty_like(&self) -> Self {
        Self::of(self.circle.empty_like())
    }

    /// The key `after` places after the first, without the keys in the heap; [`NO_KEY`] if unknown.
    #[inline(always)]
    pub(super) fn next(&self, after: usize) -> u64 {
        self.next[(self.first + after) % RING]
    }

    /// The least key; [`NO_KEY`] if there is none.
    #[inline(always)]
    pub(super) fn least(&self) -> u64 {
        self.next(0).min(self.least_of_others)
    }

    #[inline(always)]
    pub(super) fn push(&mut self, key: u64) {
        if !self.circle.admits(key) || !self.circle.put(key) {
            self.push_otherwise(key);
        }
    }

    /// [`Self::push`] for any key.
    #[inline(never)]
    fn push_otherwise(&mut self, key: u64) {
        let left = if key < self.next(AHEAD - 1) && !self.circle.is_before(key) {
            self.insert(key)
        } else if self.circle.covers(key) {
            self.circle.put_beside(key)
        } else {
            key
        };
        self.push_other(left);
        self.settle();
    }

    /// Inserts a key into the ring. The last key then goes back into the circle; it is returned if
    /// the circle does not take it.
    fn insert(&mut self, key: u64) -> u64 {
        let mut last = key;
        for after in 0..AHEAD {
            let place = &mut self.next[(self.first + after) % RING];
            if last < *place {
                std::mem::swap(&mut last, place);
            }
        }
        if last == NO_KEY {
            self.circle.begin_after(key);
            return NO_KEY;
        }
        self.circle.put_back(last, self.next(AHEAD - 1))
    }

    /// Puts a key into the heap.
    fn push_other(&mut self, key: u64) {
        if key != NO_KEY {
            self.others.push(key);
            self.least_of_others = self.others.least();
        }
    }

    /// Opens the circle, for the fast paths, if the least key is of the circle and the ring is
    /// full.
    #[inline(always)]
    fn settle(&mut self) {
        let open = self.next(0) <= self.least_of_others && self.next(AHEAD - 1) != NO_KEY;
        self.circle.set_open(open);
    }

    /// Removes the least key.
    #[inline(always)]
    pub(super) fn pop(&mut self) {
        if self.least_of_others < self.next(0) {
            self.pop_other();
        } else {
            let key = self.circle.take();
            self.step(key);
        }
        self.settle();
    }

    #[inline(never)]
    fn pop_other(&mut self) {
        if self.next(0) == NO_KEY {
            self.circle.begin_after(self.least_of_others);
        }
        self.others.pop();
        self.least_of_others = self.others.least();
    }

    /// Removes the first key of the ring and appends `key`.
    #[inline(always)]
    fn step(&mut self, key: u64) {
        self.next[(self.first + AHEAD) % RING] = key;
        if RING > 1 {
            self.first = (self.first + 1) % RING;
        }
    }

    /// Replaces the least key by a greater one; returns the new least key.
    #[inline(never)]
    pub(super) fn replace_least(&mut self, key: u64) -> u64 {
        if !self.circle.admits(key) {
            return self.replace_otherwise(key);
        }
        match self.circle.exchange(key) {
            Exchange::Done(next) => self.step(next),
            Exchange::Put => return self.step_later(),
            Exchange::Crowded => return self.replace_beside(key),
        }
        let next = self.next(0);
        if self.least_of_others < next {
            return self.turn_to_others();
        }
        next
    }

    /// [`Self::replace_least`] for any key.
    #[inline(never)]
    fn replace_otherwise(&mut self, key: u64) -> u64 {
        if self.circle.covers(key) {
            // The new key may be the next that the circle returns.
            self.push(key);
            self.pop();
        } else {
            self.pop();
            self.push(key);
        }
        self.least()
    }

    #[inline(never)]
    fn replace_beside(&mut self, key: u64) -> u64 {
        let left = self.circle.put_beside(key);
        let next = self.circle.take();
        self.step(next);
        self.push_other(left);
        self.settle();
        self.least()
    }

    #[inline(never)]
    fn step_later(&mut self) -> u64 {
        let next = self.circle.end_exchange();
        self.step(next);
        self.settle();
        self.least()
    }

    #[inline(never)]
    fn turn_to_others(&mut self) -> u64 {
        self.settle();
        self.least()
    }
}
