//! Options of `top`.

use clap::Args;

use super::live::SocketOptions;

pub(super) const HELP: &str = "\
Examples:
  joulepath top
  sudo joulepath top            # where only root may change the intent

Keys: i the machine's intent, Enter that of the marked interface, p pause, ? help, q quit. It needs a terminal
of 40 columns and 12 lines; 80 × 24 shows all that matters. `joulepath status` says the same once.";

/// Options of `top`.
#[derive(Debug, Args)]
pub(crate) struct TopOptions {
    #[command(flatten)]
    pub(crate) socket: SocketOptions,
}
