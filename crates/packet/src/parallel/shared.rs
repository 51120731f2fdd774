//! Lists that the parts of a run share.
//!
//! A run on several cores is a run of parts (see [`crate::parallel`]), each in its own thread.
//! Every element of these lists belongs to one part, or, where the two halves of an element have
//! separate accessors, each half does. The whole engine owns the lists; the parts access their
//! elements through views. So runs on one core and on many have the same lists in the same order.
//!
//! The compiler cannot check which part accesses which element. Tests do: there a view knows the
//! owners and panics at the first access to another part's element.

use std::ops::{Index, IndexMut, Range};
use std::ptr::NonNull;

/// A list, or a view of one.
pub(crate) struct Shared<T> {
    first: NonNull<T>,
    len: usize,
    /// The capacity of the vector behind the list; 0 for a view.
    capacity: usize,
    #[cfg(test)]
    owners: Option<Owners>,
}

// SAFETY: a list owns its elements as a vector does, and the creator of a view guarantees its use.
unsafe impl<T: Send> Send for Shared<T> {}

impl<T> Shared<T> {
    /// A view of the list.
    ///
    /// # Safety
    /// The list must outlive the view and must not grow while views exist. While several threads
    /// use the list and its views, no thread may access an element, or a half of one, that another
    /// thread changes.
    pub(crate) unsafe fn view(&self) -> Self {
        Shared {
            first: self.first,
            len: self.len,
            capacity: 0,
            #[cfg(test)]
            owners: None,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds an element. The list must have no views.
    pub(crate) fn push(&mut self, element: T) {
        let mut all = std::mem::take(self).into_vec();
        all.push(element);
        *self = Self::from(all);
    }

    fn into_vec(self) -> Vec<T> {
        let list = std::mem::ManuallyDrop::new(self);
        assert!(
            list.capacity > 0 || list.len == 0,
            "a view does not own its elements"
        );
        // SAFETY: these are the parts of a vector, see `from`, and nothing else frees them. For an
        // empty list they are the parts of an empty vector.
        unsafe { Vec::from_raw_parts(list.first.as_ptr(), list.len, list.capacity) }
    }

    /// The address of an element.
    ///
    /// # Panics
    /// If the index is out of range.
    #[inline(always)]
    pub(crate) fn place(&self, at: usize) -> NonNull<T> {
        if at >= self.len {
            out_of_range(at, self.len);
        }
        // SAFETY: the element is in the list.
        unsafe { self.first.add(at) }
    }

    /// The address of an element, or where it would be: to prefetch, not to read.
    #[inline(always)]
    pub(crate) fn address(&self, at: usize) -> *const T {
        self.first.as_ptr().wrapping_add(at)
    }

    #[inline(always)]
    pub(crate) fn get(&self, at: usize) -> Option<&T> {
        (at < self.len).then(|| &self[at])
    }

    #[inline(always)]
    pub(crate) fn get_mut(&mut self, at: usize) -> Option<&mut T> {
        if at < self.len {
            Some(&mut self[at])
        } else {
            None
        }
    }

    pub(crate) fn iter(&self) -> std::slice::Iter<'_, T> {
        self[0..self.len].iter()
    }

    pub(crate) fn iter_mut(&mut self) -> std::slice::IterMut<'_, T> {
        let all = 0..self.len;
        self[all].iter_mut()
    }

    #[inline(always)]
    fn check(&self, _at: Range<usize>) {
        #[cfg(test)]
        _at.for_each(|at| {
            self.check_half(at, 0);
            self.check_half(at, 1);
        });
    }

    /// In tests, checks that a half of an element belongs to the part with this view.
    #[inline(always)]
    pub(crate) fn check_half(&self, _at: usize, _half: usize) {
        #[cfg(test)]
        if let Some(owners) = &self.owners {
            let owner = owners.of[_half][_at];
            assert_eq!(
                owner, owners.part,
                "half {_half} of {_at} belongs to another part"
            );
        }
    }
}

#[cold]
#[inline(never)]
fn out_of_range(at: usize, len: usize) -> ! {
    panic!("{at} is out of range: the list has {len} elements")
}

/// The owners of a list: for each element, the parts to which its first and second half belong.
#[cfg(test)]
#[derive(Clone)]
pub(crate) struct Owners {
    pub(crate) part: u8,
    pub(crate) of: [std::sync::Arc<[u8]>; 2],
}

#[cfg(test)]
impl<T> Shared<T> {
    /// The same view, which panics at an access to another part's element.
    pub(crate) fn checked(mut self, owners: Owners) -> Self {
        assert!(owners.of.iter().all(|of| of.len() == self.len));
        self.owners = Some(owners);
        self
    }
}

impl<T> Default for Shared<T> {
    fn default() -> Self {
        Self::from(vec![])
    }
}

impl<T> From<Vec<T>> for Shared<T> {
    fn from(list: Vec<T>) -> Self {
        let mut list = std::mem::ManuallyDrop::new(list);
        Shared {
            first: NonNull::new(list.as_mut_ptr()).expect("the pointer of a vector is not null"),
            len: list.len(),
            capacity: list.capacity(),
            #[cfg(test)]
            owners: None,
        }
    }
}

impl<T> Drop for Shared<T> {
    fn drop(&mut self) {
        if self.capacity > 0 {
            // SAFETY: these are the parts of the vector behind the list.
            drop(unsafe { Vec::from_raw_parts(self.first.as_ptr(), self.len, self.capacity) });
        }
    }
}

impl<T> Index<usize> for Shared<T> {
    type Output = T;

    #[inline(always)]
    fn index(&self, at: usize) -> &T {
        self.check(at..at + 1);
        // SAFETY: no other thread changes the element, as the creator of the view guarantees.
        unsafe { self.place(at).as_ref() }
    }
}

impl<T> IndexMut<usize> for Shared<T> {
    #[inline(always)]
    fn index_mut(&mut self, at: usize) -> &mut T {
        self.check(at..at + 1);
        // SAFETY: no other thread accesses the element, as the creator of the view guarantees.
        unsafe { self.place(at).as_mut() }
    }
}

impl<T> Index<Range<usize>> for Shared<T> {
    type Output = [T];

    #[inline(always)]
    fn index(&self, range: Range<usize>) -> &[T] {
        if range.start > range.end || range.end > self.len {
            out_of_range(range.end, self.len);
        }
        self.check(range.clone());
        // SAFETY: the elements are in the list, and no other thread changes them, as the creator of
        // the view guarantees.
        unsafe { NonNull::slice_from_raw_parts(self.first.add(range.start), range.len()).as_ref() }
    }
}

impl<T> IndexMut<Range<usize>> for Shared<T> {
    #[inline(always)]
    fn index_mut(&mut self, range: Range<usize>) -> &mut [T] {
        if range.start > range.end || range.end > self.len {
            out_of_range(range.end, self.len);
        }
        self.check(range.clone());
        // SAFETY: the elements are in the list, and no other thread accesses them, as the creator
        // of the view guarantees.
        unsafe { NonNull::slice_from_raw_parts(self.first.add(range.start), range.len()).as_mut() }
    }
}

impl<'a, T> IntoIterator for &'a Shared<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a, T> IntoIterator for &'a mut Shared<T> {
    type Item = &'a mut T;
    type IntoIter = std::slice::IterMut<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Under Miri this also checks that views and the list alias only as they may.
    #[test]
    fn two_threads_change_their_elements_through_views() {
        let mut list = Shared::from(vec![0_u32; 3]);
        list.push(0);
        // SAFETY: the list outlives the views and does not grow, and each thread changes its own
        // elements.
        let views = unsafe { [(list.view(), 0), (list.view(), 2)] };
        std::thread::scope(|scope| {
            for (mut view, from) in views {
                scope.spawn(move || {
                    view[from] = 1;
                    view[from..from + 2]
                        .iter_mut()
                        .for_each(|element| *element += 1);
                });
            }
        });
        assert_eq!(list.iter().copied().collect::<Vec<_>>(), [2, 1, 2, 1]);
        list.push(7);
        assert_eq!((list.len(), list[4]), (5, 7));
    }

    #[test]
    #[should_panic = "2 is out of range: the list has 2 elements"]
    fn an_element_after_the_end_is_refused() {
        let _ = Shared::from(vec![1, 2])[2];
    }
}
