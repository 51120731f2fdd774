//! Pending events in the order of their time.

use super::heap::Heap;
use super::key::{MAX_TIME_NS, NO_KEY, Source, key, parts};
use super::wheel::Wheel;

/// With at least this many links a wheel is faster than a heap.
const LARGE: usize = 256;

/// Pending events, the earliest first. Both kinds hand out the same sequence.
pub(crate) enum EventQueue {
    /// For hundreds of sources.
    Heap(Heap),
    /// For thousands of sources.
    Wheel(Box<Wheel>),
}

impl EventQueue {
    /// An empty queue for a network of `links` links.
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
        (key != NO_KEY).then(|| parts(key))
    }

    /// Adds an event. One that would come after the end of the longest run is left out.
    #[inline]
    pub(crate) fn push(&mut self, time_ns: u64, source: Source) {
        if time_ns > MAX_TIME_NS {
            return;
        }
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

    /// Replaces the earliest event by a later one of the same source. This is half the work of a pop and a
    /// push.
    #[inline]
    pub(crate) fn replace_top(&mut self, time_ns: u64, source: Source) {
        let key = key(time_ns, source);
        match self {
            EventQueue::Heap(heap) => heap.replace_least(key),
            EventQueue::Wheel(wheel) => wheel.replace_least(key),
        }
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
        for mut queue in [EventQueue::heap(), EventQueue::wheel()] {
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
}
