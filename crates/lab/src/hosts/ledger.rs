//! Which labs run on this machine.
//!
//! A lab's init writes one file into `/run/joulepath/labs` and holds a lock on it for as long as it lives. A
//! file without a lock is that of a lab whose init was killed: the kernel has ended its processes by then, so
//! that only the file is left to remove. Locks mean the same in every process namespace that shares `/run`;
//! process numbers do not.
//!
//! A file is named by the boot and by the cookie of the client's network namespace. The kernel gives a cookie
//! once in a boot, and an inode number of a namespace again and again.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use joulepath_kernel::error::Doing;
use joulepath_kernel::namespace::{Cookie, Namespace};
use joulepath_kernel::state::{State as Folder, boot_id};
use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags, flock, fstat, openat, unlinkat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::processes::{self, Identity, Kind, Process};
use crate::error::Result;

/// The folder in `/run/joulepath`.
const FOLDER: &str = "labs";

/// What a file says.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Record {
    /// The lab's name.
    pub(super) id: String,
    /// Its scenario.
    pub(super) title: String,
    boot: String,
    /// Of both network namespaces.
    cookies: [Cookie; 2],
}

impl Record {
    pub(super) fn new(title: &str, [client, server]: [&Namespace; 2]) -> Result<Self> {
        let cookies = [client.cookie()?, server.cookie()?];
        Ok(Record { id: cookies[0].to_string(), title: title.to_owned(), boot: boot_id()?, cookies })
    }

    fn file_name(&self) -> String {
        format!("{}-{}.json", self.boot, self.id)
    }
}

/// A lab's file, locked; it is removed when the value is dropped.
#[derive(Debug)]
pub(super) struct Entry {
    folder: Folder,
    name: String,
    _locked: File,
}

impl Entry {
    /// # Errors
    /// If the folder or the file cannot be made.
    pub(super) fn new(record: &Record) -> Result<Self> {
        let folder = Folder::open()?.folder(FOLDER)?;
        let name = record.file_name();
        let text = serde_json::to_vec(record).map_err(io::Error::from).doing("writing the ledger of labs")?;
        let doing = || format!("writing {}", folder.path().join(&name).display());
        let mut file = locked(&folder, &name).doing(doing())?;
        file.write_all(&text).doing(doing())?;
        Ok(Entry { folder, name, _locked: file })
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        // A file that stays is removed by the next lab.
        let _ = unlinkat(&self.folder, &self.name, AtFlags::empty());
    }
}

/// A new file that this process has locked.
fn locked(folder: &Folder, name: &str) -> io::Result<File> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::TRUNC | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    loop {
        let file = File::from(openat(folder, name, flags, Mode::RUSR | Mode::WUSR)?);
        flock(&file, FlockOperation::LockExclusive)?;
        // Between the two lines above another lab may have found it without a lock, and removed it.
        if is_linked(&file)? {
            return Ok(file);
        }
    }
}

/// Whether a file still has a name.
fn is_linked(file: &File) -> io::Result<bool> {
    Ok(fstat(file)?.st_nlink > 0)
}

/// What [`clean`] has found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Clean {
    /// Labs that run. Nothing of them was touched.
    pub running: Vec<Running>,
    /// Labs of which only the file was left. It was removed.
    pub removed: Vec<Removed>,
}

/// A lab that runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Running {
    /// The lab's name.
    pub id: String,
    /// Its scenario.
    pub title: String,
}

/// A lab that ended together with the process that should have cleared up after it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Removed {
    /// The lab's name.
    pub id: String,
    /// Its scenario.
    pub title: String,
    /// Processes of others that are inside its network namespaces, which live until these have ended. They
    /// were left alone.
    pub holders: Vec<Process>,
}

/// Looks which labs run, and removes the files of those that do not. No process is touched.
///
/// # Errors
/// If the folder cannot be read, or a file cannot be removed.
pub fn clean() -> Result<Clean> {
    let mut found = Clean::default();
    let Some(folder) = Folder::existing()? else { return Ok(found) };
    let folder = folder.folder(FOLDER)?;
    for name in folder.names()? {
        let path = folder.path().join(&name);
        match State::of(&folder, &name).doing(format!("looking at {}", path.display()))? {
            State::Running(record) => {
                found.running.push(Running { id: record.id, title: record.title });
            }
            State::Left { record, locked } => {
                unlinkat(&folder, &name, AtFlags::empty()).doing(format!("removing {}", path.display()))?;
                drop(locked);
                found.removed.extend(record.map(Removed::of));
            }
            State::Changing => {}
        }
    }
    Ok(found)
}

/// What a file in the folder stands for.
enum State {
    Running(Record),
    /// It is nobody's. While it is locked nobody else takes it for his own.
    Left {
        record: Option<Record>,
        locked: File,
    },
    /// It is being written, or is gone again.
    Changing,
}

/// Largest record that is read, bytes. More is none of ours.
const LARGEST_BYTES: u64 = 1 << 20;

impl State {
    fn of(folder: &Folder, name: &str) -> io::Result<Self> {
        // A named pipe that somebody has put there does not make us wait.
        let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match openat(folder, name, flags, Mode::empty()) {
            Err(Errno::NOENT) => return Ok(State::Changing),
            file => File::from(file?),
        };
        let lock = flock(&file, FlockOperation::NonBlockingLockExclusive);
        let mut text = String::new();
        (&file).take(LARGEST_BYTES).read_to_string(&mut text)?;
        let record = serde_json::from_str(&text).ok();
        match lock {
            Ok(()) if !is_linked(&file)? => Ok(State::Changing),
            Ok(()) => Ok(State::Left { record, locked: file }),
            Err(Errno::WOULDBLOCK) => Ok(record.map_or(State::Changing, State::Running)),
            Err(errno) => Err(errno.into()),
        }
    }
}

impl Removed {
    fn of(record: Record) -> Self {
        let holders = match boot_id() {
            Ok(boot) if boot == record.boot => in_namespaces(&record.cookies),
            _ => vec![],
        };
        Removed { id: record.id, title: record.title, holders }
    }
}

/// Processes in the network namespaces that have these cookies.
fn in_namespaces(cookies: &[Cookie]) -> Vec<Process> {
    let mut wanted: BTreeMap<Identity, bool> = BTreeMap::new();
    for pid in processes::all() {
        let pid = pid.to_string();
        let Ok(identity) = Identity::of_process(&pid, Kind::Network) else { continue };
        wanted.entry(identity).or_insert_with(|| {
            let namespace = Namespace::at(Path::new(&format!("/proc/{pid}/ns/net")));
            namespace.is_ok_and(|namespace| namespace.cookie().is_ok_and(|cookie| cookies.contains(&cookie)))
        });
    }
    let wanted: Vec<Identity> =
        wanted.into_iter().filter(|(_, is_wanted)| *is_wanted).map(|(id, _)| id).collect();
    if wanted.is_empty() { vec![] } else { processes::inside(&wanted, Kind::Network) }
}
