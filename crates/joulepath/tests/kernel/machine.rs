//! Shared by tests of the kernel: the processes of a lab, and a user without rights.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use joulepath_testbed::observe::wait_until;
use tempfile::TempDir;

use crate::run::folder;

/// `nobody`, who has no rights.
const NOBODY: u32 = 65_534;

/// Waits for this many workers of a process that runs labs: emulator, server, client.
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
        && read("cmdline")
            .split(|&byte| byte == 0)
            .any(|argument| argument == b"--joulepath-worker")
}

/// A copy of the binary that a user without rights may run.
pub(crate) struct Unprivileged {
    program: PathBuf,
    _folder: TempDir,
}

impl Unprivileged {
    /// For tests that need root, because only root can become another user.
    pub(crate) fn new() -> Self {
        let folder = folder();
        let program = folder.path().join("joulepath");
        fs::copy(env!("CARGO_BIN_EXE_joulepath"), &program).unwrap();
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(folder.path(), open).unwrap();
        Unprivileged {
            program,
            _folder: folder,
        }
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        use std::os::unix::process::CommandExt;
        let mut command = Command::new(&self.program);
        command.args(arguments).current_dir("/").uid(NOBODY);
        command
    }
}
