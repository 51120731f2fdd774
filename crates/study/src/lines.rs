//! A file of JSON lines to which runs are added as they finish.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::Serialize;

/// Interval between syncs to disk: bounds the loss when the machine crashes.
const SYNC_EVERY: Duration = Duration::from_secs(1);

/// An open file. Writing stops at the first failure.
pub(crate) struct JsonLines {
    file: Option<File>,
    path: PathBuf,
    synced: Instant,
}

impl JsonLines {
    /// Writes lines at the current position of `file`, which was opened from `path`.
    pub(crate) fn new(file: File, path: &Path) -> Self {
        JsonLines {
            file: Some(file),
            path: path.to_owned(),
            synced: Instant::now(),
        }
    }

    /// Appends a line. Returns the first failure as a sentence for the user and writes nothing
    /// afterwards, so that the runs continue.
    pub(crate) fn add(&mut self, value: &impl Serialize) -> Option<String> {
        let written = self.write(value);
        written.err().map(|error| {
            self.file = None;
            format!(
                "finished runs are no longer stored in {}: {error}",
                self.path.display()
            )
        })
    }

    fn write(&mut self, value: &impl Serialize) -> io::Result<()> {
        let Some(file) = &mut self.file else {
            return Ok(());
        };
        let line = serde_json::to_string(value)? + "\n";
        file.write_all(line.as_bytes())?;
        if self.synced.elapsed() > SYNC_EVERY {
            file.sync_data()?;
            self.synced = Instant::now();
        }
        Ok(())
    }

    /// Path of the file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for JsonLines {
    /// Syncs the last lines to disk.
    fn drop(&mut self) {
        if let Some(file) = &self.file {
            let _ = file.sync_data();
        }
    }
}
