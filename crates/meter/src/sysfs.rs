//! Numbers and words in files below a root that stands for `/sys`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::{Error, Kind, Result};

/// A file tree in the layout of `/sys`. Tests use recorded and synthetic trees.
#[derive(Clone, Debug)]
pub struct Tree {
    root: PathBuf,
}

impl Tree {
    /// The tree at `root`: `/sys` on a real machine.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Tree { root: root.into() }
    }

    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.root.join(below)
    }

    /// Sorted names in a folder; empty if it does not exist.
    pub(crate) fn list(&self, below: &str) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.path(below)) else {
            return Vec::new();
        };
        let names = entries.filter_map(io::Result::ok);
        let mut names: Vec<String> = names
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    pub(crate) fn has(&self, below: &str) -> bool {
        self.path(below).exists()
    }

    /// The trimmed text of a file, if readable.
    pub(crate) fn word(&self, below: &str) -> Option<String> {
        fs::read_to_string(self.path(below))
            .ok()
            .map(|text| text.trim().to_owned())
    }

    pub(crate) fn integer(&self, below: &str) -> Result<i64> {
        integer(&self.path(below))
    }
}

pub(crate) fn integer(path: &Path) -> Result<i64> {
    let text = fs::read_to_string(path)
        .map_err(|error| Error::io(format!("cannot read {}", path.display()), &error))?;
    let text = text.trim();
    text.parse().map_err(|_| {
        let shown: String = text.chars().take(40).collect();
        Error::new(
            Kind::Failed,
            format!("{} contains `{shown}`, not a number", path.display()),
        )
    })
}
