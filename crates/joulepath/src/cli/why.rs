//! Options of `why`.

use std::path::PathBuf;

use clap::Args;

pub(super) const HELP: &str = "\
Examples:
  sudo joulepath why
  sudo joulepath why 1234          # the connections of a process
  sudo joulepath why 192.0.2.7     # the connections to a host
  sudo joulepath why --record seen.json
  joulepath why --read seen.json

It watches the connections for some seconds and names what holds each back, with evidence, cost and the \
command that fixes it; it changes nothing. Without root, subflows and other users' programs are not visible. \
Exit codes: 0 nothing found that can be fixed, 10 found. docs/why.md lists the causes.";

/// Options of `why`.
#[derive(Debug, Args)]
pub(crate) struct WhyOptions {
    /// A process, or the address of a peer, with or without port. Absent: all connections that
    /// carry data.
    #[arg(value_name = "PID|ADDRESS", conflicts_with = "all")]
    pub(crate) what: Option<String>,
    /// All connections, also idle ones and those without findings.
    #[arg(long)]
    pub(crate) all: bool,
    /// How long to watch, in seconds.
    #[arg(long, value_name = "S", default_value_t = 6)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=10))]
    pub(crate) seconds: u64,
    /// Again and again, until Ctrl-C.
    #[arg(long, conflicts_with = "read")]
    pub(crate) watch: bool,
    /// As JSON; with --watch, one line each time.
    #[arg(long)]
    pub(crate) json: bool,
    /// Write what was seen into this file, for --read.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["read", "watch"])]
    pub(crate) record: Option<PathBuf>,
    /// Examine what --record has written, in place of this machine.
    #[arg(long, value_name = "FILE")]
    pub(crate) read: Option<PathBuf>,
}
