//! Long work: it runs in a separate thread, the interpreter stays free, and the calling thread
//! handles signals and reports progress.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use joulepath_model::cancel::Cancel;
use joulepath_study::error::Error;
use joulepath_study::event::{Event, FailedRun, Watch};
use pyo3::prelude::*;

use crate::hosted::{interrupt, is_running};
use crate::raised::{defect, raised, usage};

/// Poll interval for Ctrl-C.
const PATIENCE: Duration = Duration::from_millis(50);

/// The value, and the exception that ended the work early, if any.
pub(crate) struct Watched<T> {
    pub(crate) value: T,
    pub(crate) stopped: Option<PyErr>,
}

/// Messages of the worker thread.
enum News {
    Begin(usize),
    Step,
    Note(String),
}

/// Does short work with the interpreter free. A panic becomes an exception.
pub(crate) fn guarded<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, Error> + Send,
) -> PyResult<T> {
    match py.detach(|| catch_unwind(AssertUnwindSafe(work))) {
        Ok(outcome) => outcome.map_err(|error| raised(py, &error)),
        Err(panic) => Err(defect(py, &*panic)),
    }
}

/// Does `work` on another thread. `progress` is called with runs done, total runs, and a note or
/// None. If a signal handler or `progress` raises an exception, the work is cancelled and its value
/// returned with the exception.
pub(crate) fn watched<T: Send>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(Watch<'_>, &Cancel) -> Result<T, Error> + Send,
) -> PyResult<Watched<T>> {
    if is_running() {
        let help = "run it earlier, and store its numbers in the object";
        return Err(usage(
            py,
            "a hook cannot run anything: its own run waits for it",
            Some(help),
        ));
    }
    let cancel = Cancel::new();
    let (sender, mut receiver) = mpsc::channel();
    thread::scope(|scope| {
        let token = cancel.clone();
        let worker = scope.spawn(move || {
            // The receiver outlives the thread.
            let mut hear = |event: Event<'_>| {
                news(event)
                    .into_iter()
                    .for_each(|news| drop(sender.send(news)))
            };
            work(&mut hear, &token)
        });
        let mut told = Told {
            progress,
            done: 0,
            runs: 0,
        };
        let mut stopped: Option<PyErr> = None;
        loop {
            let waiting = &mut receiver;
            let first = py.detach(move || waiting.recv_timeout(PATIENCE));
            let over = matches!(first, Err(RecvTimeoutError::Disconnected));
            if stopped.is_some() && matches!(first, Err(RecvTimeoutError::Timeout)) {
                interrupt(py);
            }
            let all: Vec<News> = first.into_iter().chain(receiver.try_iter()).collect();
            if stopped.is_none() {
                stopped = told.tell(all).and_then(|()| py.check_signals()).err();
                if stopped.is_some() {
                    cancel.set();
                }
            }
            if over {
                break;
            }
        }
        match py.detach(|| worker.join()) {
            Ok(Ok(value)) => Ok(Watched { value, stopped }),
            Ok(Err(error)) => Err(stopped.unwrap_or_else(|| raised(py, &error))),
            Err(panic) => Err(defect(py, &*panic)),
        }
    })
}

fn news(event: Event<'_>) -> Option<News> {
    let in_words = |failed: &FailedRun| {
        let FailedRun {
            scenario,
            policy,
            engine,
            seed,
            error,
        } = failed;
        format!("{scenario}, `{policy}`, {engine} engine, seed {seed}: {error}")
    };
    match event {
        Event::Begin { runs, .. } => Some(News::Begin(runs)),
        // Failed runs are part of the result.
        Event::Finished(_) | Event::Step | Event::Failed(_) => Some(News::Step),
        Event::Again(failed) => Some(News::Note(format!(
            "{}; it is tried again",
            in_words(failed)
        ))),
        Event::Note(note) => Some(News::Note(note)),
    }
}

/// Progress reported so far.
struct Told<'a, 'py> {
    progress: Option<&'a Bound<'py, PyAny>>,
    done: usize,
    runs: usize,
}

impl Told<'_, '_> {
    /// Reports all news: each note, and the number of finished runs.
    fn tell(&mut self, all: Vec<News>) -> PyResult<()> {
        let Some(progress) = self.progress else {
            return Ok(());
        };
        let is_new = !all.is_empty();
        for news in all {
            match news {
                News::Begin(runs) => (self.done, self.runs) = (0, runs),
                News::Step => self.done += 1,
                News::Note(note) => drop(progress.call1((self.done, self.runs, note))?),
            }
        }
        if is_new {
            progress.call1((self.done, self.runs, None::<&str>))?;
        }
        Ok(())
    }
}
