//! Which labs run. The kernel clears up after processes; the ledger is for processes that live on, such as a server that a
//! command put into the background.
//!
//! A file per lab in `/run/joulepath/labs` names its processes by number *and* start, because numbers are used again; a program
//! that they started is recognised by the lab's id in its environment.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use serde::{Deserialize, Serialize};

use super::Lab;
use crate::error::{Doing, Result};

const FOLDER: &str = "/run/joulepath/labs";

/// A process that cannot be mistaken for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Process {
    pid: u32,
    /// Clock ticks since boot, as in `/proc/PID/stat`.
    started: u64,
}

/// What the file says.
#[derive(Debug, Serialize, Deserialize)]
struct Record {
    id: String,
    title: String,
    owner: Process,
    processes: Vec<Process>,
}

/// A lab in the ledger; dropped, its processes are ended and it is struck out.
#[derive(Debug)]
pub(super) struct Entry {
    path: PathBuf,
    record: Record,
}

/// What was left of a lab whose owner has died.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Remains {
    /// The lab.
    pub id: String,
    /// Its scenario.
    pub title: String,
    /// Processes that still ran, and were ended.
    pub ended: Vec<u32>,
}

impl Entry {
    pub(super) fn new(title: &str) -> Result<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let owner = Process::at(std::process::id()).doing("reading /proc")?;
        let id = format!("{}-{}-{}", owner.pid, owner.started, NUMBER.fetch_add(1, Ordering::Relaxed));
        let path = Path::new(FOLDER).join(format!("{id}.json"));
        fs::create_dir_all(FOLDER).doing(format!("making the folder {FOLDER}"))?;
        let entry = Entry { path, record: Record { id, title: title.into(), owner, processes: vec![] } };
        entry.write()?;
        Ok(entry)
    }

    pub(super) fn id(&self) -> &str {
        &self.record.id
    }

    pub(super) fn add(&mut self, pid: u32) -> Result<()> {
        // One that has ended already needs no remembering.
        if let Ok(process) = Process::at(pid) {
            self.record.processes.push(process);
            self.write()?;
        }
        Ok(())
    }

    /// Whole or not at all: another joulepath may read it at any moment.
    fn write(&self) -> Result<()> {
        let doing = format!("writing {}", self.path.display());
        let draft = self.path.with_extension("draft");
        let text = serde_json::to_vec(&self.record).map_err(io::Error::from).doing(&doing)?;
        fs::write(&draft, text).and_then(|()| fs::rename(&draft, &self.path)).doing(doing)
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.record.end_processes();
        // A file that stays is struck out by the next lab.
        let _ = fs::remove_file(&self.path);
    }
}

/// Ends what is left of labs whose owners have died, and strikes them out. Labs that run are left alone.
///
/// # Errors
/// If the ledger cannot be read.
pub fn clean() -> Result<Vec<Remains>> {
    let doing = format!("reading {FOLDER}");
    let files = match fs::read_dir(FOLDER) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(vec![]),
        files => files.doing(&doing)?,
    };
    let mut remains = vec![];
    for file in files {
        let path = file.doing(&doing)?.path();
        // One that is half-written or gone again is another's at this moment.
        let record = fs::read(&path).ok().and_then(|text| serde_json::from_slice::<Record>(&text).ok());
        let Some(record) = record.filter(|record| !record.owner.is_alive()) else { continue };
        let ended = record.end_processes();
        fs::remove_file(&path).doing(format!("removing {}", path.display()))?;
        remains.push(Remains { id: record.id, title: record.title, ended });
    }
    Ok(remains)
}

impl Record {
    /// Ends every process of the lab that still runs, and says which.
    fn end_processes(&self) -> Vec<u32> {
        let known = self.processes.iter().copied();
        let found: Vec<Process> = known.chain(marked(&self.id)).filter(|process| process.kill()).collect();
        found.iter().map(|process| process.pid).collect()
    }
}

impl Process {
    fn at(pid: u32) -> io::Result<Self> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
        // The second field is the name in parentheses, which may hold anything; the 22nd is the start (proc_pid_stat(5)).
        let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        let mut fields = after_name.split_whitespace();
        if fields.next() == Some("Z") {
            // Only its parent has still to hear of its end.
            return Err(io::ErrorKind::NotFound.into());
        }
        let started = fields.nth(22 - 4).and_then(|field| field.parse().ok());
        let started =
            started.ok_or_else(|| io::Error::other(format!("/proc/{pid}/stat has another form")))?;
        Ok(Process { pid, started })
    }

    fn is_alive(self) -> bool {
        Process::at(self.pid).is_ok_and(|now| now == self)
    }

    /// Through a handle, so that the number cannot become another's between the look and the blow.
    fn kill(self) -> bool {
        let Some(pid) = i32::try_from(self.pid).ok().and_then(Pid::from_raw) else { return false };
        let Ok(handle) = pidfd_open(pid, PidfdFlags::empty()) else { return false };
        self.is_alive() && pidfd_send_signal(handle, Signal::KILL).is_ok()
    }
}

/// Processes that were given the lab's id in their environment.
fn marked(id: &str) -> Vec<Process> {
    let mark = format!("{}={id}", Lab::VARIABLE);
    let carries = |pid: &u32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|&byte| byte == 0).any(|entry| entry == mark.as_bytes())
    };
    let own = std::process::id();
    let files = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = files.filter_map(|file| file.file_name().to_str()?.parse().ok());
    pids.filter(|pid| *pid != own).filter(carries).filter_map(|pid| Process::at(pid).ok()).collect()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_process_is_known_by_its_start() {
        let own = Process::at(std::process::id()).unwrap();
        assert!(own.is_alive());
        let earlier = Process { started: own.started - 1, ..own };
        assert!(!earlier.is_alive());
        // It is another process by now, and must not be touched.
        assert!(!earlier.kill());
    }

    #[test]
    fn a_process_is_found_by_its_mark_and_by_nothing_like_it() {
        let start = |id: &str| Command::new("sleep").arg("60").env(Lab::VARIABLE, id).spawn().unwrap();
        let (mut ours, mut other) = (start("1-2-3"), start("1-2-33"));
        let found = marked("1-2-3");
        assert_eq!(found.iter().map(|process| process.pid).collect::<Vec<_>>(), [ours.id()]);
        assert!(found[0].kill());
        assert!(!ours.wait().unwrap().success());
        assert!(other.try_wait().unwrap().is_none());
        other.kill().unwrap();
        other.wait().unwrap();
    }
}
