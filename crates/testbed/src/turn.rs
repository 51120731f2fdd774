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

/// The turn of a kernel test: kernel tests share the processors and measure time.
pub(crate) fn turn() -> Lock {
    let other = std::env::var_os(TURN).map(PathBuf::from);
    exclusively(&other.unwrap_or_else(|| folder().join("joulepath-tests.turn")))
}

/// The right to change what all namespaces share: persistently loaded controllers, the initial
/// namespace's default. `scripts/test-upstream.sh` takes the same lock. A test takes it before
/// anything else.
pub fn machine_wide_state() -> Lock {
    exclusively(&folder().join("joulepath-tests.machine"))
}

fn exclusively(path: &Path) -> Lock {
    let file = open(path).unwrap_or_else(|error| panic!("the lock {}: {error}", path.display()));
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => {
            eprintln!("waiting for {}, which another test holds", path.display());
            flock(&file, FlockOperation::LockExclusive).expect("a regular file can be locked");
        }
        locked => locked.expect("a regular file can be locked"),
    }
    Lock { file }
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
        let first = exclusively(&path);
        let (sender, receiver) = mpsc::channel();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let _second = exclusively(&path);
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
    fn a_note_outlives_its_holder() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("lock");
        let mut first = exclusively(&path);
        assert_eq!(first.noted(), "");
        first.note("reno bbr");
        first.note("cubic");
        drop(first);
        let mut second = exclusively(&path);
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
