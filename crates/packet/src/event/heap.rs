//! A 4-ary heap of one-word keys.

use super::key::NO_KEY;

const ARITY: usize = 4;

/// The keys as a heap, least first.
pub(super) struct Heap {
    /// [`NO_KEY`] fills the slots after the last key, so that every node has four children.
    keys: Vec<u64>,
    len: usize,
}

impl Default for Heap {
    fn default() -> Self {
        Heap {
            keys: vec![NO_KEY; 1 + ARITY],
            len: 0,
        }
    }
}

impl Heap {
    /// The least key; [`NO_KEY`] if there is none.
    #[inline]
    pub(super) fn least(&self) -> u64 {
        self.keys[0]
    }

    #[inline]
    pub(super) fn push(&mut self, key: u64) {
        if self.len + ARITY >= self.keys.len() {
            self.keys.resize(2 * self.keys.len() + ARITY, NO_KEY);
        }
        let mut at = self.len;
        self.len += 1;
        while at > 0 {
            let parent = (at - 1) / ARITY;
            if self.keys[parent] <= key {
                break;
            }
            self.keys[at] = self.keys[parent];
            at = parent;
        }
        self.keys[at] = key;
    }

    /// Removes the least key.
    #[inline]
    pub(super) fn pop(&mut self) {
        debug_assert!(self.len > 0);
        self.len -= 1;
        let last = std::mem::replace(&mut self.keys[self.len], NO_KEY);
        if self.len > 0 {
            self.sift_down(last);
        }
    }

    /// Replaces the least key: half the work of a pop and a push.
    #[inline]
    pub(super) fn replace_least(&mut self, key: u64) {
        self.sift_down(key);
    }

    /// Places `key` from the root downwards.
    #[inline]
    fn sift_down(&mut self, key: u64) {
        let mut at = 0;
        while let Some(children) = self.keys.get(ARITY * at + 1..ARITY * at + 1 + ARITY) {
            let less = |a: usize, b: usize| if children[b] < children[a] { b } else { a };
            let least = less(less(0, 1), less(2, 3));
            let least_key = children[least];
            if key <= least_key {
                break;
            }
            self.keys[at] = least_key;
            at = ARITY * at + 1 + least;
        }
        self.keys[at] = key;
    }
}
