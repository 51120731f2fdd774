//! Options of `profile`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

pub(super) const CHECK_HELP: &str = "\
Example:
  joulepath profile check my-wifi.toml

Problems: device, radio, signal range or error is missing; the signals differ by more than one model bears; \
numbers that no radio has, such as a tail that draws more than a transfer; an error above 15 %. A missing \
firmware version is a remark. Exit codes: 0 no problem, 1 problems, 2 the file is no profile.";

/// What to do with a profile.
#[derive(Debug, Subcommand)]
pub(crate) enum ProfileCommand {
    /// Judge a calibrated profile: is it complete, and can it be a radio's?
    #[command(after_help = CHECK_HELP)]
    Check(ProfileCheckOptions),
}

/// Options of `profile check`.
#[derive(Debug, Args)]
pub(crate) struct ProfileCheckOptions {
    /// The profile.
    pub(crate) file: PathBuf,
    /// As JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
