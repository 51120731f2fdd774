//! Follows paths folder by folder, with descriptors.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::fs::{
    AtFlags, CWD, FileType, FlockOperation, Gid, Mode, OFlags, Stat, Uid, fchmod, fchown, flock,
    fstat, mkdirat, openat, readlinkat, renameat, statat, unlinkat,
};
use rustix::io::Errno;

use super::trouble::{Trouble, fill};

/// Flags for folders of a path.
#[cfg(any(target_os = "linux", target_os = "android"))]
const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::CLOEXEC);

/// Additional flags for files: a FIFO without a peer does not block, a terminal does not become the
/// controlling one.
const CAREFUL: OFlags = OFlags::NOFOLLOW
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

impl From<Errno> for Trouble {
    fn from(error: Errno) -> Self {
        Trouble::Io(error.into())
    }
}

/// Modes of new files and folders, before the umask.
const FILE_MODE: Mode = Mode::from_raw_mode(0o666);
/// Of files that only their owner may read.
const OWN_MODE: Mode = Mode::from_raw_mode(0o600);
const FOLDER_MODE: Mode = Mode::from_raw_mode(0o777);

/// System folders whose links belong to the system, such as /tmp and /var/run. Users cannot create
/// links there.
const SYSTEM: [&str; 2] = ["/", "/var"];

/// The process's own open descriptors: `/dev/stdout`, or `/dev/fd/63` from the shell's `>(…)`.
const STREAMS: [&str; 2] = ["/dev/fd", "/proc/self/fd"];

pub(super) fn create_folder_of(file: &Path) -> Result<(), Trouble> {
    if is_stream(file) {
        Ok(())
    } else {
        folder_of(file, true).map(drop)
    }
}

/// Checks that `file` could be written at present.
pub(super) fn check(file: &Path) -> Result<(), Trouble> {
    if is_stream(file) {
        return Ok(());
    }
    let folder = folder_of(file, false)?;
    there(&folder, file_name(file)?).map(drop)
}

pub(super) fn write(path: &Path, bytes: &[u8]) -> Result<(), Trouble> {
    replace(path, bytes, FILE_MODE)
}

pub(super) fn write_own(path: &Path, bytes: &[u8]) -> Result<(), Trouble> {
    replace(path, bytes, OWN_MODE)
}

/// `mode`: that of a new file.
fn replace(path: &Path, bytes: &[u8], mode: Mode) -> Result<(), Trouble> {
    if is_stream(path) {
        return write_to(
            openat(CWD, path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?,
            bytes,
        );
    }
    let (folder, name) = (folder_of(path, false)?, file_name(path)?);
    let before = match there(&folder, name)? {
        // Files do not replace devices and pipes.
        There::Special => {
            let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::NOCTTY | OFlags::CLOEXEC;
            return write_to(openat(&folder, name, flags, Mode::empty())?, bytes);
        }
        There::File(stat) => Some(stat),
        There::Nothing => None,
    };
    let temporary = Temporary::new(&folder);
    let mut file = File::from(temporary.open(before.as_deref(), mode)?);
    fill(&mut file, bytes)?;
    temporary.becomes(name)
}

pub(super) fn create(path: &Path) -> Result<Option<File>, Trouble> {
    if is_stream(path) {
        return Ok(None);
    }
    let (folder, name) = (folder_of(path, false)?, file_name(path)?);
    let before = match there(&folder, name)? {
        There::Special => return Ok(None),
        There::File(stat) => Some(stat),
        There::Nothing => None,
    };
    let temporary = Temporary::new(&folder);
    let file = temporary.open(before.as_deref(), FILE_MODE)?;
    temporary.becomes(name)?;
    Ok(Some(File::from(file)))
}

pub(super) fn open_for_appending(path: &Path) -> Result<File, Trouble> {
    let (folder, name) = (folder_of(path, false)?, file_name(path)?);
    if let There::Special = there(&folder, name)? {
        return Err(Trouble::unfit(
            "it is not a regular file",
            "name another file",
        ));
    }
    let flags = OFlags::RDWR | OFlags::APPEND | OFlags::CREATE | CAREFUL;
    let file = openat(&folder, name, flags, FILE_MODE)?;
    if FileType::from_raw_mode(fstat(&file)?.st_mode) != FileType::RegularFile {
        return Err(Trouble::unfit(
            "it is not a regular file",
            "name another file",
        ));
    }
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => {
            let help = "wait until that has ended, or name another file";
            Err(Trouble::unfit("another process adds runs to it", help))
        }
        // Continue on file systems without locks.
        _ => Ok(File::from(file)),
    }
}

/// The entry at the path to write.
enum There {
    Nothing,
    /// A regular file, which may be replaced.
    File(Box<Stat>),
    /// A device, a pipe or a socket.
    Special,
}

fn there(folder: &OwnedFd, name: &OsStr) -> Result<There, Trouble> {
    let stat = match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => return Ok(There::Nothing),
        stat => stat?,
    };
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Symlink => Err(link(folder, name)),
        FileType::Directory => Err(Trouble::unfit("it is a folder", "name a file in it")),
        FileType::RegularFile if stat.st_mode & 0o222 == 0 => {
            Err(io::Error::new(io::ErrorKind::PermissionDenied, "the file is read-only").into())
        }
        FileType::RegularFile => Ok(There::File(Box::new(stat))),
        _ => Ok(There::Special),
    }
}

/// A file with a temporary name until it replaces the target. Dropping it earlier removes it.
struct Temporary<'a> {
    folder: &'a OwnedFd,
    name: OsString,
}

impl<'a> Temporary<'a> {
    fn new(folder: &'a OwnedFd) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let since = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .unwrap_or_default();
        let name = format!(
            ".joulepath-{:x}-{number:x}-{:x}",
            std::process::id(),
            since.subsec_nanos()
        );
        Temporary {
            folder,
            name: name.into(),
        }
    }

    /// Opens it with the owner and the permissions of the file that it replaces.
    /// A new file has this `mode`.
    fn open(&self, before: Option<&Stat>, mode: Mode) -> Result<OwnedFd, Trouble> {
        let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::EXCL | CAREFUL;
        let file = openat(self.folder, &self.name, flags, mode)?;
        if let Some(stat) = before {
            // Only root can change a file's owner; for others the new file is their own.
            let _ = fchown(
                &file,
                Some(Uid::from_raw(stat.st_uid)),
                Some(Gid::from_raw(stat.st_gid)),
            );
            fchmod(&file, Mode::from_raw_mode(stat.st_mode & 0o777))?;
        }
        Ok(file)
    }

    fn becomes(self, name: &OsStr) -> Result<(), Trouble> {
        renameat(self.folder, &self.name, self.folder, name)?;
        std::mem::forget(self);
        Ok(())
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        let _ = unlinkat(self.folder, &self.name, AtFlags::empty());
    }
}

/// Opens the folder of `file`; `create` creates missing folders.
fn folder_of(file: &Path, create: bool) -> Result<OwnedFd, Trouble> {
    let parent = file.parent().unwrap_or(Path::new(""));
    let parts: Vec<Component<'_>> = parent.components().collect();
    let mut at = openat(CWD, ".", FOLDER, Mode::empty())?;
    let mut so_far = PathBuf::new();
    for (index, part) in parts.iter().enumerate() {
        let may_be_link = parent.is_absolute()
            && (index + 1 < parts.len() || SYSTEM.iter().any(|folder| so_far == Path::new(folder)));
        at = match part {
            Component::RootDir => openat(CWD, "/", FOLDER, Mode::empty())?,
            Component::ParentDir => openat(&at, "..", FOLDER, Mode::empty())?,
            Component::Normal(name) => enter(&at, name, may_be_link, create)?,
            Component::CurDir | Component::Prefix(_) => at,
        };
        so_far.push(part);
    }
    Ok(at)
}

/// Opens the folder `name` in the folder `at`.
fn enter(at: &OwnedFd, name: &OsStr, may_be_link: bool, create: bool) -> Result<OwnedFd, Trouble> {
    let follow = if may_be_link {
        OFlags::empty()
    } else {
        OFlags::NOFOLLOW
    };
    match openat(at, name, FOLDER | follow, Mode::empty()) {
        Err(Errno::NOENT) if create => {
            match mkdirat(at, name, FOLDER_MODE) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
            Ok(openat(at, name, FOLDER | OFlags::NOFOLLOW, Mode::empty())?)
        }
        // Systems use either error for a link that is not followed.
        Err(Errno::LOOP | Errno::NOTDIR) if is_link(at, name) => Err(link(at, name)),
        opened => Ok(opened?),
    }
}

fn is_link(at: &OwnedFd, name: &OsStr) -> bool {
    status(at, name).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink)
}

fn status(at: &OwnedFd, name: &OsStr) -> Result<Stat, Errno> {
    statat(at, name, AtFlags::SYMLINK_NOFOLLOW)
}

fn link(at: &OwnedFd, name: &OsStr) -> Trouble {
    let target = readlinkat(at, name, vec![]).ok();
    Trouble::Link {
        link: name.to_string_lossy().into_owned(),
        target: target.map(|target| {
            OsStr::from_bytes(target.to_bytes())
                .to_string_lossy()
                .into_owned()
        }),
    }
}

fn file_name(path: &Path) -> Result<&OsStr, Trouble> {
    path.file_name()
        .ok_or_else(|| Trouble::unfit("it names no file", "name a file"))
}

/// Whether the path is a descriptor of this process.
fn is_stream(path: &Path) -> bool {
    let folder = path.parent().unwrap_or(Path::new(""));
    STREAMS.iter().any(|stream| folder == Path::new(stream))
        || ["/dev/stdout", "/dev/stderr"]
            .iter()
            .any(|stream| path == Path::new(stream))
}

fn write_to(target: OwnedFd, bytes: &[u8]) -> Result<(), Trouble> {
    match FileType::from_raw_mode(fstat(&target)?.st_mode) {
        FileType::RegularFile | FileType::Directory => Err(Trouble::unfit(
            "it leads to a file or a folder",
            "name that itself",
        )),
        _ => Ok(io::Write::write_all(&mut File::from(target), bytes)?),
    }
}
