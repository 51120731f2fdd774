//! Finished runs, one JSON line each, written as they finish: what a crash leaves behind.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use joulepath_model::result::{Manifest, RunResult};

use crate::failure::Failure;
use crate::terminal;

/// The journal of one study. The first line is the manifest, every other line a run without its series.
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

    /// How to get the runs again.
    pub(crate) fn begin(&mut self, manifest: &Manifest) {
        self.line(manifest);
    }

    /// One finished run.
    pub(crate) fn add(&mut self, run: &RunResult) {
        self.line(&RunResult { series: None, ..run.clone() });
    }

    /// Appends a line; the first failure is said, and then no more is written: the study goes on.
    fn line(&mut self, value: &impl serde::Serialize) {
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
