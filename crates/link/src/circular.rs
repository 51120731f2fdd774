//! A circular list.

use std::fmt;
use std::ops::{Index, IndexMut};
use std::ptr::NonNull;

/// A list of 2ⁿ elements. Indices count modulo the length, so every index is valid and needs no
/// check. Examples are rings of packets and records by sequence number.
pub struct Circular<T> {
    first: NonNull<T>,
    /// Number of elements minus 1.
    mask: u32,
}

impl<T: Copy + Default> Circular<T> {
    /// A list of at least `len` elements; the length is rounded up to a power of two.
    ///
    /// # Panics
    /// If `len` exceeds 2³¹.
    pub fn new(len: u32) -> Self {
        let len = len
            .checked_next_power_of_two()
            .expect("a list has at most 2³¹ elements");
        let elements = vec![T::default(); len as usize].into_boxed_slice();
        Circular {
            first: NonNull::from(Box::leak(elements)).cast(),
            mask: len - 1,
        }
    }

    /// Extends the list to at least `len` elements. The elements from index `start` on, once
    /// around, keep their indices.
    #[cold]
    #[inline(never)]
    pub fn grow(&mut self, len: u32, start: u32) {
        let mut longer = Self::new(len.max(self.places()));
        for after in 0..self.places() {
            let place = start.wrapping_add(after);
            longer[place] = self[place];
        }
        *self = longer;
    }
}

impl<T> Circular<T> {
    /// Length of the list.
    #[inline(always)]
    pub fn places(&self) -> u32 {
        self.mask + 1
    }

    /// True if `elements` consecutive elements fill the list.
    #[inline(always)]
    pub fn is_filled_by(&self, elements: u32) -> bool {
        elements > self.mask
    }

    #[inline(always)]
    fn at(&self, place: u32) -> NonNull<T> {
        // SAFETY: there are `mask` + 1 elements.
        unsafe { self.first.add((place & self.mask) as usize) }
    }

    fn all(&self) -> NonNull<[T]> {
        NonNull::slice_from_raw_parts(self.first, self.mask as usize + 1)
    }
}

impl<T> Index<u32> for Circular<T> {
    type Output = T;

    #[inline(always)]
    fn index(&self, place: u32) -> &T {
        // SAFETY: the list owns its elements.
        unsafe { self.at(place).as_ref() }
    }
}

impl<T> IndexMut<u32> for Circular<T> {
    #[inline(always)]
    fn index_mut(&mut self, place: u32) -> &mut T {
        // SAFETY: the list owns its elements.
        unsafe { self.at(place).as_mut() }
    }
}

impl<T> Drop for Circular<T> {
    fn drop(&mut self) {
        // SAFETY: the elements came from a box, see `new`, and nothing else frees them.
        drop(unsafe { Box::from_raw(self.all().as_ptr()) });
    }
}

/// A list of one element.
impl<T: Copy + Default> Default for Circular<T> {
    fn default() -> Self {
        Self::new(1)
    }
}

impl<T: Copy + Default> Clone for Circular<T> {
    fn clone(&self) -> Self {
        let mut copy = Self::new(self.places());
        (0..self.places()).for_each(|place| copy[place] = self[place]);
        copy
    }
}

impl<T: fmt::Debug> fmt::Debug for Circular<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries((0..self.places()).map(|place| &self[place]))
            .finish()
    }
}

// SAFETY: the list owns its elements, as a box does.
unsafe impl<T: Send> Send for Circular<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Circular<T> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_wrap_around() {
        let mut list = Circular::new(5);
        assert_eq!(list.places(), 8);
        (0..8).for_each(|place| list[place] = place);
        assert_eq!([list[8], list[17], list[u32::MAX]], [0, 1, 7]);
        assert_eq!(format!("{:?}", list.clone()), "[0, 1, 2, 3, 4, 5, 6, 7]");
    }

    #[test]
    fn elements_keep_their_indices_when_the_list_grows() {
        for start in [0, 3, 14, u32::MAX - 2] {
            let mut list = Circular::new(8);
            let places = (0..8).map(|after| start.wrapping_add(after));
            places.clone().for_each(|place| list[place] = place);
            list.grow(9, start);
            assert_eq!(list.places(), 16);
            assert!(
                places.clone().all(|place| list[place] == place),
                "from {start} on: {list:?}"
            );
            assert_eq!(list[start.wrapping_add(8)], 0);
        }
    }

    #[test]
    fn a_list_of_one_has_one_element() {
        let mut list = Circular::<u64>::default();
        list[7] = 3;
        assert_eq!((list[0], list.places()), (3, 1));
        list.grow(1, 0);
        assert_eq!((list[0], list.places()), (3, 1));
    }
}
