//! The folder of a study: a header and files of rows.
//!
//! ```text
//! sweep/
//!   _study.json                       text, scenario and columns of the study, and its creator
//!   part-000000000000-4fd2….parquet   rows; the number is the first run's
//!   .lock-8, .lock-8-2                locks of processes on parts of eight, and of the second part
//!   .batches-8-2                      shared by processes that do batches of the second part
//!   .joulepath-…                      a temporary file; stays if its writer is killed
//! ```
//!
//! A file of rows gets its name when it is complete and on disk, and never changes. The name
//! depends only on the runs in it, so that writing the same rows twice gives one file.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use joulepath_model::result::Provenance;
use joulepath_report::Field;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::parquet::{self, Column, Row};
use super::plan::{FORMAT, RUN, Sweep};
use super::ranges::Ranges;
use super::shard::Shard;
use crate::digest::hex;
use crate::error::{Error, Kind, Result};
use crate::files::{self, By};

const HEADER: &str = "_study.json";
/// Maximum size of a header, bytes.
const MAX_HEADER: u64 = 64 << 20;
/// Key in a file's metadata for the indices of its runs.
const RUNS: &str = "joulepath.runs";

/// Maximum number of rows of a file.
const MOST_ROWS: usize = 50_000;
/// Interval after which finished rows become a file, as a fraction of the elapsed time, and its
/// bounds. Limits the loss when a process is killed, without thousands of files for a long study.
const FLUSH_PART: u32 = 50;
const FLUSH: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(60)];

/// A study as given. Serde also reads it as a list of its fields, as earlier versions wrote it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StudyFile {
    /// File name.
    pub name: String,
    /// Content of the file.
    pub text: String,
}

/// A scenario as given. Serde also reads it as a list of its fields, as earlier versions wrote it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ScenarioFile {
    /// Name of a shipped scenario or of a file.
    pub name: String,
    /// Content of the file.
    pub text: String,
    /// True for a shipped scenario.
    pub is_shipped: bool,
    /// SHA-256 of the scenario.
    pub sha256: String,
}

/// Header of a dataset.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Header {
    /// Version of the format of columns and header.
    pub format: u32,
    /// SHA-256 of everything that defines the runs.
    pub id: String,
    /// Title for readers.
    pub title: String,
    /// The study as given.
    pub study: StudyFile,
    /// The scenario as given.
    pub scenario: ScenarioFile,
    /// Number of points.
    pub points: u64,
    /// Number of runs.
    pub runs: u64,
    /// Column names of the varied keys, in order.
    pub axes: Vec<String>,
    /// Names of all policies, in order.
    pub policies: Vec<String>,
    /// Names of the engines.
    pub engines: Vec<String>,
    /// Names of the scenario's paths.
    pub paths: Vec<String>,
    /// Columns of all files.
    pub columns: Vec<Column>,
    /// Version of the program that created it.
    pub version: String,
    /// Commit of the program that created it. Each row has the commit of its own run.
    pub commit: String,
}

impl Header {
    /// Header for a study.
    pub(super) fn of(sweep: &Sweep, by: &Provenance) -> Self {
        let source = sweep.source();
        Header {
            format: FORMAT,
            id: sweep.id().to_owned(),
            title: sweep.title().to_owned(),
            study: StudyFile {
                name: sweep.name().to_owned(),
                text: sweep.text().to_owned(),
            },
            scenario: ScenarioFile {
                name: source.name().to_owned(),
                text: source.content().to_owned(),
                is_shipped: source.is_shipped(),
                sha256: sweep.scenario_sha256.clone(),
            },
            points: sweep.points(),
            runs: sweep.runs(),
            axes: sweep.axis_columns(),
            policies: sweep.policies().iter().map(ToString::to_string).collect(),
            engines: sweep.engines().into_iter().map(str::to_owned).collect(),
            paths: sweep.paths.clone(),
            columns: sweep.columns().to_vec(),
            version: by.version.clone(),
            commit: by.commit.clone(),
        }
    }

    /// Whether both headers belong to one study.
    pub(super) fn is_of(&self, there: &Header) -> bool {
        (self.format, &self.id, &self.columns) == (there.format, &there.id, &there.columns)
    }
}

/// A dataset for reading.
pub struct Dataset {
    folder: PathBuf,
    header: Header,
    parts: Vec<PathBuf>,
    done: Ranges,
}

impl Dataset {
    /// Reads the header and the indices of the finished runs.
    ///
    /// # Errors
    /// If the folder has no dataset, or one of its files is broken.
    pub fn open(folder: &Path) -> Result<Self> {
        let header = header(folder)?.ok_or_else(|| {
            Error::usage(format!("there is no study in {}", folder.display()))
                .with_help("name the folder that `joulepath study FILE` filled")
        })?;
        let parts = parts(folder)?;
        let mut done = Ranges::default();
        for part in &parts {
            done.extend(&runs_of(part)?);
        }
        Ok(Dataset {
            folder: folder.to_owned(),
            header,
            parts,
            done,
        })
    }

    /// Folder of the dataset.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Header of the dataset.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Its files of rows.
    pub fn parts(&self) -> &[PathBuf] {
        &self.parts
    }

    /// Indices of the finished runs.
    pub fn done(&self) -> &Ranges {
        &self.done
    }

    /// Passes the columns with these names to `each`, file by file.
    pub(super) fn read(&self, names: &[&str], mut each: impl FnMut(Vec<Vec<Field>>)) -> Result<()> {
        for part in &self.parts {
            let file = files::open(part, &reading(part))?;
            each(parquet::decode(file, names).map_err(|error| broken(part, &error))?);
        }
        Ok(())
    }

    /// Total number of rows in the files. It exceeds the number of runs only if two machines
    /// without a shared lock did the same runs.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub fn rows(&self) -> Result<u64> {
        self.parts.iter().try_fold(0, |sum, part| {
            let file = files::open(part, &reading(part))?;
            parquet::rows(file)
                .map(|rows| sum + rows)
                .map_err(|error| broken(part, &error))
        })
    }
}

/// A dataset to which a single process adds rows.
pub struct Writer {
    files: Files,
    done: Ranges,
    rows: Vec<(u64, Row)>,
    began: Instant,
    flushed: Instant,
    /// Locks held as long as this value lives. The system releases them when the process ends.
    _locks: Vec<File>,
}

impl Writer {
    /// Opens the dataset of `sweep` in `folder` for one of its parts; creates it if missing.
    ///
    /// # Errors
    /// If the folder holds another study or other files, a file is broken, or another process works
    /// on an overlapping part.
    pub fn open(sweep: &Sweep, folder: &Path, shard: Shard, by: &Provenance) -> Result<Self> {
        files::prepare(&folder.join(HEADER))?;
        let header = Header::of(sweep, by);
        match self::header(folder)? {
            Some(there) if !header.is_of(&there) => return Err(another(folder, &there, &header)),
            Some(_) => {}
            None => begin(folder, &header)?,
        }
        let locks = lock(folder, shard)?;
        // Other processes may have added runs before this one got the lock.
        let done = Dataset::open(folder)?.done;
        let now = Instant::now();
        Ok(Writer {
            files: Files::of(sweep, folder, header, by),
            done,
            rows: vec![],
            began: now,
            flushed: now,
            _locks: locks,
        })
    }

    /// Indices of the finished runs, including those that are not in a file yet.
    pub fn done(&self) -> &Ranges {
        &self.done
    }

    /// Adds the row of a run, and writes a file when it is due.
    pub(super) fn add(&mut self, run: u64, row: Row) -> Result<()> {
        if self.done.contains(run) {
            return Ok(());
        }
        self.done.insert(run, run + 1);
        self.rows.push((run, row));
        let wait = (self.began.elapsed() / FLUSH_PART).clamp(FLUSH[0], FLUSH[1]);
        if self.rows.len() >= MOST_ROWS || self.flushed.elapsed() >= wait {
            self.flush()?;
        }
        Ok(())
    }

    /// Writes the remaining rows to a file.
    ///
    /// # Errors
    /// If the file cannot be written; the rows are kept.
    pub fn flush(&mut self) -> Result<()> {
        self.flushed = Instant::now();
        if self.rows.is_empty() {
            return Ok(());
        }
        self.files.write(&mut self.rows)?;
        self.rows.clear();
        Ok(())
    }
}

/// Writes files of rows into a dataset.
pub(super) struct Files {
    folder: PathBuf,
    columns: Vec<Column>,
    about: Vec<(&'static str, String)>,
}

impl Files {
    /// Files of the study in `folder` with this header.
    pub(super) fn of(sweep: &Sweep, folder: &Path, header: Header, by: &Provenance) -> Self {
        Files {
            folder: folder.to_owned(),
            columns: sweep.columns().to_vec(),
            about: vec![
                ("joulepath.format", FORMAT.to_string()),
                ("joulepath.study", header.id),
                ("joulepath.scenario_sha256", header.scenario.sha256),
                ("joulepath.design", format!("{:?}", sweep.spec().design)),
                ("joulepath.version", by.version.clone()),
                ("joulepath.commit", by.commit.clone()),
                ("joulepath.command", by.command.clone()),
            ],
        }
    }

    /// Writes at least one row to a file, in the order of the runs.
    pub(super) fn write(&self, rows: &mut [(u64, Row)]) -> Result<()> {
        rows.sort_by_key(|(run, _)| *run);
        let runs = Ranges::of(rows.iter().map(|(run, _)| *run));
        let rows: Vec<&Row> = rows.iter().map(|(_, row)| row).collect();
        let bytes = file_of(&self.columns, &rows, &runs, &self.about)?;
        let file = self.folder.join(part_name(&runs));
        files::write_bytes(&file, &bytes)?;
        self.name_is_stored()
            .map_err(|error| Error::file(format!("cannot write {}", file.display()), error))
    }

    /// Syncs the name of a new file to disk, as its content is already.
    fn name_is_stored(&self) -> io::Result<()> {
        if cfg!(unix) {
            File::open(&self.folder)?.sync_all()
        } else {
            Ok(())
        }
    }
}

/// Bytes of a file of rows.
fn file_of(
    columns: &[Column],
    rows: &[&Row],
    runs: &Ranges,
    about: &[(&'static str, String)],
) -> Result<Vec<u8>> {
    let mut about = about.to_vec();
    about.push((RUNS, runs.to_string()));
    parquet::encode(columns, rows, &about).map_err(|error| Error::Refused {
        doing: "cannot make a file of rows".to_owned(),
        why: error.to_string(),
        help: "this is a defect of Joulepath: please report it with the study".to_owned(),
        kind: Kind::Failed,
    })
}

/// Name of a file of rows, a function of its runs.
fn part_name(runs: &Ranges) -> String {
    let digest = Sha256::digest(runs.to_string());
    format!(
        "part-{:012}-{}.parquet",
        runs.first().unwrap_or(0),
        hex(&digest[..6])
    )
}

/// The header, if there is one.
pub(super) fn header(folder: &Path) -> Result<Option<Header>> {
    let file = folder.join(HEADER);
    let is_missing = |kind| matches!(kind, io::ErrorKind::NotFound | io::ErrorKind::NotADirectory);
    let bytes = match files::read_named(&file, By::File, MAX_HEADER, &reading(&file)) {
        Err(Error::File { source, .. }) if is_missing(source.kind()) => return Ok(None),
        content => content?.bytes,
    };
    serde_json::from_slice(&bytes).map(Some).map_err(|error| Error::Refused {
        doing: reading(&file),
        why: format!("it is not the header of a study: {error}"),
        help: "if another version of Joulepath wrote it, use that version; otherwise name another folder"
            .to_owned(),
        kind: Kind::Failed,
    })
}

/// Writes the header of a new dataset into a folder without other files.
fn begin(folder: &Path, header: &Header) -> Result<()> {
    let entries = fs::read_dir(folder).map_err(|error| Error::file(reading(folder), error))?;
    let foreign = entries
        .flatten()
        .find(|entry| !entry.file_name().to_string_lossy().starts_with('.'));
    if let Some(foreign) = foreign {
        return Err(Error::Refused {
            doing: format!("cannot begin a study in {}", folder.display()),
            why: format!("{} is in it", foreign.file_name().to_string_lossy()),
            help: "name an empty folder with --out".to_owned(),
            kind: Kind::Failed,
        });
    }
    let text = serde_json::to_string_pretty(header).expect("a header is JSON") + "\n";
    files::write(&folder.join(HEADER), &text)
}

pub(super) fn another(folder: &Path, there: &Header, wanted: &Header) -> Error {
    let what = match () {
        () if there.format != wanted.format
            || (there.id == wanted.id && there.columns != wanted.columns) =>
        {
            "another version of Joulepath wrote it, with other columns"
        }
        () if there.scenario.sha256 != wanted.scenario.sha256 => "its scenario differs",
        () if there.policies != wanted.policies => "its policies differ",
        () if there.axes != wanted.axes || there.points != wanted.points => "its points differ",
        () => "its points, seeds or engines differ",
    };
    Error::Refused {
        doing: format!("cannot add runs to {}", folder.display()),
        why: format!("it holds another study, \"{}\": {what}", there.title),
        help: "name another folder with --out, or remove this one to run everything again"
            .to_owned(),
        kind: Kind::Failed,
    }
}

/// Files of rows in the order of their first runs.
pub(super) fn parts(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).map_err(|error| Error::file(reading(folder), error))?;
    let mut parts = vec![];
    for entry in entries {
        let name = entry
            .map_err(|error| Error::file(reading(folder), error))?
            .file_name();
        let text = name.to_string_lossy();
        if text.starts_with("part-") && text.ends_with(".parquet") {
            parts.push(folder.join(name));
        }
    }
    parts.sort();
    Ok(parts)
}

/// The first run of a file of rows, from its name.
pub(super) fn first_run(part: &Path) -> Option<u64> {
    let name = part.file_name()?.to_str()?;
    name.strip_prefix("part-")?.split('-').next()?.parse().ok()
}

pub(super) fn runs_of(part: &Path) -> Result<Ranges> {
    let file = files::open(part, &reading(part))?;
    let text = parquet::about(file, RUNS).map_err(|error| broken(part, &error))?;
    if let Some(runs) = text.as_deref().and_then(Ranges::parse) {
        return Ok(runs);
    }
    // Another tool has written it, for example by merging files.
    let file = files::open(part, &reading(part))?;
    let columns = parquet::decode(file, &[RUN]).map_err(|error| broken(part, &error))?;
    let index = |cell: &Field| {
        if let Field::Count(index) = cell {
            *index
        } else {
            None
        }
    };
    Ok(Ranges::of(columns[0].iter().filter_map(index)))
}

pub(super) fn reading(file: &Path) -> String {
    format!("cannot read {}", file.display())
}

pub(super) fn broken(part: &Path, error: &::parquet::errors::ParquetError) -> Error {
    Error::Refused {
        doing: reading(part),
        why: format!("it is broken: {error}"),
        help: "move it away: `joulepath study` then does its runs again".to_owned(),
        kind: Kind::Failed,
    }
}

/// Prefix of the files that processes lock while they do a batch of a part.
const BATCHES: &str = ".batches-";

/// Marks that a batch of a part is in progress. Does nothing on a file system without locks.
pub(super) fn mark_batch(folder: &Path, shard: Shard) -> Result<File> {
    let path = folder.join(format!("{BATCHES}{}", shard.in_file_name()));
    let file = File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(&path);
    let file =
        file.map_err(|error| Error::file(format!("cannot write {}", path.display()), error))?;
    let _without_locks = file.lock_shared();
    Ok(file)
}

/// Whether a process does a batch of this part or of an overlapping one.
///
/// # Errors
/// If the folder cannot be read.
pub fn are_batches_under_way(folder: &Path, shard: Shard) -> Result<bool> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        entries => entries.map_err(|error| Error::file(reading(folder), error))?,
    };
    let own = shard.in_file_name();
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(part) = name.strip_prefix(BATCHES) else {
            continue;
        };
        let of_as_many = part.ends_with(&format!("-of-{}", shard.of()));
        if of_as_many && part != own {
            continue;
        }
        let file = File::options().read(true).write(true).open(entry.path());
        let file = file.map_err(|error| Error::file(reading(&entry.path()), error))?;
        if matches!(file.try_lock(), Err(TryLockError::WouldBlock)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Locks a part. Processes that divide the study by eight share one lock, and each holds the lock
/// of its part; processes with another divisor check that shared lock. Each locks before it checks,
/// so that one of two notices the other.
fn lock(folder: &Path, shard: Shard) -> Result<Vec<File>> {
    let refused = |what: String| Error::Refused {
        doing: format!(
            "cannot work on part {shard} of the study in {}",
            folder.display()
        ),
        why: format!("another process works on {what}"),
        help: "wait until it ends, or use another part with the same divisor".to_owned(),
        kind: Kind::Failed,
    };
    let open = |name: &str| {
        let path = folder.join(name);
        let file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path);
        file.map_err(|error| Error::file(format!("cannot write {}", path.display()), error))
    };
    // Continue on file systems without locks.
    let busy = |outcome: Result<(), TryLockError>| matches!(outcome, Err(TryLockError::WouldBlock));
    let of_all = format!(".lock-{}", shard.of());
    let own = open(&format!("{of_all}-{}", shard.in_file_name()))?;
    if busy(own.try_lock()) {
        return Err(refused("the same part".to_owned()));
    }
    let shared = open(&of_all)?;
    if busy(shared.try_lock_shared()) {
        return Err(refused("parts with another divisor".to_owned()));
    }
    let entries = fs::read_dir(folder).map_err(|error| Error::file(reading(folder), error))?;
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let other = name
            .strip_prefix(".lock-")
            .and_then(|of| of.parse::<u64>().ok());
        if let Some(other) = other.filter(|other| *other != shard.of())
            && busy(open(&name)?.try_lock())
        {
            return Err(refused(format!("parts of {other}")));
        }
    }
    if are_batches_under_way(folder, shard)? {
        return Err(refused(
            "batches of it for a cluster whose client has ended".to_owned(),
        ));
    }
    Ok(vec![own, shared])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_earlier_versions_have_lists_for_study_and_scenario() {
        let old = r#"["home.toml", "title = \"home\"", false, "4fd2"]"#;
        let scenario: ScenarioFile = serde_json::from_str(old).unwrap();
        assert_eq!(
            (&*scenario.name, scenario.is_shipped, &*scenario.sha256),
            ("home.toml", false, "4fd2")
        );
        let new = serde_json::to_string(&scenario).unwrap();
        assert!(new.starts_with(r#"{"name":"home.toml","text":"#), "{new}");
        let again: ScenarioFile = serde_json::from_str(&new).unwrap();
        assert_eq!(again.text, scenario.text);
    }
}
