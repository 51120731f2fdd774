//! Keys in a circle of narrow slots, at most one in each, so that their order is that of the bits of a map.

use super::key::{NO_KEY, SOURCE_BITS};

/// Most slots of a circle. Of the places for them only those that are used become memory.
const MOST_SLOTS: usize = 1 << 18;
const BITS: usize = u64::BITS as usize;
/// A key that finds its slot taken is put into one of so many from there on.
const NEIGHBOURS: u64 = 16;

/// Keys that come soon, in the order of their slots. A slot is a span of time, counted from the start of the
/// run. Those of the present circle come after the slot of the last key that was taken.
pub(super) struct Circle {
    /// A slot is 2 to the power of that wide, in units of a key.
    slot_bits: u32,
    /// The greatest number of a slot in the circle.
    mask: u32,
    len: usize,
    /// The slot of the last key that was taken.
    position: u64,
    /// So many slots after that one are open; none while the circle is closed.
    open: u64,
    occupied: [u64; MOST_SLOTS / BITS],
    keys: Box<[u64; MOST_SLOTS]>,
}

/// What an exchange has done.
pub(super) enum Exchange {
    /// All; this is the key that has come out.
    Done(u64),
    /// The key has been put into its slot, but none has come out.
    Put,
    /// Nothing: the slot is taken.
    Crowded,
}

impl Circle {
    /// A closed circle of 2 to the power of `slots_bits` slots, each 2 to the power of `width_bits` ns wide.
    pub(super) fn new(width_bits: u32, slots_bits: u32) -> Self {
        let keys = vec![0; MOST_SLOTS].into_boxed_slice();
        let slots_bits = slots_bits.clamp(BITS.ilog2() + 1, MOST_SLOTS.ilog2());
        Circle {
            slot_bits: SOURCE_BITS + width_bits,
            mask: (1 << slots_bits) - 1,
            len: 0,
            position: 0,
            open: 0,
            occupied: [0; MOST_SLOTS / BITS],
            keys: keys.try_into().expect("these are as many"),
        }
    }

    /// An empty circle of the same kind.
    pub(super) fn empty_like(&self) -> Self {
        Self::new(self.slot_bits - SOURCE_BITS, self.mask.count_ones())
    }

    /// Lets an empty circle begin after the slot of this key, if that is later than where it begins now.
    pub(super) fn begin_after(&mut self, key: u64) {
        debug_assert!(self.len == 0);
        self.position = self.position.max(key >> self.slot_bits);
    }

    /// How many slots it covers: those of the word that has the present slot are not used a second time.
    fn span(&self) -> u64 {
        u64::from(self.mask) + 1 - BITS as u64
    }

    /// Opens or closes the circle: whether what [`Self::admits`] says is usual.
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

    /// Whether a key comes after all those that the circle covers.
    pub(super) fn is_before(&self, key: u64) -> bool {
        key >> self.slot_bits > self.position + self.span()
    }

    /// Whether a slot is one of the next `span` ones. For one that is not after the present one this wraps
    /// around.
    #[inline(always)]
    fn is_within(&self, slot: u64, span: u64) -> bool {
        slot.wrapping_sub(self.position).wrapping_sub(1) < span
    }

    /// The greatest number of a slot in the circle. The compiler sees that it is within bounds.
    #[inline(always)]
    fn mask(&self) -> usize {
        self.mask as usize % MOST_SLOTS
    }

    /// The number in the circle of a slot.
    #[inline(always)]
    fn number(&self, slot: u64) -> usize {
        slot as usize & self.mask()
    }

    /// Puts the greatest of the keys that have been taken back, before all others; `before` is the greatest
    /// one then. Returns it if that cannot be done.
    pub(super) fn put_back(&mut self, key: u64, before: u64) -> u64 {
        // The word before has slots of the next circle. What comes before `before` must not be covered.
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

    /// Puts a key that the circle covers into its slot; returns false if that is taken.
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

    /// Puts a key that the circle covers into the slots from its own on so that all stay in order: each key
    /// that is greater makes room and moves on by a slot. Returns a key that finds no place, or [`NO_KEY`].
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

    /// Takes the first key of the word that has this slot.
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

    /// Puts a key that the circle covers into its slot and takes the first one, if both are easy.
    #[inline(always)]
    pub(super) fn exchange(&mut self, key: u64) -> Exchange {
        // As `put` and `take_at`, but each field is read once.
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

    /// Takes the first key, for a key that has been put already.
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
