//! Finished runs in a file, one JSON line each: what was begun can be gone on with, and a crash loses only what was under way.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io;
use std::path::Path;
use std::time::Duration;

use joulepath_model::result::RunResult;
use serde::{Deserialize, Serialize};

use crate::failure::{Exit, Failure};
use crate::json_lines::JsonLines;
use crate::terminal;

/// Which run it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key<'a> {
    /// SHA-256 of the scenario, as [`crate::source::Source::sha256`] gives it.
    pub(crate) scenario: &'a str,
    /// What is set in it, in the order in which it is set.
    pub(crate) overrides: &'a [(String, String)],
    /// Name of the engine.
    pub(crate) engine: &'a str,
    /// As the user wrote it.
    pub(crate) policy: &'a str,
    /// The run's seed.
    pub(crate) seed: u64,
}

/// A key of its own: scenario with overrides, engine, policy, seed.
type Place = (String, String, String, u64);

impl Key<'_> {
    fn place(&self) -> Place {
        let mut scenario = self.scenario.to_owned();
        for (key, value) in self.overrides {
            scenario += &format!("\n{key}={value}");
        }
        (scenario, self.engine.to_owned(), self.policy.to_owned(), self.seed)
    }
}

#[derive(Serialize, Deserialize)]
struct Line {
    scenario_sha256: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    overrides: Vec<(String, String)>,
    engine: String,
    /// Of the program that did the run.
    commit: String,
    /// Time that it took, s.
    #[serde(default)]
    took_s: f64,
    run: RunResult,
}

/// A finished run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Finished {
    pub(crate) run: RunResult,
    /// Time that it took, on the wall.
    pub(crate) took: Duration,
}

/// What has been run before, and where new runs go. The default keeps them only as long as it lives.
#[derive(Default)]
pub(crate) struct Kept {
    runs: BTreeMap<Place, Finished>,
    new: Option<JsonLines>,
}

impl Kept {
    /// Reads `path` if it exists; new runs are appended. Runs of another commit count, and that is said.
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
        let mut kept = Kept::default();
        let mut strange = 0;
        for (number, line) in whole.lines().enumerate() {
            let line: Line = serde_json::from_str(line).map_err(|error| {
                Failure::new(Exit::Failed, error).help(format!(
                    "line {} of {} is no run; name another file",
                    number + 1,
                    path.display()
                ))
            })?;
            strange += usize::from(line.commit != env!("JOULEPATH_COMMIT"));
            kept.runs.insert(line.place(), line.finished());
        }
        if strange > 0 {
            terminal::tell(&format!(
                "note: {strange} of the runs kept in {} are of another commit of Joulepath; delete the file if results have changed since",
                path.display()
            ));
        }
        let file = OpenOptions::new().create(true).append(true).open(path).map_err(io)?;
        file.set_len(whole.len() as u64).map_err(io)?;
        kept.new = Some(JsonLines::new(file, path));
        Ok(kept)
    }

    /// The run of `key`, if it has been done.
    pub(crate) fn find(&self, key: &Key<'_>) -> Option<&Finished> {
        self.runs.get(&key.place())
    }

    /// Keeps a run that took so long.
    pub(crate) fn add(&mut self, key: &Key<'_>, run: &RunResult, took: Duration) {
        let line = Line {
            scenario_sha256: key.scenario.to_owned(),
            overrides: key.overrides.to_vec(),
            engine: key.engine.to_owned(),
            commit: env!("JOULEPATH_COMMIT").to_owned(),
            took_s: took.as_secs_f64(),
            run: run.clone(),
        };
        if let Some(new) = &mut self.new {
            new.add(&line);
        }
        self.runs.insert(key.place(), line.finished());
    }
}

impl Line {
    fn finished(self) -> Finished {
        Finished { took: Duration::try_from_secs_f64(self.took_s).unwrap_or_default(), run: self.run }
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

    fn run(seed: u64) -> RunResult {
        RunResult { policy: "mptcp".into(), seed, ..RunResult::default() }
    }

    const TOOK: Duration = Duration::from_millis(1500);

    fn finished(seed: u64) -> Finished {
        Finished { run: run(seed), took: TOOK }
    }

    fn key(seed: u64) -> Key<'static> {
        Key { scenario: "abc", overrides: &[], engine: "packet", policy: "mptcp", seed }
    }

    #[test]
    fn a_run_is_found_again_even_behind_one_that_was_cut_off() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs.jsonl");
        Kept::open(&path).unwrap().add(&key(1), &run(1), TOOK);
        std::fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"scen").unwrap();
        let mut kept = Kept::open(&path).unwrap();
        assert_eq!(kept.find(&key(1)), Some(&finished(1)));
        assert_eq!(kept.find(&key(2)), None);
        kept.add(&key(2), &run(2), TOOK);
        assert_eq!(kept.find(&key(2)), Some(&finished(2)));
        assert_eq!(Kept::open(&path).unwrap().find(&key(2)), Some(&finished(2)));
    }

    #[test]
    fn another_scenario_engine_policy_or_change_is_another_run() {
        let mut kept = Kept::default();
        kept.add(&key(1), &run(1), TOOK);
        let set = [("path.wifi.loss".to_owned(), "2 %".to_owned())];
        for other in [
            Key { scenario: "def", ..key(1) },
            Key { overrides: &set, ..key(1) },
            Key { engine: "kernel", ..key(1) },
            Key { policy: "dts", ..key(1) },
        ] {
            assert_eq!(kept.find(&other), None, "{other:?}");
        }
        assert!(kept.find(&key(1)).is_some());
    }

    #[test]
    fn numbers_come_back_to_the_last_bit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs.jsonl");
        // Reading such numbers to the nearest needs more than 64 bits.
        let numbers = (1..500).map(|i| f64::from(i).sqrt() * 1e-7 * f64::from(i).powi(7));
        let exact = RunResult { connections_bps: numbers.collect(), ..run(1) };
        Kept::open(&path).unwrap().add(&key(1), &exact, TOOK);
        assert_eq!(Kept::open(&path).unwrap().find(&key(1)).map(|kept| &kept.run), Some(&exact));
    }

    #[test]
    fn a_file_of_something_else_is_told_with_its_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs.jsonl");
        std::fs::write(&path, "{\"title\": 1}\n").unwrap();
        assert_eq!(Kept::open(&path).err().map(|failure| failure.exit()), Some(Exit::Failed));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "{\"title\": 1}\n", "it is left as it was");
    }
}
