//! Searches the machine's network namespaces that this process can see, and names each for the
//! user.
//!
//! The kernel has no list of namespaces. The search looks at everything that may hold one: the
//! names of `ip netns`, files mounted in any mount namespace (as container engines do), every
//! thread, and every open file. It cannot find a namespace that only a socket holds because its
//! processes have ended.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;

use super::handle::{Cookie, Namespace};
use crate::error::Result;
use crate::state::root;

/// Directory of `ip netns`, relative to the root directory.
const NAMES: &str = "run/netns";
/// Inode of the machine's first process namespace (`PROC_PID_INIT_INO`).
const FIRST_PROCESSES: u64 = 0xEFFF_FFFC;
/// How many of the namespaces that were not found may exist, in a process namespace that does not
/// see all processes or if some processes may not be inspected.
const MOST_UNSEEN: usize = 64;

/// A namespace that the search found.
#[derive(Debug)]
pub struct Found {
    /// The namespace, held.
    pub namespace: Namespace,
    /// Its cookie.
    pub cookie: Cookie,
    /// Where it was found.
    pub place: Place,
}

/// How a namespace was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// The searching process is in it.
    Own,
    /// A name of `ip netns`.
    Name(String),
    /// A process is in it.
    Process {
        /// Process id.
        pid: u32,
        /// Command name.
        name: String,
    },
    /// A file refers to it: a mount in the mount namespace of a process, or an open file.
    File(PathBuf),
}

/// Writes, for example, `the namespace blue`.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Own => f.write_str("this namespace"),
            Place::Name(name) => write!(f, "the namespace {name}"),
            Place::Process { pid, name } => write!(f, "the namespace of process {pid} ({name})"),
            Place::File(path) => write!(f, "the namespace {}", path.display()),
        }
    }
}

impl Place {
    /// The shell command that runs `command` in the namespace.
    pub fn command(&self, command: &str) -> String {
        match self {
            Place::Own => command.to_owned(),
            Place::Name(name) => format!("ip netns exec {name} {command}"),
            Place::Process { pid, .. } => format!("nsenter --target {pid} --net {command}"),
            Place::File(path) => format!("nsenter --net={} {command}", path.display()),
        }
    }
}

/// Result of a search.
#[derive(Debug)]
pub struct Search {
    /// All namespaces that could be entered; the first is this process' own.
    pub found: Vec<Found>,
    /// Number of processes that this user may not inspect and of namespaces that it may not enter.
    /// There may be further namespaces.
    pub hidden: usize,
    /// True if this process sees every process of the machine. In a container, processes outside it
    /// may hold further namespaces.
    pub sees_all: bool,
}

impl Search {
    /// How many of the youngest namespaces that were not found may still exist. Records of all others
    /// may be removed.
    pub fn unseen(&self) -> usize {
        if self.sees_all && self.hidden == 0 {
            0
        } else {
            MOST_UNSEEN
        }
    }

    /// The cookies of all found namespaces.
    pub fn cookies(&self) -> Vec<Cookie> {
        self.found.iter().map(|found| found.cookie).collect()
    }
}

/// Searches the machine.
///
/// # Errors
/// [`Error::Io`](crate::Error::Io) without `/proc`;
/// [`Error::Unsupported`](crate::Error::Unsupported) on kernels before 5.14.
pub fn search() -> Result<Search> {
    let mut seeker = Seeker::default();
    seeker.take(Namespace::current()?, || Place::Own);
    seeker.names();
    let processes = processes();
    seeker.processes(&processes);
    seeker.mounts(&processes);
    seeker.open_files(&processes);
    seeker.with_cookies()
}

#[derive(Default)]
struct Seeker {
    /// Device and inode of the found files. They are held open, so none is reused meanwhile.
    known: BTreeSet<(u64, u64)>,
    found: Vec<(Namespace, Place)>,
    /// Processes that this user may not inspect.
    hidden: BTreeSet<u32>,
}

impl Seeker {
    fn take(&mut self, namespace: Namespace, place: impl FnOnce() -> Place) {
        let Ok(file) = rustix::fs::fstat(namespace.as_fd()) else {
            return;
        };
        if self.known.insert((file.st_dev, file.st_ino)) {
            self.found.push((namespace, place()));
        }
    }

    /// Opens a file and adds its namespace if it is new. Returns false if that is not permitted.
    fn look(&mut self, path: &Path, place: impl FnOnce() -> Place) -> bool {
        let file = match fs::metadata(path) {
            Ok(file) => file,
            // A missing file belongs to a process that has ended.
            Err(error) => return error.kind() != std::io::ErrorKind::PermissionDenied,
        };
        if self.known.contains(&(file.dev(), file.ino())) {
            return true;
        }
        match Namespace::at(path) {
            Ok(namespace) => self.take(namespace, place),
            Err(crate::Error::Permission { .. }) => return false,
            Err(_) => {}
        }
        true
    }

    fn names(&mut self) {
        for entry in fs::read_dir(root().join(NAMES))
            .into_iter()
            .flatten()
            .flatten()
        {
            let name = entry.file_name().to_string_lossy().into_owned();
            self.look(&entry.path(), || Place::Name(name));
        }
    }

    fn processes(&mut self, processes: &[u32]) {
        for &pid in processes {
            let place = || Place::Process {
                pid,
                name: name_of(pid),
            };
            if !self.look(Path::new(&format!("/proc/{pid}/ns/net")), place) {
                self.hidden.insert(pid);
                continue;
            }
            // A thread may be in another namespace than its process.
            for task in fs::read_dir(format!("/proc/{pid}/task"))
                .into_iter()
                .flatten()
                .flatten()
            {
                if task.file_name().to_string_lossy() != pid.to_string() {
                    self.look(&task.path().join("ns/net"), place);
                }
            }
        }
    }

    /// Adds the namespaces that are mounted as files, in each mount namespace.
    fn mounts(&mut self, processes: &[u32]) {
        let mut mount_namespaces = BTreeSet::new();
        for &pid in processes {
            let Ok(file) = fs::metadata(format!("/proc/{pid}/ns/mnt")) else {
                continue;
            };
            if !mount_namespaces.insert((file.dev(), file.ino())) {
                continue;
            }
            let mounts = fs::read_to_string(format!("/proc/{pid}/mountinfo")).unwrap_or_default();
            for path in mounts.lines().filter_map(mounted_namespace) {
                let path = PathBuf::from(format!("/proc/{pid}/root{path}"));
                self.look(&path, || Place::File(path.clone()));
            }
        }
    }

    fn open_files(&mut self, processes: &[u32]) {
        for &pid in processes {
            for file in fs::read_dir(format!("/proc/{pid}/fd"))
                .into_iter()
                .flatten()
                .flatten()
            {
                let path = file.path();
                let target = fs::read_link(&path).unwrap_or_default();
                if target.to_string_lossy().starts_with("net:[") {
                    self.look(&path, || Place::File(path.clone()));
                }
            }
        }
    }

    /// Enters each namespace in one thread to read its cookie.
    fn with_cookies(self) -> Result<Search> {
        let Seeker { found, hidden, .. } = self;
        let mut hidden = hidden.len();
        let cookie =
            |namespace: &Namespace| match namespace.is_entered() || namespace.enter().is_ok() {
                true => Cookie::own().map(Some),
                false => Ok(None),
            };
        let cookies = thread::scope(|scope| {
            let wanderer = scope.spawn(|| {
                found
                    .iter()
                    .map(|(namespace, _)| cookie(namespace))
                    .collect::<Vec<_>>()
            });
            wanderer
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        let mut entered = vec![];
        for ((namespace, place), cookie) in found.into_iter().zip(cookies) {
            match cookie? {
                Some(cookie) => entered.push(Found {
                    namespace,
                    cookie,
                    place,
                }),
                None => hidden += 1,
            }
        }
        let first = fs::metadata("/proc/1/ns/pid");
        Ok(Search {
            found: entered,
            hidden,
            sees_all: first.is_ok_and(|file| file.ino() == FIRST_PROCESSES),
        })
    }
}

/// All process ids in `/proc`.
fn processes() -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut processes: Vec<u32> = entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect();
    processes.sort_unstable();
    processes
}

fn name_of(pid: u32) -> String {
    fs::read_to_string(format!("/proc/{pid}/comm"))
        .unwrap_or_default()
        .trim()
        .to_owned()
}

/// The mount point of a network namespace in a line of mountinfo: `… 0:4 net:[4026532008]
/// /run/netns/a rw - nsfs nsfs rw`.
fn mounted_namespace(line: &str) -> Option<String> {
    let (mount, kind) = line.split_once(" - ")?;
    let mut fields = mount.split(' ').skip(3);
    let (what, place) = (fields.next()?, fields.next()?);
    (kind.starts_with("nsfs ") && what.starts_with("net:[")).then(|| unescaped(place))
}

/// Decodes octal escapes of blanks and the like: `\040`.
fn unescaped(text: &str) -> String {
    let mut parts = text.split('\\');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let code = part
            .get(..3)
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match code {
            Some(code) => {
                plain.push(char::from(code));
                plain.push_str(&part[3..]);
            }
            None => plain.push_str(part),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounted_namespaces_are_distinguished_from_other_mounts() {
        let namespace = "83 29 0:4 net:[4026532008] /run/netns/a\\040b rw shared:44 - nsfs nsfs rw";
        assert_eq!(
            mounted_namespace(namespace).as_deref(),
            Some("/run/netns/a b")
        );
        let other = "84 29 0:4 uts:[4026531838] /run/uts rw shared:44 - nsfs nsfs rw";
        assert_eq!(mounted_namespace(other), None);
        let tmpfs = "25 1 0:23 / /run rw,nosuid shared:11 - tmpfs tmpfs rw,size=9k";
        assert_eq!(mounted_namespace(tmpfs), None);
    }

    #[test]
    fn the_shown_command_enters_the_namespace() {
        let own = Place::Own.command("joulepath cc status");
        assert_eq!(own, "joulepath cc status");
        assert_eq!(
            Place::Name("blue".into()).command("true"),
            "ip netns exec blue true"
        );
        let process = Place::Process {
            pid: 7,
            name: "nginx".into(),
        };
        assert_eq!(process.command("true"), "nsenter --target 7 --net true");
        assert_eq!(process.to_string(), "the namespace of process 7 (nginx)");
    }

    #[test]
    fn this_process_namespace_is_found_first() {
        let search = search().unwrap();
        assert_eq!(search.found[0].place, Place::Own);
        assert_eq!(search.found[0].cookie, Cookie::own().unwrap());
        let cookies: BTreeSet<_> = search.found.iter().map(|found| found.cookie).collect();
        assert_eq!(cookies.len(), search.found.len());
    }
}
