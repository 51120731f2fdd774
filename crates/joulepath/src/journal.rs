//! Finished runs, one JSON line each, written as they finish: what a crash leaves behind.

use std::fs::File;
use std::path::Path;

use joulepath_model::result::{Manifest, RunResult, ScenarioRef};
use serde::Serialize;

use crate::failure::Failure;
use crate::json_lines::JsonLines;

/// The journal of a session. A line with scenario and manifest, then a line for each of its runs, without series; then the next
/// variant's.
pub(crate) struct Journal {
    lines: JsonLines,
}

impl Journal {
    /// Starts a journal beside `output`: `a/b.html` has `a/b.runs.jsonl`. A device or a pipe has none.
    ///
    /// # Errors
    /// If the file cannot be created: better now than after the study.
    pub(crate) fn beside(output: &Path) -> Result<Option<Self>, Failure> {
        if output.metadata().is_ok_and(|metadata| !metadata.is_file()) {
            return Ok(None);
        }
        let path = output.with_extension("runs.jsonl");
        let file = File::create(&path)
            .map_err(|error| Failure::io(format!("cannot write the runs to {}", path.display()), error))?;
        Ok(Some(Journal { lines: JsonLines::new(file, &path) }))
    }

    /// What the runs below are of, and how to get them again.
    pub(crate) fn begin(&mut self, scenario: &ScenarioRef, manifest: &Manifest) {
        #[derive(Serialize)]
        struct Head<'a> {
            scenario: &'a ScenarioRef,
            manifest: &'a Manifest,
        }
        self.lines.add(&Head { scenario, manifest });
    }

    /// One finished run.
    pub(crate) fn add(&mut self, run: &RunResult) {
        self.lines.add(&RunResult { series: None, ..run.clone() });
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        self.lines.path()
    }
}
