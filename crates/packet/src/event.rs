//! The event queue: the next event of each source, in a 4-ary heap, with a timing wheel behind it where the network is large.
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

/// Links from which on a wheel pays.
const LARGE: usize = 256;

/// Pending events, earliest first: a heap, and in large networks a timing wheel behind it that feeds the heap bucket by bucket. What
/// comes out is the same with and without the wheel.
pub(crate) struct EventQueue {
    /// What is due next.
    due: Heap,
    /// Keys from here on wait in the wheel.
    later: u64,
    wheel: Option<Box<Wheel>>,
}

impl Default for EventQueue {
    fn default() -> Self {
        EventQueue { due: Heap::default(), later: NOBODY, wheel: None }
    }
}

#[inline]
fn key(time_ns: u64, source: Source) -> u64 {
    debug_assert!(time_ns <= MAX_TIME_NS && (source as usize) < MAX_SOURCES);
    (time_ns << SOURCE_BITS) | u64::from(source)
}

impl EventQueue {
    /// For a network of so many links: a heap of a few hundred keys is faster than a wheel, and a wheel than a heap of thousands.
    pub(crate) fn for_links(links: usize) -> Self {
        if links < LARGE { Self::default() } else { Self::with_wheel() }
    }

    fn with_wheel() -> Self {
        let wheel = Wheel::new();
        EventQueue { due: Heap::default(), later: wheel.begin(), wheel: Some(Box::new(wheel)) }
    }

    /// Time and source of the earliest event.
    #[inline]
    pub(crate) fn peek(&self) -> Option<(u64, Source)> {
        let key = self.due.least();
        (key != NOBODY).then_some((key >> SOURCE_BITS, (key & (MAX_SOURCES as u64 - 1)) as Source))
    }

    #[inline]
    pub(crate) fn push(&mut self, time_ns: u64, source: Source) {
        let key = key(time_ns, source);
        if key < self.later {
            self.due.push(key);
        } else {
            self.push_later(key);
        }
    }

    /// Removes the earliest event.
    #[inline]
    pub(crate) fn pop(&mut self) {
        self.due.pop();
        if self.due.is_empty() {
            self.turn();
        }
    }

    /// Replaces the earliest event by a later one of the same source: half the work of pop and push.
    #[inline]
    pub(crate) fn replace_top(&mut self, time_ns: u64, source: Source) {
        let key = key(time_ns, source);
        if key < self.later {
            self.due.replace_least(key);
        } else {
            self.due.pop();
            self.push_later(key);
        }
    }

    /// The heap is never empty while the wheel is not.
    fn push_later(&mut self, key: u64) {
        let Some(wheel) = &mut self.wheel else { unreachable!("no key is as large as NOBODY") };
        wheel.insert(key);
        if self.due.is_empty() {
            self.turn();
        }
    }

    fn turn(&mut self) {
        if let Some(wheel) = &mut self.wheel {
            wheel.hand_over(&mut self.due);
            self.later = wheel.begin();
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
        let mut queue = EventQueue::default();
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
        let mut queue = EventQueue::default();
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
            let (mut heap, mut wheel) = (EventQueue::default(), EventQueue::with_wheel());
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
        let mut queue = EventQueue::default();
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
        let mut queue = EventQueue::default();
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
