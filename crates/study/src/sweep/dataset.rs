//! The folder of a study: a header, and files of rows.
//!
//! ```text
//! sweep/
//!   _study.json                       the study's text, its scenario, the columns, who began it
//!   part-000000000000-4fd2….parquet   rows; the number is the first run's
//!   .lock-8, .lock-8-2                held by who works on parts of eight, and on the second of them
//!   .batches-8-2                      shared by processes that do batches of the second part for its holder
//!   .joulepath-…                      a file that is being written, or was when its writer was killed
//! ```
//!
//! A file of rows gets its name once it is whole and on the disk, and is never changed. Its name follows from
//! the runs in it, so that the same rows written twice are one file.

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
/// Longest header that is read, bytes: a scenario and a study fit.
const MAX_HEADER: u64 = 64 << 20;
/// Under which key a file keeps the indices of its runs.
const RUNS: &str = "joulepath.runs";

/// Rows that a file has at most.
const MOST_ROWS: usize = 50_000;
/// A part of the time so far, and its bounds, after which finished rows become a file: no more is lost by a
/// kill, and a long study is not thousands of files.
const FLUSH_PART: u32 = 50;
const FLUSH: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(60)];

/// What a dataset says of itself.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Header {
    /// Of columns and header.
    pub format: u32,
    /// SHA-256 of all that decides what a run is.
    pub id: String,
    /// For people.
    pub title: String,
    /// The file of the study, as given, and its text.
    pub study: (String, String),
    /// Name and text of the scenario, whether it is a shipped one, and its SHA-256.
    pub scenario: (String, String, bool, String),
    /// How many points there are.
    pub points: u64,
    /// How many runs there are.
    pub runs: u64,
    /// Names of the columns of what varies, in order.
    pub axes: Vec<String>,
    /// Names of all policies, in order.
    pub policies: Vec<String>,
    /// Names of the engines.
    pub engines: Vec<String>,
    /// Names of the scenario's paths.
    pub paths: Vec<String>,
    /// Of all files.
    pub columns: Vec<Column>,
    /// Of the program that began it.
    pub version: String,
    /// Of the program that began it; each row has the commit of its own.
    pub commit: String,
}

impl Header {
    /// Of a study.
    pub(super) fn of(sweep: &Sweep, by: &Provenance) -> Self {
        let source = sweep.source();
        Header {
            format: FORMAT,
            id: sweep.id().to_owned(),
            title: sweep.title().to_owned(),
            study: (sweep.name().to_owned(), sweep.text().to_owned()),
            scenario: (
                source.name().to_owned(),
                source.content().to_owned(),
                source.is_shipped(),
                sweep.scenario_sha256.clone(),
            ),
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

    /// Whether rows of the one study fit into the other's dataset.
    pub(super) fn is_of(&self, there: &Header) -> bool {
        (self.format, &self.id, &self.columns) == (there.format, &there.id, &there.columns)
    }
}

/// A dataset that is read.
pub struct Dataset {
    folder: PathBuf,
    header: Header,
    parts: Vec<PathBuf>,
    done: Ranges,
}

impl Dataset {
    /// Reads the header and which runs there are.
    ///
    /// # Errors
    /// If the folder has no dataset, or a file of it is broken.
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
        Ok(Dataset { folder: folder.to_owned(), header, parts, done })
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What it says of itself.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Its files.
    pub fn parts(&self) -> &[PathBuf] {
        &self.parts
    }

    /// Which runs are there.
    pub fn done(&self) -> &Ranges {
        &self.done
    }

    /// Hands the columns of these names to `each`, file by file.
    pub(super) fn read(&self, names: &[&str], mut each: impl FnMut(Vec<Vec<Field>>)) -> Result<()> {
        for part in &self.parts {
            let file = files::open(part, &reading(part))?;
            each(parquet::decode(file, names).map_err(|error| broken(part, &error))?);
        }
        Ok(())
    }

    /// How many rows the files have together: as many as there are runs, unless two machines without a lock
    /// between them did the same runs.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub fn rows(&self) -> Result<u64> {
        self.parts.iter().try_fold(0, |sum, part| {
            let file = files::open(part, &reading(part))?;
            parquet::rows(file).map(|rows| sum + rows).map_err(|error| broken(part, &error))
        })
    }
}

/// A dataset that rows are added to by one process.
pub struct Writer {
    files: Files,
    done: Ranges,
    rows: Vec<(u64, Row)>,
    began: Instant,
    flushed: Instant,
    /// Held as long as this lives; the system lets go of them when the process ends, however it does.
    _locks: Vec<File>,
}

impl Writer {
    /// Opens the dataset of `sweep` in `folder`, or begins it, for one of its parts.
    ///
    /// # Errors
    /// If the folder holds another study or something else, a file of it is broken, or another process works
    /// on the same part or on a part that overlaps it.
    pub fn open(sweep: &Sweep, folder: &Path, shard: Shard, by: &Provenance) -> Result<Self> {
        files::prepare(&folder.join(HEADER))?;
        let header = Header::of(sweep, by);
        match self::header(folder)? {
            Some(there) if !header.is_of(&there) => return Err(another(folder, &there, &header)),
            Some(_) => {}
            None => begin(folder, &header)?,
        }
        let locks = lock(folder, shard)?;
        // What others have added while this one waited for nothing is read after the lock.
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

    /// Which runs are there, those included that have not become a file yet.
    pub fn done(&self) -> &Ranges {
        &self.done
    }

    /// Adds the row of a run, and makes a file of what there is if it is time to.
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

    /// Makes a file of the rows that are not in one yet.
    ///
    /// # Errors
    /// If it cannot be written; the rows are kept.
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

/// Makes files of rows in a dataset.
pub(super) struct Files {
    folder: PathBuf,
    columns: Vec<Column>,
    about: Vec<(&'static str, String)>,
}

impl Files {
    /// Of the study in `folder`, whose header this is.
    pub(super) fn of(sweep: &Sweep, folder: &Path, header: Header, by: &Provenance) -> Self {
        Files {
            folder: folder.to_owned(),
            columns: sweep.columns().to_vec(),
            about: vec![
                ("joulepath.format", FORMAT.to_string()),
                ("joulepath.study", header.id),
                ("joulepath.scenario_sha256", header.scenario.3),
                ("joulepath.design", format!("{:?}", sweep.spec().design)),
                ("joulepath.version", by.version.clone()),
                ("joulepath.commit", by.commit.clone()),
                ("joulepath.command", by.command.clone()),
            ],
        }
    }

    /// Makes a file of rows, at least one, and puts them into the order of their runs.
    pub(super) fn write(&self, rows: &mut [(u64, Row)]) -> Result<()> {
        rows.sort_by_key(|(run, _)| *run);
        let runs = Ranges::of(rows.iter().map(|(run, _)| *run));
        let rows: Vec<&Row> = rows.iter().map(|(_, row)| row).collect();
        let bytes = file_of(&self.columns, &rows, &runs, &self.about)?;
        let file = self.folder.join(part_name(&runs));
        files::write_bytes(&file, &bytes)?;
        self.name_is_stored().map_err(|error| Error::file(format!("cannot write {}", file.display()), error))
    }

    /// Waits until the name of a new file is on the disk, as the file is.
    fn name_is_stored(&self) -> io::Result<()> {
        if cfg!(unix) { File::open(&self.folder)?.sync_all() } else { Ok(()) }
    }
}

/// The bytes of a file of rows.
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

/// The same for the same runs.
fn part_name(runs: &Ranges) -> String {
    let digest = Sha256::digest(runs.to_string());
    format!("part-{:012}-{}.parquet", runs.first().unwrap_or(0), hex(&digest[..6]))
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
        why: format!("it is no header of a study: {error}"),
        help: "if another version of Joulepath wrote it, use that; otherwise name another folder".to_owned(),
        kind: Kind::Failed,
    })
}

/// The header of a dataset that begins here, if nothing else is here.
fn begin(folder: &Path, header: &Header) -> Result<()> {
    let entries = fs::read_dir(folder).map_err(|error| Error::file(reading(folder), error))?;
    let foreign = entries.flatten().find(|entry| !entry.file_name().to_string_lossy().starts_with('.'));
    if let Some(foreign) = foreign {
        return Err(Error::Refused {
            doing: format!("cannot begin a study in {}", folder.display()),
            why: format!("{} is in it", foreign.file_name().to_string_lossy()),
            help: "name a folder of its own with --out".to_owned(),
            kind: Kind::Failed,
        });
    }
    let text = serde_json::to_string_pretty(header).expect("a header is JSON") + "\n";
    files::write(&folder.join(HEADER), &text)
}

pub(super) fn another(folder: &Path, there: &Header, wanted: &Header) -> Error {
    let what = match () {
        () if there.format != wanted.format || (there.id == wanted.id && there.columns != wanted.columns) => {
            "another version of Joulepath wrote it, with other columns"
        }
        () if there.scenario.3 != wanted.scenario.3 => "its scenario is another one",
        () if there.policies != wanted.policies => "its policies are others",
        () if there.axes != wanted.axes || there.points != wanted.points => "its points are others",
        () => "its points, seeds or engines are others",
    };
    Error::Refused {
        doing: format!("cannot add runs to {}", folder.display()),
        why: format!("it holds another study, \"{}\": {what}", there.title),
        help: "name another folder with --out; or remove this one, and everything is run again".to_owned(),
        kind: Kind::Failed,
    }
}

/// The files of rows, in the order of their first runs.
pub(super) fn parts(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).map_err(|error| Error::file(reading(folder), error))?;
    let mut parts = vec![];
    for entry in entries {
        let name = entry.map_err(|error| Error::file(reading(folder), error))?.file_name();
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
    // Another tool has written it, for example as one file of many.
    let file = files::open(part, &reading(part))?;
    let columns = parquet::decode(file, &[RUN]).map_err(|error| broken(part, &error))?;
    let index = |cell: &Field| if let Field::Count(index) = cell { *index } else { None };
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

/// What the files are called that processes hold while they do a batch of a part.
const BATCHES: &str = ".batches-";

/// Holds the mark that a batch of a part is being done. Where the file system has no locks there is none.
pub(super) fn mark_batch(folder: &Path, shard: Shard) -> Result<File> {
    let path = folder.join(format!("{BATCHES}{}", shard.in_file_name()));
    let file = File::options().read(true).write(true).create(true).truncate(false).open(&path);
    let file = file.map_err(|error| Error::file(format!("cannot write {}", path.display()), error))?;
    let _without_locks = file.lock_shared();
    Ok(file)
}

/// Whether some process does a batch of this part, or of one that overlaps it.
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
        let Some(part) = name.strip_prefix(BATCHES) else { continue };
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

/// Locks a part. Who works on parts of eight shares one lock and holds one of their own; who works on parts
/// of another number looks whether somebody has that. Each takes before it looks, so that of two one sees the
/// other.
fn lock(folder: &Path, shard: Shard) -> Result<Vec<File>> {
    let refused = |what: String| Error::Refused {
        doing: format!("cannot work on part {shard} of the study in {}", folder.display()),
        why: format!("another process works on {what}"),
        help: "wait until that has ended, or take another part of as many".to_owned(),
        kind: Kind::Failed,
    };
    let open = |name: &str| {
        let path = folder.join(name);
        let file = File::options().read(true).write(true).create(true).truncate(false).open(&path);
        file.map_err(|error| Error::file(format!("cannot write {}", path.display()), error))
    };
    // A file system without locks is no reason to do nothing.
    let busy = |outcome: Result<(), TryLockError>| matches!(outcome, Err(TryLockError::WouldBlock));
    let of_all = format!(".lock-{}", shard.of());
    let own = open(&format!("{of_all}-{}", shard.in_file_name()))?;
    if busy(own.try_lock()) {
        return Err(refused("the same part".to_owned()));
    }
    let shared = open(&of_all)?;
    if busy(shared.try_lock_shared()) {
        return Err(refused("parts of another number".to_owned()));
    }
    let entries = fs::read_dir(folder).map_err(|error| Error::file(reading(folder), error))?;
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let other = name.strip_prefix(".lock-").and_then(|of| of.parse::<u64>().ok());
        if let Some(other) = other.filter(|other| *other != shard.of())
            && busy(open(&name)?.try_lock())
        {
            return Err(refused(format!("parts of {other}")));
        }
    }
    if are_batches_under_way(folder, shard)? {
        return Err(refused("batches of it for a cluster whose client has ended".to_owned()));
    }
    Ok(vec![own, shared])
}
