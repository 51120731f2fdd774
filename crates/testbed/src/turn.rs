//! Locks for the whole machine: all binaries, users of one name and copies of the source tree.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;

/// While it lives, nobody else has the lock. The kernel releases it at the end of the process, even
/// after a crash.
#[must_use]
#[derive(Debug)]
pub struct Lock {
    file: File,
}

impl Lock {
    /// Replaces the note in the lock's file: what to undo if this process is killed.
    pub fn note(&mut self, what: &str) {
        let write = |file: &mut File| {
            file.set_len(0)?;
            file.rewind()?;
            file.write_all(what.as_bytes())
        };
        write(&mut self.file).expect("a regular file can be written");
    }

    /// The note: initially that of a previous holder that was killed before it could undo its
    /// changes.
    pub fn noted(&mut self) -> String {
        let mut what = String::new();
        let read = self
            .file
            .rewind()
            .and_then(|()| self.file.read_to_string(&mut what));
        read.expect("a regular file can be read");
        what
    }
}

/// The environment variable that names another file for the turn: for tests of the harness itself,
/// which need not wait for kernel tests.
const TURN: &str = "JOULEPATH_TESTBED_TURN";

/// The turn of a kernel test, which shares the machine with other kernel tests or has it alone.
/// Whoever waits holds the gate, so that a test that must be alone is not overtaken forever.
pub(crate) fn turn(mode: Mode) -> Lock {
    let other = std::env::var_os(TURN).map(PathBuf::from);
    let path = other.unwrap_or_else(|| folder().join("joulepath-tests.turn"));
    let _gate = wait_for(&path.with_extension("gate"), Mode::Alone);
    lock(&path, mode)
}

/// Who else may hold a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Others that share it.
    Shared,
    /// Nobody.
    Alone,
}

impl Mode {
    fn choose<T>(self, shared: T, alone: T) -> T {
        match self {
            Mode::Shared => shared,
            Mode::Alone => alone,
        }
    }
}

/// The right to change what all namespaces share: persistently loaded controllers, the initial
/// namespace's default. `scripts/test-upstream.sh` takes the same lock.
///
/// # Panics
/// In a test that does not list [`MACHINE_STATE`](crate::needs::MACHINE_STATE): it would occupy a
/// job of the harness while it waits.
pub fn machine_wide_state() -> Lock {
    assert!(
        std::env::var_os(MACHINE_STATE).is_some(),
        "the test must list the need MACHINE_STATE"
    );
    lock(&folder().join("joulepath-tests.machine"), Mode::Alone)
}

/// The environment variable of tests that may call [`machine_wide_state`].
pub(crate) const MACHINE_STATE: &str = "JOULEPATH_TESTBED_MACHINE_STATE";

/// Says so if it has to wait.
fn lock(path: &Path, mode: Mode) -> Lock {
    try_lock(path, mode).unwrap_or_else(|| {
        eprintln!("waiting for {}, which another test holds", path.display());
        wait_for(path, mode)
    })
}

fn try_lock(path: &Path, mode: Mode) -> Option<Lock> {
    let (shared, alone) = (
        FlockOperation::NonBlockingLockShared,
        FlockOperation::NonBlockingLockExclusive,
    );
    operate(path, mode.choose(shared, alone))
}

fn wait_for(path: &Path, mode: Mode) -> Lock {
    let operation = mode.choose(FlockOperation::LockShared, FlockOperation::LockExclusive);
    operate(path, operation).expect("a lock that waits")
}

/// `None` if the operation does not wait, and others hold the lock.
fn operate(path: &Path, operation: FlockOperation) -> Option<Lock> {
    let file = open(path).unwrap_or_else(|error| panic!("the lock {}: {error}", path.display()));
    loop {
        match flock(&file, operation) {
            Ok(()) => return Some(Lock { file }),
            Err(Errno::WOULDBLOCK) => return None,
            Err(Errno::INTR) => {}
            Err(error) => panic!("the lock {}: {error}", path.display()),
        }
    }
}

/// Does not follow a symbolic link; private to the user.
fn open(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600);
    options
        .custom_flags((OFlags::NOFOLLOW | OFlags::CLOEXEC).bits() as i32)
        .open(path)
}

/// A folder in which nobody else can plant a file: /run for root, the user's session folder, or
/// this crate's.
fn folder() -> PathBuf {
    if rustix::process::geteuid().is_root() {
        return PathBuf::from("/run");
    }
    let session = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    session
        .filter(|folder| folder.is_dir())
        .unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).to_owned())
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_lock_has_one_holder_at_a_time() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("lock");
        let first = lock(&path, Mode::Alone);
        let (sender, receiver) = mpsc::channel();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let _second = lock(&path, Mode::Alone);
                sender.send(()).expect("somebody waits");
            });
            receiver
                .recv_timeout(Duration::from_millis(100))
                .expect_err("the first still has it");
            drop(first);
            receiver.recv().expect("the second gets it");
        });
    }

    #[test]
    fn tests_that_share_a_lock_do_not_wait_for_each_other_but_keep_out_one_that_is_alone() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("lock");
        let (first, second) = (lock(&path, Mode::Shared), lock(&path, Mode::Shared));
        assert!(try_lock(&path, Mode::Alone).is_none());
        drop((first, second));
        let alone = try_lock(&path, Mode::Alone).expect("nobody else has it");
        assert!(try_lock(&path, Mode::Shared).is_none());
        drop(alone);
    }

    #[test]
    fn a_note_outlives_its_holder() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("lock");
        let mut first = lock(&path, Mode::Alone);
        assert_eq!(first.noted(), "");
        first.note("reno bbr");
        first.note("cubic");
        drop(first);
        let mut second = lock(&path, Mode::Alone);
        assert_eq!(second.noted(), "cubic");
        second.note("");
        assert_eq!(second.noted(), "");
    }

    #[test]
    fn a_planted_link_is_not_followed() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (victim, path) = (folder.path().join("victim"), folder.path().join("lock"));
        std::os::unix::fs::symlink(&victim, &path).expect("a link can be made");
        assert!(open(&path).is_err() && !victim.exists());
    }
}
