//! Network namespaces without a name: they exist while a file descriptor or a process holds them, and no longer.
//!
//! So nothing has to be removed after a crash: with the last process the kernel takes back the namespace and all that is in
//! it, devices, addresses, routes and sysctls.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::thread;

use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};

use crate::error::{Doing, Error, Result};
use crate::route::Routing;

/// Where the namespace of the calling thread can be had.
const OWN: &str = "/proc/thread-self/ns/net";

/// A network namespace, held by a file descriptor.
#[derive(Debug)]
pub struct Namespace {
    handle: OwnedFd,
}

impl Namespace {
    /// A new one, with its loopback device up.
    ///
    /// # Errors
    /// Without the right to make one (`CAP_SYS_ADMIN`), or on a kernel without network namespaces.
    pub fn new() -> Result<Self> {
        let made = thread::scope(|scope| {
            let maker = scope.spawn(|| {
                // SAFETY: only the calling thread moves, and it ends here: no other thread sees a file or address change
                // under its hands. File descriptors are not unshared.
                unsafe { unshare_unsafe(UnshareFlags::NEWNET) }?;
                File::open(OWN)
            });
            maker.join().unwrap_or_else(|panic| resume_unwind(panic))
        });
        let namespace = Namespace { handle: made.map_err(not_made)?.into() };
        namespace.enter_thread(|| Routing::open()?.set_loopback_up())??;
        Ok(namespace)
    }

    /// That of the calling thread.
    ///
    /// # Errors
    /// Without `/proc`.
    pub fn current() -> Result<Self> {
        Self::at(Path::new(OWN))
    }

    /// That of a process.
    ///
    /// # Errors
    /// If there is no such process, or it belongs to another user.
    pub fn of_pid(pid: u32) -> Result<Self> {
        Self::at(Path::new(&format!("/proc/{pid}/ns/net")))
    }

    /// The one that a file refers to: one of `/proc`, of `/run/netns`, or what [`Self::path`] returned.
    ///
    /// # Errors
    /// If the file cannot be opened.
    pub fn at(path: &Path) -> Result<Self> {
        let file = File::open(path).doing(format!("opening the network namespace {}", path.display()))?;
        Ok(Namespace { handle: file.into() })
    }

    /// A file by which other processes find this namespace while `self` lives.
    pub fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/{}/fd/{}", std::process::id(), self.handle.as_raw_fd()))
    }

    /// Moves the calling thread into it: for a child between fork and exec, and for threads that never leave again.
    ///
    /// # Errors
    /// Without `CAP_SYS_ADMIN`.
    pub fn enter(&self) -> io::Result<()> {
        enter(self.as_fd())
    }

    /// Runs `work` in a thread of its own inside the namespace, and waits for it. Sockets that it opens stay in the namespace.
    ///
    /// # Errors
    /// If the thread may not enter.
    pub fn enter_thread<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T> {
        let done = thread::scope(|scope| {
            let worker = scope.spawn(|| self.enter().map(|()| work()));
            worker.join().unwrap_or_else(|panic| resume_unwind(panic))
        });
        done.doing("entering a network namespace")
    }

    /// A sysctl of the namespace, by its dotted name: `net.ipv4.tcp_ecn`.
    ///
    /// # Errors
    /// If this kernel does not have it.
    pub fn sysctl(&self, name: &str) -> Result<String> {
        let path = sysctl_path(name);
        let text = self.enter_thread(|| fs::read_to_string(&path))?;
        text.map(|text| text.trim().to_owned()).map_err(|error| sysctl_error("reading", name, error))
    }

    /// Sets a sysctl inside the namespace; the machine's own stays as it is.
    ///
    /// # Errors
    /// If this kernel does not have it, or refuses the value.
    pub fn set_sysctl(&self, name: &str, value: &str) -> Result<()> {
        let path = sysctl_path(name);
        // Without O_CREAT, so that a missing one is "not found" and not "permission denied".
        let open = || fs::OpenOptions::new().write(true).open(&path);
        let mut file = self.enter_thread(open)?.map_err(|error| sysctl_error("opening", name, error))?;
        // The file belongs to the namespace in which it was opened.
        file.write_all(value.as_bytes()).doing(format!("setting the sysctl {name} to {value}"))
    }
}

impl AsFd for Namespace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }
}

/// Moves the calling thread; async-signal-safe.
pub(crate) fn enter(namespace: BorrowedFd<'_>) -> io::Result<()> {
    Ok(move_into_link_name_space(namespace, Some(LinkNameSpaceType::Network))?)
}

fn sysctl_path(name: &str) -> PathBuf {
    Path::new("/proc/sys").join(name.replace('.', "/"))
}

fn sysctl_error(doing: &str, name: &str, error: io::Error) -> Error {
    if error.kind() == io::ErrorKind::NotFound {
        return Error::Unsupported {
            what: format!("the sysctl {name}"),
            why: "this kernel does not have it".into(),
            remedy: "use a newer kernel, or one that was built with it".into(),
        };
    }
    Error::io(format!("{doing} the sysctl {name}"), error)
}

fn not_made(error: io::Error) -> Error {
    match error.raw_os_error() {
        Some(libc::EINVAL) => Error::Unsupported {
            what: "network namespaces".into(),
            why: "this kernel was built without CONFIG_NET_NS".into(),
            remedy: "use a distribution's kernel".into(),
        },
        _ => Error::io("making a network namespace", error),
    }
}
