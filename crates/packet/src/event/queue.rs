//! Pending events in the order of their time.

use super::few::{Few, MOST_LINKS};
use super::heap::Heap;
use super::key::{MAX_TIME_NS, NO_KEY, Source, key, parts};
use super::wheel::Wheel;

/// With at least this many links the state of a network is larger than the processor's nearest cache.
const LARGE: usize = 256;

/// About so many packets arrive at the ends of fully used links in the time of a wheel's bucket.
const PACKETS_PER_BUCKET: f64 = 7.0;

/// Width of a wheel's buckets, as a power of 2, ns.
fn width_bits(packets_per_s: f64) -> u32 {
    let width_ns = PACKETS_PER_BUCKET * 1e9 / packets_per_s;
    (width_ns as u64).clamp(1 << 6, 1 << 30).ilog2()
}

/// Pending events, the earliest first. All kinds hand out the same sequence.
pub(crate) struct EventQueue {
    /// The least key; [`NO_KEY`] if there is none.
    least: u64,
    /// [`Self::next`] hands out keys below this one.
    end: u64,
    keys: Keys,
}

/// Where the keys are. A tag of its own is read with less work than one that hides in a pointer.
#[repr(u8)]
enum Keys {
    /// For a few links.
    Few(Few),
    /// For links of which nobody knows how fast they are.
    Heap(Heap),
    /// For all other networks.
    Wheel(Box<Wheel>),
}

impl EventQueue {
    fn of(keys: Keys) -> Self {
        EventQueue { least: NO_KEY, end: NO_KEY, keys }
    }

    /// An empty queue for a network of `links` links, which carry up to `packets_per_s` packets in all.
    pub(crate) fn for_links(links: usize, packets_per_s: f64) -> Self {
        match links {
            0..=MOST_LINKS => Self::few(links),
            _ if packets_per_s > 0.0 => Self::wheel(width_bits(packets_per_s), links >= LARGE),
            _ => Self::heap(),
        }
    }

    /// An empty queue of the same kind.
    pub(crate) fn empty_like(&self) -> Self {
        Self::of(match &self.keys {
            Keys::Few(few) => Keys::Few(few.empty_like()),
            Keys::Heap(_) => Keys::Heap(Heap::default()),
            Keys::Wheel(wheel) => Keys::Wheel(Box::new(wheel.empty_like())),
        })
    }

    pub(crate) fn few(links: usize) -> Self {
        Self::of(Keys::Few(Few::new(links)))
    }

    pub(crate) fn heap() -> Self {
        Self::of(Keys::Heap(Heap::default()))
    }

    pub(crate) fn wheel(width_bits: u32, shows_ahead: bool) -> Self {
        Self::of(Keys::Wheel(Box::new(Wheel::new(width_bits, shows_ahead))))
    }

    /// Time and source of the earliest event.
    #[inline]
    pub(crate) fn peek(&self) -> Option<(u64, Source)> {
        (self.least != NO_KEY).then(|| parts(self.least))
    }

    /// Lets [`Self::next`] hand out the events up to an instant.
    pub(crate) fn open(&mut self, until_ns: u64) {
        self.end = if until_ns < MAX_TIME_NS { key(until_ns + 1, 0) } else { NO_KEY };
    }

    /// Lets [`Self::next`] hand out no event any more.
    pub(crate) fn close(&mut self) {
        self.end = 0;
    }

    /// Time and source of the earliest event, if it comes before the end.
    #[inline(always)]
    pub(crate) fn next(&self) -> Option<(u64, Source)> {
        (self.least < self.end).then(|| parts(self.least))
    }

    /// The events that are due soon in a large network, the earliest last.
    #[inline(always)]
    pub(crate) fn due(&self) -> Option<Due<'_>> {
        match &self.keys {
            Keys::Few(_) | Keys::Heap(_) => None,
            Keys::Wheel(wheel) => wheel.shows_ahead().then(|| Due(wheel.due())),
        }
    }

    /// Adds an event. One that would come after the end of the longest run is left out.
    #[inline]
    pub(crate) fn push(&mut self, time_ns: u64, source: Source) {
        if time_ns > MAX_TIME_NS {
            return;
        }
        let key = key(time_ns, source);
        match &mut self.keys {
            Keys::Few(few) => few.push(key),
            Keys::Heap(heap) => heap.push(key),
            Keys::Wheel(wheel) => wheel.push(key),
        }
        self.least = self.least.min(key);
    }

    /// Removes the earliest event.
    #[inline]
    pub(crate) fn pop(&mut self) {
        self.least = match &mut self.keys {
            Keys::Few(few) => {
                few.pop(self.least);
                few.least()
            }
            Keys::Heap(heap) => {
                heap.pop();
                heap.least()
            }
            Keys::Wheel(wheel) => {
                wheel.pop();
                wheel.least()
            }
        };
    }

    /// Replaces the earliest event by a later one of the same source. This is half the work of a pop and a
    /// push.
    #[inline(always)]
    pub(crate) fn replace_top(&mut self, time_ns: u64, source: Source) {
        let key = key(time_ns, source);
        if let Keys::Few(few) = &mut self.keys {
            few.replace_least(self.least, key);
            self.least = few.least();
        } else {
            self.replace_least(key);
        }
    }

    /// Replaces the least key of a network of more than a few links.
    #[inline(always)]
    fn replace_least(&mut self, key: u64) {
        self.least = match &mut self.keys {
            Keys::Few(_) => unreachable!("its keys are replaced in their places"),
            Keys::Heap(heap) => {
                heap.replace_least(key);
                heap.least()
            }
            Keys::Wheel(wheel) => wheel.replace_least(key),
        };
    }
}

/// Events in the order in which they come, the earliest last.
#[derive(Clone, Copy)]
pub(crate) struct Due<'a>(&'a [u64]);

impl Due<'_> {
    /// The source of the event that comes `after` events after the first one.
    #[inline(always)]
    pub(crate) fn source(self, after: usize) -> Option<Source> {
        let at = self.0.len().wrapping_sub(1 + after);
        self.0.get(at).map(|&key| parts(key).1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_out_by_time_then_source() {
        let mut queue = EventQueue::heap();
        for (time, source) in [(5, 1), (3, 7), (3, 2), (9, 0), (1, 4)] {
            queue.push(time, source);
        }
        let mut out = vec![];
        while let Some(event) = queue.peek() {
            out.push(event);
            queue.pop();
        }
        assert_eq!(out, [(1, 4), (3, 2), (3, 7), (5, 1), (9, 0)]);
    }

    /// A key has 46 bits for the time: without the check the event would come at the start of the run.
    #[test]
    fn an_event_after_the_end_of_time_never_comes() {
        for mut queue in
            [EventQueue::few(8), EventQueue::few(3), EventQueue::heap(), EventQueue::wheel(10, true)]
        {
            queue.push(MAX_TIME_NS + 5, 1);
            assert_eq!(queue.peek(), None);
            queue.push(MAX_TIME_NS, 2);
            assert_eq!(queue.peek(), Some((MAX_TIME_NS, 2)));
        }
    }

    #[test]
    fn replacing_the_top_keeps_the_order() {
        let mut queue = EventQueue::heap();
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            state >> 40
        };
        for source in 0..100 {
            queue.push(next(), source);
        }
        let mut last = (0, 0);
        for _ in 0..10_000 {
            let (time, source) = queue.peek().unwrap();
            assert!((time, source) >= last);
            last = (time, source);
            queue.replace_top(time + next(), source);
        }
    }

    /// Random pushes, pops and replacements, near, far and beyond the circle of the wheel. Of the few links,
    /// some have several events.
    #[test]
    fn all_kinds_hand_out_the_same() {
        for seed in 0..50 {
            let wheels = [EventQueue::wheel(10, true), EventQueue::wheel(13, false)];
            let others = [EventQueue::heap(), EventQueue::few(8), EventQueue::few(3)];
            let mut queues: Vec<EventQueue> = wheels.into_iter().chain(others).collect();
            let mut state: u64 = seed;
            let mut next = |below: u64| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 33) % below
            };
            let mut now = 0;
            for _ in 0..20_000 {
                let first = same_first(&queues);
                let spans = [1, 100, 10_000, 524_288, 3_000_000, 1 << 30];
                let span = spans[next(spans.len() as u64) as usize];
                let time = now + next(span);
                let sources = [2, 10, 1000][next(3) as usize];
                let source = next(sources) as Source;
                match (first, next(5)) {
                    (Some((at, _)), 0 | 1) => {
                        now = at;
                        queues.iter_mut().for_each(EventQueue::pop);
                    }
                    (Some((at, source)), 2) => {
                        now = at;
                        queues.iter_mut().for_each(|queue| queue.replace_top(time.max(at), source));
                    }
                    _ => queues.iter_mut().for_each(|queue| queue.push(time, source)),
                }
            }
            while same_first(&queues).is_some() {
                queues.iter_mut().for_each(EventQueue::pop);
            }
        }
    }

    /// The first event of all queues.
    fn same_first(queues: &[EventQueue]) -> Option<(u64, Source)> {
        let first = queues[0].peek();
        assert!(queues.iter().all(|queue| queue.peek() == first));
        first
    }
}
