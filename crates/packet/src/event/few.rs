//! The events of a network of a few links.
//!
//! Most events are arrivals at the end of a link, and each link has one pending, but for rare exceptions. So
//! the links' events have places of their own, of which the least is found by looking at all of them; what
//! remains, the timers, is in a heap that few events touch.

use super::heap::Heap;
use super::key::{NO_KEY, parts};

/// Most links that it is worth looking at all of them.
pub(super) const MOST_LINKS: usize = 8;
/// Two paths have no more links, in both directions. Then only half of the places are looked at.
const HALF: usize = MOST_LINKS / 2;

/// A place for each source below this number: the links, and where there are fewer a few timers.
type Places = [u64; MOST_LINKS];

/// The keys of a network of a few links.
pub(super) struct Few {
    /// The least pending key of each of the first sources, which are the links; [`NO_KEY`] if there is none.
    links: Places,
    /// The number of places that are used: all, or [`HALF`].
    used: usize,
    /// The least key of `others`, which few events change.
    least_of_others: u64,
    /// All other keys: those of timers, and further ones of a link.
    others: Heap,
}

impl Few {
    pub(super) fn new(links: usize) -> Self {
        let used = if links <= HALF { HALF } else { MOST_LINKS };
        Few { links: [NO_KEY; MOST_LINKS], used, least_of_others: NO_KEY, others: Heap::default() }
    }

    /// Places for as many links, without keys.
    pub(super) fn empty_like(&self) -> Self {
        Few::new(self.used)
    }

    /// The least key; [`NO_KEY`] if there is none.
    #[inline(always)]
    pub(super) fn least(&self) -> u64 {
        let [a, b, c, d, e, f, g, h] = self.links;
        let least = self.least_of_others.min(a.min(b)).min(c.min(d));
        if self.used > HALF { least.min(e.min(f)).min(g.min(h)) } else { least }
    }

    #[inline(always)]
    pub(super) fn push(&mut self, key: u64) {
        let source = parts(key).1 as usize;
        match self.links.get_mut(source).filter(|_| source < self.used) {
            Some(place) if *place == NO_KEY => *place = key,
            Some(place) => {
                let later = key.max(*place);
                *place = key.min(*place);
                self.push_other(later);
            }
            None => self.push_other(key),
        }
    }

    #[cold]
    fn push_other(&mut self, key: u64) {
        self.others.push(key);
        self.least_of_others = self.others.least();
    }

    /// Removes the least key, which is `least`.
    #[inline(always)]
    pub(super) fn pop(&mut self, least: u64) {
        match self.links.get_mut(parts(least).1 as usize) {
            Some(place) if *place == least => *place = NO_KEY,
            _ => self.pop_other(),
        }
    }

    #[cold]
    fn pop_other(&mut self) {
        self.others.pop();
        self.least_of_others = self.others.least();
    }

    /// Replaces the least key, which is `least`, by a greater one of the same source.
    #[inline(always)]
    pub(super) fn replace_least(&mut self, least: u64, key: u64) {
        match self.links.get_mut(parts(key).1 as usize) {
            Some(place) if *place == least => *place = key,
            _ => self.replace_other(key),
        }
    }

    #[cold]
    fn replace_other(&mut self, key: u64) {
        self.others.replace_least(key);
        self.least_of_others = self.others.least();
    }
}
