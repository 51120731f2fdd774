//! Options of `run`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use joulepath_model::live::Intent;

use super::live::SOCKET;
use super::words::intents;

pub(super) const HELP: &str = "\
Examples:
  joulepath run -- curl -O https://example.org/file
  joulepath run -- sh -c 'git pull && make'
  joulepath run --dry-run -- ./server
  joulepath run --intent aggregate -- rsync -a films host:

The command replaces joulepath: exit code and signals are its own; 127: no such command, 126: it cannot be \
executed. Its children get the same means. A socket for which the kernel refuses MPTCP is TCP. Started by \
root on Linux 6.6 or later, all programs get MPTCP from the kernel, by BPF. Elsewhere dynamically linked \
programs get a library by LD_PRELOAD, Go programs a switch in GODEBUG; a message on stderr names a program \
for which neither works, and it runs with TCP.";

/// Options of `run`.
#[derive(Debug, Args)]
#[command(override_usage = "joulepath run [OPTIONS] -- <COMMAND>...")]
pub(crate) struct RunOptions {
    /// Give the program's connections this intent, in place of the machine's. Needs systemd, the
    /// daemon with `pm = "userspace"`, and a rule in its configuration; a message says what is
    /// missing, and the command runs without it.
    #[arg(long, value_name = "WORD", value_parser = intents(), conflicts_with = "dry_run")]
    pub(crate) intent: Option<Intent>,
    /// The daemon's control socket.
    #[arg(long, value_name = "PATH", default_value = SOCKET, requires = "intent")]
    pub(crate) socket: PathBuf,
    /// Print how the command would get MPTCP sockets, and run nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// With --dry-run: as JSON.
    #[arg(long, requires = "dry_run")]
    pub(crate) json: bool,
    /// Write the preloaded library into this new file: for packages.
    #[arg(long, value_name = "FILE", hide = true, exclusive = true)]
    pub(crate) write_library: Option<PathBuf>,
    /// Wait until this control group is empty, and remove it.
    #[arg(long, value_name = "FOLDER", hide = true, exclusive = true)]
    pub(crate) keep_group: Option<PathBuf>,
    /// The program to run, and its arguments.
    #[arg(last = true, value_name = "COMMAND", required_unless_present_any = ["write_library", "keep_group"])]
    pub(crate) run: Vec<OsString>,
}
