//! Processes of a lab. Processes that the lab has started are in its process namespace, which they
//! cannot leave. Foreign processes may have entered its network namespaces (`nsenter`): they are
//! reported and left alone.

use std::fs;
use std::io;
use std::os::fd::BorrowedFd;
use std::os::unix::fs::MetadataExt;

use serde::{Deserialize, Serialize};

/// A process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// Its process id, as the caller sees it.
    pub pid: u32,
    /// Its command line, or its name if that is empty.
    pub command: String,
}

/// What was still running when a lab ended, and what is left.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remains {
    /// Processes of the lab that still ran and were killed.
    pub ended: Vec<Process>,
    /// Foreign processes in the lab's network namespaces, which exist until these processes end.
    pub holders: Vec<Process>,
    /// Connections that are still closing. They keep a network namespace and its congestion
    /// controller until then.
    pub connections: usize,
}

/// A kind of namespace, by its name in `/proc/PID/ns`.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Network,
    Process,
}

/// Identifies a namespace of a kind while the namespace is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Identity {
    device: u64,
    inode: u64,
}

impl Identity {
    /// The namespace that a file holds.
    pub(super) fn of_file(file: BorrowedFd<'_>) -> io::Result<Self> {
        let file = rustix::fs::fstat(file)?;
        Ok(Identity {
            device: file.st_dev,
            inode: file.st_ino,
        })
    }

    /// The namespace of a process.
    pub(super) fn of_process(pid: &str, kind: Kind) -> io::Result<Self> {
        let name = match kind {
            Kind::Network => "net",
            Kind::Process => "pid",
        };
        let file = fs::metadata(format!("/proc/{pid}/ns/{name}"))?;
        Ok(Identity {
            device: file.dev(),
            inode: file.ino(),
        })
    }
}

/// All visible processes that run in one of `namespaces`, except this process.
pub(super) fn inside(namespaces: &[Identity], kind: Kind) -> Vec<Process> {
    let own = own_number();
    let is_inside = |pid: &u32| {
        Some(*pid) != own
            && Identity::of_process(&pid.to_string(), kind)
                .is_ok_and(|identity| namespaces.contains(&identity))
            && is_running(*pid)
    };
    all()
        .filter(is_inside)
        .map(|pid| Process {
            pid,
            command: command_of(pid),
        })
        .collect()
}

/// All process ids in `/proc`.
pub(super) fn all() -> impl Iterator<Item = u32> {
    let files = fs::read_dir("/proc").into_iter().flatten().flatten();
    files.filter_map(|file| file.file_name().to_str()?.parse().ok())
}

/// This process' id in `/proc`, which may belong to an outer namespace.
fn own_number() -> Option<u32> {
    fs::read_link("/proc/self").ok()?.to_str()?.parse().ok()
}

/// False for a zombie, which only waits to be reaped.
fn is_running(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The second field is the name in parentheses, which may contain any characters
    // (proc_pid_stat(5)).
    stat.rsplit_once(") ")
        .is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

fn command_of(pid: u32) -> String {
    let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let line = String::from_utf8_lossy(&words)
        .trim_end_matches('\0')
        .replace('\0', " ");
    if line.is_empty() {
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        return name.trim_end().to_owned();
    }
    line
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn processes_are_found_by_their_namespace_and_zombies_are_not() {
        let own = Identity::of_process("self", Kind::Network).unwrap();
        let mut child = Command::new("sleep").arg("600").spawn().unwrap();
        let found = |pid: u32| {
            inside(&[own], Kind::Network)
                .into_iter()
                .find(|process| process.pid == pid)
        };
        // Right after its start a process has a name and no arguments yet.
        while found(child.id()).unwrap().command == "sleep" {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        assert_eq!(found(child.id()).unwrap().command, "sleep 600");
        assert_eq!(found(std::process::id()), None);
        child.kill().unwrap();
        // A killed process takes some time to become a zombie.
        while found(child.id()).is_some() {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        child.wait().unwrap();
    }
}
