//! Runs the binary.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// What the binary said, and how it ended.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Said {
    pub(crate) fn of(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("everything said is UTF-8");
        Said {
            code: output.status.code(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }

    /// stdout, if all went well.
    #[track_caller]
    pub(crate) fn ok(self) -> String {
        assert_eq!(self.code, Some(0), "{}", self.stderr);
        self.stdout
    }

    /// stdout as JSON, if all went well.
    #[track_caller]
    pub(crate) fn json(self) -> Value {
        serde_json::from_str(&self.ok()).expect("stdout is JSON")
    }
}

/// The binary in a folder, with an environment that does not change its output.
pub(crate) fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_joulepath"));
    command
        .args(arguments)
        .current_dir(folder)
        .env("NO_COLOR", "1")
        .env_remove("CLICOLOR_FORCE");
    command.stdin(Stdio::null());
    command
}

/// Runs the binary in a folder.
pub(crate) fn joulepath_in(folder: &Path, arguments: &[&str]) -> Said {
    Said::of(
        command(folder, arguments)
            .output()
            .expect("the binary starts"),
    )
}

/// Runs the binary in an empty folder.
pub(crate) fn joulepath(arguments: &[&str]) -> Said {
    joulepath_in(folder().path(), arguments)
}

/// An empty folder that goes with the test.
pub(crate) fn folder() -> TempDir {
    TempDir::new().expect("a temporary folder")
}
