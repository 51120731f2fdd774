//! `compare`: policies on a scenario side by side, and the limits, which need no run.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use joulepath_model::result::{Comparison as Compared, RunResult, Series};
use joulepath_model::scenario::Scenario as Loaded;
use joulepath_report::{self as report, ReportError};
use joulepath_study::compare::{Plan, Request, compare as run, limits_of};
use joulepath_study::engine::{self, Engine, EngineName, EngineOptions};
use joulepath_study::error::{Error, Result};
use joulepath_study::event::{Event, FailedRun};
use joulepath_study::stored::StoredRuns;
use pyo3::prelude::*;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::attributes::attributes;
use crate::batch::{Batch, Values};
use crate::hosted::{Entry, Hosting, Ledger};
use crate::provenance::{COMMIT, provenance};
use crate::raised::{raised, stopped};
use crate::scenario::Scenario;
use crate::stored::{Reduced, packed, reduced, unpacked};
use crate::watched::{guarded, watched};

/// The request of a call. Its mistakes are the user's.
pub(crate) fn asked<T: DeserializeOwned>(json: &str) -> Result<T> {
    serde_json::from_str(json).map_err(|error| {
        let text = error.to_string();
        let text = text
            .rsplit_once(" at line ")
            .map_or(&*text, |(text, _)| text);
        match text.split_once("; ") {
            Some((message, help)) => Error::usage(message).with_help(help),
            None => Error::usage(text),
        }
    })
}

/// The engine called `name`.
pub(crate) fn open(name: EngineName) -> Result<Box<dyn Engine>> {
    Ok(Box::new(hosting(name)?))
}

/// As [`open`], with a ledger of the runs that execute Python code.
fn hosting(name: EngineName) -> Result<Hosting> {
    if name == EngineName::Kernel {
        return Err(Error::Unsupported {
            message: "the Python package has no kernel engine, which requires root".to_owned(),
            help: "the command line has it: `sudo joulepath compare … --engine kernel`".to_owned(),
        });
    }
    Ok(Hosting::of(engine::open(name, &EngineOptions::default())?))
}

/// Number of concurrent runs, if given.
pub(crate) fn jobs(jobs: Option<usize>) -> Result<Option<NonZeroUsize>> {
    let none =
        || Error::usage("jobs is 0").with_help("use at least 1, or leave it out for all cores");
    jobs.map(|jobs| NonZeroUsize::new(jobs).ok_or_else(none))
        .transpose()
}

/// Policies side by side.
#[pyclass(frozen, module = "joulepath._joulepath")]
pub(crate) struct Comparison {
    compared: Compared,
    /// Policy, seed, reason.
    failures: Vec<(String, u64, String)>,
    series: Vec<Recorded>,
    ledger: Ledger,
}

/// The series of a run.
#[derive(Deserialize, Serialize)]
struct Recorded {
    policy: String,
    seed: u64,
    paths: Vec<String>,
    series: Series,
}

/// Runs a comparison on a scenario. `request` is JSON, `command` the user's call.
#[pyfunction]
#[pyo3(signature = (scenario, request, progress, command))]
pub(crate) fn compare(
    py: Python<'_>,
    scenario: &Scenario,
    request: &str,
    progress: Option<&Bound<'_, PyAny>>,
    command: String,
) -> PyResult<Comparison> {
    let (plan, mut stored, ledger) = guarded(py, || {
        let request = Request {
            variant: scenario.variant.clone(),
            set: scenario.set.clone(),
            ..asked(request)?
        };
        let engine = hosting(request.engine)?;
        let ledger = engine.ledger();
        let plan = Plan::of(
            &scenario.source,
            &request,
            Box::new(engine),
            &provenance(command),
        )?;
        let stored = request
            .runs
            .map(|file| StoredRuns::open(&file, COMMIT))
            .transpose()?;
        Ok((plan, stored, ledger))
    })?;
    let done = watched(py, progress, |watch, cancel| {
        let mut series = vec![];
        let mut hear = |event: Event<'_>| {
            if let Event::Finished(run) = &event {
                series.extend(recorded(run));
            }
            watch(event);
        };
        let compared = run(&plan, stored.as_mut(), &mut hear, cancel).pop();
        Ok(compared.map(|compared| (compared, series)))
    })?;
    let comparison = done.value.map(|(compared, mut series)| {
        let rows = &compared.comparison.rows;
        let place = |policy: &str| rows.iter().position(|row| row.policy == policy);
        series.sort_by_key(|run: &Recorded| (place(&run.policy), run.seed));
        let failure = |failed: FailedRun| (failed.policy, failed.seed, failed.error);
        let failures = compared.failures.into_iter().map(failure).collect();
        Comparison {
            compared: compared.comparison,
            failures,
            series,
            ledger,
        }
    });
    match (done.stopped, comparison) {
        (None, Some(comparison)) => Ok(comparison),
        (Some(why), Some(comparison)) => {
            Err(stopped(py, why, || Ok(Py::new(py, comparison)?.into_any())))
        }
        (Some(why), None) => Err(stopped(py, why, || Ok(py.None()))),
        (None, None) => unreachable!("a plan of one case has one result unless it is cancelled"),
    }
}

fn recorded(run: &RunResult) -> Option<Recorded> {
    Some(Recorded {
        policy: run.policy.clone(),
        seed: run.seed,
        paths: run.paths.iter().map(|path| path.name.clone()).collect(),
        series: run.series.clone()?,
    })
}

/// A pickled ledger entry: policy, seed, calls, time in Python and time of the run (s, ns), the
/// exception.
type Kept = (String, u64, u64, (u64, u32), (u64, u32), Option<Py<PyAny>>);

attributes! {
    impl Comparison, this {
        /// Names of the paths.
        paths: Vec<String> = this.compared.scenario.paths.clone();
        title: &str = &this.compared.scenario.title;
        engine: &str = &this.compared.engine;
        seeds: Vec<u64> = this.compared.manifest.seeds.clone();
        notes: Vec<String> = this.compared.notes.clone();
        partial: bool = this.compared.partial;
    }
}

#[pymethods]
impl Comparison {
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        // The JSON of a row leaves out its runs.
        let runs: Vec<&Vec<RunResult>> = self.compared.rows.iter().map(|row| &row.runs).collect();
        let state = packed(py, &(&self.compared, runs, &self.failures, &self.series))?;
        let kept = |entry: &Entry| -> Kept {
            let error = entry
                .error
                .as_ref()
                .map(|error| error.clone_ref(py).into_value(py).into_any());
            let [in_python, took] =
                [entry.in_python, entry.took].map(|time| (time.as_secs(), time.subsec_nanos()));
            (
                entry.policy.clone(),
                entry.seed,
                entry.calls,
                in_python,
                took,
                error,
            )
        };
        let ledger = self.ledger.lock().unwrap_or_else(PoisonError::into_inner);
        reduced(
            py,
            "Comparison",
            (state, ledger.iter().map(kept).collect::<Vec<Kept>>()),
        )
    }

    /// Unpickles.
    #[staticmethod]
    fn restore(py: Python<'_>, state: (String, Vec<Kept>)) -> PyResult<Self> {
        type State = (
            Compared,
            Vec<Vec<RunResult>>,
            Vec<(String, u64, String)>,
            Vec<Recorded>,
        );
        let (mut compared, runs, failures, series): State = unpacked(&state.0)?;
        compared
            .rows
            .iter_mut()
            .zip(runs)
            .for_each(|(row, runs)| row.runs = runs);
        let entry = |(policy, seed, calls, in_python, took, error): Kept| {
            let error = error.map(|error| PyErr::from_value(error.into_bound(py)));
            let [in_python, took] = [in_python, took].map(|(s, ns)| Duration::new(s, ns));
            Entry {
                policy,
                seed,
                calls,
                in_python,
                took,
                error,
            }
        };
        let ledger = Arc::new(Mutex::new(state.1.into_iter().map(entry).collect()));
        Ok(Comparison {
            compared,
            failures,
            series,
            ledger,
        })
    }

    /// One row per policy.
    fn policies(&self) -> Batch {
        Batch::of_records(&report::policy_records(&self.compared))
    }

    /// One row per policy and seed.
    fn runs(&self) -> Batch {
        Batch::of_records(&report::run_records(&self.compared))
    }

    /// One row per limit.
    fn references(&self) -> Batch {
        Batch::of_records(&report::reference_records(&self.compared.references))
    }

    /// One row per policy, seed, path and instant.
    fn series(&self) -> Batch {
        of_series(&self.series)
    }

    /// Failed runs: policy, seed, reason.
    fn failures(&self) -> Vec<(String, u64, String)> {
        self.failures.clone()
    }

    /// Exceptions that ended runs: policy, seed, exception.
    fn causes(&self, py: Python<'_>) -> Vec<(String, u64, Py<PyAny>)> {
        let cause = |entry: &Entry| {
            let error = entry.error.as_ref()?.clone_ref(py);
            Some((
                entry.policy.clone(),
                entry.seed,
                error.into_value(py).into_any(),
            ))
        };
        self.ledger
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .iter()
            .filter_map(cause)
            .collect()
    }

    /// Cost of Python code: policy, seed, calls, seconds in Python, seconds of the run.
    fn python_costs(&self) -> Vec<(String, u64, u64, f64, f64)> {
        let cost = |entry: &Entry| {
            let (in_python, took) = (entry.in_python.as_secs_f64(), entry.took.as_secs_f64());
            (
                entry.policy.clone(),
                entry.seed,
                entry.calls,
                in_python,
                took,
            )
        };
        self.ledger
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .iter()
            .map(cost)
            .collect()
    }

    /// The table as shown in a terminal.
    fn table(&self, width: usize, color: bool, wider: &str) -> String {
        report::table_with(&self.compared, width, color, wider)
    }

    /// The same bytes as the command line's output.
    fn json(&self, py: Python<'_>) -> PyResult<String> {
        written(py, report::to_json(&self.compared))
    }

    fn csv(&self, py: Python<'_>) -> PyResult<String> {
        written(py, report::to_csv(&self.compared))
    }

    fn runs_csv(&self, py: Python<'_>) -> PyResult<String> {
        written(py, report::runs_to_csv(&self.compared))
    }

    /// Every run with the engine's full result.
    fn runs_json(&self, py: Python<'_>) -> PyResult<String> {
        let runs: Vec<&RunResult> = self
            .compared
            .rows
            .iter()
            .flat_map(|row| &row.runs)
            .collect();
        written(py, serde_json::to_string(&runs).map_err(ReportError::from))
    }

    /// The page of the command line's `--report`.
    fn html(&self, py: Python<'_>) -> PyResult<String> {
        written(py, report::html(&self.compared))
    }

    /// A table in HTML, for notebooks.
    fn notebook(&self, py: Python<'_>) -> PyResult<String> {
        written(py, report::notebook(&self.compared))
    }
}

/// The serialised result, or its error.
pub(crate) fn written(py: Python<'_>, text: Result<String, ReportError>) -> PyResult<String> {
    text.map_err(|error| raised(py, &Error::from(error)))
}

/// The columns of all series. An RTT of 0 means that there is no sample yet.
fn of_series(all: &[Recorded]) -> Batch {
    let mut policy = vec![];
    let mut path = vec![];
    let mut seed = vec![];
    let mut numbers: [Vec<Option<f64>>; 7] = Default::default();
    for Recorded {
        policy: name,
        seed: drawn,
        paths,
        series,
    } in all
    {
        let Series {
            time_s,
            goodput_bps,
            cwnd,
            rtt_s,
            queue,
            power_w,
            receive_buffer,
            ..
        } = series;
        for (r, of_path) in paths.iter().enumerate() {
            let at =
                |all: &[Vec<f64>], i: usize| all.get(r).and_then(|values| values.get(i)).copied();
            for (i, &time_s) in time_s.iter().enumerate() {
                policy.push(name.clone());
                path.push(of_path.clone());
                seed.push(Some(*drawn));
                let row = [
                    Some(time_s),
                    at(goodput_bps, i),
                    at(cwnd, i),
                    at(rtt_s, i).filter(|&rtt_s| rtt_s > 0.0),
                    at(queue, i),
                    at(power_w, i),
                    receive_buffer.get(i).copied(),
                ];
                numbers
                    .iter_mut()
                    .zip(row)
                    .for_each(|(column, value)| column.push(value));
            }
        }
    }
    let names = [
        "time_s",
        "goodput_bps",
        "cwnd_packets",
        "rtt_s",
        "queue_packets",
        "power_w",
    ];
    let names = names.into_iter().chain(["receive_buffer_segments"]);
    let numbers = names
        .zip(numbers)
        .map(|(name, values)| (name.to_owned(), Values::Number(values)));
    let first = [
        ("policy".to_owned(), Values::Text(policy)),
        ("seed".to_owned(), Values::Count(seed)),
        ("path".to_owned(), Values::Text(path)),
    ];
    Batch::of(first.into_iter().chain(numbers).collect())
}

/// The limits of a scenario. With random rates: means over the rates of runs with these seeds.
#[pyfunction]
pub(crate) fn references(
    py: Python<'_>,
    scenario: &Scenario,
    first_seed: u64,
    seeds: Option<u32>,
) -> PyResult<Batch> {
    let loaded: &Loaded = &scenario.loaded;
    let limits = guarded(py, || {
        let end = first_seed.checked_add(u64::from(seeds.unwrap_or(loaded.compare.seeds)));
        let end = end.ok_or_else(|| Error::usage("the seeds are beyond 2^64"))?;
        let drawn: Vec<u64> = (first_seed..end).collect();
        Ok(limits_of(loaded, &drawn, &*open(EngineName::Packet)?))
    })?;
    Ok(Batch::of_records(&report::reference_records(&limits)))
}
