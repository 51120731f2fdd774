//! Log of runs of sealed scenarios: time, commit, work and result. Each line holds the SHA-256 of
//! the line before it, so that a changed, deleted or inserted line breaks the chain. A run has a
//! reason unless it is the first with a result at its commit and all runs before it have results. A
//! log is for one generation of scenarios.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use joulepath_model::calendar::Day;
use joulepath_model::policy::Policy;
use joulepath_report::benchmark::Sealed;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::plan::Plan;
use super::scenarios::GENERATION;
use crate::digest::hex;
use crate::error::{Error, Kind, Result};
use crate::files::{self, By};

/// Maximum size of a log, bytes.
const MAX_BYTES: u64 = 64 << 20;
/// Predecessor of the first line.
const FIRST: &str = "none";

/// Start or end of a run of sealed scenarios.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    /// SHA-256 of the preceding line, or `none`.
    before: String,
    /// UTC.
    date: String,
    commit: String,
    /// Generation of the random scenarios; lines without it mean 1.
    #[serde(default = "first_generation")]
    generation: u64,
    families: Vec<String>,
    /// Number of the first scenario; lines without it mean 1.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    first: u32,
    /// Scenarios of each family.
    draws: u32,
    seeds: Option<u32>,
    policies: Vec<String>,
    warm: Vec<String>,
    /// Whether the portfolio runs, too, and the runs of the search on each scenario.
    #[serde(default)]
    oracle: bool,
    #[serde(default)]
    search: u32,
    /// Why it runs although this commit has a result, or an earlier start has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// SHA-256 of the result as JSON; `None` in the line that starts a run.
    result_sha256: Option<String>,
}

fn one() -> u32 {
    1
}

fn first_generation() -> u64 {
    1
}

fn is_one(number: &u32) -> bool {
    *number == 1
}

impl Line {
    /// Whether both lines belong to one run: the same work at the same commit.
    fn is_of(&self, other: &Line) -> bool {
        let work = |line: &Line| {
            let line = line.clone();
            let draws = (line.first, line.draws);
            let compared = (line.policies, line.warm, line.oracle, line.search);
            (
                line.commit,
                line.generation,
                line.families,
                draws,
                line.seeds,
                compared,
            )
        };
        work(self) == work(other)
    }
}

/// The log during a run.
#[derive(Debug)]
pub struct SealedLog {
    path: PathBuf,
    lines: Vec<(String, Line)>,
    begun: Line,
    sealed: Sealed,
}

impl SealedLog {
    /// Logs at `path` that the program of `commit` starts to run `plan`; creates a missing log.
    /// Resumes a run of the same plan at this commit that did not end.
    ///
    /// # Errors
    /// Without a reason to run `again`: if sealed scenarios were completed at this commit, or if an
    /// earlier start has neither a result nor a later run with a reason. If the program does not
    /// come from a commit; if the log is of another generation, was tampered with or cannot be
    /// written.
    pub fn begin(
        path: &Path,
        plan: &Plan,
        commit: &str,
        date: &str,
        again: Option<&str>,
    ) -> Result<Self> {
        if commit.ends_with("-dirty") || commit == "unknown" {
            return Err(Error::usage(format!(
                "sealed scenarios are for a commit, and this program is `{commit}`"
            ))
            .with_help("commit the changes, build that commit and run it; or use --random check"));
        }
        let lines = read(path)?;
        if let Some((_, line)) = lines.iter().find(|(_, line)| line.generation != GENERATION) {
            return Err(Error::usage(format!(
                "{} is the log of generation {}, and these scenarios are of generation {GENERATION}",
                path.display(),
                line.generation
            ))
            .with_help("keep that log under another name, and start a new one"));
        }
        let names = |policies: &[Policy]| {
            policies
                .iter()
                .map(Policy::to_string)
                .collect::<Vec<String>>()
        };
        let begun = Line {
            before: lines
                .last()
                .map_or_else(|| FIRST.to_owned(), |(text, _)| sha256(text)),
            date: date.to_owned(),
            commit: commit.to_owned(),
            generation: GENERATION,
            families: plan
                .families
                .iter()
                .map(|family| family.name().to_owned())
                .collect(),
            first: plan.first,
            draws: plan.scenarios,
            seeds: plan.asked_seeds,
            policies: names(&plan.policies),
            warm: names(&plan.warm),
            oracle: plan.has_oracle,
            search: plan.search,
            reason: again.map(str::to_owned),
            result_sha256: None,
        };
        let finished = lines
            .iter()
            .filter(|(_, line)| line.result_sha256.is_some());
        let (earlier, here) = (
            finished.clone().count(),
            finished.filter(|(_, line)| line.commit == commit).count(),
        );
        let open = open_starts(&lines);
        let resumed = open
            .iter()
            .rev()
            .find(|&&place| lines[place].1.is_of(&begun))
            .copied();
        let others = || open.iter().filter(|&&place| Some(place) != resumed);
        // A later run with a reason accounts for the starts before it.
        let explained = lines
            .iter()
            .rposition(|(_, line)| line.reason.is_some())
            .unwrap_or(0);
        let unexplained = others()
            .find(|&&place| place >= explained)
            .map(|&place| &lines[place].1);
        if resumed.is_none() && again.is_none() {
            refuse(commit, here, unexplained)?;
        }
        let mut log = SealedLog {
            path: path.to_owned(),
            sealed: Sealed {
                date: begun.date.clone(),
                commit: begun.commit.clone(),
                entry: String::new(),
                earlier,
                earlier_here: here,
                without_result: others().count(),
                reason: resumed
                    .map_or(&begun, |place| &lines[place].1)
                    .reason
                    .clone(),
            },
            lines,
            begun: begun.clone(),
        };
        match resumed {
            Some(place) => {
                let (text, line) = &log.lines[place];
                (log.sealed.entry, log.sealed.date) = (sha256(text), line.date.clone());
            }
            None => log.sealed.entry = log.add(begun)?,
        }
        Ok(log)
    }

    /// Entry for the result.
    pub fn sealed(&self) -> Sealed {
        self.sealed.clone()
    }

    /// Logs the end of the run with its result.
    ///
    /// # Errors
    /// If the log cannot be written.
    pub fn end(mut self, result: &str, date: &str) -> Result<()> {
        let before = self
            .lines
            .last()
            .map_or_else(|| FIRST.to_owned(), |(text, _)| sha256(text));
        let result_sha256 = Some(sha256(result));
        self.add(Line {
            before,
            date: date.to_owned(),
            result_sha256,
            ..self.begun.clone()
        })
        .map(drop)
    }

    /// Appends a line and returns its SHA-256.
    fn add(&mut self, line: Line) -> Result<String> {
        let text = serde_json::to_string(&line).expect("a line holds texts and numbers");
        let sum = sha256(&text);
        self.lines.push((text, line));
        let whole: String = self
            .lines
            .iter()
            .map(|(text, _)| format!("{text}\n"))
            .collect();
        files::write(&self.path, &whole)?;
        Ok(sum)
    }
}

/// Places of the starts that no later line ends. A line with a result ends the latest start of its
/// work.
fn open_starts(lines: &[(String, Line)]) -> Vec<usize> {
    let mut open: Vec<usize> = vec![];
    for (place, (_, line)) in lines.iter().enumerate() {
        match line.result_sha256 {
            None => open.push(place),
            Some(_) => {
                let its = open.iter().rposition(|&start| lines[start].1.is_of(line));
                its.map(|index| open.remove(index));
            }
        }
    }
    open
}

/// Refuses to run without a reason if this commit has results, or if a start is `unexplained`.
fn refuse(commit: &str, results_here: usize, unexplained: Option<&Line>) -> Result<()> {
    let why = match (results_here, unexplained) {
        (0, None) => return Ok(()),
        (0, Some(line)) => format!(
            "the run of {} at commit {} has no result",
            line.date, line.commit
        ),
        _ => format!("sealed scenarios were run at commit {commit} already"),
    };
    Err(Error::usage(why)
        .with_help("--again 'REASON' runs them; the log and the tables give the reason"))
}

/// Lines of the log, each with its text; empty if there is no log.
fn read(path: &Path) -> Result<Vec<(String, Line)>> {
    let doing = format!("cannot use the log of sealed runs {}", path.display());
    if !path.exists() {
        files::prepare(path)?;
        return Ok(vec![]);
    }
    let bytes = files::read_named(path, By::File, MAX_BYTES, &doing)?.bytes;
    let refused = |why: String| Error::Refused {
        doing: doing.clone(),
        why,
        help: "restore the committed log from the repository; lines are only ever appended"
            .to_owned(),
        kind: Kind::Failed,
    };
    let text = String::from_utf8(bytes).map_err(|_| refused("it is not UTF-8 text".to_owned()))?;
    let mut before = FIRST.to_owned();
    let mut lines = vec![];
    for (index, text) in text.lines().enumerate() {
        let number = index + 1;
        let line: Line = serde_json::from_str(text)
            .map_err(|error| refused(format!("line {number} is not an entry: {error}")))?;
        if line.before != before {
            return Err(refused(format!(
                "line {number} does not follow from the line before: the log was changed"
            )));
        }
        before = sha256(text);
        lines.push((text.to_owned(), line));
    }
    Ok(lines)
}

fn sha256(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes()))
}

/// Formats an instant as ISO 8601, UTC, to the second; instants before 1970 become its first.
pub fn day_and_time(instant: SystemTime) -> String {
    let seconds = instant
        .duration_since(UNIX_EPOCH)
        .unwrap_or(Duration::ZERO)
        .as_secs();
    let date = Day::of(i64::try_from(seconds).unwrap_or(i64::MAX)).date();
    let of_day = seconds % 86_400;
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    format!("{date}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests;
