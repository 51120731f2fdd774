//! Registrations that outlive their process, as pins in the BPF file system.
//!
//! ```text
//! /sys/fs/bpf/joulepath/jp_lia/link       the registration: without it the kernel unlists the controller
//!                              controls   control values, see `Control`
//!                              subflows   states of its subflows, see `SubflowState`
//!                       loading-jp_lia/   pins that are being made; stale if their process is gone
//!                       unloading-jp_lia/ pins that are being removed
//! ```
//!
//! A folder gets or loses its name in one step, so a controller is either loaded or not at every
//! instant. A killed process may leave a folder of the second kind, which the next process removes.
//!
//! A process in its own mount namespace pins where its oldest ancestor sees the BPF file system
//! (`state`). `ip netns exec` starts such a process: its private `/sys` ends with it, and the
//! controller would end, too.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::thread;

use joulepath_controllers::Controller;
use libbpf_rs::{Link, MapHandle};
use rustix::fs::{Access, AtFlags, CWD, accessat, statfs};
use rustix::io::Errno;
use rustix::mount::{MountFlags, mount};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};

use super::object::{CONTROLS, Loaded, SUBFLOWS, SharedMaps, refused};
use crate::capability::Task;
use crate::error::{Doing, Error, Result};
use crate::state::{outside, root};

/// Prefix of the controllers' names in the kernel.
pub const PREFIX: &str = "jp_";
/// The usual mount point of the BPF file system, relative to the root directory.
const BPFFS: &str = "sys/fs/bpf";
const FOLDER: &str = "joulepath";
const LINK: &str = "link";
const LOADING: &str = "loading-";
const UNLOADING: &str = "unloading-";
/// `BPF_FS_MAGIC`
const MAGIC: u64 = 0xcafe_4a11;

/// The name for `TCP_CONGESTION`.
pub fn kernel_name(controller: Controller) -> String {
    format!("{PREFIX}{}", controller.name())
}

/// The folder of all pins.
#[derive(Debug)]
pub(super) struct Pins {
    folder: PathBuf,
}

impl Pins {
    /// Mounts the BPF file system if necessary, and creates the folder.
    pub(super) fn open() -> Result<Self> {
        mount_bpffs()?;
        let folder = root().join(BPFFS).join(FOLDER);
        match fs::create_dir(&folder) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            made => made.map_err(|error| not_written(&folder, error))?,
        }
        accessat(
            CWD,
            &folder,
            Access::WRITE_OK | Access::EXEC_OK,
            AtFlags::EACCESS,
        )
        .map_err(|errno| not_written(&folder, errno.into()))?;
        Ok(Pins { folder })
    }

    /// Opens the folder for reading; `None` if it does not exist.
    pub(super) fn existing() -> Result<Option<Self>> {
        let folder = root().join(BPFFS).join(FOLDER);
        match fs::metadata(&folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            found => found
                .doing(format!("checking {}", folder.display()))
                .map(|_| Some(Pins { folder })),
        }
    }

    /// Folder of a controller's pins.
    fn of(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// True if a controller's registration is pinned.
    pub(super) fn is_loaded(&self, name: &str) -> bool {
        self.of(name).join(LINK).exists()
    }

    /// Names of all controllers with a pinned registration, sorted.
    pub(super) fn loaded(&self) -> Result<Vec<String>> {
        Ok(self
            .names()?
            .into_iter()
            .filter(|name| name.starts_with(PREFIX) && self.is_loaded(name))
            .collect())
    }

    fn names(&self) -> Result<Vec<String>> {
        let doing = || format!("listing {}", self.folder.display());
        let mut names = vec![];
        for entry in fs::read_dir(&self.folder).doing(doing())? {
            names.push(
                entry
                    .doing(doing())?
                    .file_name()
                    .to_string_lossy()
                    .into_owned(),
            );
        }
        names.sort();
        Ok(names)
    }

    /// A controller's registration.
    pub(super) fn link(&self, name: &str) -> Result<Link> {
        Link::open(self.of(name).join(LINK))
            .map_err(|error| refused(format!("opening the registration of {name}"), &error))
    }

    /// The maps of a controller.
    pub(super) fn maps(&self, name: &str) -> Result<SharedMaps> {
        let open = |map: &str| {
            MapHandle::from_pinned_path(self.of(name).join(map))
                .map_err(|error| refused(format!("opening the maps of {name}"), &error))
        };
        Ok(SharedMaps {
            controls: open("controls")?,
            subflows: open("subflows")?,
        })
    }

    /// Pins a controller and its registration. The controller is then loaded.
    pub(super) fn add(&self, name: &str, loaded: &mut Loaded, link: &mut Link) -> Result<()> {
        let draft = self.of(&format!("{LOADING}{name}"));
        let doing = || format!("creating the pins in {}", draft.display());
        fs::create_dir(&draft).map_err(|error| not_written(&draft, error))?;
        for (map, file) in [(CONTROLS, "controls"), (SUBFLOWS, "subflows")] {
            let pinned = loaded.map_mut(map).pin(draft.join(file));
            pinned.map_err(|error| refused(doing(), &error))?;
        }
        link.pin(draft.join(LINK))
            .map_err(|error| refused(doing(), &error))?;
        fs::rename(&draft, self.of(name)).doing(doing())
    }

    /// Removes a controller's pins. The controller is then unloaded; its registration ends when its
    /// last holder closes it.
    pub(super) fn remove(&self, name: &str) -> Result<()> {
        let doing = || format!("removing the pins of {name}");
        let draft = self.of(&format!("{UNLOADING}{name}"));
        match fs::rename(self.of(name), &draft) {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            renamed => renamed.doing(doing())?,
        }
        remove_folder(&draft).doing(doing())
    }

    /// Removes what killed processes left: unfinished folders, and folders of older versions
    /// without a registration. Returns how many there were.
    pub(super) fn sweep(&self) -> Result<usize> {
        let mut swept = 0;
        for name in self.names()? {
            let is_draft = name.starts_with(LOADING) || name.starts_with(UNLOADING);
            if is_draft || (name.starts_with(PREFIX) && !self.is_loaded(&name)) {
                remove_folder(&self.of(&name))
                    .doing(format!("removing {}", self.of(&name).display()))?;
                swept += 1;
            }
        }
        Ok(swept)
    }
}

/// Removes the maps first and the registration last. Missing files are no error.
fn remove_folder(folder: &Path) -> io::Result<()> {
    let gone = |done: io::Result<()>| match done {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        done => done,
    };
    for file in ["controls", "subflows", LINK] {
        gone(fs::remove_file(folder.join(file)))?;
    }
    gone(fs::remove_dir(folder))
}

/// Mounts the BPF file system at the usual place if it is not mounted. systemd does so at boot,
/// small systems do not.
fn mount_bpffs() -> Result<()> {
    let path = root().join(BPFFS);
    let doing = format!("mounting the BPF file system on {}", path.display());
    match statfs(&path) {
        Ok(found) if found.f_type as u64 == MAGIC => return Ok(()),
        Ok(_) => {}
        Err(Errno::NOENT) => return Err(no_bpffs()),
        Err(errno) => return Err(Error::io(doing, errno)),
    }
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    let mount = || {
        mount(
            "bpf",
            Path::new("/").join(BPFFS),
            "bpf",
            flags,
            Some(c"mode=0700"),
        )
    };
    let mounted = match outside() {
        None => mount(),
        Some(ancestor) => in_mount_namespace_of(ancestor, mount),
    };
    match mounted {
        Err(Errno::NODEV | Errno::NOENT) => Err(no_bpffs()),
        mounted => mounted.doing_task(Task::MountBpffs, doing),
    }
}

/// Runs `task` in a new thread: a mount can only be made in the thread's own mount namespace, and
/// the thread cannot return from there.
fn in_mount_namespace_of<T: Send>(
    process: u32,
    work: impl FnOnce() -> Result<T, Errno> + Send,
) -> Result<T, Errno> {
    let enter = || {
        let namespace = rustix::fs::open(
            format!("/proc/{process}/ns/mnt"),
            rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::CLOEXEC,
            rustix::fs::Mode::empty(),
        )?;
        // SAFETY: only this thread stops sharing root and working directory, and it ends here. File
        // descriptors stay shared.
        unsafe { unshare_unsafe(UnshareFlags::FS) }?;
        move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Mount))
    };
    thread::scope(|scope| {
        let worker = scope.spawn(|| enter().and_then(|()| work()));
        worker
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

fn no_bpffs() -> Error {
    Error::Unsupported {
        what: "keeping a controller loaded".into(),
        why: "this kernel has no BPF file system".into(),
        remedy: "boot a kernel that was built with CONFIG_BPF_SYSCALL".into(),
    }
}

/// The error of a user who may not write there, with the commands that grant access to the folder.
fn not_written(folder: &Path, error: io::Error) -> Error {
    let doing = format!("writing to {}", folder.display());
    match Error::io(doing, error) {
        Error::Permission { doing, denial, .. } => Error::Permission {
            doing,
            denial,
            remedy: format!(
                "run it as root, or make the folder yours: sudo chmod a+x /{BPFFS}; \
                 sudo install -d -o $(id -un) /{BPFFS}/{FOLDER}"
            ),
        },
        error => error,
    }
}
