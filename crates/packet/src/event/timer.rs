//! Timers that push as few events as possible.

use super::key::{MAX_TIME_NS, Source};
use super::queue::EventQueue;

/// A timer whose deadline moves far more often than it expires. Moving it later costs one store.
#[derive(Clone, Copy)]
pub(crate) struct LazyTimer {
    deadline_ns: u64,
    /// When the pending event comes; `NEVER` if none is pending.
    asked_ns: u64,
}

const NEVER: u64 = u64::MAX;

impl LazyTimer {
    pub(crate) const fn new() -> Self {
        LazyTimer {
            deadline_ns: NEVER,
            asked_ns: NEVER,
        }
    }

    pub(crate) fn is_set(&self) -> bool {
        self.deadline_ns != NEVER
    }

    /// When it expires, ns; `None` if it is not set.
    pub(crate) fn deadline_ns(&self) -> Option<u64> {
        self.is_set().then_some(self.deadline_ns)
    }

    /// Time until it expires, ns; `None` if it is not set.
    pub(crate) fn left_ns(&self, now_ns: u64) -> Option<u64> {
        self.is_set()
            .then(|| self.deadline_ns.saturating_sub(now_ns))
    }

    #[inline]
    pub(crate) fn set(&mut self, deadline_ns: u64, source: Source, queue: &mut EventQueue) {
        if self.moves_to(deadline_ns) {
            queue.push(deadline_ns, source);
        }
    }

    /// Moves the deadline. Returns true if the pending event comes too late, so that the caller
    /// must push another.
    #[inline(always)]
    pub(crate) fn moves_to(&mut self, deadline_ns: u64) -> bool {
        self.deadline_ns = deadline_ns;
        let comes_late = deadline_ns < self.asked_ns;
        if comes_late {
            self.asked_ns = deadline_ns;
        }
        comes_late
    }

    #[inline]
    pub(crate) fn clear(&mut self) {
        self.deadline_ns = NEVER;
    }

    /// If the earliest event, due now, is the timer's, and the deadline is later: moves the event
    /// to the deadline and returns true. This is half the work of a pop and a push.
    #[inline(always)]
    pub(crate) fn is_put_off(
        &mut self,
        now_ns: u64,
        source: Source,
        queue: &mut EventQueue,
    ) -> bool {
        let is_early =
            self.asked_ns == now_ns && (now_ns + 1..=MAX_TIME_NS).contains(&self.deadline_ns);
        if is_early {
            self.asked_ns = self.deadline_ns;
            queue.replace_top(self.deadline_ns, source);
        }
        is_early
    }

    /// Call for each event of the timer's source, after the pop. Returns whether the timer expires
    /// now.
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
    fn an_early_event_is_moved_to_the_deadline_once() {
        let mut queue = EventQueue::heap();
        let mut timer = LazyTimer::new();
        timer.set(10, 0, &mut queue);
        assert!(!timer.is_put_off(10, 0, &mut queue));
        timer.set(30, 0, &mut queue);
        assert!(timer.is_put_off(10, 0, &mut queue));
        assert_eq!(queue.peek(), Some((30, 0)));
        assert!(!timer.is_put_off(30, 0, &mut queue));
        queue.pop();
        assert!(timer.fires(30, 0, &mut queue));
        assert_eq!(queue.peek(), None);
    }

    /// A timer that is not set, or whose deadline is after the end of the longest run, loses its
    /// event.
    #[test]
    fn an_event_without_a_deadline_is_not_moved() {
        let mut queue = EventQueue::heap();
        let mut timer = LazyTimer::new();
        timer.set(10, 0, &mut queue);
        timer.set(MAX_TIME_NS + 1, 0, &mut queue);
        assert!(!timer.is_put_off(10, 0, &mut queue));
        timer.clear();
        assert!(!timer.is_put_off(10, 0, &mut queue));
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
