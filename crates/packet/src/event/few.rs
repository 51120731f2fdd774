//! The events of a network of a few links.
//!
//! Most events are arrivals at the end of a link, and each link has one pending, but for rare exceptions. So
//! the links' events have places of their own, of which the least is found by looking at all of them; what
//! remains, the timers, is in a heap that few events touch.

use super::heap::Heap;
use super::key::{NO_KEY, Source, parts};

/// Most links that it is worth looking at all of them.
pub(super) const MOST_LINKS: usize = 8;
/// Two paths have no more links, in both directions. Then only half of the places are looked at.
const HALF: usize = MOST_LINKS / 2;

/// A place for each source below this number: the links, and where there are fewer a few timers.
type Places = [u64; MOST_LINKS];

/// The keys of a network of a few links.
pub(crate) struct Few {
    /// The least pending key of each of the first sources, which are the links; [`NO_KEY`] if there is none.
    links: Places,
    /// The least of them.
    least_of_links: u64,
    /// The number of places that are used: all, or [`HALF`].
    used: usize,
    /// All other keys: those of timers, and further ones of a link.
    others: Heap,
}

impl Few {
    pub(super) fn new(links: usize) -> Self {
        let used = if links <= HALF { HALF } else { MOST_LINKS };
        Few { links: [NO_KEY; MOST_LINKS], least_of_links: NO_KEY, used, others: Heap::default() }
    }

    /// The least key; [`NO_KEY`] if there is none.
    #[inline(always)]
    pub(super) fn least(&self) -> u64 {
        self.least_of_links.min(self.others.least())
    }

    #[inline(always)]
    pub(super) fn push(&mut self, key: u64) {
        let source = parts(key).1 as usize;
        match self.links.get_mut(source).filter(|_| source < self.used) {
            Some(place) if *place == NO_KEY => {
                *place = key;
                self.least_of_links = self.least_of_links.min(key);
            }
            Some(_) => self.push_further(key),
            None => self.others.push(key),
        }
    }

    /// Adds a key of a link that has one.
    #[cold]
    fn push_further(&mut self, key: u64) {
        let place = &mut self.links[parts(key).1 as usize];
        let later = key.max(*place);
        *place = key.min(*place);
        self.others.push(later);
        self.find_least();
    }

    /// Removes the least key.
    #[inline(always)]
    pub(super) fn pop(&mut self) {
        if self.least_of_links <= self.others.least() {
            self.set(parts(self.least_of_links).1, NO_KEY);
        } else {
            self.others.pop();
        }
    }

    /// Replaces the least key by a greater one of the same source.
    #[inline(always)]
    pub(super) fn replace_least(&mut self, key: u64) {
        if self.least_of_links <= self.others.least() {
            self.set(parts(key).1, key);
        } else {
            self.others.replace_least(key);
        }
    }

    #[inline(always)]
    fn set(&mut self, link: Source, key: u64) {
        if let Some(place) = self.links.get_mut(link as usize) {
            *place = key;
        }
        self.find_least();
    }

    #[inline(always)]
    fn find_least(&mut self) {
        let [a, b, c, d, e, f, g, h] = self.links;
        self.least_of_links = a.min(b).min(c.min(d));
        if self.used > HALF {
            self.least_of_links = self.least_of_links.min(e.min(f).min(g.min(h)));
        }
    }
}
