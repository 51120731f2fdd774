//! What made a stored row, and whether the same still stands.

use serde::{Deserialize, Serialize};

/// Digits that identify a commit.
const DIGITS: usize = 12;

/// The program, the files and the engine that made a row.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Made {
    /// Commit of the program.
    pub commit: String,
    /// Hash of the row's findings, set-up and scenarios; for a search with the box.
    pub set_up: String,
    /// Hash of the engine's stored results for these scenarios and policies; empty for a row
    /// without runs.
    pub engine: String,
    /// Changes since then that the reader of the stored results has found.
    #[serde(skip)]
    pub since: Since,
}

/// What has changed since a row was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Since {
    /// Nothing.
    #[default]
    Same,
    /// Results of the engine.
    Engine,
    /// The row, its set-up or a scenario.
    SetUp,
}

impl Made {
    /// For example `commit 0123456789ab; results of the engine have changed since`.
    pub fn words(&self) -> String {
        let since = match self.since {
            Since::Same => "",
            Since::Engine => "; results of the engine have changed since",
            Since::SetUp => "; its set-up has changed since",
        };
        format!("commit {}{since}", self.short_commit())
    }

    /// The first digits of the commit.
    pub(crate) fn short_commit(&self) -> &str {
        self.commit.get(..DIGITS).unwrap_or(&self.commit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_names_its_commit_and_what_has_changed_since() {
        let made = |since| Made {
            commit: "0123456789abcdef".to_owned(),
            since,
            ..Made::default()
        };
        assert_eq!(made(Since::Same).words(), "commit 0123456789ab");
        assert_eq!(
            made(Since::SetUp).words(),
            "commit 0123456789ab; its set-up has changed since"
        );
        assert!(
            made(Since::Engine)
                .words()
                .ends_with("; results of the engine have changed since")
        );
    }
}
