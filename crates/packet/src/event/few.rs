//! The event queue of a network with few links.
//!
//! Most events are arrivals at the end of a link, and nearly every link has exactly one pending. So
//! each link has a place of its own, and a scan of all places finds the least. The other events,
//! timers, are in a heap that changes rarely.

use super::heap::Heap;
use super::key::{NO_KEY, parts};

/// Most links for which a scan of all places is faster than a heap.
pub(super) const MOST_LINKS: usize = 8;
/// Enough for two paths in both directions: the scan then covers only half of the places.
const HALF: usize = MOST_LINKS / 2;

/// A place for each source below this number: the links and, if there are fewer links, some timers.
type Places = [u64; MOST_LINKS];

/// The keys of a network of a few links.
pub(super) struct Few {
    /// The least pending key of each of the first sources; [`NO_KEY`] if none.
    links: Places,
    /// Number of places in use: all, or [`HALF`].
    used: usize,
    /// The least key of `others` and of the second half of the places, which change less often.
    least_of_others: u64,
    /// All other keys: timers, and further keys of a link.
    others: Heap,
}

impl Few {
    pub(super) fn new(links: usize) -> Self {
        let used = if links <= HALF { HALF } else { MOST_LINKS };
        Few {
            links: [NO_KEY; MOST_LINKS],
            used,
            least_of_others: NO_KEY,
            others: Heap::default(),
        }
    }

    /// An empty queue with as many places.
    pub(super) fn empty_like(&self) -> Self {
        Few::new(self.used)
    }

    /// The least key; [`NO_KEY`] if there is none.
    #[inline(always)]
    pub(super) fn least(&self) -> u64 {
        let [a, b, c, d, ..] = self.links;
        self.least_of_others.min(a.min(b)).min(c.min(d))
    }

    /// Recomputes the least key outside the first half of the places.
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

    /// Removes the least key; `least` must be that key.
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

    /// Replaces the least key, which must be `least`, by a greater key of the same source.
    #[inline(always)]
    pub(super) fn replace_least(&mut self, least: u64, key: u64) {
        // A key contains its source, so a place that wraps around never matches a source beyond the
        // places.
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
