//! A file that runs are added to as they finish, one line of JSON each.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::Serialize;

/// Time between two times that the disk is told to keep what was written: a crash of the machine loses no
/// more than this.
const SYNC_EVERY: Duration = Duration::from_secs(1);

/// An open file, until a write fails.
pub(crate) struct JsonLines {
    file: Option<File>,
    path: PathBuf,
    synced: Instant,
}

impl JsonLines {
    /// Lines are written where `file`, opened from `path`, stands.
    pub(crate) fn new(file: File, path: &Path) -> Self {
        JsonLines { file: Some(file), path: path.to_owned(), synced: Instant::now() }
    }

    /// Appends a line. The first failure is returned as a sentence for the user, and after it nothing more is
    /// written: the runs go on.
    pub(crate) fn add(&mut self, value: &impl Serialize) -> Option<String> {
        let written = self.write(value);
        written.err().map(|error| {
            self.file = None;
            format!("finished runs are no longer stored in {}: {error}", self.path.display())
        })
    }

    fn write(&mut self, value: &impl Serialize) -> io::Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        let line = serde_json::to_string(value)? + "\n";
        file.write_all(line.as_bytes())?;
        if self.synced.elapsed() > SYNC_EVERY {
            file.sync_data()?;
            self.synced = Instant::now();
        }
        Ok(())
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for JsonLines {
    /// What was written last reaches the disk, too.
    fn drop(&mut self) {
        if let Some(file) = &self.file {
            let _ = file.sync_data();
        }
    }
}
