//! Many independent runs on all cores.
//!
//! Threads take runs in the order of the list; results are put back into that order: they do not depend on the number of
//! threads. A run that fails or panics takes no other run with it.

use std::any::Any;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use joulepath_model::result::RunResult;

/// One run that has to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Task {
    /// Index of the policy.
    pub(crate) policy: usize,
    /// Seed.
    pub(crate) seed: u64,
    /// Whether time series are recorded.
    pub(crate) series: bool,
}

/// What became of a run, or why it failed.
pub(crate) type Outcome = Result<RunResult, String>;

/// How many threads: as asked for, or as many as there are cores.
pub(crate) fn cores(jobs: Option<NonZeroUsize>) -> NonZeroUsize {
    jobs.or_else(|| thread::available_parallelism().ok()).unwrap_or(NonZeroUsize::MIN)
}

/// Every run of a study: all policies on the first seed, then all on the next, so that an interrupted study has compared like
/// with like. Series are recorded for the first seed, if at all.
pub(crate) fn tasks(policies: usize, seeds: &[u64], series: bool) -> Vec<Task> {
    let of_seed = |(index, &seed): (usize, &u64)| {
        (0..policies).map(move |policy| Task { policy, seed, series: series && index == 0 })
    };
    seeds.iter().enumerate().flat_map(of_seed).collect()
}

/// Does the tasks on `threads` threads until all are done or `stop` is set; then those under way are finished.
///
/// `on_done` sees each outcome as it comes, in no particular order. Returned is what was done, in the order of the tasks.
pub(crate) fn run<T: Copy + Sync, R: Send>(
    tasks: &[T],
    threads: NonZeroUsize,
    stop: &AtomicBool,
    work: impl Fn(&T) -> Result<R, String> + Sync,
    mut on_done: impl FnMut(&T, &Result<R, String>),
) -> Vec<(T, Result<R, String>)> {
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::channel();
    let take = |sender: mpsc::Sender<(usize, Result<R, String>)>| {
        while !stop.load(Ordering::SeqCst) {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(task) = tasks.get(index) else { break };
            let outcome =
                catch_unwind(AssertUnwindSafe(|| work(task))).unwrap_or_else(|panic| Err(said(&*panic)));
            // The receiver outlives the threads.
            let _ = sender.send((index, outcome));
        }
    };
    let mut done: Vec<(usize, Result<R, String>)> = Vec::with_capacity(tasks.len());
    thread::scope(|scope| {
        for _ in 0..threads.get().min(tasks.len()) {
            let sender = sender.clone();
            scope.spawn(|| take(sender));
        }
        drop(sender);
        for (index, outcome) in receiver {
            on_done(&tasks[index], &outcome);
            done.push((index, outcome));
        }
    });
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(index, outcome)| (tasks[index], outcome)).collect()
}

/// The message of a panic, which has stood on stderr with its place already.
fn said(panic: &(dyn Any + Send)) -> String {
    let text =
        panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    format!("a defect of Joulepath: {}; please report it with the command line", text.unwrap_or("panic"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(task: &Task) -> RunResult {
        RunResult { policy: task.policy.to_string(), seed: task.seed, ..RunResult::default() }
    }

    fn threads(n: usize) -> NonZeroUsize {
        NonZeroUsize::new(n).unwrap()
    }

    #[test]
    fn results_stand_in_the_order_of_the_tasks_on_any_number_of_threads() {
        let tasks = tasks(3, &[1, 2, 3, 4], false);
        // Earlier tasks take longer.
        let work = |task: &Task| {
            thread::sleep(std::time::Duration::from_millis(5 - task.seed));
            Ok(result(task))
        };
        let all = |n| run(&tasks, threads(n), &AtomicBool::new(false), work, |_, _| {});
        let alone = all(1);
        assert_eq!(alone.iter().map(|(task, _)| *task).collect::<Vec<_>>(), tasks);
        assert_eq!(alone, all(4));
    }

    #[test]
    fn every_policy_gets_the_same_seeds_in_turn_and_series_only_of_the_first() {
        let task = |policy, seed, series| Task { policy, seed, series };
        assert_eq!(
            tasks(2, &[7, 8], true),
            [task(0, 7, true), task(1, 7, true), task(0, 8, false), task(1, 8, false)]
        );
    }

    #[test]
    fn a_run_that_panics_does_not_take_the_others_with_it() {
        let work = |task: &Task| match task.seed {
            2 => panic!("seed {} is unlucky", task.seed),
            3 => Err("no such thing".to_owned()),
            _ => Ok(result(task)),
        };
        let done = run(&tasks(1, &[1, 2, 3, 4], false), threads(2), &AtomicBool::new(false), work, |_, _| {});
        let outcomes: Vec<_> = done.into_iter().map(|(_, outcome)| outcome.map(|run| run.seed)).collect();
        assert_eq!((&outcomes[0], &outcomes[3]), (&Ok(1), &Ok(4)));
        assert!(outcomes[1].as_ref().unwrap_err().contains("seed 2 is unlucky"));
        assert_eq!(outcomes[2], Err("no such thing".to_owned()));
    }

    #[test]
    fn what_has_begun_is_finished_after_a_stop_and_nothing_else_begins() {
        let stop = AtomicBool::new(false);
        let work = |task: &Task| {
            stop.store(task.seed == 3, Ordering::SeqCst);
            Ok(result(task))
        };
        let mut seen = 0;
        let done = run(&tasks(1, &[1, 2, 3, 4, 5], false), threads(1), &stop, work, |_, _| seen += 1);
        assert_eq!(done.iter().map(|(task, _)| task.seed).collect::<Vec<_>>(), [1, 2, 3]);
        assert_eq!(seen, 3);
    }
}
