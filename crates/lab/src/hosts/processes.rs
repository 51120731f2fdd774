//! Processes of a lab. Those that it has started are in its process namespace, which none of them can leave.
//! Others may have entered its network namespaces from outside (`nsenter`): they are named, and left alone.

use std::fs;
use std::io;
use std::os::fd::BorrowedFd;
use std::os::unix::fs::MetadataExt;

use serde::{Deserialize, Serialize};

/// A process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// Its number, as the process sees it that asked.
    pub pid: u32,
    /// Its command line, or its name if it has none.
    pub command: String,
}

/// What there was to end when a lab ended, and what could not be ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remains {
    /// Processes that the lab had started and that still ran: they were killed.
    pub ended: Vec<Process>,
    /// Processes of others that are inside the lab's network namespaces, which live until these have ended.
    pub holders: Vec<Process>,
    /// Connections that close by themselves, and hold a network namespace and its congestion controller until
    /// then.
    pub connections: usize,
}

/// A kind of namespace, as `/proc/PID/ns` calls it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Network,
    Process,
}

/// By which two namespaces of a kind are told apart for as long as either is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Identity {
    device: u64,
    inode: u64,
}

impl Identity {
    /// Of the namespace that a file holds.
    pub(super) fn of_file(file: BorrowedFd<'_>) -> io::Result<Self> {
        let file = rustix::fs::fstat(file)?;
        Ok(Identity { device: file.st_dev, inode: file.st_ino })
    }

    /// Of the namespace that a process is in.
    pub(super) fn of_process(pid: &str, kind: Kind) -> io::Result<Self> {
        let name = match kind {
            Kind::Network => "net",
            Kind::Process => "pid",
        };
        let file = fs::metadata(format!("/proc/{pid}/ns/{name}"))?;
        Ok(Identity { device: file.dev(), inode: file.ino() })
    }
}

/// All processes that this one sees and that run in one of `namespaces`, itself not counted.
pub(super) fn inside(namespaces: &[Identity], kind: Kind) -> Vec<Process> {
    let own = own_number();
    let is_inside = |pid: &u32| {
        Some(*pid) != own
            && Identity::of_process(&pid.to_string(), kind)
                .is_ok_and(|identity| namespaces.contains(&identity))
            && is_running(*pid)
    };
    all().filter(is_inside).map(|pid| Process { pid, command: command_of(pid) }).collect()
}

/// The numbers of all processes that `/proc` shows.
pub(super) fn all() -> impl Iterator<Item = u32> {
    let files = fs::read_dir("/proc").into_iter().flatten().flatten();
    files.filter_map(|file| file.file_name().to_str()?.parse().ok())
}

/// The number of this process in `/proc`, which may be that of an outer namespace.
fn own_number() -> Option<u32> {
    fs::read_link("/proc/self").ok()?.to_str()?.parse().ok()
}

/// A zombie does not run: only its parent has still to hear of its end.
fn is_running(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The second field is the name in parentheses, which may hold anything (proc_pid_stat(5)).
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

fn command_of(pid: u32) -> String {
    let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let line = String::from_utf8_lossy(&words).trim_end_matches('\0').replace('\0', " ");
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
        let found = |pid: u32| inside(&[own], Kind::Network).into_iter().find(|process| process.pid == pid);
        // For an instant after its start a process has a name and no arguments yet.
        while found(child.id()).unwrap().command == "sleep" {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        assert_eq!(found(child.id()).unwrap().command, "sleep 600");
        assert_eq!(found(std::process::id()), None);
        child.kill().unwrap();
        // A process that was killed becomes a zombie in its own time.
        while found(child.id()).is_some() {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        child.wait().unwrap();
    }
}
