//! Options of `relay`.

use std::path::PathBuf;

use clap::Subcommand;

pub(super) const HELP: &str = "\
Example:
  joulepath relay new --server far.example:8443
  joulepath relay serve relay-serve.toml        # on far.example
  joulepath relay connect relay-connect.toml    # here
  curl --proxy socks5h://127.0.0.1:1080 https://example.org/

docs/relay.md has the keys of the files, systemd units, and a router for a whole LAN.";

/// What to do with the relay.
#[derive(Debug, Subcommand)]
pub(crate) enum RelayCommand {
    /// Write the files of both ends, with a new key.
    New {
        /// Host and port of the far end, as the near end reaches it.
        #[arg(long, value_name = "HOST:PORT")]
        server: String,
        /// Write relay-serve.toml and relay-connect.toml into this folder. Existing files are kept.
        #[arg(long, value_name = "FOLDER", default_value = ".")]
        folder: PathBuf,
    },
    /// Run the far end: on a server, for your own near ends.
    Serve {
        /// The far end's file.
        file: PathBuf,
    },
    /// Run the near end: SOCKS5, HTTP CONNECT, a router's LAN.
    Connect {
        /// The near end's file.
        file: PathBuf,
        /// Print the nftables rules that redirect the LAN, and do nothing else.
        #[arg(long, group = "rules")]
        print_rules: bool,
        /// Set these rules while it runs.
        #[arg(long, group = "rules")]
        set_rules: bool,
        /// Delete the rules that a killed relay has left, and do nothing else.
        #[arg(long, group = "rules")]
        undo_rules: bool,
    },
}
