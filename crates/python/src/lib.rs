//! Joulepath for Python: the private module `joulepath._joulepath`.
//!
//! | module | what |
//! |---|---|
//! | `scenario` | scenarios for Python |
//! | `study` | studies, their datasets, batches for a cluster |
//! | `comparison`, `plane`, `advice`, `explanation` | functions of `joulepath_study`, and their results |
//! | `benchmark`, `reproduction` | policies on families of scenarios, the papers' claims |
//! | `gym` | environments for reinforcement learning |
//! | `own` | users' controllers as C headers |
//! | `hosted` | parts of policies as Python classes |
//! | `attributes` | a macro for classes with many attributes |
//! | `batch` | tables over the Arrow PyCapsule interface |
//! | `watched` | long work: frees the interpreter, handles Ctrl-C, reports progress |
//! | `raised` | errors as Python exceptions |
//! | `stored` | pickled results |
//! | `provenance` | version, commit and command of results |
//!
//! It only converts: `joulepath_study` and lower crates compute, and users see the typed Python
//! package `python/joulepath`.

mod advice;
mod attributes;
mod batch;
mod benchmark;
mod bill;
mod comparison;
mod explanation;
mod gym;
mod hosted;
mod own;
mod plane;
mod provenance;
mod raised;
mod reproduction;
mod scenario;
mod stored;
mod study;
mod watched;

use pyo3::prelude::*;

/// The private module.
///
/// It needs the interpreter's lock: views of `hosted` point to the engine's memory, and only the
/// thread that holds the lock may use them. Free-threaded builds of Python enable their lock for
/// such a module.
#[pymodule(gil_used = true)]
mod _joulepath {
    #[pymodule_export]
    use crate::advice::{Advice, advise};
    #[pymodule_export]
    use crate::batch::Batch;
    #[pymodule_export]
    use crate::benchmark::{Benchmark, benchmark};
    #[pymodule_export]
    use crate::bill::bill;
    #[pymodule_export]
    use crate::comparison::{Comparison, compare, references};
    #[pymodule_export]
    use crate::explanation::{controllers, explain};
    #[pymodule_export]
    use crate::gym::{GymEnvironment, GymFleet, GymSpec, gym_features, gym_score, split_policies};
    #[pymodule_export]
    use crate::hosted::{Ack, Backlog, PathView, Subflow};
    #[pymodule_export]
    use crate::hosted::{host_allocator, host_controller, host_scheduler, host_selector};
    #[pymodule_export]
    use crate::own::{check_controller, controller_template, load_controller, part_names};
    #[pymodule_export]
    use crate::plane::{Map, map};
    #[pymodule_export]
    use crate::reproduction::{Reproduction, experiments, reproduce};
    #[pymodule_export]
    use crate::scenario::{Scenario, metrics, policies, schema, shipped};
    #[pymodule_export]
    use crate::study::{Batches, Dataset, Study};

    use std::collections::BTreeMap;

    use joulepath_model::visible::Colors;
    use pyo3::prelude::*;
    use serde_json::{Value, json};

    use crate::provenance::{COMMIT, VERSION};

    /// A foreign text for a terminal, with control characters made visible.
    #[pyfunction]
    fn visible(text: &str) -> String {
        joulepath_model::visible::visible(text, Colors::Shown).into_owned()
    }

    /// The options of requests, by function.
    #[pyfunction]
    fn options() -> BTreeMap<&'static str, Vec<String>> {
        use joulepath_study as study;

        let names = |request: Value| match request {
            Value::Object(fields) => fields.into_iter().map(|(name, _)| name).collect(),
            _ => vec![],
        };
        let requests = [
            ("advise", json!(study::advise::Words::default())),
            ("benchmark", json!(study::benchmark::Request::default())),
            ("bill", json!(study::bill::Words::default())),
            ("compare", json!(study::compare::Request::default())),
            ("map", json!(study::map::Request::default())),
        ];
        requests
            .map(|(name, request)| (name, names(request)))
            .into()
    }

    /// Values that cannot be exported by name.
    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("VERSION", VERSION)?;
        module.add("COMMIT", COMMIT)
    }
}
