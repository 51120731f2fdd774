//! Files about the running kernel in `/run/joulepath`, which are lost at reboot, as the kernel's
//! own state is.
//!
//! - **One writer.** A process takes a named [`Lock`] before it changes anything. The kernel
//!   releases the lock when its holder ends for any reason.
//! - **All or nothing.** A record is written to a draft that is then renamed: a reader sees the old
//!   or the new record.
//! - **Safe files.** Symbolic links are not followed, and the folder is used only if nobody except
//!   its owner can write to it.
//! - **This boot only.** A record contains the boot's id; a record of an earlier boot counts as
//!   absent, except with [`State::lasting`].
//! - **One folder.** A process in its own mount namespace, as `ip netns exec` starts one, uses the
//!   folder that its oldest ancestor sees: the first process of the machine or container, if this
//!   user may inspect it.

mod lock;

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, fstat, mkdirat, open, openat, renameat, unlinkat,
};
use rustix::io::Errno;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

pub use lock::Lock;

use crate::error::{Doing, Error, Result};

/// The folder, relative to the root directory.
const FOLDER: &str = "run/joulepath";
/// Everybody may read, only the owner may write.
const FOLDER_MODE: Mode = Mode::from_raw_mode(0o755);
const FILE_MODE: Mode = Mode::from_raw_mode(0o644);
/// Only the owner may read.
const PRIVATE_MODE: Mode = Mode::from_raw_mode(0o600);
/// Write bits of the group and of others.
const OTHERS_WRITE: u32 = 0o022;
/// Larger than any valid record.
const LARGEST_BYTES: u64 = 16 << 20;
const DRAFT: &str = ".draft";
const LOCK: &str = ".lock";

/// The open folder.
#[derive(Debug)]
pub struct State {
    folder: OwnedFd,
    path: PathBuf,
    /// True if its records outlive a boot.
    lasting: bool,
}

/// Contents of a record's file.
#[derive(Serialize, Deserialize)]
struct Record<T> {
    boot: String,
    value: T,
}

impl State {
    /// Opens `/run/joulepath`, and creates it if it is absent.
    ///
    /// # Errors
    /// [`Error::Permission`] if this user may not create it, with the command that creates it;
    /// [`Error::Unsupported`] if others can write to it, or if it is a symbolic link.
    pub fn open() -> Result<Self> {
        Self::below(&root())
    }

    /// As [`Self::open`], for readers: `None` if it is absent.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn existing() -> Result<Option<Self>> {
        let path = root().join(FOLDER);
        match open_folder(&root(), FOLDER) {
            Err(Errno::NOENT) => Ok(None),
            folder => {
                Self::checked(folder.map_err(|errno| not_opened(&path, errno))?, path).map(Some)
            }
        }
    }

    /// Opens a folder whose records outlive a boot, and creates it if it is absent; its parent must
    /// exist. The path is resolved from this process' root.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn lasting(path: &Path) -> Result<Self> {
        let name = path.strip_prefix("/").unwrap_or(path).to_string_lossy();
        let folder = match open_folder(Path::new("/"), &name) {
            Err(Errno::NOENT) => make_folder(Path::new("/"), &name),
            opened => opened,
        };
        let state = Self::checked(
            folder.map_err(|errno| not_opened(path, errno))?,
            path.to_owned(),
        )?;
        Ok(State {
            lasting: true,
            ..state
        })
    }

    /// Opens `run/joulepath` below another root, for tests.
    pub(crate) fn below(root: &Path) -> Result<Self> {
        let path = root.join(FOLDER);
        let folder = match open_folder(root, FOLDER) {
            Err(Errno::NOENT) => make_folder(root, FOLDER),
            opened => opened,
        };
        Self::checked(folder.map_err(|errno| not_opened(&path, errno))?, path)
    }

    /// Opens a subfolder, and creates it if it is absent.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn folder(&self, name: &str) -> Result<Self> {
        let path = self.path.join(name);
        let open = || openat(&self.folder, name, folder_flags(), Mode::empty());
        let folder = match open() {
            Err(Errno::NOENT) => match mkdirat(&self.folder, name, FOLDER_MODE) {
                Ok(()) | Err(Errno::EXIST) => open(),
                Err(errno) => Err(errno),
            },
            opened => opened,
        };
        Self::checked(folder.map_err(|errno| not_opened(&path, errno))?, path)
    }

    /// As [`Self::folder`], for readers: `None` if it is absent.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn existing_folder(&self, name: &str) -> Result<Option<Self>> {
        let path = self.path.join(name);
        match openat(&self.folder, name, folder_flags(), Mode::empty()) {
            Err(Errno::NOENT) => Ok(None),
            folder => {
                Self::checked(folder.map_err(|errno| not_opened(&path, errno))?, path).map(Some)
            }
        }
    }

    fn checked(folder: OwnedFd, path: PathBuf) -> Result<Self> {
        let found = fstat(&folder).doing(format!("checking {}", path.display()))?;
        let own = rustix::process::geteuid().as_raw();
        let why = if found.st_mode & OTHERS_WRITE != 0 {
            "users other than its owner can write to it"
        } else if ![0, own].contains(&found.st_uid) {
            "it belongs to another user"
        } else {
            return Ok(State {
                folder,
                path,
                lasting: false,
            });
        };
        Err(Error::Unsupported {
            what: format!("the folder {}", path.display()),
            why: why.into(),
            remedy: format!(
                "check its contents, then remove it: sudo rm -r {}",
                path.display()
            ),
        })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads a record; `None` if there is none or if it is of an earlier boot.
    ///
    /// # Errors
    /// [`Error::Malformed`] if the file is not such a record, [`Error::Permission`] if this user
    /// may not read it.
    pub fn read<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>> {
        let Some(text) = self.bytes(name)? else {
            return Ok(None);
        };
        let record: Record<T> =
            serde_json::from_slice(&text).map_err(|error| Error::Malformed {
                what: self.path.join(name).display().to_string(),
                why: error.to_string(),
            })?;
        Ok((self.lasting || record.boot == boot_id()?).then_some(record.value))
    }

    /// The text of a private file, which [`Self::write_private`] wrote; `None` if there is none.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn read_private(&self, name: &str) -> Result<Option<String>> {
        let text = self.bytes(name)?.map(String::from_utf8).transpose();
        text.map_err(|error| Error::Malformed {
            what: self.path.join(name).display().to_string(),
            why: error.to_string(),
        })
    }

    fn bytes(&self, name: &str) -> Result<Option<Vec<u8>>> {
        let path = self.path.join(name);
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match openat(&self.folder, name, flags, Mode::empty()) {
            Err(Errno::NOENT) => return Ok(None),
            file => file.doing(format!("opening {}", path.display()))?,
        };
        let malformed = |why: String| Error::Malformed {
            what: path.display().to_string(),
            why,
        };
        let found = fstat(&file).doing(format!("checking {}", path.display()))?;
        if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile {
            return Err(malformed("it is not a regular file".into()));
        }
        let mut text = vec![];
        let read = File::from(file).take(LARGEST_BYTES).read_to_end(&mut text);
        read.doing(format!("reading {}", path.display()))?;
        Ok(Some(text))
    }

    /// Writes a record. Two processes must not write the same record at once: take a lock.
    ///
    /// # Errors
    /// [`Error::Permission`] if this user may not write to the folder; [`Error::Io`] if there is no
    /// space.
    pub fn write<T: Serialize>(&self, name: &str, value: &T) -> Result<()> {
        self.write_record(name, value, FILE_MODE)
    }

    /// As [`Self::write`], but only the owner may read the record.
    ///
    /// # Errors
    /// As [`Self::write`].
    pub fn write_own<T: Serialize>(&self, name: &str, value: &T) -> Result<()> {
        self.write_record(name, value, PRIVATE_MODE)
    }

    fn write_record<T: Serialize>(&self, name: &str, value: &T, mode: Mode) -> Result<()> {
        let path = self.path.join(name);
        let record = Record {
            boot: boot_id()?,
            value,
        };
        let text = serde_json::to_vec(&record)
            .map_err(io::Error::from)
            .doing(format!("writing {}", path.display()))?;
        self.replace(name, &text, mode)
    }

    /// Writes a text that only the owner may read. As [`Self::write`], but the file has nothing
    /// else.
    ///
    /// # Errors
    /// As [`Self::write`].
    pub fn write_private(&self, name: &str, text: &str) -> Result<()> {
        self.replace(name, text.as_bytes(), PRIVATE_MODE)
    }

    fn replace(&self, name: &str, text: &[u8], mode: Mode) -> Result<()> {
        let path = self.path.join(name);
        let draft = format!("{name}{DRAFT}");
        // A killed process may have left a draft.
        self.remove_file(&draft)?;
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file =
            openat(&self.folder, &draft, flags, mode).map_err(|errno| not_written(&path, errno))?;
        let mut file = File::from(file);
        file.write_all(text)
            .and_then(|()| file.sync_data())
            .doing(format!("writing {}", path.display()))?;
        renameat(&self.folder, &draft, &self.folder, name)
            .doing(format!("writing {}", path.display()))
    }

    /// Removes a record, which may be absent.
    ///
    /// # Errors
    /// [`Error::Permission`] if this user may not write to the folder.
    pub fn remove(&self, name: &str) -> Result<()> {
        self.remove_file(name)
    }

    fn remove_file(&self, name: &str) -> Result<()> {
        match unlinkat(&self.folder, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(not_written(&self.path.join(name), errno)),
        }
    }

    /// The names of all records, sorted.
    ///
    /// # Errors
    /// [`Error::Io`] if the folder cannot be read.
    pub fn names(&self) -> Result<Vec<String>> {
        let is_record = |name: &String| !name.ends_with(DRAFT) && !name.ends_with(LOCK);
        Ok(self.files()?.into_iter().filter(is_record).collect())
    }

    /// The names of all files that are not hidden, sorted.
    fn files(&self) -> Result<Vec<String>> {
        let doing = || format!("listing {}", self.path.display());
        let mut names = vec![];
        for entry in Dir::read_from(&self.folder).doing(doing())? {
            let entry = entry.doing(doing())?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if !name.starts_with('.') && entry.file_type() != FileType::Directory {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    }
}

impl AsFd for State {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.folder.as_fd()
    }
}

/// The id of this boot.
///
/// # Errors
/// [`Error::Io`] without `/proc`.
pub fn boot_id() -> Result<String> {
    let text =
        fs::read_to_string("/proc/sys/kernel/random/boot_id").doing("reading the boot's id")?;
    Ok(text.trim().to_owned())
}

/// The root directory for files that outlive this process: its own, or that of its oldest ancestor
/// if that one is in another mount namespace and this user may inspect it.
pub(crate) fn root() -> PathBuf {
    match outside() {
        Some(ancestor) => format!("/proc/{ancestor}/root").into(),
        None => "/".into(),
    }
}

/// The oldest ancestor that this user may inspect, if it is in another mount namespace than this
/// process.
pub(crate) fn outside() -> Option<u32> {
    let namespace = |process: u32| fs::read_link(format!("/proc/{process}/ns/mnt")).ok();
    let own = namespace(std::process::id())?;
    let mut ancestors = vec![];
    let mut process = std::process::id();
    while let Some(parent) = parent_of(process).filter(|parent| *parent != 0) {
        ancestors.push(parent);
        process = parent;
    }
    let oldest = ancestors
        .into_iter()
        .rev()
        .find_map(|process| Some((process, namespace(process)?)));
    oldest
        .filter(|(_, theirs)| *theirs != own)
        .map(|(process, _)| process)
}

/// Parses `PID (NAME) STATE PARENT …`, where the name may contain any characters.
fn parent_of(process: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
}

fn folder_flags() -> OFlags {
    OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC
}

/// Opens `name` below `root`, whose last component may be a link of `/proc`. It opens one component
/// after another, since `openat2` is unavailable under systemd's `RestrictSUIDSGID`. A symbolic
/// link as a component is `ENOTDIR`.
fn open_folder(root: &Path, name: &str) -> Result<OwnedFd, Errno> {
    let way = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut folder = open(root, way, Mode::empty())?;
    let (parents, last) = name.rsplit_once('/').unwrap_or(("", name));
    for part in parents.split('/').filter(|part| !part.is_empty()) {
        folder = openat(&folder, part, way | OFlags::NOFOLLOW, Mode::empty())?;
    }
    openat(
        &folder,
        if last.is_empty() { "." } else { last },
        folder_flags(),
        Mode::empty(),
    )
}

fn make_folder(root: &Path, name: &str) -> Result<OwnedFd, Errno> {
    let (parent, last) = name.rsplit_once('/').unwrap_or(("", name));
    match mkdirat(open_folder(root, parent)?, last, FOLDER_MODE) {
        Ok(()) | Err(Errno::EXIST) => open_folder(root, name),
        Err(errno) => Err(errno),
    }
}

fn not_opened(path: &Path, errno: Errno) -> Error {
    match errno {
        Errno::LOOP | Errno::NOTDIR => Error::Unsupported {
            what: format!("the folder {}", path.display()),
            why: "it is a file or a symbolic link".into(),
            remedy: format!("check it, then remove it: sudo rm {}", path.display()),
        },
        errno => not_written(path, errno),
    }
}

/// The error of a user who may not write there, with the command that grants access to the folder.
fn not_written(path: &Path, errno: Errno) -> Error {
    let doing = format!("writing {}", path.display());
    let folder = Path::new("/").join(FOLDER);
    match Error::io(doing, errno) {
        Error::Permission { doing, denial, .. } => Error::Permission {
            doing,
            denial,
            remedy: format!(
                "run it as root, or make the folder yours: sudo install -d -o $(id -un) {}",
                folder.display()
            ),
        },
        error => error,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::time::Duration;

    use super::*;

    const AT_ONCE: Duration = Duration::ZERO;

    /// A root with a folder `run`.
    pub(super) fn root() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("run")).unwrap();
        root
    }

    pub(super) fn state(root: &tempfile::TempDir) -> State {
        State::below(root.path()).unwrap()
    }

    #[test]
    fn a_record_is_read_as_it_was_written_without_a_draft() {
        let root = root();
        let state = state(&root);
        assert_eq!(state.read::<u32>("n").unwrap(), None);
        for n in [1, 2] {
            state.write("n", &n).unwrap();
            assert_eq!(state.read::<u32>("n").unwrap(), Some(n));
        }
        assert_eq!(state.names().unwrap(), ["n"]);
        let files = fs::read_dir(root.path().join(FOLDER)).unwrap().count();
        assert_eq!(files, 1);
        state.remove("n").unwrap();
        state.remove("n").unwrap();
        assert_eq!(state.read::<u32>("n").unwrap(), None);
    }

    #[test]
    fn a_lasting_record_outlives_a_boot_and_its_folder_is_no_link() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("kept");
        let state = State::lasting(&folder).unwrap();
        let earlier = r#"{"boot":"00000000-0000-0000-0000-000000000000","value":7}"#;
        fs::write(folder.join("n"), earlier).unwrap();
        assert_eq!(state.read::<u32>("n").unwrap(), Some(7));
        state.write("n", &8).unwrap();
        assert_eq!(
            State::lasting(&folder).unwrap().read::<u32>("n").unwrap(),
            Some(8)
        );
        symlink(&folder, root.path().join("link")).unwrap();
        let error = State::lasting(&root.path().join("link")).unwrap_err();
        assert!(matches!(error, Error::Unsupported { .. }), "{error}");
        // A symbolic link or a missing folder in the path is an error, too.
        fs::create_dir(folder.join("below")).unwrap();
        assert!(State::lasting(&folder.join("below")).is_ok());
        assert!(State::lasting(&root.path().join("link/below")).is_err());
        assert!(State::lasting(&root.path().join("none/below")).is_err());
    }

    #[test]
    fn a_record_of_an_earlier_boot_is_absent() {
        let root = root();
        let state = state(&root);
        let path = root.path().join(FOLDER).join("n");
        fs::write(
            path,
            r#"{"boot":"00000000-0000-0000-0000-000000000000","value":7}"#,
        )
        .unwrap();
        assert_eq!(state.read::<u32>("n").unwrap(), None);
    }

    #[test]
    fn a_killed_writers_draft_does_not_block_the_next_writer() {
        let root = root();
        let state = state(&root);
        fs::write(root.path().join(FOLDER).join("n.draft"), "half").unwrap();
        state.write("n", &3).unwrap();
        assert_eq!(state.read::<u32>("n").unwrap(), Some(3));
        assert_eq!(state.names().unwrap(), ["n"]);
    }

    #[test]
    fn a_file_that_is_no_record_is_named() {
        let root = root();
        let state = state(&root);
        let path = root.path().join(FOLDER).join("n");
        fs::write(&path, "nonsense").unwrap();
        let error = state.read::<u32>("n").unwrap_err().to_string();
        assert!(error.contains(path.to_str().unwrap()), "{error}");
        fs::remove_file(&path).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, &path, FileType::Fifo, FILE_MODE, 0).unwrap();
        // Reading does not wait for a writer of the pipe.
        assert!(matches!(
            state.read::<u32>("n"),
            Err(Error::Malformed { .. })
        ));
    }

    #[test]
    fn planted_symbolic_links_are_not_followed() {
        let (first, second, target) = (root(), root(), tempfile::tempdir().unwrap());
        // A link in place of the folder.
        symlink(target.path(), first.path().join(FOLDER)).unwrap();
        assert!(matches!(
            State::below(first.path()),
            Err(Error::Unsupported { .. })
        ));
        // Links in place of a record, of its draft and of a lock.
        let state = state(&second);
        let victim = target.path().join("victim");
        fs::write(&victim, "precious").unwrap();
        for name in ["n", "n.draft", "n.lock"] {
            symlink(&victim, second.path().join(FOLDER).join(name)).unwrap();
        }
        assert!(state.read::<u32>("n").is_err());
        assert!(state.lock("n", AT_ONCE).is_err());
        state.write("n", &1).unwrap();
        assert_eq!(state.read::<u32>("n").unwrap(), Some(1));
        assert_eq!(fs::read_to_string(victim).unwrap(), "precious");
    }

    #[test]
    fn a_folder_that_others_can_write_to_is_refused() {
        let root = root();
        drop(state(&root));
        fs::set_permissions(root.path().join(FOLDER), fs::Permissions::from_mode(0o777)).unwrap();
        let error = State::below(root.path()).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("users other than its owner can write to it"),
            "{error}"
        );
    }

    #[test]
    fn a_subfolder_is_created_once() {
        let root = root();
        let state = state(&root);
        state.folder("labs").unwrap().write("a", &1).unwrap();
        assert_eq!(state.folder("labs").unwrap().read("a").unwrap(), Some(1));
        assert_eq!(state.names().unwrap(), [""; 0]);
    }
}
