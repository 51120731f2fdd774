//! Scenarios for Python: always loaded and valid.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use joulepath_control::policy::POLICIES;
use joulepath_model::metric::METRICS;
use joulepath_model::scenario;
use joulepath_report::Record;
use joulepath_study::shipped::SCENARIOS;
use joulepath_study::source::{Overrides, Source};
use pyo3::prelude::*;

use crate::attributes::attributes;
use crate::batch::{Batch, text};
use crate::raised::usage;
use crate::watched::guarded;

/// A scenario: its text, a variant, and overridden keys.
#[pyclass(frozen, module = "joulepath._joulepath")]
pub(crate) struct Scenario {
    pub(crate) source: Arc<Source>,
    pub(crate) variant: Option<String>,
    pub(crate) set: Overrides,
    pub(crate) loaded: scenario::Scenario,
}

impl Scenario {
    fn of(
        py: Python<'_>,
        source: Arc<Source>,
        variant: Option<String>,
        set: Overrides,
    ) -> PyResult<Self> {
        let loaded = guarded(py, || {
            source.load(&source.overrides(variant.as_deref(), &set)?)
        })?;
        Ok(Scenario {
            source,
            variant,
            set,
            loaded,
        })
    }
}

attributes! {
    impl Scenario, this {
        /// File as given, or the name of a shipped scenario.
        name: &str = this.source.name();
        /// The original text.
        content: &str = this.source.content();
        /// The folder of its traces, if any.
        folder: Option<PathBuf> = this.source.folder().map(Path::to_path_buf);
        /// True if this package ships it.
        is_shipped: bool = this.source.is_shipped();
        /// Overridden keys and values, as TOML.
        overrides: Vec<(String, String)> = this.set.clone();
        variant: Option<&str> = this.variant.as_deref();
        title: &str = &this.loaded.title;
        duration_s: f64 = this.loaded.duration.as_secs_f64();
        paths: Vec<&str> = this.loaded.paths.iter().map(|path| path.name.as_str()).collect();
        policies: Vec<String> = this.loaded.compare.policies.iter().map(ToString::to_string).collect();
        seeds: u32 = this.loaded.compare.seeds;
        sha256: String = this.source.sha256(&this.loaded);
    }
}

#[pymethods]
impl Scenario {
    /// Opens a file or a shipped scenario; a file has priority.
    #[staticmethod]
    fn open(py: Python<'_>, argument: PathBuf) -> PyResult<Self> {
        let source = guarded(py, || Source::open(argument))?;
        Self::of(py, Arc::new(source), None, vec![])
    }

    /// Parses a TOML text; its traces are in `folder`.
    #[staticmethod]
    fn text(py: Python<'_>, text: &str, name: &str, folder: Option<PathBuf>) -> PyResult<Self> {
        Self::of(py, Arc::new(Source::text(name, text, folder)), None, vec![])
    }

    /// Builds a scenario from its tables and values, as JSON.
    #[staticmethod]
    fn build(py: Python<'_>, json: &str, name: &str, folder: Option<PathBuf>) -> PyResult<Self> {
        let text = toml_of(py, json).and_then(|value| {
            toml::to_string(&value).map_err(|error| usage(py, &error.to_string(), None))
        })?;
        Self::text(py, &text, name, folder)
    }

    /// A copy with further keys set: dotted keys, and values as JSON.
    fn with_set(&self, py: Python<'_>, set: Vec<(String, String)>) -> PyResult<Self> {
        let mut all = self.set.clone();
        for (key, json) in set {
            all.push((key, toml_of(py, &json)?.to_string()));
        }
        Self::of(py, Arc::clone(&self.source), self.variant.clone(), all)
    }

    /// A variant of it, or the base. Overridden keys have priority over the variant.
    fn with_variant(&self, py: Python<'_>, name: Option<String>) -> PyResult<Self> {
        Self::of(py, Arc::clone(&self.source), name, self.set.clone())
    }

    fn variants(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let variants = guarded(py, || self.source.variants())?;
        Ok(variants.into_iter().map(|variant| variant.name).collect())
    }

    /// Unpickles.
    #[staticmethod]
    fn restore(
        py: Python<'_>,
        name: &str,
        content: Option<&str>,
        folder: Option<PathBuf>,
        variant: Option<String>,
        overrides: Vec<(String, String)>,
    ) -> PyResult<Self> {
        let source = match content {
            Some(text) => Source::text(name, text, folder),
            None => guarded(py, || Source::named(name))?,
        };
        Self::of(py, Arc::new(source), variant, overrides)
    }

    /// The scenario with every default filled in, as TOML that loads again.
    fn show(&self) -> String {
        scenario::show(&self.loaded)
    }

    /// The scenario with every default filled in, as JSON.
    fn json(&self, py: Python<'_>) -> PyResult<String> {
        serde_json::to_string(&self.loaded).map_err(|error| usage(py, &error.to_string(), None))
    }
}

/// Converts a Python value, given as JSON, to TOML.
pub(crate) fn toml_of(py: Python<'_>, json: &str) -> PyResult<toml::Value> {
    let wrong = |error: String| {
        usage(
            py,
            &format!("no value of a scenario: {error}"),
            Some(VALUES),
        )
    };
    let value: serde_json::Value =
        serde_json::from_str(json).map_err(|error| wrong(error.to_string()))?;
    toml::Value::try_from(value).map_err(|error| wrong(error.to_string()))
}

/// Valid values in a scenario, for error messages.
const VALUES: &str =
    "valid values are texts with a unit, numbers, True, False, and lists and dicts of these";

#[pyfunction]
pub(crate) fn shipped() -> Vec<&'static str> {
    SCENARIOS.iter().map(|(name, _)| *name).collect()
}

/// The JSON schema of the scenario file.
#[pyfunction]
pub(crate) fn schema() -> String {
    scenario::schema().to_string()
}

/// The metrics of runs: name, title, unit without a prefix.
#[pyfunction]
pub(crate) fn metrics() -> Vec<(&'static str, &'static str, &'static str)> {
    METRICS
        .iter()
        .map(|metric| (metric.name, metric.title, metric.quantity.base_unit()))
        .collect()
}

/// The named policies.
#[pyfunction]
pub(crate) fn policies() -> Batch {
    let record = |info: &joulepath_control::policy::PolicyInfo| Record {
        fields: vec![
            text("policy", info.name),
            text("title", info.title),
            text("cc", info.cc),
            text("scheduler", info.scheduler),
            text("paper", info.paper),
            text("summary", info.summary),
        ],
    };
    Batch::of_records(&POLICIES.iter().map(record).collect::<Vec<_>>())
}
