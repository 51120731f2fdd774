//! The event queue: the next event of each source, in a 4-ary heap, or in a timing wheel where the network is large.
//!
//! A source is a link (its next arrival), a timer, a traffic generator. Keys are one word, time above source, so that events at
//! the same instant fire in the order of their sources on every machine.

mod heap;
mod wheel;

use heap::{Heap, NOBODY};
use wheel::Wheel;

/// Identifies what an event belongs to.
pub(crate) type Source = u32;

const SOURCE_BITS: u32 = 18;
/// Sources that fit a key.
pub(crate) const MAX_SOURCES: usize = 1 << SOURCE_BITS;
/// The latest instant that fits a key, ns (19.5 hours).
pub(crate) const MAX_TIME_NS: u64 = (1 << (64 - SOURCE_BITS)) - 1;

/// Links from which on a wheel is faster than a heap.
const LARGE: usize = 256;

/// Pending events, earliest first. Both kinds hand out the same.
pub(crate) enum EventQueue {
    /// Of hundreds of sources.
    Heap(Heap),
    /// Of thousands.
    Wheel(Box<Wheel>),
}

#[inline]
fn key(time_ns: u64, source: Source) -> u64 {
    debug_assert!(time_ns <= MAX_TIME_NS && (source as usize) < MAX_SOURCES);
    (time_ns << SOURCE_BITS) | u64::from(source)
}

impl EventQueue {
    /// For a network of so many links.
    pub(crate) fn for_links(links: usize) -> Self {
        if links < LARGE { Self::heap() } else { Self::wheel() }
    }

    pub(crate) fn heap() -> Self {
        EventQueue::Heap(Heap::default())
    }

    pub(crate) fn wheel() -> Self {
        EventQueue::Wheel(Box::new(Wheel::new()))
    }

    /// Time and source of the earliest event.
    #[inline]
    pub(crate) fn peek(&self) -> Option<(u64, Source)> {
        let key = match self {
            EventQueue::Heap(heap) => heap.least(),
            EventQueue::Wheel(wheel) => wheel.least(),
        };
        (key != NOBODY).then_some((key >> SOURCE_BITS, (key & (MAX_SOURCES as u64 - 1)) as Source))
    }

    #[inline]
    pub(crate) fn push(&mut self, time_ns: u64, source: Source) {
        let key = key(time_ns, source);
        match self {
            EventQueue::Heap(heap) => heap.push(key),
            EventQueue::Wheel(wheel) => wheel.push(key),
        }
    }

    /// Removes the earliest event.
    #[inline]
    pub(crate) fn pop(&mut self) {
        match self {
            EventQueue::Heap(heap) => heap.pop(),
            EventQueue::Wheel(wheel) => wheel.pop(),
        }
    }

    /// Replaces the earliest event by a later one of the same source: half the work of pop and push.
    #[inline]
    pub(crate) fn replace_top(&mut self, time_ns: u64, source: Source) {
        let key = key(time_ns, source);
        match self {
            EventQueue::Heap(heap) => heap.replace_least(key),
            EventQueue::Wheel(wheel) => wheel.replace_least(key),
        }
    }
}

/// A timer whose deadline moves far more often than it expires: moving it later costs one store.
#[derive(Clone, Copy)]
pub(crate) struct LazyTimer {
    deadline_ns: u64,
    /// When the queue will ask; `NEVER` if no event is pending.
    asked_ns: u64,
}

const NEVER: u64 = u64::MAX;

impl LazyTimer {
    pub(crate) const fn new() -> Self {
        LazyTimer { deadline_ns: NEVER, asked_ns: NEVER }
    }

    pub(crate) fn is_set(&self) -> bool {
        self.deadline_ns != NEVER
    }

    /// Time until it expires, ns; none if it is not set.
    pub(crate) fn left_ns(&self, now_ns: u64) -> Option<u64> {
        self.is_set().then(|| self.deadline_ns.saturating_sub(now_ns))
    }

    #[inline]
    pub(crate) fn set(&mut self, deadline_ns: u64, source: Source, queue: &mut EventQueue) {
        self.deadline_ns = deadline_ns;
        if deadline_ns < self.asked_ns {
            self.asked_ns = deadline_ns;
            queue.push(deadline_ns, source);
        }
    }

    #[inline]
    pub(crate) fn clear(&mut self) {
        self.deadline_ns = NEVER;
    }

    /// Called for each event of the timer's source, after it was popped: whether the timer expires now.
    pub(crate) fn fires(&mut self, now_ns: u64, source: Source, queue: &mut EventQueue) -> bool {
        if now_ns != self.asked_ns {
            return false; // superseded by an earlier deadline
        }
        self.asked_ns = NEVER;
        if self.deadline_ns > now_ns {
            if self.deadline_ns != NEVER {
                self.set(self.deadline_ns, source, queue);
            }
            return false;
        }
        self.deadline_ns = NEVER;
        true
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

    /// Random pushes, pops and replacements, near, far and beyond the circle of the wheel.
    #[test]
    fn a_wheel_hands_out_what_a_heap_does() {
        for seed in 0..50 {
            let (mut heap, mut wheel) = (EventQueue::heap(), EventQueue::wheel());
            let mut state: u64 = seed;
            let mut next = |below: u64| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 33) % below
            };
            let mut now = 0;
            for _ in 0..20_000 {
                assert_eq!(heap.peek(), wheel.peek());
                let spans = [1, 100, 10_000, 524_288, 3_000_000, 1 << 30];
                let span = spans[next(spans.len() as u64) as usize];
                let time = now + next(span);
                let source = next(1000) as Source;
                match (heap.peek(), next(5)) {
                    (Some((at, _)), 0 | 1) => {
                        now = at;
                        heap.pop();
                        wheel.pop();
                    }
                    (Some((at, source)), 2) => {
                        now = at;
                        let time = time.max(at);
                        heap.replace_top(time, source);
                        wheel.replace_top(time, source);
                    }
                    _ => {
                        heap.push(time, source);
                        wheel.push(time, source);
                    }
                }
            }
            while let Some(event) = heap.peek() {
                assert_eq!(wheel.peek(), Some(event));
                heap.pop();
                wheel.pop();
            }
            assert_eq!(wheel.peek(), None);
        }
    }

    #[test]
    fn a_timer_moved_later_fires_once_at_its_deadline() {
        let mut queue = EventQueue::heap();
        let mut timer = LazyTimer::new();
        timer.set(10, 0, &mut queue);
        timer.set(30, 0, &mut queue);
        timer.set(20, 0, &mut queue);
        let mut fired = vec![];
        while let Some((time, source)) = queue.peek() {
            queue.pop();
            if timer.fires(time, source, &mut queue) {
                fired.push(time);
            }
        }
        assert_eq!(fired, [20]);
    }

    #[test]
    fn a_timer_moved_earlier_fires_early_and_not_again() {
        let mut queue = EventQueue::heap();
        let mut timer = LazyTimer::new();
        timer.set(30, 0, &mut queue);
        timer.set(10, 0, &mut queue);
        let mut fired = vec![];
        while let Some((time, source)) = queue.peek() {
            queue.pop();
            if timer.fires(time, source, &mut queue) {
                fired.push(time);
            }
        }
        assert_eq!(fired, [10]);
    }
}
