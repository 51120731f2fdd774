//! A barrier for the threads of a run.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering, fence};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;

use crossbeam_utils::{Backoff, CachePadded};

/// Number of spins before a thread yields its core: a few microseconds.
const LOOKS: u32 = 400;

/// A barrier for windows of about ten microseconds: a waiting thread spins for a few microseconds,
/// then yields, and soon sleeps.
pub(super) struct Barrier {
    threads: u32,
    arrived: CachePadded<AtomicU32>,
    /// Number of completed rounds.
    round: CachePadded<AtomicU32>,
    /// A thread has panicked and will not arrive.
    broken: AtomicBool,
    /// Number of threads that sleep or are about to.
    asleep: AtomicU32,
    bed: Mutex<()>,
    wake: Condvar,
}

impl Barrier {
    pub(super) fn new(threads: usize) -> Self {
        Barrier {
            threads: u32::try_from(threads).expect("there are at most 255 parts"),
            arrived: CachePadded::default(),
            round: CachePadded::default(),
            broken: AtomicBool::new(false),
            asleep: AtomicU32::new(0),
            bed: Mutex::new(()),
            wake: Condvar::new(),
        }
    }

    /// Waits until all threads have arrived. Their earlier writes are visible afterwards. Returns
    /// false if a thread has panicked.
    pub(super) fn wait(&self) -> bool {
        let round = self.round.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.arrived.store(0, Ordering::Relaxed);
            self.round.store(round.wrapping_add(1), Ordering::Release);
            self.wake();
            return !self.is_broken();
        }
        self.wait_for(|| self.round.load(Ordering::Acquire) != round)
    }

    /// Waits until `is_over` returns true; the thread that causes it calls [`Self::wake`]. Returns
    /// false if a thread has panicked.
    pub(super) fn wait_for(&self, is_over: impl Fn() -> bool) -> bool {
        self.wait_until(|| is_over() || self.is_broken());
        !self.is_broken()
    }

    fn wait_until(&self, is_over: impl Fn() -> bool) {
        for _ in 0..LOOKS {
            if is_over() {
                return;
            }
            std::hint::spin_loop();
        }
        let backoff = Backoff::new();
        while !backoff.is_completed() {
            if is_over() {
                return;
            }
            backoff.snooze();
        }
        let mut bed = self.bed.lock().unwrap_or_else(PoisonError::into_inner);
        self.asleep.fetch_add(1, Ordering::Relaxed);
        // Either the last check sees the other thread's write, or that thread sees this sleeper.
        fence(Ordering::SeqCst);
        while !is_over() {
            bed = self.wake.wait(bed).unwrap_or_else(PoisonError::into_inner);
        }
        self.asleep.fetch_sub(1, Ordering::Relaxed);
    }

    /// Makes waiting threads check again, after a write that they wait for.
    pub(super) fn wake(&self) {
        fence(Ordering::SeqCst);
        if self.asleep.load(Ordering::Relaxed) > 0 {
            // A thread that is about to sleep holds the lock until it sleeps.
            drop(self.bed.lock().unwrap_or_else(PoisonError::into_inner));
            self.wake.notify_all();
        }
    }

    fn is_broken(&self) -> bool {
        self.broken.load(Ordering::Acquire)
    }
}

/// Breaks the barrier if its thread panics, so that the others stop waiting.
pub(super) struct BreakIfPanicking<'a>(pub(super) &'a Barrier);

impl Drop for BreakIfPanicking<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.broken.store(true, Ordering::Release);
            self.0.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::time::Duration;

    use super::*;

    /// Each thread increments its own number and reads the others', which must be equal.
    #[test]
    fn no_thread_is_ahead_of_the_others() {
        for threads in [1, 2, 5] {
            let barrier = Barrier::new(threads);
            let rounds: Vec<AtomicU32> = (0..threads).map(|_| AtomicU32::new(0)).collect();
            let work = |me: usize| {
                for round in 1..=300 {
                    rounds[me].store(round, Ordering::Relaxed);
                    // Sometimes a thread is late, so that the others fall asleep.
                    if round % 100 == 50 + me as u32 {
                        thread::sleep(Duration::from_millis(3));
                    }
                    assert!(barrier.wait());
                    assert!(
                        rounds
                            .iter()
                            .all(|other| other.load(Ordering::Relaxed) == round)
                    );
                    assert!(barrier.wait());
                }
            };
            thread::scope(|scope| (0..threads).for_each(|me| drop(scope.spawn(move || work(me)))));
        }
    }

    #[test]
    fn a_thread_that_panics_does_not_leave_the_others_waiting() {
        let barrier = Barrier::new(3);
        let waiting = || !barrier.wait();
        let broken = thread::scope(|scope| {
            let waiting = [scope.spawn(waiting), scope.spawn(waiting)];
            thread::sleep(Duration::from_millis(5));
            let panicking = || {
                let _guard = BreakIfPanicking(&barrier);
                panic!("deliberate panic of this test");
            };
            assert!(catch_unwind(AssertUnwindSafe(panicking)).is_err());
            waiting.map(|thread| thread.join().unwrap())
        });
        assert_eq!(broken, [true, true]);
    }
}
