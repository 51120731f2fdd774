//! One network namespace, held by a file descriptor.
//!
//! Namespaces created here have no name: they exist only while a file descriptor or a process holds
//! them. So there is nothing to clean up after a crash: when the last process ends, the kernel
//! removes the namespace with its devices, addresses, routes and sysctls.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::thread;

use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};
use serde::{Deserialize, Serialize};

use crate::capability::Task;
use crate::error::{Doing, Error, Result};
use crate::route::Routing;
use crate::sockopt;

/// `SO_NETNS_COOKIE`, Linux 5.14, on all architectures except parisc and sparc.
const SO_NETNS_COOKIE: libc::c_int = 71;

/// The calling thread's namespace.
const OWN: &str = "/proc/thread-self/ns/net";

/// The kernel's identifier of a network namespace. It is unique until the next boot, unlike the
/// inode number of the namespace's file, which may be reused as soon as the namespace is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Cookie(pub u64);

impl Cookie {
    /// Cookie of the calling thread's namespace.
    ///
    /// # Errors
    /// [`Error::Unsupported`] on kernels before 5.14.
    pub fn own() -> Result<Self> {
        let socket = socket_with(
            AddressFamily::UNIX,
            SocketType::DGRAM,
            SocketFlags::CLOEXEC,
            None,
        );
        let socket = socket.doing("opening a socket")?;
        let mut bytes = [0; size_of::<u64>()];
        match sockopt::get(&socket, libc::SOL_SOCKET, SO_NETNS_COOKIE, &mut bytes) {
            Ok(_) => Ok(Cookie(u64::from_ne_bytes(bytes))),
            Err(error) if error.raw_os_error() == Some(libc::ENOPROTOOPT) => {
                Err(Error::Unsupported {
                    what: "identifying network namespaces".into(),
                    why: "this kernel has no cookies for them".into(),
                    remedy: "boot Linux 5.14 or newer".into(),
                })
            }
            Err(error) => Err(Error::io(
                "reading the cookie of a network namespace",
                error,
            )),
        }
    }
}

impl fmt::Display for Cookie {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A network namespace, held by a file descriptor.
#[derive(Debug)]
pub struct Namespace {
    handle: OwnedFd,
}

impl Namespace {
    /// Creates a namespace with its loopback device up.
    ///
    /// # Errors
    /// [`Error::Permission`] without `CAP_SYS_ADMIN`; [`Error::Unsupported`] on a kernel without
    /// network namespaces.
    pub fn new() -> Result<Self> {
        let made = thread::scope(|scope| {
            let maker = scope.spawn(|| {
                // SAFETY: only this thread changes its namespace, and it ends here: no other thread
                // is affected. File descriptors stay shared.
                unsafe { unshare_unsafe(UnshareFlags::NEWNET) }?;
                File::open(OWN)
            });
            maker.join().unwrap_or_else(|panic| resume_unwind(panic))
        });
        let namespace = Namespace {
            handle: made.map_err(not_made)?.into(),
        };
        namespace.enter_thread(|| Routing::open()?.set_loopback_up())??;
        Ok(namespace)
    }

    /// The calling thread's namespace.
    ///
    /// # Errors
    /// [`Error::Io`] without `/proc`.
    pub fn current() -> Result<Self> {
        Self::at(Path::new(OWN))
    }

    /// The namespace of a process.
    ///
    /// # Errors
    /// [`Error::Io`] if there is no such process, [`Error::Permission`] if it belongs to another
    /// user.
    pub fn of_pid(pid: u32) -> Result<Self> {
        Self::at(Path::new(&format!("/proc/{pid}/ns/net")))
    }

    /// The namespace that a file refers to: in `/proc`, in `/run/netns`, or returned by
    /// [`Self::path`].
    ///
    /// # Errors
    /// [`Error::Io`] if there is no such file, [`Error::Permission`] if this user may not open it.
    pub fn at(path: &Path) -> Result<Self> {
        let file =
            File::open(path).doing(format!("opening the network namespace {}", path.display()))?;
        Ok(Namespace {
            handle: file.into(),
        })
    }

    /// Its unique identifier.
    ///
    /// # Errors
    /// [`Error::Permission`] without `CAP_SYS_ADMIN`, unless the caller is in it;
    /// [`Error::Unsupported`] on kernels before 5.14.
    pub fn cookie(&self) -> Result<Cookie> {
        self.enter_thread(Cookie::own)?
    }

    /// The inode number of its file, which `/proc` and `ip netns` show. It may be reused after the
    /// namespace is gone.
    ///
    /// # Errors
    /// [`Error::Io`] if the kernel does not report it.
    pub fn inode(&self) -> Result<u64> {
        Ok(rustix::fs::fstat(&self.handle)
            .doing("checking a network namespace")?
            .st_ino)
    }

    /// A path under which other processes find this namespace while `self` lives.
    pub fn path(&self) -> PathBuf {
        PathBuf::from(format!(
            "/proc/{}/fd/{}",
            std::process::id(),
            self.handle.as_raw_fd()
        ))
    }

    /// Moves the calling thread into it. For a child between fork and exec, and for threads that
    /// never leave it.
    ///
    /// # Errors
    /// EPERM without `CAP_SYS_ADMIN`.
    pub fn enter(&self) -> io::Result<()> {
        enter(self.as_fd())
    }

    /// Runs `work` in a new thread inside the namespace, and waits for it. Sockets that it opens
    /// stay in the namespace.
    ///
    /// # Errors
    /// [`Error::Permission`] without `CAP_SYS_ADMIN`, unless the caller is already in it.
    pub fn enter_thread<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T> {
        let done = thread::scope(|scope| {
            let worker = scope.spawn(|| {
                // A thread that is already in the namespace needs no permission.
                if !self.is_entered() {
                    self.enter()?;
                }
                Ok::<T, io::Error>(work())
            });
            worker.join().unwrap_or_else(|panic| resume_unwind(panic))
        });
        done.doing_task(Task::Namespaces, "entering a network namespace")
    }

    /// True if the calling thread is in it.
    pub fn is_entered(&self) -> bool {
        let file = |file: rustix::fs::Stat| (file.st_dev, file.st_ino);
        let own = rustix::fs::stat(OWN).map(file);
        own.is_ok() && own == rustix::fs::fstat(&self.handle).map(file)
    }

    /// Reads a sysctl of the namespace by its dotted name, such as `net.ipv4.tcp_ecn`.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if this kernel lacks it.
    pub fn sysctl(&self, name: &str) -> Result<String> {
        let path = sysctl_path(name);
        let text = self.enter_thread(|| fs::read_to_string(&path))?;
        text.map(|text| text.trim().to_owned())
            .map_err(|error| sysctl_error("reading", name, error))
    }

    /// Sets a sysctl inside the namespace; the machine's own is unchanged.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if this kernel lacks it; [`Error::Io`] if it refuses the value;
    /// [`Error::Permission`] without `CAP_NET_ADMIN` there.
    pub fn set_sysctl(&self, name: &str, value: &str) -> Result<()> {
        let path = sysctl_path(name);
        // Without O_CREAT, so that a missing file gives "not found" and not "permission denied".
        let open = || fs::OpenOptions::new().write(true).open(&path);
        let mut file = self
            .enter_thread(open)?
            .map_err(|error| sysctl_error("opening", name, error))?;
        // The file belongs to the namespace in which it was opened.
        file.write_all(value.as_bytes()).doing_task(
            Task::Network,
            format!("setting the sysctl {name} to {value}"),
        )
    }
}

impl AsFd for Namespace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }
}

/// Moves the calling thread into a namespace; async-signal-safe.
///
/// # Errors
/// EPERM without `CAP_SYS_ADMIN`.
pub fn enter(namespace: BorrowedFd<'_>) -> io::Result<()> {
    Ok(move_into_link_name_space(
        namespace,
        Some(LinkNameSpaceType::Network),
    )?)
}

fn sysctl_path(name: &str) -> PathBuf {
    Path::new("/proc/sys").join(name.replace('.', "/"))
}

fn sysctl_error(doing: &str, name: &str, error: io::Error) -> Error {
    if error.kind() == io::ErrorKind::NotFound {
        return Error::Unsupported {
            what: format!("the sysctl {name}"),
            why: "this kernel lacks it".into(),
            remedy: "use a newer kernel, or one that was built with it".into(),
        };
    }
    Error::task(Task::Network, format!("{doing} the sysctl {name}"), error)
}

fn not_made(error: io::Error) -> Error {
    match error.raw_os_error() {
        Some(libc::EINVAL) => Error::Unsupported {
            what: "network namespaces".into(),
            why: "this kernel was built without CONFIG_NET_NS".into(),
            remedy: "use a distribution's kernel".into(),
        },
        _ => Error::task(Task::Namespaces, "creating a network namespace", error),
    }
}
