//! Studies: many points of a scenario into a dataset, by this process or a cluster's workers, and
//! the dataset's evaluation.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use joulepath_model::cancel::Cancel;
use joulepath_study::error::{Error, Result};
use joulepath_study::event::{Event, unwatched};
use joulepath_study::source::Source;
use joulepath_study::sweep::{
    Dataset as Read, Missing, Outcome, Ranges, Runner, Shard, Summary, Sweep, Writer,
    are_batches_under_way, page, summary,
};
use pyo3::prelude::*;

use crate::attributes::attributes;
use crate::batch::Batch;
use crate::comparison::{jobs, written};
use crate::provenance::{COMMIT, provenance};
use crate::raised::{stopped, usage};
use crate::scenario::{Scenario, toml_of};
use crate::watched::{guarded, watched};

/// Maximum wait for batches that workers still run for an ended client, and the poll interval.
const WAIT: Duration = Duration::from_secs(120);
const LOOK: Duration = Duration::from_millis(50);

/// Total runs, runs already present, runs done by this call, failed runs of this call, and the
/// first failure's reason.
type Counts = (u64, u64, u64, u64, Option<String>);

#[pyclass(frozen, module = "joulepath._joulepath")]
pub(crate) struct Study {
    sweep: Arc<Sweep>,
}

attributes! {
    impl Study, this {
        name: &str = this.sweep.name();
        title: &str = this.sweep.title();
        toml: &str = this.sweep.text();
        points: u64 = this.sweep.points();
        runs: u64 = this.sweep.runs();
        policies: Vec<String> = this.sweep.policies().iter().map(ToString::to_string).collect();
        engines: Vec<&'static str> = this.sweep.engines();
        seeds: u64 = this.sweep.seeds();
        columns: Vec<String> = this.sweep.columns().iter().map(|column| column.name.clone()).collect();
    }
}

#[pymethods]
impl Study {
    #[staticmethod]
    fn open(py: Python<'_>, file: PathBuf) -> PyResult<Self> {
        Ok(Study {
            sweep: Arc::new(guarded(py, || Sweep::open(&file))?),
        })
    }

    /// Builds a study on a scenario from its keys, as JSON. The scenario's variant and overrides
    /// come before the study's.
    #[staticmethod]
    fn build(py: Python<'_>, json: &str, name: &str, scenario: &Scenario) -> PyResult<Self> {
        let toml::Value::Table(mut study) = toml_of(py, json)? else {
            return Err(usage(py, "a study is a dict", None));
        };
        study.insert("scenario".to_owned(), scenario.source.name().into());
        if let Some(variant) = &scenario.variant {
            study.insert("variant".to_owned(), variant.as_str().into());
        }
        let mut set = toml::Table::new();
        for (key, value) in &scenario.set {
            let one: toml::Table = toml::from_str(&format!("value = {value}"))
                .map_err(|error| usage(py, &format!("`{key}` = {value}: {error}"), None))?;
            set.extend(one.into_iter().map(|(_, value)| (key.clone(), value)));
        }
        if let Some(toml::Value::Table(more)) = study.remove("set") {
            set.extend(more);
        }
        if !set.is_empty() {
            study.insert("set".to_owned(), set.into());
        }
        let text = toml::to_string(&study).map_err(|error| usage(py, &error.to_string(), None))?;
        let source = &scenario.source;
        let content = (!source.is_shipped()).then(|| source.content().to_owned());
        Self::restore(
            py,
            name,
            &text,
            source.name(),
            content,
            source.folder().map(Path::to_path_buf),
        )
    }

    /// Unpickles: the study's text, and the scenario's name and text (no text for a shipped one).
    #[staticmethod]
    fn restore(
        py: Python<'_>,
        name: &str,
        text: &str,
        scenario: &str,
        content: Option<String>,
        folder: Option<PathBuf>,
    ) -> PyResult<Self> {
        let sweep = guarded(py, || {
            let source = match content {
                Some(content) => Source::text(scenario, content, folder),
                None => Source::named(scenario)?,
            };
            Sweep::with_source(name, text, source)
        })?;
        Ok(Study {
            sweep: Arc::new(sweep),
        })
    }

    /// The arguments of [`Study::restore`].
    fn parts(&self) -> (String, String, String, Option<String>, Option<PathBuf>) {
        let source = self.sweep.source();
        let content = (!source.is_shipped()).then(|| source.content().to_owned());
        let folder = source.folder().map(Path::to_path_buf);
        (
            self.sweep.name().to_owned(),
            self.sweep.text().to_owned(),
            source.name().to_owned(),
            content,
            folder,
        )
    }

    /// The value of each key at a point, as in a scenario; `None` if the point does not exist.
    fn point(&self, point: u64) -> Option<Vec<(String, String)>> {
        if point >= self.sweep.points() {
            return None;
        }
        let levels = self.sweep.levels(point);
        let axes = self.sweep.spec().axes.iter().zip(levels);
        Some(
            axes.flat_map(|(axis, level)| {
                axis.keys
                    .iter()
                    .map(move |key| (key.clone(), level.text.clone()))
            })
            .collect(),
        )
    }

    /// Runs all runs of a part that the dataset in `folder` lacks.
    #[pyo3(signature = (folder, shard, jobs, progress, command))]
    fn run(
        &self,
        py: Python<'_>,
        folder: PathBuf,
        shard: Option<&str>,
        jobs: Option<usize>,
        progress: Option<&Bound<'_, PyAny>>,
        command: String,
    ) -> PyResult<Counts> {
        let done = watched(py, progress, |watch, cancel| {
            let (shard, jobs) = (part(shard)?, self::jobs(jobs)?);
            let mut writer = Writer::open(&self.sweep, &folder, shard, &provenance(command))?;
            Runner::new(&self.sweep, jobs, COMMIT).run(&mut writer, shard, watch, cancel)
        })?;
        ended(py, done.stopped, &folder, &done.value)
    }

    /// Runs the missing runs of a batch in this thread, and writes one file with them: the work of
    /// a cluster's worker.
    fn batch(
        &self,
        py: Python<'_>,
        folder: PathBuf,
        shard: Option<&str>,
        runs: &str,
        command: String,
    ) -> PyResult<Counts> {
        let outcome = guarded(py, || {
            let shard = part(shard)?;
            let runs =
                Ranges::parse(runs).ok_or_else(|| Error::usage(format!("`{runs}` are no runs")))?;
            let runner = Runner::new(&self.sweep, NonZeroUsize::new(1), COMMIT);
            runner.batch(
                &folder,
                shard,
                &runs,
                &provenance(command),
                &mut unwatched,
                &Cancel::new(),
            )
        })?;
        Ok(counts(&outcome))
    }
}

/// The part, or everything.
fn part(shard: Option<&str>) -> Result<Shard> {
    shard.map_or(Ok(Shard::default()), str::parse)
}

fn counts(outcome: &Outcome) -> Counts {
    let why = outcome.first_failure.as_ref().map(|first| {
        format!(
            "{}, `{}`, {} engine, seed {}: {}",
            first.scenario, first.policy, first.engine, first.seed, first.error
        )
    });
    (
        outcome.runs,
        outcome.before,
        outcome.done,
        outcome.failed,
        why,
    )
}

/// The counts; after Ctrl-C an exception with the dataset.
fn ended(py: Python<'_>, why: Option<PyErr>, folder: &Path, outcome: &Outcome) -> PyResult<Counts> {
    match why {
        None => Ok(counts(outcome)),
        Some(why) => {
            let dataset = || Ok(Py::new(py, Dataset::open(py, folder.to_owned())?)?.into_any());
            Err(stopped(py, why, dataset))
        }
    }
}

/// The missing runs of a part, handed out in batches; no other process can work on the part
/// meanwhile.
#[pyclass(frozen, module = "joulepath._joulepath")]
pub(crate) struct Batches {
    sweep: Arc<Sweep>,
    shard: Shard,
    /// `None` once closed.
    given: Mutex<Option<Given>>,
}

struct Given {
    writer: Writer,
    /// The next run to check.
    at: u64,
}

#[pymethods]
impl Batches {
    /// Creates or opens the dataset, once workers have finished their batches for an ended client.
    #[new]
    #[pyo3(signature = (study, folder, shard, progress, command))]
    fn new(
        py: Python<'_>,
        study: &Study,
        folder: PathBuf,
        shard: Option<&str>,
        progress: Option<&Bound<'_, PyAny>>,
        command: String,
    ) -> PyResult<Self> {
        let sweep = Arc::clone(&study.sweep);
        let done = watched(py, progress, |watch, cancel| {
            let shard = part(shard)?;
            let began = Instant::now();
            let mut told = false;
            while are_batches_under_way(&folder, shard)?
                && began.elapsed() < WAIT
                && !cancel.is_set()
            {
                if !told {
                    watch(Event::Note(
                        "Waiting for workers that still run batches of an earlier call.".to_owned(),
                    ));
                    told = true;
                }
                thread::sleep(LOOK);
            }
            let writer = Writer::open(&sweep, &folder, shard, &provenance(command))?;
            Ok((shard, writer))
        })?;
        if let Some(why) = done.stopped {
            return Err(stopped(py, why, || Ok(py.None())));
        }
        let (shard, writer) = done.value;
        Ok(Batches {
            sweep,
            shard,
            given: Mutex::new(Some(Given { writer, at: 0 })),
        })
    }

    /// Number of missing runs not handed out so far.
    fn missing(&self) -> u64 {
        let given = self.given();
        let left = |given: &Given| {
            Missing::of(&self.sweep, self.shard, given.at).count(given.writer.done())
        };
        given.as_ref().map_or(0, left)
    }

    /// Runs the first missing runs here for this many seconds.
    #[pyo3(signature = (least_s, progress))]
    fn probe(
        &self,
        py: Python<'_>,
        least_s: f64,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Counts> {
        let done = watched(py, progress, |watch, cancel| {
            let runner = Runner::new(&self.sweep, NonZeroUsize::new(1), COMMIT);
            let least = Duration::try_from_secs_f64(least_s).unwrap_or_default();
            match &mut *self.given() {
                Some(given) => runner.probe(&mut given.writer, self.shard, least, watch, cancel),
                None => Ok(Outcome::default()),
            }
        })?;
        match done.stopped {
            None => Ok(counts(&done.value)),
            Some(why) => Err(stopped(py, why, || Ok(py.None()))),
        }
    }

    /// The next missing runs, at most `most`, as ranges; `None` at the end.
    fn next(&self, most: usize) -> Option<String> {
        let mut given = self.given();
        let given = given.as_mut()?;
        let runs = Missing::of(&self.sweep, self.shard, given.at).next(given.writer.done(), most);
        given.at = runs.last()? + 1;
        Some(Ranges::of(runs).to_string())
    }

    /// Lets other processes work on the part.
    fn close(&self) {
        *self.given() = None;
    }
}

impl Batches {
    fn given(&self) -> std::sync::MutexGuard<'_, Option<Given>> {
        self.given
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// A dataset opened for reading.
#[pyclass(frozen, module = "joulepath._joulepath")]
pub(crate) struct Dataset {
    read: Read,
}

attributes! {
    impl Dataset, this {
        folder: PathBuf = this.read.folder().to_owned();
        files: Vec<PathBuf> = this.read.parts().to_vec();
        done: u64 = this.read.done().count();
        title: &str = &this.read.header().title;
        points: u64 = this.read.header().points;
        runs: u64 = this.read.header().runs;
        varied: Vec<String> = this.read.header().axes.clone();
        policies: Vec<String> = this.read.header().policies.clone();
        engines: Vec<String> = this.read.header().engines.clone();
        columns: Vec<String> = this.read.header().columns.iter().map(|column| column.name.clone()).collect();
    }
}

#[pymethods]
impl Dataset {
    #[staticmethod]
    fn open(py: Python<'_>, folder: PathBuf) -> PyResult<Self> {
        Ok(Dataset {
            read: guarded(py, || Read::open(&folder))?,
        })
    }

    /// Text of the study, name of its scenario, and text of the scenario.
    fn texts(&self) -> (String, String, String) {
        let header = self.read.header();
        (
            header.study.text.clone(),
            header.scenario.name.clone(),
            header.scenario.text.clone(),
        )
    }

    /// The page of the command line's `study report`.
    fn html(&self, py: Python<'_>, command: String) -> PyResult<String> {
        let done = watched(py, None, |_, cancel| {
            page(&self.read, &provenance(command), cancel)
        })?;
        match done.stopped {
            None => written(py, joulepath_report::study::html(&done.value)),
            Some(why) => Err(stopped(py, why, || Ok(py.None()))),
        }
    }

    /// Means with intervals over groups of runs.
    #[pyo3(signature = (by, of))]
    fn summary(
        &self,
        py: Python<'_>,
        by: Option<Vec<String>>,
        of: Option<Vec<String>>,
    ) -> PyResult<Batch> {
        let done = watched(py, None, |_, cancel| {
            summary(&self.read, by.as_deref(), of.as_deref(), cancel)
        })?;
        match done.stopped {
            None => Ok(Batch::of_records(&Summary::records(&done.value))),
            Some(why) => Err(stopped(py, why, || Ok(py.None()))),
        }
    }
}
