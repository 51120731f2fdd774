//! Options of `on` and `off`.

use clap::Args;
use joulepath_model::live::Intent;

use super::words::switchable;

pub(super) const ON_HELP: &str = "\
Examples:
  sudo joulepath on
  sudo joulepath on interactive
  sudo joulepath on frugal --adopt
  joulepath on frugal --dry-run
  sudo joulepath off

Enables and starts the daemon as a service of systemd, makes new connections start on the preferred \
interface, and puts the services of [[mptcp]] on MPTCP from their next start. Writes \
/etc/joulepath/live.toml only if there is none.";

pub(super) const OFF_HELP: &str = "\
Stops and disables the daemon, and removes what `joulepath on`, [[mptcp]] and the daemon have changed. No \
connection is cut: what a connection still needs stays until it ends, and the exit code is 5. Files that \
somebody has edited stay.";

/// Options of `on`.
#[derive(Debug, Args)]
pub(crate) struct OnOptions {
    /// The intent. Without it, the configuration's.
    #[arg(value_name = "WORD", value_parser = switchable())]
    pub(crate) intent: Option<Intent>,
    /// Take over the endpoints that other programs, such as NetworkManager and mptcpd, have set on
    /// interfaces that the daemon may use. `off` gives them back as they were.
    #[arg(long)]
    pub(crate) adopt: bool,
    /// Print what would be done, and change nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
}
