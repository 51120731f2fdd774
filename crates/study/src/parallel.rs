//! Runs many independent tasks on all cores.
//!
//! Threads take tasks in the order of the list, and results are returned in that order, so they do
//! not depend on the number of threads. A task that fails or panics affects no other task.

use std::any::Any;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use joulepath_model::cancel::Cancel;

/// Number of threads: `jobs`, or the number of cores.
pub fn cores(jobs: Option<NonZeroUsize>) -> NonZeroUsize {
    jobs.or_else(|| thread::available_parallelism().ok())
        .unwrap_or(NonZeroUsize::MIN)
}

/// Messages of each thread that may be queued; a thread with a full queue waits. Without a bound,
/// short tasks would pile up during a file write and a cancellation would have no effect.
const MOST_NEWS: usize = 4;

/// Message of a thread about its task.
pub(crate) enum News<M, R> {
    /// Progress of the task.
    Message(M),
    /// The task is done; an error if it panicked.
    Done(Result<R, String>),
}

/// Does the tasks on `threads` threads until all are done or `cancel` is set; then starts no more.
///
/// `work` sends messages through its second argument. `on_news` receives them and each result as it
/// arrives, in any order. Returns the results in the order of the tasks.
pub(crate) fn run<T: Sync, M: Send, R: Send>(
    tasks: &[T],
    threads: NonZeroUsize,
    cancel: &Cancel,
    work: impl Fn(&T, &dyn Fn(M)) -> R + Sync,
    mut on_news: impl FnMut(usize, &News<M, R>),
) -> Vec<(usize, Result<R, String>)> {
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::sync_channel(MOST_NEWS * threads.get());
    let take = |sender: mpsc::SyncSender<(usize, News<M, R>)>| {
        while !cancel.is_set() {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(task) = tasks.get(index) else { break };
            // The receiver outlives the threads.
            let say = |message| drop(sender.send((index, News::Message(message))));
            let outcome = catch_unwind(AssertUnwindSafe(|| work(task, &say)));
            let _ = sender.send((index, News::Done(outcome.map_err(|panic| said(&*panic)))));
        }
    };
    let mut done: Vec<(usize, Result<R, String>)> = Vec::with_capacity(tasks.len());
    thread::scope(|scope| {
        for _ in 0..threads.get().min(tasks.len()) {
            let sender = sender.clone();
            scope.spawn(|| take(sender));
        }
        drop(sender);
        for (index, news) in receiver {
            on_news(index, &news);
            if let News::Done(outcome) = news {
                done.push((index, outcome));
            }
        }
    });
    done.sort_by_key(|(index, _)| *index);
    done
}

/// The message of a panic. The panic hook has already written it to stderr with its place.
pub(crate) fn said(panic: &(dyn Any + Send)) -> String {
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied());
    format!(
        "a defect of Joulepath: {}; please report it with the command line",
        text.unwrap_or("panic")
    )
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn threads(n: usize) -> NonZeroUsize {
        NonZeroUsize::new(n).unwrap()
    }

    #[test]
    fn results_keep_the_order_of_the_tasks_on_any_number_of_threads() {
        let tasks: Vec<u64> = (0..12).collect();
        // Earlier tasks take longer.
        let work = |task: &u64, _: &dyn Fn(())| {
            thread::sleep(Duration::from_millis(12 - task));
            task * task
        };
        let all = |n| run(&tasks, threads(n), &Cancel::new(), work, |_, _| {});
        let squares: Vec<(usize, Result<u64, String>)> = tasks
            .iter()
            .map(|&task| (task as usize, Ok(task * task)))
            .collect();
        assert_eq!((all(1), all(4)), (squares.clone(), squares));
    }

    #[test]
    fn a_panicking_task_does_not_affect_others() {
        let work = |task: &u64, _: &dyn Fn(())| match task {
            2 => panic!("{task} is unlucky"),
            task => *task,
        };
        let done = run(&[1, 2, 3], threads(2), &Cancel::new(), work, |_, _| {});
        assert_eq!((&done[0], &done[2]), (&(0, Ok(1)), &(2, Ok(3))));
        assert!(done[1].1.as_ref().unwrap_err().contains("2 is unlucky"));
    }

    #[test]
    fn a_cancellation_starts_no_task_and_returns_the_finished_ones() {
        let cancel = Cancel::new();
        let work = |task: &u64, _: &dyn Fn(())| {
            if *task == 3 {
                cancel.set();
            }
            *task
        };
        let mut seen = 0;
        let done = run(&[1, 2, 3, 4, 5], threads(1), &cancel, work, |_, _| {
            seen += 1
        });
        assert_eq!(done, [(0, Ok(1)), (1, Ok(2)), (2, Ok(3))]);
        assert_eq!(seen, 3);
    }

    #[test]
    fn messages_arrive_before_the_end() {
        let work = |_: &u64, say: &dyn Fn(&'static str)| say("half");
        let mut heard = vec![];
        run(&[7], threads(1), &Cancel::new(), work, |index, news| {
            heard.push(match news {
                News::Message(message) => (index, *message),
                News::Done(_) => (index, "done"),
            });
        });
        assert_eq!(heard, [(0, "half"), (0, "done")]);
    }
}
