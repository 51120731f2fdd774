//! An engine that also runs policies with parts in Python, one such run at a time on one core.
//! Other runs use the other cores meanwhile.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use joulepath_control::Setup;
use joulepath_controllers::Controller;
use joulepath_model::cancel::Cancel;
use joulepath_model::result::RunResult;
use joulepath_model::scenario::Scenario;
use joulepath_study::engine::{Engine, RunError, Task};
use joulepath_study::error::Result;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::ffi;
use pyo3::prelude::*;

use super::ledger::{self, Outcome};

/// Only one thread executes Python at a time: concurrent runs would wait for each other at every
/// call.
static TURN: Mutex<()> = Mutex::new(());

/// The thread whose run may be in a hook; 0 if there is none.
static RUNNING: AtomicU64 = AtomicU64::new(0);

/// Raises KeyboardInterrupt in the running hook, if any: the hook might never return.
pub(crate) fn interrupt(py: Python<'_>) {
    let thread = RUNNING.load(Ordering::SeqCst);
    if thread != 0 {
        let exception = py.get_type::<PyKeyboardInterrupt>();
        // SAFETY: this thread holds the interpreter; an unknown thread id has no effect.
        unsafe { ffi::PyThreadState_SetAsyncExc(thread as _, exception.as_ptr()) };
    }
}

/// Records this thread as the running one during `run`.
fn announced<R>(py: Python<'_>, run: impl FnOnce() -> R + Send) -> R
where
    R: Send,
{
    let thread = || -> PyResult<u64> {
        py.import("threading")?
            .getattr("get_ident")?
            .call0()?
            .extract()
    };
    RUNNING.store(thread().unwrap_or(0), Ordering::SeqCst);
    let result = py.detach(run);
    RUNNING.store(0, Ordering::SeqCst);
    result
}

/// Cost of a run with parts in Python, and its end.
pub(crate) struct Entry {
    pub(crate) policy: String,
    pub(crate) seed: u64,
    pub(crate) calls: u64,
    pub(crate) in_python: Duration,
    pub(crate) took: Duration,
    /// The exception that ended it.
    pub(crate) error: Option<PyErr>,
}

/// The entries of all runs, in the order of their ends.
pub(crate) type Ledger = Arc<Mutex<Vec<Entry>>>;

/// An engine that keeps a ledger.
pub(crate) struct Hosting {
    inner: Box<dyn Engine>,
    ledger: Ledger,
}

impl Hosting {
    pub(crate) fn of(inner: Box<dyn Engine>) -> Self {
        Hosting {
            inner,
            ledger: Ledger::default(),
        }
    }

    pub(crate) fn ledger(&self) -> Ledger {
        Arc::clone(&self.ledger)
    }

    fn note(&self, setup: &Setup, seed: u64, took: Duration, outcome: Outcome) -> Option<RunError> {
        let (why, error) = outcome.error.unzip();
        let (policy, calls, in_python) =
            (setup.policy().to_owned(), outcome.calls, outcome.in_python);
        let entry = Entry {
            policy,
            seed,
            calls,
            in_python,
            took,
            error,
        };
        self.ledger
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(entry);
        why.map(RunError::Failed)
    }
}

/// True if a run executes Python code.
fn is_hosted(scenario: &Scenario, setup: &Setup) -> bool {
    let mut others = scenario
        .competitors
        .iter()
        .filter_map(|other| Controller::by_name(&other.cc).ok());
    setup.is_hosted() || others.any(|controller| controller.is_hosted())
}

/// Names of the subflows' paths; empty if connections differ or a topology has no paths.
fn paths(scenario: &Scenario, setup: &Setup) -> Vec<String> {
    let [group] = &scenario.connections[..] else {
        return vec![];
    };
    let used = group
        .paths
        .iter()
        .filter(|&&path| setup.only_path().is_none_or(|only| only == path));
    used.filter_map(|&path| scenario.paths.get(path))
        .map(|path| path.name.clone())
        .collect()
}

impl Engine for Hosting {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn draws(&self) -> bool {
        self.inner.draws()
    }

    fn most_at_a_time(&self) -> Option<NonZeroUsize> {
        self.inner.most_at_a_time()
    }

    fn attempts(&self) -> usize {
        self.inner.attempts()
    }

    fn most_seeds(&self) -> u32 {
        self.inner.most_seeds()
    }

    fn takes(&self, scenario: &Scenario) -> Option<Duration> {
        self.inner.takes(scenario)
    }

    fn notes(&self, scenario: &Scenario, setups: &[Setup]) -> Vec<String> {
        self.inner.notes(scenario, setups)
    }

    fn doubt(&self, scenarios: &[&Scenario]) -> Option<String> {
        self.inner.doubt(scenarios)
    }

    fn check(&self, scenario: &Scenario, setups: &[Setup]) -> Result<()> {
        self.inner.check(scenario, setups)
    }

    fn run(
        &self,
        scenario: &Scenario,
        setup: &Setup,
        task: &Task,
        cores: NonZeroUsize,
        cancel: &Cancel,
    ) -> std::result::Result<RunResult, RunError> {
        if !is_hosted(scenario, setup) {
            return self.inner.run(scenario, setup, task, cores, cancel);
        }
        let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let own = cancel.child();
        ledger::begin(task.seed, paths(scenario, setup), own.clone());
        let since = Instant::now();
        let alone = || {
            self.inner
                .run(scenario, setup, task, NonZeroUsize::MIN, &own)
        };
        // Attach once, so that all calls find this thread's state.
        let run = Python::attach(|py| announced(py, alone));
        let why =
            ledger::end().and_then(|outcome| self.note(setup, task.seed, since.elapsed(), outcome));
        match why {
            Some(_) if cancel.is_set() => Err(RunError::Cancelled),
            Some(why) => Err(why),
            None => run,
        }
    }
}
