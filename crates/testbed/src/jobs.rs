//! Which tests of a binary run at the same time.

use std::collections::BTreeSet;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::needs::{Need, flat};
use crate::turn::Mode;

/// What a test shares with the tests beside it. Classes start in this order: the tests of a queue
/// take longest, and a test that must be alone stops all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    /// The test changes state that all namespaces share, so these tests form a queue.
    MachineState,
    /// The test compares rates, which others of its kind would change, so these form a queue too.
    Rates,
    /// The test has its own namespaces.
    Beside,
    /// No other test may run.
    Alone,
}

impl Class {
    pub(crate) fn of(needs: &[Need]) -> Self {
        let needs = flat(needs);
        let has = |need| needs.contains(&need);
        if has(Need::Alone) || has(Need::QuietClock) {
            Class::Alone
        } else if has(Need::MachineState) {
            Class::MachineState
        } else if has(Need::Rates) {
            Class::Rates
        } else {
            Class::Beside
        }
    }

    /// How the test shares the machine with tests of other binaries.
    pub(crate) fn mode(self) -> Mode {
        match self {
            Class::Alone => Mode::Alone,
            Class::MachineState | Class::Rates | Class::Beside => Mode::Shared,
        }
    }
}

/// Admits tests to a number of jobs.
#[derive(Debug)]
pub(crate) struct Jobs {
    limit: usize,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// By class, then by number.
    waiting: BTreeSet<(Class, usize)>,
    running: Vec<Class>,
}

/// While it lives, its test runs.
#[must_use]
#[derive(Debug)]
pub(crate) struct Job<'a> {
    jobs: &'a Jobs,
    class: Class,
}

impl Jobs {
    /// At most `limit` tests at once, at least one.
    pub(crate) fn new(limit: usize) -> Self {
        Jobs {
            limit: limit.max(1),
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// Waits until the test may run. Each test has its own number.
    pub(crate) fn admit(&self, class: Class, number: usize) -> Job<'_> {
        let mut state = self.state();
        state.waiting.insert((class, number));
        while state.next(self.limit) != Some((class, number)) {
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        state.waiting.remove(&(class, number));
        state.running.push(class);
        // The next one may fit as well.
        self.changed.notify_all();
        Job { jobs: self, class }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The waiting test that runs next; `None` if none fits beside those that run.
    fn next(&self, limit: usize) -> Option<(Class, usize)> {
        let fits = |class: Class| {
            let runs = |class| self.running.contains(&class);
            let excluded = match class {
                Class::MachineState | Class::Rates => runs(class),
                Class::Beside => false,
                Class::Alone => !self.running.is_empty(),
            };
            self.running.len() < limit && !runs(Class::Alone) && !excluded
        };
        self.waiting.iter().copied().find(|&(class, _)| fits(class))
    }
}

impl Drop for Job<'_> {
    fn drop(&mut self) {
        let mut state = self.jobs.state();
        let place = state.running.iter().position(|&class| class == self.class);
        state.running.swap_remove(place.expect("it runs"));
        self.jobs.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::needs::{ALONE, LAB, MACHINE_STATE, NET, QUIET_CLOCK, RATES};

    fn state(waiting: &[(Class, usize)], running: &[Class]) -> State {
        State {
            waiting: waiting.iter().copied().collect(),
            running: running.to_vec(),
        }
    }

    const WAITING: [(Class, usize); 4] = [
        (Class::Alone, 0),
        (Class::Beside, 1),
        (Class::MachineState, 2),
        (Class::MachineState, 3),
    ];

    #[test]
    fn needs_decide_which_tests_run_beside_a_test() {
        assert_eq!(Class::of(&[]), Class::Beside);
        assert_eq!(Class::of(&[LAB]), Class::Beside);
        assert_eq!(Class::of(&[NET, MACHINE_STATE]), Class::MachineState);
        assert_eq!(Class::of(&[LAB, RATES]), Class::Rates);
        assert_eq!(Class::of(&[LAB, QUIET_CLOCK]), Class::Alone);
        assert_eq!(Class::of(&[MACHINE_STATE, ALONE]), Class::Alone);
    }

    #[test]
    fn the_queue_starts_first_and_a_test_that_must_be_alone_last() {
        assert_eq!(state(&WAITING, &[]).next(2), Some((Class::MachineState, 2)));
        let queue_runs = state(&WAITING, &[Class::MachineState]);
        assert_eq!(queue_runs.next(2), Some((Class::Beside, 1)));
        let alone = state(&WAITING[..1], &[]);
        assert_eq!(alone.next(2), Some((Class::Alone, 0)));
    }

    #[test]
    fn a_test_waits_for_a_free_job_its_queue_and_the_test_that_must_be_alone() {
        for (waiting, running, limit) in [
            (&WAITING[..], &[Class::Beside, Class::Beside][..], 2),
            (&WAITING[2..], &[Class::MachineState], 2),
            (&[(Class::Rates, 4)], &[Class::Rates], 2),
            (&WAITING, &[Class::Alone], 2),
            (&WAITING[..1], &[Class::Beside], 2),
        ] {
            assert_eq!(state(waiting, running).next(limit), None, "{running:?}");
        }
    }

    #[test]
    fn every_test_is_admitted_and_never_more_than_the_limit() {
        let jobs = Jobs::new(3);
        let most = Mutex::new(0);
        std::thread::scope(|scope| {
            for number in 0..60 {
                let class = [Class::Beside, Class::MachineState, Class::Alone][number % 3];
                let (jobs, most) = (&jobs, &most);
                scope.spawn(move || {
                    let _job = jobs.admit(class, number);
                    let running = jobs.state().running.clone();
                    assert!(class != Class::Alone || running == [Class::Alone]);
                    let mut most = most.lock().expect("no thread panics");
                    *most = running.len().max(*most);
                });
            }
        });
        assert!((1..=3).contains(&*most.lock().expect("no thread panics")));
        assert!(jobs.state().running.is_empty() && jobs.state().waiting.is_empty());
    }
}
