//! Finished runs of a comparison, one JSON line each, written as they finish: what a crash leaves.

use std::path::Path;

use joulepath_model::result::{Manifest, RunResult, ScenarioRef};
use serde::Serialize;

use crate::error::Result;
use crate::files;
use crate::lines::JsonLines;

/// The journal of a session: a line with scenario and manifest, then a line for each of its runs, without
/// series; then the next variant's.
pub struct Journal {
    lines: JsonLines,
}

impl Journal {
    /// Starts a journal beside `output`: `a/b.html` has `a/b.runs.jsonl`. It takes the place of an earlier
    /// one; where there is a device or a pipe, there is no journal.
    ///
    /// # Errors
    /// If the file cannot be created or is a symbolic link: now rather than after the study.
    pub fn beside(output: &Path) -> Result<Option<Self>> {
        // What is no file has no place beside it.
        if output.metadata().is_ok_and(|metadata| !metadata.is_file()) {
            return Ok(None);
        }
        let path = output.with_extension("runs.jsonl");
        let file = files::create(&path)?;
        Ok(file.map(|file| Journal { lines: JsonLines::new(file, &path) }))
    }

    /// What the runs below are of, and how to get them again. Returned is what the user has to know if it
    /// could not be written.
    pub(crate) fn begin(&mut self, scenario: &ScenarioRef, manifest: &Manifest) -> Option<String> {
        #[derive(Serialize)]
        struct Head<'a> {
            scenario: &'a ScenarioRef,
            manifest: &'a Manifest,
        }
        self.lines.add(&Head { scenario, manifest })
    }

    /// One finished run. Returned is what the user has to know if it could not be written.
    pub(crate) fn add(&mut self, run: &RunResult) -> Option<String> {
        self.lines.add(&RunResult { series: None, ..run.clone() })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.lines.path()
    }
}
