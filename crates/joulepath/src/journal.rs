//! Finished runs, one JSON line each, written as they finish: what a crash leaves behind.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use joulepath_model::result::{Manifest, RunResult, ScenarioRef};
use serde::Serialize;

use crate::failure::Failure;
use crate::terminal;

/// The journal of a session. A line with scenario and manifest, then a line for each of its runs, without series; then the next
/// variant's.
pub(crate) struct Journal {
    file: File,
    path: PathBuf,
    broken: bool,
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
        Ok(Some(Journal { file, path, broken: false }))
    }

    /// What the runs below are of, and how to get them again.
    pub(crate) fn begin(&mut self, scenario: &ScenarioRef, manifest: &Manifest) {
        #[derive(Serialize)]
        struct Head<'a> {
            scenario: &'a ScenarioRef,
            manifest: &'a Manifest,
        }
        self.line(&Head { scenario, manifest });
    }

    /// One finished run.
    pub(crate) fn add(&mut self, run: &RunResult) {
        self.line(&RunResult { series: None, ..run.clone() });
    }

    /// Appends a line; the first failure is said, and then no more is written: the study goes on.
    fn line(&mut self, value: &impl Serialize) {
        if self.broken {
            return;
        }
        let written = serde_json::to_string(value)
            .map_err(io::Error::from)
            .and_then(|line| self.file.write_all((line + "\n").as_bytes()));
        if let Err(error) = written {
            self.broken = true;
            terminal::say(&format!(
                "warning: finished runs are no longer kept in {}: {error}",
                self.path.display()
            ));
        }
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}
