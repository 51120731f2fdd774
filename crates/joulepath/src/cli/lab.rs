//! Options of `lab`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use joulepath_model::port::Port;

use super::shared::Changes;
use crate::complete;

pub(super) const HELP: &str = "\
Examples:
  joulepath lab home-wifi-lte --serve 8000 -- \\
      curl -o /dev/null 'http://{server}:8000/file'
  joulepath lab my.toml --policy olia --set path.wifi.loss='2 %' \\
      --serve-run 'iperf3 -s' -- iperf3 -c '{server}' -R
  joulepath lab clean

{server} in a command becomes the address of the lab's server, which is also in $JOULEPATH_SERVER. The lab
has no way to the outside but what --serve shares. Commands get MPTCP sockets as with `joulepath run`.
stdin and stdout are the command's; the bill goes to stderr, or with --json to stdout. Needs root.";

/// Options of `lab`.
#[derive(Debug, Args)]
#[command(
    override_usage = "joulepath lab <SCENARIO> [OPTIONS] -- <COMMAND>...\n       joulepath lab clean [--json]"
)]
pub(crate) struct LabOptions {
    #[command(subcommand)]
    pub(crate) command: Option<LabCommand>,
    /// A scenario file, or the name of a shipped scenario.
    #[arg(value_name = "SCENARIO", add = complete::scenarios())]
    pub(crate) scenario: Option<OsString>,
    #[command(flatten)]
    pub(crate) changes: Changes,
    /// The policy. Its congestion controller runs as eBPF; the packet scheduler is the kernel's.
    #[arg(short, long, value_name = "POLICY", default_value = "mptcp")]
    #[arg(add = complete::policies())]
    pub(crate) policy: String,
    /// Seed of the links' random numbers.
    #[arg(long, value_name = "K", default_value_t = 1)]
    pub(crate) seed: u64,
    /// IPv6 instead of IPv4.
    #[arg(long)]
    pub(crate) ipv6: bool,
    /// Share the server at 127.0.0.1:PORT of this machine into the lab: 8000 is TCP, 4433/udp is
    /// UDP. May be repeated.
    #[arg(long, value_name = "PORT")]
    pub(crate) serve: Vec<Port>,
    /// Run COMMAND, a line for the shell, at the lab's server, from before the program starts until
    /// it has ended. The program starts once COMMAND has opened a port. May be repeated.
    #[arg(long, value_name = "COMMAND")]
    pub(crate) serve_run: Vec<String>,
    /// Write the packets of both ends into a folder, as pcapng for Wireshark: client.pcapng and
    /// server.pcapng.
    #[arg(long, value_name = "DIR")]
    pub(crate) packets: Option<PathBuf>,
    /// Bytes and joules as JSON on stdout; the command's output goes to stderr.
    #[arg(long)]
    pub(crate) json: bool,
    /// The program to run, and its arguments.
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) run: Vec<OsString>,
}

/// What else `lab` can do.
#[derive(Debug, Subcommand)]
pub(crate) enum LabCommand {
    /// Clean up after labs that were killed.
    Clean(LabCleanOptions),
}

/// Options of `lab clean`.
#[derive(Debug, Args)]
pub(crate) struct LabCleanOptions {
    /// As JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
