//! Finished runs of the kernel engine in a file, one JSON line each.

use std::fs::OpenOptions;
use std::io;
use std::path::Path;

use joulepath_model::result::RunResult;
use serde::{Deserialize, Serialize};

use crate::failure::{Exit, Failure};
use crate::json_lines::JsonLines;

/// Which run it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key<'a> {
    /// SHA-256 of the scenario.
    pub(crate) scenario: &'a str,
    pub(crate) policy: &'a str,
    pub(crate) seed: u64,
}

#[derive(Serialize, Deserialize)]
struct Line {
    scenario_sha256: String,
    run: RunResult,
}

/// What has been run before, and where new runs go.
#[derive(Default)]
pub(crate) struct Kept {
    lines: Vec<Line>,
    new: Option<JsonLines>,
}

impl Kept {
    /// Reads `path` if it exists; new runs are appended.
    ///
    /// # Errors
    /// If it cannot be used, or holds something else.
    pub(crate) fn open(path: &Path) -> Result<Self, Failure> {
        let io = |error| Failure::io(format!("cannot keep the runs in {}", path.display()), error);
        let text = match std::fs::read_to_string(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            text => text.map_err(io)?,
        };
        // What was cut off in mid-write has no end of line.
        let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
        let line = |(number, line): (usize, &str)| {
            serde_json::from_str(line).map_err(|error| {
                Failure::new(Exit::Failed, error).help(format!(
                    "line {} of {} is no run; name another file",
                    number + 1,
                    path.display()
                ))
            })
        };
        let lines = whole.lines().enumerate().map(line).collect::<Result<_, _>>()?;
        let file = OpenOptions::new().create(true).append(true).open(path).map_err(io)?;
        file.set_len(whole.len() as u64).map_err(io)?;
        Ok(Kept { lines, new: Some(JsonLines::new(file, path)) })
    }

    pub(crate) fn find(&self, key: &Key<'_>) -> Option<&RunResult> {
        let found = self.lines.iter().find(|line| {
            line.scenario_sha256 == key.scenario && line.run.policy == key.policy && line.run.seed == key.seed
        });
        found.map(|line| &line.run)
    }

    /// Appends a run.
    pub(crate) fn add(&mut self, key: &Key<'_>, run: &RunResult) {
        if let Some(new) = &mut self.new {
            new.add(&Line { scenario_sha256: key.scenario.to_owned(), run: run.clone() });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn run(seed: u64) -> RunResult {
        RunResult { policy: "mptcp".into(), seed, ..RunResult::default() }
    }

    #[test]
    fn a_run_is_found_again_even_behind_one_that_was_cut_off() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs.jsonl");
        let key = |seed| Key { scenario: "abc", policy: "mptcp", seed };
        Kept::open(&path).unwrap().add(&key(1), &run(1));
        std::fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"scen").unwrap();
        let mut kept = Kept::open(&path).unwrap();
        assert_eq!(kept.find(&key(1)), Some(&run(1)));
        assert_eq!(kept.find(&key(2)), None);
        assert_eq!(kept.find(&Key { scenario: "def", ..key(1) }), None);
        kept.add(&key(2), &run(2));
        assert_eq!(Kept::open(&path).unwrap().find(&key(2)), Some(&run(2)));
    }
}
