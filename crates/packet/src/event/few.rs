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
    /// The least key of `others` and of the second half of the places, which fewer events change.
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
        let [a, b, c, d, ..] = self.links;
        self.least_of_others.min(a.min(b)).min(c.min(d))
    }

    /// Finds the least of the keys anew that are not in the first half of the places.
    #[inline(never)]
    fn look_at_others(&mut self) {
        let [.., e, f, g, h] = self.links;
        self.least_of_others = self.others.least().min(e.min(f)).min(g.min(h));
    }

    #[inline(always)]
    pub(super) fn push(&mut self, key: u64) {
        let source = parts(key).1 as usize;
        match self.links.get_mut(source).filter(|_| source < self.used) {
            Some(place) if *place == NO_KEY => {
                *place = key;
                if source < HALF {
                    return;
                }
            }
            Some(place) => {
                let later = key.max(*place);
                *place = key.min(*place);
                self.others.push(later);
            }
            None => self.others.push(key),
        }
        self.look_at_others();
    }

    /// Removes the least key, which is `least`.
    #[inline(always)]
    pub(super) fn pop(&mut self, least: u64) {
        match self.links.get_mut(parts(least).1 as usize) {
            Some(place) if *place == least => {
                *place = NO_KEY;
                if (parts(least).1 as usize) < HALF {
                    return;
                }
            }
            _ => self.others.pop(),
        }
        self.look_at_others();
    }

    /// Replaces the least key, which is `least`, by a greater one of the same source.
    #[inline(always)]
    pub(super) fn replace_least(&mut self, least: u64, key: u64) {
        // A key tells its source: no other one is in the place of a source beyond the places.
        let place = &mut self.links[parts(key).1 as usize % MOST_LINKS];
        if *place == least {
            *place = key;
            if (parts(key).1 as usize) < HALF {
                return;
            }
        } else {
            self.others.replace_least(key);
        }
        self.look_at_others();
    }
}
