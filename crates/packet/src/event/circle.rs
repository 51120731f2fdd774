//! Keys in a circle of narrow slots, at most one key per slot: the bits of a map give their order.

use super::key::{NO_KEY, SOURCE_BITS};

/// Most slots of a circle. Only slots that are used take memory.
const MOST_SLOTS: usize = 1 << 18;
const BITS: usize = u64::BITS as usize;
/// A key whose slot is taken may move to one of this many slots, starting there.
const NEIGHBOURS: u64 = 16;

/// Keys of the near future, in the order of their slots. A slot is a span of time, counted from the
/// start of the run. The circle covers the slots after that of the last key taken.
pub(super) struct Circle {
    /// log₂ of a slot's width, in units of a key.
    slot_bits: u32,
    /// The greatest slot number in the circle.
    mask: u32,
    len: usize,
    /// The slot of the last key taken.
    position: u64,
    /// Number of slots after `position` that are open; 0 while the circle is closed.
    open: u64,
    occupied: [u64; MOST_SLOTS / BITS],
    keys: Box<[u64; MOST_SLOTS]>,
}

/// Outcome of an exchange.
pub(super) enum Exchange {
    /// The key was put and this key taken.
    Done(u64),
    /// The key was put, but none taken.
    Put,
    /// Nothing was done: the slot is taken.
    Crowded,
}

/// The size of a circle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slots {
    /// log₂ of a slot's width, ns.
    pub(crate) width_bits: u32,
    /// log₂ of the number of slots.
    pub(crate) count_bits: u32,
}

impl Circle {
    /// A closed circle.
    pub(super) fn new(slots: Slots) -> Self {
        let keys = vec![0; MOST_SLOTS].into_boxed_slice();
        let count_bits = slots.count_bits.clamp(BITS.ilog2() + 1, MOST_SLOTS.ilog2());
        Circle {
            slot_bits: SOURCE_BITS + slots.width_bits,
            mask: (1 << count_bits) - 1,
            len: 0,
            position: 0,
            open: 0,
            occupied: [0; MOST_SLOTS / BITS],
            keys: keys.try_into().expect("the vector has this length"),
        }
    }

    /// An empty circle of the same kind.
    pub(super) fn empty_like(&self) -> Self {
        Self::new(Slots {
            width_bits: self.slot_bits - SOURCE_BITS,
            count_bits: self.mask.count_ones(),
        })
    }

    /// Moves the start of an empty circle after the slot of this key. It never moves back.
    pub(super) fn begin_after(&mut self, key: u64) {
        debug_assert!(self.len == 0);
        self.position = self.position.max(key >> self.slot_bits);
    }

    /// Number of slots that it covers. Slots in the word of the present slot are not reused for the
    /// next turn.
    fn span(&self) -> u64 {
        u64::from(self.mask) + 1 - BITS as u64
    }

    /// Opens or closes the circle for [`Self::admits`].
    #[inline(always)]
    pub(super) fn set_open(&mut self, open: bool) {
        self.open = if open { self.span() } else { 0 };
    }

    /// Whether the circle is open and covers a key.
    #[inline(always)]
    pub(super) fn admits(&self, key: u64) -> bool {
        self.is_within(key >> self.slot_bits, self.open)
    }

    /// Whether the circle covers a key.
    #[inline(always)]
    pub(super) fn covers(&self, key: u64) -> bool {
        self.is_within(key >> self.slot_bits, self.span())
    }

    /// Whether a key comes after all keys that the circle can cover.
    pub(super) fn is_before(&self, key: u64) -> bool {
        key >> self.slot_bits > self.position + self.span()
    }

    /// Whether a slot is one of the next `span` slots. For the present and earlier slots the
    /// subtraction wraps around.
    #[inline(always)]
    fn is_within(&self, slot: u64, span: u64) -> bool {
        slot.wrapping_sub(self.position).wrapping_sub(1) < span
    }

    /// The greatest slot number in the circle. The compiler sees that it is within bounds.
    #[inline(always)]
    fn mask(&self) -> usize {
        self.mask as usize % MOST_SLOTS
    }

    /// The number of a slot in the circle.
    #[inline(always)]
    fn number(&self, slot: u64) -> usize {
        slot as usize & self.mask()
    }

    /// Puts the greatest key of the ring back, before all others; `before` is the greatest key that
    /// remains in the ring. Returns the key if that is impossible.
    pub(super) fn put_back(&mut self, key: u64, before: u64) -> u64 {
        // The word before has slots of the next turn. Keys before `before` must not be covered.
        if self.position.is_multiple_of(BITS as u64) || before >> self.slot_bits >= self.position {
            return key;
        }
        let slot = self.number(self.position);
        self.occupied[slot / BITS] |= 1 << (slot % BITS);
        self.keys[slot] = key;
        self.position -= 1;
        self.len += 1;
        NO_KEY
    }

    /// Puts a key that the circle covers into its slot; false if the slot is taken.
    #[inline(always)]
    pub(super) fn put(&mut self, key: u64) -> bool {
        let slot = self.number(key >> self.slot_bits);
        let (word, bit) = (&mut self.occupied[slot / BITS], 1 << (slot % BITS));
        if *word & bit != 0 {
            return false;
        }
        *word |= bit;
        self.keys[slot] = key;
        self.len += 1;
        true
    }

    /// Puts a key that the circle covers into its own slot or a following one and keeps the order:
    /// each greater key moves on by one slot. Returns the key that finds no place, or [`NO_KEY`].
    pub(super) fn put_beside(&mut self, mut key: u64) -> u64 {
        let (home, span) = (key >> self.slot_bits, self.span());
        let mut slot = home;
        while slot < home + NEIGHBOURS && self.is_within(slot, span) {
            let number = self.number(slot);
            let (word, bit) = (&mut self.occupied[number / BITS], 1 << (number % BITS));
            let place = &mut self.keys[number];
            if *word & bit == 0 {
                *word |= bit;
                *place = key;
                self.len += 1;
                return NO_KEY;
            }
            if key < *place {
                std::mem::swap(&mut key, place);
            }
            slot += 1;
        }
        key
    }

    /// Takes the first key; [`NO_KEY`] if there is none.
    #[inline(always)]
    pub(super) fn take(&mut self) -> u64 {
        if self.len == 0 {
            return NO_KEY;
        }
        self.len -= 1;
        self.end_exchange()
    }

    /// Takes the first key in the word of this slot.
    #[inline(always)]
    fn take_at(&mut self, slot: u64) -> Option<u64> {
        let word = &mut self.occupied[self.number(slot) / BITS];
        if *word == 0 {
            return None;
        }
        let bit = word.trailing_zeros();
        *word &= !(1 << bit);
        self.position = slot / BITS as u64 * BITS as u64 + u64::from(bit);
        Some(self.keys[self.number(self.position)])
    }

    /// Puts a key that the circle covers into its slot and takes the first key, if neither needs a
    /// search.
    #[inline(always)]
    pub(super) fn exchange(&mut self, key: u64) -> Exchange {
        // Same as `put` and `take_at`, but reads each field once.
        let (mask, position) = (self.mask(), self.position);
        let (slot, keys) = ((key >> self.slot_bits) as usize & mask, &mut *self.keys);
        let (word, bit) = (&mut self.occupied[slot / BITS], 1 << (slot % BITS));
        if *word & bit != 0 {
            return Exchange::Crowded;
        }
        *word |= bit;
        keys[slot] = key;
        let word = &mut self.occupied[(position as usize & mask) / BITS];
        if *word == 0 {
            return Exchange::Put;
        }
        let bit = word.trailing_zeros();
        *word &= !(1 << bit);
        self.position = position / BITS as u64 * BITS as u64 + u64::from(bit);
        Exchange::Done(keys[self.position as usize & mask])
    }

    /// Takes the first key after [`Exchange::Put`].
    #[inline(always)]
    pub(super) fn end_exchange(&mut self) -> u64 {
        let mut slot = self.position;
        loop {
            if let Some(key) = self.take_at(slot) {
                return key;
            }
            slot = (slot / BITS as u64 + 1) * BITS as u64;
        }
    }
}
