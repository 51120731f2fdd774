//! The machine as the checks see it: files, folders, attempts.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use joulepath_model::units::Nanos;
use rustix::fs::{Access, AtFlags, CWD, accessat, statfs};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketType};
use rustix::time::{ClockId, clock_getres};

use crate::capability;
use crate::error::{Doing, Error, Result};
use crate::lateness::{Waiting, timer_lateness};
use crate::namespace::Namespace;
use crate::programs;
use crate::state::root;

/// Usual mount point of the BPF file system, relative to the root directory.
const BPFFS: &str = "sys/fs/bpf";
/// `BPF_FS_MAGIC`
const MAGIC: u64 = 0xcafe_4a11;

/// Access to a machine. [`Machine`] is the real one.
pub trait System {
    /// The text of a file.
    ///
    /// # Errors
    /// If the file cannot be opened or read.
    fn read(&self, path: &str) -> io::Result<String>;

    /// The names in a folder, sorted.
    ///
    /// # Errors
    /// If the folder cannot be opened or read.
    fn list(&self, path: &str) -> io::Result<Vec<String>>;

    /// The target of a symbolic link.
    ///
    /// # Errors
    /// If the link cannot be read.
    fn link(&self, path: &str) -> io::Result<PathBuf>;

    /// Tries an action and reverts it.
    ///
    /// # Errors
    /// If it does not work.
    fn attempt(&self, attempt: Attempt) -> Result<()>;

    /// Resolution of the clock for timers.
    fn timer_resolution(&self) -> Duration;

    /// Current lateness of timers that one in a hundred exceeds.
    fn timer_lateness(&self) -> Nanos;

    /// True if this process' capabilities apply to everything, false if only to a user namespace.
    fn in_initial_user_namespace(&self) -> bool;
}

/// An action to try.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Attempt {
    /// Open an MPTCP socket.
    MptcpSocket,
    /// Create a network namespace.
    Namespace,
    /// Open the TUN device.
    Tun,
    /// Load a congestion controller by `struct_ops`.
    Controller,
    /// Put programs on MPTCP by BPF.
    Programs,
    /// Find the BPF file system at its usual place.
    BpfFileSystem,
    /// Write to the folder of pins, or create it.
    Pins,
    /// Write to the folder of states, or create it.
    States,
}

/// This machine.
#[derive(Debug)]
pub struct Machine {
    load_controller: fn() -> Result<()>,
}

impl Machine {
    /// `load_controller` tests if a congestion controller can be loaded.
    pub fn new(load_controller: fn() -> Result<()>) -> Self {
        Machine { load_controller }
    }
}

impl System for Machine {
    fn read(&self, path: &str) -> io::Result<String> {
        fs::read_to_string(path)
    }

    fn list(&self, path: &str) -> io::Result<Vec<String>> {
        let mut names = fs::read_dir(path)?
            .map(|entry| entry.map(|entry| entry.file_name().to_string_lossy().into_owned()))
            .collect::<io::Result<Vec<_>>>()?;
        names.sort();
        Ok(names)
    }

    fn link(&self, path: &str) -> io::Result<PathBuf> {
        fs::read_link(path)
    }

    fn attempt(&self, attempt: Attempt) -> Result<()> {
        match attempt {
            Attempt::MptcpSocket => open_mptcp_socket().doing("opening an MPTCP socket"),
            Attempt::Namespace => Namespace::new().map(drop),
            Attempt::Tun => open_tun().doing("opening /dev/net/tun"),
            Attempt::Controller => (self.load_controller)(),
            Attempt::Programs => programs::probe(),
            Attempt::BpfFileSystem => find_bpffs(),
            Attempt::Pins => may_write(&root().join(BPFFS), "joulepath"),
            Attempt::States => may_write(&root().join("run"), "joulepath"),
        }
    }

    fn timer_resolution(&self) -> Duration {
        clock_getres(ClockId::Monotonic)
            .try_into()
            .expect("the kernel's resolution is positive")
    }

    fn timer_lateness(&self) -> Nanos {
        timer_lateness(Waiting::Preferred)
    }

    fn in_initial_user_namespace(&self) -> bool {
        capability::in_initial_user_namespace()
    }
}

impl Default for Machine {
    /// Tests with the controllers of this build.
    fn default() -> Self {
        #[cfg(feature = "bpf")]
        return Machine::new(crate::cc::probe);
        #[cfg(not(feature = "bpf"))]
        return Machine::new(not_built);
    }
}

#[cfg(not(feature = "bpf"))]
fn not_built() -> Result<()> {
    Err(Error::Unsupported {
        what: "loading a congestion controller".into(),
        why: "this build is without the eBPF programs".into(),
        remedy: "`make build` installs what it needs and builds it in".into(),
    })
}

fn find_bpffs() -> Result<()> {
    let path = root().join(BPFFS);
    let found = statfs(&path).doing(format!("checking {}", path.display()))?;
    if found.f_type as u64 == MAGIC {
        return Ok(());
    }
    Err(Error::Unsupported {
        what: "keeping a controller loaded".into(),
        why: format!("the BPF file system is not mounted on {}", path.display()),
        remedy: format!("mount -t bpf bpf /{BPFFS}"),
    })
}

/// Checks that a folder is writable, or can be created if it is absent.
fn may_write(parent: &Path, name: &str) -> Result<()> {
    let folder = parent.join(name);
    let allowed = Access::WRITE_OK | Access::EXEC_OK;
    let of = |path: &Path| accessat(CWD, path, allowed, AtFlags::EACCESS);
    let done = match of(&folder) {
        Err(Errno::NOENT) => of(parent),
        done => done,
    };
    done.doing(format!("writing to {}", folder.display()))
}

fn open_mptcp_socket() -> io::Result<()> {
    rustix::net::socket(
        AddressFamily::INET,
        SocketType::STREAM,
        Some(rustix::net::ipproto::MPTCP),
    )?;
    Ok(())
}

fn open_tun() -> io::Result<()> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/net/tun")
        .map(drop)
}
