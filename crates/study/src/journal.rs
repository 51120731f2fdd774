//! Journal of a comparison: finished runs as JSON lines, written as they finish, so that they
//! survive a crash.

use std::path::Path;

use joulepath_model::result::{Manifest, RunResult, ScenarioRef};
use serde::Serialize;

use crate::error::Result;
use crate::files;
use crate::lines::JsonLines;

/// Journal of a session: for each variant, a line with scenario and manifest, then a line for each
/// run, without series.
pub struct Journal {
    lines: JsonLines,
}

impl Journal {
    /// Starts a journal next to `output`: `a/b.runs.jsonl` for `a/b.html`. Replaces an earlier one.
    /// `None` if `output` is a device or a pipe.
    ///
    /// # Errors
    /// If the file cannot be created or is a symbolic link; checked before the study.
    pub fn beside(output: &Path) -> Result<Option<Self>> {
        // A device or a pipe has no place for a journal next to it.
        if output.metadata().is_ok_and(|metadata| !metadata.is_file()) {
            return Ok(None);
        }
        let path = output.with_extension("runs.jsonl");
        let file = files::create(&path)?;
        Ok(file.map(|file| Journal {
            lines: JsonLines::new(file, &path),
        }))
    }

    /// Writes the origin of the following runs and how to repeat them. Returns a warning for the
    /// user if that fails.
    pub(crate) fn begin(&mut self, scenario: &ScenarioRef, manifest: &Manifest) -> Option<String> {
        #[derive(Serialize)]
        struct Head<'a> {
            scenario: &'a ScenarioRef,
            manifest: &'a Manifest,
        }
        self.lines.add(&Head { scenario, manifest })
    }

    /// Writes a finished run. Returns a warning for the user if that fails.
    pub(crate) fn add(&mut self, run: &RunResult) -> Option<String> {
        self.lines.add(&RunResult {
            series: None,
            ..run.clone()
        })
    }

    /// Path of the journal.
    pub fn path(&self) -> &Path {
        self.lines.path()
    }
}
