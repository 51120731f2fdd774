//! Options of `run`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

pub(super) const HELP: &str = "\
Examples:
  joulepath run -- curl -O https://example.org/file
  joulepath run -- sh -c 'git pull && make'
  joulepath run --dry-run -- ./server

The command replaces joulepath: exit code and signals are its own. Its children get the same means. A socket \
for which the kernel refuses MPTCP is TCP. Dynamically linked programs get a library by LD_PRELOAD, Go \
programs a switch in GODEBUG; a message on stderr names a program for which neither works, and it runs with \
TCP. As in a shell, the exit code is 127 if there is no such command and 126 if it cannot be executed.";

/// Options of `run`.
#[derive(Debug, Args)]
#[command(override_usage = "joulepath run [OPTIONS] -- <COMMAND>...")]
pub(crate) struct RunOptions {
    /// Print how the command would get MPTCP sockets, and run nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// With --dry-run: as JSON.
    #[arg(long, requires = "dry_run")]
    pub(crate) json: bool,
    /// Write the preloaded library into this new file: for packages.
    #[arg(long, value_name = "FILE", hide = true, exclusive = true)]
    pub(crate) write_library: Option<PathBuf>,
    /// The program to run, and its arguments.
    #[arg(last = true, value_name = "COMMAND", required_unless_present = "write_library")]
    pub(crate) run: Vec<OsString>,
}
