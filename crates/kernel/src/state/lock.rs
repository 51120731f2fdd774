//! Named locks: locked files that contain their holder.

use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{
    AtFlags, FlockOperation, Mode, OFlags, flock, fstat, ftruncate, openat, statat, unlinkat,
};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::{LOCK, State, not_written};
use crate::error::{Doing, Error, Result};

/// Only the owner: a user who can open a lock can hold it.
const MODE: Mode = Mode::from_raw_mode(0o600);
/// Time between two attempts to take a lock.
const RETRY: Duration = Duration::from_millis(10);

/// The holder of a lock, for others' error messages.
#[derive(Serialize, Deserialize)]
struct Holder {
    pid: u32,
    command: String,
}

/// A lock that is held until the value is dropped or the process ends.
#[derive(Debug)]
pub struct Lock {
    _file: File,
    folder: OwnedFd,
    file_name: String,
}

impl Lock {
    /// Releases the lock and removes its file. A process that waits for it creates a new file.
    ///
    /// # Errors
    /// [`Error::Io`] if the file cannot be removed; the lock is released in any case.
    pub fn remove(self) -> Result<()> {
        match unlinkat(&self.folder, &self.file_name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(Error::io(
                format!("removing the lock {}", self.file_name),
                errno,
            )),
        }
    }
}

impl State {
    /// Takes the named lock, and waits for it for at most `patience`.
    ///
    /// # Errors
    /// [`Error::Busy`] with the holder's process; [`Error::Permission`] if this user may not write
    /// to the folder.
    pub fn lock(&self, name: &str, patience: Duration) -> Result<Lock> {
        let file_name = format!("{name}{LOCK}");
        let path = self.path.join(&file_name);
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let open = || {
            let file = openat(&self.folder, &file_name, flags, MODE);
            file.map(File::from)
                .map_err(|errno| not_written(&path, errno))
        };
        let mut file = open()?;
        let deadline = Instant::now() + patience;
        loop {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                // The last holder may have removed the file meanwhile; then its lock is worthless.
                Ok(())
                    if self
                        .is_there(&file_name, &file)
                        .doing(format!("locking {}", path.display()))? =>
                {
                    break;
                }
                Ok(()) => file = open()?,
                Err(Errno::WOULDBLOCK) if Instant::now() < deadline => thread::sleep(RETRY),
                Err(Errno::WOULDBLOCK) => return Err(busy(&mut file, &path)),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(Error::io(format!("locking {}", path.display()), errno)),
            }
        }
        introduce(&mut file).doing(format!("writing {}", path.display()))?;
        let folder = self
            .folder
            .try_clone()
            .doing(format!("locking {}", path.display()))?;
        Ok(Lock {
            _file: file,
            folder,
            file_name,
        })
    }

    /// True if the name still refers to this file.
    fn is_there(&self, file_name: &str, file: &File) -> Result<bool, Errno> {
        let own = fstat(file)?;
        match statat(&self.folder, file_name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => Ok((found.st_dev, found.st_ino) == (own.st_dev, own.st_ino)),
            Err(Errno::NOENT) => Ok(false),
            Err(errno) => Err(errno),
        }
    }

    /// Removes the files of unheld locks without a record of the same name, which killed processes
    /// leave.
    ///
    /// # Errors
    /// [`Error::Io`] if the folder cannot be read or a file cannot be removed.
    pub fn sweep_locks(&self) -> Result<()> {
        let records = self.names()?;
        for file in self.files()? {
            let Some(name) = file.strip_suffix(LOCK) else {
                continue;
            };
            if records.iter().any(|record| record == name) {
                continue;
            }
            match self.lock(name, Duration::ZERO) {
                Ok(lock) => lock.remove()?,
                Err(Error::Busy { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// True if a process holds the named lock. Does not create a file.
    ///
    /// # Errors
    /// [`Error::Io`] if this user may not open it.
    pub fn is_locked(&self, name: &str) -> Result<bool> {
        let file_name = format!("{name}{LOCK}");
        let doing = || format!("checking {}", self.path.join(&file_name).display());
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = match openat(&self.folder, &file_name, flags, Mode::empty()) {
            Err(Errno::NOENT) => return Ok(false),
            file => file.doing(doing())?,
        };
        // Closing the file releases the lock.
        match flock(&file, FlockOperation::NonBlockingLockShared) {
            Err(Errno::WOULDBLOCK) => Ok(true),
            tried => tried.doing(doing()).map(|()| false),
        }
    }
}

/// Writes the holder into a lock.
fn introduce(file: &mut File) -> io::Result<()> {
    let command = fs::read("/proc/self/cmdline").unwrap_or_default();
    let words: Vec<_> = command
        .split(|&byte| byte == 0)
        .map(String::from_utf8_lossy)
        .collect();
    let holder = Holder {
        pid: std::process::id(),
        command: words.join(" ").trim().to_owned(),
    };
    ftruncate(&*file, 0)?;
    file.rewind()?;
    file.write_all(&serde_json::to_vec(&holder)?)
}

fn busy(file: &mut File, path: &Path) -> Error {
    let mut text = vec![];
    let read = file.rewind().and_then(|()| file.read_to_end(&mut text));
    let holder = read
        .ok()
        .and_then(|_| serde_json::from_slice::<Holder>(&text).ok());
    let who = holder.map_or_else(
        || "another process".to_owned(),
        |holder| format!("process {}, `{}`,", holder.pid, holder.command),
    );
    Error::Busy {
        what: format!("locking {}", path.display()),
        why: format!("{who} holds the lock"),
        remedy: "wait until it has ended, and try again".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::FOLDER;
    use super::super::tests::{root, state};
    use super::*;

    const AT_ONCE: Duration = Duration::ZERO;

    /// Waits until this process has opened the lock's file twice: its holder and a thread that
    /// waits for it.
    fn wait_for_the_second(root: &tempfile::TempDir) {
        let file = root.path().join(FOLDER).join(format!("n{LOCK}"));
        let opened = || {
            let files = fs::read_dir("/proc/self/fd").unwrap().flatten();
            files
                .filter(|one| fs::read_link(one.path()).is_ok_and(|path| path == file))
                .count()
        };
        joulepath_testbed::observe::wait_until("a thread waits for the lock", || opened() == 2);
    }

    #[test]
    fn a_held_lock_names_its_holder() {
        let root = root();
        let state = state(&root);
        let held = state.lock("n", AT_ONCE).unwrap();
        let error = state.lock("n", AT_ONCE).unwrap_err();
        let Error::Busy { why, .. } = &error else {
            panic!("{error}")
        };
        assert!(
            why.starts_with(&format!("process {}, `", std::process::id())),
            "{why}"
        );
        // A lock with another name is free.
        let _other = state.lock("m", AT_ONCE).unwrap();
        drop(held);
        let _again = state.lock("n", AT_ONCE).unwrap();
        assert_eq!(state.names().unwrap(), [""; 0]);
    }

    #[test]
    fn a_reader_checks_a_lock_without_creating_it() {
        let root = root();
        let state = state(&root);
        assert!(state.existing_folder("below").unwrap().is_none());
        assert!(!state.is_locked("l").unwrap());
        assert_eq!(fs::read_dir(root.path().join(FOLDER)).unwrap().count(), 0);
        let below = state.folder("below").unwrap();
        let lock = below.lock("l", AT_ONCE).unwrap();
        let seen = state.existing_folder("below").unwrap().unwrap();
        assert!(seen.is_locked("l").unwrap());
        drop(lock);
        assert!(!seen.is_locked("l").unwrap());
        below.lock("l", AT_ONCE).unwrap();
    }

    #[test]
    fn a_waiting_process_gets_the_lock_when_it_is_released() {
        let root = root();
        let state = state(&root);
        let held = state.lock("n", AT_ONCE).unwrap();
        thread::scope(|scope| {
            let waiting = scope.spawn(|| state.lock("n", Duration::from_secs(60)).map(drop));
            wait_for_the_second(&root);
            assert!(!waiting.is_finished());
            drop(held);
            waiting.join().unwrap().unwrap();
        });
    }

    #[test]
    fn a_removed_lock_leaves_no_file_and_a_waiting_process_gets_a_new_one() {
        let root = root();
        let state = state(&root);
        let files = || fs::read_dir(root.path().join(FOLDER)).unwrap().count();
        let held = state.lock("n", AT_ONCE).unwrap();
        thread::scope(|scope| {
            let waiting = scope.spawn(|| state.lock("n", Duration::from_secs(60)).unwrap());
            wait_for_the_second(&root);
            held.remove().unwrap();
            let theirs = waiting.join().unwrap();
            // It holds the file that others find.
            assert!(state.is_locked("n").unwrap());
            assert!(matches!(state.lock("n", AT_ONCE), Err(Error::Busy { .. })));
            theirs.remove().unwrap();
        });
        assert_eq!(files(), 0);
    }

    #[test]
    fn only_locks_of_killed_processes_are_swept() {
        let root = root();
        let state = state(&root);
        for name in ["left", "noted"] {
            drop(state.lock(name, AT_ONCE).unwrap());
        }
        state.write("noted", &1).unwrap();
        let held = state.lock("held", AT_ONCE).unwrap();
        state.sweep_locks().unwrap();
        assert_eq!(state.files().unwrap(), ["held.lock", "noted", "noted.lock"]);
        assert!(state.is_locked("held").unwrap());
        drop(held);
    }
}
