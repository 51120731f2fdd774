//! A file that runs are added to as they finish, one line of JSON each.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::terminal;

/// An open file, until a write fails.
pub(crate) struct JsonLines {
    file: Option<File>,
    path: PathBuf,
}

impl JsonLines {
    /// Lines are written where `file`, opened from `path`, stands.
    pub(crate) fn new(file: File, path: &Path) -> Self {
        JsonLines { file: Some(file), path: path.to_owned() }
    }

    /// Appends a line; the first failure is said, and then no more is written: the runs go on.
    pub(crate) fn add(&mut self, value: &impl Serialize) {
        let Some(file) = &mut self.file else { return };
        let written = serde_json::to_string(value)
            .map_err(io::Error::from)
            .and_then(|line| file.write_all((line + "\n").as_bytes()));
        if let Err(error) = written {
            terminal::say(&format!(
                "warning: finished runs are no longer kept in {}: {error}",
                self.path.display()
            ));
            self.file = None;
        }
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}
