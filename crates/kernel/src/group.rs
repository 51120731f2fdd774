//! Control groups of processes (cgroup v2).

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

use crate::error::{Doing, Error, Result};

/// A control group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group(PathBuf);

impl Group {
    /// The group of this process.
    ///
    /// # Errors
    /// Without cgroup v2, or if its file system does not show the group.
    pub fn own() -> Result<Self> {
        let read = |path: &str| fs::read_to_string(path).doing(format!("reading {path}"));
        let (mounts, groups) = (read("/proc/self/mounts")?, read("/proc/self/cgroup")?);
        let unsupported = |why: &str| Error::Unsupported {
            what: "control groups".into(),
            why: why.into(),
            remedy: "mount -t cgroup2 none /sys/fs/cgroup".into(),
        };
        let root = hierarchy(&mounts).ok_or_else(|| unsupported("cgroup v2 is not mounted"))?;
        let own = groups.lines().find_map(|line| line.strip_prefix("0::/"));
        Self::at(
            root.join(own.ok_or_else(|| unsupported("this process has no group of cgroup v2"))?),
        )
    }

    /// The group of a folder.
    ///
    /// # Errors
    /// [`Error::Io`] if the folder is no control group.
    pub fn at(path: PathBuf) -> Result<Self> {
        fs::metadata(path.join(PROCESSES))
            .doing(format!("finding the control group {}", path.display()))?;
        Ok(Group(path))
    }

    /// Its folder.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The kernel's number for it.
    ///
    /// # Errors
    /// [`Error::Io`] if it has been removed.
    pub fn id(&self) -> Result<u64> {
        Ok(fs::metadata(&self.0).doing(self.doing("finding"))?.ino())
    }

    /// The group that contains it; `None` for the root.
    pub fn parent(&self) -> Option<Self> {
        Self::at(self.0.parent()?.to_owned()).ok()
    }

    /// Creates a group in it.
    ///
    /// # Errors
    /// [`Error::Permission`] if this user may not; [`Error::Io`] if the name is taken.
    pub fn create(&self, name: &str) -> Result<Self> {
        let path = self.0.join(name);
        fs::create_dir(&path).doing(format!("creating the control group {}", path.display()))?;
        Ok(Group(path))
    }

    /// The groups in it.
    ///
    /// # Errors
    /// [`Error::Io`] if it has been removed.
    pub fn children(&self) -> Result<Vec<Self>> {
        let entries = fs::read_dir(&self.0)
            .doing(self.doing("reading"))?
            .flatten();
        let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        Ok(folders.map(|entry| Group(entry.path())).collect())
    }

    /// Moves this process into it.
    ///
    /// # Errors
    /// If this user may not, or the group gives controllers of resources to groups below.
    pub fn join(&self) -> Result<()> {
        fs::write(self.0.join(PROCESSES), "0").doing(self.doing("joining"))
    }

    /// Removes it with the groups in it; all must be without processes.
    ///
    /// # Errors
    /// [`Error::Io`] if there are processes.
    pub fn remove(&self) -> Result<()> {
        for child in self.children()? {
            child.remove()?;
        }
        fs::remove_dir(&self.0).doing(self.doing("removing"))
    }

    /// Waits until it and the groups in it have no process, or it is removed.
    ///
    /// # Errors
    /// [`Error::Io`] if the kernel does not report it.
    pub fn wait_for_end(&self) -> Result<()> {
        let doing = self.doing("watching");
        let file = match File::open(self.0.join("cgroup.events")) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            opened => opened.doing(&doing)?,
        };
        loop {
            let mut text = [0; 256];
            match file.read_at(&mut text, 0) {
                // The file has more lines: `frozen 0`.
                Ok(length) if !text[..length].starts_with(b"populated 0") => {}
                Ok(_) => return Ok(()),
                Err(error) if error.raw_os_error() == Some(Errno::NODEV.raw_os_error()) => {
                    return Ok(());
                }
                Err(error) => return Err(error).doing(doing),
            }
            match poll(&mut [PollFd::new(&file, PollFlags::PRI)], None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(errno) => return Err(errno).doing(doing),
            }
        }
    }

    fn doing(&self, what: &str) -> String {
        format!("{what} the control group {}", self.0.display())
    }
}

/// Writing a process id moves the process.
const PROCESSES: &str = "cgroup.procs";

/// Mount point of cgroup v2 in the format of `/proc/mounts`: `DEVICE PLACE TYPE …`.
pub fn hierarchy(mounts: &str) -> Option<PathBuf> {
    let mut lines = mounts
        .lines()
        .map(|line| line.split(' ').collect::<Vec<_>>());
    lines
        .find(|fields| fields.get(2) == Some(&"cgroup2"))
        .map(|fields| PathBuf::from(fields[1]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cgroup_v2_mount_is_found_beside_v1() {
        let mounts = "tmpfs /sys/fs/cgroup tmpfs rw 0 0\ncgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\n\
                      cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n";
        assert_eq!(hierarchy(mounts), Some("/sys/fs/cgroup/unified".into()));
        assert_eq!(hierarchy("proc /proc proc rw 0 0\n"), None);
    }

    #[test]
    fn groups_within_a_group_are_removed_with_it() {
        let root = tempfile::tempdir().unwrap();
        let group = Group(root.path().to_owned()).create("a").unwrap();
        group.create("b").unwrap().create("c").unwrap();
        assert_eq!(group.children().unwrap(), [Group(root.path().join("a/b"))]);
        group.remove().unwrap();
        assert!(!root.path().join("a").exists());
        // A removed group has ended.
        group.wait_for_end().unwrap();
    }
}
