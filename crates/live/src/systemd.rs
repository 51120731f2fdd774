//! Requests to systemd, by its own command.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::error::{Error, Result};

/// Exists while systemd is the first process (sd_booted(3)).
const RUNS: &str = "run/systemd/system";

/// True if systemd manages this machine.
pub(crate) fn is_running(root: &Path) -> bool {
    root.join(RUNS).is_dir()
}

/// Makes systemd read its files again.
///
/// # Errors
/// As [`call`].
pub(crate) fn reload() -> Result<()> {
    call(&["daemon-reload"])
}

/// Runs `systemctl` and waits for its end.
///
/// # Errors
/// If it cannot be started or fails: with its message.
pub(crate) fn call(words: &[&str]) -> Result<()> {
    let command = format!("systemctl {}", words.join(" "));
    let refused = |why: String| Error::Refused {
        what: format!("`{command}` failed: {why}"),
        remedy: format!("run `sudo {command}`"),
    };
    let mut systemctl = Command::new("systemctl");
    let run = systemctl
        .args(["--no-ask-password", "--quiet"])
        .args(words)
        .stdin(Stdio::null());
    let output = run.output().map_err(|error| refused(error.to_string()))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    Err(refused(if said.is_empty() {
        output.status.to_string()
    } else {
        said
    }))
}
