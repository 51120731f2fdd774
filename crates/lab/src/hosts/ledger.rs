//! The labs that run on this machine.
//!
//! A lab's init creates a file in `/run/joulepath/labs` and locks it for its lifetime. An unlocked
//! file belongs to a lab whose init was killed: the kernel has killed its processes, and only the
//! file is left. Locks are valid across process namespaces that share `/run`; process ids are not.
//!
//! A file's name consists of the boot id and the cookie of the client's network namespace. The
//! kernel uses a cookie once per boot, but reuses a namespace's inode number.

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

/// Contents of a file.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Record {
    /// The lab's name.
    pub(super) id: String,
    /// Its scenario.
    pub(super) title: String,
    boot: String,
    /// Cookies of both network namespaces.
    cookies: [Cookie; 2],
}

impl Record {
    pub(super) fn new(title: &str, [client, server]: [&Namespace; 2]) -> Result<Self> {
        let cookies = [client.cookie()?, server.cookie()?];
        Ok(Record {
            id: cookies[0].to_string(),
            title: title.to_owned(),
            boot: boot_id()?,
            cookies,
        })
    }

    fn file_name(&self) -> String {
        format!("{}-{}.json", self.boot, self.id)
    }
}

/// A lab's locked file. Dropping the value removes it.
#[derive(Debug)]
pub(super) struct Entry {
    folder: Folder,
    name: String,
    _locked: File,
}

impl Entry {
    /// # Errors
    /// If the folder or the file cannot be created.
    pub(super) fn new(record: &Record) -> Result<Self> {
        let folder = Folder::open()?.folder(FOLDER)?;
        let name = record.file_name();
        let text = serde_json::to_vec(record)
            .map_err(io::Error::from)
            .doing("writing the ledger of labs")?;
        let doing = || format!("writing {}", folder.path().join(&name).display());
        let mut file = locked(&folder, &name).doing(doing())?;
        file.write_all(&text).doing(doing())?;
        Ok(Entry {
            folder,
            name,
            _locked: file,
        })
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        // A file that stays is removed by the next lab.
        let _ = unlinkat(&self.folder, &self.name, AtFlags::empty());
    }
}

/// Creates a file and locks it.
fn locked(folder: &Folder, name: &str) -> io::Result<File> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::TRUNC | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    loop {
        let file = File::from(openat(folder, name, flags, Mode::RUSR | Mode::WUSR)?);
        flock(&file, FlockOperation::LockExclusive)?;
        // Between the two lines above another lab may have found the file unlocked and removed it.
        if is_linked(&file)? {
            return Ok(file);
        }
    }
}

/// True if a file still has a name.
fn is_linked(file: &File) -> io::Result<bool> {
    Ok(fstat(file)?.st_nlink > 0)
}

/// Result of [`clean`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Clean {
    /// Labs that run. They are untouched.
    pub running: Vec<Running>,
    /// Labs of which only the file was left, which was removed.
    pub removed: Vec<Removed>,
}

/// A running lab.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Running {
    /// The lab's name.
    pub id: String,
    /// Its scenario.
    pub title: String,
}

/// A lab whose init was killed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Removed {
    /// The lab's name.
    pub id: String,
    /// Its scenario.
    pub title: String,
    /// Foreign processes in its network namespaces, which exist until these processes end. They are
    /// untouched.
    pub holders: Vec<Process>,
}

/// Lists the running labs, and removes the files of labs that no longer run. Kills no process.
///
/// # Errors
/// If the folder cannot be read, or a file cannot be removed.
pub fn clean() -> Result<Clean> {
    let mut found = Clean::default();
    let Some(folder) = Folder::existing()? else {
        return Ok(found);
    };
    let folder = folder.folder(FOLDER)?;
    for name in folder.names()? {
        let path = folder.path().join(&name);
        match State::of(&folder, &name).doing(format!("checking {}", path.display()))? {
            State::Running(record) => {
                found.running.push(Running {
                    id: record.id,
                    title: record.title,
                });
            }
            State::Left { record, locked } => {
                unlinkat(&folder, &name, AtFlags::empty())
                    .doing(format!("removing {}", path.display()))?;
                drop(locked);
                found.removed.extend(record.map(Removed::of));
            }
            State::Changing => {}
        }
    }
    Ok(found)
}

/// State of a file in the folder.
enum State {
    Running(Record),
    /// It is unlocked, so its lab has ended. Locking it keeps others from removing it.
    Left {
        record: Option<Record>,
        locked: File,
    },
    /// It is being written or has just been removed.
    Changing,
}

/// Size limit of a record, bytes. A larger file is not ours.
const LARGEST_BYTES: u64 = 1 << 20;

impl State {
    fn of(folder: &Folder, name: &str) -> io::Result<Self> {
        // NONBLOCK: a named pipe must not block.
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
            Ok(()) => Ok(State::Left {
                record,
                locked: file,
            }),
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
        Removed {
            id: record.id,
            title: record.title,
            holders,
        }
    }
}

/// Processes in the network namespaces with these cookies.
fn in_namespaces(cookies: &[Cookie]) -> Vec<Process> {
    let mut wanted: BTreeMap<Identity, bool> = BTreeMap::new();
    for pid in processes::all() {
        let pid = pid.to_string();
        let Ok(identity) = Identity::of_process(&pid, Kind::Network) else {
            continue;
        };
        wanted.entry(identity).or_insert_with(|| {
            let namespace = Namespace::at(Path::new(&format!("/proc/{pid}/ns/net")));
            namespace.is_ok_and(|namespace| {
                namespace
                    .cookie()
                    .is_ok_and(|cookie| cookies.contains(&cookie))
            })
        });
    }
    let wanted: Vec<Identity> = wanted
        .into_iter()
        .filter(|(_, is_wanted)| *is_wanted)
        .map(|(id, _)| id)
        .collect();
    if wanted.is_empty() {
        vec![]
    } else {
        processes::inside(&wanted, Kind::Network)
    }
}
