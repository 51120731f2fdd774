//! Stores finished runs in a file of JSON lines. An interrupted study can resume, and a crash loses
//! only unfinished runs.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use joulepath_model::result::RunResult;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::files;
use crate::lines::JsonLines;

/// Key of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key<'a> {
    /// SHA-256 of the scenario, from [`crate::source::Source::sha256`].
    pub scenario: &'a str,
    /// Overrides of the scenario, in the order of their application.
    pub overrides: &'a [(String, String)],
    /// Name of the engine.
    pub engine: &'a str,
    /// The policy as the user wrote it.
    pub policy: &'a str,
    /// Seed of the run.
    pub seed: u64,
}

/// An owned key: scenario with overrides, engine, policy, seed.
type Place = (String, String, String, u64);

impl Key<'_> {
    fn place(&self) -> Place {
        let mut scenario = self.scenario.to_owned();
        for (key, value) in self.overrides {
            scenario += &format!("\n{key}={value}");
        }
        (
            scenario,
            self.engine.to_owned(),
            self.policy.to_owned(),
            self.seed,
        )
    }
}

#[derive(Serialize, Deserialize)]
struct Line {
    scenario_sha256: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    overrides: Vec<(String, String)>,
    engine: String,
    /// Commit of the program that did the run.
    commit: String,
    /// Time of the run, s.
    #[serde(default)]
    took_s: f64,
    run: RunResult,
}

/// A finished run.
#[derive(Clone, Debug, PartialEq)]
pub struct Finished {
    /// Its result.
    pub run: RunResult,
    /// Its wall-clock time.
    pub took: Duration,
}

/// Finished runs, and the file that stores new ones. The default stores them in memory only.
#[derive(Default)]
pub struct StoredRuns {
    runs: BTreeMap<Place, Finished>,
    new: Option<JsonLines>,
    /// Commit of this program, stored with each run.
    commit: String,
    foreign: usize,
    /// Whether runs are only written, without series.
    is_log: bool,
}

impl StoredRuns {
    /// Reads `path` if it exists and appends new runs to it. Runs of commits other than `commit`
    /// are used too; [`StoredRuns::note`] reports them.
    ///
    /// # Errors
    /// If the file cannot be read and written, is not a regular file, is in use by another process,
    /// or contains anything but runs.
    pub fn open(path: &Path, commit: &str) -> Result<Self> {
        let (text, file) = files::open_for_appending(path)?;
        // A truncated last line has no end of line.
        let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
        let mut stored = StoredRuns {
            commit: commit.to_owned(),
            ..StoredRuns::default()
        };
        for (number, line) in (1..).zip(whole.lines()) {
            let line: Line = serde_json::from_str(line).map_err(|source| Error::NoRun {
                path: path.to_owned(),
                line: number,
                source,
            })?;
            stored.foreign += usize::from(line.commit != commit);
            stored.runs.insert(line.place(), line.finished());
        }
        let failed =
            |error| Error::file(format!("cannot keep the runs in {}", path.display()), error);
        file.set_len(whole.len() as u64).map_err(failed)?;
        stored.new = Some(JsonLines::new(file, path));
        Ok(stored)
    }

    /// Runs are only written, without series, to a new file next to `output`: `a/b.runs.jsonl` for
    /// `a/b.html`. `None` if `output` is a device or a pipe.
    ///
    /// # Errors
    /// If the file cannot be created or is a symbolic link.
    pub fn beside(output: &Path, commit: &str) -> Result<Option<Self>> {
        if output.metadata().is_ok_and(|metadata| !metadata.is_file()) {
            return Ok(None);
        }
        let path = output.with_extension("runs.jsonl");
        let file = files::create(&path)?;
        Ok(file.map(|file| StoredRuns {
            commit: commit.to_owned(),
            new: Some(JsonLines::new(file, &path)),
            is_log: true,
            ..StoredRuns::default()
        }))
    }

    /// Path of the file.
    pub fn path(&self) -> Option<&Path> {
        self.new.as_ref().map(JsonLines::path)
    }

    /// Note for the user about the runs found, one sentence.
    pub fn note(&self) -> Option<String> {
        let path = self.new.as_ref()?.path().display();
        (self.foreign > 0).then(|| {
            format!(
                "{} of the runs stored in {path} are of another commit of Joulepath; delete the file if \
                 results have changed since",
                self.foreign
            )
        })
    }

    /// The run of `key`, if stored.
    pub fn find(&self, key: &Key<'_>) -> Option<&Finished> {
        self.runs.get(&key.place())
    }

    /// Stores a run. Returns a warning for the user if writing fails.
    pub fn add(&mut self, key: &Key<'_>, finished: &Finished) -> Option<String> {
        let line = Line {
            scenario_sha256: key.scenario.to_owned(),
            overrides: key.overrides.to_vec(),
            engine: key.engine.to_owned(),
            commit: self.commit.clone(),
            took_s: finished.took.as_secs_f64(),
            run: RunResult {
                series: finished.run.series.clone().filter(|_| !self.is_log),
                ..finished.run.clone()
            },
        };
        let note = self.new.as_mut().and_then(|new| new.add(&line));
        if !self.is_log {
            self.runs.insert(key.place(), finished.clone());
        }
        note
    }
}

impl Line {
    fn finished(self) -> Finished {
        Finished {
            took: Duration::try_from_secs_f64(self.took_s).unwrap_or_default(),
            run: self.run,
        }
    }

    fn place(&self) -> Place {
        let key = Key {
            scenario: &self.scenario_sha256,
            overrides: &self.overrides,
            engine: &self.engine,
            policy: &self.run.policy,
            seed: self.run.seed,
        };
        key.place()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::error::Kind;

    fn run(seed: u64) -> RunResult {
        RunResult {
            policy: "mptcp".into(),
            seed,
            ..RunResult::default()
        }
    }

    const TOOK: Duration = Duration::from_millis(1500);

    fn finished(seed: u64) -> Finished {
        Finished {
            run: run(seed),
            took: TOOK,
        }
    }

    fn key(seed: u64) -> Key<'static> {
        Key {
            scenario: "abc",
            overrides: &[],
            engine: "packet",
            policy: "mptcp",
            seed,
        }
    }

    #[test]
    fn runs_are_found_again_even_after_a_truncated_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs.jsonl");
        let open = || StoredRuns::open(&path, "c0ffee").unwrap();
        open().add(&key(1), &finished(1));
        std::fs::OpenOptions::new()
            .append(true)
            .open(&path)
            .unwrap()
            .write_all(b"{\"scen")
            .unwrap();
        let mut stored = open();
        assert_eq!(stored.find(&key(1)), Some(&finished(1)));
        assert_eq!(stored.find(&key(2)), None);
        stored.add(&key(2), &finished(2));
        assert_eq!(stored.find(&key(2)), Some(&finished(2)));
        drop(stored);
        assert_eq!(open().find(&key(2)), Some(&finished(2)));
    }

    #[test]
    fn runs_differ_by_scenario_engine_policy_and_overrides() {
        let mut stored = StoredRuns::default();
        stored.add(&key(1), &finished(1));
        let set = [("path.wifi.loss".to_owned(), "2 %".to_owned())];
        for other in [
            Key {
                scenario: "def",
                ..key(1)
            },
            Key {
                overrides: &set,
                ..key(1)
            },
            Key {
                engine: "kernel",
                ..key(1)
            },
            Key {
                policy: "dts",
                ..key(1)
            },
        ] {
            assert_eq!(stored.find(&other), None, "{other:?}");
        }
        assert!(stored.find(&key(1)).is_some());
    }

    #[test]
    fn numbers_are_stored_to_the_last_bit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs.jsonl");
        // Reading such numbers exactly needs more than 64 bits.
        let numbers = (1..500).map(|i| f64::from(i).sqrt() * 1e-7 * f64::from(i).powi(7));
        let exact = RunResult {
            connections_bps: numbers.collect(),
            ..run(1)
        };
        StoredRuns::open(&path, "c0ffee").unwrap().add(
            &key(1),
            &Finished {
                run: exact.clone(),
                took: TOOK,
            },
        );
        assert_eq!(
            StoredRuns::open(&path, "c0ffee")
                .unwrap()
                .find(&key(1))
                .map(|found| &found.run),
            Some(&exact)
        );
    }

    #[test]
    fn other_files_are_refused_with_the_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs.jsonl");
        std::fs::write(&path, "{\"title\": 1}\n").unwrap();
        let error = StoredRuns::open(&path, "c0ffee").err().unwrap();
        assert_eq!(
            (error.kind(), error.to_string().contains("line 1 of")),
            (Kind::Failed, true),
            "{error}"
        );
        assert_eq!(
            std::fs::read_to_string(&path).unwrap(),
            "{\"title\": 1}\n",
            "the file stays unchanged"
        );
    }

    #[test]
    fn runs_of_another_commit_are_used_with_a_note() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs.jsonl");
        let mut stored = StoredRuns::open(&path, "c0ffee").unwrap();
        stored.add(&key(1), &finished(1));
        drop(stored);
        let same = StoredRuns::open(&path, "c0ffee").unwrap();
        assert_eq!(same.note(), None);
        drop(same);
        let other = StoredRuns::open(&path, "decade").unwrap();
        assert!(
            other.note().unwrap().starts_with("1 of the runs"),
            "{:?}",
            other.note()
        );
        assert!(other.find(&key(1)).is_some());
    }

    #[test]
    fn two_processes_do_not_write_to_one_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs.jsonl");
        let first = StoredRuns::open(&path, "c0ffee").unwrap();
        let error = StoredRuns::open(&path, "c0ffee").err().unwrap();
        assert!(error.to_string().contains("another process"), "{error}");
        drop(first);
        StoredRuns::open(&path, "c0ffee").unwrap();
    }
}
