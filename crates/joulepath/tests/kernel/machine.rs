//! What tests of the kernel share: the machine is for one at a time, and they leave no process behind.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use tempfile::TempDir;

use crate::run::{folder, joulepath};

/// `nobody`, who has no rights.
const NOBODY: u32 = 65_534;

/// While it lives no other test of the kernel runs; none, visibly, where they cannot run.
pub(crate) fn machine() -> Option<File> {
    let can = rustix::process::geteuid().is_root() && joulepath(&["doctor"]).code == Some(0);
    if !can {
        let required = std::env::var_os("JOULEPATH_REQUIRE_KERNEL").is_some_and(|value| value == "1");
        assert!(!required, "JOULEPATH_REQUIRE_KERNEL is set, but `joulepath doctor` fails here");
        eprintln!("SKIPPED: needs root and what `joulepath doctor` names");
        return None;
    }
    let lock = File::create(std::env::temp_dir().join("joulepath-kernel-tests.lock")).unwrap();
    flock(&lock, FlockOperation::LockExclusive).unwrap();
    Some(lock)
}

/// Workers of a process that runs labs, once there are so many: emulator, server, client.
pub(crate) fn workers_of(parent: u32, count: usize) -> Vec<u32> {
    let mut found = vec![];
    wait_until("the workers start", || {
        let pids = fs::read_dir("/proc").unwrap().flatten();
        let pids = pids.filter_map(|file| file.file_name().to_str()?.parse().ok());
        found = pids.filter(|&pid| is_worker_of(pid, parent)).collect();
        found.len() >= count
    });
    found
}

fn is_worker_of(pid: u32, parent: u32) -> bool {
    let read = |file: &str| fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
    let stat = String::from_utf8_lossy(&read("stat")).into_owned();
    // PID (NAME) STATE PARENT …, and the name may have spaces.
    let fields = stat.rsplit_once(") ").map_or("", |(_, fields)| fields);
    fields.split(' ').nth(1) == Some(&parent.to_string())
        && read("cmdline").split(|&byte| byte == 0).any(|argument| argument == b"--joulepath-worker")
}

/// A zombie that nobody has waited for yet does not run.
pub(crate) fn is_running(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

/// Polls; a busy machine has its time.
#[track_caller]
pub(crate) fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !done() {
        assert!(Instant::now() < deadline, "in vain: {what}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// A copy of the binary that somebody without rights may run.
pub(crate) struct Unprivileged {
    program: PathBuf,
    _folder: TempDir,
}

impl Unprivileged {
    /// None, visibly, for whom cannot become somebody else.
    pub(crate) fn new() -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            eprintln!("SKIPPED: only root can become somebody else");
            return None;
        }
        let folder = folder();
        let program = folder.path().join("joulepath");
        fs::copy(env!("CARGO_BIN_EXE_joulepath"), &program).unwrap();
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(folder.path(), open).unwrap();
        Some(Unprivileged { program, _folder: folder })
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        use std::os::unix::process::CommandExt;
        let mut command = Command::new(&self.program);
        command.args(arguments).current_dir("/").uid(NOBODY);
        command
    }
}
