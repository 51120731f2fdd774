//! Reinforcement learning: single environments, fleets of environments, and scores of policies.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use joulepath_model::policy::{Policy, split_list};
use joulepath_model::units::Nanos;
use joulepath_report::{Field, Record, ReportError};
use joulepath_study::benchmark::{Family, Set};
use joulepath_study::error::{Error, Result};
use joulepath_study::gym::{
    CONNECTION_FEATURES, Environment, Fleet, PATH_FEATURES, Past, Reward, Spec, Start, Step,
    Summary, Task, World, score,
};
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::batch::{Batch, text};
use crate::comparison::{jobs, written};
use crate::raised::stopped;
use crate::scenario::Scenario;
use crate::stored::{packed, unpacked};
use crate::watched::{guarded, watched};

/// Common settings of an environment's episodes.
#[pyclass(frozen, module = "joulepath._joulepath")]
pub(crate) struct GymSpec {
    spec: Arc<Spec>,
}

#[pymethods]
impl GymSpec {
    /// Episodes in a scenario, or in random scenarios of a family; quantities are texts with a
    /// unit.
    #[new]
    #[pyo3(signature = (scenario, family, range, draws, steers, action, policy, interval, price, deadline,
                        lateness, unfinished))]
    #[expect(
        clippy::too_many_arguments,
        reason = "they are the arguments of one call in Python"
    )]
    fn new(
        py: Python<'_>,
        scenario: Option<&Scenario>,
        family: Option<&str>,
        range: &str,
        draws: Option<u32>,
        steers: &str,
        action: &str,
        policy: &str,
        interval: Option<&str>,
        price: Option<f64>,
        deadline: Option<&str>,
        lateness: Option<f64>,
        unfinished: Option<f64>,
    ) -> PyResult<Self> {
        let spec = guarded(py, || {
            let world = match (scenario, family) {
                (Some(scenario), None) => {
                    World::one(scenario.source.name(), scenario.loaded.clone())
                }
                (None, Some(family)) => {
                    World::family(family.parse::<Family>()?, range.parse::<Set>()?, draws)?
                }
                _ => return Err(Error::usage("give either a scenario or a family")),
            };
            let reward = Reward {
                price,
                deadline: time("deadline", deadline)?,
                lateness,
                unfinished,
            };
            let policy: Policy = policy.parse()?;
            Spec::of(
                world,
                steers.parse()?,
                action.parse()?,
                policy,
                time("interval", interval)?,
                reward,
            )
        })?;
        Ok(GymSpec {
            spec: Arc::new(spec),
        })
    }

    /// Length of an action.
    #[getter]
    fn action_len(&self) -> usize {
        self.spec.action_len()
    }

    /// Length of an observation.
    #[getter]
    fn observation_len(&self) -> usize {
        self.spec.observation_len()
    }

    /// Number of random scenarios; None for a fixed scenario.
    #[getter]
    fn draws(&self) -> Option<u32> {
        self.spec.world().draws()
    }
}

/// A time with its unit, if one is given.
fn time(name: &str, text: Option<&str>) -> Result<Option<Nanos>> {
    let parse = |text: &str| {
        text.parse::<Nanos>().map_err(|error| {
            Error::usage(format!("{name}: {error}"))
                .with_help(format!("write for example {name}=\"12 s\""))
        })
    };
    text.map(parse).transpose()
}

/// The observation: name and meaning of each feature of a path, and of the connection.
#[pyfunction]
#[expect(clippy::type_complexity, reason = "two lists of pairs")]
pub(crate) fn gym_features() -> (
    Vec<(&'static str, &'static str)>,
    Vec<(&'static str, &'static str)>,
) {
    (PATH_FEATURES.to_vec(), CONNECTION_FEATURES.to_vec())
}

/// One environment.
#[pyclass(frozen, module = "joulepath._joulepath")]
pub(crate) struct GymEnvironment {
    environment: Mutex<Environment>,
    seen_len: usize,
}

impl GymEnvironment {
    fn lock(&self) -> MutexGuard<'_, Environment> {
        // An environment whose step panicked has no episode.
        self.environment
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl GymEnvironment {
    #[new]
    fn new(spec: &GymSpec) -> Self {
        GymEnvironment {
            environment: Mutex::new(Environment::new(Arc::clone(&spec.spec))),
            seen_len: spec.spec.observation_len(),
        }
    }

    /// Starts an episode: by seed, the next one, or by `draw` and `run_seed`. Writes the
    /// observation into a buffer of 32-bit numbers.
    #[pyo3(signature = (seed, draw, run_seed, seen))]
    fn reset(
        &self,
        py: Python<'_>,
        seed: Option<u64>,
        draw: Option<u32>,
        run_seed: Option<u64>,
        seen: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let start = start(seed, draw, run_seed);
        let mut values = vec![0.0; self.seen_len];
        guarded(py, || self.lock().reset(start, &mut values))?;
        PyBuffer::<f32>::get(seen)?.copy_from_slice(py, &values)
    }

    /// One step: reward, whether the work is done, whether time is up.
    fn step(
        &self,
        py: Python<'_>,
        action: &Bound<'_, PyAny>,
        seen: &Bound<'_, PyAny>,
    ) -> PyResult<(f64, bool, bool)> {
        let action = PyBuffer::<f32>::get(action)?.to_vec(py)?;
        let mut values = vec![0.0; self.seen_len];
        let Step {
            reward,
            terminated,
            truncated,
        } = guarded(py, || self.lock().step(&action, &mut values))?;
        PyBuffer::<f32>::get(seen)?.copy_from_slice(py, &values)?;
        Ok((reward, terminated, truncated))
    }

    /// State of the environment, as JSON.
    fn past(&self, py: Python<'_>) -> PyResult<String> {
        packed(py, &self.lock().past())
    }

    /// Restores another environment's state by simulating its episode again.
    fn restore(&self, py: Python<'_>, past: &str) -> PyResult<()> {
        let past: Past = unpacked(past)?;
        guarded(py, || self.lock().restore(&past))
    }

    /// Summary of the present episode, if there is one.
    fn summary<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        self.lock()
            .summary()
            .map(|summary| dict(py, summary))
            .transpose()
    }

    /// The engine's full result of the run, as JSON; this ends the episode.
    fn result(&self, py: Python<'_>) -> PyResult<String> {
        let result = guarded(py, || self.lock().result())?;
        written(
            py,
            serde_json::to_string(&result).map_err(ReportError::from),
        )
    }
}

fn start(seed: Option<u64>, draw: Option<u32>, run_seed: Option<u64>) -> Start {
    match (seed, draw, run_seed) {
        (_, draw @ Some(_), run_seed) => Start::Exact {
            draw,
            seed: run_seed.unwrap_or(1),
        },
        (_, None, Some(seed)) => Start::Exact { draw: None, seed },
        (Some(seed), None, None) => Start::Seed(seed),
        (None, None, None) => Start::Next,
    }
}

fn dict<'py>(py: Python<'py>, summary: &Summary) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("scenario", &summary.name)?;
    dict.set_item("draw", summary.draw)?;
    dict.set_item("seed", summary.seed)?;
    dict.set_item("time_s", summary.time_s)?;
    dict.set_item("steps", summary.steps)?;
    dict.set_item("return_j", summary.earned_j)?;
    dict.set_item("energy_j", summary.energy_j)?;
    dict.set_item("bits", summary.bits)?;
    dict.set_item("done", summary.done)?;
    dict.set_item("bits_per_joule", summary.bits_per_joule())?;
    dict.set_item("link_bound_share", summary.link_bound_share())?;
    Ok(dict)
}

/// Environments that are stepped together.
#[pyclass(frozen, module = "joulepath._joulepath")]
pub(crate) struct GymFleet {
    fleet: Mutex<Fleet>,
}

impl GymFleet {
    fn lock(&self) -> MutexGuard<'_, Fleet> {
        // Environments whose step panicked have no episode.
        self.fleet.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl GymFleet {
    #[new]
    #[pyo3(signature = (spec, count, jobs))]
    fn new(py: Python<'_>, spec: &GymSpec, count: usize, jobs: Option<usize>) -> PyResult<Self> {
        let fleet = guarded(py, || {
            Fleet::new(Arc::clone(&spec.spec), count, self::jobs(jobs)?)
        })?;
        Ok(GymFleet {
            fleet: Mutex::new(fleet),
        })
    }

    /// Starts the episodes of the environments in `which`, by seed if `seeds` has one.
    fn reset(
        &self,
        py: Python<'_>,
        which: Vec<bool>,
        seeds: Vec<Option<u64>>,
        seen: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let begins =
            |(&begins, &seed): (&bool, &Option<u64>)| begins.then(|| start(seed, None, None));
        let starts: Vec<Option<Start>> = which.iter().zip(&seeds).map(begins).collect();
        let outcome = guarded(py, || self.lock().reset(starts))?;
        let len = outcome.seen.len() / which.len().max(1);
        let buffer = PyBuffer::<f32>::get(seen)?;
        let mut values = buffer.to_vec(py)?;
        for i in (0..which.len()).filter(|&i| which[i]) {
            values[i * len..(i + 1) * len].copy_from_slice(&outcome.seen[i * len..(i + 1) * len]);
        }
        buffer.copy_from_slice(py, &values)
    }

    /// State of each environment, as JSON.
    fn past(&self, py: Python<'_>) -> PyResult<String> {
        let pasts = guarded(py, || self.lock().pasts())?;
        packed(py, &pasts)
    }

    /// Restores another fleet's state by simulating the episodes again.
    fn restore(&self, py: Python<'_>, past: &str) -> PyResult<()> {
        let pasts: Vec<Past> = unpacked(past)?;
        guarded(py, || self.lock().restore(&pasts))
    }

    /// Steps all environments: writes observations, rewards and ends; returns the finished episodes
    /// with their indices.
    fn step<'py>(
        &self,
        py: Python<'py>,
        actions: &Bound<'py, PyAny>,
        seen: &Bound<'py, PyAny>,
        rewards: &Bound<'py, PyAny>,
        terminated: &Bound<'py, PyAny>,
        truncated: &Bound<'py, PyAny>,
    ) -> PyResult<Vec<(usize, Bound<'py, PyDict>)>> {
        let actions = PyBuffer::<f32>::get(actions)?.to_vec(py)?;
        let outcome = guarded(py, || self.lock().step(&actions))?;
        PyBuffer::<f32>::get(seen)?.copy_from_slice(py, &outcome.seen)?;
        let earned: Vec<f64> = outcome.steps.iter().map(|step| step.reward).collect();
        PyBuffer::<f64>::get(rewards)?.copy_from_slice(py, &earned)?;
        let flags = |flag: fn(&Step) -> bool| -> Vec<u8> {
            outcome.steps.iter().map(|step| flag(step).into()).collect()
        };
        PyBuffer::<u8>::get(terminated)?.copy_from_slice(py, &flags(|step| step.terminated))?;
        PyBuffer::<u8>::get(truncated)?.copy_from_slice(py, &flags(|step| step.truncated))?;
        outcome
            .ended
            .iter()
            .map(|(i, summary)| Ok((*i, dict(py, summary)?)))
            .collect()
    }
}

/// The comma-separated policies of a text.
#[pyfunction]
pub(crate) fn split_policies(text: &str) -> Vec<&str> {
    split_list(text)
}

/// Plays episodes of policies: one row each, with the policy's name. `tasks` are policy, spec, draw
/// and seed.
#[pyfunction]
#[pyo3(signature = (tasks, jobs, progress))]
pub(crate) fn gym_score(
    py: Python<'_>,
    tasks: Vec<(String, Py<GymSpec>, Option<u32>, u64)>,
    jobs: Option<usize>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Batch> {
    let wanted: Vec<Task> = tasks
        .iter()
        .map(|(_, spec, draw, seed)| Task {
            spec: Arc::clone(&spec.get().spec),
            draw: *draw,
            seed: *seed,
        })
        .collect();
    let done = watched(py, progress, |watch, cancel| {
        score(&wanted, self::jobs(jobs)?, watch, cancel)
    })?;
    let rows: Vec<Record> = tasks
        .iter()
        .zip(&done.value)
        .filter_map(|((policy, ..), summary)| Some(row(policy, summary.as_ref()?)))
        .collect();
    let batch = Batch::of_records(&rows);
    match done.stopped {
        Some(why) => Err(stopped(py, why, || Ok(Py::new(py, batch)?.into_any()))),
        None => Ok(batch),
    }
}

fn row(policy: &str, summary: &Summary) -> Record {
    let number = |name: &str, value| (name.to_owned(), Field::Number(value));
    let count = |name: &str, value| (name.to_owned(), Field::Count(value));
    Record {
        fields: vec![
            text("policy", policy),
            text("scenario", &summary.name),
            count("draw", summary.draw.map(u64::from)),
            count("seed", Some(summary.seed)),
            number("time_s", Some(summary.time_s)),
            number("return_j", Some(summary.earned_j)),
            number("energy_j", Some(summary.energy_j)),
            number("bits", Some(summary.bits)),
            ("done".to_owned(), Field::Flag(summary.done)),
            number("bits_per_joule", summary.bits_per_joule()),
            number(
                "link_bound_bits_per_joule",
                summary.link_bound_bits_per_joule,
            ),
            number("link_bound_share", summary.link_bound_share()),
        ],
    }
}
