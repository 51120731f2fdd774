//! Inspecting other processes, and waiting for their actions.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

/// Long enough for a busy machine, and for the 60 s after which Linux gives up an MPTCP socket whose
/// last packets are lost (`net.mptcp.close_timeout`).
const PATIENCE: Duration = Duration::from_secs(120);
const TURN: Duration = Duration::from_millis(10);

/// Waits until `done` returns true.
///
/// # Panics
/// After two minutes, with `what` in the message.
#[track_caller]
pub fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !done() {
        assert!(Instant::now() < deadline, "timed out: {what}");
        thread::sleep(TURN);
    }
}

/// Whether a process runs. A zombie does not.
#[must_use]
pub fn is_running(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ")
        .is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

/// Running processes whose command line, its words separated by spaces, satisfies `is_wanted`;
/// sorted.
#[must_use]
pub fn processes(is_wanted: impl Fn(&str) -> bool) -> Vec<u32> {
    let files = fs::read_dir("/proc").expect("/proc is mounted").flatten();
    let mut pids: Vec<u32> = files
        .filter_map(|file| file.file_name().to_str()?.parse().ok())
        .collect();
    pids.sort_unstable();
    pids.retain(|&pid| is_wanted(&command_line(pid)) && is_running(pid));
    pids
}

fn command_line(pid: u32) -> String {
    let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&words)
        .replace('\0', " ")
        .trim_end()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_process_is_found_while_it_runs() {
        let mut child = Command::new("sleep").arg("7123").spawn().unwrap();
        let found = || processes(|line| line == "sleep 7123");
        wait_until("it has begun", || found() == [child.id()]);
        child.kill().unwrap();
        wait_until("it has ended", || found().is_empty());
        assert!(!is_running(child.id()));
        child.wait().unwrap();
    }
}
